"""The variational autoencoder in plain JAX: parameters in dicts, and keys by hand."""

import sys
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits


Params = dict[str, Any]
optimizer = optax.adam(3e-3)


def init_linear(key: jax.Array, n_in: int, n_out: int) -> Params:
    w = jax.random.normal(key, (n_in, n_out)) / n_in**0.5
    return {"w": w, "b": jnp.zeros(n_out)}


def init_vae(key: jax.Array, pixels: int, hidden: int) -> Params:
    keys = jax.random.split(key, 4)
    encoder = [init_linear(keys[0], pixels, hidden), init_linear(keys[1], hidden, 4)]
    decoder = [init_linear(keys[2], 2, hidden), init_linear(keys[3], hidden, pixels)]
    return {"encoder": encoder, "decoder": decoder}


def mlp(layers: list[Params], x: jax.Array) -> jax.Array:
    inner, outer = layers
    return jnp.tanh(x @ inner["w"] + inner["b"]) @ outer["w"] + outer["b"]


def loss_fn(params: Params, key: jax.Array, x: jax.Array) -> jax.Array:
    """The negative lower bound of the evidence, in nats a digit."""
    mean, log_std = jnp.split(mlp(params["encoder"], x), 2, axis=-1)
    z = mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)
    logits = mlp(params["decoder"], z)
    error = optax.sigmoid_binary_cross_entropy(logits, x).sum(-1)
    surprise = (mean**2 + jnp.exp(2 * log_std) - 1 - 2 * log_std).sum(-1) / 2
    return (error + surprise).mean()


@partial(jax.jit, static_argnames="batch")
def epoch(
    params: Params, state: Any, key: jax.Array, images: jax.Array, batch: int = 100
) -> tuple[Params, Any, jax.Array]:
    """Train on all images in a random order; returns the mean loss, too."""

    def step(carry: Any, inputs: Any) -> Any:
        params, state = carry
        loss, slope = jax.value_and_grad(loss_fn)(params, *inputs)
        updates, state = optimizer.update(slope, state, params)
        return (optax.apply_updates(params, updates), state), loss

    batches = len(images) // batch
    order_key, *keys = jax.random.split(key, batches + 1)
    order = jax.random.permutation(order_key, len(images))[: batches * batch]
    inputs = jnp.stack(keys), images[order.reshape(batches, batch)]
    (params, state), losses = jax.lax.scan(step, (params, state), inputs)
    return params, state, losses.mean()


def run(short: bool = False) -> dict[str, Any]:
    key, init_key, test_key = jax.random.split(jax.random.key(0), 3)
    digits: Any = load_digits()
    images = jnp.array(digits.data / 16, "float32")
    train, test = images[:1500], images[1500:]
    params = init_vae(init_key, pixels=64, hidden=128)
    state, losses = optimizer.init(params), []
    for _ in range(20 if short else 200):
        key, epoch_key = jax.random.split(key)
        params, state, loss = epoch(params, state, epoch_key, train)
        losses.append(loss)
    return {
        "losses": np.array(losses),
        "test loss": float(loss_fn(params, test_key, test)),
    }


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    losses = result["losses"]
    print(f"loss: {losses[0]:.1f} in the first epoch, {losses[-1]:.1f} in the last")
    print(f"loss of the test: {result['test loss']:.1f} nats a digit")
