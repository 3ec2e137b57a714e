"""Weakly typed arrays, which no public function of JAX makes of others."""

import functools
from typing import Any

import jax


def weakly_typed(array: jax.Array, place: Any = None) -> jax.Array:
    """The same array with a weak type.

    Args:
        array: On one device.
        place: The device to which the result is committed; None for none.
    """
    found: jax.Array = _identity(array.shape, array.dtype, place)(array)
    return found


@functools.lru_cache(maxsize=256)
def _identity(shape: tuple[int, ...], dtype: Any, place: Any) -> Any:
    """A compiled identity with a weakly typed result."""
    sharding = None if place is None else jax.sharding.SingleDeviceSharding(place)
    weak = jax.ShapeDtypeStruct(shape, dtype, weak_type=True, sharding=sharding)
    return jax.jit(lambda x: x).lower(weak).compile()
