"""A thousand optimal-control problems in one dict, solved at once.

    python examples/optimal_control.py [picture.png]

Carts in the plane drive from where they are to where they should be, with a force that
is limited. Each has its own mass, start, goal and limit; the horizon, the weights and
the settings of the solver are the same for all. All of it is in one dict, and nobody
says which is which. The twin at the end is written by hand, with every array and every
setting listed, and finds the same numbers. It prints both and saves a picture.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import jfi as jnp


mpl.use("Agg")  # to files, without a screen
from matplotlib import pyplot as plt


Problem = dict[str, Any]
Pair = tuple[jnp.Array, jnp.Array]

CARTS, STATES, FORCES = 1000, 4, 2


def make_problem() -> Problem:
    """Data of 1000 carts, and what they share."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, CARTS)
    start = np.stack([np.cos(angle), np.sin(angle), *rng.normal(size=(2, CARTS))], 1)
    return {
        "cart": {
            "mass": rng.uniform(0.5, 2.0, CARTS).astype("float32"),
            "limit": rng.uniform(1.0, 4.0, CARTS).astype("float32"),
        },
        "start": start.astype("float32"),
        "goal": rng.uniform(-0.3, 0.3, (CARTS, 2)).astype("float32"),
        "weights": {
            "state": np.diag([1.0, 1.0, 0.1, 0.1]).astype("float32"),
            "force": 0.01 * np.eye(FORCES, dtype="float32"),
            "end": 20 * np.eye(STATES, dtype="float32"),
        },
        "model": "exact",
        "dt": 0.1,
        "horizon": 25,
        "solver": {"iterations": 300, "rate": 0.008, "project": jnp.clip},
        "warm_start": None,
    }


def solve(p: Problem) -> Problem:
    """The best forces for one cart, by accelerated projected gradients."""
    project, limit = p["solver"]["project"], p["cart"]["limit"]
    rate = p["solver"]["rate"] * p["cart"]["mass"] ** 2
    start = p["warm_start"]
    if start is None:
        start = jnp.zeros((p["horizon"], FORCES))

    def total(forces: jnp.Array) -> jnp.Array:
        return cost(p, rollout(p, forces), forces)

    slope = jnp.grad(total)

    def improve(k: jnp.Array, pair: Pair) -> Pair:
        ahead, forces = pair
        new = project(ahead - rate * slope(ahead), -limit, limit)
        return new + k / (k + 3) * (new - forces), new

    _, forces = jnp.fori_loop(0, p["solver"]["iterations"], improve, (start, start))
    return {
        "cost": total(forces),
        "forces": forces,
        "states": rollout(p, forces),
        "model": p["model"],
    }


def rollout(p: Problem, forces: jnp.Array) -> jnp.Array:
    """The states that follow from forces, `(horizon + 1, 4)`."""
    dt = p["dt"]

    def step(state: jnp.Array, force: jnp.Array) -> tuple[jnp.Array, jnp.Array]:
        place, speed = state[:2], state[2:]
        push = force / p["cart"]["mass"]
        further = dt * speed
        if p["model"] == "exact":
            further = further + 0.5 * dt**2 * push
        state = jnp.concatenate([place + further, speed + dt * push])
        return state, state

    _, states = jnp.scan(step, p["start"], forces)
    return jnp.concatenate([p["start"][None], states])


def cost(p: Problem, states: jnp.Array, forces: jnp.Array) -> jnp.Array:
    """What it costs not to be at rest at the goal, and to push."""
    off = states - jnp.concatenate([p["goal"], jnp.zeros(2)])
    weights = p["weights"]
    running = jnp.sum((off @ weights["state"]) * off)
    pushing = jnp.sum((forces @ weights["force"]) * forces)
    total: jnp.Array = running + pushing + off[-1] @ weights["end"] @ off[-1]
    return total


def solve_by_hand(problem: Problem) -> Callable[[], Problem]:
    """The same with plain JAX: settings are bound, and each array has its axis."""
    settings = {k: problem[k] for k in ("model", "dt", "horizon", "warm_start")}
    arrays = {k: problem[k] for k in ("cart", "start", "goal", "weights")}
    axes = {"cart": 0, "start": 0, "goal": 0, "weights": None}

    def one(arrays: Problem) -> Problem:
        found = solve({**arrays, **settings, "solver": problem["solver"]})
        return {k: x for k, x in found.items() if k != "model"}

    compiled = jnp.jax.jit(jnp.jax.vmap(one, in_axes=(axes,)))
    return lambda: compiled(arrays)


def draw(problem: Problem, found: Problem, path: Path) -> None:
    """Save a picture: the ways of some carts, and what all of them cost."""
    states, limits = np.asarray(found["states"]), problem["cart"]["limit"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5))
    for k in range(40):
        left.plot(*states[k, :, :2].T, lw=0.8, color=plt.cm.viridis(limits[k] / 4))
        left.plot(*problem["goal"][k], "k.", ms=2)
    left.set(title="the ways of 40 carts", xlabel="x in m", ylabel="y in m")
    left.set_aspect("equal")
    right.scatter(limits, found["cost"], s=4, c=problem["cart"]["mass"])
    right.set(title="all 1000", xlabel="limit of the force in N", ylabel="cost")
    right.set_yscale("log")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def timed(call: Callable[[], Problem]) -> tuple[Problem, float]:
    """A result, and the seconds it takes once it is compiled."""
    call()
    start = time.perf_counter()
    found = jnp.block_until_ready(call())
    return found, time.perf_counter() - start


def main() -> None:
    """Solve all problems in both ways, compare, and draw."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "optimal_control.png")
    problem = make_problem()
    found, seconds = timed(lambda: jnp.vmap_automatically(solve, problem))
    print(f"vmap_automatically: {CARTS} problems in {seconds:.3f} s")

    twin, seconds = timed(solve_by_hand(problem))
    print(f"written by hand:    {CARTS} problems in {seconds:.3f} s")
    for name, numbers in twin.items():
        # By hand the settings are constants, which the compiler rounds in its own way.
        np.testing.assert_allclose(found[name], numbers, rtol=1e-3, atol=1e-3)
    off = np.linalg.norm(found["states"][:, -1, :2] - problem["goal"], axis=1)
    print(f"the same numbers; {found['model']} model; {np.mean(off < 0.1):.0%} arrive")

    few = jnp.unstack_tree(found)[:2]
    print("two of them cost", ", ".join(f"{one['cost']:.2f}" for one in few))
    draw(problem, found, path)
    print(f"see {path}")


if __name__ == "__main__":
    main()
