"""What holds at a minimum: equations whose solution it is, for its derivatives.

Without constraints the gradient is zero. A variable at a bound that holds it back
follows the bound. Constraints that hold the minimum have multipliers, which are
unknowns as well (the conditions of Karush, Kuhn and Tucker). Where it is by chance that
a bound touches the free minimum, there are two one-sided derivatives; that of the free
minimum is taken.

References:
    J. Nocedal, S. Wright, Numerical Optimization, 2nd edition, chapter 12.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from .._solving._options import tolerance


class Bounds(NamedTuple):
    """Lower and upper bounds of variables; infinite where there are none."""

    lower: jax.Array
    upper: jax.Array


def held_back(
    x: jax.Array, gradient: jax.Array, bounds: Bounds
) -> tuple[jax.Array, jax.Array]:
    """Which variables a bound keeps from a lower value: at lower, at upper bounds."""
    near = tolerance(x.dtype) * (1 + jnp.abs(x))
    at_lower = (x - bounds.lower <= near) & (gradient > 0)
    at_upper = (bounds.upper - x <= near) & (gradient < 0)
    return at_lower, at_upper


def bounded_residual(x: jax.Array, gradient: jax.Array, bounds: Bounds) -> jax.Array:
    """Zero at a minimum within bounds."""
    fixed = [jax.lax.stop_gradient(a) for a in (x, gradient, *bounds)]
    at_lower, at_upper = held_back(fixed[0], fixed[1], Bounds(*fixed[2:]))
    at_bound = jnp.where(at_lower, x - bounds.lower, x - bounds.upper)
    # Of an infinite bound too the difference has a finite derivative.
    return jnp.where(at_lower | at_upper, at_bound, gradient)


class Constraints(NamedTuple):
    """Constraints `values(x) = 0` and `values(x) >= 0` of one minimum.

    Attributes:
        values: All constraints, one after the other, as a vector.
        equal: Which of them are equations.
    """

    values: Callable[[jax.Array], jax.Array]
    equal: jax.Array


def multipliers(
    x: jax.Array, gradient: jax.Array, bounds: Bounds, constraints: Constraints
) -> jax.Array:
    """The multipliers at a minimum; zero for constraints that don't hold it."""
    values = constraints.values(x)
    rows = jax.jacfwd(constraints.values)(x)
    near = 100 * tolerance(x.dtype)
    at_bound = (x - bounds.lower <= near) | (bounds.upper - x <= near)
    free = jnp.where(at_bound, 0.0, 1.0).astype(x.dtype)

    def fitted(active: jax.Array) -> jax.Array:
        matrix = (rows * active[:, None] * free).T
        return jnp.linalg.lstsq(matrix, gradient * free)[0] * active

    active = constraints.equal | (values <= near)
    pulls = fitted(active) > 0
    return fitted(constraints.equal | (active & pulls))


def constrained_residual(
    unknowns: jax.Array,
    gradient: jax.Array,
    bounds: Bounds,
    constraints: Constraints,
) -> jax.Array:
    """Zero at a minimum and its multipliers, which `unknowns` holds after it."""
    x, weights = unknowns[: gradient.size], unknowns[gradient.size :]
    values, pull = jax.vjp(constraints.values, x)
    of_x = bounded_residual(x, gradient - pull(weights)[0], bounds)
    holds = constraints.equal | (jax.lax.stop_gradient(weights) > 0)
    return jnp.concatenate([of_x, jnp.where(holds, values, weights)])
