"""Errors of JAX that the user's code catches, and goes on without a value.

`try: n = int(x)` with `except TypeError: n = 3` has the value in plain Python. The
record of a trace has the errors; the traceback of each ends at the frame that caught
it. `sys.settrace` tells it, too, but then a debugger, or what measures coverage, misses
the lines of a trace.
"""

from types import FrameType
from typing import NamedTuple

import jax

from .._values import Record, is_user_code, line_label, references, source_line


class Caught(NamedTuple):
    """An error of JAX that a frame of the user's has caught.

    Attributes:
        error: The error.
        line: The line that needed the value.
    """

    error: Exception
    line: str


def errors_caught(record: Record) -> list[Caught]:
    """Those that code of the user's caught, and went on without a value.

    The record lets them go: their frames hold what holds it.
    """
    errors = [*record.errors.values()]
    record.errors.clear()
    caught = ((error, error.__traceback__) for error in errors)
    return [
        Caught(error, _line(end.tb_frame, end.tb_lineno))
        for error, end in caught
        if end is not None and _is_unaware(end.tb_frame)
    ]


def _line(frame: FrameType, line: int) -> str:
    file = frame.f_code.co_filename
    return source_line(file, line, frame.f_globals) or line_label(file, line)


def _is_unaware(frame: FrameType) -> bool:
    """Whether code is the user's, and does not say what to do where it is traced."""
    names = {name for chain in references(frame.f_code).chains for name in chain}
    if not names.isdisjoint(_ERRORS_OF_JAX):
        return False
    return is_user_code(str(frame.f_globals.get("__name__", "")), frame.f_code)


_ERRORS_OF_JAX = {name for name in vars(jax.errors) if name.endswith("Error")}
