"""The neural ODE in plain JAX: parameters in a dict, and keys by hand."""

import sys
from functools import partial
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optax


optimizer = optax.adam(5e-3)


def init_field(key: jax.Array, hidden: int) -> dict[str, jax.Array]:
    keys = jax.random.split(key)
    return {
        "inner": jax.random.normal(keys[0], (2, hidden)),
        "outer": 0.1 * jax.random.normal(keys[1], (hidden, 2)),
        "shift": jnp.zeros(hidden),
        "bias": jnp.zeros(2),
    }


def network(t: Any, y: jax.Array, p: Any) -> jax.Array:
    """How the logarithms of the two counts change: a network with one inner layer."""
    return jnp.tanh(y @ p["inner"] + p["shift"]) @ p["outer"] + p["bias"]


def lotka_volterra(t: Any, y: jax.Array, args: Any = None) -> jax.Array:
    """The truth, in logarithms of the counts."""
    return jnp.array([1.1, -0.9]) + jnp.array([-0.6, 0.5]) * jnp.exp(y[::-1])


def solve(field: Any, params: Any, y0: jax.Array, times: jax.Array) -> jax.Array:
    """The solution at some times."""
    term, save = diffrax.ODETerm(field), diffrax.SaveAt(ts=times)
    start, end = times[0], times[-1]
    solution: Any = diffrax.diffeqsolve(
        term, diffrax.Tsit5(), start, end, 0.05, y0, params, saveat=save, max_steps=512
    )
    return solution.ys


def loss_fn(
    params: Any, times: jax.Array, data: jax.Array, first: jax.Array, length: int
) -> jax.Array:
    """The mean square error of pieces of the data, solved from their first rows."""

    def error(first: jax.Array) -> jax.Array:
        rows = data[first + jnp.arange(length)]
        return ((solve(network, params, rows[0], times[:length]) - rows) ** 2).mean()

    return jax.vmap(error)(first).mean()


@partial(jax.jit, static_argnames=("steps", "length", "pieces"))
def train(
    params: Any,
    state: Any,
    key: jax.Array,
    times: jax.Array,
    data: jax.Array,
    steps: int,
    length: int = 10,
    pieces: int = 16,
) -> tuple[Any, Any, jax.Array]:
    """Steps of training on random pieces; returns the losses, too."""

    def step(carry: Any, key: jax.Array) -> Any:
        params, state = carry
        first = jax.random.randint(key, (pieces,), 0, len(data) - length)
        loss, slope = jax.value_and_grad(loss_fn)(params, times, data, first, length)
        updates, state = optimizer.update(slope, state)
        return (optax.apply_updates(params, updates), state), loss

    keys = jax.random.split(key, steps)
    (params, state), losses = jax.lax.scan(step, (params, state), keys)
    return params, state, losses


def run(short: bool = False) -> dict[str, Any]:
    noise_key, init_key, train_key = jax.random.split(jax.random.key(0), 3)
    times = jnp.linspace(0, 24, 161)
    truth = solve(lotka_volterra, None, jnp.log(jnp.array([3.0, 1.0])), times)
    seen = 101  # the rest is to be predicted
    data = truth[:seen] + 0.03 * jax.random.normal(noise_key, (seen, 2))
    params = init_field(init_key, hidden=32)
    state, steps = optimizer.init(params), 60 if short else 1500
    params, state, losses = train(params, state, train_key, times, data, steps)
    predicted = solve(network, params, truth[seen - 1], times[seen - 1 :])
    error = jnp.sqrt(((predicted - truth[seen - 1 :]) ** 2).mean())
    return {"losses": np.array(losses), "error": float(error)}


if __name__ == "__main__":
    result = run("--short" in sys.argv)
    losses, error = result["losses"], result["error"]
    print(f"loss: {losses[:20].mean():.4f} at first, {losses[-20:].mean():.5f} at last")
    print(f"error of the prediction, over 9 years: {error:.3f} in logarithms")
