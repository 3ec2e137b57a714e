"""What a batched function compiles, and that this changes no result."""

import collections
import enum
import functools
import gc
import random
import threading
import weakref

import jax
import numpy as np
import pytest
from counting import Traces, count
from hypothesis import given, settings, strategies as st

import jfi as jnp
from jfi import BatchError, auto_vmap, vmap_automatically


# Warns that it runs uncompiled, as it should here: see test_unasked.py.
UNCOMPILED = pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")


X = np.arange(6, dtype="float32").reshape(3, 2)


def test_a_lambda_made_anew_is_not_compiled_anew():
    def call(scale):
        return vmap_automatically(
            lambda p: (count(), (p["A"] @ p["x"]).sum() * scale)[1],
            {"x": X, "A": jnp.eye(2), "kind": "linear"},
            3,
        )

    assert call(2.0).tolist() == [2, 10, 18]
    assert Traces.added(lambda: call(2.0)) == 0
    assert Traces.added(lambda: call(3.0)) == 0
    assert call(3.0).tolist() == [3, 15, 27]


def test_the_batch_is_looked_for_once():
    fn = auto_vmap(lambda x, A, n: (count(), A @ x * n)[1])
    trials = Traces.added(lambda: fn(X, np.ones((4, 2)), 2))
    assert trials == 3  # of two sizes, and the one that is compiled
    assert Traces.added(lambda: fn(X + 1, np.ones((4, 2)), 2)) == 0
    assert fn(np.ones((5, 2)), np.ones((4, 2)), 2).shape == (5, 4)


class Gain(enum.Enum):
    LOW = 1
    HIGH = 2


class Plant:
    """A plain object: a setting, with the array in it."""

    def __init__(self):
        self.A, self.k = np.eye(2, dtype="float32"), 2


def test_other_settings_of_the_same_shape_are_seen():
    def fn(p):
        y = p["plant"].A @ p["x"] * p["plant"].k * p["gain"].value
        return y.sum() * p["weights"][0] if p["mode"] == "sum" else y.max()

    plant, weights = Plant(), [1, 2]
    tree = {"x": X, "plant": plant, "gain": Gain.LOW, "mode": "sum", "weights": weights}
    assert vmap_automatically(fn, tree).tolist() == [2, 10, 18]
    assert vmap_automatically(fn, {**tree, "mode": "max"}).tolist() == [2, 6, 10]
    assert vmap_automatically(fn, {**tree, "gain": Gain.HIGH}).tolist() == [4, 20, 36]
    plant.k, weights[0] = 3, 10
    assert vmap_automatically(fn, tree).tolist() == [30, 150, 270]
    plant.A[0, 0] = 0
    assert vmap_automatically(fn, tree).tolist() == [30, 90, 150]


class Scaling:
    def method(self, x, scale=2.0, mode="sum", *, shift=0.0):
        count()
        total = x.sum() if mode == "sum" else x.max()
        return total * scale + shift

    __call__ = method


def scaling(x, scale=2.0, mode="sum", *, shift=0.0):
    return Scaling().method(x, scale, mode, shift=shift)


@pytest.mark.parametrize("fn", [scaling, Scaling().method, Scaling()])
def test_a_keyword_given_with_or_without_its_default_is_one_call(fn):
    mapped = auto_vmap(fn)
    assert mapped(X).tolist() == [2, 10, 18]
    for keywords, expected in (
        ({"scale": 2.0}, [2, 10, 18]),
        ({"scale": 3.0}, [3, 15, 27]),
        ({"mode": "sum", "scale": 3.0}, [3, 15, 27]),
        ({"shift": 1.0}, [3, 11, 19]),
        ({"shift": 1.0, "mode": "sum", "scale": 3.0}, [4, 16, 28]),
        ({}, [2, 10, 18]),
    ):
        call = functools.partial(mapped, X, **keywords)
        assert Traces.added(call) == 0, keywords
        assert call().tolist() == expected
    assert mapped(X, mode="max").tolist() == [2, 6, 10]
    assert mapped(X, 3.0).tolist() == [3, 15, 27]
    with pytest.raises(TypeError, match="multiple values"):
        mapped(X, 3.0, scale=3.0)


