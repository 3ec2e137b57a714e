"""Distributions between two ends."""

from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .._drawing import check_order, float_for
from ..torch_style import numbers, uniform as between
from . import _samplers
from ._drawing import ANY, Bound, Options, draw_floats, given
from ._key_first import key_first


@key_first(jax.random.uniform)
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
    >>> jnp.random.uniform(-1.0, 1.0, size=3).shape
    (3,)

    Args:
        low: Lower ends, a number or an array.
        high: Upper ends, themselves not drawn.
        size: The shape; that of low and high together if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of float arrays among the parameters,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: `low` is above `high`, or the dtype can't hold the width.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    return between(low, high, size, key=key, dtype=dtype, device=device)


@key_first(jax.random.triangular)
def triangular(
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from triangular distributions.

    >>> import jfi as jnp
    >>> jnp.random.triangular(0.0, 1.0, 4.0, size=3).shape
    (3,)

    Args:
        left: Lower ends, a number or an array.
        mode: The likeliest numbers, from left to right.
        right: Upper ends, above left.
        size: The shape; that of left, mode and right together if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of float arrays among the parameters,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    left, mode, right = (
        given("random.triangular", name, (value, ANY))
        for name, value in (("left", left), ("mode", mode), ("right", right))
    )
    in_order = not any(isinstance(x, Tracer) for x in (left, mode, right))
    if in_order and not np.all(
        (np.asarray(left) <= mode)
        & (np.asarray(mode) <= right)
        & (np.asarray(left) < right)
    ):
        raise ValueError(
            f"random.triangular() got left={left}, mode={mode}, right={right}, which "
            "are not in this order, or leave no room."
        )
    options = Options(size, dtype, key, device)
    return draw_floats(
        "triangular",
        _samplers.triangular,
        options,
        left=(left, ANY),
        mode=(mode, ANY),
        right=(right, ANY),
    )


@key_first(jax.random.truncated_normal)
def truncated_normal(
    lower: ArrayLike,
    upper: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from the standard normal distribution, between two ends.

    >>> import jfi as jnp
    >>> jnp.random.truncated_normal(-1.0, 2.0, size=3).shape
    (3,)

    Args:
        lower: Lower ends, a number or an array; -inf is none.
        upper: Upper ends, above lower; inf is none.
        size: The shape; that of lower and upper together if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of float arrays among the parameters,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: `lower` is not below `upper`, does not fit the size, or is so far
            out that the dtype knows no probability there.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    lower, upper = (
        numbers("random.truncated_normal", name, x)
        for name, x in (("lower", lower), ("upper", upper))
    )
    check_order(lower, upper, strict=True, caller="random.truncated_normal")
    kind = float_for(dtype, "random.truncated_normal", lower, upper)
    furthest = 37 if kind == np.float64 else 12  # where probabilities become 0
    reached = Bound(lambda x: x <= furthest, f"at most {furthest} for {kind.name}")
    given("random.truncated_normal", "lower", (lower, reached))
    reached = Bound(lambda x: x >= -furthest, f"at least {-furthest} for {kind.name}")
    given("random.truncated_normal", "upper", (upper, reached))
    options = Options(size, dtype, key, device)
    return draw_floats(
        "truncated_normal",
        _samplers.truncated_normal,
        options,
        lower=(lower, ANY),
        upper=(upper, ANY),
    )
