"""What `autojit` says when it can't do what it is asked for."""

import functools
import inspect
import re
from collections.abc import Sequence
from typing import Any

import jax

from .._errors import AutoJitError, JfiError
from .._trees import function_name
from ._classify import SCALAR
from ._opening import Graph, Opened, place


def refuse_uncompilable(fn: Any) -> None:
    """Refuse what can't be decorated, with what to write instead."""
    name = function_name(fn)
    if isinstance(fn, type):
        raise AutoJitError(
            f"autojit() got the class {fn.__name__}, and compiles functions.\n"
            f"Decorate its methods instead: @autojit above `def step(self, ...)`."
        )
    if isinstance(fn, (property, functools.cached_property)):
        raise AutoJitError(
            f"autojit() got a {type(fn).__name__}.\n"
            "Write it the other way round: @property first, @autojit below it."
        )
    if isinstance(fn, (staticmethod, classmethod)):
        raise AutoJitError(
            f"AutoJIT() got a {type(fn).__name__}.\n"
            f"Use autojit(...), or write @{type(fn).__name__} above @AutoJIT."
        )
    if not callable(fn):
        raise AutoJitError(
            f"autojit() got {fn!r} (a {type(fn).__name__}), and compiles functions.\n"
            "Write @autojit above a function; it has no options."
        )
    if inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn):
        raise AutoJitError(
            f"autojit() got the async function {name}(), which can't be compiled.\n"
            "Compile the function that computes, and call it from the async one."
        )
    if inspect.isgeneratorfunction(fn):
        raise AutoJitError(
            f"autojit() got the generator function {name}(), which can't be compiled.\n"
            "Collect the values and return them: return jnp.stack(values)."
        )


class _TracedTextError(AutoJitError):
    """A result holds the text of a value that is not known yet."""


def refuse_traced_text(name: str, opened: Opened) -> None:
    """Refuse a result in which Python wrote data as text: `f"{x}"` of a tracer."""
    for text in opened.objects:
        if type(text) is str and re.search(r"Tracer[(<]", text):
            raise _TracedTextError(
                f"{name}() returned the text {text!r}: data was written as text while "
                "the function was compiled, when it has no value.\n"
                "Return the data and write it outside of the function."
            )


_MAY_BE_CHECKS = (
    TypeError, ValueError, LookupError, AttributeError, AssertionError,
    NotImplementedError,
)  # fmt: skip


def needed_numbers(error: Exception, opened: Opened) -> list[int]:
    """The traced numbers, by node, of which the code that failed may need the value.

    JAX names them; what Python says of `(0.1).is_integer()` or of `table[str(x)]`, and
    what the user's own code says after a check with `isinstance(x, float)`, does not.
    """
    nodes = opened.leaf_nodes()
    named = _named_leaves(error)
    if isinstance(error, JfiError):
        may_need = isinstance(error, _TracedTextError)
    else:
        may_need = isinstance(error, _MAY_BE_CHECKS)
    if not may_need:
        return []
    if named:
        nodes = [nodes[k] for k in named]
    return [i for i in nodes if opened.graph[i][0] is SCALAR]


def _named_leaves(error: Exception) -> list[int]:
    """The leaves that JAX's message says it is about."""
    if not isinstance(error, _NEEDS_VALUE):
        return []
    return sorted({int(i) for i in re.findall(r"leaves\[(\d+)\]", str(error))})


def change_refused(
    graph: Graph, built: Sequence[Any], names: Sequence[str], node: int, step: str
) -> AutoJitError:
    """The error for a body that changes its arguments or captured variables."""
    name = names[0]
    path = place(graph, built, node, names) + step
    what = f"{name}() changes {path}, and autojit does not write changes back.\n"
    attribute = getattr(type(built[node]), step[1:], None) if step else None
    if isinstance(attribute, functools.cached_property):
        return AutoJitError(
            f"{what}It is a cached_property: read it once before the call, "
            f"outside: {path}"
        )
    call = f"self.{name}" if path.startswith("self.") else name
    return AutoJitError(
        f"{what}Return the new value and assign it outside: {path} = {call}(...)"
    )


_NEEDS_VALUE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


def explain(error: Exception, opened: Opened, names: Sequence[str]) -> None:
    """Add to JAX's error which argument it means, and what to write."""
    notes: list[str] = getattr(error, "__notes__", [])
    if not isinstance(error, _NEEDS_VALUE) or any("autojit:" in n for n in notes):
        return
    nodes = opened.leaf_nodes()
    culprits = [nodes[k] for k in _named_leaves(error)]
    paths = [place(opened.graph, opened.objects, i, names) for i in culprits]
    what = f"the value of {' and '.join(paths)}" if paths else "the value of an array"
    error.add_note(
        f"\nautojit: Python code in {names[0]}() needs {what}, which is data and has "
        "no value while the function is compiled.\n"
        "Instead of `if`, write jnp.where(condition, a, b) or jax.lax.cond(...); "
        "for np.f(x), write jnp.f(x).\n"
        "If it is a setting, pass a Python int, bool or float, not an array."
    )
