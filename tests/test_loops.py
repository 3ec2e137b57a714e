import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

from jfi import LoopError, ScanWhileResult, scan_while


STOP = 0.2
MAX = 12
A = np.array([[0.6, -0.3], [0.2, 0.7]], dtype="float32")
X = np.array([[1.0, 2.0], [0.1, 0.1], [-3.0, 0.5], [0.5, 0.5]], dtype="float32")


def contract(A, x, max_steps=MAX):
    """A loop whose number of steps depends on x: 5, 0, 8, 3 for the rows of X."""
    return scan_while(
        lambda c: jnp.sum(c["x"] ** 2) > STOP,
        lambda c: ({"x": jnp.tanh(A @ c["x"]), "i": c["i"] + 1}, (c["x"], c["i"])),
        {"x": x, "i": 0},
        max_steps,
    )


def contract_in_python(A, x, max_steps=MAX):
    """The same with a Python loop, which JAX differentiates by itself."""
    ys, steps = [], 0
    while steps < max_steps and float(lax.stop_gradient(jnp.sum(x**2))) > STOP:
        ys.append(x)
        x, steps = jnp.tanh(A @ x), steps + 1
    return x, ys, steps


def loss(A, x):
    result = contract(A, x)
    return jnp.sum(result.carry["x"] ** 2) + jnp.sum(result.ys[0] ** 3)


def loss_in_python(A, x):
    x, ys, _ = contract_in_python(A, x)
    return jnp.sum(x**2) + sum(jnp.sum(y**3) for y in ys)


def close(a, b, rtol=1e-5, atol=1e-6):
    jax.tree.map(
        functools.partial(np.testing.assert_allclose, rtol=rtol, atol=atol), a, b
    )


# ---- values ----


@pytest.mark.parametrize("x", X)
@pytest.mark.parametrize("max_steps", [0, 1, 3, MAX])
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_the_steps_are_those_of_a_python_loop(x, max_steps, transform, x64):
    run = transform(lambda x: contract(A, x, max_steps))
    result = run(x)
    carry, ys, steps = contract_in_python(A, x, max_steps)
    assert int(result.length) == int(result.carry["i"]) == steps
    close(result.carry["x"], carry)
    assert result.ys[0].shape == (max_steps, 2)
    close(result.ys[0][:steps], np.reshape(ys, (steps, 2)))
    np.testing.assert_array_equal(result.ys[1][:steps], np.arange(steps))
    assert not result.ys[0][steps:].any()
    np.testing.assert_array_equal(result.mask, np.arange(max_steps) < steps)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 9), st.integers(0, 9))
def test_counts(stop, max_steps):
    carry, ys, length = scan_while(
        lambda i: i < stop, lambda i: (i + 1, 2 * i), 0, max_steps
    )
    steps = min(stop, max_steps)
    assert (int(carry), int(length)) == (steps, steps)
    expected = np.where(np.arange(max_steps) < steps, 2 * np.arange(max_steps), 0)
    np.testing.assert_array_equal(ys, expected)


def test_the_body_runs_once_for_each_step():
    seen = []

    def body(i):
        jax.debug.callback(lambda i: seen.append(int(i)), i, ordered=True)
        return i + 1, None

    scan_while(lambda i: i < 3, body, 0, 1000)
    jax.effects_barrier()
    assert seen == [0, 1, 2]


def test_any_tree_of_any_dtype():
    key = jax.random.key(7)
    init = {"key": key, "flag": True, "z": 1 + 1j, "none": None, "t": (np.int8(1),)}

    def body(c):
        new = {**c, "key": jax.random.fold_in(c["key"], 1), "flag": ~c["flag"]}
        return {**new, "z": c["z"] * 1j}, {"keys": c["key"], "flags": (c["flag"],)}

    carry, ys, _ = scan_while(lambda c: c["z"].real > -1, body, init, 4)
    assert carry["z"] == -1 - 0j or np.isclose(carry["z"], -1 + 1j)
    assert carry["none"] is None
    assert carry["t"][0].dtype == jnp.int8
    assert ys["keys"].dtype == key.dtype
    assert ys["keys"].shape == (4,)
    np.testing.assert_array_equal(
        jax.random.key_data(ys["keys"][0]), jax.random.key_data(key)
    )


