"""A loop over trees of arrays, run as a while loop or as a scan.

`run_while` stops early; also in a batch, where it is one loop that ends with the last
row. `run_scan` always takes all steps, and has derivatives of every mode and order.

JAX has no loop that stops early and has a reverse mode: jax-ml/jax#13062 is open. Ways
that were measured, and lost against a loop of just the steps that are taken:
a `cond` in each step of a scan (up to 30 times slower forward, 50 backward), scans of
chunks under one `cond` (6 times; forward in a batch 10), and JAX's own `vmap` of a
while loop that writes to a buffer (90 times: see `_ruled`).
"""

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .._errors import LoopError
from .._jax_internals import (
    floats_of,
    merge,
    varying_axes,
    varying_over,
    with_kept_rules,
    with_rules,
)


class LoopBound(NamedTuple):
    """What ends a loop: a number of steps, and the arrays its condition captures."""

    limit: Any
    consts: Any


class LoopForm(NamedTuple):
    """The static part of a loop with the state `carry`, which maps `xs` to `ys`.

    Attributes:
        step: Takes consts, carry, a row of `xs`; returns the carry and a row of `ys`.
        proceed: Takes the consts of the condition and the carry, returns whether to
            take another step. None: the number of steps alone decides.
        rows: How many rows `xs` and `ys` have.
        backwards: Whether it visits the rows limit-1, ..., 0 and not 0, ..., limit-1.
        varying: The axes of `jax.shard_map` whose shards stop at different steps, by
            the condition.
        names: The axes that its functions name.
        exchanges: Those of them over which they exchange values (`lax.psum`).
        records: Whether `ys` are pairs, with the carry before each step. Rows past the
            end hold any carry of the loop, or zeros.
    """

    step: Callable[[Any, Any, Any], tuple[Any, Any]]
    proceed: Callable[[Any, Any], Any] | None
    rows: int
    backwards: bool
    varying: frozenset[Any]
    names: frozenset[Any]
    exchanges: frozenset[Any]
    records: bool = False


def run_while(
    loop: LoopForm, consts: Any, carry: Any, xs: Any, bound: LoopBound
) -> Any:
    """Run the loop: carry, ys, number of steps. Stops early, no reverse mode.

    Rows of `ys` that no step has written are zero.
    """
    axes = _Axes(0, jax.tree.map(lambda _: 0, xs))
    scan = functools.partial(run_scan, loop)
    return _ruled(loop, axes, scan, batched=False)(consts, carry, xs, bound)


def run_scan(loop: LoopForm, consts: Any, carry: Any, xs: Any, bound: LoopBound) -> Any:
    """Run the loop as a scan of all rows: every mode of differentiation."""

    def advance(state: Any, rows: Any) -> tuple[Any, Any]:
        carry, length = state
        row, x = rows
        going = _goes_on(loop, bound, row, carry)

        def choose(new: Any, old: Any) -> Any:
            return jax.tree.map(lambda a, b: jnp.where(going, a, b), new, old)

        def guard(tree: Any) -> Any:
            # Past the end the step may be NaN, and so its derivatives: they are cut
            # off where they come out of the step (choose) and where they go in (here),
            # as JAX does for a `cond` that it batches (jax-ml/jax#5658). A stand-in for
            # what goes in, such as zeros, need not be in the domain of the step.
            # `lax.cond` does the same, but not for reverse over reverse over vmap
            # (JAX 0.10: "Transpose rule for 'stop_gradient' not implemented").
            return choose(tree, lax.stop_gradient(tree))

        new, y = loop.step(guard(consts), guard(carry), guard(x))
        y = choose(y, jax.tree.map(jnp.zeros_like, y))
        after = choose(new, carry), length + going.astype(length.dtype)
        return after, _row_of(loop, y, carry)

    rows = jnp.arange(loop.rows), xs
    start = carry, varying_over(jnp.int32(0), _stops(loop, bound))
    (carry, length), ys = with_kept_rules(
        lambda: lax.scan(advance, start, rows, reverse=loop.backwards)
    )
    return carry, ys, length


class _Axes(NamedTuple):
    """The axis along which the rows lie, after those of batches."""

    ys: int
    xs: Any  # of each leaf, which need not be in every batch


