"""Images as splines: their coefficients, and how much each counts at a place.

The coefficients of a spline that goes through an image are a filter of it, with an
infinite window. Its weights fall by a factor of more than two with each neighbor, so a
window of some dozens is exact to rounding. SciPy's recursion has the same results; it
goes along an axis step by step, which is slow on a device.

References:
    M. Unser, Splines: a perfect fit for signal and image processing, IEEE Signal
    Processing Magazine 1999.
"""

import functools
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from numpy.typing import NDArray

from ..._docstrings import explained_as
from ..._errors import ImageError
from ..._values import why_unknown
from ._borders import continuation, folded
from ._windows import Image, cast, checked_axes, image, output_dtype, working


MAX_ORDER = 5


def spline_filter(
    input: Image, order: int = 3, output: Any = float, mode: str = "mirror"
) -> jax.Array:
    """The coefficients of the spline through an image: `scipy.ndimage.spline_filter`.

    Example:
        >>> import jfi as jnp
        >>> found = jnp.scipy.ndimage.spline_filter(jnp.array([1.0, 2.0, 4.0]))
        >>> [round(float(x), 3) for x in found]
        [0.75, 1.5, 5.25]

    Args:
        input: The image, of any shape; real or complex.
        order: The degree of the spline, from 2 to 5.
        output: The dtype of the result.
        mode: What is beyond the border, any of SciPy's: "reflect" and "nearest" have
            the same coefficients, "grid-wrap" others, all the rest those of "mirror".

    Returns:
        The coefficients, of the shape of the image. They are exact; SciPy's of a few
        pixels are not for "reflect", by some thousandths.

    Raises:
        ImageError: Another order, or an unknown mode.
    """
    name = "spline_filter()"
    x = image(name, input, is_complex=True)
    degree = checked_order(name, order, least=2)
    dtype = output_dtype(name, x, output, x)
    found = coefficients(x, range(x.ndim), degree, continuation(name, mode))
    return cast(found, dtype)


@explained_as(spline_filter)
def spline_filter1d(
    input: Image, order: int = 3, axis: int = -1, output: Any = float,
    mode: str = "mirror",
) -> jax.Array:  # fmt: skip
    """Coefficients of splines along an axis: `scipy.ndimage.spline_filter1d`.

    Example:
        >>> import jfi as jnp
        >>> found = jnp.scipy.ndimage.spline_filter1d(jnp.array([[1.0, 2.0, 4.0]]))
        >>> [round(float(x), 3) for x in found[0]]
        [0.75, 1.5, 5.25]

    Args:
        order: The degree of the spline, from 0 to 5.
        axis: The axis.

    Returns:
        The coefficients, of the shape of the image.

    Raises:
        ImageError: Another order, or an unknown mode.
    """
    name = "spline_filter1d()"
    x = image(name, input, is_complex=True)
    degree = checked_order(name, order)
    dtype = output_dtype(name, x, output, x)
    axes = checked_axes(name, axis, x.ndim) if x.ndim else ()
    return cast(coefficients(x, axes, degree, continuation(name, mode)), dtype)


def checked_order(name: str, order: Any, least: int = 0) -> int:
    """The degree of a spline, a number that is known."""
    try:
        degree = operator.index(order)
    except TypeError:  # JAX's own error for a tracer is a TypeError too
        degree = -1
    if isinstance(order, Tracer) or not least <= degree <= MAX_ORDER:
        message = (
            f"{name} got order={order}. Pass the degree of the spline, a Python "
            f"integer from {least} to {MAX_ORDER}: 1 is linear, 3 cubic."
        )
        raise ImageError(message) from why_unknown(order)
    return degree


_BLOCK = 64  # elements that one product with a matrix computes


