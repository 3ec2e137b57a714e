"""JAX's loops and branches: eager programs, and what is refused."""

import functools
import math
import threading

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import jfi as jnp
from jfi import LoopError
from jfi._jax_internals import on_compiled


# Warns that it runs uncompiled, as it should here: see test_unasked.py.
UNCOMPILED = pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")


X = np.array([1.0, 2.0, 3.0], np.float32)


def same(ours, theirs, rtol=0):
    """Whether two trees are equal: structure, types with weakness, values."""
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert jax.typeof(a) == jax.typeof(b)
        if jnp.issubdtype(jax.typeof(a).dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=0)


# ---- the results are JAX's ----


CALLS = {
    "scan": lambda lib: lib.scan(lambda c, x: (c + x, c * x), 1.0, X),
    "scan of a tree": lambda lib: lib.scan(
        lambda c, x: ({"n": c["n"] + 1, "x": c["x"] * x["b"]}, x["a"]),
        {"n": 0, "x": X},
        {"a": X, "b": np.arange(3)},
    ),
    "scan, no xs": lambda lib: lib.scan(lambda c, _: (c * 2, None), X, None, 4),
    "scan, NumPy length": lambda lib: lib.scan(
        lambda c, _: (c * 2, c), X, length=np.int64(4)
    ),
    "scan, reverse": lambda lib: lib.scan(
        lambda c, x: (c * x + 1, c), 1.0, X, reverse=True, unroll=2
    ),
    "scan, gradient in two parts": lambda lib: jax.grad(
        lambda w: lib.scan(lambda c, x: (c * w + x, c), 1.0, X, _split_transpose=True)[
            0
        ]
    )(2.0),
    "scan, no steps": lambda lib: lib.scan(lambda c, x: (c + x, c), 1.0, X[:0]),
    "scan, int carry": lambda lib: lib.scan(lambda c, x: (c + 1, c), 0, X),
    "scan, int that becomes float": lambda lib: lib.scan(lambda c, x: (c + x, c), 0, X),
    "scan, key": lambda lib: lib.scan(
        lambda k, x: (jax.random.fold_in(k, 1), x), jax.random.key(0), X
    ),
    "while_loop": lambda lib: lib.while_loop(lambda x: x < 100, lambda x: x * 2, 3),
    "while_loop of a tree": lambda lib: lib.while_loop(
        lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 2), (0, X)
    ),
    "fori_loop": lambda lib: lib.fori_loop(0, 5, lambda i, x: x * i, 1.0),
    "fori_loop, index": lambda lib: lib.fori_loop(2, 5, lambda i, x: i, 0),
    "fori_loop, small int": lambda lib: lib.fori_loop(
        0, 3, lambda i, x: x + i, np.int8(1)
    ),
    "fori_loop, NumPy bounds": lambda lib: lib.fori_loop(
        np.int32(0), np.int32(3), lambda i, x: x + i, np.int8(1)
    ),
    "fori_loop, JAX bound": lambda lib: lib.fori_loop(
        0, jnp.array(3, "int32"), lambda i, x: x + i, X
    ),
    "fori_loop, float bounds": lambda lib: lib.fori_loop(
        1.0, 3.5, lambda i, x: x + i, 0
    ),
    "fori_loop, no steps": lambda lib: lib.fori_loop(5, 2, lambda i, x: x * i, X),
    "fori_loop, unroll": lambda lib: lib.fori_loop(
        0, 6, lambda i, x: x * i, X, unroll=2
    ),
    "cond": lambda lib: lib.cond(True, lambda x: x + 1, lambda x: x - 1, X),
    "cond, number": lambda lib: lib.cond(2.5, lambda: X, lambda: X * 2),
    "cond, array": lambda lib: lib.cond(jnp.array(False), lambda x: x, lambda x: -x, 3),
    "cond, operand": lambda lib: lib.cond(
        True, lambda x: x + 1, lambda x: x, operand=X
    ),
    "cond, None": lambda lib: lib.cond(True, lambda x: 1, lambda x: 2, operand=None),
    "cond, older": lambda lib: lib.cond(True, X, lambda x: x + 1, X, lambda x: x),
    "switch": lambda lib: lib.switch(1, [jnp.sin, jnp.cos, jnp.exp], X),
    "switch, clamped": lambda lib: lib.switch(-3, [jnp.sin, jnp.cos, jnp.exp], X),
    "switch, one": lambda lib: lib.switch(5, [jnp.sin], X),
    "map": lambda lib: lib.map(lambda x: {"a": x * 2, "b": 1}, X),
    "map, batches": lambda lib: lib.map(lambda x: x * 2, X, batch_size=2),
    "associative_scan": lambda lib: lib.associative_scan(lambda a, b: a * b, X),
    "associative_scan, axis": lambda lib: lib.associative_scan(
        jnp.add, np.ones((2, 3)), reverse=True, axis=1
    ),
}


@pytest.mark.parametrize("x64", [True, False])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_eager_results_are_those_of_jax(call, x64):
    with jax.enable_x64(x64):
        for _ in range(3):  # opened, compiled, recognised
            same(call(jnp), call(lax))
        # These two are compiled for each call anew: one of them in each world.
        if x64:
            same(*jax.jit(lambda: (call(jnp), call(lax)))())
            return
        with jax.disable_jit():
            try:
                expected = call(lax)
            except (TypeError, ValueError):  # JAX's loop in Python can do less
                return
            same(call(jnp), expected)


