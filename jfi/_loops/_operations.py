"""JAX's control flow as functions of the user's functions and of data.

Their names are those that users see in messages.
"""

import contextlib
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._jax_internals import setting, with_kept_rules
from .._optional._progress import title_of
from .._random.traced import (
    Keys,
    functionalize,
    is_refusing,
    is_under_vmap,
)
from .._random.traced._own_stream import (
    while_loop as drawing_while_loop,
    with_own_stream,
)
from .._random.traced._rows import RowDraws
from .._values import function_name, is_tracer, names_to_copy
from .._values.trees import add_advice
from ._arguments import check_arguments_of_checkpoint
from ._branches import branch_result
from ._diagnosis import (
    explained_associative,
    explained_branches,
    explained_fori,
    explained_map,
    explained_scan,
    explained_while,
)
from ._progress_loops import fori_with_progress, scan_with_progress


def scan(
    functions: tuple[Any],
    init: Any,
    xs: Any,
    length: Any,
    reverse: Any,
    unroll: Any,
    split_transpose: Any,
    progress: Any,
) -> Any:
    (f,) = functions
    loop = functools.partial(
        lax.scan, reverse=reverse, unroll=unroll, _split_transpose=split_transpose
    )
    with explained_scan(f, init, xs, length), _traced_without_steps(xs, length):
        title = title_of(progress, function_name(f)) if progress else None

        def run(f: Any, init: Any) -> Any:
            if title is None:
                return with_kept_rules(lambda: loop(f, init, xs, length))
            with_bar = functools.partial(
                scan_with_progress, loop, f, init, xs, length, reverse, title
            )
            return with_kept_rules(with_bar)

        return run(f, init)


def _traced_without_steps(
    xs: Any, length: Any = None
) -> contextlib.AbstractContextManager[None]:
    """A block in which JAX traces the body of a loop of no steps.

    It learns the types of the results from that, where Python runs the steps, too.
    """
    sizes = [np.shape(x)[:1] for x in jax.tree.leaves(xs)]
    is_empty = (0,) in sizes or (not is_tracer(length) and length == 0)
    traces = is_empty and setting("jax_disable_jit")
    return jax.disable_jit(False) if traces else contextlib.nullcontext()


def while_loop(functions: tuple[Any, Any], init_val: Any) -> Any:
    with explained_while(*functions, init_val):
        return drawing_while_loop(*functions, init_val)


def fori_loop(
    functions: tuple[Any],
    init_val: Any,
    bounds: tuple[Any, ...],
    known: tuple[Any, ...],
    unroll: Any,
    progress: Any,
) -> Any:
    """Its bounds are data, or else known."""
    (body,) = functions
    lower, upper = bounds + known
    with explained_fori(body, lower, upper, init_val, unroll):
        title = title_of(progress, function_name(body)) if progress else None

        def run(body: Any, init: Any) -> Any:
            if title is None:
                return with_kept_rules(
                    lambda: lax.fori_loop(lower, upper, body, init, unroll=unroll)
                )
            with_bar = functools.partial(
                fori_with_progress, lower, upper, body, init, unroll, title
            )
            return with_kept_rules(with_bar)

        return run(body, init_val)


def cond(
    functions: tuple[Any, Any], pred: Any, operands: Any, operand: dict[str, Any]
) -> Any:
    args, others = _operands(operands, operand)
    with explained_branches("cond", ("true_fun", "false_fun"), functions, pred, args):
        if _is_in_batch() and _is_scalar(pred, np.bool_):
            done, out = branch_result(jnp.int32(pred), functions[::-1], args)
            if done:
                return out
        return lax.cond(pred, *functions, *args, **others)


def switch(
    functions: tuple[Any, ...], index: Any, operands: Any, operand: dict[str, Any]
) -> Any:
    args, others = _operands(operands, operand)
    names = tuple(f"branches[{k}]" for k in range(len(functions)))
    with explained_branches("switch", names, functions, index, args):
        if _is_in_batch() and functions and _is_scalar(index, np.integer):
            clamped = jnp.clip(index, 0, len(functions) - 1).astype(jnp.int32)
            done, out = branch_result(clamped, functions, args)
            if done:
                return out
        return lax.switch(index, functions, *args, **others)


def _operands(
    operands: tuple[Any, ...], operand: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The operands, also from JAX's older `operand=`; and what JAX will refuse."""
    if operand.keys() == {"operand"} and not operands:
        return (operand["operand"],), {}
    return operands, operand


def _is_in_batch() -> bool:
    """Whether this is inside `vmap`, and makes no random draws.

    Answer as in the real run while jfi looks for draws, also past `functionalize`: JAX
    keeps that trial trace, and takes it again as the trace of the call.
    """
    return is_under_vmap(until=_nothing if is_refusing() else functionalize)


def _nothing() -> None:
    """Is never called."""


def _is_scalar(x: Any, kind: Any) -> bool:
    return jnp.ndim(x) == 0 and bool(jnp.issubdtype(jnp.result_type(x), kind))


def map(functions: tuple[Any], xs: Any, batch_size: Any) -> Any:
    (f,) = functions
    with explained_map(f, xs, batch_size), _traced_without_steps(xs):
        if batch_size is None:
            return with_kept_rules(lambda: lax.map(f, xs))
        return with_own_stream(functools.partial(_map_in_batches, f, xs, batch_size))


def _map_in_batches(f: Any, xs: Any, batch_size: int, keys: Keys | None) -> Any:
    """`lax.map` of some rows at a time, each with a stream of its own."""
    if keys is None:
        return with_kept_rules(lambda: lax.map(f, xs, batch_size=batch_size))
    numbers = jnp.arange(len(jax.tree.leaves(xs)[0]), dtype=np.uint32)
    row = RowDraws("map").by_number(f, keys)
    return with_kept_rules(
        lambda: lax.map(lambda x: row(*x), (numbers, xs), batch_size=batch_size)
    )


def associative_scan(functions: tuple[Any], elems: Any, reverse: Any, axis: Any) -> Any:
    with explained_associative(functions[0], elems, axis):
        return lax.associative_scan(functions[0], elems, reverse, axis)


def checkpoint(functions: tuple[Any], data: Any, static: Any, options: Any) -> Any:
    (fun,) = functions
    by_position, by_name = data
    places = sorted(by_position)
    args = [by_position[n] for n in places]  # each by itself, for `prevent_cse=(...)`

    # JAX 0.10 takes static arguments by position, or by name, but not by both: with
    # `static_argnums=1` a call `f(x, n=2)` is a ValueError (jax-ml/jax#18405).
    @functools.wraps(fun, names_to_copy(fun), updated=())
    def of_data(*args: Any, **named: Any) -> Any:
        every = {**dict(zip(places, args, strict=True)), **static[0]}
        return fun(*(every[n] for n in sorted(every)), **named, **static[1])

    if setting("jax_disable_jit"):  # JAX traces it all the same
        return of_data(*args, **by_name)
    transform: Any = functools.partial(jax.checkpoint, **options)
    try:
        return transform(of_data)(*args, **by_name)
    except TypeError as error:
        check_arguments_of_checkpoint(fun, by_position, by_name, error)
        add_advice(error, data)
        raise
