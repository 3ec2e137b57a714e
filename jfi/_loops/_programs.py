"""Control flow called by eager code, compiled once for each place in the source.

JAX compiles an eager `lax.scan` anew for each new function object, such as a lambda
written where it is passed: at each call. `autojit` compares the code of functions and
what they capture, and takes captured arrays as data. What can't be compiled so runs
as JAX runs it, from then on at each call from that place.
"""

import contextlib
import functools
import operator
import threading
from collections.abc import Callable, Generator
from typing import Any

import jax

from .._autojit import BRANCHES, Calls, reaches_outside, refusing_writes
from .._autojit._loops_and_batches import (
    OPTIONS,
    MovesBarError,
    Reasons,
    generators_in,
    refusing_bars,
    with_variables,
)
from .._autojit._shared_programs import current_form, renewed
from .._errors import DefaultsError, LoopError
from .._jax_internals import (
    at_top_level,
    awaited,
    host_calls,
    is_batched,
    is_staged,
    setting,
)
from .._optional._interrupts import interruptible
from .._random.traced._own_stream import in_stream
from .._values import is_tracer, one_draw, partition
from ._by_steps import has_values


Operation = Callable[..., Any]  # of the user's functions, and of arguments

MAX_PLACES = 512  # in the source, of which programs are kept
MAX_SETTINGS = 128  # of one place: sizes and other values that are not data


def run_loop(
    operation: Operation,
    functions: tuple[Any, ...],
    data: tuple[Any, ...],
    settings: tuple[Any, ...] = (),
    *,
    choice: Any = None,
    streams: bool = True,
) -> Any:
    """Call `operation(functions, *data, *settings)`, compiled if eager code calls.

    This is on the way of every eager loop: it makes no closure before one is needed.

    Args:
        operation: Control flow in JAX's terms: a function of a module.
        functions: The user's functions.
        data: Its arguments that JAX traces, ints too.
        settings: Its other arguments.
        choice: What a branch is chosen by: a batch of it is left to JAX.
        streams: Whether its random draws must be brought in line with plain Python's.
    """
    eager = at_top_level()
    compiles = eager or not (is_staged() or is_batched(choice))
    if compiles and not setting("jax_disable_jit"):
        program = _loop_of(operation, _written(functions))
        if program.compiles:
            if eager or not streams:
                return program.run(functions, data, settings, streams)
            return in_stream(lambda: program.run(functions, data, settings, streams))
    with refusing_writes(_often(operation.__name__)):
        return _directly(operation, functions, data, settings, streams, anew=_is_anew())


def _directly(
    operation: Operation,
    functions: tuple[Any, ...],
    data: tuple[Any, ...],
    settings: tuple[Any, ...],
    streams: bool,
    *,
    anew: bool,
) -> Any:
    """As JAX runs it; anew: without what it remembers of the functions."""

    def run() -> Any:
        if not anew:
            return operation(tuple(map(current_form, functions)), *data, *settings)
        with _anew():
            return operation(tuple(map(renewed, functions)), *data, *settings)

    if host_calls() and at_top_level():
        run = functools.partial(awaited, run)
    return in_stream(run) if streams else run()


_here = threading.local()


def _is_anew() -> bool:
    return getattr(_here, "anew", False)


@contextlib.contextmanager
def _anew() -> Generator[None]:
    """While functions run that can't be watched: so do the loops in them."""
    before, _here.anew = _is_anew(), True
    try:
        yield
    finally:
        _here.anew = before


def _untraced(
    why: Exception,
) -> contextlib.AbstractContextManager[None]:
    """Python runs the steps of loops, where a cache of its own would keep tracers."""
    untraced = reaches_outside(why)
    return jax.disable_jit() if untraced else contextlib.nullcontext()


def _interruptible(why: Exception) -> contextlib.AbstractContextManager[None]:
    """A loop with a progress bar hears of Ctrl-C."""
    is_shown = isinstance(why, MovesBarError)
    return interruptible() if is_shown else contextlib.nullcontext()