def test_names_of_jax_arguments():
    same(
        jnp.scan(f=lambda c, x: (c, x), init=1.0, xs=X),
        lax.scan(f=lambda c, x: (c, x), init=1.0, xs=X),
    )
    same(
        jnp.while_loop(cond_fun=lambda x: x < 3, body_fun=lambda x: x + 1, init_val=0),
        lax.while_loop(cond_fun=lambda x: x < 3, body_fun=lambda x: x + 1, init_val=0),
    )


# ---- one program for each place in the source ----


@pytest.fixture
def compiled():
    """A list that gets longer with each program that XLA compiles."""
    seconds = []
    on_compiled(seconds.append)
    return seconds


FRESH = {
    "scan": (
        lambda k: jnp.scan(lambda c, x: (c + k * x, None), 0.0, X)[0],
        lambda k: 6 * k,
    ),
    "while_loop": (
        lambda k: jnp.while_loop(
            lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + k), (0, 0.0)
        )[1],
        lambda k: 3 * k,
    ),
    "fori_loop": (
        lambda k: jnp.fori_loop(0, int(k), lambda i, c: c + k, 0.0),
        lambda k: k * k,
    ),
    "cond": (
        lambda k: jnp.cond(k > 3, lambda: k, lambda: -k),
        lambda k: k if k > 3 else -k,
    ),
    "switch": (lambda k: jnp.switch(int(k), [lambda: k, lambda: k * 0] * 5), None),
    "map": (lambda k: jnp.map(lambda x: x * k, X), lambda k: k * X),
    "associative_scan": (
        lambda k: jnp.associative_scan(lambda a, b: a + b * k / k, X),
        lambda k: np.cumsum(X),
    ),
    "checkpoint": (lambda k: jnp.checkpoint(lambda x: x * k)(X), lambda k: k * X),
    "partial": (
        lambda k: jnp.map(functools.partial(lambda k, x: x * k, k), X),
        lambda k: k * X,
    ),
    "captured NumPy array": (
        lambda k: (lambda a: jnp.map(lambda x: x * a, X))(np.asarray(k)),
        lambda k: k * X,
    ),
}


@pytest.mark.parametrize(("call", "expected"), FRESH.values(), ids=FRESH)
def test_a_fresh_lambda_is_not_compiled_again(call, expected, compiled):
    for k in (1.0, 2.0, 3.0, 4.0, 5.0):
        if k == 3:
            compiled.clear()
        out = call(jnp.array(k))  # captured: numbers are constants, arrays are data
        if expected is not None:
            np.testing.assert_allclose(np.asarray(out), expected(k), rtol=1e-6)
    assert not compiled


def test_a_captured_number_is_a_constant(compiled):
    """As to JAX: Python code may look at it."""

    def run(k, call):
        return float(jnp.scan(lambda c, x: (c + call(k) * x, None), 0.0, X)[0])

    double = lambda k: 2 * k if isinstance(k, float) else k
    assert run(1.5, double) == 18.0
    assert run(np.float64(2.0), double) == 24.0
    assert run(2, double) == 12.0

    def inverse(k):
        try:
            return 1 / k
        except ZeroDivisionError:
            return 5.0

    assert run(2.0, inverse) == 3.0
    assert run(0.0, inverse) == 30.0
    with jax.enable_x64(False):
        assert run(1e300, lambda k: k * 1e-300) == 6.0
    compiled.clear()
    assert run(2.0, inverse) == 3.0
    assert not compiled


# With a captured float: from its second value on data, for 64-bit types at least.
VARYING = {
    "scan": lambda lib, k: lib.scan(lambda c, x: (c + k * x, c), X[0], X),
    "while_loop": lambda lib, k: lib.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] - k), (0, X)
    ),
    "fori_loop": lambda lib, k: lib.fori_loop(0, 3, lambda i, c: c / k + i, X),
    "cond": lambda lib, k: lib.cond(True, lambda: k, lambda: -k),
    "switch": lambda lib, k: lib.switch(1, [lambda: X, lambda: X**k]),
    "map": lambda lib, k: lib.map(lambda x: x * jnp.sin(k), X),
    "associative_scan": lambda lib, k: lib.associative_scan(
        lambda a, b: a * k + b * k, X
    ),
    "checkpoint": lambda lib, k: (lib if lib is jnp else jax).checkpoint(
        lambda x: x * k
    )(X),
    "a branch in a scan": lambda lib, k: lib.scan(
        lambda c, x: (lax.cond(x > 1, lambda: c * k, lambda: c + k), None), X[0], X
    ),
    "a matrix": lambda lib, k: lib.scan(
        lambda c, x: (jnp.array([[1.0, k], [0.0, 1.0]], "float32") @ c + x, None),
        X[:2],
        X,
    ),
    "default": lambda lib, k: lib.map(lambda x, k=k: x * k, X),
    "partial": lambda lib, k: lib.map(functools.partial(lambda k, x: x * k, k), X),
    "attribute": lambda lib, k: lib.map((lambda s: lambda x: x * s.k)(Gain(k)), X),
    "method": lambda lib, k: lib.map(Gain(k).times, X),
}
COMPUTED = {  # in 64 bits by Python
    "half": lambda lib, k: lib.map(lambda x: x * (k / 2), X),
    "rest": lambda lib, k: lib.map(lambda x: (1 - k) * x, X),
    "step": lambda lib, k: lib.scan(lambda c, x: (c + 0.1 * k * x, None), X[0], X),
    "two": lambda lib, k: lib.map(lambda x: x * (k * k), X),
}
NEEDED = {  # by Python
    "if": lambda lib, k: lib.map(lambda x: x + k if k > 1 else x * k, X),
    "inverse": lambda lib, k: lib.map(lambda x: x * (1 / k), X),
    "int": lambda lib, k: lib.map(lambda x: x - int(100 * k), X),
    "math": lambda lib, k: lib.map(lambda x: x * math.exp(k), X),
    "NumPy": lambda lib, k: lib.map(lambda x: x * np.sin(k), X),
    "type": lambda lib, k: lib.map(
        lambda x: x - k if isinstance(k, float) and k > 1.5 else x / k, X
    ),
    "text": lambda lib, k: lib.map(lambda x: k - x * {"2.0": 5}.get(str(k), 1), X),
}


