"""A call of a linear function that says what its transpose is.

Its derivatives are what JAX makes of a `custom_jvp` function in both modes.

Things that don't work, and why:

- `custom_jvp` with a while loop as its tangent. JAX has to transpose the tangent for
  reverse mode, and can't transpose a while loop (jax-ml/jax#18311).
- `jax.custom_derivatives.linear_call`, which is given its transpose. `vmap` refuses it
  ("Batching rule for 'linear_call' not implemented": jax-ml/jax#13283), and `jax.jvp`
  of it ends in an empty AssertionError (JAX 0.10.2), so there is no Hessian.
- `custom_vjp`, which has no forward mode. It is the way without this module.

Checked in JAX 0.10.2 and 0.12.0: the tables of rules named at the end are not
documented. `linear_calls` proves this module at first use, and loops do without it,
and without forward mode, where that fails.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import ad_util, core
from jax._src.interpreters import ad, batching, mlir

from ._ruled_call import vmap_options


_linear_call_p: Any = core.Primitive("linear_call")
_linear_call_p.multiple_results = True


def linear_call(
    apply: Callable[[Any, Any], Any],
    transpose: Callable[[Any, Any], Any],
    residuals: Any,
    linear: Any,
    like: Any,
    names: frozenset[Any] = frozenset(),
) -> Any:
    """`apply(residuals, linear)`, whose transpose is `transpose(residuals, cotangent)`.

    Both are differentiable by themselves, and traced only where they are needed.

    Args:
        apply: Linear in its second argument.
        transpose: Linear in its second argument, which is like the result of `apply`.
        residuals: Any tree of arrays.
        linear: Any tree of float arrays.
        like: Arrays of which the result is a tangent.
        names: The axes that the functions name.
    """
    given, given_tree = jax.tree.flatten(residuals)
    tangents, tangents_tree = jax.tree.flatten(linear)
    outs, out_tree = jax.tree.flatten(like)
    n = len(given)

    def flat(function: Callable[[Any, Any], Any], tree: Any) -> Callable[..., Any]:
        def call(*args: Any) -> list[Any]:
            residuals = jax.tree.unflatten(given_tree, args[:n])
            out = function(residuals, jax.tree.unflatten(tree, args[n:]))
            return jax.tree.leaves(out)

        return call

    results = _linear_call_p.bind(
        *given,
        *tangents,
        apply=flat(apply, tangents_tree),
        transpose=flat(transpose, out_tree),
        n_residuals=n,
        types=tuple(core.typeof(x).to_tangent_aval() for x in outs),
        names=names,
    )
    return jax.tree.unflatten(out_tree, results)


def _run(*args: Any, apply: Callable[..., Any], **_: Any) -> Any:
    return apply(*args)


def _types(*_: Any, types: Any, **__: Any) -> Any:
    return types


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    n = params["n_residuals"]
    if all(type(t) is ad_util.Zero for t in tangents[:n]):
        linear = map(ad.instantiate_zeros, tangents[n:])
        return (
            _linear_call_p.bind(*primals, **params),
            _linear_call_p.bind(*primals[:n], *linear, **params),
        )
    dense = map(_dense, primals, tangents)
    return jax.jvp(params["apply"], tuple(primals), tuple(dense))


def _dense(primal: Any, tangent: Any) -> Any:
    if not jnp.issubdtype(primal.dtype, jnp.inexact):
        return np.zeros(primal.shape, jax.dtypes.float0)
    return ad.instantiate_zeros(tangent)


def _transpose(cotangents: Any, *args: Any, **params: Any) -> list[Any]:
    n, types = params["n_residuals"], params["types"]
    dense = [
        ad_util.zeros_like_aval(aval) if type(ct) is ad_util.Zero else ct
        for ct, aval in zip(cotangents, types, strict=True)
    ]
    linear = _linear_call_p.bind(
        *args[:n],
        *dense,
        apply=params["transpose"],
        transpose=params["apply"],
        n_residuals=n,
        types=tuple(x.aval for x in args[n:]),
        names=params["names"],
    )
    return [*[None] * n, *linear]


def _batch(axis: Any, args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
    n = params["n_residuals"]
    # JAX asks this rule under every vmap, also where no argument is batched.
    if all(dim is None for dim in dims) and axis.name not in params["names"]:
        outs = _linear_call_p.bind(*args, **params)
        return outs, [None] * len(outs)

    def to_front(x: Any, dim: Any) -> Any:
        return x if dim is None else jnp.moveaxis(x, dim, 0)

    residuals = map(to_front, args[:n], dims[:n])
    linear = [
        jnp.broadcast_to(x, (axis.size, *jnp.shape(x)))
        if dim is None
        else to_front(x, dim)
        for x, dim in zip(args[n:], dims[n:], strict=True)
    ]
    axes = [None if dim is None else 0 for dim in dims[:n]]

    def rows(function: Callable[..., Any], n_linear: int) -> Callable[..., Any]:
        return jax.vmap(
            function,
            (*axes, *[0] * n_linear),
            axis_size=axis.size,
            **vmap_options(axis),
        )

    types = tuple(
        core.unmapped_aval(axis.size, 0, aval, axis.explicit_mesh_axis)
        for aval in params["types"]
    )
    outs = _linear_call_p.bind(
        *residuals,
        *linear,
        apply=rows(params["apply"], len(linear)),
        transpose=rows(params["transpose"], len(types)),
        n_residuals=n,
        types=types,
        names=params["names"],
    )
    return outs, [0] * len(outs)


_linear_call_p.def_impl(_run)
_linear_call_p.def_abstract_eval(_types)
ad.primitive_jvps[_linear_call_p] = _jvp
ad.primitive_transposes[_linear_call_p] = _transpose
batching.fancy_primitive_batchers[_linear_call_p] = _batch
mlir.register_lowering(_linear_call_p, mlir.lower_fun(_run, multiple_results=True))
