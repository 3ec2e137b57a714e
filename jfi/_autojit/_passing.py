"""Data that the user's code takes for what it is in plain Python.

In the body arrays and numbers are tracers. Where code asks for classes, the graph of a
call has them (`Opened.with_classes`), and the tracers answer as the values would:
`isinstance(dt, float)`, `case np.ndarray()`, `hasattr(dt, "shape")`. What they can't do
as the values would is noted: to be written into, as NumPy arrays are by `x += 1`.
"""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from .._jax_internals import of_plain_classes
from .._values import is_python_frame, is_user_code, line_label, source_line
from ._graphs import LEAVES, Graph


@contextmanager
def passing_for_values(graph: Graph, leaves: Sequence[Any]) -> Generator[list[str]]:
    """A block in which traced leaves have the classes that the graph says.

    Yields:
        The lines in which the user's code writes into some, as they become known.
    """
    classes = [part for kind, part, _ in graph if kind in LEAVES]
    if None in classes or not classes:
        yield []
        return
    around = _noted.lines
    _noted.lines = []
    try:
        with of_plain_classes(leaves, classes, _USER):
            yield _noted.lines
    finally:
        _noted.lines = around


class _Noted(threading.local):
    def __init__(self) -> None:
        self.lines: list[str] = []


class _User:
    """Sees plain values, whether its own code asks or a function of Python's."""

    def is_user(self, frame: FrameType | None) -> bool:
        """See `Asker`."""
        while frame is not None and _asks_for_others(frame):
            frame = frame.f_back
        if frame is None:
            return False
        return is_user_code(str(frame.f_globals.get("__name__", "")), frame.f_code)

    def writes(self, frame: FrameType) -> None:
        """See `Asker`."""
        file, line = frame.f_code.co_filename, frame.f_lineno
        text = source_line(file, line, frame.f_globals)
        _noted.lines.append(text or line_label(file, line))


def _asks_for_others(frame: FrameType) -> bool:
    """Such as `abc`, for `numbers.Number`, and `functools.singledispatch`."""
    return is_python_frame(frame) or frame.f_code is np.isscalar.__code__


_noted, _USER = _Noted(), _User()
