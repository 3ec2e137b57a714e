"""NumPy functions as JAX functions, compared with NumPy and with JAX's own."""

import pickle

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jfi as jnp
from jfi import CallbackError


X = np.array([0.3, 1.2, 2.0], np.float32)
ROWS = np.arange(1, 7, dtype=np.float32).reshape(3, 2)


def close(found, expected, atol=1e-5):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=atol),
        found,
        expected,
    )


cos = lambda primals, tangents: np.cos(primals[0]) * tangents[0]
pull_cos = lambda primals, cotangent: (np.cos(primals[0]) * cotangent,)
RULES = {
    "complex_step": {"derivative": "complex_step"},
    "differences": {"derivative": "differences"},
    "jvp": {"jvp": cos, "derivative": "differences"},
    "vjp": {"vjp": pull_cos, "derivative": "differences"},
    "both": {"jvp": cos, "vjp": pull_cos, "derivative": "differences"},
}


@pytest.mark.parametrize("rule", RULES)
def test_derivatives_of_every_mode_and_order(rule, x64):
    sine = jnp.from_numpy(np.sin, **RULES[rule])
    total = lambda x: sine(x).sum()
    x = jnp.asarray(X)
    slopes, bends = np.cos(X), np.diag(-np.sin(X))
    close(jax.jit(jax.grad(total))(x), slopes)
    close(jax.jacfwd(sine)(x), np.diag(slopes))
    close(jax.jacrev(sine)(x), np.diag(slopes))
    close(jax.jit(jax.hessian(total))(x), bends, atol=1e-3)
    close(jax.jacrev(jax.grad(total))(x), bends, atol=1e-3)
    close(jax.vmap(jax.grad(sine))(x), slopes)
    close(jax.grad(lambda x: jax.vmap(sine)(x).sum())(x), slopes)
    assert jax.grad(sine)(0.3).dtype == x.dtype or x64


COMPLEX = {
    "holomorphic": (lambda z: z**2, lambda z: z**2),
    "real part": (lambda z: (z * np.conj(z)).real, lambda z: (z * jnp.conj(z)).real),
    "absolute": (np.abs, jnp.abs),
}


@pytest.mark.parametrize("case", COMPLEX)
def test_complex_numbers_have_the_derivatives_of_jax(case):
    ours = jnp.from_numpy(COMPLEX[case][0], derivative="differences")
    z = jnp.array([1 + 2j, 0.5 - 1j])
    loss = lambda f: lambda z: jnp.sum(jnp.real(f(z) * (2 + 1j)))
    close(jax.grad(loss(ours))(z), jax.grad(loss(COMPLEX[case][1]))(z), atol=1e-3)
    along = (z * 1j + 1,)
    found = jax.jvp(ours, (z,), along)[1]
    close(found, jax.jvp(COMPLEX[case][1], (z,), along)[1], atol=1e-3)


def test_several_arguments_and_results():
    def mixed(a, b, n):
        return {"y": a * b.sum(), "n": n + 1}

    def pull(primals, ct):
        a, b, _ = primals
        assert ct["n"] is None
        return ct["y"] * b.sum(), np.full_like(b, (ct["y"] * a).sum()), None

    f = jnp.from_numpy(mixed, vjp=pull)
    a, b = jnp.asarray(X), jnp.asarray(ROWS)
    loss = lambda f: lambda a, b, n: jnp.sum(f(a, b, n)["y"] ** 2)
    n = jnp.arange(2)
    for argnums in (0, 1, (0, 1)):
        ours = jax.jit(jax.grad(loss(f), argnums))(a, b, n)
        close(ours, jax.grad(loss(mixed), argnums)(a, b, n))
    assert f(a, b, n)["n"].dtype == jnp.int32
    tangents = (b * 0 + 1.0,)
    found = jax.jvp(lambda b: f(a, b, n)["y"], (b,), tangents)
    close(found, jax.jvp(lambda b: mixed(a, b, n)["y"], (b,), tangents))


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
def test_a_batch_is_one_call_where_the_function_is_elementwise(jit):
    calls = []

    @jnp.from_numpy
    def poly(x, y, power=2):
        calls.append(1)
        return {"a": x**power + y, "b": np.where(y > 1, y, np.exp(y))}

    nested = jax.vmap(jax.vmap(poly, (0, None)), (None, 0))
    run = jax.jit(nested) if jit else nested
    x, y = jnp.asarray(ROWS), jnp.arange(4.0)
    run(x, y)
    calls.clear()
    found = run(x, y)
    assert len(calls) == 1
    b = np.where(y > 1, y, np.exp(y))[:, None] + np.zeros((1, 3))
    close(found, {"a": ROWS[None] ** 2 + np.asarray(y)[:, None, None], "b": b})


