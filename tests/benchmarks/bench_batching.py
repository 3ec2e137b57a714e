"""What batches without `in_axes` cost, to `jax.jit(jax.vmap(f, in_axes))` by hand.

python tests/benchmarks/bench_batching.py

The problems are small, so that the call is what is timed. By hand, settings are captured
by the function or are static arguments; equinox gets the same dict as jfi.
"""

from collections.abc import Callable
from typing import Any

import equinox
import jax
import jax.numpy as jnp
from harness import Case, ratios, report

import jfi


EQUINOX = "equinox"
B, N = 32, 4
ARRAYS = {
    "x0": jnp.ones((B, N)),
    "u": jnp.ones((B, 2)),
    "A": jnp.eye(N),
    "B": jnp.ones((N, 2)),
    "Q": jnp.eye(N),
    "R": jnp.eye(2),
}
AXES = {name: 0 if name in ("x0", "u") else None for name in ARRAYS}
SETTINGS = {"mode": "square", "steps": 2, "act": jnp.tanh, "note": None, "gain": 0.5}


def cost(p: dict[str, Any]) -> Any:
    x = p["A"] @ p["x0"] + p["B"] @ p["u"]
    return x @ p["Q"] @ x + p["u"] @ p["R"] @ p["u"]


def cost_with_settings(p: dict[str, Any]) -> Any:
    return cost_by_hand(p, p["gain"], p["mode"], p["steps"], p["act"])


def cost_by_hand(p: dict[str, Any], gain: Any, mode: str, steps: int, act: Any) -> Any:
    x = p["x0"]
    for _ in range(steps):
        x = act(p["A"] @ x + gain * (p["B"] @ p["u"]))
    return x @ p["Q"] @ x if mode == "square" else abs(x).sum()


def plain() -> list[Case]:
    hand = jax.jit(jax.vmap(cost, in_axes=(AXES,)))
    theirs = equinox.filter_jit(equinox.filter_vmap(cost, in_axes=(AXES,)))
    auto = jfi.auto_vmap(cost)
    sized = jfi.auto_vmap(cost, batch_size=B)
    by_name = jfi.auto_vmap(cost, shared="p.A", batched={"p.x0": 0})
    by_axes = jfi.vmap(cost, in_axes="auto")
    ways: dict[str, Callable[[], object]] = {
        "auto_vmap": lambda: auto(ARRAYS),
        "auto_vmap(batch_size=)": lambda: sized(ARRAYS),
        "auto_vmap(shared=, batched=)": lambda: by_name(ARRAYS),
        "vmap(in_axes='auto')": lambda: by_axes(ARRAYS),
        "vmap_automatically": lambda: jfi.vmap_automatically(cost, ARRAYS),
        "vmap_automatically(fn, p, size)": lambda: jfi.vmap_automatically(
            cost, ARRAYS, B
        ),
        "vmap_automatically of a fresh lambda": lambda: jfi.vmap_automatically(
            lambda p: cost(p), ARRAYS
        ),
    }
    return [
        Case(
            f"{name}, 6 arrays in a dict",
            way,
            lambda: hand(ARRAYS),
            1.15,
            {EQUINOX: lambda: theirs(ARRAYS)},
        )
        for name, way in ways.items()
    ]


def with_settings() -> list[Case]:
    problem = {**ARRAYS, **SETTINGS}
    mapped = jax.vmap(cost_by_hand, in_axes=(AXES, None, None, None, None))

    # vmap takes no text: by hand, settings are bound before.
    def by_hand(p: Any, gain: Any, mode: str, steps: int, act: Any) -> Any:
        bound = lambda p: cost_by_hand(p, gain, mode, steps, act)
        return jax.vmap(bound, in_axes=(AXES,))(p)

    del mapped
    hand = jax.jit(by_hand, static_argnames=("mode", "steps", "act"))
    axes = {**AXES, **dict.fromkeys(SETTINGS)}
    theirs = equinox.filter_jit(
        equinox.filter_vmap(cost_with_settings, in_axes=(axes,))
    )
    auto = jfi.auto_vmap(cost_with_settings)
    base = lambda: hand(ARRAYS, 0.5, mode="square", steps=2, act=jnp.tanh)
    return [
        Case(
            "auto_vmap, 6 arrays and 5 settings in a dict",
            lambda: auto(problem),
            base,
            1.15,
            {EQUINOX: lambda: theirs(problem)},
        ),
        Case(
            "vmap_automatically, the same",
            lambda: jfi.vmap_automatically(cost_with_settings, problem),
            base,
            1.15,
        ),
    ]


if __name__ == "__main__":
    results = []
    for case in [*plain(), *with_settings()]:
        for way in (case.ours, case.base, *case.others.values()):
            for _ in range(5):  # the first calls compile, and learn the form
                way()
        results.append((case, ratios(case, rounds=60, calls=200)))
    report("batches without in_axes", results)
