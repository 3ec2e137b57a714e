"""What each draw compiles: distributions as functions of a key and their parameters."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def normal(
    key: jax.Array, shape: tuple[int, ...], dtype: Any, mean: Any, std: Any
) -> jax.Array:
    noise = jax.random.normal(key, shape, dtype)
    return _spread(mean, dtype, shape) + _spread(std, dtype, shape) * noise


def uniform(
    key: jax.Array, shape: tuple[int, ...], dtype: Any, low: Any, high: Any
) -> jax.Array:
    low, high = (_spread(x, dtype, shape) for x in (low, high))
    drawn = jax.random.uniform(key, shape, dtype, low, high)
    # Rounding may lead to `high` itself, which is not in the interval.
    below = jnp.nextafter(*jax.lax.stop_gradient((high, low)))
    return jnp.where(drawn > below, below, drawn)


def randint(
    key: jax.Array, shape: tuple[int, ...], dtype: Any, low: Any, high: Any
) -> jax.Array:
    return jax.random.randint(key, shape, low, high, dtype)


def randperm(key: jax.Array, n: int, dtype: Any) -> jax.Array:
    return jax.random.permutation(key, jnp.arange(n, dtype=dtype))


def choice(
    key: jax.Array,
    shape: tuple[int, ...],
    replace: bool,
    axis: int,
    n: int | None,
    dtype: Any,
    a: Any,
    p: Any,
) -> jax.Array:
    if p is not None:
        p = jnp.asarray(p, _at_least_single(jnp.result_type(p)))
    drawn = jax.random.choice(key, a if n is None else n, shape, replace, p, axis)
    return drawn if dtype is None else drawn.astype(dtype)


def bernoulli(
    key: jax.Array, shape: tuple[int, ...], given: Any, dtype: Any, p: Any
) -> jax.Array:
    p = _spread(p, _at_least_single(given), shape)
    return jax.random.bernoulli(key, p, shape).astype(dtype)


def one_key(key: jax.Array) -> jax.Array:
    return key


def _spread(x: Any, dtype: Any, shape: tuple[int, ...]) -> jax.Array:
    """A parameter for each draw, which JAX may be told not to make of fewer."""
    return jnp.broadcast_to(jnp.asarray(x, dtype), shape)


def _at_least_single(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A dtype whose uniform numbers are fine enough to compare with probabilities.

    In bfloat16 they are multiples of 1/128: what has the probability 0.001 would be
    drawn as often as what has 0.008.
    """
    return jnp.promote_types(dtype, np.float32)
