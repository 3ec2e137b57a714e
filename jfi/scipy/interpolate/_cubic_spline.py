"""Slopes of the cubic spline: a tridiagonal system, solved in JAX."""

import functools
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._errors import InterpolationError
from ._base import Numbers, end_value


Word: TypeAlias = Literal["not-a-knot", "natural", "clamped", "periodic"]
EndCondition: TypeAlias = Word | tuple[int, Numbers]


def spline_slopes(x: jax.Array, y: jax.Array, bc_type: Any) -> jax.Array:
    """The slopes at the knots of the spline through values (knots on axis 0).

    Raises:
        InterpolationError: `bc_type` is none, or does not fit the values.
    """
    if isinstance(bc_type, str) and bc_type == "periodic":
        _check_periodic(y)
        periodic: jax.Array = _periodic_slopes(x, y)
        return periodic
    conditions = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    if len(conditions) != 2:
        raise _no_condition(bc_type)
    ends = [_condition(end, y) for end in conditions]
    if x.shape[0] == 2:  # no knot to leave out: the line
        line = (y[1] - y[0]) / (x[1] - x[0])
        ends = [end if end[0] else (1, line) for end in ends]
    orders = ends[0][0], ends[1][0]
    found: jax.Array = _slopes(orders, x, y, ends[0][1], ends[1][1])
    return found


def _condition(given: Any, y: jax.Array) -> tuple[int, jax.Array]:
    """Which derivative an end has, and its value; 0 is "not a knot"."""
    words = {"not-a-knot": (0, 0.0), "natural": (2, 0.0), "clamped": (1, 0.0)}
    if isinstance(given, str):
        if given not in words:
            raise _no_condition(given)
        order, value = words[given]
        return order, jnp.full(y.shape[1:], value, y.dtype)
    try:
        order, value = given
        number = end_value(value, y)
    except (TypeError, ValueError):
        raise _no_condition(given) from None
    if isinstance(order, Tracer) or order not in (1, 2):
        raise _no_condition(given)
    if number.shape != y.shape[1:]:
        message = (
            f"CubicSpline() got an end condition with a value of shape {number.shape}, "
            f"and needs {y.shape[1:]}: one number for each curve."
        )
        raise InterpolationError(message)
    return int(order), number


def _no_condition(given: Any) -> InterpolationError:
    return InterpolationError(
        f"CubicSpline() got the end condition {given!r}. Pass bc_type='not-a-knot', "
        "'natural', 'clamped' or 'periodic', or two of them, such as "
        "('natural', (1, 0.5)): the order of a derivative and its value."
    )


def _check_periodic(y: jax.Array) -> None:
    if isinstance(y, Tracer):
        return
    first, last = np.asarray(y[0]), np.asarray(y[-1])
    if not np.allclose(first, last, rtol=1e-15, atol=1e-15):
        message = (
            "CubicSpline() got bc_type='periodic', and first and last values that "
            f"differ: {first.tolist()} and {last.tolist()}.\n"
            "Write y = y.at[-1].set(y[0]) if they are meant to be equal."
        )
        raise InterpolationError(message)


@functools.partial(jax.jit, static_argnums=0)
def _slopes(
    orders: tuple[int, int],
    x: jax.Array,
    y: jax.Array,
    first_value: jax.Array,
    last_value: jax.Array,
) -> jax.Array:
    width, secant = _widths_and_secants(x, y)
    wide = width.reshape(-1, *(1,) * (y.ndim - 1))
    if x.shape[0] == 3 and orders == (0, 0):  # the parabola through three points
        lower = jnp.stack([0 * width[0], width[1], 0 * width[0] + 1])
        upper = jnp.stack([0 * width[0] + 1, width[0], 0 * width[0]])
        diagonal = jnp.stack([upper[0], 2 * (width[0] + width[1]), upper[0]])
        middle = 3 * (wide[0] * secant[1] + wide[1] * secant[0])
        right = jnp.stack([2 * secant[0], middle, 2 * secant[1]])
        return _solve_tridiagonal(lower, diagonal, upper, right)
    first_value = -first_value if orders[0] == 2 else first_value
    first = _end_row(orders[0], wide, secant, first_value)
    last = _end_row(orders[1], wide[::-1], secant[::-1], last_value)
    inner = 3 * (wide[1:] * secant[:-1] + wide[:-1] * secant[1:])
    zero = jnp.zeros(1, x.dtype)
    diagonal = jnp.concatenate([first[0], 2 * (width[:-1] + width[1:]), last[0]])
    upper = jnp.concatenate([first[1], width[:-1], zero])
    lower = jnp.concatenate([zero, width[1:], last[1]])
    right = jnp.concatenate([first[2][None], inner, last[2][None]])
    return _solve_tridiagonal(lower, diagonal, upper, right)


