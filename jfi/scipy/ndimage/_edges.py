"""Edges: derivatives of images, and what is made of them."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..._docstrings import explained_as
from ._correlation import correlate
from ._smoothing import along, gaussian_filter
from ._windows import Axes, Image, Modes, checked_axes, for_each, image, output_dtype


@explained_as(correlate)
def sobel(
    input: Image, axis: int = -1, output: Any = None, mode: Modes = "reflect",
    cval: Any = 0.0,
) -> jax.Array:  # fmt: skip
    """Differences along an axis, smoothed along the others: `scipy.ndimage.sobel`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.sobel(jnp.arange(4.0))
        Array([1., 2., 2., 1.], dtype=float32)

    Args:
        input: The image, of any shape.
        axis: The axis of the differences.

    Returns:
        The differences, of the shape of the image.

    Raises:
        ImageError: Mode or axis don't fit the image.
    """
    return _differences("sobel()", input, axis, output, mode, cval, (1, 2, 1))


@explained_as(correlate)
def prewitt(
    input: Image, axis: int = -1, output: Any = None, mode: Modes = "reflect",
    cval: Any = 0.0,
) -> jax.Array:  # fmt: skip
    """Differences along an axis, summed along the others: `scipy.ndimage.prewitt`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.prewitt(jnp.arange(4.0))
        Array([1., 2., 2., 1.], dtype=float32)

    Args:
        input: The image, of any shape.
        axis: The axis of the differences.

    Returns:
        The differences, of the shape of the image.

    Raises:
        ImageError: Mode or axis don't fit the image.
    """
    return _differences("prewitt()", input, axis, output, mode, cval, (1, 1, 1))


@explained_as(correlate)
def laplace(
    input: Image, output: Any = None, mode: Modes = "reflect", cval: Any = 0.0,
    *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """The sum of second differences along all axes: `scipy.ndimage.laplace`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.laplace(jnp.arange(5.0) ** 2)
        Array([ 1.,  2.,  2.,  2., -7.], dtype=float32)

    Args:
        input: The image, of any shape.

    Returns:
        The sum of the differences, of the shape of the image.

    Raises:
        ImageError: Mode or axes don't fit the image.
    """
    name = "laplace()"
    x = image(name, input, is_complex=True)
    dtype = output_dtype(name, x, output, cval)

    def bend(axis: int, mode: Any) -> jax.Array:
        return along(x, axis, name, (1, -2, 1), mode, cval, dtype)

    return _sum_over(name, x, mode, axes, bend, dtype)


@explained_as(gaussian_filter)
def gaussian_laplace(
    input: Image, sigma: Any, output: Any = None, mode: Modes = "reflect",
    cval: Any = 0.0, *, axes: Axes = None, **keywords: Any,
) -> jax.Array:  # fmt: skip
    """Second derivatives of the smoothed image: `scipy.ndimage.gaussian_laplace`.

    Example:
        >>> import jfi as jnp
        >>> peak = jnp.zeros(7).at[3].set(1.0)
        >>> round(float(jnp.scipy.ndimage.gaussian_laplace(peak, 1.0)[3]), 2)
        -0.4

    Args:
        input: The image, of any shape.
        **keywords: `truncate` and `radius` of `gaussian_filter`.

    Returns:
        The sum of the derivatives along all axes, of the shape of the image.
    """
    return _of_smoothed(
        "gaussian_laplace()", input, sigma, output, mode, cval, axes, 2, keywords
    )


@explained_as(gaussian_filter)
def gaussian_gradient_magnitude(
    input: Image, sigma: Any, output: Any = None, mode: Modes = "reflect",
    cval: Any = 0.0, *, axes: Axes = None, **keywords: Any,
) -> jax.Array:  # fmt: skip
    """How steep the smoothed image is: `scipy.ndimage.gaussian_gradient_magnitude`.

    Its derivative is zero where the image is flat, where there is none.

    Example:
        >>> import jfi as jnp
        >>> slope = 3 * jnp.arange(9.0)
        >>> jnp.scipy.ndimage.gaussian_gradient_magnitude(slope, 1.0)[4].round(2)
        Array(3., dtype=float32)

    Args:
        input: The image, of any shape.
        axes: The axes of the gradient; None is all. As in SciPy the image is smoothed
            along all axes.
        **keywords: `truncate` and `radius` of `gaussian_filter`.

    Returns:
        The length of the gradient, of the shape of the image.
    """
    name = "gaussian_gradient_magnitude()"
    squares = _of_smoothed(name, input, sigma, output, mode, cval, axes, 1, keywords)
    flat = squares == 0
    root = jnp.sqrt(jnp.where(flat, 1, squares))
    return jnp.where(flat, 0, root).astype(squares.dtype)


def _differences(
    name: str, input: Image, axis: int, output: Any, mode: Modes, cval: Any,
    across: tuple[int, ...],
) -> jax.Array:  # fmt: skip
    x = image(name, input, is_complex=True)
    (main,) = checked_axes(name, axis, x.ndim)
    modes = for_each(name, "mode", mode, x.ndim)
    dtype = output_dtype(name, x, output, cval)
    found = along(x, main, name, (-1, 0, 1), modes[main], cval, dtype)
    for other in range(x.ndim):
        if other != main:
            found = along(found, other, name, across, modes[other], cval, dtype)
    return found


def _of_smoothed(
    name: str, input: Image, sigma: Any, output: Any, mode: Modes, cval: Any,
    axes: Axes, order: int, keywords: dict[str, Any],
) -> jax.Array:  # fmt: skip
    x = image(name, input, is_complex=True)
    dtype = output_dtype(name, x, output, cval)
    chosen = checked_axes(name, axes, x.ndim)
    # SciPy's gradient is that of the image smoothed along all axes, also with axes=.
    smoothed = chosen if order == 2 else tuple(range(x.ndim))
    widths = for_each(name, "sigma", sigma, len(smoothed))

    def derivative(axis: int, mode: Any) -> jax.Array:
        orders = [order if other == axis else 0 for other in smoothed]
        found = gaussian_filter(
            x, widths, orders, dtype, mode, cval, axes=smoothed, **keywords
        )
        return found if order == 2 else found * found

    return _sum_over(name, x, mode, chosen, derivative, dtype)


def _sum_over(
    name: str, x: jax.Array, mode: Modes, axes: Axes,
    part: Callable[[int, Any], jax.Array], dtype: Any,
) -> jax.Array:  # fmt: skip
    chosen = checked_axes(name, axes, x.ndim)
    modes = for_each(name, "mode", mode, len(chosen))
    if not chosen:
        return x.astype(dtype)
    parts = [part(axis, m) for axis, m in zip(chosen, modes, strict=True)]
    found: jax.Array = functools.reduce(jnp.add, parts)
    return found