def static(number: Any) -> Any:
    """A known number as a Python int: sizes and bounds are settings of a loop."""
    if type(number) in (int, type(None)) or is_tracer(number):
        return number
    try:
        return operator.index(number)
    except TypeError:
        return number  # the operation says what is wrong with it


class _EagerLoop:
    """An operation under autojit, for functions from one place in the source.

    Attributes:
        compiles: Whether its functions can be compiled.
    """

    def __init__(self, operation: Operation) -> None:
        self.compiles = True
        self._operation = operation
        name = operation.__name__  # what messages call it
        self._reasons = Reasons(name)
        compiled = with_variables(
            _traced_operation, name, often=_often(name), operation=operation
        )
        options = {**OPTIONS, "traced": "data"}
        self._calls = Calls(compiled, options, varying=("functions",))
        self._calls.programs.keep_at_most(MAX_SETTINGS)

    def run(
        self,
        functions: tuple[Any, ...],
        data: tuple[Any, ...],
        settings: tuple[Any, ...],
        streams: bool,
    ) -> Any:
        """Run it with the variables that the functions read, or else as JAX does.

        Raises:
            LoopError: The functions must run in Python, which has no values here.
        """
        try:
            return self._calls(functions, data, settings)
        except DefaultsError:
            raise  # JAX would cut the integers
        except Exception as error:
            if reaches_outside(error) and not (streams or has_values()):
                raise LoopError(str(error)) from None
            why = error
        why.__traceback__ = None  # it holds the arguments
        if self._operation.__name__ not in RUN_ONCE:
            _refuse_draws(self._operation.__name__, functions, why)
        # It calls back, or holds what can't be compared, or Python code needs the value
        # of an array; or it fails anyway, in words that should be JAX's and the user's.
        is_unwatched = reaches_outside(why)
        with _untraced(why), _interruptible(why):
            out = _directly(
                self._operation,
                functions,
                data,
                settings,
                streams,
                anew=is_unwatched or _is_anew(),
            )
        self.compiles = is_unwatched  # what it reads may be another next time
        self._reasons.warn(why, by_step=is_unwatched)
        return out


# Operations that run a function once, as plain Python does.
RUN_ONCE = ("checkpoint", "cond", "switch")


def _often(name: str) -> str:
    """What the functions of an operation run for, each: see `with_variables`."""
    if name in ("cond", "switch"):
        return BRANCHES
    return "" if name in RUN_ONCE else "steps"


def _refuse_draws(name: str, functions: tuple[Any, ...], why: Exception) -> None:
    """Refuse functions of a loop that draw by a generator that is not jfi's.

    Raises:
        LoopError: JAX runs them once for all steps, which would get one draw.
    """
    for generator in generators_in(why, functions):
        raise LoopError(one_draw(name, generator, "steps"))


# What `_EagerLoop` gives its own copy of the function below.
operation: Any = None


def _traced_operation(functions: tuple[Any, ...], data: Any, settings: Any) -> Any:
    fresh = [renewed(function) for function in functions]
    tracers, rest = partition(data, is_tracer)

    def block(tracers: list[Any]) -> Any:
        return operation(fresh, *rest.filled(tracers), *settings)

    return refusing_bars(block)(tracers)


@functools.lru_cache(MAX_PLACES)
def _loop_of(operation: Operation, written: tuple[object, ...]) -> _EagerLoop:
    return _EagerLoop(operation)


def _written(functions: tuple[Any, ...]) -> tuple[object, ...]:
    """Where functions are written; for other callables, their classes."""
    try:
        return tuple(map(_code_of, functions))
    except AttributeError:
        return tuple(map(_code_or_class, functions))


_code_of = operator.attrgetter("__code__")


def _code_or_class(function: Any) -> object:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__code__", None) or type(function)
