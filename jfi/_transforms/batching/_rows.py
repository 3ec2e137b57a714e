"""The rows of a batch, and the function of one row run on all of them."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from ..._arrays._placement import passed_on
from ..._errors import BatchError
from ..._optional._progress import ProgressBar
from ..._random.traced import Keys
from ..._random.traced._own_stream import with_own_stream
from ..._random.traced._rows import RowDraws, in_chunks
from ..._values import NEEDS_VALUE, function_name
from ._choosing import Choice
from ._leaves import Arguments
from ._plan import Plan


Guard: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
T = TypeVar("T")


def as_it_is(x: T) -> T:
    """A guard that changes nothing; the end of a row that returns what it returns."""
    return x


class Rows:
    """A function of arguments, as a function of the row of each batched array.

    Args:
        fn: The function.
        arguments: All arguments.
        choice: Which of them are batched.
        finish: Gets what the function returns for a row.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        arguments: Arguments,
        choice: Choice,
        finish: Callable[[Any], Any],
    ) -> None:
        self._fn, self._arguments, self._finish = fn, arguments, finish
        self._size = choice.size
        self._axis_of = {i: a for i, a in enumerate(choice.axes) if a is not None}
        # JAX arrays: under jit, JAX 0.10 fails on a NumPy array that is batched over a
        # function with custom_vjp ("non-canonical constant of type ndarray"), also on
        # one of float32.
        values = arguments.values
        name = function_name(fn)
        self._batched = [jnp.asarray(passed_on(values[i], name)) for i in self._axis_of]

    def at_once(self, plan: Plan, out_axes: Any, guard: Guard = as_it_is) -> Any:
        """The results of all rows.

        Args:
            plan: How the rows draw.
            out_axes: The axis of the batch in the results.
            guard: Gets the function of all rows, and returns it in another form.
        """
        axes = list(self._axis_of.values())

        def mapped(keys: Keys | None) -> Any:
            block = plan.draws.at_once(self._one, keys, (axes,), out_axes)
            return guard(block)(self._batched)

        return with_own_stream(mapped)

    def in_parts(
        self, plan: Plan, bar: ProgressBar | None, guard: Guard = as_it_is
    ) -> Any:
        """The same in chunks, on several devices, or both."""

        def mapped(keys: Keys | None) -> Any:
            block: Any = guard(jax.vmap(plan.draws.by_number(self._one, keys)))
            if plan.chunk_size is not None:
                block = functools.partial(in_chunks, block, plan.chunk_size, bar)
            if plan.spread is not None:
                block = functools.partial(plan.spread.run, block)
            return block(self._numbers(), self.leading())

        return with_axes(plan, with_own_stream(mapped))

    def part(self, draws: RowDraws, first: Any, guard: Guard = as_it_is) -> Any:
        """The same, where these are some of the rows of a batch.

        Args:
            draws: How the rows draw.
            first: The number of the first of them in the batch.
            guard: As of `at_once`.
        """

        def mapped(keys: Keys | None) -> Any:
            block = jax.vmap(draws.by_number(self._one, keys))
            numbers = jnp.asarray(first, np.uint32) + self._numbers()
            return guard(block)(numbers, self.leading())

        return with_own_stream(mapped)

    def abstract(self, plan: Plan) -> tuple[Any, bool]:
        """What `in_parts` computes, with shapes in place of arrays.

        The streams go on as if the rows had drawn.

        Returns:
            The results, and whether the rows draw from a generator object.
        """

        def mapped(keys: Keys | None) -> tuple[Any, Keys]:
            block = jax.vmap(plan.draws.by_number(self._one, keys))
            call = self._numbers(), self.leading()
            try:
                return jax.eval_shape(block, *call), keys or {}
            except NEEDS_VALUE:  # of what is shared, which only tracing hides
                return block(*jax.tree.map(lambda x: x[:1], call)), keys or {}

        out, keys = with_own_stream(mapped)
        return out, any(source.bound for source in keys)

    def leading(self) -> list[jax.Array]:
        """The batched arrays with the batch first."""
        pairs = zip(self._batched, self._axis_of.values(), strict=True)
        return [jnp.moveaxis(x, axis, 0) for x, axis in pairs]

    def _numbers(self) -> jax.Array:
        return jnp.arange(self._size, dtype=np.uint32)

    def _one(self, row: Sequence[Any]) -> Any:
        """Call the function for one row."""
        values = list(self._arguments.values)
        for i, x in zip(self._axis_of, row, strict=True):
            values[i] = x
        args, kwargs = self._arguments.around(values)
        return self._finish(self._fn(*args, **kwargs))


def with_axes(plan: Plan, out: Any) -> Any:
    """Move the batch, which comes first, to the axes that were asked for."""
    if type(plan.out_axes) is int and plan.out_axes == 0:
        return out

    def moved(axis: int | None, out: Any) -> Any:
        if axis is not None:
            return jnp.moveaxis(out, 0, axis)
        message = (
            f"{plan.tool}() got out_axes= with None, and chunks, devices and workers "
            "stack every result.\nWrite an axis instead of None, or leave out "
            "chunk_size=, devices= and client=."
        )
        raise BatchError(message)

    axes = jax.tree.broadcast(plan.out_axes, out, is_leaf=lambda x: x is None)
    return jax.tree.map(moved, axes, out, is_leaf=lambda x: x is None)
