"""Functions that JAX is to trace again when what they read has changed."""

import functools
from collections.abc import Callable
from typing import Any

from .._jax_internals import at_top_level
from .._jit._per_function import PerFunction, weakly
from .._values import function_name, is_named, names_to_copy
from ._shared_programs import (
    MAX_PROGRAMS,
    CaptureReader,
    NotComparableError,
    State,
    named_as,
)


MOST_OBJECTS = 100  # that a loop's body reads; to trace it again takes no longer


def current_form(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls `fun`: another one whenever what `fun` reads has changed.

    JAX remembers what it traced of the body of a loop by the function object alone: a
    function of a module that reads a global variable would be stale.
    """
    unknown: Any = fun
    if not callable(unknown):  # which JAX refuses in its own words
        return fun
    try:
        return _forms.get(fun, (), _Forms).form(fun)
    except (NotComparableError, TypeError):
        return renewed(fun)


def renewed(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Another function object that calls `fun`."""

    @functools.wraps(fun, names_to_copy(fun), updated=())
    def new(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    new.__name__ = function_name(fun)  # a partial and an object have none to copy
    return new


class _Forms:
    """The functions that stand for one function, each in one state of what it reads."""

    def __init__(self) -> None:
        self._reader = CaptureReader()
        self._forms: list[tuple[State, Callable[..., Any]]] = []
        self._is_met = False

    def form(self, fun: Any) -> Callable[..., Any]:
        """The one that stands for it now."""
        if self._forms:
            now = self._reader.state_of(fun, most=MOST_OBJECTS)
            for state, form in self._forms:
                if state == now:
                    return form
        elif not (self._is_met or is_named(fun) or at_top_level()):
            # Traced code makes its inner functions anew: to find what one reads, in all
            # code that it reaches, can take longer than to trace it again.
            self._is_met = True
            return renewed(fun)
        self._reader.find_variables(fun, watched=True)
        state, find = self._reader.state_of(fun, most=MOST_OBJECTS), weakly(fun)
        form = named_as(fun, lambda *args, **kwargs: find()(*args, **kwargs))
        self._forms = [*self._forms[1 - MAX_PROGRAMS :], (state, form)]
        return form


_forms: PerFunction[_Forms] = PerFunction()
