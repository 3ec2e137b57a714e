"""Which dtype and device the arrays get that jfi creates."""

from collections.abc import Iterable
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding

from ._compat import Device, at_top_level
from ._config import DTypeLike, get_default_dtype, named_dtype
from ._devices import DeviceLike, named_device


T = TypeVar("T")


def place(device: DeviceLike | None, caller: str) -> Device | Sharding | None:
    """The device for JAX's own `device=`; None leaves the array free to move."""
    if device is None or isinstance(device, (Device, Sharding)):
        return device
    return named_device(device, caller)


def put(x: T, device: DeviceLike | None, caller: str) -> T:
    """Commit arrays to a device; under a transformation the device is left to JAX."""
    target = place(device, caller)
    if target is None or not (isinstance(target, Sharding) or at_top_level()):
        return x
    return cast("T", jax.device_put(x, target))


def float_dtype(dtype: DTypeLike, caller: str) -> np.dtype[Any]:
    """The dtype asked for, or the default of created floats."""
    return get_default_dtype() if dtype is None else named_dtype(dtype, caller)


def dtype_of_data(dtype: DTypeLike, data: object, caller: str) -> np.dtype[Any] | None:
    """The dtype asked for, or the default where the data are Python floats.

    None where the data have a dtype of their own (arrays, NumPy scalars) or are
    integers or bools: JAX's rules hold for them.
    """
    if dtype is not None:
        return named_dtype(dtype, caller)
    kinds = _kinds(data)
    if not kinds <= {bool, int, float, complex, type(None)}:
        return None
    if complex in kinds:
        return _complex_dtype()
    # Empty lists are floats to NumPy and PyTorch.
    return get_default_dtype() if float in kinds or not kinds else None


def float_dtype_of_data(
    dtype: DTypeLike, data: Iterable[object], caller: str
) -> np.dtype[Any] | None:
    """As `dtype_of_data`, for functions that make floats of integers too."""
    if dtype is not None:
        return named_dtype(dtype, caller)
    own = [x.dtype for x in data if isinstance(x, (jax.Array, np.ndarray, np.generic))]
    if any(jnp.issubdtype(d, np.inexact) for d in own):
        return None
    return _complex_dtype() if complex in _kinds(list(data)) else get_default_dtype()


def _complex_dtype() -> np.dtype[Any]:
    return np.result_type(get_default_dtype(), np.complex64)


def _kinds(data: object) -> set[type]:
    """The types of the leaves of nested lists and tuples."""
    if not isinstance(data, (list, tuple)):
        return {type(data)}
    kinds = set(map(type, data))  # one pass in C: long lists of floats are common
    if any(issubclass(kind, (list, tuple)) for kind in kinds):
        return set().union(*map(_kinds, data))
    return kinds
