"""What is data, asked in one place by all tools.

|                     | JAX's arrays | NumPy's arrays | NumPy's | float,  | int, |
|                     | and tracers  | of numbers     | scalars | complex | bool |
| ------------------- | ------------ | -------------- | ------- | ------- | ---- |
| `is_array`          | yes          | yes            |         |         |      |
| `is_scalar`         |              |                | yes     | yes     |      |
| `is_array_data`     | yes          | yes            | yes     |         |      |
| `counts_as_data`    | yes          | yes            | yes     | yes     |      |
| `is_data`           | yes          | yes            | yes     | yes     | yes  |
| `is_differentiable` | of floats    | of floats      | a float | yes     |      |

Ints and bools are settings to tools that choose by themselves what to trace (`autojit`,
batches, `persistent`, `pytree`, custom arrays): `counts_as_data` says no to them. JAX
could trace them, as it does where the user names an argument, so `is_data` says yes.
Arrays that compute in their own way are in no row: see `odd_array`.
"""

import enum
import functools
import re
import types
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray, Tracer

from ._classes import own_attributes


# What JAX raises for `if x`, `np.sin(x)`, `range(x)`, `y[x > 0]` if x is traced.
NEEDS_VALUE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)


def is_numeric(dtype: Any) -> bool:
    """Whether JAX computes with a NumPy dtype (numbers, bool, bfloat16, float8 ...)."""
    # NumPy counts durations among the integers; JAX has no float of 80 bits.
    if dtype.kind in "mM" or is_long(dtype):
        return False
    return dtype.kind in "biufc" or bool(jnp.issubdtype(dtype, np.number))


def is_long(dtype: Any) -> bool:
    """Whether a dtype is NumPy's float of 80 bits or more, which JAX does not have."""
    return dtype.kind in "fc" and dtype.char in "gG"  # the letter of a float8, too


def numbers_of(dtype: np.dtype[Any], name: str = "x") -> str:
    """The line that makes numbers of an array of a dtype that JAX does not have."""
    if dtype.names:
        return f"{name}[{dtype.names[0]!r}]"
    if dtype.kind == "M":
        return f"({name} - {name}[0]) / np.timedelta64(1, 's')"
    if dtype.kind == "m":
        return f"{name} / np.timedelta64(1, 's')"
    return f"{name}.astype({'complex' if dtype.kind == 'c' else 'float'})"


def is_tracer(x: object) -> TypeGuard[Tracer[Any]]:
    """Whether a value stands for one that is known when compiled code runs."""
    return isinstance(x, Tracer)


_TRACED_TEXT = re.compile(r"Tracer[(<]")


def is_traced_text(x: object) -> bool:
    """Whether a value is a text in which Python wrote data: `f"{x}"` of a tracer."""
    return type(x) is str and _TRACED_TEXT.search(x) is not None


def why_unknown(x: object) -> Exception | None:
    """JAX's error where Python needs the value of something traced; None: it is known.

    An error that a function raises from this one lets `autojit` pass the value of a
    number, or of an array outside, and try again.
    """
    if not isinstance(x, Tracer):
        return None
    for read in (float, np.asarray):  # JAX says of numbers which arguments they are of
        try:
            read(x)
        except NEEDS_VALUE as error:
            return error
        except TypeError:
            pass  # an array is no number
    return None


def is_key(x: object) -> bool:
    """Whether a value is an array of random keys of JAX, or the type of one."""
    known = (jax.Array, jax.ShapeDtypeStruct, ShapedArray)
    return isinstance(x, known) and bool(jnp.issubdtype(x.dtype, jax.dtypes.prng_key))


def is_array(x: object) -> TypeGuard[jax.Array | np.ndarray[Any, Any]]:
    """Whether a value is an array of data: JAX's (tracers, typed keys), or NumPy's.

    >>> is_array(np.ones(3)), is_array(np.array(["a"])), is_array(2.0)
    (True, False, False)
    """
    if isinstance(x, np.ndarray):
        cls: Any = type(x)
        return _computes_as_numpy(cls) and is_numeric(x.dtype)
    return isinstance(x, jax.Array)


def _computes_as_numpy(cls: type) -> bool:
    """Whether the arrays of a class compute as NumPy's own do.

    Most others do not: `np.matrix` multiplies matrices, masks hide numbers. JAX derives
    a class that does: plain calls of functions with rules of their own, as of
    `custom_jvp`, get their arrays in it.
    """
    return cls in (np.ndarray, np.memmap) or (
        issubclass(cls, np.ndarray) and _is_of_jax(cls)
    )


def is_plain_int(x: object) -> TypeGuard[int]:
    """Whether a value is an int or a bool, and no subclass with a meaning of its own.

    >>> Weekday = enum.IntEnum("Weekday", ["MONDAY"])
    >>> is_plain_int(3), is_plain_int(True), is_plain_int(Weekday.MONDAY)
    (True, True, False)
    """
    cls: Any = type(x)
    return cls is int or cls is bool or _is_number_of_jax(cls, int)


def _is_number_of_jax(cls: type, *kinds: type) -> bool:
    """Whether a class is what JAX makes of Python's numbers in such calls."""
    # Not remembered: that would keep the user's classes alive.
    return issubclass(cls, kinds) and _is_of_jax(cls) and not issubclass(cls, enum.Enum)


