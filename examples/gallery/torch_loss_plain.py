"""A PyTorch loss in plain JAX: callbacks and a derivative rule by hand."""

import sys
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from sklearn.datasets import load_digits


torch.set_num_threads(1)  # PyTorch and JAX share the cores
optimizer = optax.adam(2e-3)


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


def run_torch(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The loss, and its gradient with respect to x."""
    tensors = torch.tensor(np.asarray(x)).requires_grad_(), torch.tensor(np.asarray(y))
    loss = dissimilarity(*tensors)
    (gradient,) = torch.autograd.grad(loss, tensors[0])
    return loss.detach().numpy(), gradient.numpy()


def call_torch(x: jax.Array, y: jax.Array) -> Any:
    shapes = jax.ShapeDtypeStruct((), x.dtype), jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(run_torch, shapes, x, y)


@jax.custom_vjp
def loss_in_jax(x: jax.Array, y: jax.Array) -> jax.Array:
    """No derivative with respect to y, no forward mode, no second derivative."""
    return call_torch(x, y)[0]


def loss_backward(gradient: jax.Array, g: jax.Array) -> tuple[jax.Array, None]:
    return g * gradient, None


loss_in_jax.defvjp(call_torch, loss_backward)


def init_denoiser(key: jax.Array, hidden: int) -> Any:
    sizes = [64, hidden, hidden, 64]
    keys = jax.random.split(key, 3)
    pairs = zip(keys, sizes, sizes[1:])
    w = [jax.random.normal(k, (n, m)) / n**0.5 for k, n, m in pairs]
    return {"w": w, "b": [jnp.zeros(m) for m in sizes[1:]]}


def denoise(params: Any, images: jax.Array) -> jax.Array:
    x = images.reshape(-1, 64)
    for w, b in zip(params["w"][:-1], params["b"][:-1]):
        x = jax.nn.relu(x @ w + b)
    return jax.nn.sigmoid(x @ params["w"][-1] + params["b"][-1]).reshape(images.shape)


@partial(jax.jit, static_argnames="batch")
def epoch(
    params: Any, state: Any, key: jax.Array, images: jax.Array, batch: int = 100
) -> tuple[Any, Any, jax.Array]:
    """Train on all images in a random order; returns the mean loss, too."""

    def step(carry: Any, inputs: Any) -> Any:
        (params, state), (key, rows) = carry, inputs
        noisy = images[rows] + 0.4 * jax.random.normal(key, (batch, 8, 8))
        loss = lambda params: loss_in_jax(denoise(params, noisy), images[rows])
        value, slope = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(slope, state)
        return (optax.apply_updates(params, updates), state), value

    batches = len(images) // batch
    order_key, *keys = jax.random.split(key, batches + 1)
    order = jax.random.permutation(order_key, len(images))[: batches * batch]
    inputs = jnp.stack(keys), order.reshape(batches, batch)
    (params, state), losses = jax.lax.scan(step, (params, state), inputs)
    return params, state, losses.mean()


def run(short: bool = False) -> dict[str, Any]:
    key, init_key, test_key = jax.random.split(jax.random.key(0), 3)
    digits: Any = load_digits()
    images = jnp.array(digits.images / 16, "float32")
    train, test = images[:1500], images[1500:]
    params = init_denoiser(init_key, hidden=256)
    state, losses = optimizer.init(params), []
    for _ in range(3 if short else 60):
        key, epoch_key = jax.random.split(key)
        params, state, loss = epoch(params, state, epoch_key, train)
        losses.append(loss)
    noisy = test + 0.4 * jax.random.normal(test_key, test.shape)
    cleaned = denoise(params, noisy)
    return {
        "losses": np.array(losses),
        "noisy": 1 - float(loss_in_jax(noisy, test)),
        "cleaned": 1 - float(loss_in_jax(cleaned, test)),
    }


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    losses = result["losses"]
    print(f"loss: {losses[0]:.3f} in the first epoch, {losses[-1]:.3f} in the last")
    print(f"similarity to the true digits: noisy {result['noisy']:.2f},", end=" ")
    print(f"cleaned {result['cleaned']:.2f}")
