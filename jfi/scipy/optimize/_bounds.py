"""Bounds as users write them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import SolverError
from ._optimality import Bounds


def bounds_of_pairs(given: Any, start: jax.Array) -> Bounds:
    """Bounds as `minimize` takes them: pairs, or `scipy.optimize.Bounds`."""
    if given is None or hasattr(given, "lb"):
        return bounds_of_ends(
            None if given is None else (given.lb, given.ub), start, "minimize"
        )
    if isinstance(given, (jax.Array, np.ndarray)):
        given = [(pair[0], pair[1]) for pair in given]
    if len(given) != start.size or any(len(pair) != 2 for pair in given):
        message = (
            f"minimize() got {len(given)} bounds for {start.size} variables. Pass a "
            "pair (low, high) for each, None where there is none: "
            f"bounds=[(0.0, None)] * {start.size}."
        )
        raise SolverError(message)
    lower = [-np.inf if low is None else low for low, _ in given]
    upper = [np.inf if high is None else high for _, high in given]
    return bounds_of_ends((lower, upper), start, "minimize")


def bounds_of_ends(given: Any, start: jax.Array, name: str) -> Bounds:
    """Bounds as `least_squares` takes them: all lower ones, and all upper ones.

    Args:
        given: The pair, each a number or as many as there are variables; or None.
        start: The variables.
        name: What the user calls the function, for messages.
    """
    ends = (-np.inf, np.inf) if given is None else given
    vectors = [
        jnp.asarray(end if not isinstance(end, list) else _stacked(end), start.dtype)
        for end in ends
    ]
    for vector in vectors:
        if vector.shape not in ((), (1,), (start.size,), start.shape):
            message = (
                f"{name}() got bounds of shape {vector.shape} for variables of shape "
                f"{start.shape}. Pass a number, or one for each variable."
            )
            raise SolverError(message)
    lower, upper = (
        jnp.broadcast_to(v, start.shape).ravel() if v.shape != (start.size,) else v
        for v in vectors
    )
    return Bounds(lower, upper)


def _stacked(numbers: list[Any]) -> jax.Array:
    return jnp.stack([jnp.asarray(number, float) for number in numbers])