def _is_of_jax(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "jax"


def odd_array(x: object, path: str) -> str | None:
    """What to say of a NumPy array that computes in its own way; None for all else."""
    cls: Any = type(x)
    if not isinstance(x, np.ndarray) or _computes_as_numpy(cls):
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
    cls: Any = type(x)
    return cls is float or cls is complex or _is_number_of_jax(cls, float, complex)


def is_array_data(x: object) -> bool:
    """Whether a value is data with a dtype: an array, or a scalar of NumPy's.

    >>> [is_array_data(x) for x in (np.ones(3), np.int32(3), 0.1, np.array(["a"]))]
    [True, True, False, False]
    """
    return is_array(x) or (isinstance(x, np.generic) and is_numeric(x.dtype))


def counts_as_data(x: object) -> bool:
    """Whether a value is data where nobody says which are: an array, or a float.

    >>> [counts_as_data(x) for x in (np.ones(3), 0.1, 3, True, "tanh")]
    [True, True, False, False, False]
    """
    return is_array(x) or is_scalar(x)


def has_dtype(x: object) -> bool:
    """Whether a value is an array or a NumPy scalar, of whatever dtype."""
    cls: Any = type(x)
    return _has_dtype(cls)


@functools.lru_cache(maxsize=1000)
def _has_dtype(cls: Any) -> bool:
    # `isinstance(x, jax.Array)` asks each value, which takes five times as long.
    return issubclass(cls, (jax.Array, Tracer, np.generic)) or _computes_as_numpy(cls)


def is_data(x: Any) -> bool:
    """Whether JAX can trace a value: numbers, and arrays of numbers and of keys.

    >>> is_data(3), is_data(np.ones(3)), is_data("tanh"), is_data(np.array(["a"]))
    (True, True, False, False)
    """
    if isinstance(x, (bool, int, float, complex)):
        return True
    return has_dtype(x) and _is_traceable(x.dtype)


@functools.cache
def _is_traceable(dtype: Any) -> bool:
    is_extended = bool(jnp.issubdtype(dtype, jax.dtypes.extended))  # keys
    return is_extended or dtype == jax.dtypes.float0 or is_numeric(dtype)


def is_differentiable(x: Any) -> bool:
    """Whether a value is a float or complex number or array.

    >>> [is_differentiable(x) for x in (1.0, np.ones(3), 3, True, "tanh", len)]
    [True, True, False, False, False, False]
    """
    if not has_dtype(x):
        return isinstance(x, (float, complex))
    return _is_inexact(x.dtype)


@functools.cache
def _is_inexact(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, np.inexact))


_FIXED = (
    *(bool, int, float, complex, str, bytes, type, type(None), type(...)),
    *(types.FunctionType, types.BuiltinFunctionType, types.ModuleType),
)


def is_fixed(value: Any) -> bool:
    """Whether a default is a constant, which neither code nor its module writes to."""
    if type(value) is tuple:
        return all(map(is_fixed, value))
    return isinstance(value, _FIXED)


def is_small(value: Any, most: int) -> bool:
    """Whether a value holds few objects, and few bytes of NumPy arrays.

    >>> is_small({"a": [1, 2]}, 10), is_small([0] * 20, 10), is_small(np.ones(9999), 10)
    (True, False, False)
    """
    waiting, seen, size = [value], 0, 0
    while waiting:
        x = waiting.pop()
        seen += 1
        if isinstance(x, np.ndarray):
            size += x.nbytes
        elif isinstance(x, (list, tuple, set, frozenset, dict)):
            if len(x) > most:
                return False
            waiting += x.values() if isinstance(x, dict) else x
        elif not isinstance(x, _FIXED):
            waiting += own_attributes(x).values()
        if seen + len(waiting) > most or size > MOST_BYTES:
            return False
    return True


MOST_BYTES = 2**16


def copied_if_numpy(x: Any) -> Any:
    """A NumPy array as a copy that nobody else writes into; all else as it is.

    JAX computes in the background, from the memory of a NumPy array: without a copy,
    what the caller writes into it after the call can change the result. `device_put`
    keeps that memory for good (jax-ml/jax#37830), but not that of a few numbers, so a
    test needs a large array to see it.
    """
    if not isinstance(x, np.ndarray):
        return x
    if not x.dtype.isnative:
        return in_native_order(x)
    return np.array(x) if x.nbytes < LARGE else _aligned_copy(x)


def in_native_order(x: Any) -> Any:
    """A NumPy array in the byte order of this machine; all else as it is.

    JAX takes the bytes of other machines for its own (0.10.2): `jax.jit` refuses ">f4"
    at first, but what it has compiled for "<f4" runs on it, and 1.0 is 4.6e-41.
    """
    if not isinstance(x, np.ndarray) or x.dtype.isnative:
        return x
    return x.astype(x.dtype.newbyteorder("="))


LARGE = 2**22  # bytes of an array, which JAX takes milliseconds to copy
_ALIGNMENT = 64  # bytes


def _aligned_copy(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that JAX takes as it is: on a CPU it copies what is aligned otherwise."""
    memory = np.empty(x.nbytes + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    copy: np.ndarray[Any, Any]
    copy = memory[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    np.copyto(copy, x)
    return copy