@pytest.mark.parametrize("nothing", [None, (), {}])
def test_no_history_and_no_carry(nothing):
    result = scan_while(lambda x: x < 5, lambda x: (x * 2, nothing), 1, 9)
    assert int(result.carry) == 8
    assert result.ys == nothing
    with pytest.raises(
        LoopError, match=r"no rows to mask: .*\nWrite instead: jnp\.ara"
    ):
        _ = result.mask
    result = scan_while(lambda _: True, lambda c: (c, 1.0), nothing, 3)
    assert result.carry == nothing
    close(result.ys, np.ones(3))


def test_the_result_unpacks_and_is_a_tree():
    result = jax.jit(lambda x: contract(A, x))(X[0])
    assert isinstance(result, ScanWhileResult)
    carry, ys, length = result
    assert carry is result.carry
    assert ys is result.ys
    assert length is result.length


def test_the_mask_of_a_batch_broadcasts_whatever_jax_is_told_of_ranks():
    count = jax.vmap(lambda n: scan_while(lambda i: i < n, lambda i: (i + 1, i), 0, 3))
    with jax.numpy_rank_promotion("raise"):
        mask = count(jnp.arange(2)).mask
    assert mask.tolist() == [[False, False, False], [True, False, False]]


WEAK = [0, 0.0, 0j, np.float32(1), np.int32(1), np.float16(1)]
BODIES = [
    lambda c: c + 1,
    lambda c: c + 0.5,
    lambda c: c * jnp.bfloat16(2),
    lambda c: c + jnp.float32(2),
    lambda _: 9,
    lambda _: 9.0,
    lambda c: c * 1j,
    lambda c: c == 0,
]


@pytest.mark.parametrize("init", WEAK, ids=repr)
def test_python_numbers_take_the_dtype_that_lax_gives_them(init, x64):
    for body in BODIES:

        def step(c, _=None, body=body):
            return body(c), None

        try:
            expected, _ = lax.scan(step, init, None, length=3)
        except TypeError:
            with pytest.raises(LoopError, match="carry is"):
                scan_while(lambda _: True, step, init, 3)
        else:
            carry = scan_while(lambda _: True, step, init, 3).carry
            assert carry.dtype == expected.dtype
            close(carry, expected)


def test_what_was_called_before_does_not_matter():
    rate = [2.0]

    def body(x):
        return x * rate[0], x

    def run(x):
        return scan_while(lambda x: x < 100, body, x, 4)

    close(run(jnp.float32(1)).carry, 16.0)
    rate[0] = 3.0
    close(run(jnp.float32(1)).carry, 81.0)
    assert run(jnp.ones((), "float16")).ys.dtype == jnp.float16
    with pytest.raises(LoopError, match="bool"):
        run(jnp.ones(3))
    close(run(jnp.float32(1)).carry, 81.0)


def test_a_closure_may_hold_tracers_of_several_transformations():
    def outer(a, x):
        def inner(b):
            return scan_while(
                lambda c: jnp.abs(c) < 10 * b, lambda c: (c * a + b, c), x, 6
            ).ys.sum()

        return jax.vmap(jax.value_and_grad(inner))(jnp.array([1.0, 2.0]))

    values, grads = jax.jit(outer)(2.0, 1.0)
    close(values, [1 + 3 + 7, 1 + 4 + 10])
    close(grads, [1 + 3, 1 + 3])


# ---- gradients ----


@pytest.mark.parametrize("x", X)
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_gradients_are_those_of_a_python_loop(x, transform, x64):
    gradient = transform(jax.grad(loss, (0, 1)))
    close(gradient(jnp.asarray(A), x), jax.grad(loss_in_python, (0, 1))(A, x))


def test_vmap_gives_the_loop_of_each_row(x64):
    batched = jax.vmap(contract, (None, 0))(A, X)
    rows = [contract(A, x) for x in X]
    stacked = jax.tree.map(lambda *rows: jnp.stack(rows), *rows)
    close(batched, stacked)
    assert len(set(batched.length.tolist())) == 4
    np.testing.assert_array_equal(batched.mask, [row.mask for row in rows])
    nested = jax.vmap(jax.vmap(contract, (None, 0)), (0, None))(np.stack([A, A / 2]), X)
    close(jax.tree.map(lambda x: x[0], nested), stacked)
    close(jax.tree.map(lambda x: x[1, 2], nested), contract(A / 2, X[2]))


