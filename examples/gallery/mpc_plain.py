"""Model-predictive control in plain JAX: settings apart, and `in_axes` by hand."""

import sys
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


Problem = dict[str, Any]
HORIZON, DT, MARGIN = 20, 0.1, 0.1


def dynamics(state: jax.Array, action: jax.Array) -> jax.Array:
    """The state (x, y, heading) after a moment; the action is speed and turning."""
    _, _, heading = state
    speed, turning = action
    change = jnp.stack([speed * jnp.cos(heading), speed * jnp.sin(heading), turning])
    return state + DT * change


def residuals(problem: Problem, state: jax.Array, controls: jax.Array) -> jax.Array:
    """What a plan should make small: the sum of squares is its cost."""

    def step(state: jax.Array, control: jax.Array) -> Any:
        state = dynamics(state, problem["limits"] * jnp.tanh(control))
        return state, state

    _, states = jax.lax.scan(step, state, controls)
    away = states[:, :2] - problem["goal"]
    terms = [away, 0.3 * controls, 5 * away[-1:]]
    for pillar in problem["pillars"]:
        distance = jnp.linalg.norm(states[:, :2] - pillar["at"], axis=-1)
        margin = pillar["radius"] + MARGIN - distance
        terms.append(jax.nn.softplus(20 * margin))
    return jnp.concatenate([term.ravel() for term in terms])


def plan(problem: Problem, state: jax.Array, controls: jax.Array) -> Any:
    """Better controls, and how many damped Gauss-Newton steps it took."""

    def cost(controls: jax.Array) -> jax.Array:
        return (residuals(problem, state, controls) ** 2).sum()

    def improve(carry: Any) -> Any:
        controls, damping, _, steps = carry
        r = residuals(problem, state, controls)
        j = jax.jacfwd(residuals, 2)(problem, state, controls).reshape(r.size, -1)
        normal = j.T @ j + damping * jnp.eye(controls.size)
        new = controls - jnp.linalg.solve(normal, j.T @ r).reshape(controls.shape)
        gain = (r**2).sum() - cost(new)
        better = gain > 0
        damping = jnp.where(better, damping / 4, damping * 8)
        moving = abs(gain) > 1e-3 * (r**2).sum() + 1e-4
        return jnp.where(better, new, controls), damping, moving, steps + 1

    start = controls, jnp.array(1.0), jnp.array(True), jnp.array(0)
    goes_on = lambda carry: carry[2] & (carry[3] < 20)
    controls, _, _, steps = jax.lax.while_loop(goes_on, improve, start)
    return controls, steps


def drive(problem: Problem, duration: int) -> dict[str, Any]:
    """Plan, do the first action, plan again."""

    def step(carry: Any, _: None) -> Any:
        state, controls = carry
        controls, steps = plan(problem, state, controls)
        new = dynamics(state, problem["limits"] * jnp.tanh(controls[0]))
        controls = jnp.concatenate([controls[1:], controls[-1:]])  # a warm start
        return (new, controls), (state, steps)

    start = problem["start"], jnp.zeros((HORIZON, 2))
    (end, _), (path, steps) = jax.lax.scan(step, start, length=duration)
    gaps = [
        jnp.linalg.norm(path[:, :2] - pillar["at"], axis=-1) - pillar["radius"]
        for pillar in problem["pillars"]
    ]
    return {
        "path": path,
        "away": jnp.linalg.norm(end[:2] - problem["goal"]),
        "gap": jnp.stack(gaps).min(),
        "steps": steps.sum(),
    }


@partial(jax.jit, static_argnames="duration")
def drive_all(problem: Problem, duration: int) -> dict[str, Any]:
    in_axes = {"start": 0, "goal": 0, "pillars": None, "limits": None}
    return jax.vmap(lambda p: drive(p, duration), in_axes=(in_axes,))(problem)


def make_problem() -> Problem:
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
        "limits": jnp.array([2.0, 3.0]),
    }


def run(short: bool = False) -> dict[str, Any]:
    problem, duration = make_problem(), 40 if short else 60
    result = drive_all(problem, duration)
    return {"duration": duration, **result}


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    away, gap, steps = result["away"], result["gap"], result["steps"]
    print(f"at the end {away.max():.3f} m from the goal, or less")
    print(f"the closest to a pillar: {gap.min():.3f} m")
    duration = result["duration"]
    print(f"{steps.sum() / duration / len(steps):.1f} Gauss-Newton steps for a plan")
