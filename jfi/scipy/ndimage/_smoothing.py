"""Smoothing: Gaussian and uniform filters."""

import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._docstrings import explained_as
from ..._errors import ImageError
from ._correlation import correlate, correlate1d, weighted
from ._windows import (
    Axes,
    Image,
    Modes,
    PerAxis,
    checked_axes,
    for_each,
    image,
    output_dtype,
    window,
)


@explained_as(correlate)
def gaussian_filter(
    input: Image,
    sigma: Any,
    order: PerAxis = 0,
    output: Any = None,
    mode: Modes = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | Sequence[int] | None = None,
    axes: Axes = None,
) -> jax.Array:
    """Smooth an image with a Gaussian: `scipy.ndimage.gaussian_filter`.

    Example:
        >>> import jfi as jnp
        >>> peak = jnp.zeros((3, 5)).at[1, 2].set(1.0)
        >>> jnp.scipy.ndimage.gaussian_filter(peak, 1.0)[1].tolist()
        [0.024, 0.099, 0.163, 0.099, 0.024]
        >>> import jax
        >>> def top(sigma):
        ...     return jnp.scipy.ndimage.gaussian_filter(peak, sigma, radius=4)[1, 2]
        >>> float(jax.grad(top)(1.0))
        -0.29

    Args:
        input: The image, of any shape.
        sigma: The standard deviation in elements, a number or one for each axis. It may
            be traced where `radius` is given.
        order: 0 smooths; 1, 2 ... is the derivative of this order of the smoothed
            image. A number, or one for each axis.
        truncate: The Gaussian ends after so many standard deviations.
        radius: The Gaussian ends after so many elements, a number or one for each axis.

    Returns:
        The smoothed image, of the same shape.

    Raises:
        ImageError: `sigma` is traced and `radius` is not given, or arguments don't fit.
    """
    name = "gaussian_filter()"
    x = image(name, input, is_complex=True)
    chosen = checked_axes(name, axes, x.ndim)
    settings = [
        for_each(name, what, given, len(chosen))
        for what, given in (
            ("sigma", sigma), ("order", order), ("mode", mode), ("radius", radius)
        )
    ]  # fmt: skip
    dtype = output_dtype(name, x, output, cval)
    for axis, width, derivative, border, reach in zip(chosen, *settings, strict=True):
        if not isinstance(width, Tracer) and width <= 1e-15:
            continue
        x = _gaussian(name, x, axis, width, derivative, border, cval, truncate, reach,
                      dtype)  # fmt: skip
    return x.astype(dtype)


