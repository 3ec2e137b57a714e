"""A while loop over flat lists of arrays, with history and derivatives.

`lax.while_loop` stops early but can't be differentiated in reverse; `lax.scan` can, but
does not stop. So the values come from the first, and the gradient from a second while
loop over the stored carries. Derivatives of that gradient (Hessians) come from the same
loop written as a scan: slower, and right in both modes and to any order.
"""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax


class Bound(NamedTuple):
    """What ends a loop: a number of steps, and the arrays its condition captures."""

    limit: Any
    consts: Any


class Loop(NamedTuple):
    """The static part of a loop with the state `carry` that writes `rows` of `y`."""

    step: Callable[[Any, Any, Any], tuple[Any, Any]]  # consts, carry, x -> carry, y
    proceed: Callable[[Any, Any], Any]  # consts of the condition, carry -> bool
    rows: int
    backwards: bool  # visits rows limit-1, ..., 0 of `xs` and `ys`


def with_gradient(loop: Loop) -> Callable[[Any, Any, Bound], tuple[Any, Any, Any]]:
    """The loop as a function of (consts, carry, bound), with reverse mode."""

    @jax.custom_vjp
    def run(consts: Any, carry: Any, bound: Bound) -> Any:
        return _run_while(loop, consts, carry, (), bound)

    def forward(consts: Any, carry: Any, bound: Bound) -> Any:
        def step(consts: Any, carry: Any, x: Any) -> Any:
            new, y = loop.step(consts, carry, x)
            return new, (y, carry)

        recording = _twice_differentiable(loop._replace(step=step))
        carry, (ys, carries), length = recording(consts, carry, (), bound)
        return (carry, ys, length), (consts, carries, length)

    def backward(saved: Any, cotangents: Any) -> Any:
        consts, carries, length = saved
        g_carry, g_ys, _ = cotangents
        g_consts = jax.tree.map(jnp.zeros_like, _floats(consts))
        pull = _twice_differentiable(_gradient_loop(loop))
        (g_carry, g_consts), _, _ = pull(
            consts,
            (_floats(g_carry), g_consts),
            (carries, _floats(g_ys)),
            Bound(length, ()),
        )
        return g_consts, g_carry, None

    run.defvjp(forward, backward)
    return run


def _gradient_loop(loop: Loop) -> Loop:
    """The loop that carries the gradients of `loop` from its last step to its first."""

    def step(consts: Any, gradients: Any, x: Any) -> Any:
        g_carry, g_consts = gradients
        carry, g_y = x

        def floats(float_consts: Any, float_carry: Any) -> Any:
            new, y = loop.step(
                _merge(float_consts, consts), _merge(float_carry, carry), ()
            )
            return _floats(new), _floats(y)

        _, pull = jax.vjp(floats, _floats(consts), _floats(carry))
        more, g_carry = pull((g_carry, g_y))
        return (g_carry, jax.tree.map(operator.add, g_consts, more)), ()

    return Loop(step, lambda consts, carry: True, loop.rows, not loop.backwards)


def _twice_differentiable(loop: Loop) -> Callable[..., tuple[Any, Any, Any]]:
    """The loop as a function of (consts, carry, xs, bound), for rules of derivatives.

    It is differentiated only when a gradient is itself differentiated.
    """

    @jax.custom_jvp
    def run(*args: Any) -> Any:
        return _run_while(loop, *args)

    @run.defjvp
    def tangents(primals: Any, tangents: Any) -> Any:
        return jax.jvp(lambda *args: _run_scan(loop, *args), primals, tangents)

    return run


def _run_while(loop: Loop, consts: Any, carry: Any, xs: Any, bound: Bound) -> Any:
    """Run the loop: carry, ys, number of steps. Stops early, no reverse mode."""

    def proceed(state: Any) -> Any:
        i, carry, _ = state
        return (i < bound.limit) & loop.proceed(bound.consts, carry)

    def advance(state: Any) -> Any:
        i, carry, ys = state
        row = _row(loop, bound, i)
        carry, y = loop.step(consts, carry, _read(xs, row))
        return i + 1, carry, _write(ys, row, y)

    state = jnp.int32(0), carry, _zeros(loop, consts, carry, xs)
    length, carry, ys = lax.while_loop(proceed, advance, state)
    return carry, ys, length


def _run_scan(loop: Loop, consts: Any, carry: Any, xs: Any, bound: Bound) -> Any:
    """Run the loop as a scan of `rows` steps: every mode of differentiation."""

    def advance(state: Any, _: None) -> tuple[Any, None]:
        i, carry, ys = state
        row = _row(loop, bound, i)
        going = (i < bound.limit) & loop.proceed(bound.consts, carry)

        def choose(new: Any, old: Any) -> Any:
            return jax.tree.map(lambda a, b: jnp.where(going, a, b), new, old)

        def guard(tree: Any) -> Any:
            # Past the end the step may be NaN, and so its derivatives: they are cut
            # off where they come out of the step (choose) and where they go in (here).
            # `lax.cond` does the same, but not for reverse over reverse over vmap
            # (JAX 0.10: "Transpose rule for 'stop_gradient' not implemented").
            return choose(tree, lax.stop_gradient(tree))

        new, y = loop.step(guard(consts), guard(carry), guard(_read(xs, row)))
        ys = _write(ys, row, choose(y, _read(ys, row)))
        return (i + going, choose(new, carry), ys), None

    state = jnp.int32(0), carry, _zeros(loop, consts, carry, xs)
    (length, carry, ys), _ = lax.scan(advance, state, length=loop.rows)
    return carry, ys, length


def _row(loop: Loop, bound: Bound, i: Any) -> Any:
    return bound.limit - 1 - i if loop.backwards else i


def _read(rows: Any, row: Any) -> Any:
    return jax.tree.map(
        lambda x: lax.dynamic_index_in_dim(x, row, keepdims=False), rows
    )


def _write(rows: Any, row: Any, values: Any) -> Any:
    return jax.tree.map(
        lambda x, value: lax.dynamic_update_index_in_dim(x, value, row, 0), rows, values
    )


def _zeros(loop: Loop, consts: Any, carry: Any, xs: Any) -> Any:
    """The rows of `ys` before they are written."""
    _, y = jax.eval_shape(lambda: loop.step(consts, carry, _read(xs, 0)))
    return jax.tree.map(lambda y: jnp.zeros((loop.rows, *y.shape), y.dtype), y)


def _floats(tree: Any) -> Any:
    """The leaves that have gradients; None, an empty tree to JAX, for the others."""
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
