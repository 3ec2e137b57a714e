"""A call of a function with rules of its own for `vmap` and for derivatives.

Things that don't work, and why:

- `jax.custom_batching.custom_vmap` alone. It has no reverse mode: "Linearization failed
  to produce known values" (JAX 0.10.2; open in jax-ml/jax#9073).
- `custom_vmap` around `custom_jvp`. Reverse mode fails in the same way. Under `vmap`
  JAX differentiates the rule for rows, and the derivative given is lost.
- `custom_vmap` inside `custom_jvp`. It is right until JAX differentiates a scan around
  it: then JAX forgets the second, and fails in the first. A second derivative shows it:
  `jax.vmap(jax.grad(jax.grad(f)))`, where f has the scan.
- `custom_vjp` in place of `custom_jvp`: it has no forward mode, which Hessians need.

Checked in JAX 0.10.2 and 0.12.0: the tables of rules named at the end are not
documented. `ruled_calls` proves this module at first use.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax._src import ad_util, core
from jax._src.interpreters import ad, batching, mlir
from jax._src.state.types import AbstractRef


class Rules(NamedTuple):
    """The rules of one call."""

    rows: Callable[..., Any]
    derivative: Callable[..., Any]
    args: Any  # the structure of the arguments
    out: Any  # and of the result
    names: frozenset[Any]
    sparse: bool


ruled_call_p: Any = core.Primitive("ruled_call")
ruled_call_p.multiple_results = True


def ruled_call(
    run: Callable[..., Any],
    rows: Callable[..., Any],
    derivative: Callable[..., Any],
    names: frozenset[Any],
    *,
    sparse: bool = False,
) -> Callable[..., Any]:
    """`run`, a function of trees of arrays that captures no tracers, with rules.

    Args:
        run: The function.
        rows: Takes the size of a batch, options for `vmap`, for each argument whether
            it is batched, and the arguments; returns the result, and whether it is.
        derivative: Takes the arguments and their tangents, None where there are none;
            returns the result and its tangents, in the same way.
        names: The axes that `run` names.
        sparse: Whether `derivative` gets None for tangents that are known to be zero.
    """

    def call(*args: Any) -> Any:
        leaves, structure = jax.tree.flatten(args)
        if any(isinstance(core.typeof(x), AbstractRef) for x in leaves):
            return run(*args)  # JAX asks for more rules then
        closed, out = jax.make_jaxpr(run, return_shape=True)(*args)
        of_out = jax.tree.structure(out)
        rules = Rules(rows, derivative, structure, of_out, names, sparse)
        outs = ruled_call_p.bind(*leaves, closed=closed, rules=rules)
        return jax.tree.unflatten(rules.out, outs)

    return call


def _run(*args: Any, closed: Any, rules: Rules) -> Any:
    return core.eval_jaxpr(closed.jaxpr, closed.consts, *args)


def _types(*_: Any, closed: Any, rules: Rules) -> Any:
    return closed.out_avals, core.positional_effects(closed)


def _jvp(
    primals: Any, tangents: Any, *, closed: Any, rules: Rules
) -> tuple[list[Any], list[Any]]:
    given = [
        _given(primal, tangent, rules.sparse)
        for primal, tangent in zip(primals, tangents, strict=True)
    ]
    out, t_out = rules.derivative(
        jax.tree.unflatten(rules.args, primals),
        jax.tree.unflatten(rules.args, given),
    )
    outs = jax.tree.leaves(out)
    found = rules.out.flatten_up_to(t_out)
    return outs, [
        ad_util.Zero(core.typeof(x).to_tangent_aval()) if t is None else t
        for x, t in zip(outs, found, strict=True)
    ]


def _given(primal: Any, tangent: Any, sparse: bool) -> Any:
    if not jnp.issubdtype(primal.dtype, jnp.inexact):
        return None
    if sparse and isinstance(tangent, ad_util.Zero):
        return None
    return ad.instantiate_zeros(tangent)


def _batch(
    axis: Any, args: Any, dims: Any, *, closed: Any, rules: Rules
) -> tuple[list[Any], list[Any]]:
    # JAX asks this rule under every vmap, also where no argument is batched.
    if all(dim is None for dim in dims) and axis.name not in rules.names:
        outs = ruled_call_p.bind(*args, closed=closed, rules=rules)
        return outs, [None] * len(outs)
    front = [
        x if dim is None else jnp.moveaxis(x, dim, 0)
        for x, dim in zip(args, dims, strict=True)
    ]
    is_batched = jax.tree.unflatten(rules.args, [dim is not None for dim in dims])
    out, out_batched = rules.rows(
        axis.size,
        vmap_options(axis),
        is_batched,
        *jax.tree.unflatten(rules.args, front),
    )
    flags = jax.tree.leaves(out_batched)
    return jax.tree.leaves(out), [0 if flag else None for flag in flags]


def vmap_options(axis: Any) -> dict[str, Any]:
    """How to call `jax.vmap` for the axis of a rule."""
    name = None if axis.name is core.no_axis_name else axis.name
    return {"axis_name": name, "spmd_axis_name": axis.spmd_name}


ruled_call_p.def_impl(_run)
ruled_call_p.def_effectful_abstract_eval(_types)
ad.primitive_jvps[ruled_call_p] = _jvp
batching.fancy_primitive_batchers[ruled_call_p] = _batch
mlir.register_lowering(ruled_call_p, mlir.lower_fun(_run, multiple_results=True))