def test_defaults_that_are_replaced_are_seen():
    def fn(x, scale=2.0, *, shift=0.0):
        return x.sum() * scale + shift

    mapped = auto_vmap(fn)
    assert mapped(X).tolist() == [2, 10, 18]
    fn.__defaults__, fn.__kwdefaults__["shift"] = (3.0,), 1.0
    assert mapped(X).tolist() == [4, 16, 28]


def test_an_array_as_default_is_the_same_for_all_rows():
    three = np.float32([1, 2, 3])

    def fn(x, weights=three):
        return x.sum() * weights.sum()

    mapped = auto_vmap(fn)
    assert mapped(X).tolist() == [6, 30, 54]
    assert mapped(X, weights=three).tolist() == [1, 10, 27]


def test_a_default_that_the_body_must_know():
    def fn(x, n=2.0, *rest, size=3, **others):
        return x.sum() * (n if n > 1 else -n) * size + len(rest) + len(others)

    mapped = auto_vmap(fn)
    for _ in range(2):
        assert mapped(X).tolist() == [6, 30, 54]
        assert mapped(X, n=0.5).tolist() == [-1.5, -7.5, -13.5]
        assert mapped(X, 2.0, 1, other=1).tolist() == [8, 32, 56]


@pytest.mark.parametrize("options", [{}, {"shared": ["scale"]}, {"batched": {"x": 0}}])
def test_auto_vmap_written_inline_traces_once(options):
    def call(scale):
        return auto_vmap(lambda x, scale: (count(), x.sum() * scale)[1], **options)(
            X, scale
        )

    assert call(2.0).tolist() == [2, 10, 18]
    assert Traces.added(lambda: call(2.0)) == 0
    assert call(3.0).tolist() == [3, 15, 27]


def test_what_a_function_captured_goes_after_auto_vmap_inline():
    def one(k):
        w = jnp.full(2, k)
        fn = lambda x: x @ w
        assert auto_vmap(fn)(X).tolist() == (X.sum(1) * k).tolist()
        return weakref.ref(fn), weakref.ref(w)

    gone = [ref for k in (1.0, 2.0, 3.0, 4.0) for ref in one(k)]
    gc.collect()
    assert [ref() for ref in gone] == [None] * len(gone)


