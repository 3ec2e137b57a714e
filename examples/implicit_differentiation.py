"""Gradients through SciPy's solvers: how strongly to regularise, and whose cost it was.

    python examples/implicit_differentiation.py

Two questions whose answer is the argument of a solver. First: a regression has forty
features, of which four matter. How strongly each weight is held back is learned from
data that the regression has not seen, by gradients through `scipy.optimize.minimize`.
Second: a pilot keeps a drone in place. From what the pilot does we find the costs that
it acts by, with `scipy.optimize.least_squares` around a Riccati equation. No step of a
solver is differentiated: its answer satisfies an equation, and that has derivatives.
"""

import jax
import numpy as np

import jfi as jnp


FEATURES, USEFUL = 40, 4


def make_data(count: int, seed: int) -> tuple[jnp.Array, jnp.Array]:
    """Labels of 0 and 1 that depend on the first features, with noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, FEATURES))
    chance = 1 / (1 + np.exp(-2 * x[:, :USEFUL].sum(1)))
    return jnp.asarray(x), jnp.asarray((rng.random(count) < chance).astype(float))


def loss(w: jnp.Array, data: tuple[jnp.Array, jnp.Array]) -> jnp.Array:
    """Of a logistic regression, for one label."""
    x, label = data
    return jnp.mean(jnp.logaddexp(0.0, x @ w) - label * (x @ w))


def fitted(strength: jnp.Array, data: tuple[jnp.Array, jnp.Array]) -> jnp.Array:
    """The weights of the regression; each has its own strength of regularisation."""
    cost = lambda w: loss(w, data) + jnp.sum(jnp.exp(strength) * w**2)
    weights: jnp.Array = jnp.scipy.optimize.minimize(cost, jnp.zeros(FEATURES)).x
    return weights


def learn_strengths() -> None:
    """Gradient descent on the loss of unseen data, through the fit."""
    seen, unseen, last = make_data(60, 0), make_data(200, 1), make_data(4000, 2)

    @jax.jit
    def step(strength: jnp.Array) -> tuple[jnp.Array, jnp.Array]:
        value, slope = jax.value_and_grad(lambda s: loss(fitted(s, seen), unseen))(
            strength
        )
        return strength - 150 * slope, value

    first = strength = jnp.full(FEATURES, -4.0)
    for _ in range(12):
        strength, _ = step(strength)
    before, after = (float(loss(fitted(s, seen), last)) for s in (first, strength))
    useful, useless = strength[:USEFUL].mean(), strength[USEFUL:].mean()
    print(f"Loss on new data: {before:.3f} with one strength for all, {after:.3f} with")
    print(f"learned ones: {useful:.1f} for what matters, {useless:.1f} for the rest.")


def find_costs() -> None:
    """The weights of a linear-quadratic regulator, from the gain that it acts by."""
    a = jnp.array([[0.0, 1.0], [0.0, -0.2]])  # position and speed, with some drag
    b = jnp.array([[0.0], [1.0]])

    def gain(logs: jnp.Array) -> jnp.Array:
        x = jnp.scipy.linalg.solve_continuous_are(
            a, b, jnp.diag(jnp.exp(logs)), jnp.eye(1)
        )
        return b.T @ x

    seen = gain(jnp.log(jnp.array([5.0, 0.7])))
    found = jnp.scipy.optimize.least_squares(lambda w: gain(w) - seen, jnp.zeros(2))
    position, speed = np.exp(found.x)
    print(f"The pilot acts as if position cost {position:.2f} and speed {speed:.2f}.")


def main() -> None:
    """Both questions."""
    with jnp.default_dtype("float64"):
        learn_strengths()
        find_costs()


if __name__ == "__main__":
    main()
