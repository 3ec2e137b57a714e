"""Calls of a batched function: compiled, unless Python code in it needs values."""

import functools
import sys
import threading
import types
from collections.abc import Callable, Hashable
from typing import Any

import jax

from .._autojit import autojit
from .._compat import at_top_level, is_staged
from .._errors import AutoJitError, BatchError, JfiError
from .._outside import Reading, Watched, WidenedError
from .._staging import FoundDraws, tracing
from ._leaves import Arguments
from ._mapping import Args, Function, Kwargs, Mapping
from ._messages import random_generator
from ._plan import Plan


class Calls:
    """Calls of functions that map rows in one way.

    Args:
        plan: What the user said.
        name: The name of the function, for messages.
        read: Gets the function and its arguments, and flattens these.
    """

    def __init__(
        self,
        plan: Plan,
        name: str,
        read: Callable[[Function, Args, Kwargs], Arguments],
    ) -> None:
        self._name, self._spread = name, plan.spread
        self._mapping = Mapping(plan, name, read)
        self._forms: set[Hashable] = set()  # of calls that can't be compiled
        self._known: dict[Hashable, _Program] = {}
        self._program = _Program(self._mapping, name, None)
        self._lock = threading.Lock()

    def run(self, fn: Function, args: Args, kwargs: Kwargs) -> Any:
        """Run a call."""
        program = self._program
        if program.simple and program.fits(fn) and at_top_level():
            try:
                return program.run(fn, args, kwargs)
            except WidenedError:
                program.simple = False
                return self._run_otherwise(fn, args, kwargs)
            except Exception as error:
                failure = error
            self._check(failure)
            del failure  # its traceback holds the arguments
            return self._without_compiling(fn, args, kwargs)
        return self._run_otherwise(fn, args, kwargs)

    def _run_otherwise(self, fn: Function, args: Args, kwargs: Kwargs) -> Any:
        """Run the first call of a function, or one that is not at top level ..."""
        program = self._program
        if not program.fits(fn):
            program = self._program = self._program_for(fn)
        if self._spread is not None:
            args, kwargs = self._spread.placed((args, kwargs))
        known = self._forms and _form(args, kwargs) in self._forms
        inside = not at_top_level()
        if known or program.reading.writes or (inside and is_staged()):
            return self._mapping.run(fn, args, kwargs)
        try:
            if not inside:
                return program.run_with(fn, args, kwargs)
            # Under `grad` and the like, which compute as they go.
            with tracing(refuses=True):
                return program.run_with(fn, args, kwargs)
        except FoundDraws:  # compiled, it would not draw there what eager code draws
            return self._mapping.run(fn, args, kwargs)
        except Exception as error:
            failure = error
        self._check(failure)
        del failure
        return self._without_compiling(fn, args, kwargs)

    def _check(self, error: Exception) -> None:
        """Raise an error, unless the call may succeed without compiling."""
        if isinstance(error, BatchError):
            # Without the way through JAX, and without JAX's note about that.
            raise type(error)(*error.args) from error.__cause__
        refused = isinstance(error, AutoJitError)
        if isinstance(error, (JfiError, Warning, _RAN)) and not refused:
            raise error

    def _without_compiling(self, fn: Function, args: Args, kwargs: Kwargs) -> Any:
        """Python code in it asks for a value, or for what autojit refuses."""
        for name in self._program.reading.generators(fn):
            raise BatchError(random_generator(self._name, name))
        out = self._mapping.run(fn, args, kwargs)
        with self._lock:
            if len(self._forms) >= MAX_FORMS:
                self._forms.clear()
            self._forms.add(_form(args, kwargs))
            self._program.simple = False
        return out

    def _program_for(self, fn: Function) -> "_Program":
        """The program of a function that reads other constants than the last one."""
        simple = self._spread is None and not self._forms
        made = _Program(self._mapping, self._name, fn, simple=simple)
        with self._lock:
            if len(self._known) >= MAX_PROGRAMS:
                self._known.clear()
            return self._known.setdefault(made.reading.key(), made)


MAX_FORMS = 64
MAX_WIDENINGS = 16  # each finds more of the functions that a call can get at
MAX_PROGRAMS = 16  # of one function, whose module defines others by the same names
_RAN = jax.errors.JaxRuntimeError  # of compiled code; all other errors come before


class _Program:
    """A function under autojit that maps rows of functions with the same constants."""

    def __init__(
        self, mapping: Mapping, name: str, fn: Any, *, simple: bool = False
    ) -> None:
        reading = self.reading = Reading(fn)
        self._mapping = mapping
        self._watched = Watched()
        self.fits = reading.fits

        # Globals in place of captured variables: autojit looks at those at every call.
        variables = {**vars(sys.modules[__name__]), "mapping": mapping}
        variables |= {"reading": reading, "watched": self._watched}
        plain, full = (
            types.FunctionType(body.__code__, variables, name)
            for body in (_mapped, _mapped_with_variables)
        )
        # What autojit advises where it compiles often can't be written here.
        silent = functools.partial(autojit, warn_after=sys.maxsize)
        self.run: Callable[..., Any] = silent(plain)
        self._run_full: Callable[..., Any] = silent(full, static="settings")
        self._passes = bool(reading.data)
        self.simple = simple and not reading.data and not reading.writes

    def run_with(self, fn: Function, args: Args, kwargs: Kwargs) -> Any:
        """Run it with the global variables that it reads."""
        for _ in range(MAX_WIDENINGS):
            settings = self._watched.values()
            try:
                if not (self._passes or settings):
                    return self.run(fn, args, kwargs)
                data = self.reading.values()
                return self._run_full(fn, args, kwargs, data, settings)
            except WidenedError:
                self.simple = False
        return self._mapping.run(fn, args, kwargs)


# What `_Program` gives its own copies of these two functions.
mapping: Any = None
reading: Any = None
watched: Any = None


def _mapped(fn: Function, args: Args, kwargs: Kwargs) -> Any:
    watched.widen((fn, args, kwargs), [reading])
    # Under jax.disable_jit() nothing is compiled.
    return mapping.run(fn, args, kwargs, compiling=not at_top_level())


def _mapped_with_variables(
    fn: Function, args: Args, kwargs: Kwargs, data: Any, settings: Any
) -> Any:
    watched.widen((fn, args, kwargs), [reading])
    fn = reading.with_values(fn, data)
    return mapping.run(fn, args, kwargs, compiling=not at_top_level())


def _form(args: Args, kwargs: Kwargs) -> Hashable:
    """What calls have in common that run in the same way."""
    structure = jax.tree.structure((args, kwargs))
    try:
        hash(structure)
    except TypeError:
        return str(structure)
    return structure
