"""Nothing of a trace is left when it has ended, as `jax.checking_leaks()` sees it."""

import jax
import numpy as np
import pytest

import jfi as jnp


X = np.arange(3, dtype="float32")
PROBLEM = {"x": X, "gain": 2.0, "kind": "linear"}


def noisy(x):
    return jnp.sin(x) * 2 + jnp.randn()


def of_problem(p):
    row = {"y": noisy(p["x"]) * p["gain"], "kind": p["kind"], "rows": [p["x"], 1]}
    return row, (p["kind"], p["x"])


def in_scan(mapped):
    """A loss that scans over a function of rows."""

    def loss(x):
        return jnp.scan(lambda c, _: (mapped(c), None), x, None, length=2)[0].sum()

    return loss


def until_3(tool, **options):
    return lambda x: tool(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, noisy(c[1])), (x * 0, x), **options
    )[1]


def step(carry, _):
    return noisy(carry), carry


CALLS = {
    "jit of vmap": lambda: jnp.jit(jnp.vmap(noisy))(X),
    "autojit of vmap": lambda: jnp.autojit(jnp.vmap(noisy))(X),
    "jit of jacfwd": lambda: jnp.jit(jnp.jacfwd(lambda x: noisy(x)))(X[1]),
    "vmap_automatically": lambda: jnp.vmap_automatically(of_problem, PROBLEM),
    "in chunks": lambda: jnp.vmap_automatically(of_problem, PROBLEM, chunk_size=2),
    "on devices": lambda: jnp.vmap_automatically(of_problem, PROBLEM, devices="all"),
    "auto_vmap of a value": lambda: jnp.auto_vmap(lambda x, n: noisy(x) * float(n))(
        X, np.float32(2)
    ),
    "grad of vmap_automatically": lambda: jnp.grad(
        lambda x: jnp.vmap_automatically(noisy, x).sum()
    )(X),
    "jit of grad of scan of vmap": lambda: jnp.jit(jnp.grad(in_scan(jnp.vmap(noisy))))(
        X
    ),
    "jax.grad of scan of vmap": lambda: jax.grad(in_scan(jnp.vmap(noisy)))(X),
    "jit of grad of scan of vmap_automatically": lambda: jnp.jit(
        jnp.grad(in_scan(lambda c: jnp.vmap_automatically(noisy, c)))
    )(X),
    "vmap of scan": lambda: jnp.vmap(lambda x: jnp.scan(step, x, None, length=2))(X),
    "vmap of while_loop": lambda: jnp.vmap(until_3(jnp.while_loop))(X),
    "jit of scan_while": lambda: jnp.jit(until_3(jnp.while_loop, max_steps=5))(X[1]),
    "grad of vmap of scan_while": lambda: jnp.grad(
        lambda x: jnp.vmap(until_3(jnp.while_loop, max_steps=5))(x).sum()
    )(X),
    "vmap of cond": lambda: jnp.vmap(lambda x: jnp.cond(x > 1, noisy, lambda x: x, x))(
        X
    ),
    "grad of checkpoint": lambda: jnp.grad(jnp.checkpoint(noisy))(X[1]),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_tracer_outlives_its_trace(name):
    with jax.checking_leaks():
        CALLS[name]()
