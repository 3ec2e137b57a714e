"""Integrals of values at given points: Simpson, trapezoids, Gauss."""

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._errors import SolverError
from ..._values import why_unknown
from .._solving._options import bound, real_array


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


def cumulative_simpson(
    y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> jax.Array:
    """The running integral by Simpson's rule: `scipy.integrate.cumulative_simpson`.

    Example:
        >>> import jfi as jnp
        >>> x = jnp.arange(4.0)
        >>> jnp.scipy.integrate.cumulative_simpson(x**2, x=x, initial=0).tolist()
        [0.0, 0.333, 2.667, 9.0]

    Args:
        y: Values, of any shape.
        x: `(n,)` points, or an array like `y`, which increase.
        dx: The space between points, without `x`.
        axis: The axis to integrate along.
        initial: What is put in front, and added to all, so that the result is as long
            as `y`.

    Returns:
        The integral up to each point but the first.

    Raises:
        SolverError: `x` does not fit `y`, or does not increase.
    """
    values, steps = _steps("cumulative_simpson()", y, x, dx, axis)
    if x is not None and not isinstance(steps, Tracer) and not (steps > 0).all():
        message = (
            "cumulative_simpson() got x that does not increase. Sort it, and y with it:"
            " i = jnp.argsort(x); x[i], y[i]"
        )
        raise SolverError(message)
    if values.shape[-1] < 3:
        parts = steps * (values[..., 1:] + values[..., :-1]) / 2
    else:
        parts = _parts_of_parabolas(values, steps)
    sums = jnp.cumsum(parts, axis=-1)
    if initial is not None:
        start = jnp.asarray(initial, sums.dtype)
        if start.ndim:
            start = jnp.moveaxis(start, axis, -1)
        start = jnp.broadcast_to(start, (*sums.shape[:-1], 1))
        sums = jnp.concatenate([start, start + sums], axis=-1)
    return jnp.moveaxis(sums, -1, axis)


def _parts_of_parabolas(values: jax.Array, steps: jax.Array) -> jax.Array:
    """The integral over each interval: every second one begins a parabola.

    The last interval ends one, so that it overlaps where their number is odd.
    """
    steps = jnp.broadcast_to(steps, (*values.shape[:-1], values.shape[-1] - 1))

    def part(y: list[jax.Array], near: jax.Array, far: jax.Array) -> jax.Array:
        whole = near + far
        bend = near / whole * (near / far)
        return near / 6 * (
            (3 - near / whole) * y[0] + (3 + bend + near / whole) * y[1] - bend * y[2]
        )  # fmt: skip

    three = [values[..., :-2], values[..., 1:-1], values[..., 2:]]
    first = part(three, steps[..., :-1], steps[..., 1:])
    second = part(three[::-1], steps[..., 1:], steps[..., :-1])
    interval = np.arange(steps.shape[-1])
    begins = (interval % 2 == 0) & (interval < steps.shape[-1] - 1)
    last = steps.shape[-1] - 2
    return jnp.where(
        begins, first[..., np.minimum(interval, last)], second[..., interval - 1]
    )


def romb(y: Any, dx: Any = 1.0, axis: int = -1) -> jax.Array:
    """Integrate `2 ** k + 1` values by Romberg's rule: `scipy.integrate.romb`.

    Example:
        >>> import jfi as jnp
        >>> float(jnp.scipy.integrate.romb(jnp.linspace(0.0, 2.0, 5) ** 2, dx=0.5))
        2.6667

    Args:
        y: Values at equally spaced points, of any shape, `2 ** k + 1` along `axis`.
        dx: The space between points.
        axis: The axis to integrate along.

    Returns:
        The integral, of the shape of `y` without the axis.

    Raises:
        SolverError: There are not `2 ** k + 1` values.
    """
    values, _ = _steps("romb()", y, None, dx, axis)
    spaces = values.shape[-1] - 1
    if spaces < 1 or spaces & (spaces - 1):
        message = (
            f"romb() got {spaces + 1} values along axis {axis}, and takes 2**k + 1 of "
            "them: 3, 5, 9, 17 ... For others write jnp.scipy.integrate.simpson(y, "
            "dx=dx)."
        )
        raise SolverError(message)
    step: Any = jnp.asarray(dx) * spaces
    sums = step * (values[..., 0] + values[..., -1]) / 2
    row: list[jax.Array] = [sums]
    while spaces > 1:  # halve the space, then extrapolate
        step, spaces = step / 2, spaces // 2
        between = values[..., spaces :: 2 * spaces].sum(-1)
        below = [row[0] / 2 + step * between]
        for k, above in enumerate(row):
            below.append(below[k] + (below[k] - above) / (4 ** (k + 1) - 1))
        row = below
    return row[-1]


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
        raise SolverError(message) from why_unknown(count)
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
