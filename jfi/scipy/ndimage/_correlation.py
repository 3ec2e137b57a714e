"""Weighted sums of neighbors: `correlate`, `convolve`, and along one axis."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._docstrings import explained_as
from ..._errors import ImageError
from ._borders import extended
from ._windows import (
    Axes,
    Image,
    Modes,
    PerAxis,
    Window,
    cast,
    checked_axes,
    for_each,
    image,
    output_dtype,
    refuse_unordered,
    window,
    working,
)


def correlate(
    input: Image,
    weights: Image,
    output: Any = None,
    mode: Modes = "reflect",
    cval: Any = 0.0,
    origin: PerAxis = 0,
    *,
    axes: Axes = None,
) -> jax.Array:
    """Sum neighbors with weights: `scipy.ndimage.correlate`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.correlate(jnp.array([1.0, 2.0, 4.0]), [-1, 0, 1])
        Array([1., 3., 2.], dtype=float32)

    Args:
        input: The image, of any shape; real or complex. Integers are computed as
            floats and cut to integers, as in SciPy.
        weights: As many axes as are filtered. They may be traced, and have gradients.
            The conjugates of complex ones are taken, as in SciPy.
        output: The dtype of the result; None is that of the image.
        mode: What is beyond the border: "reflect", "constant", "nearest", "mirror",
            "wrap", or one for each axis.
        cval: The number beyond the border for "constant".
        origin: How far the window is moved, a number or one for each axis.
        axes: The axes that are filtered; None is all.

    Returns:
        The sums, of the shape of the image.

    Raises:
        ImageError: Weights, mode, origin or axes don't fit the image.
    """
    return _correlated(
        "correlate()", input, weights, output, mode, cval, origin, axes, False
    )


@explained_as(correlate)
def convolve(
    input: Image,
    weights: Image,
    output: Any = None,
    mode: Modes = "reflect",
    cval: Any = 0.0,
    origin: PerAxis = 0,
    *,
    axes: Axes = None,
) -> jax.Array:
    """Convolve an image with weights: `scipy.ndimage.convolve`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.convolve(jnp.array([1.0, 2.0, 4.0]), [-1, 0, 1])
        Array([-1., -3., -2.], dtype=float32)

    Returns:
        The convolution, of the shape of the image.
    """
    return _correlated(
        "convolve()", input, weights, output, mode, cval, origin, axes, True
    )


@explained_as(correlate)
def correlate1d(
    input: Image,
    weights: Image,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> jax.Array:
    """Sum neighbors along one axis with weights: `scipy.ndimage.correlate1d`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.correlate1d(jnp.array([[1.0, 2.0, 4.0]]), [-1, 0, 1])
        Array([[1., 3., 2.]], dtype=float32)

    Args:
        input: The image.
        weights: `(n,)` numbers, which may be traced.
        axis: The axis to sum along.
        mode: What is beyond the border: "reflect", "constant", "nearest", "mirror" or
            "wrap".
        origin: How far the window is moved.

    Returns:
        The sums, of the shape of the image.

    Raises:
        ImageError: Weights, mode, origin or axis don't fit the image.
    """
    return _correlated(
        "correlate1d()", input, weights, output, mode, cval, origin, axis, False
    )


@explained_as(correlate1d)
def convolve1d(
    input: Image,
    weights: Image,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> jax.Array:
    """Convolve an image along one axis with weights: `scipy.ndimage.convolve1d`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.convolve1d(jnp.array([[1.0, 2.0, 4.0]]), [-1, 0, 1])
        Array([[-1., -3., -2.]], dtype=float32)

    Args:
        input: The image.
        weights: `(n,)` numbers, which may be traced.
        axis: The axis to sum along.

    Returns:
        The convolution, of the shape of the image.
    """
    return _correlated(
        "convolve1d()", input, weights, output, mode, cval, origin, axis, True
    )


def _correlated(
    name: str,
    input: Image,
    weights: Image,
    output: Any,
    mode: Modes,
    cval: Any,
    origin: Any,
    axes: Axes,
    mirrored: bool,
) -> jax.Array:
    x = image(name, input, is_complex=True)
    chosen = checked_axes(name, axes, x.ndim)
    w = weights if isinstance(weights, jax.Array) else np.asarray(weights)
    if w.ndim != len(chosen) or not w.size:
        message = (
            f"{name} got weights of shape {w.shape} for {len(chosen)} axes of the "
            "image. Pass as many axes of weights, none of them empty."
        )
        raise ImageError(message)
    refuse_unordered(name, chosen, w)
    pairs = zip(
        chosen,
        w.shape,
        for_each(name, "origin", origin, len(chosen)),
        for_each(name, "mode", mode, len(chosen)),
        strict=True,
    )
    windows = tuple(window(name, *given, mirrored=mirrored) for given in pairs)
    # A correlation is with the conjugate, a convolution with the weights themselves.
    w = w[(slice(None, None, -1),) * w.ndim] if mirrored else w.conj()
    places = tuple(np.ndindex(w.shape))
    if w.ndim > 1 and not isinstance(w, Tracer):  # as SciPy: NaN times 0 counts not
        places = tuple(place for place in places if w[place] != 0) or places[:1]
    dtype = output_dtype(name, x, output, w, cval)
    found: jax.Array = weighted(x, w, cval, windows, places, dtype)
    return found


@functools.partial(jax.jit, static_argnums=(3, 4, 5, 6))
def weighted(
    x: jax.Array,
    weights: Any,
    cval: Any,
    windows: tuple[Window, ...],
    places: tuple[tuple[int, ...], ...],
    dtype: Any,
    divisor: int = 1,
) -> jax.Array:
    """The sums of neighbors at some places of the windows.

    Args:
        x: The image.
        weights: As many axes as there are windows.
        cval: What is beyond a border that is constant.
        windows: One for each axis that is filtered.
        places: The places in `weights` that count.
        dtype: That of the result.
        divisor: What the sums are divided by: of integers 9 / 3 is 3, and 9 times a
            third may be less.
    """
    if not x.size:
        return x.astype(dtype)
    computed = working(x, weights, cval)
    whole = x.astype(computed)
    for w in windows:
        after = w.size - 1 - w.before
        whole = extended(whole, w.axis, w.before, after, w.mode, cval)
    numbers = jnp.asarray(weights).astype(computed)
    shares = jnp.stack([numbers[place] for place in places])
    starts = np.zeros((len(places), x.ndim), np.int32)
    for k, w in enumerate(windows):
        starts[:, w.axis] = [place[k] for place in places]
    sums = _summed(whole, shares, starts, x.shape)
    return cast(sums / divisor if divisor > 1 else sums, dtype)


_AT_ONCE = 32  # neighbors in one pass over the image


def _summed(
    whole: jax.Array, shares: jax.Array, starts: Any, shape: Sequence[int]
) -> jax.Array:
    """The sum of parts of an image, each times its share.

    Shifted copies, not a convolution of XLA: they are sums in full precision on every
    device, of integers and complex numbers too, and a NaN spoils its neighbors alone.
    """

    def passed(total: jax.Array, some: Any) -> tuple[jax.Array, None]:
        shares, starts = some
        for k in range(shares.shape[0]):
            part = jax.lax.dynamic_slice(whole, list(starts[k]), shape)
            total = total + shares[k] * part
        return total, None

    total = jnp.zeros(shape, whole.dtype)
    many = len(starts) // _AT_ONCE * _AT_ONCE if len(starts) > 2 * _AT_ONCE else 0
    if many:
        blocks = (
            shares[:many].reshape(-1, _AT_ONCE),
            jnp.asarray(starts[:many]).reshape(-1, _AT_ONCE, len(shape)),
        )
        total, _ = jax.lax.scan(passed, total, blocks)
    return passed(total, (shares[many:], starts[many:]))[0]