def test_gradients_under_and_over_vmap(x64):
    rows = [jax.grad(loss, (0, 1))(jnp.asarray(A), x) for x in X]
    stacked = jax.tree.map(lambda *rows: jnp.stack(rows), *rows)
    close(jax.vmap(jax.grad(loss, (0, 1)), (None, 0))(A, X), stacked)

    def total(A, X):
        return jax.vmap(loss, (None, 0))(A, X).sum()

    close(jax.grad(total, (0, 1))(jnp.asarray(A), X), (stacked[0].sum(0), stacked[1]))


def test_gradients_inside_of_scan_and_remat():
    def over_scan(A):
        return lax.scan(lambda c, x: (c + loss(A, x), None), 0.0, X)[0]

    expected = sum(jax.grad(loss)(jnp.asarray(A), x) for x in X)
    close(jax.grad(over_scan)(jnp.asarray(A)), expected)
    close(jax.grad(jax.checkpoint(over_scan))(jnp.asarray(A)), expected)
    _, each = lax.scan(lambda c, x: (c, jax.grad(loss)(jnp.asarray(A), x)), 0, X)
    close(each.sum(0), expected)


def test_a_loop_inside_of_a_loop():
    def f(x, run):
        def outer(c):
            inner = run(lambda d: d < c + 2, lambda d: (d * 1.5 * x, d), c, 5)
            return inner.ys.sum(), c

        return run(lambda c: c < 50, outer, x, 4).carry

    def in_python(cond, body, init, max_steps):
        carry, ys = init, []
        while len(ys) < max_steps and cond(lax.stop_gradient(carry)):
            carry, y = body(carry)
            ys.append(y)
        return ScanWhileResult(carry, jnp.stack(ys), jnp.int32(len(ys)))

    x = jnp.float32(1.2)
    close(f(x, scan_while), f(x, in_python))
    eps = 1e-3
    finite = (f(x + eps, in_python) - f(x - eps, in_python)) / (2 * eps)
    close(jax.grad(f)(x, scan_while), finite, rtol=1e-2)


@pytest.mark.parametrize(
    "second",
    [jax.hessian, lambda f: jax.jacrev(jax.jacrev(f))],
    ids=["forward over reverse", "reverse over reverse"],
)
def test_second_derivatives(second):
    @jax.jit
    def of_each_and_of_the_sum(A):
        return (
            jax.vmap(lambda x: second(lambda A: loss(A, x))(A))(X),
            second(lambda A: jax.vmap(lambda x: loss(A, x))(X).sum())(A),
        )

    rows = [jax.jit(jax.hessian(loss_in_python_of(x)))(A) for x in X]
    expected = jnp.stack(rows), sum(rows)
    close(of_each_and_of_the_sum(jnp.asarray(A)), expected, rtol=1e-4, atol=1e-4)


def loss_in_python_of(x):
    """The loss with the number of steps fixed, so that JAX can trace it."""
    steps = contract_in_python(A, x)[2]

    def f(A):
        y, total = x, 0.0
        for _ in range(steps):
            y, total = jnp.tanh(A @ y), total + jnp.sum(y**3)
        return total + jnp.sum(y**2)

    return f


def test_third_derivative():
    def f(x):
        return scan_while(lambda c: c < 20, lambda c: (c * x, c), x, 10).carry  # x**5

    third = jax.grad(jax.grad(jax.grad(f)))
    close(third(jnp.float32(2)), 60 * 2.0**2)


def diverging(x, n):
    """Its body is inf or NaN once i reaches n, also when differentiated."""

    def body(c):
        i, x = c
        x = x * jnp.sqrt(n - i) + x * jnp.log(n - i) + x / (n - i)
        return (i + 1, x), jnp.sqrt(n - i) * x

    result = scan_while(lambda c: c[0] < n, body, (0.0, x), 10)
    return result.carry[1] + result.ys.sum()


