"""What random numbers without keys cost, to the same with keys written by hand.

python tests/benchmarks/bench_random.py
"""

import itertools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from harness import Case, ratios, report
from jax import lax
from jax.experimental.random import stateful_rng

import jfi
from jfi._jit._compiled import CompiledFunction
from jfi._random._streams import current
from jfi._random.traced import FoundDraws


try:
    from flax import nnx
except ImportError:
    nnx = None

Way = Callable[[], object]
X = np.ones(3, "float32")
F32 = np.float32
seeds = itertools.count()


class Keys:
    """What is written by hand: a key that is split at each use."""

    def __init__(self) -> None:
        self.key = jax.random.key(0)

    def next(self) -> jax.Array:
        self.key, key = jax.random.split(self.key)
        return key

    def passed(self, compiled: Callable[..., Any], *args: Any) -> Way:
        """Calls of a function that takes the key and returns the next, in front."""

        def call() -> object:
            self.key, out = compiled(self.key, *args)
            return out

        return call


def normal(key: jax.Array, *shape: int) -> jax.Array:
    return jax.random.normal(key, shape, F32)


def with_nnx(way: Callable[[Any], Way]) -> dict[str, Way]:
    return {} if nnx is None else {"nnx.Rngs": way(nnx.Rngs(0))}


def eager() -> Case:
    keys, rng = Keys(), stateful_rng(0)
    return Case(
        "eager randn(3) / split and normal",
        lambda: jfi.randn(3),
        lambda: normal(keys.next(), 3),
        limit=0.10,
        others={
            "stateful_rng": lambda: rng.normal(size=(3,), dtype=F32),
            "seed per call": lambda: normal(jax.random.key(next(seeds)), 3),
            **with_nnx(lambda rngs: lambda: rngs.normal((3,), F32)),
        },
    )


@jax.jit
def split_inside(key: jax.Array, x: Any) -> Any:
    key, draw = jax.random.split(key)
    return key, x + normal(draw, 3)


def jit_with_a_draw() -> Case:
    ours = jfi.jit(lambda x: x + jfi.randn(3))
    seeded = jax.jit(lambda seed, x: x + normal(jax.random.key(seed), 3))
    rng = stateful_rng(0)
    stateful = jax.jit(lambda x: x + rng.normal(size=(3,), dtype=F32))

    def of_nnx(rngs: Any) -> Way:
        compiled = nnx.jit(lambda rngs, x: x + rngs.normal((3,), F32))
        return lambda: compiled(rngs, X)

    return Case(
        "jit with one draw / key in and out, split inside",
        lambda: ours(X),
        Keys().passed(split_inside, X),
        limit=1.3,
        others={
            "stateful_rng": lambda: stateful(X),
            "seed per call": lambda: seeded(next(seeds), X),
            **with_nnx(of_nnx),
        },
    )


def jit_without_draws() -> Case:
    ours, base = jfi.jit(lambda x: x * 2 + 1), jax.jit(lambda x: x * 2 + 1)
    return Case(
        "jit without draws / jax.jit", lambda: ours(X), lambda: base(X), limit=1.1
    )


@jax.jit
def split_in_carry(key: jax.Array) -> Any:
    def step(carry: Any, _: None) -> Any:
        key, total = carry
        key, draw = jax.random.split(key)
        return (key, total + normal(draw, 4)), None

    return lax.scan(step, (key, np.zeros(4, F32)), length=1000)[0]


def scan_of_draws() -> Case:
    def total(draw: Callable[[], Any]) -> Callable[[], Any]:
        def step(total: Any, _: None) -> Any:
            return total + draw(), None

        return lambda: lax.scan(step, np.zeros(4, F32), length=1000)[0]

    ours, rng = jfi.jit(total(lambda: jfi.randn(4))), stateful_rng(0)
    stateful = jax.jit(total(lambda: rng.normal(size=(4,), dtype=F32)))
    base = Keys().passed(split_in_carry)
    return Case(
        "scan of 1000 draws / split in the carry",
        lambda: jax.block_until_ready(ours()),
        lambda: jax.block_until_ready(base()),
        limit=1.1,
        others={"stateful_rng": lambda: jax.block_until_ready(stateful())},
    )


@jax.jit
def split_per_row(key: jax.Array, x: Any) -> Any:
    key, *rows = jax.random.split(key)
    draws = jax.random.split(rows[0], len(x))
    return key, jax.vmap(lambda key, x: x + normal(key, 10))(draws, x)


def vmap_of_rows() -> Case:
    x = np.ones(1000, F32)
    ours = jfi.jit(jfi.vmap(lambda x: x + jfi.randn(10)))
    base = Keys().passed(split_per_row, x)

    def of_nnx(rngs: Any) -> Way:
        row = nnx.vmap(lambda rngs, x: x + rngs.normal((10,), F32))
        compiled = nnx.jit(lambda rngs, x: row(rngs.split(1000), x))
        return lambda: jax.block_until_ready(compiled(rngs, x))

    return Case(
        "vmap of 1000 rows, 10 numbers each / split keys",
        lambda: jax.block_until_ready(ours(x)),
        lambda: jax.block_until_ready(base()),
        limit=1.2,
        others=with_nnx(of_nnx),
    )


def tracing() -> Case:
    def ours() -> Any:
        return sum((jfi.randn(3) for _ in range(200)), np.zeros(3, F32))

    def explicit(key: jax.Array) -> Any:
        total = np.zeros(3, F32)
        for _ in range(200):
            key, draw = jax.random.split(key)
            total = total + normal(draw, 3)
        return total

    def lower_ours() -> None:
        # All that a first call does but compile: find the draws, trace, lower.
        program = CompiledFunction(lambda: ours(), {})
        try:
            program.pure.lower()
        except FoundDraws as found:
            program.add(found)
        origin, start = current().reserve(1)
        program._drawing.lower((origin.state(start),))

    key = jax.random.key(0)
    return Case(
        "tracing and lowering 200 draws / split and normal",
        lower_ours,
        lambda: jax.jit(lambda key: explicit(key)).lower(key),
        limit=2,
    )


# Each case with its rounds, and calls in a row.
CASES = [
    (eager, 41, 320),
    (jit_with_a_draw, 41, 500),
    (jit_without_draws, 41, 1000),
    (scan_of_draws, 31, 5),
    (vmap_of_rows, 31, 30),
    (tracing, 9, 1),
]

if __name__ == "__main__":
    if nnx is None:
        print("flax is not installed: no column for nnx.Rngs")
    results = []
    for make, rounds, calls in CASES:
        case = make()
        for way in (case.ours, case.base, *case.others.values()):
            for _ in range(2):
                way()  # compiles
        results.append((case, ratios(case, rounds=rounds, calls=calls)))
    report("Random numbers (medians of interleaved ratios)", results)
