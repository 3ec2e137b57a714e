"""Cubic interpolators: slopes at the knots, in Hermite's form made polynomials."""

from typing import Any, Literal

import jax
import jax.numpy as jnp

from ..._errors import InterpolationError
from ._base import (
    Extrapolation,
    Numbers,
    axis_first,
    check_finite,
    extrapolation,
    with_knots,
)
from ._cubic_slopes import akima_slopes, pchip_slopes
from ._cubic_spline import EndCondition, spline_slopes
from ._pieces import PPoly


class _Cubic(PPoly):
    """Base of what goes through given values, cubic between two knots."""

    def _through(
        self,
        x: jax.Array,
        y: jax.Array,
        slopes: jax.Array,
        outer: Extrapolation,
        axis: int,
    ) -> None:
        """Set the polynomials by values and slopes at the knots (axis 0)."""
        check_finite(type(self).__name__ + "()", y)
        width = (x[1:] - x[:-1]).reshape(-1, *(1,) * (y.ndim - 1))
        secant = (y[1:] - y[:-1]) / width
        bend = (slopes[:-1] + slopes[1:] - 2 * secant) / width
        c = jnp.stack(
            [bend / width, (secant - slopes[:-1]) / width - bend, slopes[:-1], y[:-1]]
        )
        self._set(c=c, x=x, extrapolate=outer, axis=axis)


class CubicSpline(_Cubic):
    """The cubic spline through values, as `scipy.interpolate.CubicSpline`, in JAX.

    Values, knots and end conditions may be traced: the spline is solved for in JAX, and
    has gradients with respect to all of them. It is a `PPoly` otherwise.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> x = jnp.arange(5.0)
        >>> spline = jnp.scipy.interpolate.CubicSpline(x, x**3)
        >>> spline(1.5), spline(1.5, 1)
        (Array(3.375, dtype=float32), Array(6.75, dtype=float32))
        >>> def middle(y):
        ...     return jnp.scipy.interpolate.CubicSpline(x, y)(2.0)
        >>> jax.grad(middle)(x**3).round(3)
        Array([0., 0., 1., 0., 0.], dtype=float32)

    Args:
        x: `(n,)` knots, n >= 2, which increase.
        y: Values, with n along `axis`.
        axis: Which axis of y belongs to the knots.
        bc_type: What holds at the two ends: "not-a-knot", "natural" (second derivative
            0), "clamped" (first derivative 0), "periodic", or a pair with a word or
            `(order, value)` for each end, order 1 or 2.
        extrapolate: As for `PPoly`; None is "periodic" for a periodic spline, and True
            otherwise.

    Raises:
        InterpolationError: Knots, values or end conditions don't fit.

    References:
        C. de Boor, "A Practical Guide to Splines", chapter IV.
    """

    def __init__(
        self,
        x: Numbers,
        y: Numbers,
        axis: int = 0,
        bc_type: EndCondition | tuple[EndCondition, EndCondition] = "not-a-knot",
        extrapolate: Extrapolation | None = None,
    ) -> None:
        knots, values = with_knots("CubicSpline()", x, y)
        axis = axis % max(values.ndim, 1)
        values = axis_first("CubicSpline()", values, axis, knots.size)
        slopes = spline_slopes(knots, values, bc_type)
        periodic: Extrapolation = "periodic" if bc_type == "periodic" else True
        outer = extrapolation("CubicSpline()", extrapolate, periodic)
        self._through(knots, values, slopes, outer, axis)


