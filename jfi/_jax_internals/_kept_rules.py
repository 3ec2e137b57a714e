"""Loops in which the rules of `jax.custom_jvp` outlive the first derivative.

Where JAX 0.10 differentiates a scan in reverse mode, it looks for what all steps share.
In the values of the steps that are left, functions of `custom_jvp` are then their plain
code: a second derivative is that of the code, and not of the rule. JAX 0.12 keeps them.
It is silent, and counts where the rule is not the true derivative: the surrogate
gradients of spiking neurons, or `jax.nn.relu` at zero.

An operation of our own is not taken apart, so here the calls in a scan become ones of
`_ruled_call`.
"""

from collections.abc import Callable
from typing import Any

import jax
from jax.core import eval_jaxpr

from ._effects import inner_jaxprs, is_jaxpr, names_of_axes
from ._ruled_call import Rules, ruled_call_p


def keeping_rules(run: Callable[[], Any]) -> Any:
    """`run()`, which is being traced, with the rules of what is in its scans kept."""
    closed, shapes = jax.make_jaxpr(run, return_shape=True)()
    jaxpr = _with_kept(closed.jaxpr, is_in_scan=False)
    # A result that is one of Python's numbers comes out as one.
    results = map(jax.numpy.asarray, eval_jaxpr(jaxpr, closed.consts))
    return jax.tree.unflatten(jax.tree.structure(shapes), results)


def _with_kept(jaxpr: Any, *, is_in_scan: bool) -> Any:
    """The same code, with other calls; the same object if there are none."""
    equations = [_kept(equation, is_in_scan) for equation in jaxpr.eqns]
    same = all(new is old for new, old in zip(equations, jaxpr.eqns, strict=True))
    return jaxpr if same else jaxpr.replace(eqns=equations)


def _kept(equation: Any, is_in_scan: bool) -> Any:
    is_in_scan |= equation.primitive.name == "scan"
    if equation.primitive.name == "custom_jvp_call":
        return _as_ruled_call(equation) if is_in_scan else equation
    if not any(inner_jaxprs(equation)):
        return equation

    def replaced(x: Any) -> Any:
        if isinstance(x, tuple):
            parts = tuple(map(replaced, x))
            return x if all(map(_is, parts, x)) else parts
        if not is_jaxpr(x):
            return x
        jaxpr = getattr(x, "jaxpr", x)
        new = _with_kept(jaxpr, is_in_scan=is_in_scan)
        if new is jaxpr:
            return x
        return new if x is jaxpr else x.replace(jaxpr=new)

    params = {name: replaced(value) for name, value in equation.params.items()}
    if all(params[name] is value for name, value in equation.params.items()):
        return equation
    return equation.replace(params=params)


def _as_ruled_call(equation: Any) -> Any:
    closed = equation.params["call_jaxpr"]
    if closed.effects or any(hasattr(x.aval, "inner_aval") for x in equation.invars):
        return equation  # it draws, by a Ref: JAX asks an operation for more rules then

    def run(*args: Any) -> Any:
        params = equation.primitive.get_bind_params(equation.params)
        return equation.primitive.bind(*args, **params)

    rules = Rules(
        rows=_rows_of(run),
        derivative=_derivative_of(run),
        args=jax.tree.structure(tuple(equation.invars)),
        out=jax.tree.structure(list(equation.outvars)),
        names=names_of_axes(closed),
        sparse=True,
    )
    params = {"closed": closed, "rules": rules}
    return equation.replace(primitive=ruled_call_p, params=params)


def _rows_of(run: Callable[..., Any]) -> Callable[..., Any]:
    def rows(size: int, options: Any, is_batched: Any, *args: Any) -> Any:
        axes = tuple(0 if has else None for has in is_batched)
        batched = jax.vmap(run, in_axes=axes, axis_size=size, **options)
        out = _replayed(batched, *args)
        return out, [True] * len(out)

    return rows


def _derivative_of(run: Callable[..., Any]) -> Callable[..., Any]:
    def derivative(primals: Any, tangents: Any) -> Any:
        varies = [tangent is not None for tangent in tangents]
        some = [x for x, is_in in zip(primals, varies, strict=True) if is_in]
        others = [x for x, is_in in zip(primals, varies, strict=True) if not is_in]

        def change(some: Any, tangents: Any, others: Any) -> Any:
            def of_varying(*some: Any) -> Any:
                one, other = iter(some), iter(others)
                return run(*(next(one if is_in else other) for is_in in varies))

            return jax.jvp(of_varying, some, tangents)

        moved = [t for t in tangents if t is not None]
        out, t_out = _replayed(change, some, moved, others)
        return out, [t if _varies(t) else None for t in t_out]

    return derivative


def _replayed(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function, with all rules in its code kept."""
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
    jaxpr = _with_kept(closed.jaxpr, is_in_scan=True)
    results = eval_jaxpr(jaxpr, closed.consts, *jax.tree.leaves(args))
    return jax.tree.unflatten(jax.tree.structure(shapes), results)


def _varies(tangent: Any) -> bool:
    return bool(tangent.dtype != jax.dtypes.float0)


def _is(one: Any, other: Any) -> bool:
    return one is other
