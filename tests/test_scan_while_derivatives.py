import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cheap_keys import SEED
from contracting import (
    MAX,
    A,
    X,
    close,
    contract,
    contract_in_python,
    loss,
    loss_in_python,
)  # fmt: skip
from jax import lax

from jfi import LoopError, ScanWhileResult, _jax_internals as _jax_internals, scan_while
from jfi._loops import _programs


@pytest.mark.parametrize("x", X)
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_gradients_are_those_of_a_python_loop(x, transform, x64):
    gradient = transform(jax.grad(loss, (0, 1)))
    close(gradient(jnp.asarray(A), x), jax.grad(loss_in_python, (0, 1))(A, x))


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


@pytest.mark.parametrize("known", [True, 2, 0.5])
def test_history_that_is_known_in_advance(known):
    def f(x):
        init = x, jnp.asarray(known)
        body = lambda c: ((2 * c[0], known), known)
        return scan_while(lambda c: c[0] < 5, body, init, 4)

    assert f(1.0).ys.tolist() == [known] * 3 + [0]
    assert jax.grad(lambda x: f(x).carry[0])(1.0) == 8


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

    rows = [hessian_in_python(i) for i in range(len(X))]
    expected = jnp.stack(rows), sum(rows)
    close(of_each_and_of_the_sum(jnp.asarray(A)), expected, rtol=1e-4, atol=1e-4)


@functools.cache
def hessian_in_python(i):
    """That of the loss of a row of X; several tests compare with it."""
    return jax.jit(jax.hessian(loss_in_python_of(X[i])))(A)


def loss_in_python_of(x):
    """The loss with the number of steps fixed, so that JAX can trace it."""
    steps = contract_in_python(A, x)[2]

    def f(A):
        y, total = x, 0.0
        for _ in range(steps):
            y, total = jnp.tanh(A @ y), total + jnp.sum(y**3)
        return total + jnp.sum(y**2)

    return f


SECOND = {
    "forward over reverse": jax.hessian,
    "reverse over reverse": lambda f: jax.jacrev(jax.jacrev(f)),
    "forward over forward": lambda f: jax.jacfwd(jax.jacfwd(f)),
    "reverse over forward": lambda f: jax.jacrev(jax.jacfwd(f)),
}


def inside_of_a_scan(x):
    def step(c, _):
        inner = scan_while(lambda d: d < 1, lambda d: (d * 1.5 * x, d), c, 5)
        return jnp.sin(inner.carry) + inner.ys.sum(), None

    return lax.scan(step, x, None, length=2)[0]


def inside_of_another(x):
    def step(c):
        inner = scan_while(lambda d: d < 1, lambda d: (d * 1.5 * x, d), c[0], 5)
        return (jnp.sin(inner.carry), c[1] + 1), None

    return scan_while(lambda c: c[1] < 2, step, (x, 0), 3).carry[0]


@pytest.mark.parametrize(
    ("f", "x64"),
    [(inside_of_a_scan, True), (inside_of_another, False)],
    indirect=["x64"],
)
def test_second_derivatives_of_loops_in_loops(f, x64):
    eps = 1e-3
    slope = jax.jit(jax.grad(f))
    expected = (slope(1.2 + eps) - slope(1.2 - eps)) / (2 * eps)
    points = jnp.array([1.2])

    @jax.jit
    def all_second(points):
        return {name: jax.vmap(second(f))(points) for name, second in SECOND.items()}

    for name, found in all_second(points).items():
        np.testing.assert_allclose(found[0], expected, rtol=2e-2, err_msg=name)


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
    slope = jax.jit(jax.grad(diverging))
    each = jnp.stack([slope(a, b) for a, b in zip(x, n, strict=True)])
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

    key = SEED
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


@pytest.mark.parametrize("x", X[:2])
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_forward_mode_agrees_with_a_python_loop(x, transform):
    close(
        transform(jax.jacfwd(loss, (0, 1)))(jnp.asarray(A), x),
        jax.grad(loss_in_python, (0, 1))(A, x),
    )

    def values(A):
        carry, ys, length = contract(A, x)
        return carry["x"], ys, carry["i"], length

    def in_python(A):
        carry, ys, _ = contract_in_python(A, x)
        return carry, jnp.stack([*ys, *[jnp.zeros(2, A.dtype)] * (MAX - len(ys))])

    (out, tangents), expected = (
        transform(lambda A: jax.jvp(values, (A,), (A,)))(jnp.asarray(A)),
        jax.jvp(in_python, (jnp.asarray(A),), (jnp.asarray(A),))[1],
    )
    close((tangents[0], tangents[1][0]), expected)
    assert tangents[1][1].dtype == tangents[2].dtype == jax.dtypes.float0
    assert int(out[2]) == int(out[3])