class Gain:
    def __init__(self, k):
        self.k = k

    def times(self, x):
        return x * self.k


def compilations(call, numbers, compiled):
    """How many programs each number takes, whose results are those of JAX.

    But for rounding: XLA writes `x * (1 / 3)` for `x / 3`, and `x * x` for `x**2`.
    """
    counts = []
    for k in numbers:
        compiled.clear()
        ours = call(jnp, k)
        counts.append(len(compiled))
        same(ours, call(lax, k), rtol=1e-6)
    return counts


NUMBERS = (0.3, 0.7, 1.1, 2.0, 1e-3, 0.3)


@pytest.mark.parametrize("call", VARYING.values(), ids=VARYING)
def test_a_captured_number_that_changes_is_data(call, x64, compiled):
    counts = compilations(call, NUMBERS, compiled)
    assert sum(counts[2:]) <= 1  # a program of JAX's own, in the first test
    assert not any(counts[3:])


def test_so_is_a_number_of_numpy(x64, compiled):
    """Also at a place where one of Python was: their types give other results."""
    for kind in (float, np.float64, np.float32):
        numbers = map(kind, NUMBERS)
        assert not any(compilations(VARYING["map"], numbers, compiled)[3:])


@pytest.mark.parametrize("call", COMPUTED.values(), ids=COMPUTED)
def test_what_python_computes_with_a_number_keeps_64_bits(call, x64, compiled):
    """In 32 bits its result would be another: the number stays a constant."""
    counts = compilations(call, NUMBERS, compiled)
    assert any(counts[3:5]) == (not x64)


@pytest.mark.parametrize("call", NEEDED.values(), ids=NEEDED)
def test_a_number_that_python_needs_stays_a_constant(call, compiled):
    with jax.enable_x64(True):  # where more numbers become data
        compilations(call, NUMBERS[:1], compiled)  # the first proves pieces
        assert not compilations(call, NUMBERS, compiled)[-1]


def test_only_the_number_that_changes_is_data(compiled):
    def call(lib, k, n=2.0):
        return lib.map(lambda x: sum(x * k for _ in range(int(n))) * (n / 3), X)

    with jax.enable_x64(False):
        assert not any(compilations(call, NUMBERS, compiled)[3:])
    assert float(call(jnp, 1.0, 3.0)[0]) == 3.0


def test_a_number_is_data_for_the_shapes_that_allow_it():
    """Python code may do another thing for each."""

    def call(lib, k, xs):
        gain = lambda x: k * 0.1 if x.size > 2 else k
        return lib.map(lambda x: x * gain(x), xs)

    with jax.enable_x64(False):
        for n in (2, 2, 2, 3, 3, 2, 3):
            for k in NUMBERS:
                xs = np.ones((3, n), np.float32)
                same(call(jnp, k, xs), call(lax, k, xs))


def test_a_changing_global_of_a_script():
    script = """
import jfi as jnp
from jfi._jax_internals import on_compiled
seen, counts, totals = [], [], []
on_compiled(seen.append)
xs = jnp.arange(4.0)
for gain in (0.5, 1.0, 2.0, 4.0, 8.0):
    def step(c, x):
        return helper(c) + gain * x, None
    def helper(c):
        return 2 * c
    seen.clear()
    totals.append(jnp.scan(step, 0.0, xs)[0])
    counts.append(len(seen))
totals = [float(total) for total in totals]
"""
    variables = {"__name__": "__main__"}
    exec(script, variables)
    assert variables["totals"] == [5.5, 11.0, 22.0, 44.0, 88.0]
    assert not any(variables["counts"][3:])


NEEDS_VALUES = {
    "mask": lambda a: jnp.map(lambda x: x * X[a > 1].sum(), X),
    "int": lambda a: jnp.map(lambda x: x * int(a[1]), X),
    "range": lambda a: jnp.map(lambda x: sum((x for _ in range(int(a[2]))), x), X),
    "NumPy": lambda a: jnp.map(lambda x: x * np.linalg.norm(a), X),
    "if": lambda a: jnp.map(lambda x: x if a[0] > 0 else -x, X),
    "shape": lambda a: jnp.map(lambda x: x + jnp.zeros(a.astype(int)).sum(), X),
}


