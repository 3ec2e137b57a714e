"""What compiled functions know of rules: they are traced again when these change."""

import contextlib
import contextvars
import itertools
import threading
import weakref
from collections.abc import Generator, Hashable
from typing import Any

from .._jax_internals import at_top_level, trace_again, trace_apart


# The functions that were called with values of a class while something was traced:
# what was compiled then holds the rules of that time.
_met: weakref.WeakKeyDictionary[type, set[str]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()
_count = itertools.count(1)
_version = 0
_settings: contextvars.ContextVar[tuple[tuple[str, Hashable], ...]]
_settings = contextvars.ContextVar("settings", default=())


def note(classes: tuple[type, ...], name: str) -> None:
    """Remember that a function is called with values of some classes."""
    if not at_top_level():
        with _lock:
            for cls in classes:
                _met.setdefault(cls, set()).add(name)


def rule_changes(cls: type, name: str) -> None:
    """Have compiled functions traced again if they hold the old rule of a class."""
    global _version
    with _lock:
        _version += 1
        holding = [c for c, names in _met.items() if name in names]
        stale = [c for c in holding if issubclass(c, cls)]
        for c in stale:
            _met[c].discard(name)
    if stale:
        trace_again(next(_count))


def all_change() -> None:
    """Have all compiled functions traced again."""
    global _version
    with _lock:
        _version += 1
    trace_again(next(_count))


def version_of_rules() -> int:
    """A number that grows with each rule."""
    return _version


def active_settings() -> tuple[tuple[str, Hashable], ...]:
    """What this thread has set for the block that it is in."""
    return _settings.get()


@contextlib.contextmanager
def settings(**new: Any) -> Generator[None, None, None]:
    """A block whose compiled functions are apart from those outside.

    Args:
        new: What makes the difference; equal ones share what was compiled.
    """
    value = (*_settings.get(), *new.items())
    token = _settings.set(value)
    try:
        with trace_apart(value):
            yield
    finally:
        _settings.reset(token)
