"""One start of a script that compiles: `python restart_functions.py FUNCTION WAY`.

Each function takes seconds to compile. The way is "jax" (`jax.jit`), "jax cache" (with
JAX's cache of compiled programs in `$JAX_FOLDER`), "disk" or "auto" (`persistent` in
that mode), or "import": the same imports, and one small function. It prints the sum of
the result.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def unrolled() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Gradient of a loop of 120 steps that Python unrolls: 6000 operations."""

    def rollout(theta: jax.Array, x: jax.Array) -> jax.Array:
        cost = jnp.zeros(())
        for k in range(120):
            force = jnp.tanh(theta[k % 8] @ x)
            x = x + 0.05 * jnp.stack([x[1], jnp.sin(x[0]) + force, x[3], -x[2]])
            cost = cost + jnp.sum(x**2) + 0.01 * force**2 + 0.1 * jnp.cos(x[k % 4])
        return cost

    theta = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
    return jax.value_and_grad(rollout), (theta, np.ones(4, np.float32))


def control() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Sweeps of iLQR for a quadrotor: jacobians, hessians, scans, a line search."""

    def dynamics(x: jax.Array, u: jax.Array) -> jax.Array:
        angle, rate, v = x[3:6], x[9:12], x[6:9]
        s, c = jnp.sin(angle), jnp.cos(angle)
        thrust = jnp.sum(u) * jnp.stack(
            [
                c[0] * s[1] * c[2] + s[0] * s[2],
                c[0] * s[1] * s[2] - s[0] * c[2],
                c[0] * c[1],
            ]
        )
        torque = jnp.stack([u[1] - u[3], u[2] - u[0], u[0] - u[1] + u[2] - u[3]])
        change = jnp.concatenate(
            [
                v,
                rate,
                thrust - jnp.array([0.0, 0.0, 9.81]),
                torque - 0.1 * jnp.cross(rate, rate + 1),
            ]
        )
        return x + 0.02 * change

    def cost(x: jax.Array, u: jax.Array, goal: jax.Array) -> jax.Array:
        return (
            jnp.sum((x - goal) ** 2) + 0.01 * jnp.sum(u**2) + jnp.sum(jnp.cosh(x[3:6]))
        )

    def rollout(x0: jax.Array, us: jax.Array) -> jax.Array:
        def step(x: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
            x = dynamics(x, u)
            return x, x

        return jnp.concatenate([x0[None], jax.lax.scan(step, x0, us)[1]])

    def sweep(x0: jax.Array, us: jax.Array, goal: jax.Array) -> jax.Array:
        xs = rollout(x0, us)
        a, b = jax.vmap(jax.jacfwd(dynamics, (0, 1)))(xs[:-1], us)
        qx, qu = jax.vmap(jax.grad(cost, (0, 1)), (0, 0, None))(xs[:-1], us, goal)
        (qxx, qxu), (_, quu) = jax.vmap(jax.hessian(cost, (0, 1)), (0, 0, None))(
            xs[:-1], us, goal
        )

        def back(carry: Any, at: Any) -> Any:
            v, vv = carry
            a, b, qx, qu, qxx, qxu, quu = at
            gx, gu = qx + a.T @ v, qu + b.T @ v
            hxx, huu = qxx + a.T @ vv @ a, quu + b.T @ vv @ b
            hux = qxu.T + b.T @ vv @ a
            factor = jax.scipy.linalg.cho_factor(huu + 1e-3 * jnp.eye(4))
            k, big_k = (-jax.scipy.linalg.cho_solve(factor, y) for y in (gu, hux))
            return (gx + big_k.T @ gu, hxx + hux.T @ big_k), (k, big_k)

        end = jnp.zeros(12), jnp.eye(12)
        _, (k, big_k) = jax.lax.scan(
            back, end, (a, b, qx, qu, qxx, qxu, quu), reverse=True
        )

        def forward(rate: jax.Array) -> Any:
            def step(x: jax.Array, at: Any) -> Any:
                old, u, k, big_k = at
                u = u + rate * k + big_k @ (x - old)
                return dynamics(x, u), u

            found = jax.lax.scan(step, x0, (xs[:-1], us, k, big_k))[1]
            states = rollout(x0, found)[:-1]
            return jnp.sum(jax.vmap(cost, (0, 0, None))(states, found, goal)), found

        costs, candidates = jax.vmap(forward)(jnp.array([1.0, 0.5, 0.25, 0.1, 0.0]))
        return candidates[jnp.argmin(costs)]

    def plan(x0: jax.Array, us: jax.Array, goal: jax.Array) -> Any:
        for _ in range(7):
            us = sweep(x0, us, goal)
        sensitivity = jax.grad(lambda x: jnp.sum(sweep(x, us, goal)))(x0)
        return us, sensitivity

    goal = np.zeros(12, np.float32)
    return plan, (goal + 0.1, np.full((20, 4), 2.45, np.float32), goal)


def network() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """One training step of a haiku network whose edges mix convolutions (DARTS)."""
    import haiku as hk

    def edge(x: jax.Array, name: str) -> jax.Array:
        ways = [
            hk.Conv2D(8, 3)(x), hk.Conv2D(8, 5)(x), hk.Conv2D(8, 1)(x),
            hk.Conv2D(8, 3, rate=2)(x), hk.AvgPool(3, 1, "SAME")(x),
        ]  # fmt: skip
        mix = jax.nn.softmax(hk.get_parameter(f"mix_{name}", (5,), init=jnp.zeros))
        return sum((m * w for m, w in zip(mix, ways, strict=True)), jnp.zeros(()))

    def forward(x: jax.Array) -> jax.Array:
        x = hk.Conv2D(8, 3)(x)
        for cell in range(4):
            nodes = [x, jax.nn.relu(x)]
            for node in range(3):
                edges = [edge(n, f"{cell}_{node}_{k}") for k, n in enumerate(nodes)]
                nodes.append(jax.nn.relu(sum(edges, jnp.zeros(()))))
            x = hk.LayerNorm((-1,), True, True)(nodes[-1])
        return hk.Linear(10)(x.mean((1, 2)))

    net = hk.without_apply_rng(hk.transform(forward))
    images, labels = np.ones((1, 8, 8, 3), np.float32), np.arange(1)
    shapes = jax.eval_shape(net.init, jax.random.key(0), images)
    params = jax.tree.map(lambda s: np.full(s.shape, 0.01, s.dtype), shapes)

    def step(params: Any, images: jax.Array, labels: jax.Array) -> Any:
        def loss(params: Any) -> jax.Array:
            scores = jax.nn.log_softmax(net.apply(params, images))
            return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

        value, slopes = jax.value_and_grad(loss)(params)
        return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes)

    return step, (params, images, labels)


def small() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What every script pays."""
    return lambda x: x * 2 + 1, (np.ones(3, np.float32),)


def main(name: str, way: str) -> None:
    """Run a function once."""
    fn, args = globals()[name]()
    if way == "import":
        fn, args = small()
    if way == "jax cache":
        jax.config.update("jax_compilation_cache_dir", os.environ["JAX_FOLDER"])
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    if way in ("disk", "auto"):
        from jfi import persistent

        run = persistent(fn, mode=way)
    else:
        run = jax.jit(fn)
    # As NumPy arrays: np.sum of a JAX array compiles a program for each shape.
    print(sum(float(np.asarray(x).sum()) for x in jax.tree.leaves(run(*args))))


if __name__ == "__main__":
    main(*sys.argv[1:])
