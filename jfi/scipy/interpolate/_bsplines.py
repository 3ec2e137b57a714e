"""B-splines in JAX, and those that go through given values."""

import functools
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._errors import InterpolationError
from ..._values import why_unknown
from ._base import (
    Extrapolation,
    Interpolator,
    Numbers,
    axis_first,
    check_finite,
    check_increasing,
    derivative_order,
    extrapolation,
    inexact,
    place_axis,
    promoted,
    query_points,
    with_knots,
)
from ._basis import basis_at, points_inside
from ._intervals import fitting, into_first_period, nan_where, periods


class BSpline(Interpolator):
    """A spline as a sum of B-splines, as `scipy.interpolate.BSpline`, in JAX.

    It is a tree of JAX, with gradients with respect to points, coefficients and knots.

    Example:
        >>> import jfi as jnp
        >>> hat = jnp.scipy.interpolate.BSpline(
        ...     [0, 0, 1, 2, 2], [0, 1, 0], k=1, extrapolate=False
        ... )
        >>> hat(jnp.array([0.5, 1.0, 3.0]))
        Array([0.5, 1. , nan], dtype=float32)

    Args:
        t: `(n + k + 1,)` knots, which don't decrease, at least k + 1 of them before
            and after the interval of the spline.
        c: Coefficients, with n (or more, unused) along `axis`.
        k: The degree.
        extrapolate: Outside `t[k]` to `t[n]`: True takes the first and the last
            polynomial, False returns NaN, "periodic" repeats.
        axis: Which axis of c belongs to the knots.

    Raises:
        InterpolationError: The knots decrease, or shapes don't fit.
    """

    arrays: ClassVar[tuple[str, ...]] = ("t", "c")
    settings: ClassVar[tuple[str, ...]] = ("k", "extrapolate", "axis")
    t: jax.Array
    c: jax.Array  # with the axis of the knots in front
    k: int
    extrapolate: Extrapolation
    axis: int

    def __init__(
        self,
        t: Numbers,
        c: Numbers,
        k: int,
        extrapolate: Extrapolation = True,
        axis: int = 0,
    ) -> None:
        name = "BSpline()"
        knots, values = inexact(t, c)
        knots = knots.real if jnp.iscomplexobj(knots) else knots
        given: Any = k
        if isinstance(given, Tracer) or int(given) != given or given < 0:
            message = f"{name} got k={k}. Pass a degree: 0, 1, 2, 3 ..."
            raise InterpolationError(message) from why_unknown(k)
        degree = int(k)
        check_increasing(name, t, knots, strictly=False)
        n = knots.size - degree - 1
        axis = axis % max(values.ndim, 1)
        if n < degree + 1 or values.ndim == 0 or values.shape[axis] < n:
            message = (
                f"{name} got {knots.size} knots, k={degree} and coefficients of shape "
                f"{values.shape}. Pass n coefficients and n + k + 1 knots, n > k."
            )
            raise InterpolationError(message)
        if not isinstance(knots, Tracer) and not knots[degree] < knots[n]:
            message = (
                f"{name} got knots that leave no interval: t[{degree}] = t[{n}] = "
                f"{knots[n]}."
            )
            raise InterpolationError(message)
        outer = extrapolation(name, extrapolate, True)
        values = jnp.moveaxis(values, axis, 0)[:n]
        self._set(t=knots, c=values, k=degree, extrapolate=outer, axis=axis)

    def __call__(
        self, x: Numbers, nu: int = 0, extrapolate: Extrapolation | None = None
    ) -> jax.Array:
        """The values at points, or those of a derivative.

        Args:
            x: Real points, in any shape.
            nu: Which derivative.
            extrapolate: As for the class; None is its setting.

        Returns:
            The values; the axes of the points stand where the knots' axis was. NaN in,
            NaN out.
        """
        points = query_points("BSpline()", x, self.c.dtype)
        outer = extrapolation("BSpline()", extrapolate, self.extrapolate)
        order = derivative_order("BSpline()", nu)
        values = values_at(self.t, self.c, points, self.k, order, outer)
        return place_axis(values, points.ndim, self.axis)

    def derivative(self, nu: int = 1) -> "BSpline":
        """The derivative of an order, as another spline; negative orders integrate."""
        if nu < 0:
            return self.antiderivative(-nu)
        t, c, k = self.t, self.c, self.k
        order = derivative_order("derivative()", nu)
        if order > k:
            message = f"a spline of degree {k} has no derivative of the order {order}"
            raise InterpolationError(message)
        for _ in range(order):
            n = c.shape[0]
            width = t[k + 1 : n + k] - t[1:n]
            if not isinstance(width, Tracer) and not (np.asarray(width) > 0).all():
                message = (
                    f"the spline has {k + 1} equal knots inside, where it jumps: it "
                    f"has no derivative of the order {order} there"
                )
                raise InterpolationError(message)
            c = k * (c[1:] - c[:-1]) / fitting(width, c)
            t, k = t[1:-1], k - 1
        return self._like(t, c, k, self.extrapolate)

    def antiderivative(self, nu: int = 1) -> "BSpline":
        """The integral from the first knot on, so many times, as another spline.

        That of a periodic function is NaN outside the knots, as in SciPy.
        """
        if nu < 0:
            return self.derivative(-nu)
        t, c, k = self.t, self.c, self.k
        for _ in range(derivative_order("antiderivative()", nu)):
            width = t[k + 1 :] - t[: -k - 1]
            sums = jnp.cumsum(c * fitting(width, c) / (k + 1), axis=0)
            c = jnp.concatenate([jnp.zeros_like(c[:1]), sums])
            t, k = jnp.concatenate([t[:1], t, t[-1:]]), k + 1
        outer = False if self.extrapolate == "periodic" else self.extrapolate
        return self._like(t, c, k, outer)

    def integrate(
        self, a: Numbers, b: Numbers, extrapolate: Extrapolation | None = None
    ) -> jax.Array:
        """The integral from a to b, numbers or arrays of one shape.

        Args:
            a: Where it begins.
            b: Where it ends.
            extrapolate: As for the class; None is its setting. With False the spline
                is zero outside, here, as in SciPy.

        Returns:
            The integrals.
        """
        outer = extrapolation("integrate()", extrapolate, self.extrapolate)
        ends = jnp.broadcast_arrays(
            *(query_points("integrate()", end, self.c.dtype) for end in (a, b))
        )
        whole = self.antiderivative()
        first, last = self.t[self.k], self.t[self.t.shape[0] - self.k - 1]

        def up_to(end: jax.Array) -> Any:
            if outer == "periodic":
                within = into_first_period(end, first, last)
            else:
                within = end if outer else jnp.clip(end, first, last)
            values = values_at(whole.t, whole.c, within, whole.k, 0, True)
            if outer != "periodic":
                return values
            turns = fitting(periods(end, first, last), values)
            over = values_at(
                whole.t, whole.c, jnp.stack([first, last]), whole.k, 0, True
            )
            return turns * (over[1] - over[0]) + values

        over = up_to(ends[1]) - up_to(ends[0])
        return place_axis(over, ends[0].ndim, self.axis)

    def _like(
        self, t: jax.Array, c: jax.Array, k: int, outer: Extrapolation
    ) -> "BSpline":
        return BSpline.of_fields(t=t, c=c, k=k, extrapolate=outer, axis=self.axis)

    @classmethod
    def of_scipy(cls, spline: Any) -> Self:
        """The same spline as that of an object of SciPy."""
        c = np.moveaxis(spline.c, 0, spline.axis)
        return cls(spline.t, c, spline.k, spline.extrapolate, spline.axis)


