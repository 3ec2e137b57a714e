"""A loop with `max_steps` that Python runs, step by step.

So does `jax.disable_jit()` with JAX's own loops. It is for functions that write to what
is outside or read it at each step, and for who looks for a mistake in one.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .._errors import LoopError
from .._jax_internals import is_staged
from .._random.traced import functionalize, is_under_vmap
from .._random.traced._own_stream import OwnStreams
from .._values import function_name
from ._carry import Names, check_arrays, check_carry, check_condition
from ._diagnosis import check_pair


def has_values() -> bool:
    """Whether the condition has a value here, that Python can ask for."""
    return not is_staged() and not is_under_vmap(until=functionalize)


def run_by_steps(
    names: Names,
    cond: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    max_steps: int,
) -> tuple[Any, list[Any], bool]:
    """Repeat `body`, which returns a pair, while `cond` holds.

    Its random draws are those of the compiled loop.

    Returns:
        The last carry, what `body` returned beside it at each step, and whether the
        condition still held after `max_steps`.
    """
    check_arrays(names.loop, init, names.start)
    carry, rows, streams = jax.tree.map(jnp.asarray, init), list[Any](), OwnStreams()
    while True:
        with streams.of_step(1, len(rows)):
            holds = _truth(names, cond, cond(carry))
        if not holds or len(rows) == max_steps:
            return carry, rows, holds
        with streams.of_step(0, len(rows)):
            out = body(carry)
        check_pair(names, out)
        new, row = jax.tree.map(jnp.asarray, out)
        check_carry(names, carry, new)
        carry = new
        rows.append(row)


def _truth(names: Names, cond: Callable[[Any], Any], returned: Any) -> bool:
    shape = jax.eval_shape(lambda: returned)
    check_condition(names.loop, function_name(cond), shape)
    return bool(returned)


def stacked(names: Names, rows: list[Any], size: int) -> Any:
    """The history of a loop: a row for each step, and zeros to a size.

    Raises:
        LoopError: There was no step, which would tell the shapes of a row.
    """
    if not rows:
        message = (
            f"{names.loop}() took no step, and has to run {names.body}() in Python: "
            "nobody knows the shapes of its results.\nAsk before the loop: if ...; or "
            f"let {names.body}() read and write nothing outside: it is compiled then."
        )
        raise LoopError(message)

    def stack(*parts: Any) -> Any:
        rest = jnp.zeros_like(parts[0], shape=(size - len(parts), *parts[0].shape))
        return jnp.concatenate([jnp.stack(parts), rest])

    return jax.tree.map(stack, *rows)
