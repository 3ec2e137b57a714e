"""Functions of trees of arrays with rules of their own for `vmap` and derivatives.

In the trees of derivatives None, an empty tree to JAX, stands for what has none.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jax.custom_derivatives import SymbolicZero

from ._loop_calls import ruled_calls
from ._varying_axes import varying_axes, varying_over


def with_rules(
    run: Callable[..., Any],
    rows: Callable[..., Any],
    derivative: Callable[..., Any],
    *,
    names: frozenset[Any] = frozenset(),
    sparse: bool = False,
) -> Callable[..., Any]:
    """`run` with rules that JAX follows.

    Args:
        run: A function of trees of arrays, which captures no tracers.
        rows: Its form under `vmap`. Takes the size of the batch, options for `vmap`,
            for each argument whether it is batched, and the arguments; returns the
            result and whether it is batched.
        derivative: Takes the arguments and their tangents, returns the result and its
            tangents.
        names: The axes that `run` names (`lax.psum`).
        sparse: Whether `derivative` gets None for tangents that are known to be zero.
    """
    ruled_call = ruled_calls()
    if ruled_call is not None:
        ruled: Callable[..., Any] = ruled_call(
            run, rows, derivative, names, sparse=sparse
        )
        return ruled
    # The order matters: `custom_vmap` has no reverse mode (jax-ml/jax#9073), so
    # `custom_jvp` has to be around it. Around a scan that is not enough, see
    # `_jax_internals/_ruled_call`.
    if not names:  # a documented rule for `vmap` does not get the name of its axis
        batchable: Any = custom_vmap(run)
        batchable.def_vmap(lambda size, *args: rows(size, {}, *args))
        run = batchable
    differentiable = jax.custom_jvp(run)
    given = known_nonzero if sparse else dense_tangents
    # Symbolic zeros: the type of an array of zeros for an integer does not say the
    # shards of `shard_map` apart, and JAX refuses it there ("tangent float0[],
    # expecting tangent float0[]{V:i}"): arrays of float0 are NumPy's, whose types name
    # no axes. With shardings in place of shards it is jax-ml/jax#30531.
    differentiable.defjvp(
        lambda primals, tangents: with_zeros(derivative(primals, given(tangents))),
        symbolic_zeros=True,
    )
    return differentiable


def floats_of(tree: Any) -> Any:
    """The leaves that have derivatives."""
    return leaves_where(tree, jax.tree.map(has_derivatives, tree))


def leaves_where(tree: Any, which: Any) -> Any:
    """The leaves for which a tree of truth values is true."""
    return jax.tree.map(lambda x, is_in: x if is_in else None, tree, which)


def has_derivatives(x: Any) -> bool:
    """Whether it is an array of floats."""
    return bool(jnp.issubdtype(x.dtype, jnp.inexact))


def merge(floats: Any, tree: Any) -> Any:
    """`tree` with the leaves that are in `floats` taken from there."""
    return jax.tree.map(
        lambda new, old: old if new is None else new, floats, tree, is_leaf=is_none
    )


def is_none(x: Any) -> bool:
    """Whether a leaf has no derivative."""
    return x is None


def is_zero_tangent(tangent: Any) -> bool:
    """Whether a tangent is known to be zero."""
    return isinstance(tangent, SymbolicZero) or not has_derivatives(tangent)


def known_nonzero(tangents: Any) -> Any:
    """Tangents, with None for those that are known to be zero."""
    return jax.tree.map(lambda t: None if is_zero_tangent(t) else t, tangents)


def dense_tangents(tangents: Any) -> Any:
    """Tangents of what has derivatives, with arrays for symbolic zeros."""

    def array(t: Any) -> Any:
        if not isinstance(t, SymbolicZero):
            return t
        kind: Any = t.aval
        return varying_over(jnp.zeros(kind.shape, kind.dtype), varying_axes(kind))

    return jax.tree.map(array, floats_of(tangents))


def with_zeros(out_and_tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    """The same, with symbolic zeros for what has no derivatives."""
    out, tangents = out_and_tangents
    zeros = jax.tree.map(SymbolicZero.from_primal_value, out)
    return out, merge(tangents, zeros)
