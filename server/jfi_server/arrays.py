"""Arrays in messages: as bytes of the frame, large ones in an arena if there is one.

In a message an array is `[dtype, shape, whether it is in the arena, offset]`.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from .errors import BadMessageError
from .transport import AnyLink


Array: TypeAlias = np.ndarray[Any, Any]

LARGE = 16 << 10
"""Arrays of so many bytes go through the arena."""

_MOST_INSIDE = 64 << 10  # bytes of all arrays in one frame: a socket holds so many
_ALIGNMENT = 64  # bytes, with which XLA reads an array where it lies

_OF_NUMPY = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float16 float32 float64 complex64 complex128".split()
)


def pack(arrays: Sequence[Array], link: AnyLink) -> tuple[dict[str, Any], list[Any]]:
    """Write arrays down for the other end of a link: one copy of each, at most.

    Args:
        arrays: NumPy arrays of numbers, strided in any way.
        link: Where they will be sent; its arena, if it has one, is written over.

    Returns:
        What the message says of them, and the bytes to send with it.

    Raises:
        TypeError: An array holds no numbers.
        OSError: There is no memory for the large ones.
    """
    chunks: list[Any] = []
    layout: list[tuple[str, tuple[int, ...], bool, int]] = []
    large: list[tuple[Array, int]] = []
    inside = outside = 0
    arena = link.arena
    for array in arrays:
        size = array.nbytes
        is_large = size >= LARGE or inside + size > _MOST_INSIDE
        if is_large and arena is not None:
            layout.append((_name(array), array.shape, True, outside))
            large.append((array, outside))
            outside += size + -size % _ALIGNMENT
        else:
            padding = -inside % (_ALIGNMENT if is_large else 16)
            layout.append((_name(array), array.shape, False, inside + padding))
            native = array if array.dtype.isnative else array.astype(array.dtype.name)
            chunks.append(bytes(padding))
            chunks.append(_in_place(native) if is_large else native.tobytes())
            inside += padding + size
    if arena is None or not large:
        return {"arrays": layout}, chunks
    view = arena.reserve(outside)
    for array, offset in large:
        _at(view, _dtype(array.dtype.name), array.shape, offset)[...] = array
    return {"arrays": layout, "arena": arena.name()}, chunks


def unpack(message: dict[str, Any], body: memoryview, link: AnyLink) -> list[Array]:
    """Read arrays of a message, where they lie: no copy, not writable.

    Raises:
        BadMessageError: The message describes no arrays, or other bytes than came.
    """
    theirs = link.theirs
    arena = None
    if theirs is not None and "arena" in message:
        arena = theirs.view(message["arena"])
    try:
        return [
            _at(arena if outside else body, _dtype(name), tuple(shape), offset)
            for name, shape, outside, offset in message["arrays"]
        ]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadMessageError(f"no arrays: {type(error).__name__}: {error}") from error


def copied(array: Array) -> Array:
    """A copy; XLA reads a large one where it lies, at a multiple of 64 bytes."""
    if array.nbytes < LARGE:
        return array.copy()
    memory = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    start = -memory.__array_interface__["data"][0] % _ALIGNMENT
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _in_place(array: Array) -> memoryview:
    """The bytes of an array, where they lie if they lie in order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _at(
    memory: memoryview | None, dtype: "np.dtype[Any]", shape: Sequence[int], offset: int
) -> Array:
    if memory is None:
        raise ValueError("an array is said to be in an arena, and none is named")
    if any(length < 0 for length in shape) or offset < 0:
        raise ValueError(f"shape {shape} at {offset}")
    end = offset + math.prod(shape) * dtype.itemsize
    if end > len(memory):
        raise ValueError(f"shape {shape} of {dtype} at {offset} ends outside")
    return np.frombuffer(memory[offset:end], np.uint8).view(dtype).reshape(shape)


def _name(array: Array) -> str:
    name: str = array.dtype.name
    try:
        _dtype(name)
    except ValueError:
        raise TypeError(f"an array of {array.dtype} can't be sent") from None
    return name


@cache
def _dtype(name: str) -> "np.dtype[Any]":
    """The type of that name, of NumPy or of the types JAX adds (bfloat16 ...)."""
    if name in _OF_NUMPY:
        return np.dtype(name)
    found = getattr(ml_dtypes, name, None)
    if not (isinstance(found, type) and issubclass(found, np.generic)):
        raise ValueError(f"{name!r} is no type of numbers")
    return np.dtype(found)
