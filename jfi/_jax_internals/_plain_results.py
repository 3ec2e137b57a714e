"""What plain Python computes of what tracers stand for: of which class and dtype."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.core import Tracer


def plain_class(x: Any) -> type:
    """The class that a value has in plain Python: `jax.Array` of all arrays of JAX."""
    if isinstance(x, Tracer):
        passed_for: type = getattr(type(x), "_jfi_plain", jax.Array)
        return passed_for
    if type(x) is np.ndarray:
        return array_class(x.dtype)
    is_plain = isinstance(x, np.ndarray | np.generic | float | complex | int)
    return type(x) if is_plain else jax.Array


def array_class(dtype: np.dtype[Any]) -> type:
    """NumPy's class of arrays, which knows the dtype if JAX has 32 bits for its 64."""
    if dtype.kind not in "iufc" or jax.dtypes.canonicalize_dtype(dtype) == dtype:
        return np.ndarray
    return _wide_arrays(dtype)


def wide_dtype(cls: type) -> np.dtype[Any] | None:
    """The dtype that such a class knows; None of others."""
    known: np.dtype[Any] | None = vars(cls).get("_jfi_dtype")
    return known


@functools.cache
def _wide_arrays(dtype: np.dtype[Any]) -> type:
    return type("ndarray", (np.ndarray,), {"_jfi_dtype": dtype})


def tried(compute: Callable[..., Any], *operands: Any) -> Any:
    """What plain Python computes of values like these; None where it can't be told."""
    try:
        with np.errstate(all="ignore"):
            return compute(*map(_stand_in, operands))
    except Exception:  # what plain Python refuses, or does with arrays of JAX
        return None


def numpys_dtype(result: Any, like: Any) -> np.dtype[Any] | None:
    """The dtype that NumPy gives a result, and computes it in; None: JAX's is the same.

    `x.cumsum()` of int8 is int64, and `x / 3` of int8 is float64.
    """
    if isinstance(like, tuple):  # `divmod`
        result, like = result[0], like[0]
    if not isinstance(like, np.ndarray | np.generic) or not isinstance(result, Tracer):
        return None
    dtype: np.dtype[Any] = jax.dtypes.canonicalize_dtype(like.dtype)
    return None if dtype == result.dtype else dtype


def cast(operand: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(operand, np.ndarray | np.generic):
        return operand.astype(dtype)
    is_array = isinstance(operand, jax.Array)
    return jax.lax.convert_element_type(operand, dtype) if is_array else operand


def counted(operand: Any) -> Any:
    """A truth value as Python's number: `(x > 0) + (y > 0)` of floats may be 2."""
    return jax.numpy.multiply(operand, 1) if plain_class(operand) is bool else operand


def _stand_in(x: Any) -> Any:
    """An operand, or a small value of the class that it has in plain Python."""
    cls: Any = plain_class(x)
    if issubclass(cls, np.ndarray):
        return np.ones((1,) * x.ndim, _dtype_of(x, cls))
    if not isinstance(x, jax.Array):
        return x
    if cls is jax.Array:
        raise TypeError
    return cls(1)


def _dtype_of(x: Any, cls: type) -> np.dtype[Any]:
    """The dtype that an array, or a part of an array of a class, has in NumPy."""
    of_scalars = np.dtype(cls) if issubclass(cls, np.generic) else x.dtype
    wide: np.dtype[Any] = getattr(cls, "_jfi_dtype", of_scalars)
    return wide if jax.dtypes.canonicalize_dtype(wide) == x.dtype else x.dtype


def part_class(result: Any, like: Any, cls: type) -> type:
    """The class of an item or an attribute, or of what a method returns."""
    if like is not None or not issubclass(cls, np.ndarray | np.generic):
        return plain_class(like)
    if not isinstance(result, Tracer):
        return jax.Array
    # NumPy makes arrays of arrays, and scalars where no axis is left.
    dtype = _dtype_of(result, cls)
    return array_class(dtype) if result.ndim else dtype.type
