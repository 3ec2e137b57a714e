"""What is data: the arrays and numbers that JAX traces, and all else."""

import types
from typing import Any, TypeGuard

import jax
import numpy as np


def is_numeric(dtype: Any) -> bool:
    """Whether JAX computes with a NumPy dtype (numbers, bool, bfloat16, float8 ...)."""
    # NumPy counts durations among the integers; JAX has no float of 80 bits.
    if dtype.kind in "mM" or dtype.char in "gG":
        return False
    return dtype.kind in "biufc" or bool(jax.numpy.issubdtype(dtype, np.number))


def is_array(x: object) -> TypeGuard[jax.Array | np.ndarray[Any, Any]]:
    """Whether a value is an array of data: JAX's (tracers, typed keys), or NumPy's.

    >>> is_array(np.ones(3)), is_array(np.array(["a"])), is_array(2.0)
    (True, False, False)
    """
    if isinstance(x, np.ndarray):
        return type(x) in NUMPY_ARRAYS and is_numeric(x.dtype)
    return isinstance(x, jax.Array)


# Others compute in their own way: `np.matrix` multiplies matrices, masks hide numbers.
NUMPY_ARRAYS = (np.ndarray, np.memmap)


def odd_array(x: object, path: str) -> str | None:
    """What to say of a NumPy array that computes in its own way; None for all else."""
    if not isinstance(x, np.ndarray) or type(x) in NUMPY_ARRAYS:
        return None
    masked = isinstance(x, np.ma.MaskedArray)
    plain = f"{path}.filled(0)" if masked else f"np.asarray({path})"
    return (
        f"a {type(x).__name__} for {path}, whose own rules JAX does not know.\n"
        f"Pass a plain array instead: {path} = {plain}"
    )


def is_scalar(x: object) -> TypeGuard[complex | np.generic]:
    """Whether a value is a number that JAX may trace: float, complex, NumPy's scalars.

    An int or a bool is a setting (a size, an axis, a flag), not data.

    >>> is_scalar(0.1), is_scalar(np.int32(3)), is_scalar(3), is_scalar(True)
    (True, True, False, False)
    """
    if isinstance(x, np.generic):
        return is_numeric(x.dtype)
    return type(x) is float or type(x) is complex


_FIXED = (
    *(bool, int, float, complex, str, bytes, type, type(None), type(...)),
    *(types.FunctionType, types.BuiltinFunctionType, types.ModuleType),
)


def is_fixed(value: Any) -> bool:
    """Whether a default is a constant, which neither code nor its module writes to."""
    if type(value) is tuple:
        return all(map(is_fixed, value))
    return isinstance(value, _FIXED)


def own_copy(x: Any) -> Any:
    """A NumPy array as a copy that nobody else writes into; all else as it is.

    JAX computes in the background, from the memory of a NumPy array: without a copy,
    what the caller writes into it after the call can change the result. And it takes
    the bytes of other machines for its own (JAX 0.10).
    """
    if not isinstance(x, np.ndarray):
        return x
    return np.array(x) if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))
