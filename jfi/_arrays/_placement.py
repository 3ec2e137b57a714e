"""Which dtype and device the arrays get that jfi creates."""

import array
from collections.abc import Iterable
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.sharding import Sharding

from .._errors import DefaultsError
from .._jax_internals import Device, at_top_level
from .._values import copied_if_numpy, in_native_order, is_numeric, numbers_of
from ._config import DTypeLike, created_dtype, get_default_dtype, named_dtype
from ._devices import DeviceLike, named_device


T = TypeVar("T")

_NUMBERS = (bool, int, float, complex)


def place(device: DeviceLike | None, caller: str) -> Device | Sharding | None:
    """The place for JAX's own `device=`; None leaves the array free to move.

    Under a transformation a device is left to JAX; a sharding is not.
    """
    if isinstance(device, str):
        device = named_device(device, caller)
    if isinstance(device, Device) and not at_top_level():
        return None
    return device


def put(x: T, device: DeviceLike | None, caller: str) -> T:
    """Commit arrays to a device; under a transformation the device is left to JAX."""
    target = place(device, caller)
    return x if target is None else cast("T", jax.device_put(x, target))


def is_narrowed(data: Any) -> bool:
    """Whether JAX makes 32 bits of the 64 that NumPy's data have."""
    if not isinstance(data, (np.ndarray, np.generic)):
        return False
    if data.dtype.kind not in "iufc" or data.dtype.itemsize < 8:
        return False
    return bool(jax.dtypes.canonicalize_dtype(data.dtype) != data.dtype)


def narrowed(data: Any, dtype: np.dtype[Any] | None, caller: str) -> Any:
    """NumPy's data in the dtype asked for, or in 32 bits if there are no more.

    JAX by itself lets large integers wrap around. It also remembers (to 0.12) the
    32-bit form of an array that compiled code has captured: after a write it is stale.

    Raises:
        DefaultsError: No dtype is asked for, and 32 bits can't hold the integers.
        TypeError: No dtype is asked for, and JAX has none for texts, times, objects.
    """
    if isinstance(data, Tracer):
        # One that passes for a value of NumPy in the user's code becomes JAX's array.
        as_array = getattr(data, "__jax_array__", None)
        return data if as_array is None else as_array()
    if isinstance(data, (list, tuple)):
        if set(map(type, data)) <= set(_NUMBERS):
            return data
        return [narrowed(part, dtype, caller) for part in data]
    if _is_wrapped(data):
        data = np.asarray(data)
    data = in_native_order(data)
    if dtype is None and isinstance(data, np.ndarray) and not is_numeric(data.dtype):
        raise TypeError(
            f"{caller}() got an array of {data.dtype}, which JAX does not have. "
            f"Convert it to numbers first: {numbers_of(data.dtype)}."
        )
    if not is_narrowed(data):
        return data
    if dtype is not None:  # at once: 32 bits in between would round twice
        return data if _is_opaque(dtype) else data.astype(dtype)
    refuse_wide_integers(data, caller)
    return data.astype(jax.dtypes.canonicalize_dtype(data.dtype))


def _is_wrapped(data: Any) -> bool:
    """Whether it is a column of a table or the like, of which NumPy makes an array."""
    if isinstance(data, (jax.Array, np.ndarray, np.generic)):
        return False
    if isinstance(data, (range, memoryview, array.array)):
        return True
    cls = type(data)
    return hasattr(cls, "__array__") and not hasattr(cls, "__jax_array__")


def refuse_wide_integers(data: Any, caller: str, dtype: DTypeLike = None) -> None:
    """Refuse integers of NumPy's that would wrap around where there are 32 bits.

    Args:
        data: What has the integers.
        caller: The function that was given them.
        dtype: The dtype of the result, if it is known: uint32 holds more than int32.
    """
    if not is_narrowed(data) or data.dtype.kind not in "iu" or not data.size:
        return
    narrow = jax.dtypes.canonicalize_dtype(data.dtype)
    least, most = int(data.min()), int(data.max())
    possible = {narrow, jax.dtypes.canonicalize_dtype(dtype or narrow)}
    held = map(np.iinfo, possible)
    if not any(limits.min <= least and most <= limits.max for limits in held):
        raise DefaultsError(
            f"{caller}() got {data.dtype.name} data from {least} to {most}, which "
            f"{narrow.name} can't hold, and this is the 32-bit world. "
            'Write jfi.set_default_dtype("float64") at the start of the script.'
        )