def outcome(call, array):
    """The result, or what kind of error came."""
    try:
        return np.asarray(call(array)).tolist()
    except Exception as error:
        return next(c for c in type(error).__mro__ if c.__module__ == "builtins")


@UNCOMPILED
@pytest.mark.parametrize("array", [X, jnp.asarray(X)], ids=["NumPy", "JAX"])
@pytest.mark.parametrize("call", NEEDS_VALUES.values(), ids=NEEDS_VALUES)
def test_python_code_may_need_the_value_of_a_captured_array(call, array, monkeypatch):
    """Where JAX lets it: of a NumPy array always."""
    ours = [outcome(call, a) for a in (array, array, -array, array)]
    monkeypatch.setattr(jnp, "map", lax.map)
    assert ours == [outcome(call, a) for a in (array, array, -array, array)]
    assert isinstance(ours[0], list) or isinstance(array, jax.Array)


def test_what_a_body_writes_outside_is_written_at_each_step():
    log = {"n": 0.0}

    def body(c, x):
        log["n"] += 0.5
        return c + x, None

    with pytest.warns(jnp.UncompiledWarning, match=r"writes log\['n'\]"):
        assert float(jnp.scan(body, 0.0, X)[0]) == 6.0
    assert log == {"n": 0.5 * len(X)}


def test_arrays_of_another_byte_order():
    for dtype in ("<f4", ">f4", ">f8", ">i4"):
        np.testing.assert_array_equal(jnp.map(lambda x: x, X.astype(dtype)), X)


def test_jax_compiles_a_fresh_lambda_again(compiled):
    """The measure that the test above relies on sees what it is to see."""
    call = lambda: lax.scan(lambda c, x: (c + 17 * x, None), 0.0, X)
    call()
    compiled.clear()
    call()
    assert compiled


@pytest.mark.parametrize("transform", [jax.grad, jnp.grad])
def test_nor_under_an_eager_gradient(transform, compiled):
    def slope(w, library=jnp):
        def loss(w):
            return library.scan(lambda c, x: (c * w + x, None), w, X)[0] * w

        return transform(loss)(w)

    np.testing.assert_allclose(slope(2.0), slope(2.0, lax), rtol=1e-6)
    slope(2.5)
    compiled.clear()
    slope(3.0)
    assert not compiled


def test_a_changing_number_under_an_eager_gradient(compiled):
    def slope(k, library=jnp):
        loss = lambda w: library.scan(lambda c, x: (c * w + k * x, None), w, X)[0]
        return jnp.grad(loss)(2.0)

    for k in NUMBERS:
        compiled.clear()
        ours = slope(k)
        count = len(compiled)
        np.testing.assert_allclose(ours, slope(k, lax), rtol=1e-6)
    assert not count


class Plant:
    gain = 2.0

    def step(self, c, x):
        return c + self.gain * x, None


def test_what_a_body_reads_may_change_between_calls():
    plant = Plant()
    run = lambda: float(jnp.scan(plant.step, 0.0, X)[0])
    assert [run(), run(), run()] == [12.0] * 3
    plant.gain = 3.0
    assert run() == 18.0
    plant.step = lambda c, x: (c - x, None)
    assert run() == -6.0


GAIN = 1.0


def test_a_global_of_a_body_may_change_between_calls(monkeypatch):
    run = lambda: float(jnp.fori_loop(0, 3, lambda i, c: c + GAIN, 0.0))
    assert [run(), run(), run()] == [3.0] * 3
    monkeypatch.setitem(globals(), "GAIN", 2.0)
    assert run() == 6.0


def test_settings_of_a_body_are_told_apart():
    def run(mode, n):
        def body(c, x):
            return (c + x if mode == "add" else c - x) * n, None

        return float(jnp.scan(body, 0.0, X)[0])

    for _ in range(3):
        assert run("add", 1) == 6.0
        assert run("sub", 1) == -6.0
        assert run("add", True) == 6.0
        assert run("add", 2) == 22.0


@UNCOMPILED
def test_functions_that_cannot_be_compared_still_work():
    class Odd:
        """A body that holds what autojit refuses to open."""

        def __init__(self):
            self.lines = (line for line in "abc")

        def __call__(self, c, x):
            return c + x, None

    lines = iter("abc")
    for _ in range(2):
        assert float(jnp.scan(Odd(), 0.0, X)[0]) == 6.0
        assert float(jnp.map(lambda x: x + (lines is None), X)[2]) == 3.0


def test_threads_share_the_programs():
    results = {}

    def run(k):
        results[k] = [
            float(jnp.scan(lambda c, x: (c + k * x, None), 0.0, X)[0]) for _ in range(5)
        ]

    threads = [threading.Thread(target=run, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {float(k): [6.0 * k] * 5 for k in range(4)}


def test_a_failed_call_leaves_nothing_behind():
    def run(fails):
        def body(c, x):
            if fails:
                raise KeyError("mine")
            return c + x, None

        return float(jnp.scan(body, 0.0, X)[0])

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            run(True)
        assert run(False) == 6.0


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=4),
    st.booleans(),
    st.floats(-2, 2, width=32),
)
def test_any_scan_is_the_python_loop(rows, reverse, k):
    xs = np.array(rows, np.float32)
    last, ys = jnp.scan(lambda c, x: (c * x + k, c), 1.0, xs, reverse=reverse)
    c, expected = np.float32(1.0), []
    for x in xs[::-1] if reverse else xs:
        expected.append(c)
        c = np.float32(c * x + np.float32(k))
    np.testing.assert_allclose(last, c, rtol=1e-4, atol=1e-4)
    expected = expected[::-1] if reverse else expected
    np.testing.assert_allclose(ys, expected, rtol=1e-4, atol=1e-4)


