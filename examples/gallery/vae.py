"""A variational autoencoder in plain classes, trained with optax on handwritten digits.

    python examples/gallery/vae.py

The digits are scikit-learn's. Each is encoded as a point of the plane, with an
uncertainty, and decoded from a random point nearby.
"""

import sys
from typing import Any

import numpy as np
import optax
from sklearn.datasets import load_digits

import jfi as jnp


@jnp.pytree
class Linear:
    def __init__(self, n_in: int, n_out: int) -> None:
        self.w = jnp.randn(n_in, n_out) / n_in**0.5
        self.b = jnp.zeros(n_out)

    def __call__(self, x: jnp.Array) -> jnp.Array:
        return x @ self.w + self.b


@jnp.pytree
class VAE:
    def __init__(self, pixels: int, hidden: int) -> None:
        self.encoder = [Linear(pixels, hidden), Linear(hidden, 4)]
        self.decoder = [Linear(2, hidden), Linear(hidden, pixels)]

    def encode(self, x: jnp.Array) -> list[jnp.Array]:
        inner, outer = self.encoder
        return jnp.split(outer(jnp.tanh(inner(x))), 2, axis=-1)

    def decode(self, z: jnp.Array) -> jnp.Array:
        inner, outer = self.decoder
        return outer(jnp.tanh(inner(z)))

    def loss(self, x: jnp.Array) -> jnp.Array:
        """The negative lower bound of the evidence, in nats a digit."""
        mean, log_std = self.encode(x)
        z = mean + jnp.exp(log_std) * jnp.randn_like(mean)
        error = optax.sigmoid_binary_cross_entropy(self.decode(z), x).sum(-1)
        surprise = (mean**2 + jnp.exp(2 * log_std) - 1 - 2 * log_std).sum(-1) / 2
        return (error + surprise).mean()


class Trainer:
    def __init__(self, model: VAE, rate: float) -> None:
        self.model: Any = model
        self.optimizer: Any = optax.adam(rate)
        self.state = self.optimizer.init(model)

    @jnp.autojit
    def epoch(self, images: jnp.Array, batch: int = 100) -> jnp.Array:
        """Train on all images in a random order; returns the mean loss."""

        def step(carry: Any, x: jnp.Array) -> Any:
            model, state = carry
            loss, slope = jnp.value_and_grad(VAE.loss)(model, x)
            updates, state = self.optimizer.update(slope, state, model)
            return (jnp.apply_updates(model, updates), state), loss

        batches = len(images) // batch
        order = jnp.randperm(len(images))[: batches * batch].reshape(batches, batch)
        carry = self.model, self.state
        (self.model, self.state), losses = jnp.scan(step, carry, images[order])
        return losses.mean()


def run(short: bool = False) -> dict[str, Any]:
    jnp.manual_seed(0)
    digits: Any = load_digits()
    images = jnp.array(digits.data / 16, "float32")
    train, test = images[:1500], images[1500:]
    trainer = Trainer(VAE(pixels=64, hidden=128), rate=3e-3)
    losses = [trainer.epoch(train) for _ in range(20 if short else 200)]
    return {
        "losses": np.array(losses),
        "test loss": float(trainer.model.loss(test)),
        "model": trainer.model,
        "test": (test, digits.target[1500:]),
    }


def draw(result: dict[str, Any], path: str) -> None:
    """Where the digits of the test lie, and what the plane decodes to."""
    from matplotlib import pyplot as plt

    model, (images, labels) = result["model"], result["test"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.3))
    mean, _ = model.encode(images)
    dots = left.scatter(*np.asarray(mean).T, c=labels, cmap="tab10", s=10)
    figure.colorbar(dots, ax=left, label="digit")
    left.set(title="digits of the test, encoded", xlim=(-3, 3), ylim=(-3, 3))

    axis = jnp.linspace(-2.2, 2.2, 12)
    plane = jnp.stack(jnp.meshgrid(axis, -axis), axis=-1)
    pixels = jnp.sigmoid(model.decode(plane)).reshape(12, 12, 8, 8)
    picture = np.asarray(pixels).swapaxes(1, 2).reshape(96, 96)
    right.imshow(picture, cmap="gray", extent=(-2.2, 2.2, -2.2, 2.2))
    right.set(title="the plane, decoded")
    figure.tight_layout()
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    losses = result["losses"]
    print(f"loss: {losses[0]:.1f} in the first epoch, {losses[-1]:.1f} in the last")
    print(f"loss of the test: {result['test loss']:.1f} nats a digit")
    print(jnp.summary(result["model"]))
    draw(result, "vae.png")
