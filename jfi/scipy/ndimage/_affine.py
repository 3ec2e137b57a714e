"""Images turned, stretched and bent: `affine_transform`, `rotate`, and any function."""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._docstrings import explained_as
from ..._errors import ImageError
from ._geometry import (
    as_number,
    checked_image,
    line,
    map_coordinates,
    mapped,
    resampled,
)
from ._sampling import Places, places_at
from ._windows import Image, for_each


@explained_as(map_coordinates)
def affine_transform(
    input: Image, matrix: Any, offset: Any = 0.0, output_shape: Any = None,
    output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> jax.Array:  # fmt: skip
    """An image at `matrix @ place + offset`: `scipy.ndimage.affine_transform`.

    Example:
        >>> import jfi as jnp
        >>> picture = jnp.array([[1.0, 2.0], [3.0, 4.0]])
        >>> swapped = jnp.array([[0.0, 1.0], [1.0, 0.0]])
        >>> jnp.scipy.ndimage.affine_transform(picture, swapped, order=1)
        Array([[1., 3.],
               [2., 4.]], dtype=float32)

    Args:
        matrix: `(ndim, ndim)` numbers, or `(ndim,)` ones for each axis alone; the
            homogeneous matrices of SciPy, too. It may be traced, and has derivatives.
        offset: A number, or one for each axis; it may be traced.
        output_shape: The shape of the result; None is that of the image.

    Returns:
        The image, of the shape `output_shape`.

    Raises:
        ImageError: Matrix, offset or other arguments don't fit the image.
    """
    name = "affine_transform()"
    x, degree, dtype = checked_image(name, input, order, mode, output, cval)
    shape = _shape(x.shape if output_shape is None else output_shape, name)
    given, moved = _parts(name, matrix, offset, x.ndim, len(shape))
    if given.ndim == 1:
        lines = []
        for count, step, by in zip(shape, given, moved, strict=True):
            step, by = as_number(step), as_number(by)
            known = not isinstance(step, Tracer) and not isinstance(by, Tracer)
            if known and step != 0:  # with the roundings of SciPy, for its borders
                lines.append(places_at((np.arange(count) + by / step) * step))
            else:
                lines.append(line(count, step, by))
        return resampled(x, lines, cval, degree, mode, bool(prefilter), dtype)
    terms = _terms(given, moved, shape)
    values: jax.Array = mapped(x, terms, cval, degree, mode, bool(prefilter), dtype)
    return values


@explained_as(map_coordinates)
def rotate(
    input: Image, angle: Any, axes: Sequence[int] = (1, 0), reshape: bool = True,
    output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> jax.Array:  # fmt: skip
    """A turned image: `scipy.ndimage.rotate`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.rotate(jnp.array([[1.0, 2.0, 3.0]]), 90, order=1)
        Array([[3.],
               [2.],
               [1.]], dtype=float32)

    Args:
        angle: In degrees. It may be traced, and has derivatives, with `reshape=False`.
        axes: The two axes of the plane.
        reshape: Whether the result is as large as all of the turned image.

    Returns:
        The turned image.

    Raises:
        ImageError: The shape depends on a traced angle, or arguments don't fit.
    """
    name = "rotate()"
    x, degree, dtype = checked_image(name, input, order, mode, output, cval)
    plane = _plane(name, axes, x.ndim)
    size = np.array([x.shape[axis] for axis in plane])
    if reshape:
        try:
            angle = float(angle)
        except jax.errors.ConcretizationTypeError as error:  # autojit asks for it
            message = (
                f"{name} got a traced angle, and the shape of the result depends on "
                f"it. Write rotate(x, angle, reshape=False), or pass a Python number."
            )
            raise ImageError(message) from error
    cosine, sine = _turn(as_number(angle))
    rows = [[cosine, sine], [-sine, cosine]]
    new = size
    if reshape:
        corners = np.array(rows) @ np.array([[0, 0, size[0], size[0]],
                                             [0, size[1], 0, size[1]]])  # fmt: skip
        new = (np.ptp(corners, axis=1) + 0.5).astype(int)
    middle, old = (new - 1) / 2, (size - 1) / 2
    offset = [old[k] - sum(rows[k][i] * middle[i] for i in (0, 1)) for k in (0, 1)]
    terms = _terms(rows, offset, tuple(map(int, new)))

    def turned(flat: jax.Array) -> jax.Array:
        found: jax.Array = mapped(
            flat, terms, cval, degree, mode, bool(prefilter), dtype
        )
        return found

    front = jnp.moveaxis(x, plane, (-2, -1))
    for _ in range(x.ndim - 2):
        turned = jax.vmap(turned)
    return jnp.moveaxis(turned(front), (-2, -1), plane)


@explained_as(map_coordinates)
def geometric_transform(
    input: Image, mapping: Callable[..., Any], output_shape: Any = None,
    output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True, extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
) -> jax.Array:  # fmt: skip
    """An image at places that a function returns: `scipy.ndimage.geometric_transform`.

    Example:
        >>> import jfi as jnp
        >>> line = jnp.array([0.0, 1.0, 4.0, 9.0])
        >>> def backwards(place):
        ...     return (3 - place[0],)
        >>> jnp.scipy.ndimage.geometric_transform(line, backwards, order=1)
        Array([9., 4., 1., 0.], dtype=float32)

    Args:
        mapping: A JAX function: gets a place in the result, a tuple of integers, and
            returns the place in the image, a number for each axis. It is called once,
            for all places.
        output_shape: The shape of the result; None is that of the image.
        extra_arguments: More arguments of `mapping`.
        extra_keywords: Keyword arguments of `mapping`.

    Returns:
        The image, of the shape `output_shape`.

    Raises:
        ImageError: The function returns another number of coordinates.
    """
    name = "geometric_transform()"
    x, degree, dtype = checked_image(name, input, order, mode, output, cval)
    shape = _shape(x.shape if output_shape is None else output_shape, name)

    def at(*place: jax.Array) -> jax.Array:
        found = mapping(place, *extra_arguments, **(extra_keywords or {}))
        values = [jnp.asarray(value, float) for value in found]
        if len(values) != x.ndim:
            message = (
                f"{name} got a mapping that returns {len(values)} coordinates for an "
                f"image of {x.ndim} dimensions. Return one for each."
            )
            raise ImageError(message)
        return jnp.stack(values)

    grid = [axis.ravel() for axis in np.indices(shape)]
    points = jax.vmap(at, out_axes=1)(*grid).reshape(x.ndim, *shape)
    values: jax.Array = mapped(x, points, cval, degree, mode, bool(prefilter), dtype)
    return values


def _shape(given: Any, name: str) -> tuple[int, ...]:
    try:
        return tuple(operator.index(n) for n in given)
    except TypeError:
        message = f"{name} got output_shape={given}. Pass a tuple of Python integers."
        raise ImageError(message) from None


def _plane(name: str, axes: Any, ndim: int) -> tuple[int, int]:
    try:
        first, second = (operator.index(axis) for axis in axes)
        inside = all(-ndim <= axis < ndim for axis in (first, second))
    except (TypeError, ValueError):
        first = second = 0
        inside = False
    if not inside or first % ndim == second % ndim:
        message = (
            f"{name} got axes={axes} for an image of {ndim} dimensions. Pass two axes, "
            "such as axes=(1, 0)."
        )
        raise ImageError(message)
    low, high = sorted((first % ndim, second % ndim))
    return low, high


def _turn(angle: Any) -> tuple[Any, Any]:
    """Cosine and sine of degrees; quarters are exact, as SciPy's are."""
    xp: Any = jnp if isinstance(angle, Tracer) else np
    quarters = xp.round(angle / 90.0)
    rest = xp.deg2rad(angle - 90.0 * quarters)
    cosine, sine = xp.cos(rest), xp.sin(rest)
    which = quarters % 4
    odd = which % 2 == 1
    across, along = xp.where(odd, -sine, cosine), xp.where(odd, cosine, sine)
    sign = xp.where(which >= 2, -1.0, 1.0)
    return sign * across, sign * along


def _parts(
    name: str, matrix: Any, offset: Any, ndim: int, new_ndim: int
) -> tuple[Any, list[Any]]:
    """The matrix and the offset, of NumPy where they are known."""
    given: Any = matrix
    if not isinstance(given, Tracer):
        leaves = jax.tree.leaves(given)
        traced = any(isinstance(leaf, Tracer) for leaf in leaves)
        given = jnp.asarray(given) if traced else np.asarray(given, np.float64)
    if given.ndim == 2 and given.shape[1] == ndim + 1 and given.shape[0] in (
        ndim, ndim + 1,
    ):  # fmt: skip
        last = None if isinstance(given, Tracer) else given[ndim:]
        if last is not None and (last != [0] * ndim + [1]).any():
            message = (
                f"{name} got a homogeneous matrix whose last row is {last[0]}. Pass "
                f"{[0] * ndim + [1]} there."
            )
            raise ImageError(message)
        given, offset = given[:ndim, :ndim], list(given[:ndim, ndim])
    fits = given.shape in ((ndim,), (ndim, new_ndim))
    if not fits or (given.ndim == 1 and ndim != new_ndim):
        message = (
            f"{name} got a matrix of shape {given.shape} for an image of {ndim} "
            f"dimensions and a result of {new_ndim}. Pass ({ndim}, {new_ndim}), or "
            f"({ndim},) for a factor for each axis."
        )
        raise ImageError(message)
    return given, for_each(name, "offset", offset, ndim)


def _terms(
    rows: Any, offset: Sequence[Any], shape: tuple[int, ...]
) -> list[list[Places]]:
    """For each axis of the image what the axes of the result add to its places."""
    every = []
    for row, by in zip(rows, offset, strict=True):
        terms = [places_at(_array(as_number(by)))]
        for k, (count, step) in enumerate(zip(shape, row, strict=True)):
            places = places_at(_array(np.arange(count) * as_number(step)))
            along = [-1 if i == k else 1 for i in range(len(shape))]
            terms.append(Places(*(part.reshape(along) for part in places)))
        every.append(terms)
    return every


def _array(value: Any) -> Any:
    return value if isinstance(value, Tracer) else np.asarray(value)
