"""What batches without `in_axes` cost, to `jax.jit(jax.vmap(f, in_axes))` by hand.

python tests/benchmarks/bench_batching.py

The problem is small, 64 rollouts of 40 steps: some tens of microseconds. The last rows
have next to nothing but the call, which costs jfi one or two microseconds more.

By hand, settings are static arguments of what is jitted, since vmap takes none; equinox
gets the same dict as jfi.
"""

import time
from collections.abc import Callable
from typing import Any, TypeAlias

import equinox
import jax
import jax.numpy as jnp
from harness import (
    OF_PROCESSES,
    Case,
    measure_for_medians,
    medians,
    ratios,
    report,
)

import jfi


Problem: TypeAlias = dict[str, Any]

EQUINOX = "equinox"
BATCH, N = 64, 4
ARRAYS: Problem = {
    "x0": jnp.ones((BATCH, N)),
    "u": jnp.ones((BATCH, 2)),
    "A": 0.5 * jnp.eye(N),
    "B": jnp.ones((N, 2)),
    "Q": jnp.eye(N),
    "R": jnp.eye(2),
}
AXES: Problem = {name: 0 if name in ("x0", "u") else None for name in ARRAYS}
SETTINGS: Problem = {"kind": "sum", "steps": 40, "act": jnp.tanh, "note": None}
PROBLEM = {**ARRAYS, **SETTINGS, "gain": 0.5}


def rollout(p: Problem) -> Any:
    return rollout_by_hand(p, 0.5, "sum", 40, jnp.tanh)


def rollout_of_settings(p: Problem) -> Any:
    return rollout_by_hand(p, p["gain"], p["kind"], p["steps"], p["act"])


def rollout_by_hand(p: Problem, gain: Any, kind: str, steps: int, act: Any) -> Any:
    x, total = p["x0"], 0.0
    for _ in range(steps):
        x = act(p["A"] @ x + gain * (p["B"] @ p["u"]))
        total = total + x @ p["Q"] @ x + p["u"] @ p["R"] @ p["u"]
    return total if kind == "sum" else total / steps


def trivial(p: Problem) -> Any:
    return p["A"] @ p["x0"]


def case(
    name: str,
    ours: Callable[[], object],
    fn: Callable[[Problem], Any],
    problem: Problem,
    base: Callable[[], object],
    limit: float = 1.15,
) -> Case:
    axes = {**dict.fromkeys(problem), **AXES}
    theirs = equinox.filter_jit(equinox.filter_vmap(fn, in_axes=(axes,)))
    return Case(name, ours, base, limit, {EQUINOX: lambda: theirs(problem)})


def arrays_alone() -> list[Case]:
    hand = jax.jit(jax.vmap(rollout, in_axes=(AXES,)))
    base = lambda: hand(ARRAYS)
    inferred, by_axes = jfi.auto_vmap(rollout), jfi.vmap(rollout, in_axes="auto")
    sized = jfi.auto_vmap(rollout, batch_size=BATCH)
    by_name = jfi.auto_vmap(rollout, shared="p.A", batched={"p.x0": 0, "p.u": 0})
    by_itself = jfi.vmap_automatically
    ways: dict[str, Callable[[], object]] = {
        "auto_vmap": lambda: inferred(ARRAYS),
        "auto_vmap(batch_size=)": lambda: sized(ARRAYS),
        "auto_vmap(shared=, batched=)": lambda: by_name(ARRAYS),
        "vmap(in_axes='auto')": lambda: by_axes(ARRAYS),
        "vmap_automatically(f, problem)": lambda: by_itself(rollout, ARRAYS),
        "vmap_automatically(f, problem, 64)": lambda: by_itself(rollout, ARRAYS, BATCH),
        "the same, shared=": lambda: by_itself(rollout, ARRAYS, BATCH, shared="A"),
        "the same of a fresh lambda": lambda: by_itself(lambda p: rollout(p), ARRAYS),
    }
    return [case(name, way, rollout, ARRAYS, base) for name, way in ways.items()]


def with_settings() -> list[Case]:
    def by_hand(p: Problem, gain: Any, kind: str, steps: int, act: Any) -> Any:
        fn = lambda p: rollout_by_hand(p, gain, kind, steps, act)
        return jax.vmap(fn, in_axes=(AXES,))(p)

    hand = jax.jit(by_hand, static_argnames=("kind", "steps", "act"))
    base = lambda: hand(ARRAYS, 0.5, kind="sum", steps=40, act=jnp.tanh)
    fn = rollout_of_settings
    auto = jfi.auto_vmap(fn)
    name = "5 settings in the dict: {} / static arguments by hand"
    ways: dict[str, Callable[[], object]] = {
        "auto_vmap": lambda: auto(PROBLEM),
        "vmap_automatically": lambda: jfi.vmap_automatically(fn, PROBLEM),
    }
    return [case(name.format(k), way, fn, PROBLEM, base) for k, way in ways.items()]


def next_to_nothing() -> list[Case]:
    hand = jax.jit(jax.vmap(trivial, in_axes=(AXES,)))
    auto = jfi.auto_vmap(trivial)
    name = "one product: {} / by hand"
    ways: dict[str, Callable[[], object]] = {
        "auto_vmap": lambda: auto(ARRAYS),
        "vmap_automatically": lambda: jfi.vmap_automatically(trivial, ARRAYS),
    }
    base = lambda: hand(ARRAYS)
    return [
        case(name.format(k), way, trivial, ARRAYS, base, 1.50)
        for k, way in ways.items()
    ]


def rows() -> list[Case]:
    """Each row of the table."""
    return [*arrays_alone(), *with_settings(), *next_to_nothing()]


def until_done(run: Callable[[], object], calls: int) -> float:
    """Seconds of one call, until all of them are done.

    JAX computes while Python goes on: what is left would fall to the next way.
    """
    start = time.perf_counter()
    for _ in range(calls):
        out = run()
    jax.block_until_ready(out)
    return (time.perf_counter() - start) / calls


def measured() -> dict[str, dict[str, float]]:
    """The ratios of each row, in this process."""
    found = {}
    for row in rows():
        for way in (row.ours, row.base, *row.others.values()):
            for _ in range(8):  # the first calls compile, and learn the form
                way()
        found[row.name] = ratios(row, rounds=60, calls=50, measure=until_done)
    return found


if __name__ == "__main__":
    measure_for_medians(measured)
    # XLA's code takes some 10 % more or less in each process, for jfi and by hand.
    found = medians(__file__)
    title = f"batches without in_axes, to jit(vmap(f, in_axes)) by hand {OF_PROCESSES}"
    report(title, [(row, found[row.name]) for row in rows()])
