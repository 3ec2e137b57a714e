"""Morphology of grey images: erosion, dilation and what is made of them."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._docstrings import explained_as
from ..._errors import ImageError
from ._correlation import correlate
from ._ranks import neighbors
from ._selection import extreme, moved
from ._windows import (
    Axes,
    Image,
    Modes,
    PerAxis,
    Window,
    cast,
    image,
    output_dtype,
    working,
)


@explained_as(correlate)
def grey_erosion(
    input: Image, size: PerAxis | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: Modes = "reflect",
    cval: Any = 0.0, origin: PerAxis = 0, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """The smallest neighbor less its height: `scipy.ndimage.grey_erosion`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.grey_erosion(jnp.array([3.0, 1.0, 4.0, 5.0]), 3)
        Array([1., 1., 1., 4.], dtype=float32)

    Args:
        input: The image, real numbers of any shape.
        size: How many neighbors along each axis, a number or one for each.
        footprint: Booleans instead of a size: which neighbors count.
        structure: Heights of the neighbors, an array; zero if not given. They may be
            traced, and have gradients.

    Returns:
        The eroded image, of the same shape. Equal neighbors share the derivative.

    Raises:
        ImageError: The image is complex, or arguments don't fit it.
    """
    return _eroded("grey_erosion()", input, size, footprint, structure, output, mode,
                   cval, origin, axes)  # fmt: skip


@explained_as(grey_erosion)
def grey_dilation(
    input: Image, size: PerAxis | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: Modes = "reflect",
    cval: Any = 0.0, origin: PerAxis = 0, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """The largest neighbor with its height: `scipy.ndimage.grey_dilation`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.grey_dilation(jnp.array([3.0, 1.0, 4.0, 5.0]), 3)
        Array([3., 4., 5., 5.], dtype=float32)

    Returns:
        The dilated image, of the same shape.
    """
    return _dilated("grey_dilation()", input, size, footprint, structure, output, mode,
                    cval, origin, axes)  # fmt: skip


@explained_as(grey_erosion)
def grey_opening(
    input: Image, size: PerAxis | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: Modes = "reflect",
    cval: Any = 0.0, origin: PerAxis = 0, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """Erosion, then dilation: `scipy.ndimage.grey_opening`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.grey_opening(jnp.array([0.0, 7.0, 0.0, 2.0, 2.0]), 2)
        Array([0., 0., 0., 2., 2.], dtype=float32)

    Returns:
        The image without narrow peaks, of the same shape.
    """
    name = "grey_opening()"
    given = size, footprint, structure
    between, output = _between(name, input, output)
    low = _eroded(name, input, *given, between, mode, cval, origin, axes)
    return _dilated(name, low, *given, output, mode, cval, origin, axes)


@explained_as(grey_erosion)
def grey_closing(
    input: Image, size: PerAxis | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: Modes = "reflect",
    cval: Any = 0.0, origin: PerAxis = 0, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """Dilation, then erosion: `scipy.ndimage.grey_closing`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.grey_closing(jnp.array([7.0, 0.0, 7.0, 2.0, 2.0]), 2)
        Array([7., 7., 7., 2., 2.], dtype=float32)

    Returns:
        The image without narrow valleys, of the same shape.
    """
    name = "grey_closing()"
    given = size, footprint, structure
    between, output = _between(name, input, output)
    high = _dilated(name, input, *given, between, mode, cval, origin, axes)
    return _eroded(name, high, *given, output, mode, cval, origin, axes)


@explained_as(grey_erosion)
def morphological_gradient(
    input: Image, size: PerAxis | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: Modes = "reflect",
    cval: Any = 0.0, origin: PerAxis = 0, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """Dilation less erosion: `scipy.ndimage.morphological_gradient`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.morphological_gradient(jnp.array([0.0, 0.0, 3.0]), 3)
        Array([0., 3., 3.], dtype=float32)

    Returns:
        How steep the image is, of the same shape.
    """
    name = "morphological_gradient()"
    rest = size, footprint, structure, output, mode, cval, origin, axes
    return _dilated(name, input, *rest) - _eroded(name, input, *rest)


@explained_as(grey_erosion)
def morphological_laplace(
    input: Image, size: PerAxis | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: Modes = "reflect",
    cval: Any = 0.0, origin: PerAxis = 0, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """Dilation and erosion less twice the image: `morphological_laplace`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.morphological_laplace(jnp.array([0.0, 0.0, 3.0]), 3)
        Array([ 0.,  3., -3.], dtype=float32)

    Returns:
        How the image bends, of the same shape.
    """
    name = "morphological_laplace()"
    rest = size, footprint, structure, output, mode, cval, origin, axes
    both = _dilated(name, input, *rest) + _eroded(name, input, *rest)
    x = image(name, input).astype(both.dtype)
    return both - x - x


@explained_as(grey_erosion)
def white_tophat(
    input: Image, size: PerAxis | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: Modes = "reflect",
    cval: Any = 0.0, origin: PerAxis = 0, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """The image less its opening: `scipy.ndimage.white_tophat`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.white_tophat(jnp.array([0.0, 7.0, 0.0, 2.0, 2.0]), 2)
        Array([0., 7., 0., 0., 0.], dtype=float32)

    Returns:
        The narrow peaks, of the shape of the image.
    """
    opened = grey_opening(input, size, footprint, structure, output, mode, cval,
                          origin, axes=axes)  # fmt: skip
    return _difference(image("white_tophat()", input), opened, opened.dtype)


@explained_as(grey_erosion)
def black_tophat(
    input: Image, size: PerAxis | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: Modes = "reflect",
    cval: Any = 0.0, origin: PerAxis = 0, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """The closing of the image less the image: `scipy.ndimage.black_tophat`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.black_tophat(jnp.array([7.0, 0.0, 7.0, 2.0, 2.0]), 2)
        Array([0., 7., 0., 0., 0.], dtype=float32)

    Returns:
        How deep narrow valleys are, of the shape of the image.
    """
    closed = grey_closing(input, size, footprint, structure, output, mode, cval,
                          origin, axes=axes)  # fmt: skip
    return _difference(closed, image("black_tophat()", input), closed.dtype)


def _between(name: str, input: Image, output: Any) -> tuple[Any, Any]:
    """The dtypes of the first result, and of the second.

    Booleans with heights are numbers in between, as the bytes of SciPy's are.
    """
    if image(name, input).dtype != jnp.bool_:
        return None, output
    return np.uint8, bool if output is None else output


def _difference(high: jax.Array, low: jax.Array, dtype: Any) -> jax.Array:
    if high.dtype == low.dtype == jnp.bool_:
        return high ^ low
    return cast(high.astype(dtype) - low.astype(dtype), dtype)


def _eroded(name: str, *given: Any) -> jax.Array:
    return _extreme(name, *given, smallest=True)


def _dilated(name: str, *given: Any) -> jax.Array:
    return _extreme(name, *given, smallest=False)


def _extreme(
    name: str, input: Image, size: Any, footprint: Any, structure: Any, output: Any,
    mode: Modes, cval: Any, origin: PerAxis, axes: Axes, *, smallest: bool,
) -> jax.Array:  # fmt: skip
    x = image(name, input)
    dtype = output_dtype(name, x, output)
    if structure is not None:
        structure = (
            structure if isinstance(structure, Tracer) else np.asarray(structure)
        )
        if footprint is None:
            footprint = np.ones(structure.shape, bool)
        if np.shape(footprint) != structure.shape:
            message = (
                f"{name} got a structure of shape {structure.shape} and a footprint of "
                f"shape {np.shape(footprint)}. Pass arrays of one shape."
            )
            raise ImageError(message)
    windows, places = neighbors(
        name, x, size, footprint, mode, origin, axes, mirrored=not smallest
    )
    if structure is None:
        flat: jax.Array = extreme(x, cval, windows, places, smallest, dtype)
        return flat
    if not smallest:
        structure = structure[(slice(None, None, -1),) * structure.ndim]
    heights = jnp.asarray([structure[place] for place in places])
    found: jax.Array = _with_heights(x, cval, heights, windows, places, smallest, dtype)
    return found


@functools.partial(jax.jit, static_argnums=(3, 4, 5, 6))
def _with_heights(
    x: jax.Array,
    cval: Any,
    heights: jax.Array,
    windows: tuple[Window, ...],
    places: tuple[tuple[int, ...], ...],
    smallest: bool,
    dtype: Any,
) -> jax.Array:
    compared = np.dtype(np.uint8) if x.dtype == jnp.bool_ else x.dtype
    whole = not jnp.issubdtype(compared, jnp.inexact)
    if whole:
        cval = cast(jnp.asarray(cval, working(x)), compared)
    parts = moved(x.astype(compared if whole else working(x)), cval, windows, places)
    heights = -heights if smallest else heights
    if whole:
        return _whole_extreme(parts, heights, smallest, dtype)
    raised = [
        cast(part + height.astype(part.dtype), compared)
        for part, height in zip(parts, heights, strict=True)
    ]
    return cast(functools.reduce(_PICK[smallest], raised), dtype)


_PICK = {True: jnp.minimum, False: jnp.maximum}


def _whole_extreme(
    parts: list[jax.Array], heights: jax.Array, smallest: bool, dtype: Any
) -> jax.Array:
    """The extreme of integers with heights, as C computes it in SciPy.

    Its first sum is a float, which keeps the fraction of the height. All others are
    integers of the image's dtype, of heights that are cut to integers: they may wrap
    around. Here the first one is `base + fraction`, and the base an integer, too, since
    floats of 32 bits don't hold all integers.
    """
    compared = parts[0].dtype
    widest = jax.dtypes.canonicalize_dtype(np.int64)
    wide = jax.dtypes.canonicalize_dtype(jnp.promote_types(compared, jnp.int32))
    if wide.itemsize <= compared.itemsize:  # there is none that holds all its sums
        wide = compared
    below = jnp.floor(heights[0])
    has_fraction = below != heights[0]
    base = parts[0].astype(wide) + below.astype(widest).astype(wide)
    cut = base + (has_fraction & (base < 0)).astype(wide)
    first = cut.astype(dtype)
    if jnp.issubdtype(dtype, jnp.inexact):
        first = base.astype(dtype) + (heights[0] - below).astype(dtype)
    if len(parts) == 1:
        return first
    others = [
        part + cast(height, compared)
        for part, height in zip(parts[1:], heights[1:], strict=True)
    ]
    other = functools.reduce(_PICK[smallest], others).astype(wide)
    if smallest:
        is_other = (other < base) | (has_fraction & (other == base))
    else:
        is_other = other > base
    return jnp.where(is_other, other.astype(dtype), first)
