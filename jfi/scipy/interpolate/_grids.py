"""Interpolation on a rectangular grid in any number of dimensions."""

import functools
import itertools
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._errors import InterpolationError
from .._scipy_words import knows_scipy
from ._base import Interpolator, Numbers, check_increasing, inexact
from ._cubic_slopes import pchip_slopes
from ._intervals import fitting, interval_of, nan_where
from ._tensor_products import tensor_values
from ._through_values import fitted


_DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}
_METHODS = ("linear", "nearest", "slinear", "cubic", "quintic", "pchip")


class RegularGridInterpolator(Interpolator):
    """Interpolate values on a rectangular grid, as SciPy's class of this name.

    It takes what `jax.scipy.interpolate.RegularGridInterpolator` takes, and SciPy's
    splines and decreasing axes too. Values may be traced.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> x, y = jnp.arange(4.0), jnp.arange(5.0)
        >>> values = x[:, None] ** 2 + y
        >>> f = jnp.scipy.interpolate.RegularGridInterpolator((x, y), values, "cubic")
        >>> f(jnp.array([1.5, 2.0])).round(3)
        Array([4.25], dtype=float32)

    Args:
        points: The coordinates of the grid, one array for each dimension.
        values: Values, of the shape of the grid and possibly more axes.
        method: "linear", "nearest", "slinear", "cubic", "quintic" or "pchip".
        bounds_error: Whether points outside are an error. Traced points can't be
            looked at: there they are NaN.
        fill_value: The value outside; None extrapolates.

    Raises:
        InterpolationError: Grid, values or method don't fit.
    """

    arrays: ClassVar[tuple[str, ...]] = ("grid", "values", "fill_value", "coefficients")
    settings: ClassVar[tuple[str, ...]] = ("method", "bounds_error")
    grid: tuple[jax.Array, ...]
    values: jax.Array
    fill_value: jax.Array | None
    coefficients: tuple[tuple[jax.Array, ...], jax.Array] | None
    method: str
    bounds_error: bool

    @knows_scipy("interpolate.RegularGridInterpolator")
    def __init__(
        self,
        points: Sequence[Numbers],
        values: Numbers,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ) -> None:
        name = "RegularGridInterpolator()"
        _check_method(method)
        (numbers,) = inexact(values)
        if len(points) > numbers.ndim:
            message = (
                f"{name} got {len(points)} axes of points, and values of "
                f"{numbers.ndim} dimensions."
            )
            raise InterpolationError(message)
        real = jnp.finfo(numbers.dtype).dtype  # type: ignore[no-untyped-call]
        grid: list[jax.Array] = []
        for i, given in enumerate(points):
            axis = jnp.asarray(given)
            axis = axis.astype(jnp.result_type(axis, real))
            if not isinstance(axis, Tracer) and axis.size > 1 and axis[0] > axis[-1]:
                given, axis = np.asarray(given)[::-1], axis[::-1]
                numbers = jnp.flip(numbers, i)
            check_increasing(name, given, axis, strictly=True)
            if axis.size != numbers.shape[i]:
                message = (
                    f"{name} got {axis.size} points for axis {i}, and values of shape "
                    f"{numbers.shape}."
                )
                raise InterpolationError(message)
            grid.append(axis)
        fill = None if fill_value is None else _fill(fill_value, numbers)
        self._set(grid=tuple(grid), values=numbers, fill_value=fill, method=method)
        self._set(bounds_error=bool(bounds_error))
        self._set(coefficients=_splines(self.grid, numbers, method))

    def __call__(self, xi: Any, method: str | None = None) -> jax.Array:
        """The values at points.

        Args:
            xi: `(..., d)` coordinates, or a tuple of d arrays that broadcast.
            method: Another one than that of the interpolator.

        Returns:
            `(..., *rest)`: rest are the axes of values beyond those of the grid.

        Raises:
            ValueError: A point is outside the grid and `bounds_error` is set.
        """
        name = "RegularGridInterpolator()"
        method = self.method if method is None else method
        _check_method(method)
        points = _coordinates(xi, len(self.grid))
        if jnp.iscomplexobj(points) or points.shape[-1] != len(self.grid):
            message = (
                f"{name} got points of shape {points.shape} and {points.dtype} for a "
                f"grid of {len(self.grid)} dimensions: pass real numbers of shape "
                f"(..., {len(self.grid)})."
            )
            raise InterpolationError(message)
        points = points.astype(jnp.result_type(points, *self.grid))
        if self.bounds_error:
            _check_bounds(points, self.grid)
        splines = self.coefficients
        if method != self.method:
            splines = _splines(self.grid, self.values, method)
        columns = tuple(jnp.moveaxis(points, -1, 0))
        found = _values(method, self.grid, self.values, splines, columns)
        beyond = functools.reduce(
            jnp.logical_or,
            [
                (x < axis[0]) | (x > axis[-1])
                for x, axis in zip(columns, self.grid, strict=True)
            ],
        )
        undefined = functools.reduce(jnp.logical_or, map(jnp.isnan, columns))
        if self.fill_value is not None:
            outer = jnp.nan if self.bounds_error else self.fill_value
            found = jnp.where(fitting(beyond, found), outer, found)
        return nan_where(undefined, found)

    @classmethod
    def of_scipy(cls, interpolator: Any) -> Self:
        """The same interpolation as that of an object of SciPy."""
        return cls(
            interpolator.grid,
            interpolator.values,
            interpolator.method,
            interpolator.bounds_error,
            interpolator.fill_value,
        )


