"""Runs of a solver that stop whenever they need a value of the user's function.

Each run has a thread of its own, since the function is called from compiled code of
SciPy, which a generator of Python can't leave. It waits most of the time, and computes
with NumPy alone. One thing is left behind: where the program that drives a run fails in
between, by an exception of a host call in the user's function, its thread waits until
the process ends.
"""

import itertools
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


Vector = NDArray[np.floating[Any]]
# Gets `ask(which, point)` and the inputs, returns one array per result.
Solver = Callable[..., Sequence[Any]]


class Request(NamedTuple):
    """A solver wants `functions[which](point)`."""

    which: int
    point: Vector


class Session:
    """One run of a solver."""

    def __init__(self, solver: Solver, inputs: Sequence[Any]) -> None:
        self._said: SimpleQueue[Request | Sequence[Any] | _Failure] = SimpleQueue()
        self._answers: SimpleQueue[Vector] = SimpleQueue()
        run = threading.Thread(target=self._run, args=(solver, inputs), daemon=True)
        run.start()

    def answer(self, value: Vector) -> None:
        """Let it go on with what it has asked for."""
        self._answers.put(value)

    def listen(self) -> Request | Sequence[Any]:
        """Wait for its next request or its results; raises what the solver raises."""
        said = self._said.get()
        if isinstance(said, _Failure):
            raise said.error
        return said

    def _run(self, solver: Solver, inputs: Sequence[Any]) -> None:
        try:
            self._said.put(solver(self._ask, *inputs))
        except BaseException as error:
            self._said.put(_Failure(error))

    def _ask(self, which: int, point: Any) -> Vector:
        self._said.put(Request(which, np.array(point, np.float64)))
        return self._answers.get()


class _Failure(NamedTuple):
    error: BaseException


_numbers = itertools.count(1)
_sessions: dict[int, Session] = {}


def begin(solver: Solver, inputs: Sequence[Any]) -> int:
    """Begin a run; its number is what a program of JAX can hold."""
    number = next(_numbers) % 2**31 or next(_numbers) % 2**31  # int32, and never 0
    _sessions[number] = Session(solver, inputs)
    return number


def session(number: int) -> Session:
    """The run of this number."""
    return _sessions[number]


def end(number: int) -> None:
    """Forget a run that is over."""
    _sessions.pop(number, None)