def test_rows_that_have_stopped_do_not_poison_gradients():
    x, n = jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([0.0, 3.0, 5.0, 1.0])
    each = jnp.stack([jax.grad(diverging)(a, b) for a, b in zip(x, n, strict=True)])
    assert np.isfinite(each).all()
    close(jax.vmap(jax.grad(diverging))(x, n), each)
    close(jax.grad(lambda x: jax.vmap(diverging)(x, n).sum())(x), each)
    # `diverging` is linear in x: the second derivative of its square is known.
    for second in (jax.hessian, lambda f: jax.jacrev(jax.jacrev(f))):

        def total(x):
            return jnp.sum(jax.vmap(diverging)(x, n) ** 2)

        close(jax.jit(second(total))(x), jnp.diag(2 * each**2), rtol=1e-4)


def test_integers_and_keys_in_the_carry_have_no_gradient():
    def walk(scale, key):
        def body(c):
            key, x, i = c
            key, now = jax.random.split(key)
            return (key, x + scale * jax.random.normal(now), i + 1), (key, x, i)

        result = scan_while(lambda c: c[2] < 4, body, (key, 0.0, 0), 6)
        return result.carry[1] + result.ys[1].sum()

    key = jax.random.key(3)
    close(jax.grad(walk)(2.0, key), walk(1.0, key))  # linear in scale
    keys = jax.random.split(key, 3)
    close(
        jax.vmap(jax.grad(walk), (None, 0))(2.0, keys),
        jnp.stack([walk(1.0, k) for k in keys]),
    )


def test_second_derivative_with_integers_and_keys_in_the_carry():
    def f(scale):
        def body(c):
            key, x, i = c
            return (jax.random.fold_in(key, i), x * scale, i + 1), None

        init = (jax.random.key(3), 1.0, 0)
        return scan_while(lambda c: c[2] < 3, body, init, 4).carry[1]  # scale**3

    close(jax.jit(jax.hessian(f))(2.0), 12.0)


def test_complex_numbers():
    def f(x, steps=None):
        if steps is None:
            result = scan_while(
                lambda c: jnp.abs(c) < 10, lambda c: (c * (1 + 1j) * x, c), 1 + 0j, 9
            )
            return jnp.abs(result.carry)
        return jnp.abs(((1 + 1j) * x) ** steps)

    close(jax.grad(f)(1.0), jax.grad(lambda x: f(x, steps=7))(1.0), rtol=1e-4)


def test_captured_integers_and_unused_arrays():
    table, unused = jnp.arange(10), jnp.ones((3, 3))

    def f(x):
        def body(c):
            return (c[0] * x + table[c[1]], c[1] + 1), unused.sum()

        return scan_while(lambda c: c[1] < 3, body, (x, 0), 5).carry[0]

    # ((x*x + 0)*x + 1)*x + 2
    close(f(2.0), 2.0**4 + 2 + 2)
    close(jax.grad(f)(2.0), 4 * 2.0**3 + 1)


# ---- forward mode ----


@pytest.mark.parametrize(
    "forward", [jax.jacfwd, lambda f: lambda x: jax.jvp(f, (x,), (x,))]
)
def test_forward_mode_is_refused(forward):
    with pytest.raises(
        LoopError, match=r"no forward-mode .*\nUse reverse mode: jax\.gr"
    ):
        forward(lambda x: contract(A, x).carry["x"])(X[0])
    with pytest.raises(TypeError, match="forward-mode"):  # JAX's own words
        forward(jax.jit(lambda x: contract(A, x).carry["x"]))(X[0])


# ---- refusals ----


