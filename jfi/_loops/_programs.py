"""Control flow called by eager code, compiled once for each place in the source.

JAX compiles an eager `lax.scan` anew for each new function object, such as a lambda
written where it is passed: at each call. `autojit` tells functions apart by their code
and what they capture, and takes captured arrays as data. What can't be compiled so runs
as JAX runs it, from then on at each call from that place.
"""

import contextlib
import functools
import operator
import sys
import threading
import types
from collections.abc import Callable, Generator, Sequence
from typing import Any

import jax
from jax.core import Tracer

from .._autojit import UnwatchedError, autojit, warn_uncompiled
from .._compat import at_top_level, is_staged, setting
from .._outside import without_callbacks
from .._own_stream import in_stream


Operation = Callable[..., Any]  # of the user's functions, and of arguments

MAX_PLACES = 512  # in the source, of which programs are kept
MAX_SETTINGS = 128  # of one place: sizes and other values that are not data


def run(
    operation: Operation,
    functions: Sequence[Any],
    *args: Any,
    traced: tuple[int, ...],
    compiles: bool = True,
    streams: bool = True,
) -> Any:
    """Call `operation(functions, *args)`, compiled if the caller is eager code.

    Args:
        operation: Control flow in JAX's terms: a function of a module.
        functions: The user's functions.
        args: Its other arguments.
        traced: The numbers of those among `args` that JAX traces, ints too.
        compiles: Whether to compile it at all.
        streams: Whether its random draws must be brought in line with plain Python's.
    """

    def directly() -> Any:
        return operation(functions, *args)

    def directly_anew() -> Any:  # JAX remembers what it traced of a function
        with _anew():
            return operation([_new(function) for function in functions], *args)

    around = in_stream if streams else _itself
    if not compiles or setting("jax_disable_jit") or is_staged():
        return around(directly_anew if getattr(_here, "anew", False) else directly)
    program = _program_of(operation, tuple(map(_written, functions)))
    if program.unwatched:
        return around(directly_anew)
    if not program.compiles:
        return around(directly)
    data = tuple(args[n] for n in traced)
    settings = tuple(arg for n, arg in enumerate(args) if n not in traced)

    def compiled() -> Any:
        try:
            return program.run(functions, data, settings, traced)
        except UnwatchedError as error:
            warn_uncompiled(str(error))
            program.unwatched = True
            return around(directly_anew)
        except Exception:
            pass
        # It calls back, or holds what can't be compared, or Python code needs the value
        # of an array; or it fails anyway, in words that should be JAX's and the user's.
        out = around(directly)
        program.compiles = False
        return out

    return compiled() if at_top_level() else around(compiled)


def _itself(call: Callable[[], Any]) -> Any:
    return call()


_here = threading.local()


@contextlib.contextmanager
def _anew() -> Generator[None]:
    """While functions run that can't be watched: the loops and branches in them, too."""
    before, _here.anew = getattr(_here, "anew", False), True
    try:
        yield
    finally:
        _here.anew = before


def static(number: Any) -> Any:
    """A known number as a Python int: sizes and bounds are settings of a loop."""
    if isinstance(number, Tracer) or type(number) in (int, type(None)):
        return number
    try:
        return operator.index(number)
    except TypeError:
        return number  # the operation says what is wrong with it


class _Program:
    """An operation under autojit, for functions from one place in the source.

    Attributes:
        compiles: Whether its functions can be compiled.
        unwatched: Whether they read what can't be watched.
    """

    def __init__(self, operation: Operation) -> None:
        self.compiles, self.unwatched = True, False
        # Globals in place of captured variables: autojit looks at those at every call.
        variables = {**globals(), "operation": operation}
        name = operation.__name__  # what messages call it
        compiled = types.FunctionType(_traced.__code__, variables, name)
        # To JAX captured numbers are constants: Python computes with them. And it does
        # not warn of how often it compiles a loop.
        self._compiled: Any = autojit(
            compiled,
            traced="data",
            frozen="functions",
            warn_after=sys.maxsize,
            uncompiled=False,
        )

    def run(
        self, functions: Sequence[Any], data: Any, settings: Any, traced: Any
    ) -> Any:
        """Run it with the variables that the functions read."""
        if self._compiled.cache_info().signatures > MAX_SETTINGS:
            self._compiled.clear_cache()
        return self._compiled(tuple(functions), data, settings, traced)


# What `_Program` gives its own copy of the function below.
operation: Any = None


def _traced(
    functions: tuple[Any, ...], data: Any, settings: Any, traced: tuple[int, ...]
) -> Any:
    fresh = [_new(function) for function in functions]
    leaves, structure = jax.tree.flatten(data)
    is_data = [isinstance(leaf, Tracer) for leaf in leaves]

    def block(tracers: list[Any]) -> Any:
        tracer = iter(tracers)
        chosen = [
            next(tracer) if known else leaf
            for leaf, known in zip(leaves, is_data, strict=True)
        ]
        own = iter(jax.tree.unflatten(structure, chosen))
        others = iter(settings)
        count = len(data) + len(settings)
        args = [next(own if n in traced else others) for n in range(count)]
        return operation(fresh, *args)

    tracers = [leaf for leaf in leaves if isinstance(leaf, Tracer)]
    return without_callbacks(block)(tracers)


def _new(function: Callable[..., Any]) -> Callable[..., Any]:
    """Another function object: JAX remembers traces by that, whatever has changed."""

    @functools.wraps(function, updated=())
    def new(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return new


@functools.lru_cache(MAX_PLACES)
def _program_of(operation: Operation, written: tuple[object, ...]) -> _Program:
    return _Program(operation)


def _written(function: Any) -> object:
    """Where a function is written; for other callables, their class."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__func__
        else:
            break
    return getattr(function, "__code__", None) or type(function)