def coefficients(x: jax.Array, axes: Any, order: int, mode: str) -> jax.Array:
    """The coefficients along some axes, in the dtype to compute in.

    Args:
        x: The image.
        axes: The axes.
        order: The degree of the spline.
        mode: How the image goes on, what `continuation` returns.
    """
    found = x.astype(working(x))
    if order < 2 or not x.size:
        return found
    weights = _weights(order, float(np.finfo(found.dtype).eps))
    for axis in axes:
        if x.shape[axis] > 1:
            found = _filtered(found, weights, axis, mode)
    return found


def _filtered(
    x: jax.Array, weights: NDArray[np.float64], axis: int, mode: str
) -> jax.Array:
    """Sums of neighbors with weights, block by block.

    A product with a band matrix: a loop over dozens of neighbors takes half a second to
    compile.
    """
    size, reach = x.shape[axis], len(weights) // 2
    block = min(size, _BLOCK)
    blocks = -(-size // block)
    band = np.zeros((block, block + 2 * reach))
    for k in range(block):
        band[k, k : k + len(weights)] = weights
    starts = np.arange(blocks)[:, None] * block - reach
    places = folded(starts + np.arange(block + 2 * reach), size, mode)
    around = jnp.take(jnp.moveaxis(x, axis, -1), places, axis=-1)
    sums = jnp.einsum(
        "...bn,kn->...bk", around, jnp.asarray(band, x.real.dtype), precision="highest"
    )
    flat = sums.reshape(*sums.shape[:-2], blocks * block)[..., :size]
    return jnp.moveaxis(flat, -1, axis)


# The roots inside the unit circle of the polynomial that the B-spline's values at
# integers are, for each order.
_POLES = {
    2: (np.sqrt(8.0) - 3.0,),
    3: (np.sqrt(3.0) - 2.0,),
    4: tuple(
        np.sqrt(664.0 - sign * np.sqrt(438976.0)) + sign * np.sqrt(304.0) - 19.0
        for sign in (1, -1)
    ),
    5: tuple(
        np.sqrt(67.5 - sign * np.sqrt(4436.25)) + sign * np.sqrt(26.25) - 6.5
        for sign in (1, -1)
    ),
}


@functools.cache
def _weights(order: int, precision: float) -> NDArray[np.float64]:
    """The filter's window, up to where weights are lost in rounding."""
    whole = np.ones(1)
    for pole in _POLES[order]:
        reach = int(np.ceil(np.log(precision / 16) / np.log(abs(pole))))
        falling = pole ** np.abs(np.arange(-reach, reach + 1))
        # The sum of all is that of the filter at a flat image.
        window = falling * (1 - pole) / (1 + pole)
        whole = np.asarray(np.convolve(whole, window), np.float64)
    return whole


def tap_weights(part: Any, order: int) -> Any:
    """How much each of the `order + 1` nearest coefficients counts.

    Args:
        part: How far behind the middle coefficient places are, of any shape: from 0 to
            1 for odd orders, from -1/2 to 1/2 for even ones.
        order: The degree of the spline.

    Returns:
        `(..., order + 1)` weights.
    """
    # Of as many dimensions as the places: users may have told JAX to refuse others.
    powers = [p.reshape(*part.ndim * (1,), -1) for p in _polynomials(order)[::-1]]
    highest, *others = powers
    within = (part if order % 2 else part + 0.5)[..., None]
    weights = highest + 0 * within
    for power in others:
        weights = weights * within + power
    return weights


@functools.cache
def _polynomials(order: int) -> NDArray[np.float64]:
    """For each power of a place between two knots how much it counts for each tap.

    By the recursion of Cox and de Boor with knots at integers.
    """
    place = np.polynomial.Polynomial([0.0, 1.0])
    weights = [np.polynomial.Polynomial([1.0])]
    for n in range(1, order + 1):
        none = np.polynomial.Polynomial([0.0])
        longer = zip([*weights, none], [none, *weights], strict=True)
        weights = [
            ((k + 1 - place) * right + (place + n - k) * left) / n
            for k, (right, left) in enumerate(longer)
        ]
    table = np.zeros((order + 1, order + 1))
    for k, weight in enumerate(weights):
        table[: len(weight.coef), k] = weight.coef[: order + 1]
    return table
