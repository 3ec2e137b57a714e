"""Normal and uniform numbers."""

from typing import Any

import jax
import numpy as np
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .. import _samplers as _distributions
from .._drawing import (
    check,
    check_order,
    check_width,
    draw,
    float_for,
    inexact_for,
    shape_from,
    shape_of,
)
from ._parameters import dtype_like, numbers


def randn(
    *size: Any,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from the standard normal distribution.

    >>> import jfi as jnp
    >>> jnp.randn(2, 3).shape, jnp.randn((4,)).shape, jnp.randn().shape
    ((2, 3), (4,), ())

    Args:
        size: The shape, as ints or as one tuple.
        key: A random key to use in place of the global generator.
        dtype: A float or complex dtype; the default float dtype if not given.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    static = (shape_from("randn", *size), inexact_for(dtype, "randn"))
    return draw("randn", jax.random.normal, static, (), key, device)


def rand(
    *size: Any,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw uniformly from the half-open interval [0, 1).

    >>> import jfi as jnp
    >>> jnp.rand(3).dtype
    dtype('float32')

    Args:
        size: The shape, as ints or as one tuple.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; the default one if not given.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    static = (shape_from("rand", *size), float_for(dtype, "rand"))
    return draw("rand", jax.random.uniform, static, (), key, device)


def normal(
    mean: ArrayLike = 0.0,
    std: ArrayLike = 1.0,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from normal distributions.

    >>> import jfi as jnp
    >>> jnp.normal(10.0, 0.1, (2, 2)).shape
    (2, 2)

    Args:
        mean: A number or an array.
        std: A non-negative number or array.
        size: The shape; that of mean and std together if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of a float array among mean and std,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A standard deviation is negative.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    mean, std = numbers("normal", "mean", mean), numbers("normal", "std", std)
    check(std, lambda s: s >= 0, "normal", "std", "0 or more")
    shape = shape_of("normal", size, mean, std)
    static = (shape, float_for(dtype, "normal", mean, std))
    return draw("normal", _distributions.normal, static, (mean, std), key, device)


def uniform(
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw uniformly from half-open intervals [low, high).

    >>> import jfi as jnp
    >>> x = jnp.uniform(-1.0, 1.0, size=5)
    >>> bool(((-1 <= x) & (x < 1)).all())
    True

    Args:
        low: Lower ends, a number or an array.
        high: Upper ends, a number or an array.
        size: The shape; that of low and high together if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of a float array among low and high,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: `low` is above `high`, or the dtype can't hold the width.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    low, high = numbers("uniform", "low", low), numbers("uniform", "high", high)
    kind = float_for(dtype, "uniform", low, high)
    check_order(low, high, strict=False, caller="uniform")
    check_width(low, high, kind, "uniform")
    static = (shape_of("uniform", size, low, high), kind)
    return draw("uniform", _distributions.uniform, static, (low, high), key, device)


def randn_like(
    input: ArrayLike,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw standard normal numbers, in the shape and dtype of another array.

    >>> import jfi as jnp
    >>> jnp.randn_like(jnp.zeros((2, 3))).shape
    (2, 3)

    Args:
        input: The array to take after.
        key: A random key to use in place of the global generator.
        dtype: A float or complex dtype, if not that of `input`.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the shape of `input`.

    Raises:
        TypeError: The dtype is not a float or complex one.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    input = numbers("randn_like", "input", input)
    kind = inexact_for(dtype_like(input, dtype), "randn_like")
    static = (np.shape(input), kind)
    return draw("randn_like", jax.random.normal, static, (), key, device)


def rand_like(
    input: ArrayLike,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw uniformly from [0, 1), in the shape and dtype of another array.

    >>> import jfi as jnp
    >>> jnp.rand_like(jnp.zeros((2, 3))).shape
    (2, 3)

    Args:
        input: The array to take after.
        key: A random key to use in place of the global generator.
        dtype: A float dtype, if not that of `input`.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the shape of `input`.

    Raises:
        TypeError: The dtype is not a float.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    input = numbers("rand_like", "input", input)
    kind = float_for(dtype_like(input, dtype), "rand_like")
    static = (np.shape(input), kind)
    return draw("rand_like", jax.random.uniform, static, (), key, device)