def decorated(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        return fn(*args)

    return wrapper


def test_functions_with_one_decorator_are_told_apart():
    for fn in (lambda x: x + 1, lambda x: x - 1):
        for _ in range(3):
            np.testing.assert_array_equal(auto_vmap(decorated(fn))(X), fn(X))
            partial = functools.partial(decorated(fn))
            np.testing.assert_array_equal(auto_vmap(partial)(X), fn(X))


@pytest.mark.parametrize("n", [1, True, 1.0, None, "1", np.float64(1)])
def test_a_number_is_told_from_another_type(n):
    result = vmap_automatically(lambda p: (p["x"], str(type(p["n"]))), {"x": X, "n": n})
    if not isinstance(n, float):
        assert result[1] == str(type(n))


SCALE = 1.0
TABLE = {"offset": [0.0]}


def scaled(x):
    return x * SCALE + TABLE["offset"][0]


def reads_globals(p):
    return scaled(p).sum()


def other(x):
    return -x


def test_global_variables_are_seen_when_they_change(monkeypatch):
    assert vmap_automatically(reads_globals, X).tolist() == [1, 5, 9]
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    assert vmap_automatically(reads_globals, X).tolist() == [2, 10, 18]
    TABLE["offset"][0] = 1.0
    assert vmap_automatically(reads_globals, X).tolist() == [4, 12, 20]
    TABLE["offset"][0] = 0.0
    monkeypatch.setitem(globals(), "SCALE", jnp.asarray(3.0))
    assert auto_vmap(reads_globals)(X).tolist() == [3, 15, 27]
    assert vmap_automatically(reads_globals, X).tolist() == [3, 15, 27]
    monkeypatch.setitem(globals(), "scaled", other)
    assert vmap_automatically(reads_globals, X).tolist() == [-1, -5, -9]


CALLS = 0


def counts_calls(p):
    global CALLS
    CALLS += 1
    return p.sum()


@UNCOMPILED
def test_a_function_of_rows_that_counts_is_refused():
    before = CALLS
    for _ in range(2):
        with pytest.raises(jnp.BatchError, match=r"writes CALLS: .* once for all rows"):
            vmap_automatically(counts_calls, X)
    assert before == CALLS


@UNCOMPILED
def test_a_shared_value_may_be_needed_in_python():
    def fn(p):
        return p["x"] * float(p["w"][0]) if p["w"][1] > 0 else p["x"]

    for first in 5.0, 6.0:
        tree = {"x": X, "w": np.array([first, 1.0], "float32")}
        np.testing.assert_array_equal(vmap_automatically(fn, tree, 3), X * first)
    tree["w"][1] = -1
    np.testing.assert_array_equal(vmap_automatically(fn, tree, 3), X)


def test_floats_may_be_needed_in_python():
    def fn(p):
        x = p["x"]
        for _ in range(round(p["duration"] / p["dt"])):
            x = x + p["dt"]
        return f"{p['dt']:.2f}", x

    for dt in 0.5, 0.25:
        text, x = vmap_automatically(fn, {"x": X, "dt": dt, "duration": 2.0}, 3)
        assert text == f"{dt:.2f}"
        np.testing.assert_array_equal(x, X + 2)


@UNCOMPILED
def test_what_callbacks_write_to_is_the_callers_own():
    seen = []

    def fn(x):
        jax.debug.callback(lambda x: seen.append(float(x)), x.sum())
        return x

    for _ in range(2):
        vmap_automatically(fn, X)
    jax.effects_barrier()
    assert sorted(seen) == [1, 1, 5, 5, 9, 9]


def test_the_order_of_dicts_is_that_of_the_caller():
    result = vmap_automatically(lambda p: {"z": list(p), "a": p["x"]}, {"x": X, "b": 1})
    assert list(result) == ["z", "a"]
    assert result["z"] == ["x", "b"]


def test_modules_are_problems_and_functions():
    equinox = pytest.importorskip("equinox")
    net = equinox.nn.MLP(2, 4, 8, 2, key=jax.random.key(0))
    expected = jax.vmap(net)(X)
    for result in (
        vmap_automatically(net, X),
        vmap_automatically(lambda p: p["net"](p["x"]), {"net": net, "x": X}),
    ):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


class Solver:
    def __init__(self):
        self.gain = 2

    @auto_vmap(batch_size=3)
    def solve(self, x, *, shift=0.0):
        """Has a docstring."""
        return self.gain * x.sum() + shift


def test_methods_see_their_object():
    solver = Solver()
    assert solver.solve(X).tolist() == [2, 10, 18]
    solver.gain = 3
    assert solver.solve(X, shift=1.0).tolist() == [4, 16, 28]
    assert vmap_automatically(solver.solve.__wrapped__.__get__(solver), X)[1] == 15
    assert (Solver.solve.__name__, Solver.solve.__doc__) == (
        "solve", "Has a docstring.",
    )  # fmt: skip


def test_threads_get_their_own_results():
    wrong = []

    def work(k):
        for i in range(10):
            tree = {"x": X, "i": float(i)}
            result = vmap_automatically(lambda p: p["x"].sum() * k + p["i"], tree)
            if result.tolist() != [k + i, 5 * k + i, 9 * k + i]:
                wrong.append((k, i, result))

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_without_jit():
    with jax.disable_jit():
        result = vmap_automatically(lambda p: p["x"] * p["n"], {"x": X, "n": 2.0})
    np.testing.assert_array_equal(result, 2 * X)


# ---- random numbers ----


def drawing(p):
    return p["x"].sum() + p["A"].sum() * jnp.randn()


TREE = {"x": X, "A": np.ones((4, 4), "float32")}


def test_draws_are_those_of_vmap_and_trials_draw_nothing():
    jnp.manual_seed(0)
    expected = jnp.vmap(lambda x: drawing({"x": x, "A": TREE["A"]}))(X)
    following = jnp.randn()
    fits = lambda p: (p["A"][:, :2] @ p["x"]).sum() * 0 + drawing(p)
    for options in ({"batch_size": 3}, {"shared": "A"}, {"batched": {"x": 0}}):
        jnp.manual_seed(0)
        result = vmap_automatically(fits, TREE, **options)
        np.testing.assert_allclose(result, expected, rtol=1e-6)
        assert jnp.randn() == following
    jnp.manual_seed(0)
    tree = {"x": X, "A": np.ones((4, 2), "float32")}
    found = vmap_automatically(lambda p: (p["A"] @ p["x"]).sum() * jnp.randn(), tree)
    assert len(set(found.tolist())) == 3
    assert jnp.randn() == following


def test_gradients_keep_the_draws():
    def loss(A):
        return vmap_automatically(drawing, {**TREE, "A": A}, 3).sum()

    jnp.manual_seed(0)
    value = loss(TREE["A"])
    slopes = []
    for transform in jax.grad, jnp.grad, lambda f: jnp.jit(jnp.grad(f)):
        jnp.manual_seed(0)
        slopes.append(transform(loss)(TREE["A"])[0, 0])
    np.testing.assert_allclose(slopes, [(value - X.sum()) / 16] * 3, rtol=1e-5)


def test_rows_may_draw_the_same_or_nothing():
    same = vmap_automatically(lambda x: jnp.randn() + 0 * x[0], X, randomness="same")
    assert len(set(same.tolist())) == 1
    with pytest.raises(jnp.RandomError, match=r"vmap_automatically\(\.\.\., randomne"):
        vmap_automatically(lambda x: jnp.randn() + x, X, randomness="error")


# ---- chunks ----


@settings(deadline=None, max_examples=15)
@given(size=st.integers(0, 7), chunk=st.integers(1, 9), draws=st.booleans())
def test_chunks_give_the_same_numbers(size, chunk, draws):
    x = np.arange(2.0 * size).reshape(size, 2)

    def fn(p):
        y = p["x"] * p["n"] + (jnp.randn() if draws else 0)
        return {"y": y, "sum": y.sum(), "s": "text"}

    jnp.manual_seed(0)
    expected = vmap_automatically(fn, {"x": x, "n": 3}, size)
    jnp.manual_seed(0)
    result = vmap_automatically(fn, {"x": x, "n": 3}, size, chunk_size=chunk)
    assert result["s"] == "text"
    np.testing.assert_array_equal(result["y"], expected["y"])
    np.testing.assert_allclose(result["sum"], expected["sum"], rtol=1e-6)


def deep(p):
    y = p["x"]
    for _ in range(8):
        y = jnp.tanh(y @ p["W"])
    return y.sum()


def test_chunks_bound_the_memory_of_values_and_gradients():
    rows, W = jnp.ones((1024, 64)), jnp.eye(64) * 0.5

    def memory(chunk_size, transform):
        def loss(x, W):
            tree = {"x": x, "W": W}
            return vmap_automatically(deep, tree, 1024, chunk_size=chunk_size).sum()

        compiled = jax.jit(transform(loss)).lower(rows, W).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    slope = lambda f: jax.grad(f, argnums=1)
    assert memory(32, slope) < memory(None, slope) / 4
    assert memory(32, lambda f: f) < 32 * 64 * 4 * 20


def test_gradients_go_through_chunks():
    W = jnp.eye(2) * 0.5

    def slope(**options):
        loss = lambda W: vmap_automatically(deep, {"x": X, "W": W}, 3, **options).sum()
        return jnp.grad(loss)(W)

    np.testing.assert_allclose(slope(chunk_size=2), slope(), rtol=1e-5)


def test_keys_and_other_axes_go_through_chunks():
    keys = jax.random.split(jax.random.key(0), 5)
    tree = {"key": keys, "x": np.ones((2, 5), "float32")}
    fn = lambda p: {"a": jax.random.normal(p["key"], (3,)) + p["x"].sum()}
    options = {"batched": {"x": 1}, "out_axes": {"a": 1}}
    expected = vmap_automatically(fn, tree, **options)
    assert expected["a"].shape == (3, 5)
    result = vmap_automatically(fn, tree, chunk_size=2, **options)
    np.testing.assert_array_equal(result["a"], expected["a"])


def test_a_bar_moves_with_the_chunks(monkeypatch):
    pytest.importorskip("tqdm")
    moves = []
    monkeypatch.setattr(
        "jfi._optional._progress.ProgressBar.move",
        lambda self, done, total: moves.append((int(done), int(total))),
    )
    x = np.arange(250.0)
    result = vmap_automatically(jnp.sin, x, chunk_size=2, progress=True)
    jax.effects_barrier()
    np.testing.assert_array_equal(result, vmap_automatically(jnp.sin, x))
    assert moves == sorted(moves)
    assert moves[-1] == (125, 125)
    assert 10 <= len(moves) <= 100


GENERATOR = np.random.default_rng(0)


def test_generators_that_draw_once_for_all_rows_are_refused():
    captured = np.random.default_rng(0)
    for fn, name in (
        (lambda x: x + captured.normal(), "captured"),
        (lambda x: x + GENERATOR.normal(), "GENERATOR.normal"),
        (lambda x: x + np.random.rand(), r"numpy\.random(\.rand)?"),
        (lambda x: x + random.gauss(0, 1), "random.gauss"),
    ):
        with pytest.raises(jnp.BatchError, match=f"draws by {name}, of NumPy"):
            vmap_automatically(fn, X)


def test_a_lambda_under_autojit():
    double = jnp.autojit(lambda x: x * 2)
    for _ in range(3):
        np.testing.assert_array_equal(jnp.vmap_automatically(double, X), 2 * X)
        np.testing.assert_array_equal(jnp.map(double, X), 2 * X)


HIDING = {
    "deque": lambda x: collections.deque([x]),
    "slice": lambda x: slice(x, None),
    "default": lambda x: lambda y, z=x: y + z,
    "error": lambda x: ValueError(x),
    "class": lambda x: type("Q", (), {"v": x}),
}


@pytest.mark.parametrize("hide", HIDING.values(), ids=HIDING)
def test_results_that_hide_arrays_are_refused(hide):
    with pytest.raises(BatchError, match="hidden from JAX"):
        jnp.vmap_automatically(hide, X)


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_data_written_as_text_is_refused():
    with pytest.raises(BatchError, match="was written as text"):
        jnp.vmap_automatically(lambda x: {"x": x, "note": f"x = {x}"}, X)


def test_what_is_no_function_is_refused():
    for call in (
        lambda: vmap_automatically(3, X),
        lambda: vmap_automatically(3, X, batch_size=4, client=object()),
        lambda: auto_vmap(3),
    ):
        with pytest.raises(
            BatchError, match=r"got 3 \(of type int\).* f and not f\(x\)"
        ):
            call()


def test_options_without_a_hash():
    problem = {"x": X, "t": X}
    out = jnp.vmap_automatically(lambda p: p["x"] * p["t"].sum(), problem, shared={"t"})
    np.testing.assert_array_equal(out, X * X.sum())
    size = np.array(len(X))
    np.testing.assert_array_equal(jnp.vmap_automatically(lambda x: x, X, size), X)
