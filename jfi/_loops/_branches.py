"""Branches in a batch, without a copy of shared arrays for each row.

Where each row of a batch chooses a branch for itself, JAX runs all branches and
selects. It first copies every operand for each row, also what the rows share, such as a
matrix, so that no NaN of a branch not taken gets into a gradient: by a `select` between
the operand and its `stop_gradient` (jax-ml/jax#5658, of the trick in jax-ml/jax#1052),
which has as many rows as the predicate. Here only gradients are held back, and what has
none is not copied. Without either, a plain `where` of the results, the gradient is NaN
where the branch not taken is.
"""

import functools
from collections.abc import Callable, Container, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import eval_jaxpr

from .._jax_internals import is_batched, ruled_calls
from ._carry import structures


def branch_result(
    index: Any, functions: Sequence[Callable[..., Any]], operands: Sequence[Any]
) -> tuple[bool, Any]:
    """The result of `functions[index](*operands)`, somewhere inside `vmap`.

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
    if (
        len({_types_of_results(t) for t in returned}) > 1
        or len(set(structures(*returned))) > 1
    ):
        return False, None
    if any(jaxpr.effects for jaxpr, _ in traced):
        return False, None
    jaxprs = [jaxpr for jaxpr, _ in traced]
    values = [const for jaxpr in jaxprs for const in jaxpr.consts]
    values = [jnp.asarray(x) for x in (*values, *jax.tree.leaves(tuple(operands)))]
    passed = _passed_on(jaxprs, values)
    branches = [_branch(jaxprs, k, passed) for k in range(len(jaxprs))]
    if is_batched(index):
        outs = _selected(branches, index, values)
    elif (ruled_call := ruled_calls()) is not None:
        # Inside a scan, say, which JAX batches when it is traced: by these rules.
        call = ruled_call(*_rules(branches), frozenset(), sparse=True)
        outs = call(index, values)
    else:
        return False, None
    leaves, structure = jax.tree.flatten(returned[0])
    computed = iter(outs)
    results = [passed[k] if k in passed else next(computed) for k in range(len(leaves))]
    return True, jax.tree.unflatten(structure, results)


def _passed_on(jaxprs: Sequence[Any], values: Sequence[Any]) -> dict[int, Any]:
    """The results that are one and the same input whichever branch is taken.

    Rows that share the input share the result: `vmap(..., out_axes=None)` takes it.
    """
    operands = values[len(values) - len(jaxprs[0].jaxpr.invars) :]
    sources: list[list[Any]] = []  # per branch: the input that each result is, or None
    for jaxpr in jaxprs:
        variables = (*jaxpr.jaxpr.constvars, *jaxpr.jaxpr.invars)
        inputs = zip(variables, (*jaxpr.consts, *operands), strict=True)
        given = {id(variable): value for variable, value in inputs}
        sources.append([given.get(id(variable)) for variable in jaxpr.jaxpr.outvars])
    passed: dict[int, Any] = {}
    for k, (first, *others) in enumerate(zip(*sources, strict=True)):
        if first is not None and all(x is first for x in others):
            passed[k] = jnp.asarray(first)
    return passed


_Branch = Callable[..., list[Any]]  # of the constants of all branches, and operands


def _branch(jaxprs: Sequence[Any], k: int, left_out: Container[int]) -> _Branch:
    counts = [len(jaxpr.consts) for jaxpr in jaxprs]
    start, end, all_consts = sum(counts[:k]), sum(counts[: k + 1]), sum(counts)

    def branch(*values: Any) -> list[Any]:
        consts, operands = values[start:end], values[all_consts:]
        outs = eval_jaxpr(jaxprs[k].jaxpr, consts, *operands)
        return [x for place, x in enumerate(outs) if place not in left_out]

    return branch


def _types_of_results(returned: Any) -> tuple[Any, ...]:
    return tuple((x.shape, x.dtype, x.weak_type) for x in jax.tree.leaves(returned))


def _rules(branches: Sequence[_Branch]) -> tuple[Callable[..., Any], ...]:
    """The choice, its form in a batch, and its derivative."""

    def run(index: Any, values: Any) -> list[Any]:
        return list(lax.switch(index, branches, *values))

    def rows(
        size: int, options: Any, is_in_batch: Any, index: Any, values: Any
    ) -> tuple[list[Any], list[bool]]:
        by_row, batched = is_in_batch
        axes = [0 if x else None for x in batched]
        if by_row:
            one: Any = functools.partial(_selected, branches)
            outs = jax.vmap(one, (0, axes), axis_size=size, **options)(index, values)
        else:
            in_batch = [
                jax.vmap(branch, axes, axis_size=size, **options) for branch in branches
            ]
            again: Any = ruled_calls()
            outs = again(*_rules(in_batch), frozenset(), sparse=True)(index, values)
        return outs, [True] * len(outs)

    def derivative(args: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
        index, values = args
        moving = {k: t for k, t in enumerate(tangents[1]) if t is not None}

        def moved(*some: Any) -> list[Any]:
            new = dict(zip(moving, some, strict=True))
            return run(index, [new.get(k, x) for k, x in enumerate(values)])

        outs, found = jax.jvp(moved, [values[k] for k in moving], list(moving.values()))
        return outs, [None if t.dtype == jax.dtypes.float0 else t for t in found]

    return run, rows, derivative


def _selected(
    branches: Sequence[_Branch], index: Any, values: Sequence[Any]
) -> list[Any]:
    """All branches, and a choice among their results for each row."""
    outs = [
        branch(*(_held_back(index == number, x) for x in values))
        for number, branch in enumerate(branches)
    ]
    return [lax.select_n(index, *results) for results in zip(*outs, strict=True)]


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