def test_random_draws_are_those_of_a_python_loop():
    def python():
        c = 0.0
        for _ in range(3):
            c = c + jnp.randn()
        return c

    def loops(k):
        yield lambda: jnp.scan(lambda c, _: (c + k * jnp.randn(), None), 0.0, X)[0]
        yield lambda: jnp.fori_loop(0, 3, lambda i, c: c + k * jnp.randn(), 0.0)

    jnp.manual_seed(3)
    expected = [float(python()) for _ in range(3)]
    for number in range(2):
        jnp.manual_seed(3)
        got = [float(list(loops(1.0))[number]()) for _ in range(3)]
        np.testing.assert_allclose(got, expected, rtol=1e-6)


# ---- checkpoint ----


def test_checkpoint_keeps_its_arguments_and_options():
    f = lambda x, n, *, scale=1.0: (x**n * scale).sum()
    ours = jnp.checkpoint(f, static_argnums=(1,))
    for _ in range(3):
        assert float(ours(X, 2, scale=2.0)) == 28.0
        np.testing.assert_allclose(jax.grad(ours)(X, 3), 3 * X**2, rtol=1e-6)
    policy = jax.checkpoint_policies.everything_saveable
    kept = jnp.checkpoint(lambda x: jnp.sin(x).sum(), policy=policy)
    np.testing.assert_allclose(jax.grad(kept)(X), np.cos(X), rtol=1e-6)
    assert ours.__name__ == f.__name__


def test_settings_of_checkpoint_by_name():
    f = lambda x, mode, *, n=1: (x**n if mode == "power" else x + n).sum()
    ours = jnp.checkpoint(f, static_argnames=["mode", "n"])
    for _ in range(3):
        assert float(ours(X, "power", n=2)) == 14.0
        assert float(ours(X, mode="add", n=1)) == 9.0
        assert float(jax.jit(lambda x: ours(x, "power", n=3))(X)) == 36.0


def test_checkpoint_keeps_each_argument_from_xla_as_told():
    def f(x, mode, y, *, z):
        return (jnp.sin(x * y["a"]) * jnp.sin(y["b"] * z)).sum()

    y = {"a": X, "b": X}
    for cse in (
        ((False, True), {"z": True}),
        [(True, {"a": False, "b": True}), {"z": 0}],
    ):
        barriers = []
        for library in (jnp, jax):
            kept = library.checkpoint(f, prevent_cse=cse, static_argnums=1)
            slope = jax.jit(jax.grad(kept), static_argnums=1)
            text = slope.lower(X, "fast", y, z=X).as_text()
            barriers.append([x for x in text.split("\n") if "optimization_b" in x])
        assert len(barriers[0]) == 1
        assert barriers[0] == barriers[1]


def test_checkpoint_computes_inner_values_again():
    f = lambda x: jnp.sin(jnp.sin(jnp.sin(x))).sum()
    text = lambda f: jax.jit(jax.grad(f)).lower(X).as_text()
    assert "optimization_barrier" in text(jnp.checkpoint(f))
    assert "optimization_barrier" not in text(f)


# ---- branches in a batch ----


BATCHES = {
    "captured": lambda lib, th, x: lib.cond(
        x > 0, lambda: jnp.log(x * th), lambda: x * 0
    ),
    "operands": lambda lib, th, x: lib.cond(
        x > 0, lambda x, th: jnp.sqrt(x) * th, lambda x, th: th * x * 0, x, th
    ),
    "tree": lambda lib, th, x: lib.cond(
        x > 0,
        lambda s: {"a": s["x"] * th, "b": 1},
        lambda s: {"a": s["x"], "b": s["n"]},
        {"x": x, "n": 2},
    )["a"],
    "switch": lambda lib, th, x: lib.switch(
        x.astype(int), [lambda: th * x, lambda: jnp.log(x) * th, lambda: x**2]
    ),
    "shared choice": lambda lib, th, x: lib.cond(th > 0, lambda: x * th, lambda: x),
    "in a scan": lambda lib, th, x: lib.scan(
        lambda c, k: (
            lib.cond(c > k, lambda: jnp.sqrt(c - k) * th, lambda: c * th - k),
            None,
        ),
        x,
        jnp.arange(3.0),
    )[0],
    "shared choice in a scan": lambda lib, th, x: lib.scan(
        lambda c, k: (lib.cond(k > 1, lambda: jnp.sin(c) * th, lambda: c), None),
        x,
        jnp.arange(3.0),
    )[0],
    "in a jit": lambda lib, th, x: jax.jit(
        lambda th, x: lib.cond(x > 0, lambda: jnp.log(x * th), lambda: x * 0)
    )(th, x),
    "in a branch": lambda lib, th, x: lib.cond(
        x > 0,
        lambda: lib.cond(x > 1, lambda: jnp.log(x - 1) * th, lambda: th * x),
        lambda: x * 0,
    ),
}
MODES = {
    "vmap": lambda f: lambda th, xs: jax.vmap(f, (None, 0))(th, xs),
    "vmap of vmap": lambda f: (
        lambda th, xs: jax.vmap(jax.vmap(f, (None, 0)), (0, None))(
            jnp.stack([th, 2 * th]), xs
        )
    ),
    "grad of vmap": lambda f: jax.grad(
        lambda th, xs: jax.vmap(f, (None, 0))(th, xs).sum(), (0, 1)
    ),
    "vmap of grad": lambda f: jax.vmap(jax.grad(f, (0, 1)), (None, 0)),
    "jacfwd of vmap": lambda f: jax.jacfwd(jax.vmap(f, (None, 0)), (0, 1)),
    "hessian of vmap": lambda f: jax.hessian(
        lambda th, xs: jax.vmap(f, (None, 0))(th, xs).sum()
    ),
    "jvp of vmap of grad": lambda f: (
        lambda th, xs: jax.jvp(
            lambda th: jax.vmap(jax.grad(f, 1), (None, 0))(th, xs), (th,), (th,)
        )
    ),
}


