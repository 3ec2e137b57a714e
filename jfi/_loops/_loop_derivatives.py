"""The derivatives of a loop: of `while_loop(max_steps=)` and `scan_while`.

`lax.while_loop` stops early but can't be differentiated in reverse; `lax.scan` can, but
does not stop. So the values come from a while loop; a derivative is a second one over
the carries that the first has stored: from the first step to the last (`_push`, forward
mode) or from the last to the first (`_pull`, reverse mode). JAX learns that these two
are each other's transpose. Derivatives of derivatives (Hessians) come from the same
loops written as scans: slower, and right in all modes and to any order.

That they are each other's transpose must be said: `_push` as the tangent of a plain
`custom_jvp` fails in reverse mode, since JAX transposes it and can't transpose a while
loop (jax-ml/jax#18311). `custom_vjp` with `_pull` has no forward mode.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .._errors import LoopError
from .._jax_internals import (
    dense_tangents,
    floats_of,
    has_derivatives,
    is_none,
    is_zero_tangent,
    leaves_where,
    linear_calls,
    merge,
    refuses_forward_mode,
    varying_axes,
    with_zeros,
)
from ._carry import label_of
from ._loop_forms import LoopBound, LoopForm, run_while


def differentiable(
    loop: LoopForm,
) -> Callable[[Any, Any, LoopBound], tuple[Any, Any, Any]]:
    """The loop as a function of (consts, carry, bound), with derivatives."""
    linear_call = linear_calls()
    if linear_call is None:
        return _reverse_only(loop)

    @jax.custom_jvp
    def run(consts: Any, carry: Any, bound: LoopBound) -> Any:
        return run_while(loop, consts, carry, (), bound)

    def derivative(primals: Any, tangents: Any) -> Any:
        t_consts, t_carry, _ = tangents
        t_consts = jax.tree.map(lambda t: None if is_zero_tangent(t) else t, t_consts)
        # Gradients of what is constant for whoever differentiates are not computed.
        wrt = jax.tree.map(lambda t: t is not None, t_consts, is_leaf=is_none)
        out, stored = _record(loop, *primals)
        t_carry, t_ys = linear_call(
            functools.partial(_push, loop, wrt),
            functools.partial(_pull, loop, wrt),
            stored,
            (t_consts, dense_tangents(t_carry)),
            like=floats_of(out[:2]),
            names=loop.names,
        )
        return with_zeros((out, (t_carry, t_ys, None)))

    # So that it returns symbolic zeros: the type of an array of zeros for an integer
    # does not tell the shards of `shard_map` apart, and JAX refuses it there ("tangent
    # float0[], expecting tangent float0[]{V:i}"; as in jax-ml/jax#30531).
    run.defjvp(derivative, symbolic_zeros=True)
    return run


def _reverse_only(
    loop: LoopForm,
) -> Callable[[Any, Any, LoopBound], tuple[Any, Any, Any]]:
    """The same on documented JAX alone, which has no forward mode then."""

    @jax.custom_vjp
    def run(consts: Any, carry: Any, bound: LoopBound) -> Any:
        return run_while(loop, consts, carry, (), bound)

    def backward(stored: Any, cotangents: Any) -> Any:
        wrt = jax.tree.map(has_derivatives, stored[0])
        return *_pull(loop, wrt, stored, floats_of(cotangents[:2])), None

    run.defvjp(functools.partial(_record, loop), backward)

    def call(*args: Any) -> Any:
        try:
            return run(*args)
        except TypeError as error:
            if not refuses_forward_mode(error):
                raise
            message = (
                "In this release of JAX loops have no forward-mode derivative "
                "(jax.jvp, jax.jacfwd).\nWrite jax.jacrev; or install a release listed "
                "in jfi's constraints.txt."
            )
            raise LoopError(message) from error

    return call


def _record(
    loop: LoopForm, consts: Any, carry: Any, bound: LoopBound
) -> tuple[Any, Any]:
    """Run the loop: what it returns, and what its derivatives need."""
    recording = loop._replace(records=True)
    carry, (ys, carries), length = run_while(recording, consts, carry, (), bound)
    return (carry, ys, length), (consts, carries, length)


def _push(loop: LoopForm, wrt: Any, stored: Any, tangents: Any) -> Any:
    """The tangents of carry and ys for those of consts and the first carry."""

    def step(consts: Any, tangents: Any, carry: Any) -> Any:
        consts, t_consts = consts
        step = _float_step(loop, consts, carry)
        at = leaves_where(consts, wrt), floats_of(carry)
        return jax.jvp(step, at, (t_consts, tangents))[1]

    consts, carries, length = stored
    t_consts, t_carry = tangents
    pushing = loop._replace(step=step, proceed=None)
    both = consts, t_consts
    bound = LoopBound(length, ())
    t_carry, t_ys, _ = run_while(pushing, both, t_carry, carries, bound)
    return t_carry, t_ys


def _pull(loop: LoopForm, wrt: Any, stored: Any, cotangents: Any) -> Any:
    """The cotangents of consts and the first carry for those of carry and ys."""

    def step(consts: Any, cotangents: Any, x: Any) -> Any:
        g_carry, g_consts = cotangents
        carry, g_y = x
        step = _float_step(loop, consts, carry)
        _, pull = jax.vjp(step, leaves_where(consts, wrt), floats_of(carry))
        more, g_carry = pull((g_carry, g_y))
        return (g_carry, jax.tree.map(operator.add, g_consts, more)), ()

    consts, carries, length = stored
    g_carry, g_ys = cotangents
    g_consts = jax.tree.map(jnp.zeros_like, leaves_where(consts, wrt))
    _check_shards(g_consts, length)
    pulling = loop._replace(step=step, proceed=None, backwards=not loop.backwards)
    start, xs = (g_carry, g_consts), (carries, g_ys)
    bound = LoopBound(length, ())
    (g_carry, g_consts), _, _ = run_while(pulling, consts, start, xs, bound)
    return g_consts, g_carry


def _float_step(loop: LoopForm, consts: Any, carry: Any) -> Callable[[Any, Any], Any]:
    """A step as a function of what has derivatives."""

    def step(some_consts: Any, float_carry: Any) -> Any:
        merged = merge(some_consts, consts), merge(float_carry, carry)
        return floats_of(loop.step(*merged, ()))

    return step


def _check_shards(g_consts: Any, length: Any) -> None:
    """Refuse a sum over shards (of a gradient) in a loop that ends earlier in some."""
    for x in jax.tree.leaves(g_consts):
        missing = sorted(map(str, varying_axes(length) - varying_axes(x)))
        if missing:
            axes = repr(missing[0] if len(missing) == 1 else tuple(missing))
            message = (
                f"The body of a loop captures an array, {label_of(x)}, that is the "
                "same in all shards of shard_map. Its gradient is a sum over shards, "
                "but each shard stops at a step of its own.\nWrite before the loop: "
                f"A = jax.lax.pcast(A, {axes}, to='varying')"
            )
            raise LoopError(message)
