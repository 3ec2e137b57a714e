"""Sorted neighbors: minimum, maximum, median, percentile."""

from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from ..._docstrings import explained_as
from ..._errors import ImageError
from ..._values import why_unknown
from ._correlation import correlate, correlate1d
from ._selection import extreme, selected
from ._windows import (
    Axes,
    Image,
    Modes,
    PerAxis,
    Window,
    checked_axes,
    for_each,
    image,
    output_dtype,
    refuse_unordered,
    window,
)


@explained_as(correlate)
def minimum_filter(
    input: Image, size: PerAxis | None = None, footprint: Any = None,
    output: Any = None, mode: Modes = "reflect", cval: Any = 0.0,
    origin: PerAxis = 0, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """The smallest neighbor: `scipy.ndimage.minimum_filter`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.minimum_filter(jnp.array([3.0, 1.0, 4.0, 5.0]), 3)
        Array([1., 1., 1., 4.], dtype=float32)

    Args:
        input: The image, real numbers of any shape.
        size: How many neighbors along each axis, a number or one for each.
        footprint: Booleans instead of a size: which neighbors count.

    Returns:
        The smallest neighbors, of the shape of the image. Equal neighbors share the
        derivative.

    Raises:
        ImageError: The image is complex, or arguments don't fit it.
    """
    return _ranked("minimum_filter()", input, 0, size, footprint, output, mode, cval,
                   origin, axes)  # fmt: skip


@explained_as(minimum_filter)
def maximum_filter(
    input: Image, size: PerAxis | None = None, footprint: Any = None,
    output: Any = None, mode: Modes = "reflect", cval: Any = 0.0,
    origin: PerAxis = 0, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """The largest neighbor: `scipy.ndimage.maximum_filter`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.maximum_filter(jnp.array([3.0, 1.0, 4.0, 5.0]), 3)
        Array([3., 4., 5., 5.], dtype=float32)

    Returns:
        The largest neighbors, of the shape of the image.
    """
    return _ranked("maximum_filter()", input, -1, size, footprint, output, mode, cval,
                   origin, axes)  # fmt: skip


@explained_as(correlate1d)
def minimum_filter1d(
    input: Image, size: int, axis: int = -1, output: Any = None,
    mode: str = "reflect", cval: Any = 0.0, origin: int = 0,
) -> jax.Array:  # fmt: skip
    """The smallest neighbor along one axis: `scipy.ndimage.minimum_filter1d`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.minimum_filter1d(jnp.array([3.0, 1.0, 4.0, 5.0]), 2)
        Array([3., 1., 1., 4.], dtype=float32)

    Args:
        size: How many neighbors.
        axis: The axis to look along.

    Returns:
        The smallest neighbors, of the shape of the image.

    Raises:
        ImageError: The image is complex, or arguments don't fit it.
    """
    return _ranked("minimum_filter1d()", input, 0, size, None, output, mode, cval,
                   origin, axis)  # fmt: skip


@explained_as(minimum_filter1d)
def maximum_filter1d(
    input: Image, size: int, axis: int = -1, output: Any = None,
    mode: str = "reflect", cval: Any = 0.0, origin: int = 0,
) -> jax.Array:  # fmt: skip
    """The largest neighbor along one axis: `scipy.ndimage.maximum_filter1d`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.maximum_filter1d(jnp.array([3.0, 1.0, 4.0, 5.0]), 2)
        Array([3., 3., 4., 5.], dtype=float32)

    Args:
        size: How many neighbors.
        axis: The axis to look along.

    Returns:
        The largest neighbors, of the shape of the image.
    """
    return _ranked("maximum_filter1d()", input, -1, size, None, output, mode, cval,
                   origin, axis)  # fmt: skip


@explained_as(minimum_filter)
def median_filter(
    input: Image, size: PerAxis | None = None, footprint: Any = None,
    output: Any = None, mode: Modes = "reflect", cval: Any = 0.0,
    origin: PerAxis = 0, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """The neighbor in the middle of the sorted ones: `scipy.ndimage.median_filter`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.median_filter(jnp.array([1.0, 9.0, 2.0, 3.0]), 3)
        Array([1., 2., 3., 3.], dtype=float32)

    Returns:
        The medians, of the shape of the image; of an even number of neighbors the upper
        one of the two in the middle, as in SciPy.
    """
    return _ranked("median_filter()", input, "half", size, footprint, output, mode,
                   cval, origin, axes)  # fmt: skip


@explained_as(minimum_filter)
def rank_filter(
    input: Image, rank: int, size: PerAxis | None = None, footprint: Any = None,
    output: Any = None, mode: Modes = "reflect", cval: Any = 0.0,
    origin: PerAxis = 0, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """The neighbor at a place of the sorted ones: `scipy.ndimage.rank_filter`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.rank_filter(jnp.array([1.0, 9.0, 2.0, 3.0]), 1, size=3)
        Array([1., 2., 3., 3.], dtype=float32)

    Args:
        rank: The place, from 0 on; from the largest one on if it is negative.

    Returns:
        These neighbors, of the shape of the image.
    """
    return _ranked("rank_filter()", input, rank, size, footprint, output, mode, cval,
                   origin, axes)  # fmt: skip


@explained_as(minimum_filter)
def percentile_filter(
    input: Image, percentile: float, size: PerAxis | None = None,
    footprint: Any = None, output: Any = None, mode: Modes = "reflect",
    cval: Any = 0.0, origin: PerAxis = 0, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """The neighbor at a percentage of the sorted: `scipy.ndimage.percentile_filter`.

    Example:
        >>> import jfi as jnp
        >>> line = jnp.array([1.0, 9.0, 2.0, 3.0])
        >>> jnp.scipy.ndimage.percentile_filter(line, 50, size=3)
        Array([1., 2., 3., 3.], dtype=float32)

    Args:
        percentile: From 0 to 100; 100 is added to a negative one.

    Returns:
        These neighbors, of the shape of the image.
    """
    message = (
        f"percentile_filter() got percentile={percentile}. Pass a number from 0 to "
        "100 that is known before tracing."
    )
    try:
        percentile = float(percentile)
    except jax.errors.ConcretizationTypeError as error:
        raise ImageError(message) from error  # autojit asks for the cause
    if not -100 <= percentile <= 100:
        raise ImageError(message)
    share = percentile + 100.0 if percentile < 0 else percentile
    return _ranked("percentile_filter()", input, share / 100.0, size, footprint, output,
                   mode, cval, origin, axes)  # fmt: skip


def _ranked(
    name: str, input: Image, rank: Any, size: Any, footprint: Any, output: Any,
    mode: Modes, cval: Any, origin: PerAxis, axes: Axes,
) -> jax.Array:  # fmt: skip
    x = image(name, input)
    dtype = output_dtype(name, x, output)
    windows, places = neighbors(name, x, size, footprint, mode, origin, axes)
    place = _place(name, rank, len(places))
    find: Any = selected
    if place in (0, len(places) - 1):
        find, place = extreme, place == 0
    found: jax.Array = find(x, cval, windows, places, place, dtype)
    return found


def neighbors(
    name: str, x: jax.Array, size: Any, footprint: Any, mode: Modes, origin: PerAxis,
    axes: Axes, *, mirrored: bool = False,
) -> tuple[tuple[Window, ...], tuple[tuple[int, ...], ...]]:  # fmt: skip
    """The windows of a size or a footprint, and the places in them that count."""
    chosen = checked_axes(name, axes, x.ndim)
    refuse_unordered(name, chosen, size, footprint, mode, origin)
    if footprint is None and size is None:
        message = f"{name} needs the neighbors that count: size=3, or footprint=."
        raise ImageError(message)
    if footprint is None:
        sizes = for_each(name, "size", size, len(chosen))
    else:
        if isinstance(footprint, Tracer):
            message = (
                f"{name} got a traced footprint, and which neighbors count must be "
                "known before. Pass a NumPy array."
            )
            raise ImageError(message) from why_unknown(footprint)
        footprint = np.asarray(footprint, bool)
        sizes = list(footprint.shape)
        if len(sizes) != len(chosen) or not footprint.any():
            message = (
                f"{name} got a footprint of shape {footprint.shape} with "
                f"{footprint.sum()} neighbors, for {len(chosen)} axes. Pass one axis "
                "for each, and at least one True."
            )
            raise ImageError(message)
        if mirrored:
            footprint = footprint[(slice(None, None, -1),) * footprint.ndim]
    given = (
        sizes,
        for_each(name, "origin", origin, len(chosen)),
        for_each(name, "mode", mode, len(chosen)),
    )
    windows = tuple(
        window(name, *each, mirrored=mirrored)
        for each in zip(chosen, *given, strict=True)
    )
    every = tuple(np.ndindex(*(w.size for w in windows)))
    if footprint is None:
        return windows, every
    return windows, tuple(place for place in every if footprint[place])


def _place(name: str, rank: Any, count: int) -> int:
    if rank == "half":
        return count // 2
    if isinstance(rank, float):
        return count - 1 if rank == 1.0 else int(count * rank)
    if isinstance(rank, Tracer) or not -count <= int(rank) < count:
        message = f"{name} got rank={rank} for {count} neighbors."
        raise ImageError(message) from why_unknown(rank)
    return int(rank) % count
