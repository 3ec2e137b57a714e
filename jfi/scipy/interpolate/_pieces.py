"""Polynomials on intervals: values, derivatives, integrals."""

import functools
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp

from ..._errors import InterpolationError
from ._base import (
    Extrapolation,
    Interpolator,
    Numbers,
    derivative_order,
    extrapolation,
    place_axis,
    promoted,
    query_points,
    with_knots,
)
from ._intervals import (
    factorial_ratio,
    fitting,
    interval_of,
    into_first_period,
    nan_where,
    outside,
    periods,
)


class PPoly(Interpolator):
    """A polynomial on each interval, as `scipy.interpolate.PPoly`, in JAX.

    It is a tree of JAX: an argument of `jit` and `vmap`, with gradients with respect to
    points, coefficients and knots. `CubicSpline` and the like are of this class.

    Example:
        >>> import jfi as jnp
        >>> line_and_parabola = jnp.scipy.interpolate.PPoly(
        ...     [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [0.0, 1.0, 2.0]
        ... )
        >>> line_and_parabola(jnp.array([0.5, 2.0]))
        Array([0.5, 2. ], dtype=float32)
        >>> line_and_parabola.integrate(0.0, 2.0)
        Array(1.8333334, dtype=float32)

    Args:
        c: `(k, m, ...)` coefficients, the highest power first: on the interval i the
            value is `sum(c[j, i] * (x - knots[i]) ** (k - 1 - j))`.
        x: `(m + 1,)` knots, which increase.
        extrapolate: Outside the knots: True takes the first and the last polynomial,
            False returns NaN, "periodic" repeats. None is True.
        axis: Where the results have the axes of the points.

    Raises:
        InterpolationError: The knots don't increase, or shapes don't fit.
    """

    arrays: ClassVar[tuple[str, ...]] = ("c", "x")
    settings: ClassVar[tuple[str, ...]] = ("extrapolate", "axis")
    c: jax.Array
    x: jax.Array
    extrapolate: Extrapolation
    axis: int

    def __init__(
        self,
        c: Numbers,
        x: Numbers,
        extrapolate: Extrapolation | None = None,
        axis: int = 0,
    ) -> None:
        name = type(self).__name__ + "()"
        knots, coefficients = with_knots(name, x, c)
        shape = coefficients.shape
        fits = len(shape) >= 2 and shape[0] > 0 and shape[1] == knots.size - 1
        if not fits or not 0 <= axis <= len(shape) - 2:
            message = (
                f"{name} got coefficients of shape {shape} for {knots.size} knots, and "
                f"axis={axis}. Pass coefficients of shape (k, {knots.size - 1}, ...)."
            )
            raise InterpolationError(message)
        outer = extrapolation(name, extrapolate, True)
        self._set(c=coefficients, x=knots, extrapolate=outer, axis=axis)

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
            NaN out. Where the value is NaN, the derivative that JAX computes is 0.
        """
        name = type(self).__name__ + "()"
        points = query_points(name, x, self.c.dtype)
        outer = extrapolation(name, extrapolate, self.extrapolate)
        values = _values_at(self.c, self.x, points, derivative_order(name, nu), outer)
        return place_axis(values, points.ndim, self.axis)

    def derivative(self, nu: int = 1) -> "PPoly":
        """The derivative of an order, as another `PPoly`; negative orders integrate."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = differentiated(self.c, derivative_order("derivative()", nu))
        return self._like(c, self.extrapolate)

    def antiderivative(self, nu: int = 1) -> "PPoly":
        """The integral from the first knot on, so many times, as another `PPoly`.

        That of a periodic function is NaN outside the knots, as in SciPy.
        """
        if nu < 0:
            return self.derivative(-nu)
        c = self.c
        for _ in range(derivative_order("antiderivative()", nu)):
            c = _integrated(c, self.x)
        outer = False if self.extrapolate == "periodic" else self.extrapolate
        return self._like(c, outer)

    def integrate(
        self, a: Numbers, b: Numbers, extrapolate: Extrapolation | None = None
    ) -> jax.Array:
        """The integral from a to b, numbers or arrays of one shape.

        Example:
            >>> import jfi as jnp
            >>> spline = jnp.scipy.interpolate.CubicSpline([0, 1, 2, 3], [0, 1, 4, 9])
            >>> spline.integrate(0.0, 3.0)
            Array(9., dtype=float32)

        Args:
            a: Where it begins.
            b: Where it ends.
            extrapolate: As for the class; None is its setting.

        Returns:
            The integrals; NaN where the function is.
        """
        name = type(self).__name__ + ".integrate()"
        outer = extrapolation(name, extrapolate, self.extrapolate)
        integral = self.antiderivative()
        ends = jnp.broadcast_arrays(
            *(query_points(name, end, self.c.dtype) for end in (a, b))
        )
        first, last = self.x[0], self.x[-1]

        def up_to(end: jax.Array) -> Any:
            if outer != "periodic":
                return _values_at(integral.c, self.x, end, 0, outer)
            within = into_first_period(end, first, last)
            values = _values_at(integral.c, self.x, within, 0, True)
            whole = _values_at(integral.c, self.x, last, 0, True)
            return fitting(periods(end, first, last), values) * whole + values

        over = up_to(ends[1]) - up_to(ends[0])
        return place_axis(over, ends[0].ndim, self.axis)

    def _like(self, c: jax.Array, outer: Extrapolation) -> "PPoly":
        return PPoly.of_fields(c=c, x=self.x, extrapolate=outer, axis=self.axis)

    @classmethod
    def of_scipy(cls, spline: Any) -> Self:
        """The same polynomials as those of an object of SciPy."""
        knots, c = with_knots(f"jaxify({type(spline).__name__})", spline.x, spline.c)
        outer = extrapolation("jaxify()", spline.extrapolate, True)
        return cls.of_fields(c=c, x=knots, extrapolate=outer, axis=spline.axis)


def differentiated(c: jax.Array, order: int) -> jax.Array:
    """The coefficients of a derivative."""
    k = c.shape[0]
    if order == 0:
        return c
    if order >= k:
        return jnp.zeros_like(c[:1])
    factors = [factorial_ratio(k - 1 - j, order) for j in range(k - order)]
    return jnp.stack([factor * c[j] for j, factor in enumerate(factors)])


def _integrated(c: jax.Array, x: jax.Array) -> jax.Array:
    """The coefficients of the integral from the first knot on, which is continuous."""
    k = c.shape[0]
    powers = [c[j] / (k - j) for j in range(k)]
    width = (x[1:] - x[:-1]).reshape(-1, *(1,) * (c.ndim - 2))
    over = functools.reduce(lambda value, p: (value + p) * width, powers, 0.0 * c[0])
    before = jnp.cumsum(over, axis=0) - over
    return jnp.stack([*powers, before])


@functools.partial(jax.jit, static_argnums=(3, 4))
def _values_at(
    c: jax.Array, x: jax.Array, points: jax.Array, nu: int, outer: Extrapolation
) -> jax.Array:
    precise = points.dtype
    x = x.astype(precise)
    c = differentiated(c, nu).astype(promoted(c.dtype, precise))
    inside = points
    if outer == "periodic":
        inside = into_first_period(points, x[0], x[-1])
    at = interval_of(x, inside)
    step = inside - x[at]
    step = step.reshape(step.shape + (1,) * (c.ndim - 2))
    values = c[0][at]
    for power in c[1:]:
        values = values * step + power[at]
    undefined = jnp.isnan(points) if outer else outside(points, x[0], x[-1])
    return nan_where(undefined, values)
