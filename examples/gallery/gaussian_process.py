"""A Gaussian process whose hyperparameters are found by Newton's method.

    python examples/gallery/gaussian_process.py

The data are scikit-learn's diabetes patients: how far their illness is a year later,
from three measurements. The Hessian at the best hyperparameters also says how sure they
are (Laplace's approximation).
"""

import sys
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes

import jfi as jnp


NAMES = "bmi", "bp", "s5"  # body mass, blood pressure, logarithm of triglycerides


@jnp.pytree
class GaussianProcess:
    """With a squared exponential kernel; the hyperparameters are logarithms."""

    def __init__(self, x: jnp.Array, y: jnp.Array) -> None:
        self.x, self.y = x, y

    def kernel(self, h: jnp.Array, x: jnp.Array, z: jnp.Array) -> jnp.Array:
        amplitude, lengths = jnp.exp(h[0]), jnp.exp(h[2:])
        apart = (x[:, None] - z[None]) / lengths
        return amplitude**2 * jnp.exp(-(apart**2).sum(-1) / 2)

    def factor(self, h: jnp.Array) -> jnp.Array:
        noise = jnp.exp(2 * h[1]) * jnp.eye(len(self.x))
        return jnp.linalg.cholesky(self.kernel(h, self.x, self.x) + noise)

    def loss(self, h: jnp.Array) -> jnp.Array:
        """Minus the logarithm of evidence times a wide prior."""
        lower = self.factor(h)
        white = jnp.scipy.linalg.solve_triangular(lower, self.y, lower=True)
        evidence = (white**2).sum() / 2 + jnp.log(jnp.diag(lower)).sum()
        return evidence + (h**2).sum() / (2 * 3**2)

    def predict(self, h: jnp.Array, z: jnp.Array) -> tuple[jnp.Array, jnp.Array]:
        """Mean and standard deviation of the patients' numbers, noise included."""
        lower = self.factor(h)
        cross = self.kernel(h, self.x, z)
        both = jnp.column_stack([self.y, cross])
        white = jnp.scipy.linalg.solve_triangular(lower, both, lower=True)
        mean = white[:, 1:].T @ white[:, 0]
        variance = jnp.exp(2 * h[0]) - (white[:, 1:] ** 2).sum(0)
        return mean, jnp.sqrt(variance + jnp.exp(2 * h[1]))

    @jnp.autojit
    def fit(self, h: jnp.Array, tolerance: float = 1e-2) -> dict[str, jnp.Array]:
        """Newton's method, by the absolute curvatures where the loss is not convex."""

        def step(carry: Any) -> Any:
            h, slope = carry
            curvatures, axes = jnp.linalg.eigh(jnp.hessian(self.loss)(h))
            newton = axes @ (axes.T @ slope / jnp.maximum(abs(curvatures), 1.0))
            h = h - newton * jnp.minimum(1, 1 / jnp.norm(newton))
            loss, slope = jnp.value_and_grad(self.loss)(h)
            return (h, slope), loss

        start = h, jnp.grad(self.loss)(h)
        steep = lambda carry: jnp.norm(carry[1]) > tolerance
        (h, _), losses, steps = jnp.scan_while(steep, step, start, max_steps=30)
        covariance = jnp.linalg.inv(jnp.hessian(self.loss)(h))
        return {"h": h, "covariance": covariance, "losses": losses, "steps": steps}


def load(short: bool) -> tuple[jnp.Array, jnp.Array]:
    """Measurements and illness of patients, each with mean 0 and deviation 1."""
    data: Any = load_diabetes(as_frame=True)
    x, y = data.data[[*NAMES]].to_numpy(), data.target.to_numpy()
    order = np.random.default_rng(0).permutation(len(x))[: 120 if short else None]
    x, y = x[order] / x.std(0), (y[order] - y.mean()) / y.std()
    return jnp.array(x, "float32"), jnp.array(y, "float32")


def run(short: bool = False) -> dict[str, Any]:
    x, y = load(short)
    test = len(x) // 4
    process = GaussianProcess(x[test:], y[test:])
    fit = process.fit(jnp.zeros(5))
    mean, std = process.predict(fit["h"], x[:test])
    inside = (abs(y[:test] - mean) < 2 * std).mean()
    error = jnp.sqrt(((y[:test] - mean) ** 2).mean())
    found = {name: np.array(value) for name, value in fit.items()}
    return {"process": process, "error": error, "inside": inside, **found}


def draw(result: dict[str, Any], path: str) -> None:
    """The hyperparameters with their uncertainty, and what two measurements predict."""
    from matplotlib import pyplot as plt

    process, h = result["process"], result["h"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
    names = ["amplitude", "noise", *(f"length of {name}" for name in NAMES)]
    left.errorbar(h, names, xerr=2 * np.sqrt(np.diag(result["covariance"])), fmt="o")
    left.set(title="logarithms, with two deviations")

    axis = jnp.linspace(-2.5, 2.5, 60)
    bmi, s5 = jnp.meshgrid(axis, axis)
    grid = jnp.stack([bmi, jnp.zeros_like(bmi), s5], -1).reshape(-1, 3)
    mean = process.predict(h, grid)[0].reshape(60, 60)
    shown = right.contourf(axis, axis, mean, levels=14)
    right.scatter(*process.x[:, [0, 2]].T, c=process.y, s=12, edgecolors="w", lw=0.3)
    right.set(title="illness a year later", xlabel="body mass", ylabel="triglycerides")
    right.set(xlim=(-2.5, 2.5), ylim=(-2.5, 2.5))
    figure.colorbar(shown, ax=right)
    figure.tight_layout()
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    deviations = np.sqrt(np.diag(result["covariance"]))
    print(f"{result['steps']} Newton steps; the noise is", end=" ")
    print(f"{np.exp(result['h'][1]):.2f}, give or take {100 * deviations[1]:.0f} %")
    print(f"error of the test: {result['error']:.2f} of a deviation;", end=" ")
    print(f"{result['inside']:.0%} are within two deviations of the prediction")
    draw(result, "gaussian_process.png")