class CubicHermiteSpline(_Cubic):
    """Cubic polynomials through values with given slopes, as in `scipy.interpolate`.

    Example:
        >>> import jfi as jnp
        >>> rise = jnp.scipy.interpolate.CubicHermiteSpline([0, 1], [0, 1], [0, 0])
        >>> rise(0.5)
        Array(0.5, dtype=float32)

    Args:
        x: `(n,)` knots, n >= 2, which increase.
        y: Values, with n along `axis`.
        dydx: Slopes at the knots, in the shape of y.
        axis: Which axis of y belongs to the knots.
        extrapolate: As for `PPoly`.

    Raises:
        InterpolationError: Knots, values or slopes don't fit.
    """

    def __init__(
        self,
        x: Numbers,
        y: Numbers,
        dydx: Numbers,
        axis: int = 0,
        extrapolate: Extrapolation | None = None,
    ) -> None:
        name = "CubicHermiteSpline()"
        values, slopes = jnp.asarray(y), jnp.asarray(dydx)
        if values.shape != slopes.shape:
            message = (
                f"{name} got values of shape {values.shape} and slopes of shape "
                f"{slopes.shape}. Pass one slope for each value."
            )
            raise InterpolationError(message)
        both = jnp.stack(jnp.broadcast_arrays(values, slopes))
        knots, both = with_knots(name, x, both)
        axis = axis % max(values.ndim, 1)
        values = axis_first(name, both[0], axis, knots.size)
        slopes = axis_first(name, both[1], axis, knots.size)
        check_finite(name, slopes)
        outer = extrapolation(name, extrapolate, True)
        self._through(knots, values, slopes, outer, axis)


class PchipInterpolator(_Cubic):
    """Monotone cubic interpolation, as `scipy.interpolate.PchipInterpolator`, in JAX.

    It does not overshoot: between two knots it lies between their values.

    Example:
        >>> import jfi as jnp
        >>> step = jnp.scipy.interpolate.PchipInterpolator([0, 1, 2, 3], [0, 0, 1, 1])
        >>> step(jnp.array([0.5, 1.5]))
        Array([0. , 0.5], dtype=float32)

    Args:
        x: `(n,)` knots, n >= 2, which increase.
        y: Real values, with n along `axis`.
        axis: Which axis of y belongs to the knots.
        extrapolate: As for `PPoly`.

    Raises:
        InterpolationError: Knots or values don't fit.

    References:
        F. N. Fritsch and J. Butland, "A method for constructing local monotone
        piecewise cubic interpolants", SIAM J. Sci. Stat. Comput. 5, 1984.
    """

    def __init__(
        self,
        x: Numbers,
        y: Numbers,
        axis: int = 0,
        extrapolate: Extrapolation | None = None,
    ) -> None:
        knots, values, axis = _real("PchipInterpolator()", x, y, axis)
        outer = extrapolation("PchipInterpolator()", extrapolate, True)
        self._through(knots, values, pchip_slopes(knots, values), outer, axis)


class Akima1DInterpolator(_Cubic):
    """Akima's local cubic interpolation, as `scipy.interpolate.Akima1DInterpolator`.

    Example:
        >>> import jfi as jnp
        >>> akima = jnp.scipy.interpolate.Akima1DInterpolator(
        ...     [0, 1, 2, 3, 4], [0, 0, 1, 0, 0], method="makima"
        ... )
        >>> akima(1.5)
        Array(0.5535..., dtype=float32)

    Args:
        x: `(n,)` knots, n >= 2, which increase.
        y: Real values, with n along `axis`.
        axis: Which axis of y belongs to the knots.
        method: "akima", or "makima", which overshoots less.
        extrapolate: As for `PPoly`, but None is False: NaN outside.

    Raises:
        InterpolationError: Knots, values or the method don't fit.

    References:
        H. Akima, "A new method of interpolation and smooth curve fitting based on
        local procedures", J. ACM 17, 1970.
    """

    def __init__(
        self,
        x: Numbers,
        y: Numbers,
        axis: int = 0,
        *,
        method: Literal["akima", "makima"] = "akima",
        extrapolate: Extrapolation | None = None,
    ) -> None:
        name = "Akima1DInterpolator()"
        if method not in ("akima", "makima"):
            message = f"{name} got method={method!r}. Pass 'akima' or 'makima'."
            raise InterpolationError(message)
        knots, values, axis = _real(name, x, y, axis)
        slopes = akima_slopes(knots, values, modified=method == "makima")
        outer = extrapolation(name, extrapolate, False)
        self._through(knots, values, slopes, outer, axis)


def _real(name: str, x: Numbers, y: Any, axis: int) -> tuple[jax.Array, jax.Array, int]:
    knots, values = with_knots(name, x, y)
    if jnp.iscomplexobj(values):
        message = f"{name} got complex values. Pass y.real and y.imag apart."
        raise InterpolationError(message)
    axis = axis % max(values.ndim, 1)
    return knots, axis_first(name, values, axis, knots.size), axis
