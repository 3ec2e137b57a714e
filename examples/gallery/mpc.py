"""Model-predictive control: 24 robots drive to their goals, past three pillars.

    python examples/gallery/mpc.py

A robot plans two seconds ahead by Gauss-Newton steps, does the first action of the
plan, and plans again. The problem is a dict of data and settings; all robots are a
batch.
"""

import sys
from typing import Any

import numpy as np

import jfi as jnp


Problem = dict[str, Any]


def unicycle(state: jnp.Array, action: jnp.Array, dt: float) -> jnp.Array:
    """The state (x, y, heading) after a moment; the action is speed and turning."""
    _, _, heading = state
    speed, turning = action
    change = jnp.stack([speed * jnp.cos(heading), speed * jnp.sin(heading), turning])
    return state + dt * change


def residuals(problem: Problem, state: jnp.Array, controls: jnp.Array) -> jnp.Array:
    """What a plan should make small: the sum of squares is its cost."""

    def step(state: jnp.Array, control: jnp.Array) -> Any:
        action = problem["limits"] * jnp.tanh(control)
        state = problem["dynamics"](state, action, problem["dt"])
        return state, state

    _, states = jnp.scan(step, state, controls)
    away = states[:, :2] - problem["goal"]
    terms = [away, 0.3 * controls, 5 * away[-1:]]
    for pillar in problem["pillars"]:
        distance = jnp.norm(states[:, :2] - pillar["at"], dim=-1)
        margin = pillar["radius"] + problem["margin"] - distance
        terms.append(jnp.nn.softplus(20 * margin))
    return jnp.concatenate([term.ravel() for term in terms])


def plan(problem: Problem, state: jnp.Array, controls: jnp.Array) -> Any:
    """Better controls, and how many damped Gauss-Newton steps it took."""

    def cost(controls: jnp.Array) -> jnp.Array:
        return (residuals(problem, state, controls) ** 2).sum()

    def improve(carry: Any) -> Any:
        controls, damping, _ = carry
        r = residuals(problem, state, controls)
        j = jnp.jacfwd(residuals, 2)(problem, state, controls).reshape(r.size, -1)
        normal = j.T @ j + damping * jnp.eye(controls.size)
        new = controls - jnp.linalg.solve(normal, j.T @ r).reshape(controls.shape)
        gain = (r**2).sum() - cost(new)
        better = gain > 0
        damping = jnp.where(better, damping / 4, damping * 8)
        moving = abs(gain) > 1e-3 * (r**2).sum() + 1e-4
        return (jnp.where(better, new, controls), damping, moving), None

    start: Any = controls, jnp.array(1.0), jnp.array(True)
    goes_on: Any = lambda carry: carry[2]
    (controls, *_), _, steps = jnp.scan_while(goes_on, improve, start, max_steps=20)
    return controls, steps


def drive(problem: Problem) -> dict[str, Any]:
    """Plan, do the first action, plan again."""

    def step(carry: Any, _: None) -> Any:
        state, controls = carry
        controls, steps = plan(problem, state, controls)
        action = problem["limits"] * jnp.tanh(controls[0])
        new = problem["dynamics"](state, action, problem["dt"])
        controls = jnp.concatenate([controls[1:], controls[-1:]])  # a warm start
        return (new, controls), (state, steps)

    start = problem["start"], jnp.zeros((problem["horizon"], 2))
    (end, _), (path, steps) = jnp.scan(step, start, length=problem["duration"])
    gaps = [
        jnp.norm(path[:, :2] - pillar["at"], dim=-1) - pillar["radius"]
        for pillar in problem["pillars"]
    ]
    return {
        "path": path,
        "away": jnp.norm(end[:2] - problem["goal"]),
        "gap": jnp.stack(gaps).min(),
        "steps": steps.sum(),
    }


def make_problem(short: bool) -> Problem:
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False, dtype="float32")
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return {
        "start": np.hstack([3 * around, angle[:, None] + np.float32(2.6)]),
        "goal": -3 * around,
        "pillars": [
            {"at": jnp.array([0.9, 0.0]), "radius": 0.6},
            {"at": jnp.array([-0.6, 0.9]), "radius": 0.5},
            {"at": jnp.array([-0.5, -1.0]), "radius": 0.4},
        ],
        "dynamics": unicycle,
        "limits": jnp.array([2.0, 3.0]),
        "margin": 0.1,
        "dt": 0.1,
        "horizon": 20,
        "duration": 40 if short else 60,
    }


def run(short: bool = False) -> dict[str, Any]:
    problem = make_problem(short)
    result = jnp.vmap_automatically(drive, problem)
    return {"problem": problem, **result}


def draw(result: dict[str, Any], path: str) -> None:
    """The paths of all robots."""
    from matplotlib import pyplot as plt
    from matplotlib.patches import Circle

    figure, axes = plt.subplots(figsize=(5.6, 5.4))
    colors = plt.get_cmap("hsv")(np.linspace(0, 1, 25))
    for way, goal, color in zip(result["path"], result["problem"]["goal"], colors):
        axes.plot(*np.asarray(way)[:, :2].T, color=color, lw=1.2)
        axes.plot(*way[0, :2], "o", *goal, "x", color=color, ms=5)
    for pillar in result["problem"]["pillars"]:
        axes.add_patch(Circle(pillar["at"], pillar["radius"], color="gray"))
    axes.set(title="from the dots to the crosses", aspect="equal")
    figure.tight_layout()
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    away, gap, steps = result["away"], result["gap"], result["steps"]
    duration = result["problem"]["duration"]
    print(f"at the end {away.max():.3f} m from the goal, or less")
    print(f"the closest to a pillar: {gap.min():.3f} m")
    print(f"{steps.sum() / duration / len(steps):.1f} Gauss-Newton steps for a plan")
    draw(result, "mpc.png")