def results(modes, f, th, xs):
    """What a function gives in some modes, with jfi's branches and with JAX's."""
    return [
        {mode: MODES[mode](functools.partial(f, library))(th, xs) for mode in modes}
        for library in (jnp, lax)
    ]


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize("f", BATCHES.values(), ids=BATCHES)
def test_branches_in_a_batch_are_those_of_jax(f, jit):
    # One program of all modes: one for each takes XLA long.
    modes = MODES if jit else ("vmap", "grad of vmap")
    run = functools.partial(results, modes, f)
    xs = jnp.array([-1.0, 0.0, 1.0, 2.0])
    a, b = (jax.jit(run) if jit else run)(jnp.float32(2.0), xs)
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for (path, x), y in zip(
        jax.tree.leaves_with_path(a), jax.tree.leaves(b), strict=True
    ):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-6, err_msg=jax.tree_util.keystr(path))


def sizes(jaxpr):
    """The sizes of all values in a jaxpr."""
    for eqn in jaxpr.eqns:
        yield from (v.aval.size for v in eqn.outvars)
        for inner in jax.tree.leaves(list(eqn.params.values())):
            if hasattr(inner, "jaxpr"):
                yield from sizes(inner.jaxpr)


SHARED = jnp.ones((50, 60))


def once(library, x):
    return library.cond(x[0] > 0, lambda: SHARED @ x, lambda: SHARED @ -x)


def again_and_again(library, x):
    y = jnp.zeros(50)
    return library.scan(lambda y, _: (once(library, x) + y, None), y, length=2)[0]


@pytest.mark.parametrize(("library", "copies"), [(jnp, False), (lax, True)])
@pytest.mark.parametrize("f", [once, again_and_again])
def test_what_rows_share_is_not_copied(f, library, copies):
    jax.jit(jnp.randn)()  # from now on jfi looks for draws where it compiles
    rows = jnp.ones((7, 60))
    run = jax.vmap(functools.partial(f, library))
    jaxpr = jax.make_jaxpr(run)(rows)
    assert (max(sizes(jaxpr.jaxpr)) >= 7 * SHARED.size) == copies
    gradient = jax.make_jaxpr(jax.grad(lambda rows: run(rows).sum()))(rows)
    assert (max(sizes(gradient.jaxpr)) >= 7 * SHARED.size) == copies


def test_what_every_branch_passes_on_is_shared_by_the_rows():
    def f(library, x, th):
        double = lambda x, th: (x * 2, th, SHARED)
        return library.cond(x > 1, double, lambda x, th: (x, th, SHARED), x, th)

    def in_a_scan(library, x, th):
        body = lambda th, _: (f(library, x, th)[1], f(library, x, th)[0])
        return library.scan(body, th, length=2)

    th = jnp.float32(3)
    for run, axes in (f, (0, None, None)), (in_a_scan, (None, 0)):
        ours, theirs = (
            jax.vmap(functools.partial(run, library), (0, None), axes)(X, th)
            for library in (jnp, lax)
        )
        same(ours, theirs)


def test_a_choice_that_rows_share_runs_one_branch():
    def f(x, choice):
        body = lambda c, _: (jnp.cond(choice, jnp.sin, jnp.cos, c), None)
        return jnp.scan(body, x, length=2)[0]

    text = str(jax.make_jaxpr(jax.vmap(f, (0, None)))(X, True))
    assert "cond[" in text
    assert "select_n" not in text


# ---- refusals ----


def drift(state, _):
    x = state["x"] * np.float64(2) * np.ones(3)
    return {"x": x}, None


def grow(state, _):
    state["x"] += np.ones(3)
    return state, None


halved = lambda c: c / 2
scaled = lambda k, c: k * c


class Scaling:
    def __call__(self, i, c):
        return 0.5 * c


def in_one_line():
    total = jnp.fori_loop(0, 3, lambda i, c: c / 2, jnp.int32(8))
    return total + 1


