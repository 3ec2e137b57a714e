"""Normal and uniform numbers."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .. import _distributions
from .._drawing import (
    Key,
    Size,
    check_bounds,
    check_order,
    check_width,
    draw,
    drawn_shape,
    float_for,
    inexact_for,
    shape_from,
)
from ._parameters import dtype_like, in_torch_style, numbers


@in_torch_style
def randn(
    *size: Any,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from the standard normal distribution.

    >>> import jfi as jnp
    >>> jnp.manual_seed(0)
    >>> jnp.randn(3)
    Array([ 1.0040, -0.9063, -0.7482], dtype=float32)
    >>> jnp.randn((1, 2))
    Array([[-2.4425, -2.0357]], dtype=float32)

    Args:
        size: The shape, as ints or as one tuple.
        dtype: A float or complex dtype; the default float dtype if not given.
    """
    kind = inexact_for(dtype, "randn")
    sampler = _distributions.for_dtype(jax.random.normal, kind)
    return draw("randn", sampler, (shape_from("randn", *size), kind), (), key, device)


@in_torch_style
def rand(
    *size: Any,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw uniformly from the half-open interval [0, 1).

    >>> import jfi as jnp
    >>> x = jnp.rand(3)
    >>> bool(((0 <= x) & (x < 1)).all())
    True

    Args:
        size: The shape, as ints or as one tuple.
    """
    static = (shape_from("rand", *size), float_for(dtype, "rand"))
    return draw("rand", jax.random.uniform, static, (), key, device)


@in_torch_style
def normal(
    mean: ArrayLike = 0.0, std: ArrayLike = 1.0, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from normal distributions.

    >>> import jfi as jnp
    >>> jnp.normal([100.0, 200.0], 1.0).round(-2)
    Array([100., 200.], dtype=float32)

    Args:
        mean: A number or an array.
        std: A non-negative number or array.

    Raises:
        ValueError: A standard deviation is negative.
    """
    mean, std = numbers("normal", "mean", mean), numbers("normal", "std", std)
    check_bounds(std, lambda s: s >= 0, "normal", "std", "0 or more")
    shape = drawn_shape("normal", size, mean, std)
    kind = float_for(dtype, "normal", mean, std)
    sampler = _distributions.for_dtype(_distributions.normal, kind)
    return draw("normal", sampler, (shape, kind), (mean, std), key, device)


@in_torch_style
def uniform(
    low: ArrayLike = 0.0, high: ArrayLike = 1.0, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw uniformly from half-open intervals [low, high).

    >>> import jfi as jnp
    >>> x = jnp.uniform(-1.0, 1.0, size=5)
    >>> bool(((-1 <= x) & (x < 1)).all())
    True

    Args:
        low: Lower ends, a number or an array.
        high: Upper ends, a number or an array.

    Raises:
        ValueError: `low` is above `high`, or the dtype can't hold the width.
    """
    low, high = numbers("uniform", "low", low), numbers("uniform", "high", high)
    kind = float_for(dtype, "uniform", low, high)
    check_order(low, high, strict=False, caller="uniform")
    check_width(low, high, kind, "uniform")
    static = (drawn_shape("uniform", size, low, high), kind)
    return draw("uniform", _distributions.uniform, static, (low, high), key, device)


@in_torch_style
def randn_like(
    input: ArrayLike, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw standard normal numbers, in the shape and dtype of another array.

    >>> import jfi as jnp
    >>> jnp.manual_seed(0)
    >>> jnp.randn_like(jnp.zeros((1, 2)))
    Array([[ 1.0040, -0.9063]], dtype=float32)

    Args:
        input: The array to take after.
        dtype: A float or complex dtype, if not that of `input`.

    Returns:
        An array of the shape of `input`.

    Raises:
        TypeError: The dtype is not a float or complex one.
    """
    input = numbers("randn_like", "input", input)
    kind = inexact_for(dtype_like(input, dtype), "randn_like")
    sampler = _distributions.for_dtype(jax.random.normal, kind)
    return draw("randn_like", sampler, (np.shape(input), kind), (), key, device)


@in_torch_style
def rand_like(
    input: ArrayLike, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw uniformly from [0, 1), in the shape and dtype of another array.

    >>> import jfi as jnp
    >>> x = jnp.rand_like(jnp.zeros(3))
    >>> bool(((0 <= x) & (x < 1)).all())
    True

    Args:
        input: The array to take after.
        dtype: A float dtype, if not that of `input`.

    Returns:
        An array of the shape of `input`.

    Raises:
        TypeError: The dtype is not a float.
    """
    input = numbers("rand_like", "input", input)
    kind = float_for(dtype_like(input, dtype), "rand_like")
    static = (np.shape(input), kind)
    return draw("rand_like", jax.random.uniform, static, (), key, device)
