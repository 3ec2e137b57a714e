"""Branches in a batch, without a copy of shared arrays for each row.

Where each row of a batch chooses a branch for itself, JAX runs all branches and
selects. It first copies every operand for each row, also what the rows share, such as a
matrix, so that no NaN of a branch not taken gets into a gradient (jax#1052). Here only
gradients are held back, and what has none is not copied.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import eval_jaxpr

from ._carry import structures


def selected(
    index: Any, functions: Sequence[Callable[..., Any]], operands: Sequence[Any]
) -> tuple[bool, Any]:
    """The result of `functions[index](*operands)`, selected among those of all.

    Args:
        index: An int32 scalar, in range.
        functions: The branches.
        operands: Trees of arrays and numbers.

    Returns:
        Whether that can be had, and the result. It can't where the branches return
        different types, or have effects.
    """
    # New functions: JAX remembers traces, and what they capture may have changed since.
    traced: list[Any] = [
        jax.make_jaxpr(lambda *args, f=f: f(*args), return_shape=True)(*operands)
        for f in functions
    ]
    returned = [types for _, types in traced]
    if len({_types(t) for t in returned}) > 1 or len(set(structures(*returned))) > 1:
        return False, None
    if any(jaxpr.effects for jaxpr, _ in traced):
        return False, None
    leaves = jax.tree.leaves(tuple(operands))
    outs: list[list[Any]] = []
    for number, (jaxpr, _) in enumerate(traced):
        taken = index == number
        consts, values = (
            [_held_back(taken, x) for x in xs] for xs in (jaxpr.consts, leaves)
        )
        outs.append(eval_jaxpr(jaxpr.jaxpr, consts, *values))
    chosen = [lax.select_n(index, *results) for results in zip(*outs, strict=True)]
    return True, jax.tree.unflatten(jax.tree.structure(returned[0]), chosen)


def _types(returned: Any) -> tuple[Any, ...]:
    return tuple((x.shape, x.dtype, x.weak_type) for x in jax.tree.leaves(returned))


def _held_back(taken: Any, x: Any) -> Any:
    """`x`, whose gradient comes through only where the branch is taken."""
    if not jnp.issubdtype(jnp.result_type(x), jnp.inexact):
        return x
    return _gradient_where(taken, x)


@jax.custom_jvp
def _gradient_where(taken: Any, x: Any) -> Any:
    return x


@_gradient_where.defjvp
def _tangent_where(primals: Any, tangents: Any) -> Any:
    taken, x = primals
    return x, jnp.where(taken, tangents[1], jnp.zeros_like(tangents[1]))
