"""Control flow called by eager code, compiled once for each place in the source.

JAX compiles an eager `lax.scan` anew for each new function object, such as a lambda
written where it is passed: at each call. `autojit` tells functions apart by their code
and what they capture, and takes captured arrays and floats as data.
"""

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from .._autojit import autojit
from .._compat import at_top_level, setting
from .._errors import AutoJitError
from .._own_stream import in_stream
from .._staging import is_staged


MAX_PLACES = 512  # in the source, of which programs are kept
MAX_SETTINGS = 128  # of one place: sizes and other values that are not data


def run(
    operation: Callable[..., Any],
    functions: Sequence[Any],
    *args: Any,
    traced: tuple[str, ...],
    compiles: bool = True,
) -> Any:
    """Call `operation(functions, *args)`, compiled if the caller is eager code.

    Args:
        operation: Control flow in JAX's terms: a function of a module.
        functions: The user's functions.
        args: Its other arguments.
        traced: The names of the parameters of `operation` that JAX traces, ints too.
        compiles: Whether to compile it at all.
    """

    def directly() -> Any:
        return operation(functions, *args)

    if not compiles or setting("jax_disable_jit") or is_staged():
        return in_stream(directly)
    program = _program(operation, tuple(map(_place, functions)), traced)

    def compiled() -> Any:
        try:
            return program(functions, *args)
        except AutoJitError:  # arguments that can't be compared
            return in_stream(directly)

    if program.cache_info().signatures > MAX_SETTINGS:
        program.clear_cache()
    return compiled() if at_top_level() else in_stream(compiled)


@functools.lru_cache(MAX_PLACES)
def _program(
    operation: Callable[..., Any], places: tuple[object, ...], traced: tuple[str, ...]
) -> Any:
    """The compiled operation for functions from one place: it recognises few forms."""
    return autojit(operation, traced=traced)


def _place(function: Any) -> object:
    """Where a function is written; for other callables, their class."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__func__
        else:
            break
    return getattr(function, "__code__", None) or type(function)