def _end_row(
    order: int, wide: jax.Array, secant: jax.Array, value: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The equation of an end: two coefficients and the right side.

    Args:
        order: Which derivative is given; 0: the third is continuous at the next knot.
        wide: The widths of the intervals, seen from this end, in the shape of values.
        secant: The secants, seen from this end.
        value: The derivative; seen from the other side the second one has another sign.
    """
    width = wide.ravel()[:1]
    if order == 1:
        return jnp.ones_like(width), jnp.zeros_like(width), value
    if order == 2:
        right = 3 * wide[0] * secant[0] + value * wide[0] ** 2 / 2
        return 2 * width, width, right
    both = wide[0] + wide[1]
    right = (wide[0] + 2 * both) * wide[1] * secant[0] + wide[0] ** 2 * secant[1]
    return wide.ravel()[1:2], both.ravel()[:1], right / both


@jax.jit
def _periodic_slopes(x: jax.Array, y: jax.Array) -> jax.Array:
    width, secant = _widths_and_secants(x, y)
    wide = width.reshape(-1, *(1,) * (y.ndim - 1))
    if x.shape[0] == 2:
        return jnp.zeros_like(y)
    if x.shape[0] == 3:
        slope = (secant / wide).sum(0) / (1 / wide).sum(0)
        return jnp.stack([slope] * 3)
    before, before_secant = jnp.roll(width, 1), jnp.roll(secant, 1, axis=0)
    right = 3 * (wide * before_secant + jnp.roll(wide, 1, axis=0) * secant)
    slopes = _solve_cyclic(width, 2 * (before + width), before, right)
    return jnp.concatenate([slopes, slopes[:1]])


def _solve_cyclic(
    lower: jax.Array, diagonal: jax.Array, upper: jax.Array, right: jax.Array
) -> jax.Array:
    """Solve a tridiagonal system with two more corners, by Sherman and Morrison.

    The matrix is a tridiagonal one plus the product of two vectors, u and v.
    """
    n = diagonal.shape[0]
    shift = -diagonal[0]
    u = jnp.zeros(n, right.dtype).at[0].set(shift).at[-1].set(upper[-1])
    v = jnp.zeros(n, right.dtype).at[0].set(1).at[-1].set(lower[0] / shift)
    changed = diagonal.at[0].add(-shift).at[-1].add(-upper[-1] * lower[0] / shift)
    columns = right.reshape(n, -1)
    both = _solve_tridiagonal(
        lower.at[0].set(0),
        changed,
        upper.at[-1].set(0),
        jnp.concatenate([columns, u[:, None]], axis=1),
    )
    solved, of_u = both[:, :-1], both[:, -1]
    solved = solved - jnp.outer(of_u, v @ solved / (1 + v @ of_u))
    return solved.reshape(right.shape)


def _solve_tridiagonal(
    lower: jax.Array, diagonal: jax.Array, upper: jax.Array, right: jax.Array
) -> jax.Array:
    columns = right.reshape(right.shape[0], -1)
    if not jnp.iscomplexobj(columns):
        solved = jax.lax.linalg.tridiagonal_solve(lower, diagonal, upper, columns)
        return solved.reshape(right.shape)
    parts = jnp.concatenate([columns.real, columns.imag], axis=1)
    real, imaginary = jnp.split(
        jax.lax.linalg.tridiagonal_solve(lower, diagonal, upper, parts), 2, axis=1
    )
    return jax.lax.complex(real, imaginary).reshape(right.shape)


def _widths_and_secants(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    width = x[1:] - x[:-1]
    return width, (y[1:] - y[:-1]) / width.reshape(-1, *(1,) * (y.ndim - 1))
