"""A call of the function for each row: what is batched, the rows, the results."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import jax

from ..._autojit._loops_and_batches import refusing_bars
from ..._optional._progress import ProgressBar
from ._choosing import Choice, choose
from ._leaves import Arguments
from ._plan import Plan
from ._results import Results
from ._rows import Rows, as_it_is, with_axes
from ._sent import Sent, pickled_batch
from ._trials import failure_of, failure_of_trace


Function: TypeAlias = Callable[..., Any]
Args: TypeAlias = tuple[Any, ...]
Kwargs: TypeAlias = dict[str, Any]


class Workers(Protocol):
    """Processes that compute the rows of a batch."""

    def check(self) -> None:
        """Refuse what can't be sent from here."""

    def run(
        self, sent: Sent, chunk_size: int | None, bar: ProgressBar | None
    ) -> list[Any]:
        """Compute all rows; returns the leaves of the results."""
        ...


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
        plan = self._plan
        arguments = self._read(fn, args, kwargs)
        failure = failure_of_trace if compiling else failure_of
        choice, rows, results = self._divided(fn, arguments, failure)
        guard = refusing_bars if compiling else as_it_is
        fits = plan.chunk_size is None or plan.chunk_size >= choice.size
        if plan.spread is None and fits:
            out = rows.at_once(plan, plan.out_axes, guard)
        else:
            bar = ProgressBar(self._name, plan.tool) if plan.progress else None
            out = rows.in_parts(plan, bar, guard)
        return results.around(out)

    def run_on(
        self,
        cluster: Workers,
        fn: Function,
        args: Args,
        kwargs: Kwargs,
    ) -> Any:
        """The same, where other processes compute the rows.

        Args:
            cluster: Who computes them.
            fn: As of `run`.
            args: As of `run`.
            kwargs: As of `run`.
        """
        cluster.check()
        plan, arguments = self._plan, self._read(fn, args, kwargs)
        choice, rows, results = self._divided(fn, arguments, failure_of)
        bar = ProgressBar(self._name, plan.tool) if plan.progress else None
        if not choice.size:
            return results.around(rows.in_parts(plan, None))
        # Before the rows draw here: there, streams begin as they are now.
        batch = pickled_batch(plan, self._name, fn, arguments, choice.axes)
        shapes, draws_from_object = rows.abstract(plan)
        jax.eval_shape(lambda out: with_axes(plan, out), shapes)  # or a refusal
        sent = Sent(self._name, batch, rows.leading(), choice.size, draws_from_object)
        leaves = cluster.run(sent, plan.chunk_size, bar)
        out = jax.tree.unflatten(jax.tree.structure(shapes), leaves)
        return results.around(with_axes(plan, out))

    def _divided(
        self,
        fn: Function,
        arguments: Arguments,
        failure: Callable[[Callable[[], Any]], Exception | None],
    ) -> tuple[Choice, Rows, Results]:
        """The axes of the batch, its rows, and what collects their results."""

        def trial(choice: Choice) -> Exception | None:
            rows = Rows(fn, arguments, choice, lambda out: None)
            return failure(lambda: rows.at_once(self._plan, 0))

        choice = choose(self._plan, self._name, arguments.leaves, trial)
        results = Results(self._name, arguments.values)
        return choice, Rows(fn, arguments, choice, results.arrays), results
