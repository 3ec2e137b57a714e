"""B-splines: the few basis functions that are not zero at a point."""

import jax
import jax.numpy as jnp

from ._base import Extrapolation
from ._intervals import interval_of, into_first_period, outside


def basis_at(
    knots: jax.Array, degree: int, points: jax.Array, nu: int
) -> tuple[jax.Array, list[jax.Array]]:
    """The basis functions that are not zero at points, or a derivative of theirs.

    Args:
        knots: `(n + degree + 1,)` floats that don't decrease.
        degree: That of the polynomials.
        points: Floats of the same dtype, in any shape.
        nu: Which derivative.

    Returns:
        The number of the first of these functions at each point, and the values of
        `degree + 1` functions there.

    References:
        C. de Boor, "A Practical Guide to Splines", chapter X (BSPLVB).
    """
    first = interval_of(knots[degree : knots.shape[0] - degree], points)
    interval = first + degree
    below = [points - knots[interval + 1 - j] for j in range(1, degree + 1)]
    above = [knots[interval + j] - points for j in range(1, degree + 1)]
    values = [jnp.ones_like(points)]
    for j in range(1, degree + 1):
        shares = [_ratio(values[r], above[r] + below[j - 1 - r]) for r in range(j)]
        if j <= degree - nu:
            rising = [below[j - 1 - r] * share for r, share in enumerate(shares)]
            falling = [above[r] * share for r, share in enumerate(shares)]
        else:
            rising = [j * share for share in shares]
            falling = [-j * share for share in shares]
        inner = [falling[r] + rising[r - 1] for r in range(1, j)]
        values = [falling[0], *inner, rising[-1]]
    if nu > degree:
        values = [jnp.zeros_like(points)] * (degree + 1)
    return first, values


def _ratio(value: jax.Array, width: jax.Array) -> jax.Array:
    """A quotient that is zero where several knots leave no interval."""
    empty = width == 0
    return jnp.where(empty, 0, value / jnp.where(empty, 1, width))


def points_inside(
    knots: jax.Array, degree: int, points: jax.Array, outer: Extrapolation
) -> tuple[jax.Array, jax.Array]:
    """Points where a spline is evaluated, and at which of them it is undefined."""
    first, last = knots[degree], knots[knots.shape[0] - degree - 1]
    undefined = jnp.isnan(points) if outer else outside(points, first, last)
    if outer == "periodic":
        points = into_first_period(points, first, last)
    return points, undefined
