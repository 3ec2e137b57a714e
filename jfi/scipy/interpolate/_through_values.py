"""The coefficients of the B-spline that goes through values: one linear system."""

import functools
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._errors import InterpolationError
from ._base import Numbers, end_value
from ._basis import basis_at


Conditions = list[tuple[int, jax.Array]]


def fitted(
    x: jax.Array, y: jax.Array, k: int, t: Numbers | None, bc_type: Any
) -> tuple[jax.Array, jax.Array]:
    """The knots and the coefficients; points and values are checked before.

    Raises:
        InterpolationError: Degree, knots or end conditions don't fit the points.
    """
    if isinstance(bc_type, str) and bc_type == "periodic":
        message = (
            "make_interp_spline() got bc_type='periodic', which jfi does not have.\n"
            "Write CubicSpline(x, y, bc_type='periodic'), or convert SciPy's: "
            "jaxify(scipy.interpolate.make_interp_spline(...))"
        )
        raise InterpolationError(message)
    try:
        degree = operator.index(k)
    except TypeError:
        degree = -1
    if degree < 0:
        raise InterpolationError(
            f"make_interp_spline() got k={k}. Pass a degree, a Python integer."
        )
    left, right = (_conditions(end, y) for end in _both_ends(bc_type))
    knots = _given_or_chosen(x, degree, t, with_conditions=bool(left or right))
    unknown = knots.shape[0] - degree - 1
    free = unknown - x.shape[0]
    if free != len(left) + len(right) or unknown <= degree:
        message = (
            f"make_interp_spline() got {x.shape[0]} points and {len(left)} + "
            f"{len(right)} end conditions for k={degree} and {knots.shape[0]} knots, "
            f"which need {max(unknown, degree + 1)} in all. Pass more points, a lower "
            "k, or other conditions."
        )
        raise InterpolationError(message)
    orders = tuple(o for o, _ in left), tuple(o for o, _ in right)
    if degree <= 1 and t is None:
        return knots, y
    ends = [v for _, v in left], [v for _, v in right]
    return knots, _solved(degree, orders, x, y, knots, *ends)


def _both_ends(bc_type: Any) -> tuple[Any, Any]:
    if bc_type is None or isinstance(bc_type, str):
        return bc_type, bc_type
    try:
        left, right = bc_type
    except (TypeError, ValueError):
        raise _no_condition(bc_type) from None
    return left, right


def _conditions(given: Any, y: jax.Array) -> Conditions:
    if given is None or (isinstance(given, str) and given == "not-a-knot"):
        return []
    if isinstance(given, str):
        if given not in ("natural", "clamped"):
            raise _no_condition(given)
        order = 2 if given == "natural" else 1
        return [(order, jnp.zeros(y.shape[1:], y.dtype))]
    try:
        return [
            (
                operator.index(order),
                jnp.broadcast_to(end_value(value, y), y.shape[1:]),
            )
            for order, value in given
        ]
    except (TypeError, ValueError):
        raise _no_condition(given) from None


def _no_condition(given: Any) -> InterpolationError:
    return InterpolationError(
        f"make_interp_spline() got the end condition {given!r}. Pass bc_type=None, "
        "'natural', 'clamped', or two lists of pairs of order and value, such as "
        "([(1, 0.0)], [(2, 0.0)])."
    )


def _given_or_chosen(
    x: jax.Array, k: int, t: Numbers | None, *, with_conditions: bool
) -> jax.Array:
    if t is not None:
        knots = jnp.asarray(t).astype(x.dtype)
        if not isinstance(knots, Tracer) and (np.diff(np.asarray(knots)) < 0).any():
            raise InterpolationError("make_interp_spline() got knots t that decrease.")
        return knots
    if k == 0:
        return jnp.concatenate([x, x[-1:]])
    if k == 1 or with_conditions:
        return jnp.concatenate([x[:1]] * k + [x] + [x[-1:]] * k)
    inner = x if k % 2 else (x[1:] + x[:-1]) / 2
    skipped = (k + 1) // 2
    inner = inner[skipped:-skipped] if k % 2 else inner[k // 2 : -(k // 2)]
    return jnp.concatenate([x[:1]] * (k + 1) + [inner] + [x[-1:]] * (k + 1))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _solved(
    k: int,
    orders: tuple[tuple[int, ...], tuple[int, ...]],
    x: jax.Array,
    y: jax.Array,
    knots: jax.Array,
    left: list[jax.Array],
    right: list[jax.Array],
) -> jax.Array:
    unknown = knots.shape[0] - k - 1

    def rows(points: jax.Array, order: int) -> jax.Array:
        first, weights = basis_at(knots, k, points, order)
        columns = first[:, None] + jnp.arange(k + 1, dtype=first.dtype)[None]
        table = jnp.zeros((points.shape[0], unknown), x.dtype)
        at = jnp.arange(points.shape[0])[:, None]
        return table.at[at, columns].set(jnp.stack(weights, axis=-1))

    matrix = jnp.concatenate(
        [
            *(rows(x[:1], order) for order in orders[0]),
            rows(x, 0),
            *(rows(x[-1:], order) for order in orders[1]),
        ]
    )
    ends = [[value[None] for value in end] for end in (left, right)]
    values = jnp.concatenate([*ends[0], y, *ends[1]])
    columns = values.reshape(unknown, -1)
    solved: jax.Array = jnp.linalg.solve(matrix.astype(columns.dtype), columns)
    return solved.reshape(unknown, *y.shape[1:])
