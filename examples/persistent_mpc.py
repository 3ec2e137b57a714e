"""Model predictive control that is compiled once, and not at each start.

    python examples/persistent_mpc.py
    python examples/persistent_mpc.py

Run it twice: the second start neither traces nor compiles the planner, and prints both
times to the first plan. With a server (`jfi-server start`) it does not load it either.
Then it flies: a planar quadrotor plans 20 steps ahead at each step, in gusts of wind.
"""

import time
from pathlib import Path

import numpy as np

import jfi as jnp


FIRST_START = Path("persistent_mpc.txt")  # seconds of the first start
DT, HORIZON, SWEEPS = 0.05, 20, 6
GRAVITY, ARM, INERTIA = 9.81, 0.3, 0.05


def fly(state: jnp.Array, thrusts: jnp.Array) -> jnp.Array:
    """One step: place, angle and their speeds `(6,)`; thrusts of both rotors `(2,)`."""
    _, _, angle, *_ = state
    lift = thrusts.sum()
    acceleration = jnp.stack(
        [
            -lift * jnp.sin(angle),
            lift * jnp.cos(angle) - GRAVITY,
            (thrusts[1] - thrusts[0]) * ARM / INERTIA,
        ]
    )
    speed = state[3:] + DT * acceleration
    return jnp.cat([state[:3] + DT * speed, speed])


def cost(state: jnp.Array, thrusts: jnp.Array, goal: jnp.Array) -> jnp.Array:
    """How far it is from the goal, and how hard the rotors work."""
    place = ((state[:2] - goal) ** 2).sum()
    motion = 0.1 * (state[2:] ** 2).sum()
    return place + motion + 0.01 * ((thrusts - GRAVITY / 2) ** 2).sum()


@jnp.persistent
def plan(state: jnp.Array, thrusts: jnp.Array, goal: jnp.Array) -> jnp.Array:
    """Improve a plan `(HORIZON, 2)` by Newton's method through time."""

    def total(thrusts: jnp.Array) -> jnp.Array:
        def step(state: jnp.Array, u: jnp.Array) -> tuple[jnp.Array, jnp.Array]:
            state = fly(state, u)
            return state, cost(state, u, goal)

        return jnp.scan(step, state, thrusts)[1].sum()

    def improved(thrusts: jnp.Array) -> jnp.Array:
        slope = jnp.grad(total)(thrusts).ravel()
        bend = jnp.hessian(total)(thrusts).reshape(slope.size, slope.size)
        lowest = jnp.clamp(jnp.linalg.eigvalsh(bend).min(), max=0.0)

        def candidate(damping: jnp.Array) -> jnp.Array:
            damped = bend + (damping - lowest) * jnp.eye(slope.size)
            change: jnp.Array = jnp.linalg.solve(damped, slope)
            return thrusts - change.reshape(thrusts.shape)

        candidates = jnp.vmap(candidate)(jnp.array([0.1, 1.0, 10.0, 100.0]))
        best: jnp.Array = candidates[jnp.argmin(jnp.vmap(total)(candidates))]
        return best

    for _ in range(SWEEPS):
        thrusts = improved(thrusts)
    return thrusts


def main() -> None:
    """Fly to the goal, and compare this start with the first one."""
    goal = jnp.array([2.0, 1.0])
    state = jnp.zeros(6)
    thrusts = GRAVITY / 2 * jnp.ones((HORIZON, 2))

    thrusts = plan(state, thrusts, goal).block_until_ready()
    start = time.process_time()  # since Python was started
    print(f"From the start of Python to the first plan: {start:.1f} s of computing.")
    if FIRST_START.exists():
        first = float(FIRST_START.read_text())
        print(f"The first start took {first:.1f} s, {first / start:.1f} times as long.")
    else:
        FIRST_START.write_text(f"{start:.2f}")
        print("Run it again: the plan is compiled now.")

    begin, wind = time.perf_counter(), np.random.default_rng(0)
    for _ in range(60):
        gust = np.append(np.zeros(3), 0.05 * wind.normal(size=3)).astype(np.float32)
        state = fly(state, thrusts[0]) + gust
        thrusts = plan(state, jnp.cat([thrusts[1:], thrusts[-1:]]), goal)
    mean = (time.perf_counter() - begin) / 60
    x, y = state[:2]
    print(f"After 3 seconds of flight it is at ({x:.2f}, {y:.2f}); the goal is (2, 1).")
    print(f"A plan took {1000 * mean:.1f} ms.")
    print(jnp.cache_report())


if __name__ == "__main__":
    main()
