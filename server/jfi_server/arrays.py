"""Arrays on their way between processes: values, weak types, random keys, devices."""

import functools
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jfi._jax_internals import Device

from .protocol import NotServed


Parts: TypeAlias = "tuple[np.ndarray[Any, Any], bool, Any, str | None]"
"""Values, whether the type is weak, the kind of random key, the device committed to."""


def take_apart(array: jax.Array) -> Parts:
    """Turn an array into what can be pickled.

    Raises:
        NotServed: The array is spread over several devices.
    """
    if len(array.sharding.device_set) > 1:
        raise NotServed("an array is spread over several devices")
    (device,) = array.sharding.device_set
    place = name_of_device(device) if array.committed else None
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        values = np.asarray(jax.random.key_data(array))
        return values, False, jax.random.key_impl(array), place
    return np.asarray(array), array.weak_type, None, place


def put_together(
    values: np.ndarray[Any, Any], weak: bool, key_kind: Any, place: str | None
) -> jax.Array:
    """Make the array again."""
    array = jnp.asarray(values)
    if key_kind is not None:
        array = jax.random.wrap_key_data(array, impl=key_kind)
    elif weak:
        array = _weakly_typed(array.shape, array.dtype)(array)
    if place is not None:
        array = jax.device_put(array, device_named(place))
    return array


def name_of_device(device: Device) -> str:
    """A device as `cpu:0`."""
    return f"{device.platform}:{device.id}"


def device_named(name: str) -> Device:
    """The device called `cpu:0`, or the first of those called `cpu`."""
    kind, _, number = name.partition(":")
    devices = jax.devices(kind)
    found: Device = next((d for d in devices if str(d.id) == number), devices[0])
    return found


@functools.lru_cache(maxsize=256)
def _weakly_typed(shape: tuple[int, ...], dtype: Any) -> Any:
    """A compiled identity with a weakly typed result, which no public function has."""
    weak = jax.ShapeDtypeStruct(shape, dtype, weak_type=True)
    return jax.jit(lambda x: x).lower(weak).compile()
