"""Ahead of time: what `lower`, `trace` and `eval_shape` of a function return."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from .._arrays._placement import passed_on
from .._errors import AutoJitError
from ._calls import Calls
from ._graphs import Graph
from ._outcomes import Outcome


def bind(calls: Calls, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """One value for each parameter, as in a call."""
    bound = inspect.Signature(calls.parameters).bind(*args, **kwargs)
    bound.apply_defaults()
    return [bound.arguments[parameter.name] for parameter in calls.parameters]


def lower(calls: Calls, *args: Any, **kwargs: Any) -> "Lowered":
    """The program for these arguments, lowered but not compiled.

    Args:
        calls: The calls of the function.
        args: The arguments; a `jax.ShapeDtypeStruct` stands for an array.
        kwargs: The same.
    """
    opened, _, lowered = calls.perform(
        bind(calls, args, kwargs),
        lambda program, leaves: program.compiled.plain.lower(*leaves),
        abstract=True,
    )
    return Lowered(calls, opened.graph, lowered)


def trace(calls: Calls, *args: Any, **kwargs: Any) -> Any:
    """The program for these arguments, traced: a `jax.stages.Traced` of its arrays."""
    return calls.perform(
        bind(calls, args, kwargs),
        lambda program, leaves: program.compiled.plain.trace(*leaves),
        abstract=True,
    )[2]


def eval_shape(calls: Calls, *args: Any, **kwargs: Any) -> Any:
    """The result with a `jax.ShapeDtypeStruct` for each array; nothing is computed."""
    opened, _, out = calls.perform(
        bind(calls, args, kwargs),
        lambda program, leaves: jax.eval_shape(program.compiled.plain, *leaves),
        abstract=True,
    )
    return out.result(opened.objects) if isinstance(out, Outcome) else out


class Lowered:
    """A lowered program.

    What it does not have itself is that of `jax.stages.Lowered`.
    """

    def __init__(self, calls: Calls, graph: Graph, lowered: Any) -> None:
        self._calls, self._graph, self._lowered = calls, graph, lowered
        self._fn = calls.fn  # which `calls` may not keep alive

    def compile(self, *args: Any, **kwargs: Any) -> "Compiled":
        """Compile it, with the options of `jax.stages.Lowered.compile`."""
        compiled = self._lowered.compile(*args, **kwargs)
        return Compiled(self._calls, self._graph, compiled)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lowered, name)


class Compiled:
    """A compiled program, called like the function, for the arguments it was made for.

    What it does not have itself is that of `jax.stages.Compiled`.
    """

    def __init__(self, calls: Calls, graph: Graph, compiled: Any) -> None:
        self._calls, self._graph, self._compiled = calls, graph, compiled
        self._fn = calls.fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it.

        Raises:
            AutoJitError: The settings are not those it was compiled for.
        """
        opened = self._calls.open(bind(self._calls, args, kwargs))
        name = self._calls.history.function
        if opened.graph != self._graph:
            raise AutoJitError(
                f"{name}() was compiled ahead of time for other settings, or for "
                "arguments of another form.\n"
                f"Call {name}(...) itself, or lower and compile it for these."
            )
        out = self._compiled(*(passed_on(leaf, name) for leaf in opened.leaves))
        return out.deliver(opened.objects) if isinstance(out, Outcome) else out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)
