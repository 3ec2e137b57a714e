"""Integrals of values at given points: Simpson, trapezoids, Gauss."""

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._errors import SolverError
from ._options import bound, real_array


def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> jax.Array:
    """Integrate values by Simpson's rule: `scipy.integrate.simpson`.

    Example:
        >>> import jfi as jnp
        >>> x = jnp.linspace(0.0, 2.0, 5)
        >>> float(jnp.scipy.integrate.simpson(x**2, x))
        2.6667

    Args:
        y: Values, of any shape.
        x: `(n,)` points, which may be spaced unevenly, or an array like `y`.
        dx: The space between points, without `x`.
        axis: The axis to integrate along.

    Returns:
        The integral, of the shape of `y` without the axis. Of an even number of points
        the last interval is that of a parabola through the last three, as in SciPy.

    Raises:
        SolverError: `x` does not fit `y`.
    """
    values, steps = _steps("simpson()", y, x, dx, axis)
    n = values.shape[-1]
    if n < 2:
        return jnp.zeros(values.shape[:-1], values.dtype)
    if n == 2:
        return steps[..., 0] * (values[..., 0] + values[..., 1]) / 2
    even = n - 1 - (n - 1) % 2  # intervals in pairs
    first, second = steps[..., 0:even:2], steps[..., 1:even:2]
    left, middle, right = (values[..., k : k + even - 1 : 2] for k in range(3))
    both = first + second
    parabolas = both / 6 * (
        left * (2 - _ratio(second, first))
        + middle * both * _ratio(both, first * second)
        + right * (2 - _ratio(first, second))
    )  # fmt: skip
    total = parabolas.sum(-1)
    if even < n - 1:
        before, last = steps[..., -2], steps[..., -1]
        total += values[..., -1] * _ratio(
            last * (2 * last + 3 * before), 6 * (last + before)
        )
        total += values[..., -2] * _ratio(last * (last + 3 * before), 6 * before)
        total -= values[..., -3] * _ratio(last**3, 6 * before * (before + last))
    return total


def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> jax.Array:
    """The running integral of values: `scipy.integrate.cumulative_trapezoid`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.integrate.cumulative_trapezoid(jnp.arange(4.0), initial=0)
        Array([0. , 0.5, 2. , 4.5], dtype=float32)

    Args:
        y: Values, of any shape.
        x: `(n,)` points, or an array like `y`.
        dx: The space between points, without `x`.
        axis: The axis to integrate along.
        initial: 0 puts a zero in front, so that the result is as long as `y`.

    Returns:
        The integral up to each point but the first.

    Raises:
        SolverError: `x` does not fit `y`, or `initial` is neither None nor 0.
    """
    values, steps = _steps("cumulative_trapezoid()", y, x, dx, axis)
    if initial is not None and initial != 0:
        message = (
            f"cumulative_trapezoid() got initial={initial}. Pass None or 0, and add "
            "the number to the result."
        )
        raise SolverError(message)
    sums = jnp.cumsum(steps * (values[..., 1:] + values[..., :-1]) / 2, axis=-1)
    if initial is not None:
        sums = jnp.concatenate([jnp.zeros_like(values[..., :1]), sums], axis=-1)
    return jnp.moveaxis(sums, -1, axis)


def _steps(
    name: str, y: Any, x: Any, dx: Any, axis: int
) -> tuple[jax.Array, jax.Array]:
    """The values with the axis last, and the spaces between them."""
    values = jnp.asarray(y)
    if not jnp.issubdtype(values.dtype, jnp.inexact):
        values = values.astype(float)
    values = jnp.moveaxis(values, axis, -1)
    spaces = max(values.shape[-1] - 1, 0)
    if x is None:
        step = jnp.asarray(dx)
        return values, jnp.broadcast_to(step[..., None], (*step.shape, spaces))
    points = jnp.asarray(x)
    if points.ndim > 1 or values.ndim == 1:
        points = jnp.moveaxis(points, axis, -1)
    fits = points.shape in (values.shape, values.shape[-1:])
    if not fits:
        message = (
            f"{name} got x of shape {points.shape} for y of shape "
            f"{jnp.shape(y)} along axis {axis}. Pass one point for each value there."
        )
        raise SolverError(message)
    return values, jnp.diff(points, axis=-1)


def _ratio(above: jax.Array, below: jax.Array) -> jax.Array:
    """Their ratio; zero where two points are one, as in SciPy."""
    nothing = below == 0
    return jnp.where(nothing, 0, above / jnp.where(nothing, 1, below))


def fixed_quad(
    func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5
) -> tuple[jax.Array, None]:
    """Integrate by Gauss's rule with a fixed number of points: SciPy's `fixed_quad`.

    All of it is JAX: it runs on the device, and has derivatives with respect to the
    limits and to all that `func` reads.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> area = lambda b: jnp.scipy.integrate.fixed_quad(jnp.square, 0.0, b, n=3)[0]
        >>> float(area(3.0)), float(jax.grad(area)(3.0))
        (9.0, 9.0)

    Args:
        func: `func(x, *args)` of an `(n,)` array, returns an array `(..., n)`.
        a: The lower limit, a number.
        b: The upper limit, a number.
        args: More arguments of `func`, of any type that JAX takes.
        n: How many points; it is exact for polynomials of degree `2n - 1`.

    Returns:
        The integral, of the shape of `func(x)` without the last axis, and None, as in
        SciPy.

    Raises:
        SolverError: `n` is traced, or less than 1.
        ValueError: SciPy's: a limit is infinite. NaN where limits are traced.
    """
    count: Any = n
    if isinstance(count, Tracer) or operator.index(count) < 1:
        message = f"fixed_quad() got n={n}. Pass a Python integer from 1 on: n=5."
        raise SolverError(message)
    low, high = (real_array(end, "the limits of fixed_quad()") for end in (a, b))
    if any(not isinstance(e, Tracer) and jnp.isinf(e).any() for e in (low, high)):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    dtype = jnp.result_type(low, high)
    points, weights = np.polynomial.legendre.leggauss(operator.index(count))
    half = (high - low) / 2
    x = half * (jnp.asarray(points, dtype) + 1) + low
    values = jnp.asarray(bound(func, args)(x))
    total = half * jnp.sum(jnp.asarray(weights, dtype) * values, axis=-1)
    return total, None
