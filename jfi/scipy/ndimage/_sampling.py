"""Values of an image between its elements.

A place along an axis is an integer, its cell, and a part from 0 to 1. So it is as exact
in the middle of a large image as at its beginning, also in float32, and what happens at
borders is decided with integers.
"""

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ._borders import MODES, continuation, extended, folded
from ._splines import coefficients, tap_weights
from ._windows import working


PADDING = 12  # SciPy's, where the coefficients of a spline have no continuation


class Places(NamedTuple):
    """Places along one axis, arrays of NumPy or of JAX.

    Attributes:
        cell: Integers.
        part: From 0 to 1, 1 excluded.
        known: Booleans: neither NaN nor infinite.
    """

    cell: Any
    part: Any
    known: Any


class Taps(NamedTuple):
    """What the values at some places along one axis are made of; taps have an axis.

    Attributes:
        indices: `(..., order + 1)` integers: which elements of the axis.
        weights: `(..., order + 1)` floats: how much they count.
        beyond: `(..., order + 1)` booleans: it is the constant instead; or None.
        outside: `(...)` booleans: the place is none, the value is the constant.
    """

    indices: Any
    weights: Any
    beyond: Any
    outside: Any


def places_at(coordinates: Any) -> Places:
    """Places at floats, an array of NumPy or of JAX."""
    xp: Any = np if isinstance(coordinates, np.ndarray) else jnp
    known = xp.isfinite(coordinates)
    finite = xp.where(known, coordinates, 0)
    low = xp.floor(finite)
    cell = xp.clip(low, -(2.0**30), 2.0**30).astype(np.int32)
    return Places(cell, finite - low, known)


def sums_of(terms: Sequence[Places]) -> Places:
    """The sums of places, which broadcast against each other."""
    part = functools.reduce(operator.add, [term.part for term in terms])
    low = jnp.floor(part)
    cells = [term.cell for term in terms]
    cell = functools.reduce(operator.add, cells) + low.astype(np.int32)
    known = functools.reduce(operator.and_, [term.known for term in terms])
    return Places(cell, part - low, known)


def padding(order: int, mode: str, prefilter: bool) -> int:
    """By how much the image is extended before the coefficients are computed."""
    return PADDING if prefilter and order > 1 and mode in _PADDED else 0


_PADDED = {"nearest": "nearest", "grid-constant": "constant"}


def prepared(
    x: jax.Array, order: int, mode: str, cval: Any, prefilter: bool
) -> jax.Array:
    """The coefficients that values between elements are made of."""
    if order == 0:
        return x
    dtype = working(x, cval)
    if not prefilter or order == 1:
        return x.astype(dtype)
    pad = padding(order, mode, prefilter)
    for axis in range(x.ndim if pad else 0):  # an image of integers with integers
        x = extended(x, axis, pad, pad, _PADDED[mode], cval)
    return coefficients(x.astype(dtype), range(x.ndim), order, continuation("", mode))