@pytest.mark.parametrize(
    ("body", "init", "message"),
    [
        (
            lambda c: ({"x": c["x"].astype("float16")}, None),
            {"x": np.ones(3, "float32")},
            r"^The carry c\['x'\] goes into <lambda>\(\) as float32\[3\] and comes "
            r"out as float16\[3\]; scan_while\(\) keeps .*\n.*, line \d+: lambda c: .*"
            r"\nWrite instead: \.\.\.astype\('float32'\)\nor start with float16: init",
        ),
        (
            lambda c: (jnp.ones(4, "float32"), None),
            np.ones(3, "float32"),
            r"^The carry c goes into .* as float32\[3\] and comes out as float32\[4\]"
            r".*\n.*\nReturn c in the shape it came in; or start .*: init = jnp\.zeros",
        ),
        (
            lambda c: ({"x": c["x"], "z": 1}, None),
            {"x": 1, "y": [2, 3]},
            r"it leaves out c\['y'\]\[0\], c\['y'\]\[1\]; it adds c\['z'\]",
        ),
        (lambda c: ([c[0]], None), (1,), r"PyTreeDef\(\(\*,\)\) became PyTreeDef"),
        (lambda c: c, {"x": 1}, r"returned a dict, not a pair\.\nReturn \(c, y\)"),
        (lambda c: (c, 1, 2), 0, r"returned a tuple, not a pair"),
        (
            lambda c: (c, c),
            (1, 2, "fast"),
            r"got a str for init\[2\]; .*\nTake it out",
        ),
    ],
)
def test_a_body_that_does_not_fit(body, init, message):
    with pytest.raises(LoopError, match=message):
        scan_while(lambda _: True, body, init, 3)


def test_a_number_that_becomes_a_key_is_refused():
    def body(_):
        return jax.random.key(0), None

    with pytest.raises(
        LoopError, match=r"comes out as key<fry>\[\].*\n.*\nStart with what body\(\)"
    ):
        scan_while(lambda _: True, body, 0, 3)


@pytest.mark.parametrize(
    ("cond", "seen"),
    [
        (lambda c: c.astype("int32"), r"int32\[2\]"),
        (lambda c: c > 0, r"bool\[2\]"),
        (lambda c: c.sum(), r"float32\[\]"),
        (lambda c: (c[0] > 0,), "a tuple"),
        (lambda c: None, "None"),
    ],
)
def test_a_condition_that_is_no_truth_value(cond, seen):
    with pytest.raises(LoopError, match=rf"returned {seen} and must return bool\[\]"):
        scan_while(cond, lambda c: (c, None), jnp.ones(2, "float32"), 3)


@pytest.mark.parametrize("max_steps", [-1, 2.5, "3", None, True, 2**31])
def test_a_wrong_max_steps(max_steps):
    with pytest.raises(
        LoopError, match=r"got max_steps=.*\nPass the largest number of"
    ):
        scan_while(lambda _: True, lambda c: (c, None), 0, max_steps)


def test_a_traced_max_steps():
    def run(n):
        return scan_while(lambda _: True, lambda c: (c, None), 0, n)

    with pytest.raises(LoopError, match=r"traced array for max_steps.*\nPass a Python"):
        jax.jit(run)(3)
    assert int(run(np.int64(3)).length) == 3


def test_an_exception_of_the_body_passes_through():
    with pytest.raises(ZeroDivisionError):
        scan_while(lambda _: True, lambda c: (c, 1 / 0), 0, 3)


# ---- ways of running ----


def test_without_jit_and_with_leak_checks():
    expected = jax.grad(loss)(jnp.asarray(A), X[0])
    with jax.disable_jit():
        close(jax.grad(loss)(jnp.asarray(A), X[0]), expected)
    with jax.checking_leaks():
        close(jax.grad(loss)(jnp.asarray(A), X[0]), expected)
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        close(jax.grad(loss)(jnp.asarray(A), X[0]), expected)


def test_a_long_loop_stops_early():
    # A million rows, but three steps: it must not take a million of them.
    result = jax.jit(
        lambda x: scan_while(lambda x: x < 8, lambda x: (2 * x, x), x, 10**6)
    )(1)
    assert int(result.length) == 3
    assert result.ys.shape == (10**6,)


def test_one_trace_for_many_calls():
    traces = []

    @jax.jit
    def run(x):
        def body(c):
            traces.append(1)
            return c * 2, c

        return scan_while(lambda c: c < 100, body, x, 8)

    run(1.0)
    run(3.0)
    assert len(traces) == 1


def test_a_number_without_dtype_takes_a_second_trace():
    traces = []

    def body(c):
        traces.append(1)
        return c * jnp.float32(2), c

    scan_while(lambda c: c < 100, body, 1, 8)
    assert len(traces) == 2


def test_the_number_of_steps_may_be_far_away():
    result = scan_while(lambda x: x < 8, lambda x: (2 * x, None), 1, 2**31 - 1)
    assert int(result.length) == 3
