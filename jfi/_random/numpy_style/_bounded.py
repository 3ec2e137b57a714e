"""Distributions between two ends."""

from __future__ import annotations

import jax
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .._documented import documented
from .._drawing import Key, Size, check_order, float_for
from ..torch_style import numbers, uniform as between
from . import _samplers
from ._declaring import ANY, ParameterBound, drawn, draws_floats, given
from ._key_first import key_first


@key_first(jax.random.uniform)
@documented
def uniform(
    low: ArrayLike = 0.0, high: ArrayLike = 1.0, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw uniformly from half-open intervals [low, high).

    >>> import jfi as jnp
    >>> x = jnp.random.uniform(-1.0, 1.0, size=3)
    >>> bool(((-1 <= x) & (x < 1)).all())
    True

    Args:
        low: Lower ends, a number or an array.
        high: Upper ends, themselves not drawn.

    Raises:
        ValueError: `low` is above `high`, or the dtype can't hold the width.
    """
    return between(low, high, size, key=key, dtype=dtype, device=device)


@key_first(jax.random.triangular)
@draws_floats(_samplers.triangular)
def triangular(
    left: ArrayLike, mode: ArrayLike, right: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from triangular distributions.

    >>> import jfi as jnp
    >>> x = jnp.random.triangular(0.0, 1.0, 4.0, size=3)
    >>> bool(((0 <= x) & (x <= 4)).all())
    True

    Args:
        left: Lower ends, a number or an array.
        mode: The likeliest numbers, from left to right.
        right: Upper ends, above left.
    """
    left, mode, right = (
        given("random.triangular", name, value, ANY)
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
    return drawn(triangular, (left, mode, right), size, key, dtype, device)


@key_first(jax.random.truncated_normal)
@draws_floats(_samplers.truncated_normal)
def truncated_normal(
    lower: ArrayLike, upper: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from the standard normal distribution, between two ends.

    >>> import jfi as jnp
    >>> x = jnp.random.truncated_normal(-1.0, 2.0, size=3)
    >>> bool(((-1 <= x) & (x <= 2)).all())
    True

    Args:
        lower: Lower ends, a number or an array; -inf is none.
        upper: Upper ends, above lower; inf is none.

    Raises:
        ValueError: `lower` is not below `upper`, does not fit the size, or is so far
            out that the dtype knows no probability there.
    """
    lower, upper = (
        numbers("random.truncated_normal", name, x)
        for name, x in (("lower", lower), ("upper", upper))
    )
    check_order(lower, upper, strict=True, caller="random.truncated_normal")
    kind = float_for(dtype, "random.truncated_normal", lower, upper)
    furthest = 37 if kind == np.float64 else 12  # where probabilities become 0
    reached = ParameterBound(
        lambda x: x <= furthest, f"at most {furthest} for {kind.name}"
    )
    given("random.truncated_normal", "lower", lower, reached)
    reached = ParameterBound(
        lambda x: x >= -furthest, f"at least {-furthest} for {kind.name}"
    )
    given("random.truncated_normal", "upper", upper, reached)
    return drawn(truncated_normal, (lower, upper), size, key, dtype, device)
