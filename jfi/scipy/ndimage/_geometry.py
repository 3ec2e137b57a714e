"""Images at other places: `zoom` and `shift`, and `map_coordinates` for any."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.ndimage
import numpy as np
from jax.core import Tracer

from ..._docstrings import explained_as
from ..._errors import ImageError
from ._borders import border_mode
from ._sampling import (
    Places,
    Taps,
    along_axes,
    at_points,
    padding,
    places_at,
    prepared,
    sums_of,
    taps,
)
from ._splines import checked_order
from ._windows import Image, for_each, image, output_dtype, rounded


_MODES_OF_JAX = ("constant", "nearest", "wrap", "mirror", "reflect")


def map_coordinates(
    input: Image, coordinates: Any, output: Any = None, order: Any = 3,
    mode: Any = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> jax.Array:  # fmt: skip
    """Values of an image at points: `scipy.ndimage.map_coordinates`.

    What `jax.scipy.ndimage.map_coordinates` takes, order 0 or 1 without `output`, is
    JAX's, whose "constant" and "wrap" are SciPy's "grid-constant" and "grid-wrap".
    With `output=x.dtype` the borders are SciPy's.

    Example:
        >>> import jfi as jnp
        >>> line = jnp.array([0.0, 1.0, 4.0, 9.0, 16.0])
        >>> places = jnp.array([[0.5, 1.5]])
        >>> jnp.scipy.ndimage.map_coordinates(line, places, order=1)
        Array([0.5, 2.5], dtype=float32)

    Args:
        input: The image, of any shape with axes; real or complex.
        coordinates: `(ndim, ...)` numbers, for each axis where the points are. They
            have derivatives.
        output: The dtype of the result; None is that of the image.
        order: The degree of the spline through the image, from 0 (the nearest element)
            to 5.
        mode: What is beyond the border, any of SciPy's: "constant" (a point outside is
            `cval`), "grid-constant" (the elements are), "nearest", "mirror", "reflect",
            "wrap", "grid-wrap".
        cval: The constant.
        prefilter: False: the image holds coefficients of the spline already, those of
            `spline_filter`.

    Returns:
        The values, of the shape of the points. Integers are rounded, as in SciPy.

    Raises:
        ImageError: Order, mode or coordinates don't fit.
    """
    theirs: Any = jax.scipy.ndimage.map_coordinates
    if isinstance(output, int) and not isinstance(output, bool):  # JAX's third is order
        kind = order if isinstance(order, str) else mode
        fill = cval if isinstance(mode, str) else mode
        found: jax.Array = theirs(input, coordinates, output, kind, fill)
        return found
    if output is None and order in (0, 1) and mode in _MODES_OF_JAX and prefilter:
        known: jax.Array = theirs(input, coordinates, order, mode, cval)
        return known
    name = "map_coordinates()"
    x, degree, dtype = checked_image(name, input, order, mode, output, cval)
    points = jnp.asarray(coordinates)
    if jnp.iscomplexobj(points) or points.ndim < 1 or points.shape[0] != x.ndim:
        message = (
            f"{name} got coordinates of shape {points.shape} and dtype {points.dtype} "
            f"for an image of {x.ndim} dimensions. Pass real numbers of shape "
            f"({x.ndim}, ...), one row for each axis of the image."
        )
        raise ImageError(message)
    if not jnp.issubdtype(points.dtype, jnp.inexact):
        points = points.astype(float)
    values: jax.Array = mapped(x, points, cval, degree, mode, bool(prefilter), dtype)
    return values


@explained_as(map_coordinates)
def zoom(
    input: Image, zoom: Any, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True, *,
    grid_mode: bool = False,
) -> jax.Array:  # fmt: skip
    """An image with more or fewer elements: `scipy.ndimage.zoom`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.zoom(jnp.array([0.0, 1.0, 4.0]), 5 / 3, order=1)
        Array([0. , 0.5, 1. , 2.5, 4. ], dtype=float32)

    Args:
        zoom: How many times larger, a number or one for each axis; known before
            tracing.
        grid_mode: Whether elements are squares that fill the image, and not points.

    Returns:
        The image, each size times its factor, rounded.

    Raises:
        ImageError: A traced factor, or arguments that don't fit.
    """
    name = "zoom()"
    x, degree, dtype = checked_image(name, input, order, mode, output, cval)
    try:
        factors = [float(f) for f in for_each(name, "zoom", zoom, x.ndim)]
    except jax.errors.ConcretizationTypeError as error:  # autojit asks for the cause
        message = (
            f"{name} got a traced zoom. The shape of the result depends on it: pass "
            "Python numbers, in jax.jit by static_argnames."
        )
        raise ImageError(message) from error
    shape = [round(n * factor) for n, factor in zip(x.shape, factors, strict=True)]
    if all(factor == 1 for factor in factors) and prefilter:
        return rounded(x, dtype)
    lines = []
    for old, new in zip(x.shape, shape, strict=True):
        less = 0 if grid_mode else 1
        step = (old - less) / (new - less) if new != less else 1.0
        half = 0.5 if grid_mode else 0.0
        lines.append(places_at((np.arange(new) + half) * step - half))
    return resampled(x, lines, cval, degree, mode, bool(prefilter), dtype)


@explained_as(map_coordinates)
def shift(
    input: Image, shift: Any, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> jax.Array:  # fmt: skip
    """A moved image: `scipy.ndimage.shift`.

    Example:
        >>> import jfi as jnp
        >>> line = jnp.array([0.0, 1.0, 4.0, 9.0])
        >>> jnp.scipy.ndimage.shift(line, 0.5, order=1, cval=-1.0)
        Array([-1. ,  0.5,  2.5,  6.5], dtype=float32)

    Args:
        shift: How far, a number or one for each axis. It may be traced, and has
            derivatives.

    Returns:
        The image, of the same shape.

    Raises:
        ImageError: Arguments don't fit.
    """
    name = "shift()"
    x, degree, dtype = checked_image(name, input, order, mode, output, cval)
    moved = for_each(name, "shift", shift, x.ndim)
    lines = [line(n, 1.0, -as_number(by)) for n, by in zip(x.shape, moved, strict=True)]
    return resampled(x, lines, cval, degree, mode, bool(prefilter), dtype)


def checked_image(
    name: str, input: Image, order: Any, mode: Any, output: Any, cval: Any
) -> tuple[jax.Array, int, Any]:
    """The image, the order and the dtype of the result, if they make sense."""
    x = image(name, input, is_complex=True)
    degree = checked_order(name, order)
    border_mode(name, mode)
    if not x.ndim:
        raise ImageError(f"{name} got a number. Pass an image, with one axis or more.")
    if not all(x.shape):
        message = f"{name} got an image of shape {x.shape}, which has no elements."
        raise ImageError(message)
    others = (cval,) if jnp.iscomplexobj(x) else ()
    return x, degree, output_dtype(name, x, output, x, *others)


def as_number(value: Any) -> Any:
    """A number with all its digits, if it is known; a traced one as it is."""
    if isinstance(value, Tracer):
        return value if jnp.issubdtype(value.dtype, jnp.inexact) else value + 0.0
    return np.float64(value)


def line(size: int, step: Any, start: Any) -> Places:
    """The places `start + k step` for each k below a size."""
    count = np.arange(size)
    if not isinstance(step, Tracer) and not isinstance(start, Tracer):
        return places_at(count * step + start)
    steps = (
        places_at(count * step)
        if isinstance(step, Tracer)
        else places_at(count * np.float64(step))
    )
    return sums_of([steps, places_at(jnp.asarray(start))])


def resampled(
    x: jax.Array, lines: Sequence[Places], cval: Any, order: int, mode: str,
    prefilter: bool, dtype: Any,
) -> jax.Array:  # fmt: skip
    """The image where each axis has places of its own.

    Args:
        x: The image.
        lines: For each axis `(m,)` places.
        cval: The constant beyond the border.
        order: The degree of the spline.
        mode: SciPy's.
        prefilter: Whether coefficients are to be computed.
        dtype: That of the result.
    """
    pad = padding(order, mode, prefilter)
    every = [
        taps(places, n + 2 * pad, order, mode, pad)
        for places, n in zip(lines, x.shape, strict=True)
    ]
    found: jax.Array = _along(x, every, cval, order, mode, prefilter, dtype)
    return found


@functools.partial(jax.jit, static_argnums=(3, 4, 5, 6))
def _along(
    x: jax.Array, every: list[Taps], cval: Any, order: int, mode: str,
    prefilter: bool, dtype: Any,
) -> jax.Array:  # fmt: skip
    whole = prepared(x, order, mode, cval, prefilter)
    return _filled(*along_axes(whole, every, cval), cval, dtype)


@functools.partial(jax.jit, static_argnums=(3, 4, 5, 6))
def mapped(
    x: jax.Array, points: Any, cval: Any, order: int, mode: str, prefilter: bool,
    dtype: Any,
) -> jax.Array:  # fmt: skip
    """The image at points.

    Args:
        x: The image.
        points: `(ndim, ...)` floats; or for each axis a list of places that broadcast
            against each other, whose sums are the points.
        cval: See `resampled`.
        order: See `resampled`.
        mode: See `resampled`.
        prefilter: See `resampled`.
        dtype: See `resampled`.
    """
    pad = padding(order, mode, prefilter)
    every = [
        taps(
            sums_of(p) if isinstance(p, list) else places_at(p),
            n + 2 * pad, order, mode, pad,
        )
        for p, n in zip(points, x.shape, strict=True)
    ]  # fmt: skip
    whole = prepared(x, order, mode, cval, prefilter)
    return _filled(*at_points(whole, every, cval), cval, dtype)


def _filled(values: jax.Array, outside: jax.Array, cval: Any, dtype: Any) -> jax.Array:
    """Values in the dtype of the result, and the constant where there are none."""
    constant = jnp.asarray(cval)
    if jnp.iscomplexobj(constant) and not jnp.issubdtype(dtype, jnp.complexfloating):
        constant = constant.real
    return jnp.where(outside, rounded(constant, dtype), rounded(values, dtype))