def taps(places: Places, size: int, order: int, mode: str, pad: int) -> Taps:
    """The elements of an axis that count at places, and how much.

    Args:
        places: Of the image without its padding.
        size: That of the axis with its padding.
        order: The degree of the spline.
        mode: SciPy's.
        pad: The padding at one end.
    """
    cell, part, known = places
    xp: Any = np if isinstance(cell, np.ndarray) else jnp
    cell = cell + pad
    outside = ~known
    if mode == "constant":
        outside |= (cell < 0) | (cell >= size) | ((cell == size - 1) & (part > 0))
    elif mode == "wrap":  # SciPy's takes the last element for the first
        inside = cell % max(size - 1, 1)
        last = (inside == 0) & (part == 0) & (cell < 0)
        beyond_ends = (cell < 0) | (cell >= size - 1)
        part = xp.where(size > 1 or ~beyond_ends, part, 0)
        at_end = (cell == size - 1) & (part == 0)
        cell = xp.where(at_end | last, size - 1, xp.where(beyond_ends, inside, cell))
    elif (
        order == 0 and mode != "nearest"
    ):  # a tie goes to the side to which SciPy's folding takes it
        cell, part = _mirrored(cell, part, size, MODES[mode], xp)
    if order % 2 == 0:
        up = part >= 0.5
        cell, part = cell + up.astype(cell.dtype), part - up.astype(part.dtype)
    steps = np.arange(order + 1, dtype=np.int32).reshape(*cell.ndim * (1,), -1)
    every = (cell - order // 2)[..., None] + steps
    beyond = (every < 0) | (every >= size) if mode == "grid-constant" else None
    kind = mode if mode == "nearest" else continuation("", mode)
    indices = folded(every, size, kind)
    return Taps(indices, tap_weights(part, order), beyond, outside)


def _mirrored(cell: Any, part: Any, size: int, kind: str, xp: Any) -> Any:
    """Places moved into the image as SciPy does it."""
    if kind not in ("mirror", "reflect") or size == 1:
        return cell, part
    between = xp.where(part > 0, 1, 0)
    if kind == "mirror":
        period = 2 * size - 2
        inside = cell % period
        # Behind the last element SciPy leaves places up to the next one.
        behind, back = inside + between * (cell < 0) >= size, period - inside
    else:
        period = 2 * size
        inside = cell % period
        behind, back = inside >= size, period - 1 - inside
    turned = xp.where(part > 0, 1 - part, 0)
    cell = xp.where(behind, back - between, inside)
    return cell, xp.where(behind, turned, part)


def along_axes(
    x: jax.Array, every: Sequence[Taps], cval: Any
) -> tuple[jax.Array, jax.Array]:
    """Values where each axis has places of its own, and which are the constant.

    Args:
        x: What `prepared` returns.
        every: For each axis, taps at `(m,)` places.
        cval: The constant.
    """
    outside = jnp.zeros((), bool)
    for axis, taps in enumerate(every):
        shape = [-1 if k == axis else 1 for k in range(x.ndim)]
        outside = outside | _out(taps).reshape(shape)
        values = []
        for tap in _columns(taps, x.real.dtype):
            value = jnp.take(x, tap.index, axis=axis)
            if taps.indices.shape[-1] > 1:  # else it is an element, also an integer
                if tap.beyond is not None:
                    value = jnp.where(tap.beyond.reshape(shape), cval, value)
                value = value * tap.weight.reshape(shape)
            values.append(value)
        x = functools.reduce(operator.add, values)
    return x, outside


def at_points(
    x: jax.Array, every: Sequence[Taps], cval: Any
) -> tuple[jax.Array, jax.Array]:
    """Values at points, each with a place on every axis, and which are the constant.

    Args:
        x: What `prepared` returns.
        every: For each axis, taps at places of one shape.
        cval: The constant.
    """
    outside = functools.reduce(operator.or_, map(_out, every))

    count = every[0].indices.shape[-1]
    if count == 1:
        nearest = tuple(taps.indices[..., 0] for taps in every)
        return x.at[nearest].get(mode="promise_in_bounds"), outside
    # Gathers of single taps: one gather of all is half as fast on a CPU.
    columns = [_columns(taps, x.real.dtype) for taps in every]

    def slab(total: Any, first: _Tap) -> tuple[Any, None]:
        """Add what one tap of the first axis counts, with all taps of the others."""
        for rest in itertools.product(*columns[1:]):
            chosen = (first, *rest)
            where = tuple(tap.index for tap in chosen)
            value = x.at[where].get(mode="promise_in_bounds")
            for tap in chosen:
                if tap.beyond is not None:
                    value = jnp.where(tap.beyond, cval, value)
            for tap in chosen:
                value = value * tap.weight
            total = total + value
        return total, None

    total = jnp.zeros(outside.shape, x.dtype)
    if count**x.ndim > _UNROLLED:
        stacked = jax.tree.map(lambda *parts: jnp.stack(parts), *columns[0])
        return jax.lax.scan(slab, total, stacked)[0], outside
    for first in columns[0]:
        total, _ = slab(total, first)
    return total, outside


_UNROLLED = 64  # taps: more take long to compile


class _Tap(NamedTuple):
    index: Any
    weight: Any
    beyond: Any


def _columns(taps: Taps, dtype: Any) -> list[_Tap]:
    """The taps one by one."""
    weights = taps.weights.astype(dtype)
    return [
        _Tap(
            taps.indices[..., k],
            weights[..., k],
            None if taps.beyond is None else taps.beyond[..., k],
        )
        for k in range(weights.shape[-1])
    ]


def _out(taps: Taps) -> Any:
    """Where the value is the constant itself."""
    if taps.beyond is None or taps.beyond.shape[-1] > 1:
        return taps.outside
    return taps.outside | taps.beyond[..., 0]
