"""Evenly spaced numbers: NumPy's ranges with jfi's defaults for dtype and device.

Which dtype `arange` and the others have is the rule that `creates` is given: see
`_shared_arguments`.
"""

from typing import Literal, overload

import jax
import numpy as np
from jax.typing import ArrayLike

from ._config import DTypeLike
from ._devices import DeviceLike
from ._placement import put, refuse_wide_integers
from ._shared_arguments import FLOAT_LIKE_DATA, LIKE_DATA, OutSharding, creates, plain


@creates(LIKE_DATA, "start", "stop", "step")
def arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: ArrayLike | None = None,
    dtype: DTypeLike = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: OutSharding = None,
) -> jax.Array:
    """Create evenly spaced values in the half-open interval from start to stop.

    >>> import jfi as jnp
    >>> jnp.arange(3), jnp.arange(0.0, 1.0, 0.5)
    (Array([0, 1, 2], dtype=int32), Array([0. , 0.5], dtype=float32))

    Args:
        start: First value; the end of the interval if it is the only argument.
        stop: End of the interval, itself not included.
        step: Distance between two values, 1 if not given.

    Returns:
        A one-dimensional array.
    """
    # JAX lets Python's integers wrap around, too, where it makes no floats of them.
    numbers = [np.asarray(x) if type(x) is int else x for x in (start, stop, step)]
    _refuse_wide("arange", *numbers)
    return plain.arange(
        start, stop, step, dtype, device=device, out_sharding=out_sharding
    )


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: DeviceLike | None = None,
) -> jax.Array: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike = None,
    axis: int = 0,
    device: DeviceLike | None = None,
) -> tuple[jax.Array, jax.Array]: ...
@creates(FLOAT_LIKE_DATA, "start", "stop")
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: DeviceLike | None = None,
) -> jax.Array | tuple[jax.Array, jax.Array]:
    """Create a number of evenly spaced values over an interval.

    >>> import jfi as jnp
    >>> jnp.linspace(0, 1, 3)
    Array([0. , 0.5, 1. ], dtype=float32)

    Args:
        start: First value, a number or an array.
        stop: Last value, a number or an array.
        num: How many values.
        endpoint: Whether `stop` is the last value.
        retstep: Whether to return the distance between two values too.
        axis: Where the new dimension goes.

    Returns:
        An array with `num` values along `axis`, and the step if asked for.
    """
    _refuse_wide("linspace", start, stop)
    return plain.linspace(
        start, stop, num, endpoint, retstep, dtype, axis, device=device
    )


@creates(FLOAT_LIKE_DATA, "start", "stop", "base")
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Create values whose logarithms are evenly spaced: `base ** linspace(...)`.

    >>> import jfi as jnp
    >>> jnp.logspace(0, 2, 3)
    Array([  1.,  10., 100.], dtype=float32)

    Args:
        start: Exponent of the first value.
        stop: Exponent of the last value.
        num: How many values.
        endpoint: Whether `stop` is the last exponent.
        base: The base of the powers.
        axis: Where the new dimension goes.

    Returns:
        An array with `num` values along `axis`.
    """
    _refuse_wide("logspace", start, stop, base)
    powers = plain.logspace(start, stop, num, endpoint, base, dtype, axis)
    return put(powers, device, "logspace")


@creates(FLOAT_LIKE_DATA, "start", "stop")
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> jax.Array:
    """Create values of which each is the same multiple of the one before.

    >>> import jfi as jnp
    >>> jnp.geomspace(1, 4, 3).round(3)
    Array([1., 2., 4.], dtype=float32)

    Args:
        start: First value.
        stop: Last value.
        num: How many values.
        endpoint: Whether `stop` is the last value.
        axis: Where the new dimension goes.

    Returns:
        An array with `num` values along `axis`.
    """
    _refuse_wide("geomspace", start, stop)
    return plain.geomspace(start, stop, num, endpoint, dtype, axis)


def _refuse_wide(caller: str, *numbers: ArrayLike | None) -> None:
    for number in numbers:
        refuse_wide_integers(number, caller)
