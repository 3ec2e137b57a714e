"""Loops around functions whose rule of `jax.custom_jvp` is not the true derivative."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jfi
from jfi._jax_internals import without


STEPS = 4


@jax.custom_jvp
def spike(x):
    return (x > 0).astype(jnp.float32)


@spike.defjvp
def _surrogate(primals, tangents):
    (x,), (dx,) = primals, tangents
    return spike(x), dx / (1 + 10 * jnp.abs(x)) ** 2


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def scaled(x, k):
    return jnp.sin(x) * k


@scaled.defjvp
def _scaled(k, primals, tangents):
    (x,), (dx,) = primals, tangents
    return scaled(x, k), dx * x * k


def step(c, x):
    return 0.9 * c + x * spike(c - 0.5) + 0.3 * scaled(x * c, 2.0)


def by_hand(x):
    c = x
    for _ in range(STEPS):
        c = step(c, x)
    return c


def by_nested_scan(x):
    def outer(c, _):
        inner = jfi.scan(lambda c, _: (jax.jit(step)(c, x), None), c, length=2)
        return inner[0], None

    return jfi.scan(outer, x, length=STEPS // 2)[0]


LOOPS = {
    "scan": lambda x: jfi.scan(lambda c, _: (step(c, x), None), x, length=STEPS)[0],
    "fori_loop": lambda x: jfi.fori_loop(0, STEPS, lambda i, c: step(c, x), x),
    "map": lambda x: jfi.map(by_hand, x[None])[0],
    "map in batches": lambda x: jfi.map(by_hand, jnp.stack([x, x]), batch_size=2)[1],
    "scan_while": lambda x: jfi.scan_while(
        lambda s: s[1] < STEPS, lambda s: ((step(s[0], x), s[1] + 1), None), (x, 0), 9
    ).carry[0],
    "nested": by_nested_scan,
    "jitted": jfi.jit(by_nested_scan),
    "cond in a scan": lambda x: jfi.scan(
        lambda c, _: (jfi.cond(c > -9, lambda c: step(c, x), lambda c: c, c), None),
        x,
        length=STEPS,
    )[0],
    "checkpoint of a scan": lambda x: jfi.checkpoint(LOOPS["scan"])(x),
}


def forward(f):
    return lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),))[1]


@pytest.mark.parametrize("loop", LOOPS)
def test_higher_derivatives_are_those_of_the_rule(loop):
    def derivatives(f):
        second = [outer(inner(f)) for outer in MODES for inner in MODES]
        of_rows = lambda f: lambda x: jax.vmap(f)(jnp.stack([x, x + 1]))
        every = [f, jax.grad(f), *second, *map(of_rows, second)]
        every.append(jax.grad(jax.grad(jax.grad(f))))
        return jax.jit(lambda x: [one(x) for one in every])

    x = jnp.float32(0.7)
    found, expected = derivatives(LOOPS[loop])(x), derivatives(by_hand)(x)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)


MODES = (jax.grad, forward)


def test_a_derivative_of_a_batch_under_a_derivative():
    def total(f):
        return lambda x: jax.vmap(jax.grad(f))(x).sum()

    x = jnp.linspace(0.2, 0.8, 3)
    found, expected = (jax.grad(total(f))(x) for f in (LOOPS["scan"], by_hand))
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_the_form_of_a_result_stays():
    def f(c, x):
        return {"a": spike(c["a"]), "n": c["n"] + 1}, (x, True)

    init = {"n": 0, "a": 0.5}
    carry, (xs, flags) = jfi.scan(f, init, jnp.arange(3))
    assert (list(carry), carry["n"].weak_type) == (["a", "n"], True)
    assert flags.tolist() == [True] * 3
    assert xs.dtype == jnp.int32


def test_without_the_piece_the_first_derivative_is_right():
    with without("kept_rules"):
        found = jax.grad(LOOPS["scan"])(jnp.float32(0.7))
    np.testing.assert_allclose(found, jax.grad(by_hand)(jnp.float32(0.7)), rtol=1e-5)
