"""Traces that an exception ended, which JAX keeps for good.

A finalizer of each value that a trace captured holds the trace, and its equations hold
these values: a circle that no garbage collector sees (JAX 0.10.2 and 0.12.0). jfi ends
traces of its own accord, at each first draw, so it has to let go of them.

What can be reached from outside is the frames that the exception passed: a trace is a
local variable of the function of JAX that made it. `gc.collect()` does not help: the
finalizers are a root of their own. Nor does dropping the exception.
"""

from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

import jax
import numpy as np

from ._pieces import outside_of_tracing, piece


def forget_traces(error: BaseException) -> None:
    """Let go of the traces that an exception ended on its way to the caller."""
    kind = ended_traces()
    if kind is None:
        return
    in_progress = set(map(id, _in_progress()))
    for frame in _passed(error):
        for trace in _made_in(frame, kind):
            # The exception may be caught inside a trace that goes on after it.
            if id(trace) not in in_progress:
                trace.frame.tracing_eqns.clear()
                trace.frame.constvar_to_val.clear()


def _passed(error: BaseException) -> Iterator[FrameType]:
    """The frames through which an exception came, and those that it came from."""
    waiting: list[BaseException | None] = [error]
    seen = set[int]()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__context__, one.__cause__]
        step: TracebackType | None = one.__traceback__
        while step is not None:
            yield step.tb_frame
            step = step.tb_next


def _made_in(frame: FrameType, kind: type) -> list[Any]:
    """The traces that a function of JAX made."""
    if kind.__name__ not in frame.f_code.co_names:
        return []
    return [x for x in frame.f_locals.values() if type(x) is kind]


def _in_progress() -> Iterator[Any]:
    from jax._src.core import trace_ctx

    trace: Any = trace_ctx.trace
    while trace is not None:
        yield trace
        yield getattr(trace, "tangent_trace", None)
        trace = getattr(trace, "parent_trace", None)


@piece(
    uses="DynamicJaxprTrace.frame: tracing_eqns, constvar_to_val",
    without="a trace that jfi gave up keeps its arrays in memory, which "
    "jax.checking_leaks() calls a leak",
)
def ended_traces() -> type | None:
    from jax._src.interpreters.partial_eval import DynamicJaxprTrace

    captured = np.ones(2, np.float32)
    seen: list[list[int]] = []

    def stops(x: Any) -> Any:
        jax.numpy.multiply(x, captured)
        raise _Stop

    def run() -> None:
        try:
            jax.eval_shape(stops, captured)
        except _Stop as stop:
            for frame in _passed(stop):
                for trace in _made_in(frame, DynamicJaxprTrace):
                    parts = trace.frame.tracing_eqns, trace.frame.constvar_to_val
                    seen.append([len(part) for part in parts])
        list(_in_progress())

    outside_of_tracing(run)
    return DynamicJaxprTrace if seen == [[1, 1]] else None


class _Stop(BaseException):
    """Ends a trace; JAX takes its own frames out of the traceback of an `Exception`."""
