"""Whether the caller is being traced, and inside how many transformations."""

import weakref
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from ._call_stack import calls_of_jax
from ._pieces import decided_once, outside_of_tracing, piece


def at_top_level() -> bool:
    """Whether the caller is outside every transformation (jit, grad, vmap, ...)."""
    return _top_level_test()()


@decided_once
def _top_level_test() -> Callable[[], bool]:
    """The cheapest test that there is here: 0.15 us, 1 us, 10 us in a shallow stack."""
    return trace_context() or trace_state() or _calls_no_jax


@piece(
    uses="jax._src.core.trace_ctx: is_top_level, trace, parent_trace",
    without="a random draw in eager code takes some microseconds more",
)
def trace_context() -> Callable[[], bool] | None:
    from jax._src.core import eval_trace, trace_ctx

    seen: list[list[str]] = []

    def row(x: Any) -> Any:
        seen.append(_kinds_of_traces(trace_ctx.trace, eval_trace))
        weakref.ref(trace_ctx.trace)
        return x

    is_top_level: Callable[[], bool] = trace_ctx.is_top_level
    one = jax.ShapeDtypeStruct((2,), "float32")
    outside_of_tracing(lambda: jax.eval_shape(jax.vmap(row), one))
    known = [["BatchTrace", "DynamicJaxprTrace"]]
    return is_top_level if seen == known and _notices_tracing(is_top_level) else None


def _kinds_of_traces(trace: Any, outermost: Any) -> list[str]:
    kinds: list[str] = []
    while trace is not outermost:
        if not hasattr(trace, "parent_trace"):
            return ["unknown"]  # that of jax.shard_map does not say what is around it
        kinds.append(type(trace).__name__)
        trace = trace.parent_trace
    return kinds


@piece(
    uses="jax.extend.core.get_opaque_trace_state, where trace_context is missing",
    without="where that is missing, too, draws in eager code take longer still",
)
def trace_state() -> Callable[[], bool] | None:
    from jax.extend.core import get_opaque_trace_state

    outside: Any = outside_of_tracing(get_opaque_trace_state)

    def is_top_level() -> bool:
        return bool(get_opaque_trace_state() == outside)

    return is_top_level if _notices_tracing(is_top_level) else None


def _calls_no_jax() -> bool:
    """Whether no function of JAX is on the call stack: all that Python documents."""
    return calls_of_jax() == 0


def _notices_tracing(is_top_level: Callable[[], bool]) -> bool:
    """Whether a test answers right at top level and under three transformations."""
    seen: list[bool] = []

    def probe(x: Any) -> Any:
        seen.append(is_top_level())
        return x

    def run() -> None:
        seen.append(is_top_level())
        one = jax.ShapeDtypeStruct((2,), "float32")
        jax.eval_shape(probe, one)
        jax.eval_shape(jax.vmap(probe), one)
        jax.eval_shape(jax.grad(lambda x: probe(x).sum()), one)

    outside_of_tracing(run)
    return seen == [True, False, False, False]


def is_outermost() -> bool:
    """Whether the `jit` that traces the caller is called by eager code.

    Such code may be differentiated: it computes as it goes.
    """
    if trace_context() is None:
        return calls_of_jax() <= 1
    return len([t for t in _traces_around() if t not in _DERIVING]) == 1


def is_staged() -> bool:
    """Whether a program is being made here, which will run later."""
    if trace_context() is None:
        # Only there an operation on known numbers has a result that is not known.
        zero = np.int32(0)
        return isinstance(jax.lax.add(zero, zero), Tracer)
    return not set(_traces_around()) <= _COMPUTING


def is_derived() -> bool:
    """Whether eager code is being differentiated: it computes at once, in no batch."""
    if trace_context() is None:
        return False
    around = set(_traces_around())
    return bool(around) and around <= _DERIVING


# Eager differentiation and batching compute as they go: no number is kept in a program.
_DERIVING = {"JVPTrace", "LinearizeTrace"}
_COMPUTING = {*_DERIVING, "BatchTrace"}


def has_ended(x: Any) -> bool:
    """Whether a traced value is of a transformation that has returned: it was kept."""
    test = ended_transformations()
    return test is not None and test(x)


@piece(
    uses="jax.core.Tracer._trace, and what trace_context uses",
    without="an attribute of self in which grad left a traced value is an error of "
    "the compiled function, and not only where it is used",
)
def ended_transformations() -> Callable[[Any], bool] | None:
    from jax._src.core import eval_trace, trace_ctx

    def has_ended(x: Any) -> bool:
        trace: Any = trace_ctx.trace
        while trace is not eval_trace:
            if x._trace in (trace, getattr(trace, "tangent_trace", None)):
                return False
            if not hasattr(trace, "parent_trace"):
                return False  # that of jax.shard_map does not say what is around it
            trace = trace.parent_trace
        return True

    seen: list[bool] = []

    def probe(x: Any) -> Any:
        kept: list[Any] = []

        def keep(y: Any) -> Any:
            kept.append(y)
            seen.append(has_ended(y))
            return y

        jax.grad(keep)(x)
        jax.vmap(keep)(x[None])
        seen.extend(map(has_ended, (x, *kept)))
        return x

    one = jax.ShapeDtypeStruct((), "float32")
    outside_of_tracing(lambda: jax.eval_shape(jax.grad(probe), one))
    return has_ended if seen == [False] * 3 + [True] * 2 else None


def current_trace() -> Any | None:
    """What stands for the innermost transformation; None without `trace_context`.

    While it lives, and is the current one, the transformations around are the same.
    """
    if trace_context() is None:
        return None
    from jax._src.core import trace_ctx

    return trace_ctx.trace


def _traces_around() -> list[str]:
    """The kinds of traces in progress, from the inside out: "DynamicJaxprTrace", ..."""
    from jax._src.core import eval_trace, trace_ctx

    return _kinds_of_traces(trace_ctx.trace, eval_trace)
