"""Small arrays of NumPy as arrays of JAX, in a tenth of the time of `jnp.array`."""

import functools
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from numpy.typing import DTypeLike, NDArray

from ._pieces import outside_of_tracing, piece


def copied_from_host(values: Any, dtype: DTypeLike) -> jax.Array:
    """A copy of an array or a number of NumPy, on the default device, bound to none.

    Called where JAX traces nothing.

    Args:
        values: What to copy.
        dtype: One that JAX has, in which the numbers fit.
    """
    put = host_arrays()
    # A copy of its own: JAX takes aligned memory as it is.
    memory = np.array(values, dtype)
    return jnp.array(memory) if put is None else put(memory)


@piece(
    uses="jaxlib.xla_client.batched_device_put",
    without="a small result of an eager host call takes 30 microseconds more",
)
def host_arrays() -> Callable[[NDArray[Any]], jax.Array] | None:
    from jax._src import lib

    put_all: Any = vars(lib)["xla_client"].batched_device_put

    def put(memory: NDArray[Any]) -> jax.Array:
        sharding, devices = _place(_default(jax.config))
        aval = _aval(memory.shape, memory.dtype)
        array: jax.Array = put_all(aval, sharding, [memory], devices, False)
        return array

    def works() -> bool:
        for values in (np.arange(3, dtype=np.float32), np.float32(2), np.ones((0, 2))):
            memory = np.array(values, np.float32)
            array = put(memory)
            kept = not (array.committed or array.weak_type)
            if not (kept and array.dtype == np.float32 and array.shape == memory.shape):
                return False
            if not np.array_equal(np.asarray(array + 1), memory + 1):
                return False
        return True

    return put if outside_of_tracing(works) else None


_default = operator.attrgetter("jax_default_device")  # unknown to type checkers


@functools.lru_cache(maxsize=1024)
def _aval(shape: tuple[int, ...], dtype: np.dtype[Any]) -> ShapedArray:
    return ShapedArray(shape, dtype)


@functools.lru_cache(maxsize=64)
def _place(default: Any) -> tuple[Any, list[Any]]:
    """The default device, as the option says: a device, the name of a kind, or None."""
    is_device = isinstance(default, jax.Device)
    device = default if is_device else jax.local_devices(backend=default)[0]
    return jax.sharding.SingleDeviceSharding(device), [device]
