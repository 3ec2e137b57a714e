"""`jax.jit`, where functions that are traced to the same code are compiled once."""

import contextlib
import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import jax

from .._jax_internals import (
    XLA_ERRORS,
    at_top_level,
    awaited,
    code_key,
    compares_code,
    find_quick_ways_again,
    has_rules,
    host_calls,
    may_raise_for_equinox,
    raise_original,
    setting,
    wait_for,
)
from ._per_function import options_key


class OtherArraysError(Exception):
    """A shared program was called with arrays that it was not traced for."""


class Jitted:
    """A function under `jax.jit`; another that has the same code shares its program.

    JAX looks a program up by the function object alone: a lambda that is made anew is
    compiled anew, whatever its code.

    The function is traced in any case: what it returns may differ in all but the
    arrays, such as the order of the keys of a dict.
    """

    def __init__(self, fun: Callable[..., Any], options: Mapping[str, Any]) -> None:
        self._fun, self._options = fun, options
        self._own = _Executable(fun, options)
        self._run: Callable[..., Any] | None = None  # known after the first call
        self._shared: _Executable | None = None  # kept alive, for others to find
        self._awaits = False  # it calls host functions, as far as known

    @property
    def run(self) -> Callable[..., Any]:
        """What runs it fastest.

        It raises OtherArraysError where a call has to go through the object itself.
        """
        run = self._run or self
        return functools.partial(awaited, run) if self._awaits else run

    def __call__(self, *args: Any) -> Any:
        """Call it."""
        before = host_calls()
        try:
            out = self._call(*args)
            if self._awaits or host_calls() != before:
                self._awaits = True
                wait_for(out)
        except XLA_ERRORS as error:
            raise_original(error)
            raise
        return out

    def _call(self, *args: Any) -> Any:
        try:
            return (self._known_run() or self._find)(*args)
        except OtherArraysError:
            pass
        run = self._run = self._unshared().jitted
        return run(*args)

    def _known_run(self) -> Callable[..., Any] | None:
        """What runs it fastest, if that is known."""
        for executable in (self._own, self._shared):
            if executable is not None and executable.body.has_failed():
                find_quick_ways_again(executable.jitted)
        return self._run

    def trace(self, *args: Any) -> Any:
        """What `jax.jit` makes of it for these arrays, to look at."""
        try:
            return self._own.jitted.trace(*args)
        except OtherArraysError:
            return self._unshared().jitted.trace(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own.jitted, name)

    def _unshared(self) -> "_Executable":
        """Its own executable. What others use, too, takes no more kinds of arrays."""
        if self._own.body.is_shared():
            self._own = _Executable(self._fun, self._options)
        return self._own

    def _find(self, *args: Any) -> Any:
        """Call it, and find out what runs it from now on."""
        own = self._own
        if not compares_code() or not at_top_level() or setting("jax_disable_jit"):
            return own.jitted(*args)
        traced = own.jitted.trace(*args)  # a call finds this
        self._awaits |= may_raise_for_equinox(traced.jaxpr.jaxpr)
        key = self._key(traced.jaxpr, args)
        found = own if key is None else _same_as(own, key)
        if found is not own:
            run = _in_place_of(own, traced, found)
            with contextlib.suppress(OtherArraysError):
                out = run(*args)
                self._run, self._shared = run, found
                return out
            # It was traced under other settings of JAX; or JAX has forgotten it.
            _executables[key] = own
        self._run = own.jitted
        return own.jitted(*args)

    def _key(self, closed_jaxpr: Any, args: tuple[Any, ...]) -> Hashable | None:
        code = code_key(closed_jaxpr)
        key = code, jax.tree.structure(args), options_key(self._options)
        try:
            hash(key)
        except TypeError:
            return None
        return key if code is not None else None


class _Executable:
    """What a function is compiled to."""

    def __init__(self, fun: Callable[..., Any], options: Mapping[str, Any]) -> None:
        self.body = _Body(fun)
        self.jitted: Any = jax.jit(_named(self.body.trace, fun), **options)


class _Body:
    """What is traced. It knows nothing of what compiles it, so that there is no cycle.

    Attributes:
        structure: That of the result.
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.structure: Any = None
        self._fun: Callable[..., Any] | None = fun
        self._traces = 0
        self._failed = False

    def trace(self, *args: Any) -> Any:
        """Run the function, for one more kind of arrays."""
        with _lock:
            fun = self._fun
            if fun is None:
                raise OtherArraysError
            self._traces += 1
        try:
            out = fun(*args)
        except BaseException:
            self._failed = True
            raise
        self.structure = jax.tree.structure(out)
        return out

    def has_failed(self) -> bool:
        """Whether a trace has failed since this was asked."""
        failed, self._failed = self._failed, False
        return failed

    def share(self) -> bool:
        """Trace no more, and let the function go, so that others may use what there is.

        Returns:
            Whether this can be: if it was traced for one kind of arrays.
        """
        with _lock:
            if self._traces == 1:
                self._fun = None
            return self._fun is None

    def is_shared(self) -> bool:
        """Whether others may use what there is."""
        return self._fun is None


_lock = threading.Lock()
_executables: weakref.WeakValueDictionary[Hashable, _Executable] = (
    weakref.WeakValueDictionary()
)


def _same_as(own: _Executable, key: Hashable) -> _Executable:
    """The executable of the same code: the first there was, if others may use it."""
    first = _executables.setdefault(key, own)
    if first is own or first.body.share():
        return first
    _executables[key] = own  # which others may use
    return own


def _in_place_of(own: _Executable, traced: Any, other: _Executable) -> Any:
    """What runs another executable, with the result of its own.

    Args:
        own: Its own executable.
        traced: The trace of it.
        other: The other executable.
    """
    structure, theirs = traced.out_tree, other.body.structure
    # `==` takes 1 and True for the same static data of a node; their texts differ.
    same = structure == theirs and repr(structure) == repr(theirs)
    if same and not has_rules(traced.jaxpr):
        return other.jitted

    def run(*args: Any) -> Any:
        if not at_top_level():  # their derivatives may differ
            return own.jitted(*args)
        out = other.jitted(*args)
        return out if same else jax.tree.unflatten(structure, jax.tree.leaves(out))

    return run


def _named(run: Callable[..., Any], fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the name and signature of another, which it does not hold."""

    def named(*args: Any) -> Any:
        return run(*args)

    named.__name__ = named.__qualname__ = getattr(fun, "__name__", "function")
    setattr(named, "__signature__", inspect.signature(fun))  # noqa: B010 - unknown to type checkers
    return named
