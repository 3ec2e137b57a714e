"""Exceptions on their way from the server to the client."""

import builtins
import traceback
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from .payload import dumps, loads


SURROUNDINGS = (ImportError, OSError, MemoryError, RecursionError)
"""What may be true of the server's process alone: the client finds out for itself."""


def dumps_error(error: BaseException, shared: Sequence[object]) -> bytes | None:
    """Write an exception, its class by number or name; None where it can't be done."""
    report = "".join(traceback.format_exception(error))
    full: tuple[object, ...] = (
        type(error),
        error.args,
        _attributes(error, shared),
        report,
    )
    # An argument or attribute that stays behind is told by its text.
    short: tuple[object, ...] = (type(error), (str(error),), {}, report)
    for parts in (full, short):
        try:
            data = dumps(parts, shared)
            loads(data, shared)
        except Exception:
            continue
        return data
    return None


def loads_error(data: bytes, shared: Sequence[object]) -> BaseException:
    """Make the exception again, with the server's traceback as a note."""
    kind, arguments, attributes, report = loads(data, shared)
    error = _made_again(kind, arguments)
    vars(error).update(attributes)
    error.add_note(f"--- traceback in the jfi server ---\n{report.rstrip()}")
    return error


def _made_again(kind: type[BaseException], arguments: tuple[Any, ...]) -> BaseException:
    if not isinstance(kind.__init__, FunctionType):
        return kind(*arguments)
    # An __init__ in Python takes other arguments than it hands on to `args`, and has
    # side effects: what it did is in the attributes.
    base: Any = next(b for b in kind.__mro__ if b in vars(builtins).values())
    error: BaseException = base.__new__(kind, *arguments)
    error.args = arguments
    return error


def _attributes(error: BaseException, shared: Sequence[object]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in vars(error).items():
        try:
            dumps(value, shared)
        except Exception:
            value = repr(value)
        kept[name] = value
    return kept