def _ruled(
    loop: LoopForm, axes: _Axes, scan: Callable[..., Any], *, batched: bool
) -> Callable[..., Any]:
    """`run_while` with rules: derivatives by a scan; in a batch, one loop.

    JAX's own loop of a batch has a counter for each row: writing a row of `ys` becomes
    a scatter, and the whole of `ys` is copied at each step (jax-ml/jax#13522), because
    rows that have stopped are put back by a `select` over all of the carry. Here all
    rows share one counter, and the `select` comes before the row is written.

    Args:
        loop: The loop, with the functions of a batch.
        axes: Where the rows are.
        scan: The same as a scan.
        batched: Whether the loops of a batch stop each at its own time.
    """

    def run(consts: Any, carry: Any, xs: Any, bound: LoopBound) -> Any:
        run_it = _run_batch if batched else _run_one
        return run_it(loop, axes, consts, carry, xs, bound)

    def derivative(primals: Any, tangents: Any) -> Any:
        def of_floats(*floats: Any) -> Any:
            out = scan(*merge(floats, primals))
            return floats_of(out), out

        _, tangents, out = jax.jvp(
            of_floats, floats_of(primals), tangents, has_aux=True
        )
        return out, tangents

    def rows(size: int, options: Any, is_batched: Any, *args: Any) -> Any:
        vmap: Any = functools.partial(jax.vmap, axis_size=size, **options)
        consts, carry, xs, bound = args
        consts_batched, carry_batched, xs_batched, bound_batched = is_batched
        one_length = not (batched or loop.proceed or bound_batched.limit)
        if not one_length:
            if _exchanges(loop, options) and loop.backwards:
                _refuse_exchange()
            bound_batched = bound_batched._replace(limit=True)
            bound = bound._replace(
                limit=_as_batched(bound.limit, is_batched[3].limit, size)
            )

        of_consts, of_xs, of_bound = map(
            _in_axes, (consts_batched, xs_batched, bound_batched)
        )
        many = loop._replace(step=vmap(loop.step, (of_consts, 0, of_xs)))
        if loop.proceed is not None:
            many = many._replace(proceed=vmap(loop.proceed, (of_bound.consts, 0)))
        further = _Axes(axes.ys + 1, jax.tree.map(operator.add, axes.xs, xs_batched))
        of_out = 0, 0, None if one_length else 0
        many_scan = vmap(scan, (of_consts, 0, of_xs, of_bound), of_out)
        if _exchanges(loop, options) and not one_length:
            many_scan = _refuse_exchange
        run = _ruled(many, further, many_scan, batched=not one_length)
        carry = jax.tree.map(
            lambda x, has: _as_batched(x, has, size), carry, carry_batched
        )
        carry, ys, length = run(consts, carry, xs, bound)
        every = jax.tree.map(lambda _: True, (carry, ys))
        return (carry, ys, length), (*every, not one_length)

    return with_rules(run, rows, derivative, names=loop.names)


def _exchanges(loop: LoopForm, options: Any) -> bool:
    return options.get("axis_name") in loop.exchanges


def _refuse_exchange(*_: Any) -> Any:
    # What a row that has stopped still gives to others has a gradient, too, which a
    # loop that keeps the cotangents of such a row would leave out.
    message = (
        "If rows of a loop exchange values (lax.psum ... over the axis of a vmap) and "
        "stop at different steps, it has a first derivative in forward mode only.\n"
        "Write jax.jacfwd or jax.jvp; or lax.scan with a fixed number of steps."
    )
    raise LoopError(message)


def _run_one(
    loop: LoopForm, axes: _Axes, consts: Any, carry: Any, xs: Any, bound: LoopBound
) -> Any:
    def proceed(state: Any) -> Any:
        i, carry, _ = state
        going = i < bound.limit
        if loop.proceed is not None:
            going &= loop.proceed(bound.consts, carry)
        return going

    def advance(state: Any) -> Any:
        i, carry, ys = state
        row = bound.limit - 1 - i if loop.backwards else i
        new, y = loop.step(consts, carry, _read(axes, xs, row))
        return i + 1, new, _write(axes, ys, row, _row_of(loop, y, carry))

    start = varying_over(jnp.int32(0), _stops(loop, bound))
    state = start, carry, _empty_rows(loop, axes, consts, carry, xs, bound)
    length, carry, ys = lax.while_loop(proceed, advance, state)
    return carry, ys, length


