"""JAX's control flow as functions of the user's functions and of data.

Their names are those that users see in messages.
"""

from typing import Any

import jax
from jax import lax

from .._own_stream import while_loop as drawing_while_loop
from .._python_branches import told
from ._diagnosis import (
    explained_branches,
    explained_fori,
    explained_scan,
    explained_while,
)


def scan(
    functions: tuple[Any], init: Any, xs: Any, length: Any, reverse: Any, unroll: Any
) -> Any:
    with explained_scan(functions[0], init, xs, length):
        return lax.scan(functions[0], init, xs, length, reverse, unroll)


def while_loop(functions: tuple[Any, Any], init_val: Any) -> Any:
    with explained_while(*functions, init_val):
        return drawing_while_loop(*functions, init_val)


def fori_loop(
    functions: tuple[Any], lower: Any, upper: Any, init_val: Any, unroll: Any
) -> Any:
    with explained_fori(functions[0], lower, init_val):
        return lax.fori_loop(lower, upper, functions[0], init_val, unroll=unroll)


def cond(
    functions: tuple[Any, Any], pred: Any, operands: Any, operand: dict[str, Any]
) -> Any:
    args = tuple(operand.values()) or operands
    with explained_branches("cond", ("true_fun", "false_fun"), functions, args):
        return lax.cond(pred, *functions, *operands, **operand)


def switch(
    functions: tuple[Any, ...], index: Any, operands: Any, operand: dict[str, Any]
) -> Any:
    args = tuple(operand.values()) or operands
    names = tuple(f"branches[{k}]" for k in range(len(functions)))
    with explained_branches("switch", names, functions, args):
        return lax.switch(index, functions, *operands, **operand)


def map(functions: tuple[Any], xs: Any, batch_size: Any) -> Any:
    with told():
        return lax.map(functions[0], xs, batch_size=batch_size)


def associative_scan(functions: tuple[Any], elems: Any, reverse: Any, axis: Any) -> Any:
    with told():
        return lax.associative_scan(functions[0], elems, reverse, axis)


def checkpoint(
    functions: tuple[Any], data: Any, kwargs: Any, static: Any, options: Any
) -> Any:
    args = [value for _, value in sorted({**data, **static}.items())]
    numbers = tuple(static)
    with told():
        fun = jax.checkpoint(functions[0], static_argnums=numbers, **options)
        return fun(*args, **kwargs)
