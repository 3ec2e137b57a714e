"""What is called in the place of functions of jfi: in a block, or for good."""

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from ._active import replace_active
from ._calls import Function
from ._retracing import all_change


# What this thread has in the place of each function, the innermost block first.
news: contextvars.ContextVar[dict[str, Callable[..., Any]]]
news = contextvars.ContextVar("override", default={})  # noqa: B039 - never written to
# The same for good, in all threads.
_for_good: dict[str, Callable[..., Any]] = {}
_lock = threading.Lock()
_blocks: dict[str, int] = {}


def present(function: Function) -> Callable[..., Any]:
    """What is called for a function now."""
    name = function.name
    original: Callable[..., Any] = function.names["original"]
    return news.get().get(name) or _for_good.get(name, original)


def swap_for_good(function: Function, new: Callable[..., Any]) -> None:
    """Call another function in the place of one from now on, in all threads."""
    name = function.name
    is_first = name not in _for_good
    _for_good[name] = new
    if is_first:
        enter(function)
    replace_active(f"function {name}", new)
    all_change()


def enter(function: Function) -> None:
    """Let a wrapper look for what is in the function's place."""
    original: Callable[..., Any] = function.names["original"]

    def looking(*args: Any, **named: Any) -> Any:
        now = present(function)
        if now is not original:
            # As rules get it: a wrapper passes defaults on that nobody has written.
            args, named = function.call(args, named)
        return now(*args, **named)

    with _lock:
        _blocks[function.name] = _blocks.get(function.name, 0) + 1
        function.names["plain"] = looking


def leave(function: Function) -> None:
    """The end of a block."""
    with _lock:
        _blocks[function.name] -= 1
        if not _blocks[function.name]:
            function.names["plain"] = function.names["original"]