def interpn(
    points: Sequence[Numbers],
    values: Numbers,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> jax.Array:
    """Interpolate values on a grid once: `scipy.interpolate.interpn`, in JAX.

    Example:
        >>> import jfi as jnp
        >>> x, y = jnp.arange(3.0), jnp.arange(4.0)
        >>> plane = x[:, None] + 10 * y
        >>> jnp.scipy.interpolate.interpn((x, y), plane, [[0.5, 2.5]])
        Array([25.5], dtype=float32)

    Args:
        points: The coordinates of the grid, one array for each dimension.
        values: Values, of the shape of the grid and possibly more axes.
        xi: `(..., d)` coordinates, or a tuple of d arrays that broadcast.
        method: "linear", "nearest", "slinear", "cubic", "quintic" or "pchip".
        bounds_error: Whether points outside are an error. Traced points can't be
            looked at: there they are NaN.
        fill_value: The value outside; None extrapolates.

    Returns:
        `(..., *rest)`: rest are the axes of values beyond those of the grid.

    Raises:
        InterpolationError: Grid, values or method don't fit.
        ValueError: A point is outside the grid and `bounds_error` is set.
    """
    made = RegularGridInterpolator(points, values, method, bounds_error, fill_value)
    return made(xi)


def _check_method(method: str) -> None:
    if method not in _METHODS:
        message = (
            f"RegularGridInterpolator() got method {method!r}, which is not defined. "
            f"Pass one of {', '.join(_METHODS)}."
        )
        raise InterpolationError(message)


def _fill(given: Any, values: jax.Array) -> jax.Array:
    fill = jnp.asarray(given)
    if jnp.iscomplexobj(fill) and not jnp.iscomplexobj(values):
        message = (
            "RegularGridInterpolator() got a complex fill_value for real values. "
            "fill_value must be either None or of a type compatible with values."
        )
        raise InterpolationError(message)
    return fill.astype(values.dtype)


def _coordinates(xi: Any, dimensions: int) -> jax.Array:
    if isinstance(xi, tuple):
        if len(xi) != 1:
            return jnp.stack(jnp.broadcast_arrays(*map(jnp.asarray, xi)), axis=-1)
        xi = xi[0]
    points = jnp.asarray(xi)
    if points.ndim == 1:
        return points.reshape(-1, dimensions)
    return points if points.ndim else points.reshape(1, 1)


def _check_bounds(points: jax.Array, grid: tuple[jax.Array, ...]) -> None:
    if any(isinstance(value, Tracer) for value in (points, *grid)):
        return
    for i, axis in enumerate(grid):
        seen, first, last = np.asarray(points[..., i]), axis[0], axis[-1]
        if ((seen < np.asarray(first)) | (seen > np.asarray(last))).any():
            message = (
                f"RegularGridInterpolator() got points outside the grid in axis "
                f"{i}, which goes from {first} to {last}. Pass bounds_error=False, "
                "or fill_value=None to extrapolate."
            )
            raise ValueError(message)


def _splines(
    grid: tuple[jax.Array, ...], values: jax.Array, method: str
) -> tuple[tuple[jax.Array, ...], jax.Array] | None:
    """The knots of each dimension, and the coefficients of the products."""
    if method not in _DEGREES:
        return None
    degree, knots, c = _DEGREES[method], [], values
    for i, axis in enumerate(grid):
        if axis.size <= degree:
            message = (
                f"RegularGridInterpolator() got {axis.size} points for axis {i}, and "
                f"method {method!r}, which needs at least {degree + 1}. Pass more "
                "points, or method='linear'."
            )
            raise InterpolationError(message)
        t, solved = fitted(axis, jnp.moveaxis(c, i, 0), degree, None, None)
        knots.append(t)
        c = jnp.moveaxis(solved, 0, i)
    return tuple(knots), c


@functools.partial(jax.jit, static_argnums=0)
def _values(
    method: str,
    grid: tuple[jax.Array, ...],
    values: jax.Array,
    splines: tuple[tuple[jax.Array, ...], jax.Array] | None,
    points: tuple[jax.Array, ...],
) -> jax.Array:
    """The values at points, with those outside extrapolated."""
    if splines is not None:
        degrees = (_DEGREES[method],) * len(grid)
        found: jax.Array = tensor_values(*splines, points, degrees, (0,) * len(grid))
        return found
    if method == "pchip":
        shape = points[0].shape
        flat = [x.reshape(-1) for x in points]
        of_point: Any = jax.vmap(lambda *x: _pchip_at(grid, values, x))
        at_points: jax.Array = of_point(*flat)
        return at_points.reshape(*shape, *values.shape[len(grid) :])
    # In a loop: XLA would search the interval again for each corner of the cell.
    places = [
        interval_of(axis, x, in_loop=True) for axis, x in zip(grid, points, strict=True)
    ]
    shares = [
        (x - axis[at]) / (axis[at + 1] - axis[at])
        for axis, at, x in zip(grid, places, points, strict=True)
    ]
    if method == "nearest":
        nearest = [
            jnp.where(share <= 0.5, at, at + 1)
            for at, share in zip(places, shares, strict=True)
        ]
        return values[tuple(nearest)]
    total = jnp.zeros((), jnp.result_type(values, *points))
    for corner in itertools.product((0, 1), repeat=len(grid)):
        at = tuple(i + up for i, up in zip(places, corner, strict=True))
        weights = [s if up else 1 - s for s, up in zip(shares, corner, strict=True)]
        value = values[at]
        total = total + fitting(functools.reduce(jnp.multiply, weights), value) * value
    return total


def _pchip_at(
    grid: tuple[jax.Array, ...], values: jax.Array, point: tuple[jax.Array, ...]
) -> jax.Array:
    """The value at one point, one dimension after the other, the last one first."""
    for axis in reversed(range(len(grid))):
        x, y = grid[axis], jnp.moveaxis(values, axis, 0)
        slopes = pchip_slopes(x, y)
        at = interval_of(x, point[axis])
        width = x[at + 1] - x[at]
        share = (point[axis] - x[at]) / width
        rise = y[at + 1] - y[at]
        start, end = slopes[at] * width - rise, slopes[at + 1] * width - rise
        bend = start * (1 - share) - end * share
        values = y[at] + share * (rise + (1 - share) * bend)
    return values