def test_forward_mode_of_a_batch_and_a_batch_of_forward_mode():
    rows = [jax.grad(loss)(jnp.asarray(A), x) for x in X]
    each = jax.jit(jax.vmap(jax.jacfwd(loss), (None, 0)))(A, X)
    close(each, jnp.stack(rows))
    total = jax.jacfwd(lambda A: jax.vmap(lambda x: loss(A, x))(X).sum())
    close(total(jnp.asarray(A)), sum(rows))


@pytest.mark.parametrize(
    "second",
    [
        lambda f: jax.jacfwd(jax.jacfwd(f)),
        lambda f: jax.jacrev(jax.jacfwd(f)),
    ],
    ids=["forward over forward", "reverse over forward"],
)
def test_second_derivatives_that_begin_with_forward_mode(second):
    expected = hessian_in_python(0)
    found = jax.jit(second(lambda A: loss(A, X[0])))(jnp.asarray(A))
    close(found, expected, rtol=1e-4, atol=1e-4)


def test_linearize_and_transpose():
    at = jnp.asarray(A)
    out, push = jax.linearize(lambda A: loss(A, X[0]), at)
    close(out, loss(at, X[0]))
    close(push(at), jnp.vdot(jax.grad(loss)(at, X[0]), at))
    (pulled,) = jax.linear_transpose(push, at)(jnp.float32(2))
    close(pulled, 2 * jax.grad(loss)(at, X[0]))


def test_only_what_moves_is_differentiated():
    # `halves` has no derivative; its gradient would be a number that nobody sees.
    @jax.custom_vjp
    def halves(x):
        return x / 2

    def refuse(_, __):
        raise AssertionError("the gradient of a constant was computed")

    halves.defvjp(lambda x: (x / 2, None), refuse)

    def f(moves, constant):
        body = lambda x: (x * moves + halves(constant), None)
        return scan_while(lambda x: x < 20, body, moves, 9).carry

    # ((2*2 + 1)*2 + 1)*2 + 1 = 23: x**4 + c*(x**2 + x + 1)
    close(jax.grad(f)(2.0, 2.0), 4 * 2.0**3 + 2 * 2 + 1)
    with pytest.raises(AssertionError, match="of a constant"):
        jax.grad(f, 1)(2.0, 2.0)


def test_a_body_with_a_gradient_of_its_own():
    @jax.custom_vjp
    def square(x):
        return x**2

    square.defvjp(lambda x: (x**2, x), lambda x, g: (3 * x * g,))  # on purpose not 2

    def f(x):
        return scan_while(lambda c: c < 5, lambda c: (square(c), None), x, 4).carry

    close(jax.jit(jax.grad(f))(2.0), (3 * 2) * (3 * 4))  # 2 -> 4 -> 16
    close(jax.vmap(jax.grad(f))(jnp.array([2.0, 3.0, 7.0])), [72.0, 9.0, 1.0])
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(f, (2.0,), (1.0,))


@pytest.fixture
def _without_rules():
    with _jax_internals.without("linear_calls", "ruled_calls"):
        _programs._loop_of.cache_clear()  # what is compiled with it, and without it
        yield
    _programs._loop_of.cache_clear()


@pytest.mark.usefixtures("_without_rules")
def test_without_undocumented_jax_reverse_mode_is_left():
    expected = jax.grad(loss_in_python, (0, 1))(A, X[0])
    close(jax.grad(loss, (0, 1))(jnp.asarray(A), X[0]), expected)
    both = jax.jit(jax.vmap(jax.grad(loss, (0, 1)), (None, 0)))(A, X)
    close(jax.tree.map(lambda x: x[0], both), expected)
    close(
        jax.jit(jax.hessian(lambda A: loss(A, X[0])))(jnp.asarray(A)),
        hessian_in_python(0),
        rtol=1e-4,
        atol=1e-4,
    )
    with pytest.raises(LoopError, match=r"no forward-mode .*\nWrite jax\.jacrev"):
        jax.jit(jax.jacfwd(lambda x: contract(A, x).carry["x"]))(X[0])
    with pytest.raises(TypeError, match="forward-mode"):  # in JAX's own words
        jax.jvp(lambda x: contract(A, x).carry["x"], (X[0],), (X[0],))
