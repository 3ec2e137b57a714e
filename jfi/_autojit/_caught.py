"""Errors of JAX that the user's code catches, and goes on without a value.

`try: n = int(x)` with `except TypeError: n = 3` has the value in plain Python. While
such code is traced, Python tells which errors its frames meet, and whether they go on.
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

import jax

from .._values import (
    NEEDS_VALUE,
    is_user_code,
    line_label,
    references,
    source_line,
)


class Caught(NamedTuple):
    """An error of JAX that a frame of the user's has caught.

    Attributes:
        error: The error.
        line: The line that needed the value.
    """

    error: Exception
    line: str


@contextmanager
def errors_caught(may_catch: bool) -> Generator[list[Caught]]:
    """A block in which errors about missing values are noted that are caught.

    Args:
        may_catch: Whether some code that may run catches errors at all.

    Yields:
        What is found.
    """
    found: list[Caught] = []
    if not may_catch:
        yield found
        return
    # A debugger, or what measures coverage, waits, and misses the lines of a trace.
    # Called from here, coverage's own would take the place of this one for good.
    around = sys.gettrace()
    sys.settrace(_Hook(found))
    try:
        yield found
    finally:
        sys.settrace(around)


class _Hook:
    """What Python calls for each new frame."""

    def __init__(self, found: list[Caught]) -> None:
        self._found = found

    def __call__(self, frame: FrameType, event: str, arg: Any) -> "_FrameHook | None":
        return _FrameHook(self._found) if _catches(frame) else None


class _FrameHook:
    """What it calls for a frame: an error after which the frame runs on is caught."""

    def __init__(self, found: list[Caught]) -> None:
        self._found = found
        self._met: Caught | None = None

    def __call__(self, frame: FrameType, event: str, arg: Any) -> "_FrameHook":
        if event == "exception":
            error = arg[1]
            needs = isinstance(error, NEEDS_VALUE)
            self._met = Caught(error, _line(frame)) if needs else None
        elif event == "line" and self._met is not None:
            self._found.append(self._met)
            self._met = None
        return self


def _catches(frame: FrameType) -> bool:
    """Whether it is a frame of the user's that catches exceptions, JAX's unawares."""
    code = frame.f_code
    if not code.co_exceptiontable or not references(code).handlers.some:
        return False
    names = {name for chain in references(code).chains for name in chain}
    if not names.isdisjoint(_OF_JAX):
        return False
    return is_user_code(str(frame.f_globals.get("__name__", "")), code)


# Who names these says what to do where code is traced.
_OF_JAX = {name for name in vars(jax.errors) if name.endswith("Error")}


def _line(frame: FrameType) -> str:
    file, line = frame.f_code.co_filename, frame.f_lineno
    return source_line(file, line, frame.f_globals) or line_label(file, line)
