"""What `minimize` takes for constraints, as SciPy's dicts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def conditions_of(constraints: Any) -> list[Mapping[str, Any]]:
    """Dicts `{"type", "fun", "args"}` for constraints in any form of SciPy."""
    single = isinstance(constraints, Mapping) or hasattr(constraints, "lb")
    found: list[Mapping[str, Any]] = []
    for each in [constraints] if single else constraints:
        if hasattr(each, "lb"):
            found.extend(_between(each))
        else:
            found.append(each)
    return found


def _between(given: Any) -> Iterator[Mapping[str, Any]]:
    """A `LinearConstraint` or `NonlinearConstraint`: `lb <= fun(x) <= ub`."""
    if hasattr(given, "A"):
        rows = given.A
        if hasattr(rows, "toarray"):  # a sparse matrix
            rows = rows.toarray()
        matrix = np.atleast_2d(rows)
        size, fun = len(matrix), lambda x: jnp.asarray(matrix, x.dtype) @ x.ravel()
    else:
        size, fun = None, given.fun
    low, high = np.atleast_1d(given.lb), np.atleast_1d(given.ub)
    low, high = np.broadcast_arrays(low, high)
    if size is not None:
        low, high = (np.broadcast_to(end, (size,)) for end in (low, high))
    same = low == high
    for kind, ends, sign, chosen in (
        ("eq", low, 1, same),
        ("ineq", low, 1, ~same & (low > -np.inf)),
        ("ineq", high, -1, ~same & (high < np.inf)),
    ):
        if chosen.any():
            yield {"type": kind, "fun": _distance(fun, ends, sign, chosen)}


def _distance(fun: Callable[..., Any], ends: Any, sign: int, chosen: Any) -> Any:
    """How far the chosen values are from their ends."""

    def distance(x: jax.Array) -> jax.Array:
        values = jnp.atleast_1d(fun(x))
        if chosen.size == 1:  # one end for all values
            return sign * (values - jnp.asarray(ends, values.dtype))
        where = np.flatnonzero(chosen)
        return sign * (values[where] - jnp.asarray(ends[where], values.dtype))

    return distance
