"""Evenly spaced numbers: NumPy's ranges with jfi's defaults for dtype and device."""

from typing import Literal, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jax.typing import ArrayLike

from ._config import DTypeLike
from ._devices import DeviceLike
from ._placement import (
    dtype_of_data,
    float_dtype_of_data,
    place,
    put,
    refuse_wide_integers,
)


def arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: ArrayLike | None = None,
    dtype: DTypeLike = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: NamedSharding | PartitionSpec | None = None,
) -> jax.Array:
    """Create evenly spaced values in the half-open interval from start to stop.

    >>> import jfi as jnp
    >>> jnp.arange(3), jnp.arange(0.0, 1.0, 0.5)
    (Array([0, 1, 2], dtype=int32), Array([0. , 0.5], dtype=float32))

    Args:
        start: First value; the end of the interval if it is the only argument.
        stop: End of the interval, itself not included.
        step: Distance between two values, 1 if not given.
        dtype: The default float dtype if an argument is a Python float, an integer
            dtype if all are integers.
        device: Where to create it; see `resolve_device`.
        out_sharding: As in `jax.numpy.arange`.

    Returns:
        A one-dimensional array.

    Raises:
        DefaultsError: There is no such device or dtype here.
    """
    return jnp.arange(
        start,
        stop,
        step,
        dtype_of_data(dtype, _checked("arange", start, stop, step), "arange"),
        device=place(device, "arange"),
        out_sharding=out_sharding,
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
        dtype: The default float dtype if not given, unless start or stop is a float
            array, whose dtype is kept.
        axis: Where the new dimension goes.
        device: Where to create it; see `resolve_device`.

    Returns:
        An array with `num` values along `axis`, and the step if asked for.

    Raises:
        DefaultsError: There is no such device or dtype here.
    """
    return jnp.linspace(
        start,
        stop,
        num,
        endpoint,
        retstep,
        float_dtype_of_data(dtype, _checked("linspace", start, stop), "linspace"),
        axis,
        device=place(device, "linspace"),
    )


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
        dtype: As in `linspace`.
        axis: Where the new dimension goes.
        device: Where to create it; see `resolve_device`.

    Returns:
        An array with `num` values along `axis`.

    Raises:
        DefaultsError: There is no such device or dtype here.
    """
    dtype = float_dtype_of_data(
        dtype, _checked("logspace", start, stop, base), "logspace"
    )
    powers = jnp.logspace(start, stop, num, endpoint, base, dtype, axis)
    return put(powers, device, "logspace")


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
        dtype: As in `linspace`.
        axis: Where the new dimension goes.

    Returns:
        An array with `num` values along `axis`.

    Raises:
        DefaultsError: There is no such dtype.
    """
    dtype = float_dtype_of_data(dtype, _checked("geomspace", start, stop), "geomspace")
    return jnp.geomspace(start, stop, num, endpoint, dtype, axis)


def _checked(caller: str, *numbers: ArrayLike | None) -> tuple[ArrayLike | None, ...]:
    for number in numbers:
        # JAX lets Python's integers wrap around, too, where it makes no floats of them.
        known = np.asarray(number) if type(number) is int else number
        refuse_wide_integers(known if caller == "arange" else number, caller)
    return numbers