def test_what_a_batch_does_may_change_from_call_to_call():
    normalise = False
    f = jnp.from_numpy(lambda x: x / x.sum() if normalise else 2 * x)
    run = jax.jit(jax.vmap(f))
    close(run(ROWS), 2 * ROWS)
    normalise = True
    close(run(ROWS), ROWS / ROWS.sum(1, keepdims=True))


def test_integer_arguments_are_refused_not_cut():
    with pytest.raises(CallbackError, match="got the integer 1099511627776"):
        jnp.from_numpy(np.sort)(np.array([2**40]))


def test_the_structure_of_a_result_is_that_which_jax_was_told():
    f = jnp.from_numpy(lambda x: {"up": x} if x >= 0 else {"down": x})
    assert f(-1.0).keys() == {"down"}
    compiled = jnp.jit(f)
    assert compiled(1.0).keys() == {"up"}
    with pytest.raises(CallbackError, match=r"returned .*down.* where .*up.* inferred"):
        compiled(-1.0)


def test_selections_are_refused_where_no_check_could_follow():
    f = jnp.from_numpy(lambda x: x[x > 1])
    close(f(jnp.arange(3.0)), [2.0])
    for run in (jnp.jit(f), jnp.vmap(f)):
        with pytest.raises(CallbackError, match=r"returned an empty array .* a mask"):
            run(jnp.ones((2, 3)))


def test_masks_and_long_doubles_are_refused():
    for function, message in [
        (
            lambda x: np.ma.masked_array(x, x > 0),
            r"masked array.* array.filled\(value\)",
        ),
        (np.longdouble, r"dtype .* Convert it: array.astype\(float\)"),
    ]:
        for run in (jnp.from_numpy(function), jnp.jit(jnp.from_numpy(function))):
            with pytest.raises(CallbackError, match=message):
                run(jnp.ones(2))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of np.matrix
def test_arrays_with_rules_of_their_own_reach_the_function():
    total = jnp.from_numpy(lambda x: np.asarray(float(x.sum())))
    masked = np.ma.masked_array([1.0, 2.0], mask=[0, 1])
    assert total(masked) == 1.0
    assert jnp.jit(lambda y: total(masked) + y)(0.5) == 1.5
    square = jnp.from_numpy(lambda x: np.asarray(x * x))
    matrix = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    assert np.array_equal(square(matrix), matrix * matrix)


def _asks_for_class(x):
    return np.sin(x / x.sum() if isinstance(x, np.ndarray) else x)


def _catches(x):
    try:
        return x / x.max()
    except Exception:  # as code that takes anything does
        return x


NOT_ELEMENTWISE = {
    "class": _asks_for_class,
    "catches": _catches,
    "sum": lambda x: x / x.sum(),
    "branch": lambda x: x if (x > 3).any() else -x,
    "axis": lambda x: np.sort(-x, axis=0),
    "length": lambda x: x * len(x),
    "in place": lambda x: np.add(x, x.mean(), out=x),
    "constant": lambda x: x + np.arange(2),
    "reduce": lambda x: np.add.reduce(x) + x,
    "shape": lambda x: x + x.shape[0],
}


@pytest.mark.parametrize("name", NOT_ELEMENTWISE)
@settings(max_examples=10, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), max_size=4))
def test_rows_of_a_batch_never_meet(name, rows):
    function = NOT_ELEMENTWISE[name]
    f = jnp.from_numpy(function)
    batch = np.array([*rows, (1, 2)], np.float32)
    with np.errstate(all="ignore"):
        found = jax.vmap(f)(jnp.asarray(batch))
        expected = np.stack([function(row.copy()) for row in batch])
    close(found, expected)


def test_a_function_said_to_broadcast_is_checked():
    norm = jnp.from_numpy(lambda x: np.linalg.norm(x, axis=-1), vmap="broadcast")
    close(jax.jit(jax.vmap(norm))(ROWS), np.linalg.norm(ROWS, axis=-1))
    wrong = jnp.from_numpy(lambda x: x / x.sum(), vmap="broadcast")
    for run in (jax.vmap(wrong), jnp.jit(jax.vmap(wrong))):
        with pytest.raises(CallbackError, match=r"does not broadcast: for row"):
            run(jnp.asarray(ROWS))


