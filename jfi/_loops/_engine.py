"""The derivatives of a loop.

`lax.while_loop` stops early but can't be differentiated in reverse; `lax.scan` can, but
does not stop. So the values come from a while loop; a derivative is a second one over
the carries that the first has stored: from the first step to the last (`_push`, forward
mode) or from the last to the first (`_pull`, reverse mode). JAX is told that these two
are each other's transpose. Derivatives of derivatives (Hessians) come from the same
loops written as scans: slower, and right in all modes and to any order.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._compat import linear_calls
from ._running import Bound, Loop, run_scan, run_while


def differentiable(loop: Loop) -> Callable[[Any, Any, Bound], tuple[Any, Any, Any]]:
    """The loop as a function of (consts, carry, bound), with derivatives."""
    linear_call = linear_calls()
    if linear_call is None:
        return _reverse_only(loop)

    @jax.custom_jvp
    def run(consts: Any, carry: Any, bound: Bound) -> Any:
        return run_while(loop, consts, carry, (), bound)

    @run.defjvp
    def derivative(primals: Any, tangents: Any) -> Any:
        out, stored = _record(loop, *primals)
        t_carry, t_ys = linear_call(
            functools.partial(_push, loop),
            functools.partial(_pull, loop),
            stored,
            _floats(tangents[:2]),
            like=_floats(out[:2]),
        )
        return out, _merge((t_carry, t_ys, None), jax.tree.map(_no_tangent, out))

    return run


def _reverse_only(loop: Loop) -> Callable[[Any, Any, Bound], tuple[Any, Any, Any]]:
    """The same on documented JAX alone, which has no forward mode then."""

    @jax.custom_vjp
    def run(consts: Any, carry: Any, bound: Bound) -> Any:
        return run_while(loop, consts, carry, (), bound)

    def backward(stored: Any, cotangents: Any) -> Any:
        return *_pull(loop, stored, _floats(cotangents[:2])), None

    run.defvjp(functools.partial(_record, loop), backward)
    return run


def _record(loop: Loop, consts: Any, carry: Any, bound: Bound) -> tuple[Any, Any]:
    """Run the loop: what it returns, and what its derivatives need."""

    def step(consts: Any, carry: Any, x: Any) -> Any:
        new, y = loop.step(consts, carry, x)
        return new, (y, carry)

    run = _twice_differentiable(loop._replace(step=step))
    carry, (ys, carries), length = run(consts, carry, (), bound)
    return (carry, ys, length), (consts, carries, length)


def _push(loop: Loop, stored: Any, tangents: Any) -> Any:
    """The tangents of carry and ys for those of consts and the first carry."""

    def step(consts: Any, tangents: Any, carry: Any) -> Any:
        consts, t_consts = consts
        step = _float_step(loop, consts, carry)
        at = _floats(consts), _floats(carry)
        return jax.jvp(step, at, (t_consts, tangents))[1]

    consts, carries, length = stored
    t_consts, t_carry = tangents
    run = _twice_differentiable(loop._replace(step=step, proceed=None))
    t_carry, t_ys, _ = run((consts, t_consts), t_carry, carries, Bound(length, ()))
    return t_carry, t_ys


def _pull(loop: Loop, stored: Any, cotangents: Any) -> Any:
    """The cotangents of consts and the first carry for those of carry and ys."""

    def step(consts: Any, cotangents: Any, x: Any) -> Any:
        g_carry, g_consts = cotangents
        carry, g_y = x
        step = _float_step(loop, consts, carry)
        _, pull = jax.vjp(step, _floats(consts), _floats(carry))
        more, g_carry = pull((g_carry, g_y))
        return (g_carry, jax.tree.map(operator.add, g_consts, more)), ()

    consts, carries, length = stored
    g_carry, g_ys = cotangents
    g_consts = jax.tree.map(jnp.zeros_like, _floats(consts))
    run = _twice_differentiable(
        loop._replace(step=step, proceed=None, backwards=not loop.backwards)
    )
    start, xs = (g_carry, g_consts), (carries, g_ys)
    (g_carry, g_consts), _, _ = run(consts, start, xs, Bound(length, ()))
    return g_consts, g_carry


def _float_step(loop: Loop, consts: Any, carry: Any) -> Callable[[Any, Any], Any]:
    """A step as a function of what has derivatives."""

    def step(float_consts: Any, float_carry: Any) -> Any:
        merged = _merge(float_consts, consts), _merge(float_carry, carry)
        return _floats(loop.step(*merged, ()))

    return step


def _twice_differentiable(loop: Loop) -> Callable[..., tuple[Any, Any, Any]]:
    """The loop as a function of (consts, carry, xs, bound), for rules of derivatives.

    It is differentiated only when a derivative is itself differentiated.
    """

    @jax.custom_jvp
    def run(*args: Any) -> Any:
        return run_while(loop, *args)

    @run.defjvp
    def derivative(primals: Any, tangents: Any) -> Any:
        return jax.jvp(functools.partial(run_scan, loop), primals, tangents)

    return run


def _floats(tree: Any) -> Any:
    """The leaves that have derivatives; None, an empty tree to JAX, for the others."""
    return jax.tree.map(
        lambda x: x if jnp.issubdtype(x.dtype, jnp.inexact) else None, tree
    )


def _merge(floats: Any, tree: Any) -> Any:
    """`tree` with its float leaves taken from `floats`."""
    return jax.tree.map(
        lambda new, old: old if new is None else new,
        floats,
        tree,
        is_leaf=lambda x: x is None,
    )


def _no_tangent(x: Any) -> Any:
    return np.zeros(x.shape, jax.dtypes.float0)