def _run_batch(
    loop: LoopForm, axes: _Axes, consts: Any, carry: Any, xs: Any, bound: LoopBound
) -> Any:
    """One loop for all rows of a batch; those that have stopped keep their carry."""
    last = jnp.max(bound.limit, initial=0) - 1

    def row_of(i: Any) -> Any:
        return last - i if loop.backwards else i

    def advance(state: Any) -> Any:
        i, going, carry, ys, length = state

        def choose(new: Any, old: Any) -> Any:
            return jax.tree.map(lambda a, b: _where(going, a, b), new, old)

        new, y = loop.step(consts, carry, _read(axes, xs, row_of(i)))
        y = choose(y, jax.tree.map(jnp.zeros_like, y))
        ys = _write(axes, ys, row_of(i), _row_of(loop, y, carry))
        carry = choose(new, carry)
        length = length + going.astype(length.dtype)
        # What has stopped stays so: its carry no longer changes.
        return i + 1, _goes_on(loop, bound, row_of(i + 1), carry), carry, ys, length

    def proceed(state: Any) -> Any:
        i, going, *_ = state
        return i <= last if loop.proceed is None else jnp.any(going)

    start = varying_over(jnp.int32(0), _stops(loop, bound))
    going = _goes_on(loop, bound, row_of(start), carry)
    ys = _empty_rows(loop, axes, consts, carry, xs, bound)
    length = varying_over(jnp.zeros_like(bound.limit), _stops(loop, bound))
    state = start, going, carry, ys, length
    _, _, carry, ys, length = lax.while_loop(proceed, advance, state)
    return carry, ys, length


def _goes_on(loop: LoopForm, bound: LoopBound, row: Any, carry: Any) -> Any:
    """Whether the step for a row of `xs` and `ys` is taken."""
    going = row < bound.limit
    return going if loop.proceed is None else going & loop.proceed(bound.consts, carry)


def _where(going: Any, new: Any, old: Any) -> Any:
    """`jnp.where`, for a truth value for each row of a batch."""
    ones = (1,) * (new.ndim - going.ndim)
    return jnp.where(going.reshape(going.shape + ones), new, old)


def _as_batched(x: Any, is_batched: bool, size: int) -> Any:
    # `jnp.shape`: in code that jfi has traced before, literals are Python numbers.
    return x if is_batched else jnp.broadcast_to(x, (size, *jnp.shape(x)))


def _in_axes(is_batched: Any) -> Any:
    """The `in_axes` of `vmap`."""
    return jax.tree.map(lambda has: 0 if has else None, is_batched)


def _read(axes: _Axes, rows: Any, row: Any) -> Any:
    return jax.tree.map(
        lambda x, axis: lax.dynamic_index_in_dim(
            x, row, axis, keepdims=False, allow_negative_indices=False
        ),
        rows,
        axes.xs,
    )


def _write(axes: _Axes, rows: Any, row: Any, values: Any) -> Any:
    return jax.tree.map(
        lambda x, value: lax.dynamic_update_index_in_dim(
            x,
            varying_over(value, varying_axes(x)),
            row,
            axes.ys,
            allow_negative_indices=False,
        ),
        rows,
        values,
    )


def _row_of(loop: LoopForm, y: Any, carry: Any) -> Any:
    # Of a row of a batch that has stopped it is the last carry, with which a step at
    # least ends: a body with a loop of its own need not end for zeros.
    return (y, carry) if loop.records else y


def _empty_rows(
    loop: LoopForm, axes: _Axes, consts: Any, carry: Any, xs: Any, bound: LoopBound
) -> Any:
    """The rows of `ys` before they are written."""

    def row() -> Any:
        return _row_of(loop, loop.step(consts, carry, _read(axes, xs, 0))[1], carry)

    def zeros(y: Any) -> Any:
        shape = (*y.shape[: axes.ys], loop.rows, *y.shape[axes.ys :])
        over = varying_axes(y) | _stops(loop, bound)
        return varying_over(jnp.zeros(shape, y.dtype), over)

    return jax.tree.map(zeros, jax.eval_shape(row))


def _stops(loop: LoopForm, bound: LoopBound) -> frozenset[Any]:
    """The axes of `jax.shard_map` whose shards stop at different steps."""
    return loop.varying | varying_axes(bound.limit)
