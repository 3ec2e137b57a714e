"""A loss written in PyTorch trains a network in JAX: noisy digits are made clean.

    python examples/gallery/torch_loss.py

The loss is the structural similarity of images (Wang et al., 2004), as a colleague
wrote it in PyTorch. The network, its training and the random noise are JAX, compiled.
"""

import sys
from typing import Any

import numpy as np
import optax
import torch
from sklearn.datasets import load_digits

import jfi as jnp


torch.set_num_threads(1)  # PyTorch and JAX share the cores


def dissimilarity(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """One minus the mean structural similarity of images `(n, 8, 8)`."""
    window = torch.exp(-(torch.arange(-2.0, 3.0) ** 2) / 2)
    window = (window[:, None] * window / window.sum() ** 2)[None, None]
    images = torch.stack([x, y, x * x, y * y, x * y], 1).flatten(0, 1)[:, None]
    blurred = torch.nn.functional.conv2d(images, window).unflatten(0, (-1, 5))
    mx, my, xx, yy, xy = blurred.unbind(1)
    alike = (2 * mx * my + 1e-4) / (mx**2 + my**2 + 1e-4)
    spread = (xx - mx**2) + (yy - my**2)
    return 1 - (alike * (2 * (xy - mx * my) + 9e-4) / (spread + 9e-4)).mean()


loss_in_jax: Any = jnp.from_torch(dissimilarity)


@jnp.pytree
class Denoiser:
    def __init__(self, hidden: int) -> None:
        sizes = [64, hidden, hidden, 64]
        self.w = [jnp.randn(n, m) / n**0.5 for n, m in zip(sizes, sizes[1:])]
        self.b = [jnp.zeros(m) for m in sizes[1:]]

    def __call__(self, images: jnp.Array) -> jnp.Array:
        x = images.reshape(-1, 64)
        for w, b in zip(self.w[:-1], self.b[:-1]):
            x = jnp.relu(x @ w + b)
        return jnp.sigmoid(x @ self.w[-1] + self.b[-1]).reshape(images.shape)


class Trainer:
    def __init__(self, model: Denoiser, rate: float) -> None:
        self.model: Any = model
        self.optimizer: Any = optax.adam(rate)
        self.state = self.optimizer.init(model)

    @jnp.autojit
    def epoch(self, images: jnp.Array, batch: int = 100) -> jnp.Array:
        """Train on all images in a random order; returns the mean loss."""

        def step(carry: Any, rows: jnp.Array) -> Any:
            model, state = carry
            noisy = images[rows] + 0.4 * jnp.randn(batch, 8, 8)
            loss = lambda model: loss_in_jax(model(noisy), images[rows])
            value, slope = jnp.value_and_grad(loss)(model)
            updates, state = self.optimizer.update(slope, state)
            return (jnp.apply_updates(model, updates), state), value

        batches = len(images) // batch
        order = jnp.randperm(len(images))[: batches * batch].reshape(batches, batch)
        carry = self.model, self.state
        (self.model, self.state), losses = jnp.scan(step, carry, order)
        return losses.mean()


def run(short: bool = False) -> dict[str, Any]:
    jnp.manual_seed(0)
    digits: Any = load_digits()
    images = jnp.array(digits.images / 16, "float32")
    train, test = images[:1500], images[1500:]
    trainer = Trainer(Denoiser(hidden=256), rate=2e-3)
    losses = [trainer.epoch(train) for _ in range(3 if short else 60)]
    noisy = test + 0.4 * jnp.randn_like(test)
    cleaned = trainer.model(noisy)
    return {
        "losses": np.array(losses),
        "images": [test, noisy, cleaned],
        "noisy": 1 - float(loss_in_jax(noisy, test)),
        "cleaned": 1 - float(loss_in_jax(cleaned, test)),
    }


def draw(result: dict[str, Any], path: str) -> None:
    """Digits of the test: as they are, with noise, and cleaned."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(3, 12, figsize=(9, 2.6))
    for row, images in zip(axes, result["images"]):
        for ax, image in zip(row, images):
            ax.imshow(image, cmap="gray", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
    for row, name in zip(axes, ["digits", "noisy", "cleaned"]):
        row[0].set_ylabel(name)
    figure.tight_layout()
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    losses = result["losses"]
    print(f"loss: {losses[0]:.3f} in the first epoch, {losses[-1]:.3f} in the last")
    print(f"similarity to the true digits: noisy {result['noisy']:.2f},", end=" ")
    print(f"cleaned {result['cleaned']:.2f}")
    draw(result, "torch_loss.png")
