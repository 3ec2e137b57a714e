"""Kept programs that call back to Python: `jax.debug.print`, PyTorch, a k-d tree.

XLA's code has numbers in the place of callbacks. The functions are made anew in each
process: it traces and lowers what the user calls, which names them in the same order,
and compiles nothing. Where all calls are in branches that most runs never take, such as
the errors of equinox and diffrax, that waits for the first run that takes one.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._jax_internals import (
    XLA_ERRORS,
    Slots,
    awaited,
    calls_back_in_branches,
    digest_of,
    raises_where_called,
    slots_of,
    wait_for,
)
from ._places import Run
from ._records import CalledBack


Fill = Callable[[Slots], Run | None]


def called_back(traced: Any, lowered: Any, *, once: bool) -> CalledBack:
    """What a record says of the callbacks of a program.

    Args:
        traced: The program, as JAX traced it.
        lowered: The same, lowered.
        once: Whether it has to be traced before it runs, or can't run twice: arguments
            are given away.
    """
    jaxpr = traced.jaxpr.jaxpr
    return CalledBack(
        digest_of(lowered),
        len(slots_of(lowered).host_callbacks),
        in_branches=not once and calls_back_in_branches(jaxpr),
        waits=raises_where_called(jaxpr),
    )


def waiting(run: Run, known: CalledBack) -> Run:
    """What runs a program, and raises the errors of its callbacks as they are."""
    return functools.partial(awaited, run) if known.waits else run


class _NotFilledError(Exception):
    """A callback is needed. None has run yet, so that the program can run again."""


class FilledLate:
    """Runs a program without its callbacks, until one is needed.

    Args:
        fill: Loads the program, given callbacks.
        count: How many callbacks it has.
        full: The same program with its callbacks, given the arrays of a call.
    """

    def __init__(self, fill: Fill, count: int, full: Callable[..., Run]) -> None:
        self._full = full
        self._run = fill(Slots([_not_filled] * count))
        self._is_full = False

    def __call__(self, *arrays: Any) -> Sequence[Any]:
        """Run it.

        Raises:
            Exception: What a callback raises.
        """
        if self._run is not None and not self._is_full:
            try:
                out = self._run(*arrays)
                wait_for(out)
                return out
            except XLA_ERRORS as error:
                if _NotFilledError.__name__ not in str(error):
                    raise
        if not self._is_full:
            self._run, self._is_full = self._full(*arrays), True
        assert self._run is not None
        return self._run(*arrays)


def _not_filled(*arrays: Any) -> Any:
    raise _NotFilledError