@functools.partial(jax.jit, static_argnums=(3, 4, 5))
def values_at(
    knots: jax.Array,
    c: jax.Array,
    points: jax.Array,
    degree: int,
    nu: int,
    outer: Extrapolation,
) -> jax.Array:
    """The values of a spline; c has the axis of the knots in front."""
    knots = knots.astype(points.dtype)
    c = c.astype(promoted(c.dtype, points.dtype))
    inside, undefined = points_inside(knots, degree, points, outer)
    first, weights = basis_at(knots, degree, inside, nu)
    values = jnp.zeros(points.shape + c.shape[1:], c.dtype)
    for j, weight in enumerate(weights):
        values = values + fitting(weight, values) * c[first + j]
    return nan_where(undefined, values)


def make_interp_spline(
    x: Numbers,
    y: Numbers,
    k: int = 3,
    t: Numbers | None = None,
    bc_type: Any = None,
    axis: int = 0,
) -> BSpline:
    """The B-spline through values, as `scipy.interpolate.make_interp_spline`, in JAX.

    Values and knots may be traced: the coefficients are solved for in JAX, with a full
    matrix of the size of the knots. For thousands of knots use `CubicSpline`.

    Example:
        >>> import jfi as jnp
        >>> x = jnp.linspace(0.0, 3.0, 8)
        >>> spline = jnp.scipy.interpolate.make_interp_spline(x, x**4, k=5)
        >>> spline(2.0).round(3), spline(2.0, 2).round(2)
        (Array(16., dtype=float32), Array(48., dtype=float32))

    Args:
        x: `(n,)` points, which increase.
        y: Values, with n along `axis`.
        k: The degree.
        t: The knots; None chooses them, "not-a-knot" without end conditions.
        bc_type: None, "natural", "clamped", or two lists of `(order, value)`, one for
            each end, with as many conditions in all as there are free coefficients.
        axis: Which axis of y belongs to the points.

    Returns:
        The spline.

    Raises:
        InterpolationError: Points, values, degree or conditions don't fit.
    """
    from ._through_values import fitted

    points, values = with_knots("make_interp_spline()", x, y)
    axis = axis % max(values.ndim, 1)
    values = axis_first("make_interp_spline()", values, axis, points.size)
    check_finite("make_interp_spline()", values)
    knots, c = fitted(points, values, k, t, bc_type)
    return BSpline.of_fields(t=knots, c=c, k=int(k), extrapolate=True, axis=axis)