@pytest.mark.parametrize("run", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_arguments_that_are_no_arrays_arrive_as_they_are(run):
    def settings_of(x, mode, *, power=2, nothing=None):
        assert (mode, type(power), nothing) == ("a", int, None)
        return x**power

    f = jnp.from_numpy(settings_of)
    close(run(lambda x: f(x, "a", power=3))(jnp.asarray(X)), X**3)
    assert run(lambda: jnp.from_numpy(np.exp)(1.0))() == np.float32(np.e)


def test_writes_touch_no_array_of_jax():
    @jnp.from_numpy
    def increment(x):
        x += 1
        return x

    x = jnp.asarray(X)
    for run in (increment, increment, jax.jit(increment)):
        close(run(x), X + 1)
    close(x, X)


def test_what_a_function_keeps_stays_as_it_was():
    kept = []

    @jnp.from_numpy
    def keep(x):
        kept.append(x[1:])
        return 2 * x

    run = jax.jit(keep)
    for k in range(3):
        run(jnp.asarray(X) + k)
    close(kept[-3:], [X[1:] + k for k in range(3)])


def test_a_later_keeping_is_refused():
    """What is kept only once a value is seen can't be known before."""
    kept = []
    f = jnp.from_numpy(lambda x: (kept.append(x) if x[0] > 5 else None, 2 * x)[1])
    run = jnp.jit(f)
    close(run(jnp.asarray(X)), 2 * X)
    with pytest.raises(CallbackError, match=r"keeps an array .* np.array\(x\)"):
        run(jnp.asarray(X) + 10)


@pytest.mark.parametrize("wrap", [lambda f: f, jnp.jit, jnp.autojit])
@pytest.mark.parametrize("out", [None, X], ids=["inferred", "given"])
def test_exceptions_keep_their_type(wrap, out):
    def fail(x):
        if x[0] > 1:
            raise KeyError("no such row", 7)
        return x

    run = wrap(jnp.from_numpy(fail, out=out))
    close(run(jnp.asarray(X)), X)
    for _ in range(2):
        with pytest.raises(KeyError) as caught:
            run(jnp.asarray(X) + 1)
        assert caught.value.args == ("no such row", 7)


def test_exceptions_of_loops_batches_and_kept_programs(tmp_path, monkeypatch):
    monkeypatch.setenv("JFI_CACHE_DIR", str(tmp_path))

    def fail(x):
        raise KeyError("no such row")

    f = jnp.from_numpy(fail, out=X)
    x = jnp.asarray(X)
    runs = [
        lambda: jnp.scan(lambda c, _: (f(c), None), x, None, length=2),
        lambda: jnp.vmap_automatically(f, jnp.stack([x, x])),
        lambda: jnp.fori_loop(0, 2, lambda i, c: f(c), x),
    ]
    for run in runs:
        with pytest.raises(KeyError, match="no such row"):
            run()


def test_an_exception_of_a_rule_keeps_its_type():
    def fail(primals, cotangent):
        raise KeyError("in the rule")

    f = jnp.from_numpy(np.sin, vjp=fail)
    loss = lambda x: f(x).sum()
    for gradient in (jnp.grad(jnp.jit(loss)), jnp.jit(jnp.grad(loss)), jnp.grad(loss)):
        with pytest.raises(KeyError, match="in the rule"):
            gradient(jnp.asarray(X))


def test_the_sample_call_says_what_it_is():
    f = jnp.from_numpy(lambda x: np.linalg.cholesky(x - 10))
    with pytest.raises(np.linalg.LinAlgError) as caught:
        jax.jit(f)(jnp.eye(2))
    assert "out=jax.ShapeDtypeStruct" in caught.value.__notes__[0]


REFUSED = {
    "text": (lambda x: "yes", "returned 'yes' .str., which is no array"),
    "jax": (lambda x: jnp.sin(X), "returned an array of JAX"),
    "large": (
        lambda x: np.array(2**40),
        "1099511627776, which does not fit",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_results_that_jax_can_not_hold(case):
    function, message = REFUSED[case]
    for run in (jnp.from_numpy(function), jnp.jit(jnp.from_numpy(function))):
        with pytest.raises(CallbackError, match=message):
            run(jnp.asarray(X))


def test_no_derivative_is_refused_in_words():
    f = jnp.from_numpy(np.cumsum)
    with pytest.raises(CallbackError, match=r"cumsum.* jvp= or vjp=, or derivative="):
        jax.grad(lambda x: f(x).sum())(jnp.asarray(X))
    first = jnp.from_numpy(np.sin, jvp=cos)
    with pytest.raises(CallbackError, match="first derivatives only"):
        jax.grad(jax.grad(first))(1.0)
    rounds = jnp.from_numpy(lambda x: x * np.abs(x), derivative="complex_step")
    with pytest.raises(CallbackError, match="Write derivative='differences'"):
        jax.grad(rounds)(-2.0)


def test_wrong_options_are_refused():
    with pytest.raises(ValueError, match="derivative='exact'"):
        jnp.from_numpy(np.sin, derivative="exact")
    with pytest.raises(TypeError, match=r"jnp.asarray\(array\)"):
        jnp.from_numpy(X)
    with pytest.raises(ValueError, match="effects"):
        jnp.from_numpy(np.sin, ordered=True, jvp=cos)


def test_ordered_functions_run_once_a_call_in_order():
    seen = []
    note = jnp.from_numpy(lambda x: seen.append(float(x)), ordered=True)
    assert note(1.0) is None

    def program(x):
        note(x)
        jax.lax.fori_loop(0, 2, lambda i, c: (note(c), c + 1)[1], x + 1)
        return x

    run = jnp.jit(program)
    run(2.0)
    run(5.0)
    jax.effects_barrier()
    assert seen == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


def test_values_that_a_function_reads_are_current():
    scale = [2.0]
    f = jnp.from_numpy(lambda x: np.float32(scale[0]) * x)
    runs = [jax.jit(f), jnp.autojit(lambda x: f(x) + 0), jnp.jit(f)]
    for now in (2.0, 5.0):
        scale[0] = now
        for run in runs:
            close(run(jnp.asarray(X)), now * X)


class Gain:
    def __init__(self, k):
        self.k = k

    @jnp.from_numpy
    def apply(self, x):
        return self.k * x

    @jnp.autojit
    def step(self, x):
        return self.apply(x) + 1


def test_methods():
    gain = Gain(3)
    close(gain.apply(X), 3 * X)
    for k in (3, 4):
        gain.k = k
        close(gain.step(jnp.asarray(X)), k * X + 1)


@jnp.from_numpy
def doubled(x):
    return 2 * x


def test_pickling():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    f = pickle.loads(pickle.dumps(jnp.from_numpy(np.cumsum, vmap="sequential")))
    close(f(X), np.cumsum(X))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_empty_arrays(shape):
    f = jnp.from_numpy(lambda x: (np.sort(x), x.sum()))
    for run in (f, jax.jit(f)):
        ordered, total = run(jnp.zeros(shape))
        assert ordered.shape == shape
        assert total == 0


def test_eager_results_are_never_memory_of_the_function():
    buffers = {n: np.zeros(n, np.float32) for n in (3, 200_000)}
    for n, buffer in buffers.items():
        f = jnp.from_numpy(lambda x, buffer=buffer: np.add(x, 1, out=buffer))
        for _ in range(5):  # the ways of small results differ with how often they come
            first = f(jnp.zeros(n))
            f(jnp.ones(n))
            assert np.all(np.asarray(first) == 1)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("rng", [jnp, jnp.Generator(0)], ids=["stream", "generator"])
def test_draws_in_a_host_function_are_refused_in_compiled_code(rng, known):
    @jnp.from_numpy
    def noisy(x):
        return x + np.asarray(rng.randn())

    x = np.ones(2, "float32")
    if known:  # in plain Python it may draw
        noisy(x)
    before = rng.get_rng_state()["count"]
    for tool in (jnp.jit, jnp.autojit):
        with pytest.raises(jnp.RandomError, match=r"noisy\(\) draws.*pass them as an"):
            tool(lambda x: noisy(x) + rng.randn())(x)
    assert rng.get_rng_state()["count"] - before <= 2  # those of the lambda itself


@pytest.mark.parametrize("tool", [lambda f: f, jnp.jit, jnp.vmap, jnp.autojit])
@pytest.mark.parametrize("declared", [None, lambda x: x])
def test_results_in_the_byte_order_of_another_machine_are_numbers(tool, declared):
    data = np.arange(3.0, dtype="f4")
    swapped = data.dtype.newbyteorder("S")
    fn = tool(jnp.from_numpy(lambda x: (2 * x).astype(swapped), out=declared))
    for _ in range(2):
        found = fn(data)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, 2 * data)


@pytest.mark.filterwarnings("ignore:Precision loss")
def test_results_of_odd_classes_are_refused_in_words():
    stats = pytest.importorskip("scipy.stats")
    x, y = np.float32([1, 2, 3, 5]), np.float32([2, 2, 4, 9])
    with pytest.raises(CallbackError, match=r"tuple\(ttest_ind\(\*args\)\)"):
        jnp.from_numpy(stats.ttest_ind)(x, y)
    plain = jnp.from_numpy(lambda *args: tuple(stats.ttest_ind(*args)))
    np.testing.assert_allclose(plain(x, y), stats.ttest_ind(x, y), rtol=1e-5)
