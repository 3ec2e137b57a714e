"""Rows of bench_loops.py: loops called by eager code, branches in a batch, progress.

What stands for 1: the same loop under `jax.jit`, compiled once; for branches in a batch
`where` of both; for a progress bar the loop without it.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from harness import Case
from jax import lax

import jfi


LIMIT = 2
X = jnp.arange(64.0)
CHOICE = jnp.array(True)
A = jnp.array(np.random.default_rng(0).normal(size=(64, 64)), "float32")
ROWS = jnp.array(np.random.default_rng(1).normal(size=(256, 64)), "float32")

# Each makes its functions anew, as they are in a script, around an array and a float.
EAGER: dict[str, Callable[[Any, Any], Any]] = {
    "scan": lambda lib, k: lib.scan(lambda c, x: (c * k + x, c), 0.0, X),
    "while_loop": lambda lib, k: lib.while_loop(
        lambda s: s[0] < 50, lambda s: (s[0] + 1, s[1] * k), (0, X)
    ),
    "fori_loop": lambda lib, k: lib.fori_loop(0, 50, lambda i, c: c * k + i, X),
    "cond": lambda lib, k: lib.cond(CHOICE, lambda: X * k, lambda: X),
    "switch": lambda lib, k: lib.switch(1, [lambda: X * k, lambda: X + k]),
    "map": lambda lib, k: lib.map(lambda x: x * k, X),
    "associative_scan": lambda lib, k: lib.associative_scan(lambda a, b: a * b * k, X),
}


def rows() -> Iterator[tuple[Case, int]]:
    """The rows, and how often to call each way in a round."""
    for name, call in EAGER.items():
        yield eager(name, call), 50
        yield changing(name, call), 50
    yield eager_gradient(), 20
    yield plain_lax(), 1
    yield branches(), 20
    yield progress(), 1


def eager(name: str, call: Callable[[Any, Any], Any]) -> Case:
    jitted = jax.jit(lambda k: call(lax, k))
    return Case(
        f"eager {name}, fresh lambda / jitted",
        lambda: jax.block_until_ready(call(jfi, 0.99)),
        lambda: jax.block_until_ready(jitted(0.99)),
        limit=LIMIT,
    )


def changing(name: str, call: Callable[[Any, Any], Any]) -> Case:
    """With another float at each call; the one before is that of `eager` at first."""
    jitted = jax.jit(lambda k: call(lax, k))
    gains = itertools.count(0.5, 1e-6)
    return Case(
        f"the same {name}, a float that changes",
        lambda: jax.block_until_ready(call(jfi, next(gains))),
        lambda: jax.block_until_ready(jitted(next(gains))),
        limit=1.1 * LIMIT,  # one argument more than `eager` has
    )


def plain_lax() -> Case:
    jitted = jax.jit(lambda k: EAGER["scan"](lax, k))
    return Case(
        "the same scan with jax.lax (shown as `lax`)",
        lambda: jax.block_until_ready(EAGER["scan"](jfi, 0.99)),
        lambda: jax.block_until_ready(jitted(0.99)),
        limit=None,
        others={"lax": lambda: jax.block_until_ready(EAGER["scan"](lax, 0.99))},
    )


def eager_gradient() -> Case:
    """Under an eager gradient, which costs JAX more than the loop."""
    f = jax.jit(lambda w: lax.scan(lambda c, x: (c * w + x, None), w, X)[0])

    def ours() -> object:
        loss = lambda w: jfi.scan(lambda c, x: (c * w + x, None), w, X)[0]
        return jax.block_until_ready(jax.grad(loss)(0.99))

    return Case(
        "eager grad of a scan / of a jitted scan",
        ours,
        lambda: jax.block_until_ready(jax.grad(f)(0.99)),
        limit=LIMIT,
    )


def branches() -> Case:
    def batch(library: Any) -> Callable[[], object]:
        @jax.jit
        @jax.vmap
        def run(x: Any) -> Any:
            steep, flat = lambda x: jnp.tanh(A @ x), jnp.sin
            if library is jnp:
                return jnp.where(x[0] > 0, steep(x), flat(x))
            return library.cond(x[0] > 0, steep, flat, x)

        return lambda: jax.block_until_ready(run(ROWS))

    return Case(
        "vmap of cond, shared 64x64 matrix / vmap of where",
        batch(jfi),
        batch(jnp),
        limit=1.3,
        others={"lax": batch(lax)},
    )


def progress() -> Case:
    steps = jnp.arange(2_000_000.0)  # the reports cost 3 to 5 ms, however long it is

    def run(progress: Any) -> Callable[[], object]:
        f = jax.jit(
            lambda x: jfi.scan(
                lambda c, x: (c * 0.9 + x, None), x, steps, progress=progress
            )
        )
        return lambda: jax.block_until_ready(f(X))

    return Case(
        "scan of 2 000 000 steps with a progress bar / without",
        run("progress"),
        run(False),
        limit=2,
    )
