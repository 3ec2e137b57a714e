"""Calls of a batched function: compiled, unless Python code in it needs values."""

import threading
from collections.abc import Callable, Hashable
from typing import Any

import jax

from .._autojit import autojit
from .._compat import at_top_level
from .._errors import AutoJitError, JfiError
from .._staging import is_staged
from ._leaves import Arguments
from ._mapping import Args, Function, Kwargs, Mapping
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
        self._spread = plan.spread
        self._forms: set[Hashable] = set()  # of calls that can't be compiled
        self._simple = self._spread is None  # and no such call was met yet
        self._lock = threading.Lock()
        mapping = self._mapping = Mapping(plan, name, read)

        # One captured value: autojit looks at each of them at every call.
        def compiled(fn: Function, args: Args, kwargs: Kwargs) -> Any:
            # Under jax.disable_jit() nothing is compiled.
            return mapping.run(fn, args, kwargs, compiling=not at_top_level())

        compiled.__name__ = compiled.__qualname__ = name
        self._compiled = autojit(compiled)

    def __call__(self, fn: Function, args: Args, kwargs: Kwargs) -> Any:
        """Run a call."""
        if not self._simple:
            if self._spread is not None:
                args, kwargs = self._spread.placed((args, kwargs))
            if _form(args, kwargs) in self._forms:
                return self._mapping.run(fn, args, kwargs)
        if not at_top_level() and is_staged():
            return self._mapping.run(fn, args, kwargs)
        try:
            return self._compiled(fn, args, kwargs)
        except Exception as error:
            if not _may_do_without_compiling(error):
                raise
        # Python code in the function asks for a value, or for what autojit refuses.
        out = self._mapping.run(fn, args, kwargs)
        with self._lock:
            if len(self._forms) >= MAX_FORMS:
                self._forms.clear()
            self._forms.add(_form(args, kwargs))
            self._simple = False
        return out


MAX_FORMS = 64


def _form(args: Args, kwargs: Kwargs) -> Hashable:
    """What calls have in common that run in the same way."""
    structure = jax.tree.structure((args, kwargs))
    try:
        hash(structure)
    except TypeError:
        return str(structure)
    return structure


def _may_do_without_compiling(error: Exception) -> bool:
    """Whether a call that failed may succeed uncompiled, and has not computed yet."""
    if isinstance(error, AutoJitError):
        return True
    return not isinstance(error, (JfiError, Warning, jax.errors.JaxRuntimeError))
