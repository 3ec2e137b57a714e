"""The Gaussian process in plain JAX: functions of the data, and a while loop."""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from sklearn.datasets import load_diabetes


NAMES = "bmi", "bp", "s5"  # body mass, blood pressure, logarithm of triglycerides


def kernel(h: jax.Array, x: jax.Array, z: jax.Array) -> jax.Array:
    amplitude, lengths = jnp.exp(h[0]), jnp.exp(h[2:])
    apart = (x[:, None] - z[None]) / lengths
    return amplitude**2 * jnp.exp(-(apart**2).sum(-1) / 2)


def factor(h: jax.Array, x: jax.Array) -> jax.Array:
    noise = jnp.exp(2 * h[1]) * jnp.eye(len(x))
    return jnp.linalg.cholesky(kernel(h, x, x) + noise)


def loss_fn(h: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    """Minus the logarithm of evidence times a wide prior."""
    lower = factor(h, x)
    white = solve_triangular(lower, y, lower=True)
    evidence = (white**2).sum() / 2 + jnp.log(jnp.diag(lower)).sum()
    return evidence + (h**2).sum() / (2 * 3**2)


def predict(
    h: jax.Array, x: jax.Array, y: jax.Array, z: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Mean and standard deviation of the patients' numbers, noise included."""
    lower = factor(h, x)
    both = jnp.column_stack([y, kernel(h, x, z)])
    white = solve_triangular(lower, both, lower=True)
    mean = white[:, 1:].T @ white[:, 0]
    variance = jnp.exp(2 * h[0]) - (white[:, 1:] ** 2).sum(0)
    return mean, jnp.sqrt(variance + jnp.exp(2 * h[1]))


@jax.jit
def fit(
    h: jax.Array, x: jax.Array, y: jax.Array, tolerance: float = 1e-2
) -> dict[str, jax.Array]:
    """Newton's method, by the absolute curvatures where the loss is not convex."""

    def step(carry: Any) -> Any:
        h, slope, losses, k = carry
        curvatures, axes = jnp.linalg.eigh(jax.hessian(loss_fn)(h, x, y))
        newton = axes @ (axes.T @ slope / jnp.maximum(abs(curvatures), 1.0))
        h = h - newton * jnp.minimum(1, 1 / jnp.linalg.norm(newton))
        loss, slope = jax.value_and_grad(loss_fn)(h, x, y)
        return h, slope, losses.at[k].set(loss), k + 1

    start = h, jax.grad(loss_fn)(h, x, y), jnp.zeros(30), 0
    steep = lambda carry: (jnp.linalg.norm(carry[1]) > tolerance) & (carry[3] < 30)
    h, _, losses, steps = jax.lax.while_loop(steep, step, start)
    covariance = jnp.linalg.inv(jax.hessian(loss_fn)(h, x, y))
    return {"h": h, "covariance": covariance, "losses": losses, "steps": steps}


def load(short: bool) -> tuple[jax.Array, jax.Array]:
    """Measurements and illness of patients, each with mean 0 and deviation 1."""
    data: Any = load_diabetes(as_frame=True)
    x, y = data.data[[*NAMES]].to_numpy(), data.target.to_numpy()
    order = np.random.default_rng(0).permutation(len(x))[: 120 if short else None]
    x, y = x[order] / x.std(0), (y[order] - y.mean()) / y.std()
    return jnp.array(x, "float32"), jnp.array(y, "float32")


def run(short: bool = False) -> dict[str, Any]:
    x, y = load(short)
    test = len(x) // 4
    found = fit(jnp.zeros(5), x[test:], y[test:])
    mean, std = predict(found["h"], x[test:], y[test:], x[:test])
    inside = (abs(y[:test] - mean) < 2 * std).mean()
    error = jnp.sqrt(((y[:test] - mean) ** 2).mean())
    found = {name: np.array(value) for name, value in found.items()}
    return {"error": error, "inside": inside, **found}


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    deviations = np.sqrt(np.diag(result["covariance"]))
    print(f"{result['steps']} Newton steps; the noise is", end=" ")
    print(f"{np.exp(result['h'][1]):.2f}, give or take {100 * deviations[1]:.0f} %")
    print(f"error of the test: {result['error']:.2f} of a deviation;", end=" ")
    print(f"{result['inside']:.0%} are within two deviations of the prediction")