REFUSED = [
    (
        lambda: jnp.while_loop(lambda c: c > 1, halved, jnp.int32(8)),
        r"Write instead: halved = lambda c: \(c / 2\)\.astype\('int32'\)\n",
    ),
    (in_one_line, r"line \d+: total = .*\nWrite instead: \.\.\.astype\('int32'\)\n"),
    (
        lambda: jnp.while_loop(
            lambda c: c > 1, functools.partial(scaled, 0.5), jnp.int32(8)
        ),
        r"^The carry c goes into <lambda>\(\) as int32\[\]",
    ),
    (
        lambda: jnp.fori_loop(0, 3, Scaling(), jnp.int32(8)),
        r"^The carry c goes into Scaling\(\) as int32\[\]",
    ),
    (
        lambda: jnp.scan(drift, {"x": X}, length=3),
        r"^The carry state\['x'\] goes into drift\(\) as float32\[3\] and comes out as "
        r"float64\[3\]; scan\(\) keeps shapes and dtypes\.\n"
        r"  .*test_control_flow\.py, line \d+: x = state\[.x.\] \* np\.float64.*\n"
        r"Write instead: x = \(state\['x'\] \* .*\)\.astype\('float32'\)\n"
        r"or start with float64: init\['x'\] = jnp\.asarray\(init\['x'\], 'float64'\)",
    ),
    (
        lambda: jnp.scan(grow, {"x": X}, length=3),
        r"Write instead: state\['x'\] = \(state\['x'\] \+ np\.ones\(3\)\)\.astype",
    ),
    (
        lambda: jnp.scan(lambda c, x: c, X, length=3),
        r"^<lambda>\(\) in scan\(\) returned an array float32\[3\], not a pair\.\n"
        r"Return \(c, y\); .*: return c, None",
    ),
    (
        lambda: jnp.scan(lambda c, x: ({}, x), {"a": 1.0}, X),
        r"^<lambda>\(\) in scan\(\) returns a carry that differs from init: it leaves "
        r"out c\['a'\]\.\nReturn a carry with the same",
    ),
    (
        lambda: jnp.scan(lambda c, x: (c, x), X, {"a": X, "b": np.ones(4)}),
        r"these differ: xs\['a'\]: 3, xs\['b'\]: 4\.\nCut them",
    ),
    (
        lambda: jnp.scan(lambda c, x: (c, x), X, X, length=4),
        r"these differ: length: 4, xs: 3\.",
    ),
    (
        lambda: jnp.scan(lambda c, x: (c, x), X, {"a": X, "b": 2.0}),
        r"xs\['b'\] is a single number\.\nLet f capture it; or repeat it",
    ),
    (lambda: jnp.scan(lambda c, x: (c, x), X), r"no length\.\nWrite scan\(f, init, l"),
    (
        lambda: jnp.scan(lambda c, x: (c, x), {"mode": "fast"}, length=2),
        r"got a str for init\['mode'\]; .* carries only arrays .*\nTake it out of init",
    ),
    (
        lambda: jnp.while_loop(lambda c: c, lambda c: c, X),
        r"^<lambda>\(\) of while_loop\(\) returned float32\[3\] and must return bool",
    ),
    (
        lambda: jnp.while_loop(
            lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 0.5), (0, np.int32(1))
        ),
        r"^The carry c\[1\] goes .* as int\d+\[\] and comes out as float\d+\[\]; "
        r"while_loop(.|\n)*or start with float\d+: init_val\[1\] = jnp\.asarray",
    ),
    (
        lambda: jnp.fori_loop(0, 3, lambda i, state: state.astype("int32"), X),
        r"^The carry state goes into <lambda>\(\) as float32\[3\] and comes out as int",
    ),
    (
        lambda: jnp.cond(True, lambda: np.float32(1), lambda: np.int32(2)),
        r"types for result: true_fun \(<lambda>\(\)\) returns float32\[\], false_fun .*"
        r"returns int32\[\]\.\n(.|\n)*Write instead: return \.\.\.astype\('float32'\)",
    ),
    (
        lambda: jnp.cond(True, lambda x: {"a": x}, lambda x: {"b": x}, X),
        r"different structures: for result, true_fun .*\['a'\], false_fun .*\['b'\]",
    ),
    (
        lambda: jnp.switch(1, [lambda x: x, lambda x: (x, x.sum())], X),
        r"different structures: for result, branches\[0\] .*, branches\[1\]",
    ),
    (
        lambda: jnp.switch(1, [lambda x: x, lambda x: x.sum()], X),
        r"branches\[1\] .* returns float32\[\]\.\n.*\nWrite instead: return arrays of",
    ),
    (
        lambda: jnp.cond(True, lambda s: 1.0, lambda s: 2.0, {"mode": "fast"}),
        r"cond\(\) got a str for operands\[0\]\['mode'\]",
    ),
]


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(
    ("call", "message"), REFUSED, ids=[str(k) for k in range(len(REFUSED))]
)
def test_what_jax_refuses_is_told_in_the_users_words(call, message, jit):
    run = jax.jit(lambda: call()) if jit else call
    for _ in range(2):
        with pytest.raises(LoopError, match=message) as info:
            run()
        assert isinstance(info.value.__cause__, Exception)


