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
import types
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.core import Tracer

from .._autojit import autojit
from .._compat import at_top_level, is_staged, setting
from .._outside import Reading, Watched, WidenedError, without_callbacks
from .._own_stream import in_stream


Operation = Callable[..., Any]  # of the user's functions, and of arguments

MAX_PLACES = 512  # in the source, of which programs are kept
MAX_WIDENINGS = 16  # each finds more of the functions that a call can get at
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

    around = in_stream if streams else _itself
    if not compiles or setting("jax_disable_jit") or is_staged():
        return around(directly)
    place = _place_of(operation, tuple(map(_written, functions)))
    program = place.program_for(functions)
    if not program.compiles:
        return around(directly)
    data = tuple(args[n] for n in traced)
    settings = tuple(arg for n, arg in enumerate(args) if n not in traced)

    def compiled() -> Any:
        with contextlib.suppress(Exception):
            return program.run(functions, data, settings, traced)
        # It calls back, or holds what can't be compared, or Python code needs the value
        # of an array; or it fails anyway, in words that should be JAX's and the user's.
        out = around(directly)
        program.compiles = False
        return out

    return compiled() if at_top_level() else around(compiled)


def _itself(call: Callable[[], Any]) -> Any:
    return call()


def static(number: Any) -> Any:
    """A known number as a Python int: sizes and bounds are settings of a loop."""
    if isinstance(number, Tracer) or type(number) in (int, type(None)):
        return number
    try:
        return operator.index(number)
    except TypeError:
        return number  # the operation says what is wrong with it


class _Place:
    """Where functions are written, and the program for what they read there now."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._program: _Program | None = None

    def program_for(self, functions: Sequence[Any]) -> "_Program":
        """The program, made anew if other global functions go by the same names."""
        program = self._program
        if program is None or not program.fits(functions):
            program = self._program = _Program(self._operation, functions)
        return program


class _Program:
    """An operation under autojit, for functions from one place: it knows few forms.

    Attributes:
        compiles: Whether its functions can be compiled.
    """

    def __init__(self, operation: Operation, functions: Sequence[Any]) -> None:
        self._readings = [Reading(function) for function in functions]
        self._watched = Watched()
        self.compiles = not any(reading.writes for reading in self._readings)
        # Globals in place of captured variables: autojit looks at those at every call.
        variables = {**globals(), "operation": operation}
        variables |= {"readings": self._readings, "watched": self._watched}
        name = operation.__name__  # what messages call it
        compiled = types.FunctionType(_traced.__code__, variables, name)
        # To JAX captured numbers are constants: Python computes with them. And it does
        # not warn of how often it compiles a loop.
        self._compiled: Any = autojit(
            compiled,
            static="watched_values",
            traced="data",
            frozen=("functions", "read"),
            warn_after=sys.maxsize,
        )

    def fits(self, functions: Sequence[Any]) -> bool:
        """Whether functions read the same global constants."""
        readings = self._readings
        return len(readings) == len(functions) and all(
            reading.fits(function)
            for reading, function in zip(readings, functions, strict=True)
        )

    def run(
        self, functions: Sequence[Any], data: Any, settings: Any, traced: Any
    ) -> Any:
        """Run it with the global variables that the functions read."""
        if self._compiled.cache_info().signatures > MAX_SETTINGS:
            self._compiled.clear_cache()
        for _ in range(MAX_WIDENINGS):
            read = [reading.values() for reading in self._readings]
            watched_values = self._watched.values()
            try:
                return self._compiled(
                    tuple(functions), read, data, settings, traced, watched_values
                )
            except WidenedError:
                continue
        raise WidenedError


# What `_Program` gives its own copy of the function below.
operation: Any = None
readings: list[Reading] = []
watched: Any = None


def _traced(
    functions: tuple[Any, ...],
    read: Any,
    data: Any,
    settings: Any,
    traced: tuple[int, ...],
    watched_values: Any,
) -> Any:
    watched.widen((functions, data, settings), readings)
    reading_them = [
        _new(reading.with_values(function, values))
        for reading, function, values in zip(readings, functions, read, strict=True)
    ]
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
        return operation(reading_them, *args)

    tracers = [leaf for leaf in leaves if isinstance(leaf, Tracer)]
    return without_callbacks(block)(tracers)


def _new(function: Callable[..., Any]) -> Callable[..., Any]:
    """Another function object: JAX remembers traces by that, whatever has changed."""

    @functools.wraps(function, updated=())
    def new(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return new


@functools.lru_cache(MAX_PLACES)
def _place_of(operation: Operation, written: tuple[object, ...]) -> _Place:
    return _Place(operation)


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
