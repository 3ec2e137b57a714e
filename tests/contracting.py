"""A loop whose number of steps depends on its start, by jfi and in plain Python."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jfi import scan_while


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