def test_errors_of_the_users_own_code_stay_as_they_are():
    def body(c, x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine") as info:
        jnp.scan(body, 0.0, X)
    assert not isinstance(info.value, LoopError)


ONE = [lambda x: x, lambda x: -x]
WRONG = [
    (lambda: jnp.scan(3, 0.0, X), r"the int 3 for f, which is not callable"),
    (lambda: jnp.scan(lambda c, x: (c, x), 0.0, length=-1), r"got length=-1"),
    (lambda: jnp.fori_loop(0, 3, None, 1.0), r"None for body_fun, which is not"),
    (lambda: jnp.while_loop(None, ONE[0], 0.0), r"None for cond_fun, which is not"),
    (lambda: jnp.fori_loop(0, "3", lambda i, c: c, 0.0), r"str '3' for upper"),
    (lambda: jnp.fori_loop(X, 3, lambda i, c: c, 0.0), r"float32\[3\] for lower"),
    (
        lambda: jnp.jit(lambda n: jnp.fori_loop(0, n, max, 1.0, unroll=2))(3),
        r"unroll=2 and a traced upper: .* knows their number\.\nPass upper as a Python",
    ),
    (
        lambda: jnp.cond(True, ONE[0], 2),
        r"the int 2 for false_fun, which is not callable",
    ),
    (lambda: jnp.cond(X > 0, *ONE, 1.0), r"bool\[3\] for pred.*scalar.*\n.*jnp\.where"),
    (lambda: jnp.cond("yes", *ONE, 1.0), r"the str 'yes' for pred.*\n.*x > 0"),
    (lambda: jnp.cond(None, *ONE, 1.0), r"None for pred"),
    (lambda: jnp.switch(0, []), r"no branches"),
    (
        lambda: jnp.switch(0, ONE[0], 1.0),
        r"function <lambda> for branches.*takes a list",
    ),
    (lambda: jnp.switch("a", {"a": ONE[0]}, 1.0), r"a dict for branches.*\n.*\.index"),
    (lambda: jnp.switch(0, [ONE[0], 3], 1.0), r"the int 3 for branches\[1\]"),
    (lambda: jnp.switch(1.0, ONE, 1.0), r"the float 1\.0 for index.*\n.*asarray"),
    (lambda: jnp.switch(np.arange(2), ONE, 1.0), r"int64\[2\] for index.*\n.*vmap"),
    (lambda: jnp.map(ONE[0], 3), r"the int 3 there, which has none"),
    (lambda: jnp.map(ONE[0], X, batch_size=2.5), r"batch_size=2\.5"),
    (lambda: jnp.associative_scan(jnp.add, 3.0), r"the float 3\.0 there"),
    (
        lambda: jnp.associative_scan(jnp.add, {"a": X, "b": X[:2]}),
        r"rows of elems, and their numbers differ: elems\['a'\]: 3, elems\['b'\]: 2",
    ),
    (
        lambda: jnp.associative_scan(lambda a, b: (a + b).sum(), X),
        r"returns one like them: it got float32\[3\] twice and returned float32\[\]\.",
    ),
    (lambda: jnp.map(ONE[0], {}), r"rows of xs, and got no array there"),
    (
        lambda: jnp.map(lambda x: x["a"], {"a": X, "b": X[:2]}),
        r"rows of xs, and their numbers differ: xs\['a'\]: 3, xs\['b'\]: 2\.\nCut",
    ),
    (
        lambda: jnp.checkpoint(lambda x, mode: x)(1.0, "fast"),
        r"the str 'fast' for argument 1, .*\nWrite checkpoint\(f, static_argnums=1\)",
    ),
    (
        lambda: jnp.checkpoint(lambda x, mode: x)(1.0, mode="fast"),
        r"Write checkpoint\(f, static_argnames='mode'\)",
    ),
    (lambda: jnp.associative_scan(1, X), r"the int 1 for fn, which is not callable"),
]


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize(
    ("call", "message"), WRONG, ids=[str(k) for k in range(len(WRONG))]
)
def test_arguments_of_the_wrong_kind_are_named(call, message):
    for run in (call, jax.jit(lambda: call())):
        with pytest.raises(LoopError, match=message):
            run()


@jax.tree_util.register_pytree_node_class
class Bijector:
    """Flattens as distrax's: by the class of each value, where a mark is data."""

    def __init__(self, scale, dims):
        self.scale, self.dims = scale, dims

    def tree_flatten(self):
        values = (self.scale, self.dims)
        data = tuple(type(v) not in (int, tuple) for v in values)
        children = [v if d else None for v, d in zip(values, data, strict=True)]
        static = tuple(None if d else v for v, d in zip(values, data, strict=True))
        return children, (static, data)

    @classmethod
    def tree_unflatten(cls, static, children):
        made = object.__new__(cls)
        made.scale, made.dims = (
            child if is_data else value
            for child, value, is_data in zip(children, *static, strict=True)
        )
        return made


def test_whole_numbers_that_a_class_takes_for_static_stay_so_in_a_carry():
    def step(c, x):
        axes = c.dims if isinstance(c.dims, tuple) else tuple(range(c.dims))
        return Bijector(c.scale + x, c.dims), jnp.sum(c.scale, axis=axes)

    for dims in (1, 0, (0,)):
        first = Bijector(jnp.ones(2), dims)
        last, sums = jnp.scan(step, first, jnp.arange(3.0))
        expected, plain = lax.scan(step, first, jnp.arange(3.0))
        assert jax.tree.structure(last) == jax.tree.structure(expected)
        np.testing.assert_array_equal(sums, plain)
    data = Bijector(jnp.ones(2), jnp.asarray(1))
    step = lambda c, x: (Bijector(c.scale, c.dims + x), None)
    last, _ = jnp.scan(step, data, jnp.asarray([1, 2]))
    assert last.dims == 4