@explained_as(gaussian_filter)
def gaussian_filter1d(
    input: Image,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> jax.Array:
    """Smooth along one axis with a Gaussian: `scipy.ndimage.gaussian_filter1d`.

    Example:
        >>> import jfi as jnp
        >>> line = jnp.array([0.0, 0.0, 1.0, 0.0, 0.0])
        >>> jnp.scipy.ndimage.gaussian_filter1d(line, 0.5).round(3)
        Array([0.   , 0.106, 0.787, 0.106, 0.   ], dtype=float32)

    Args:
        input: The image.
        sigma: The standard deviation in elements. It may be traced where `radius` is
            given.
        axis: The axis to smooth along.
        order: 0 smooths; 1, 2 ... is the derivative of this order of the smoothed
            image.
        mode: What is beyond the border: "reflect", "constant", "nearest", "mirror" or
            "wrap".
        radius: The Gaussian ends after so many elements.

    Returns:
        The smoothed image, of the same shape.
    """
    name = "gaussian_filter1d()"
    x = image(name, input, is_complex=True)
    (along,) = checked_axes(name, axis, x.ndim)
    dtype = output_dtype(name, x, output, cval)
    return _gaussian(name, x, along, sigma, order, mode, cval, truncate, radius, dtype)


@explained_as(correlate)
def uniform_filter(
    input: Image,
    size: PerAxis = 3,
    output: Any = None,
    mode: Modes = "reflect",
    cval: Any = 0.0,
    origin: PerAxis = 0,
    *,
    axes: Axes = None,
) -> jax.Array:
    """Average neighbors: `scipy.ndimage.uniform_filter`.

    A NaN spoils its neighbors alone; in SciPy the rest of its line, too.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.uniform_filter(jnp.array([0.0, 3.0, 6.0, 0.0]))
        Array([1., 3., 3., 2.], dtype=float32)

    Args:
        input: The image, of any shape.
        size: How many neighbors, a number or one for each axis.

    Returns:
        The averages, of the shape of the image.

    Raises:
        ImageError: Size, mode, origin or axes don't fit the image.
    """
    name = "uniform_filter()"
    x = image(name, input, is_complex=True)
    chosen = checked_axes(name, axes, x.ndim)
    settings = [
        for_each(name, what, given, len(chosen))
        for what, given in (("size", size), ("origin", origin), ("mode", mode))
    ]
    dtype = output_dtype(name, x, output, cval)
    for axis, width, moved, border in zip(chosen, *settings, strict=True):
        if width > 1:
            x = _average(name, x, axis, width, moved, border, cval, dtype)
    return x.astype(dtype)


@explained_as(correlate1d)
def uniform_filter1d(
    input: Image,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> jax.Array:
    """Average neighbors along one axis: `scipy.ndimage.uniform_filter1d`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.uniform_filter1d(jnp.array([0.0, 3.0, 6.0, 0.0]), 3)
        Array([1., 3., 3., 2.], dtype=float32)

    Args:
        input: The image.
        size: How many neighbors.
        axis: The axis to average along.

    Returns:
        The averages, of the shape of the image.

    Raises:
        ImageError: Size, mode, origin or axis don't fit the image.
    """
    name = "uniform_filter1d()"
    x = image(name, input, is_complex=True)
    (along,) = checked_axes(name, axis, x.ndim)
    dtype = output_dtype(name, x, output, cval)
    return _average(name, x, along, size, origin, mode, cval, dtype)


def along(
    x: jax.Array, axis: int, name: str, weights: Any, mode: Any, cval: Any, dtype: Any
) -> jax.Array:
    """The sums of neighbors along an axis, with weights around the element itself."""
    size = len(weights)
    places = tuple((k,) for k in range(size))
    windows = (window(name, axis, size, 0, mode),)
    found: jax.Array = weighted(x, weights, cval, windows, places, dtype)
    return found


def _gaussian(
    name: str, x: jax.Array, axis: int, sigma: Any, order: Any, mode: Any, cval: Any,
    truncate: float, radius: Any, dtype: Any,
) -> jax.Array:  # fmt: skip
    if radius is None:
        try:
            radius = int(truncate * float(sigma) + 0.5)
        except jax.errors.ConcretizationTypeError as error:
            message = (
                f"{name} got a traced sigma, and the size of its window depends on it. "
                f"Say the size: {name.removesuffix('()')}(x, sigma, radius=8)"
            )
            raise ImageError(message) from error  # autojit asks for the cause
    try:
        reach, derivative = operator.index(radius), operator.index(order)
    except TypeError:
        reach = derivative = -1
    if reach < 0 or derivative < 0:
        message = (
            f"{name} got radius={radius!r}, order={order!r}. Pass integers, 0 or more."
        )
        raise ImageError(message)
    weights = gaussian_weights(sigma, derivative, reach)
    return along(x, axis, name, weights, mode, cval, dtype)


def gaussian_weights(sigma: Any, order: int, radius: int) -> Any:
    """`(2 radius + 1,)` weights: a Gaussian of sum 1, or one of its derivatives."""
    known = not isinstance(sigma, Tracer)
    xp: Any = np if known else jnp
    variance = float(sigma) ** 2 if known else jnp.asarray(sigma, float) ** 2
    x = np.arange(-radius, radius + 1, dtype=np.float64)
    bell = xp.exp(-0.5 / variance * x**2)
    bell = bell / bell.sum()
    # The derivative of p(x) bell(x) is (p' - p x / variance) bell.
    polynomial: list[Any] = [1.0] + [0.0] * order
    for _ in range(order):
        slope = [*[k * c for k, c in enumerate(polynomial)][1:], 0.0]
        times_x = [0.0, *polynomial[:-1]]
        polynomial = [s - t / variance for s, t in zip(slope, times_x, strict=True)]
    factor = sum(c * x**k for k, c in enumerate(polynomial))
    # A correlation sees the weights from the other side than a convolution.
    return bell * factor * (-1) ** order


def _average(
    name: str, x: jax.Array, axis: int, size: Any, origin: Any, mode: Any, cval: Any,
    dtype: Any,
) -> jax.Array:  # fmt: skip
    windows = (window(name, axis, size, origin, mode),)
    places = tuple((k,) for k in range(windows[0].size))
    ones = np.ones(windows[0].size)
    found: jax.Array = weighted(x, ones, cval, windows, places, dtype, windows[0].size)
    return found
