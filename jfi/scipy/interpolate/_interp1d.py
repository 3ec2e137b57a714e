"""`interp1d`: one class for steps, lines and splines, as in SciPy."""

import functools
import math
from typing import Any, ClassVar, Literal, Self, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._errors import InterpolationError
from .._scipy_words import knows_scipy
from ._base import (
    Interpolator,
    Numbers,
    axis_first,
    inexact,
    place_axis,
    promoted,
    query_points,
    with_knots,
)
from ._bsplines import values_at
from ._intervals import fitting, interval_of
from ._through_values import fitted


Kind: TypeAlias = Literal[
    "linear", "nearest", "nearest-up", "zero", "slinear", "quadratic", "cubic",
    "previous", "next",
]  # fmt: skip
_STEPS = ("linear", "nearest", "nearest-up", "previous", "next")
_DEGREES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}


class interp1d(Interpolator):  # noqa: N801  (SciPy's name)
    """Interpolation of a function of one variable, as `scipy.interpolate.interp1d`.

    Example:
        >>> import jfi as jnp
        >>> f = jnp.scipy.interpolate.interp1d([0.0, 1.0, 3.0], [0.0, 2.0, 4.0])
        >>> f(2.0)
        Array(3., dtype=float32)
        >>> f(5.0)
        Traceback (most recent call last):
        ...
        ValueError: interp1d() got x = 5.0, outside the knots 0.0 ... 3.0. ...

    Args:
        x: `(n,)` knots.
        y: Values, with n along `axis`.
        kind: A word, or the degree of a spline.
        axis: Which axis of y belongs to the knots.
        bounds_error: Whether points outside are an error. Traced points can't be
            looked at: there they are NaN. None is True without a `fill_value`.
        fill_value: The value outside, two of them (below, above), or "extrapolate".
        assume_sorted: The knots increase. Otherwise they are sorted.

    Raises:
        InterpolationError: Knots, values or settings don't fit.
    """

    arrays: ClassVar[tuple[str, ...]] = ("x", "y", "fill", "knots", "coefficients")
    settings: ClassVar[tuple[str, ...]] = ("kind", "axis", "bounds_error")
    x: jax.Array
    y: jax.Array  # with the axis of the knots in front
    fill: tuple[jax.Array, jax.Array] | None
    knots: jax.Array | None
    coefficients: jax.Array | None
    kind: str | int
    axis: int
    bounds_error: bool

    @knows_scipy("interpolate.interp1d")
    def __init__(
        self,
        x: Numbers,
        y: Numbers,
        kind: Kind | int = "linear",
        axis: int = -1,
        *,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        name = "interp1d()"
        axis = axis % max(np.ndim(y), 1)
        if (
            not assume_sorted
            and np.ndim(x) == 1
            and np.shape(y)[axis:][:1] == np.shape(x)
        ):
            x, y = _sorted(x, y, axis)
        knots, values = with_knots(name, x, y)
        values = axis_first(name, values, axis, knots.size)
        if kind not in (*_STEPS, *_DEGREES) and not _is_degree(kind):
            words = ", ".join(map(repr, (*_STEPS, *_DEGREES)))
            message = f"{name} got kind={kind!r}. Pass {words}, or a degree."
            raise InterpolationError(message)
        fill = _fill(fill_value, values)
        strict = fill is not None and _is_nan(fill_value)
        if fill is None and bounds_error:
            message = (
                f"{name} got bounds_error=True and fill_value='extrapolate'. Pass one "
                "of the two."
            )
            raise InterpolationError(message)
        if fill is None and kind in ("previous", "next"):  # there is none to take
            nan = jnp.full_like(values[0], jnp.nan)
            fill = (nan, values[-1]) if kind == "previous" else (values[0], nan)
        kind = kind if isinstance(kind, str) else int(kind)
        self._set(x=knots, y=values, fill=fill, kind=kind, axis=axis)
        self._set(bounds_error=strict if bounds_error is None else bool(bounds_error))
        spline: tuple[Any, Any] = (None, None)
        if kind not in _STEPS:
            degree = _DEGREES[kind] if isinstance(kind, str) else kind
            spline = fitted(knots, values, degree, None, None)
        self._set(knots=spline[0], coefficients=spline[1])

    def __call__(self, x: Numbers) -> jax.Array:
        """The values at points.

        Args:
            x: Real points, in any shape.

        Returns:
            The values; the axes of the points stand where the knots' axis was.

        Raises:
            ValueError: A point is outside the knots and `bounds_error` is set.
        """
        points = query_points("interp1d()", x, self.y.dtype)
        if self.bounds_error:
            _check_bounds(points, self.x)
        if self.knots is None or self.coefficients is None:
            values = _step_values(self.x, self.y, points, str(self.kind))
        else:
            degree = self.knots.shape[0] - self.coefficients.shape[0] - 1
            values = values_at(self.knots, self.coefficients, points, degree, 0, True)
        if self.fill is not None:
            ends = (points < self.x[0], points > self.x[-1])
            for end, fill in zip(ends, self.fill, strict=True):
                value = jnp.nan if self.bounds_error else fill
                values = jnp.where(fitting(end, values), value, values)
        return place_axis(values, points.ndim, self.axis)

    @classmethod
    def of_scipy(cls, interpolator: Any) -> Self:
        """The same interpolation as that of an object of SciPy."""
        private = vars(interpolator)  # SciPy has no public names for these
        kind = private["_kind"]
        if kind == "spline":
            kind = private["_spline"].k
        fill = interpolator.fill_value
        y = np.asarray(interpolator.y)
        axis = interpolator.axis
        outer = {"bounds_error": interpolator.bounds_error, "fill_value": fill}
        return cls(interpolator.x, y, kind, axis, **outer, assume_sorted=True)


def _sorted(x: Numbers, y: Numbers, axis: int) -> tuple[Numbers, Numbers]:
    if isinstance(x, Tracer):
        order = jnp.argsort(x)
        return x[order], jnp.take(jnp.asarray(y), order, axis=axis)
    known = np.asarray(x)  # in its own precision: 32 bits may not tell knots apart
    places = np.argsort(known, kind="stable")
    return known[places], jnp.take(jnp.asarray(y), places, axis=axis)


def _is_degree(kind: Any) -> bool:
    return isinstance(kind, (int, np.integer)) and bool(kind >= 0)


def _is_nan(fill_value: Any) -> bool:
    return isinstance(fill_value, float) and math.isnan(fill_value)


def _fill(given: Any, values: jax.Array) -> tuple[jax.Array, jax.Array] | None:
    """The values below and above, in the shape of one value; None extrapolates."""
    if isinstance(given, str):
        if given != "extrapolate":
            message = (
                f"interp1d() got fill_value={given!r}. Pass a number, two of them, or "
                "'extrapolate'."
            )
            raise InterpolationError(message)
        return None
    ends = given if isinstance(given, tuple) and len(given) == 2 else (given, given)
    shape = values.shape[1:]
    below, above = (
        end.reshape(shape) if end.size == math.prod(shape) else end
        for end in (inexact(end)[0] for end in ends)
    )
    return (
        jnp.broadcast_to(below, shape).astype(values.dtype),
        jnp.broadcast_to(above, shape).astype(values.dtype),
    )


def _check_bounds(points: jax.Array, knots: jax.Array) -> None:
    if isinstance(points, Tracer) or isinstance(knots, Tracer):
        return
    seen, ends = np.asarray(points), np.asarray(knots)[[0, -1]]
    outer = seen[(seen < ends[0]) | (seen > ends[1])]
    if outer.size:
        message = (
            f"interp1d() got x = {outer[0]}, outside the knots {ends[0]} ... "
            f"{ends[1]}. Pass bounds_error=False, or fill_value='extrapolate'."
        )
        raise ValueError(message)


@functools.partial(jax.jit, static_argnums=3)
def _step_values(x: jax.Array, y: jax.Array, points: jax.Array, kind: str) -> jax.Array:
    x = x.astype(points.dtype)
    y = y.astype(promoted(y.dtype, points.dtype))
    at = interval_of(x, points)
    if kind == "linear":
        width = x[at + 1] - x[at]
        share = (points - x[at]) / width
        rise = y[at + 1] - y[at]
        share = fitting(share, rise)
        # At a knot its value counts alone, whatever the next one is.
        rise = jnp.where((share == 0) & ~jnp.isfinite(rise), 0, rise)
        values = y[at] + share * rise
        return jnp.where(fitting(jnp.isnan(points), values), jnp.nan, values)
    if kind == "previous":
        at = jnp.where(points >= x[-1], x.shape[0] - 1, at)
    elif kind == "next":
        at = jnp.where(points > x[at], at + 1, at)
    else:
        middle = x[at] / 2 + x[at + 1] / 2
        up = points >= middle if kind == "nearest-up" else points > middle
        at = jnp.where(up, at + 1, at)
    values = y[at]
    return jnp.where(fitting(jnp.isnan(points), values), jnp.nan, values)
