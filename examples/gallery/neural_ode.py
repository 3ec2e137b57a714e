"""A neural ODE with diffrax learns how predators and prey live, from noisy counts.

    python examples/gallery/neural_ode.py

The network is the right-hand side of a differential equation. It is trained through
diffrax's solver, on short pieces of the data, and then predicts what it has not seen.
"""

import sys
from typing import Any

import diffrax
import numpy as np
import optax

import jfi as jnp


@jnp.pytree
class Field:
    """How the logarithms of the two counts change: a network with one inner layer."""

    def __init__(self, hidden: int) -> None:
        self.inner, self.outer = jnp.randn(2, hidden), 0.1 * jnp.randn(hidden, 2)
        self.shift, self.bias = jnp.zeros(hidden), jnp.zeros(2)

    def __call__(self, t: Any, y: jnp.Array, args: Any = None) -> jnp.Array:
        return jnp.tanh(y @ self.inner + self.shift) @ self.outer + self.bias


def lotka_volterra(t: Any, y: jnp.Array, args: Any = None) -> jnp.Array:
    """The truth, in logarithms of the counts."""
    return jnp.array([1.1, -0.9]) + jnp.array([-0.6, 0.5]) * jnp.exp(y[::-1])


def solve(field: Any, y0: jnp.Array, times: jnp.Array) -> jnp.Array:
    """The solution at some times."""
    term, save = diffrax.ODETerm(field), diffrax.SaveAt(ts=times)
    start, end = times[0], times[-1]
    solution: Any = diffrax.diffeqsolve(
        term, diffrax.Tsit5(), start, end, 0.05, y0, saveat=save, max_steps=512
    )
    return solution.ys


class Trainer:
    def __init__(self, field: Field, times: jnp.Array, data: jnp.Array) -> None:
        self.field: Any = field
        self.times, self.data = times, data
        self.optimizer: Any = optax.adam(5e-3)
        self.state = self.optimizer.init(field)

    def loss(self, field: Field, first: jnp.Array, length: int) -> jnp.Array:
        """The mean square error of pieces of the data, solved from their first rows."""

        def error(first: jnp.Array) -> jnp.Array:
            rows = self.data[first + jnp.arange(length)]
            return ((solve(field, rows[0], self.times[:length]) - rows) ** 2).mean()

        return jnp.vmap(error)(first).mean()

    @jnp.autojit
    def train(self, steps: int, length: int = 10, pieces: int = 16) -> jnp.Array:
        """Steps of training on random pieces; returns the losses."""

        def step(carry: Any, _: None) -> Any:
            field, state = carry
            first = jnp.randint(0, len(self.data) - length, (pieces,))
            loss, slope = jnp.value_and_grad(self.loss)(field, first, length)
            updates, state = self.optimizer.update(slope, state)
            return (jnp.apply_updates(field, updates), state), loss

        carry = self.field, self.state
        (self.field, self.state), losses = jnp.scan(step, carry, length=steps)
        return losses


def run(short: bool = False) -> dict[str, Any]:
    jnp.manual_seed(0)
    times = jnp.linspace(0, 24, 161)
    truth = solve(lotka_volterra, jnp.log(jnp.array([3.0, 1.0])), times)
    seen = 101  # the rest is to be predicted
    data = truth[:seen] + 0.03 * jnp.randn(seen, 2)
    trainer = Trainer(Field(hidden=32), times, data)
    losses = trainer.train(60 if short else 1500)
    predicted = solve(trainer.field, truth[seen - 1], times[seen - 1 :])
    error = jnp.sqrt(((predicted - truth[seen - 1 :]) ** 2).mean())
    found = {"losses": np.array(losses), "predicted": predicted, "error": float(error)}
    return {"times": times, "truth": truth, "data": data, **found}


def draw(result: dict[str, Any], path: str) -> None:
    """The counts, and what the network predicts after the data end."""
    from matplotlib import pyplot as plt

    times, data, predicted = result["times"], result["data"], result["predicted"]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 3.6), gridspec_kw={"width_ratios": [1, 2]}
    )
    left.semilogy(result["losses"], lw=0.7)
    left.set(title="training", xlabel="step", ylabel="loss")
    names = [("prey", "tab:green"), ("predators", "tab:red")]
    for k, (name, color) in enumerate(names):
        right.plot(times, jnp.exp(result["truth"][:, k]), color=color, lw=0.6)
        right.plot(times[: len(data)], jnp.exp(data[:, k]), ".", color=color, ms=4)
        later = times[len(data) - 1 :]
        right.plot(later, jnp.exp(predicted[:, k]), "--", color=color, label=name)
    right.set(title="counts (dots), and predicted (dashed)", xlabel="years")
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    losses, error = result["losses"], result["error"]
    print(f"loss: {losses[:20].mean():.4f} at first, {losses[-20:].mean():.5f} at last")
    print(f"error of the prediction, over 9 years: {error:.3f} in logarithms")
    draw(result, "neural_ode.png")
