"""What derivatives of any trees cost, to JAX's own on trees of floats.

python tests/benchmarks/bench_grad.py
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from harness import Case, ratios, report

import jfi as jnp


Way = Callable[[], object]
X = jnp.ones(3)
W = {"w": X, "b": jnp.ones(())}
MIXED = {**W, "n": 2, "act": "tanh", "key": jnp.key(0)}
EAGER, COMPILED = 1.1, 1.1


def loss(params: Any) -> Any:
    return outputs(params)["loss"]


def outputs(params: Any) -> Any:
    y = jnp.tanh(params["w"] * X + params["b"])
    return {"y": y, "loss": (y**2).sum()}


def _vjp(module: Any) -> Way:
    ones = jax.tree.map(jnp.ones_like, outputs(W))
    return lambda: module.vjp(outputs, W)[1](ones)


def _pull(module: Any) -> Way:
    ones = jax.tree.map(jnp.ones_like, outputs(W))
    pull = module.vjp(outputs, W)[1]
    return lambda: pull(ones)


def _push(module: Any) -> Way:
    push = module.linearize(outputs, W)[1]
    return lambda: push(W)


# Each tool called without any compilation, on a tree of floats.
TOOLS: dict[str, Callable[[Any], Way]] = {
    "grad": lambda m: _call(m.grad(loss)),
    "value_and_grad": lambda m: _call(m.value_and_grad(loss)),
    "vjp": _vjp,
    "the function of vjp": _pull,
    "jvp": lambda m: lambda: m.jvp(outputs, (W,), (W,)),
    "linearize": lambda m: lambda: m.linearize(outputs, W)[1](W),
    "the function of linearize": _push,
    "jacrev": lambda m: _call(m.jacrev(outputs)),
    "jacfwd": lambda m: _call(m.jacfwd(outputs)),
    "hessian": lambda m: _call(m.hessian(loss)),
}
SLOW = {"jacrev", "jacfwd", "hessian"}


def _call(f: Callable[[Any], object]) -> Way:
    return lambda: f(W)


def eager(name: str) -> Case:
    make = TOOLS[name]
    return Case(f"{name} / jax's", make(jnp), make(jax), limit=EAGER)


def compiled() -> Case:
    ours, theirs = jax.jit(jnp.grad(loss)), jax.jit(jax.grad(loss))
    assert ours.lower(W).as_text() == theirs.lower(W).as_text()
    return Case(
        "grad under jit / jax's, the same program",
        lambda: ours(W),
        lambda: theirs(W),
        limit=COMPILED,
    )


def mixed_grad() -> Case:
    ours = jnp.grad(loss)
    theirs = eqx.filter_grad(loss)

    def by_hand() -> object:
        floats, rest = eqx.partition(MIXED, eqx.is_inexact_array)
        return jax.grad(lambda floats: loss(eqx.combine(floats, rest)))(floats)

    return Case(
        "grad of a tree with a string / its floats split off by hand",
        lambda: ours(MIXED),
        by_hand,
        limit=EAGER,
        others={"equinox.filter_grad": lambda: theirs(MIXED)},
    )


def mixed_vjp() -> Case:
    ones = jax.tree.map(jnp.ones_like, outputs(W))

    def by_hand() -> object:
        floats, rest = eqx.partition(MIXED, eqx.is_inexact_array)
        _, pull = jax.vjp(lambda floats: outputs(eqx.combine(floats, rest)), floats)
        return pull(ones)

    return Case(
        "vjp of a tree with a string / its floats split off by hand",
        lambda: jnp.vjp(outputs, MIXED)[1](ones),
        by_hand,
        limit=EAGER,
        others={
            "equinox.filter_vjp": lambda: eqx.filter_vjp(outputs, MIXED)[1](ones),
        },
    )


def costly(x: Any) -> Any:
    return {"loss": x.sum(), "inverse": jnp.linalg.inv(x)}


def none_cotangent() -> Case:
    x = jnp.asarray(np.eye(300, dtype="float32") * 2)
    zeros = {"loss": jnp.ones(()), "inverse": jnp.zeros_like(x)}
    ours = jax.jit(lambda x: jnp.vjp(costly, x)[1]({"loss": 1.0, "inverse": None}))
    theirs = jax.jit(lambda x: jax.vjp(costly, x)[1](zeros))
    return Case(
        "None for the cotangent of a costly output, under jit / zeros",
        lambda: jax.block_until_ready(ours(x)),
        lambda: jax.block_until_ready(theirs(x)),
        limit=0.2,
    )


def in_chunks() -> Case:
    x = jnp.linspace(0, 1, 512)
    ours, theirs = (
        jax.jit(jacobian)
        for jacobian in (jnp.jacrev(wave, chunk_size=64), jax.jacrev(wave))
    )
    return Case(
        "jacrev of 512 directions, 64 at a time / all at once",
        lambda: jax.block_until_ready(ours(x)),
        lambda: jax.block_until_ready(theirs(x)),
        limit=None,
    )


def wave(x: Any) -> Any:
    return jnp.sin(x[:, None] * jnp.linspace(0, 1, 64)).sum(1) * x.sum()


# Each case with its rounds, and calls in a row.
CASES = [
    *((lambda name=name: eager(name), 61, 8 if name in SLOW else 20) for name in TOOLS),
    (compiled, 41, 500),
    (mixed_grad, 31, 20),
    (mixed_vjp, 31, 20),
    (none_cotangent, 11, 1),
    (in_chunks, 11, 3),
]

if __name__ == "__main__":
    results = []
    for make, rounds, calls in CASES:
        case = make()
        for way in (case.ours, case.base, *case.others.values()):
            for _ in range(2):
                way()  # compiles
        results.append((case, ratios(case, rounds=rounds, calls=calls)))
    report("Derivatives (medians of interleaved ratios)", results)