def passed_on(x: Any, caller: str) -> Any:
    """What compiled code gets for an array or number of NumPy's: a copy, as JAX has it.

    Integers of 64 bits are cut to 32 and compared here: it takes half of the time of
    looking for the least and the greatest, and spares JAX the cutting.

    Raises:
        DefaultsError: They don't fit into 32 bits.
    """
    if not isinstance(x, (np.ndarray, np.generic)):
        return x
    if x.dtype.kind in "iu" and is_narrowed(x):
        narrow = x.astype(jax.dtypes.canonicalize_dtype(x.dtype))
        if np.count_nonzero(narrow != x):
            refuse_wide_integers(x, caller)
        return narrow
    return copied_if_numpy(x)


def refuse_wide_fill(value: Any, dtype: Any, caller: str) -> None:
    """Refuse a Python int that wraps around in the dtype of the result, as NumPy does.

    Args:
        value: What an array is filled with.
        dtype: That of the result; None for integers of the default width.
        caller: The function that was given them.
    """
    if type(value) is not int:
        return
    asked = int if dtype is None else dtype
    if not jnp.issubdtype(asked, np.integer):
        return
    kind = jax.dtypes.canonicalize_dtype(asked)
    least, most = int(jnp.iinfo(kind).min), int(jnp.iinfo(kind).max)  # type: ignore[no-untyped-call]
    if not least <= value <= most:
        raise OverflowError(
            f"{caller}() got the value {value}, which {kind.name} can't hold: its "
            f"integers are {least} to {most}."
        )


def float_dtype(dtype: DTypeLike, _data: object, caller: str) -> np.dtype[Any] | None:
    """The dtype asked for, or that of created floats; None leaves it to JAX."""
    if _is_opaque(dtype):
        return cast("np.dtype[Any]", dtype)
    return created_dtype() if dtype is None else named_dtype(dtype, caller)


def dtype_of_data(dtype: DTypeLike, data: object, caller: str) -> np.dtype[Any] | None:
    """The dtype asked for, or the default where the data are Python floats.

    None where JAX's rules hold: where it creates what jfi would, and where the data
    have a dtype of their own (arrays, NumPy scalars) or are integers or bools.
    """
    if _is_opaque(dtype):
        return cast("np.dtype[Any]", dtype)
    if dtype is not None:
        return named_dtype(dtype, caller)
    if created_dtype() is None:
        return None
    kinds = _types_of_leaves(data)
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
    if created_dtype() is None:
        return None
    if any(jnp.issubdtype(own, np.inexact) for own in own_dtypes(data)):
        return None
    return (
        _complex_dtype()
        if complex in _types_of_leaves(list(data))
        else get_default_dtype()
    )


def _is_opaque(dtype: object) -> bool:
    """Whether it is that of random keys, or of the gradients of integers."""
    if dtype is None or isinstance(dtype, (str, type)):  # in most calls
        return False
    if isinstance(dtype, (jax.Array, np.ndarray)):  # no dtype: refused elsewhere
        return False
    if isinstance(dtype, np.dtype):
        return bool(dtype == jax.dtypes.float0)
    return _is_extended(dtype)


def _is_extended(dtype: Any) -> bool:
    try:
        return jnp.issubdtype(dtype, jax.dtypes.extended)
    except TypeError:
        return False


def own_dtypes(data: Iterable[object]) -> list[np.dtype[Any]]:
    """The dtypes that arrays and NumPy scalars in the data have as arrays of JAX."""
    return [
        x.dtype if isinstance(x, jax.Array) else jax.dtypes.canonicalize_dtype(x.dtype)
        for x in data
        if isinstance(x, (jax.Array, np.ndarray, np.generic)) and not _is_weak(x)
    ]


def _complex_dtype() -> np.dtype[Any]:
    return np.result_type(get_default_dtype(), np.complex64)


def _types_of_leaves(data: object) -> set[type]:
    """The types of the leaves of nested lists and tuples."""
    if not isinstance(data, (list, tuple)):
        return {_type_of_leaf(data)}
    kinds = set(map(type, data))  # one pass in C: long lists of floats are common
    if all(kind in _NUMBERS or issubclass(kind, np.generic) for kind in kinds):
        return kinds
    return set().union(*map(_types_of_leaves, data))


def _type_of_leaf(leaf: object) -> type:
    """The type of a leaf; that of a Python number where it has no dtype of its own."""
    if isinstance(leaf, np.generic):
        return type(leaf)  # np.float64 is a float, with a dtype
    if isinstance(leaf, jax.Array) and _is_weak(leaf):
        if jnp.issubdtype(leaf.dtype, np.integer):
            return int
        return float if jnp.issubdtype(leaf.dtype, np.floating) else complex
    found = (number for number in _NUMBERS if isinstance(leaf, number))
    return next(found, type(leaf))


def _is_weak(x: object) -> bool:
    """Whether this is a Python number as JAX traces it, or made of such numbers.

    `jit(f)(2.0)` creates with the traced 2.0 what `f(2.0)` creates with the float.
    """
    return isinstance(x, jax.Array) and x.ndim == 0 and jax.typeof(x).weak_type
