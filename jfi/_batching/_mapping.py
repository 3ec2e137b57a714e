"""Running the function on all rows: at once, in chunks, on several devices."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from .._advice import told
from .._autojit._unasked import refusing_callbacks
from .._errors import BatchError, RandomError
from .._optional._progress import ProgressBar
from .._random.traced import Keys
from .._random.traced._own_stream import on_keys, varied, with_own_stream
from ._choosing import Choice, choose
from ._chunks import in_chunks
from ._leaves import Arguments
from ._plan import Plan
from ._results import Results
from ._rows import Rows
from ._trials import failure_of, failure_of_trace


Function: TypeAlias = Callable[..., Any]
Args: TypeAlias = tuple[Any, ...]
Kwargs: TypeAlias = dict[str, Any]
Guard: TypeAlias = Callable[[Function], Function]


def _as_it_is(block: Function) -> Function:
    return block


class Mapping:
    """Functions mapped over the rows of their arguments, in one way.

    Args:
        plan: What the user said.
        name: The name of the function, for messages.
        read: Gets the function and its arguments, and flattens these.
    """

    __jfi_static__ = True  # autojit compares it by identity, which costs nothing

    def __init__(
        self,
        plan: Plan,
        name: str,
        read: Callable[[Function, Args, Kwargs], Arguments],
    ) -> None:
        self._plan, self._name, self._read = plan, name, read

    def run(
        self, fn: Function, args: Args, kwargs: Kwargs, *, compiling: bool = False
    ) -> Any:
        """Call a function for each row of a batch, and stack the results.

        Args:
            fn: The function of one row.
            args: Its arguments, some of them batched.
            kwargs: Those with names.
            compiling: Whether jfi compiles this, and can run it without compiling if
                a value must be known.
        """
        arguments = self._read(fn, args, kwargs)
        failure = failure_of_trace if compiling else failure_of

        def trial(choice: Choice) -> Exception | None:
            rows = Rows(fn, arguments, choice, lambda out: None)
            return failure(lambda: self._at_once(rows, 0))

        choice = choose(self._plan, self._name, arguments.leaves, trial)
        results = Results(self._name, arguments.values)
        rows = Rows(fn, arguments, choice, results.arrays)
        in_parts = self._plan.spread is not None or (
            self._plan.chunk_size is not None and self._plan.chunk_size < choice.size
        )
        mapped = self._in_parts if in_parts else self._at_once
        guard = refusing_callbacks if compiling else _as_it_is
        with told():
            out = mapped(rows, self._plan.out_axes, guard)
        return results.around(out)

    def _at_once(self, rows: Rows, out_axes: Any, guard: Guard = _as_it_is) -> Any:
        def mapped(keys: Keys | None) -> Any:
            if keys is None:
                return guard(jax.vmap(rows.one, (rows.axes,), out_axes))(rows.batched)
            one = functools.partial(self._drawing, rows.one, keys)
            block = guard(jax.vmap(one, (0, rows.axes), out_axes))
            return block(rows.numbers(), rows.batched)

        return with_own_stream(mapped)

    def _in_parts(self, rows: Rows, out_axes: Any, guard: Guard) -> Any:
        """The same in chunks, on several devices, or both."""
        plan = self._plan

        def mapped(keys: Keys | None) -> Any:
            one = functools.partial(self._drawing, rows.one, keys)
            block: Any = guard(jax.vmap(one))
            if plan.chunk_size is not None:
                bar = ProgressBar(self._name, plan.tool) if plan.progress else None
                block = functools.partial(in_chunks, block, plan.chunk_size, bar)
            if plan.spread is not None:
                block = functools.partial(plan.spread.run, block)
            return block(rows.numbers(), rows.leading())

        return self._with_axes(with_own_stream(mapped), out_axes)

    def _drawing(
        self,
        one: Callable[[Any], Any],
        keys: Keys | None,
        number: jax.Array,
        row: Sequence[Any],
    ) -> Any:
        """One row, with random draws of its own."""
        if keys is None:
            return one(row)
        if self._plan.randomness == "error":
            raise RandomError(_NO_DRAWS.format(tool=self._plan.tool))
        own = keys if self._plan.randomness == "same" else varied(keys, number)
        return on_keys(one, own, row)

    def _with_axes(self, out: Any, out_axes: Any) -> Any:
        """Move the batch, which comes first, to the axes that were asked for."""
        if type(out_axes) is int and out_axes == 0:
            return out
        axes = jax.tree.broadcast(out_axes, out, is_leaf=lambda x: x is None)
        return jax.tree.map(self._moved, axes, out, is_leaf=lambda x: x is None)

    def _moved(self, axis: int | None, out: Any) -> Any:
        if axis is None:
            message = (
                f"{self._plan.tool}() got out_axes= with None, and chunks or devices "
                "stack every result.\nWrite an axis instead of None, or leave out "
                "chunk_size= and devices=."
            )
            raise BatchError(message)
        return jnp.moveaxis(out, 0, axis)


_NO_DRAWS = (
    "A random number was drawn inside {tool}(..., randomness='error'). "
    "Write randomness='different' (each row draws its own) or 'same'."
)
