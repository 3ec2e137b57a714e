"""What each draw compiles: distributions as functions of a key and their parameters."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


# From here on `jax.random.poisson`, which computes in float32, is visibly off (at 1e5 a
# chi-squared test of 200,000 draws has p = 3e-8), while the expansion is not.
_LARGE_RATE = 1e4


def normal(
    key: jax.Array, shape: tuple[int, ...], dtype: Any, mean: Any, std: Any
) -> jax.Array:
    noise = jax.random.normal(key, shape, dtype)
    return for_each_draw(mean, dtype, shape) + for_each_draw(std, dtype, shape) * noise


def uniform(
    key: jax.Array, shape: tuple[int, ...], dtype: Any, low: Any, high: Any
) -> jax.Array:
    low, high = (for_each_draw(x, dtype, shape) for x in (low, high))
    drawn = jax.random.uniform(key, shape, dtype, low, high)
    # Rounding may lead to `high` itself, which is not in the interval.
    below = jnp.nextafter(*jax.lax.stop_gradient((high, low)))
    return jnp.where(drawn > below, below, drawn)


def randint(
    key: jax.Array, shape: tuple[int, ...], dtype: Any, low: Any, high: Any
) -> jax.Array:
    return jax.random.randint(key, shape, low, high, dtype)


def randint_as(
    key: jax.Array, shape: tuple[int, ...], dtype: Any, low: int, high: int
) -> jax.Array:
    """Integers in an array of any dtype."""
    return jax.random.randint(key, shape, low, high, widest_integer()).astype(dtype)


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
        p = jnp.asarray(p, at_least_single(jnp.result_type(p)))
    drawn = jax.random.choice(key, a if n is None else n, shape, replace, p, axis)
    return drawn if dtype is None else drawn.astype(dtype)


def bernoulli(
    key: jax.Array, shape: tuple[int, ...], given: Any, dtype: Any, p: Any
) -> jax.Array:
    p = for_each_draw(p, at_least_single(given), shape)
    return jax.random.bernoulli(key, p, shape).astype(dtype)


def multinomial(
    key: jax.Array, count: int, replacement: bool, dtype: Any, probs: Any
) -> jax.Array:
    """Positions in the last dimension of `probs`, as likely as their weights say."""
    weights = jnp.asarray(probs, at_least_single(jnp.result_type(probs)))
    shape = (*weights.shape[:-1], count) if replacement else weights.shape
    scores = jnp.log(weights)
    if replacement:
        drawn = jax.random.categorical(key, scores[..., None, :], shape=shape)
    else:  # the largest after noise: Gumbel's trick without replacement
        noise = jax.random.gumbel(key, shape, weights.dtype)
        drawn = jax.lax.top_k(scores + noise, count)[1]
    return drawn.astype(dtype)


def poisson(key: jax.Array, shape: tuple[int, ...], dtype: Any, lam: Any) -> jax.Array:
    """Poisson numbers of any rate, of any implementation of keys.

    Large rates use the expansion of their quantiles by E. A. Cornish and R. A. Fisher,
    Moments and Cumulants in the Specification of Distributions (1938).
    """
    kind = widest_float()
    lam = for_each_draw(lam, kind, shape)
    large = lam >= _LARGE_RATE
    few = jax.random.poisson(
        _threefry(key), jnp.where(large, 1, lam), shape, widest_integer()
    )
    z = jax.random.normal(key, shape, kind)
    root = jnp.sqrt(jnp.where(large, lam, 1))
    many = jnp.round(lam + root * z + (z * z - 1) / 6 + (z - z**3) / (72 * root))
    drawn = jnp.where(large, many, few.astype(kind))
    return whole(jax.lax.stop_gradient(drawn), dtype)


def dropout(key: jax.Array, dtype: Any, x: Any, p: Any) -> jax.Array:
    x = jnp.asarray(x, dtype)
    # Compared in float32: half precision knows too few probabilities.
    p = jnp.asarray(p, np.float32)
    kept = jax.random.uniform(key, x.shape, p.dtype) >= p
    scale = 1 / jnp.where(p < 1, 1 - p, 1)
    return jnp.where(kept, x * scale.astype(x.dtype), jnp.zeros_like(x))


def one_key(key: jax.Array) -> jax.Array:
    return key


def for_each_draw(x: Any, dtype: Any, shape: tuple[int, ...]) -> jax.Array:
    """A parameter for each draw, which keeps JAX from drawing fewer."""
    return jnp.broadcast_to(jnp.asarray(x, dtype), shape)


def at_least_single(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A dtype whose uniform numbers are fine enough to compare with probabilities.

    In bfloat16 they are multiples of 1/128: what has the probability 0.001 would be
    drawn as often as what has 0.008.
    """
    return jnp.promote_types(dtype, np.float32)


def for_dtype(
    sampler: Callable[..., jax.Array], dtype: np.dtype[Any]
) -> Callable[..., jax.Array]:
    """The sampler of floats of a dtype: those of 16 bits are drawn in float32.

    JAX makes them of uniform numbers of 8 or 11 bits: in bfloat16 no normal number is
    beyond 2.9, and logistic ones have four times their standard deviation.
    """
    # What is uniform would be rounded up to the end of its interval.
    is_fine = dtype.itemsize >= 4 or sampler in (jax.random.uniform, uniform)
    return sampler if is_fine else in_single(sampler)


@functools.cache
def in_single(sampler: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """The sampler in float32 at least, rounded to the dtype asked for."""

    def sample(
        key: jax.Array, shape: tuple[int, ...], dtype: Any, *parameters: Any
    ) -> jax.Array:
        drawn = sampler(key, shape, at_least_single(dtype), *parameters)
        return drawn.astype(dtype)

    return sample


def widest_float() -> np.dtype[Any]:
    return jax.dtypes.canonicalize_dtype(np.float64)


def widest_integer() -> np.dtype[Any]:
    return jax.dtypes.canonicalize_dtype(np.int64)


def whole(x: jax.Array, dtype: Any) -> jax.Array:
    """Whole numbers in a dtype; what is beyond an integer dtype is its last number."""
    if not jnp.issubdtype(dtype, np.integer):
        return x.astype(dtype)
    last = np.iinfo(dtype)
    inside = (x > float(last.min)) & (x < float(last.max))
    ends = jnp.where(x > 0, jnp.array(last.max, dtype), jnp.array(last.min, dtype))
    return jnp.where(inside, jnp.where(inside, x, 0).astype(dtype), ends)


def _threefry(key: jax.Array) -> jax.Array:
    """A key for what JAX offers for its default implementation alone."""
    if jax.random.key_impl(key) == "threefry2x32":
        return key
    words = jax.random.bits(key, (2,), np.uint32)
    wrapped: jax.Array = jax.random.wrap_key_data(words, impl="threefry2x32")
    return wrapped
