"""Where errors leave jfi: they get advice, and show the user's own lines alone.

An error of the user's function passes some twenty frames of jfi on its way to the line
that called it. JAX takes out its own frames below the outermost of its functions; the
functions of jfi that users call take out those of both, in the way that the option
`jax_traceback_filtering` says: `JAX_TRACEBACK_FILTERING=off` shows all.

Beside the advice (`_attaching`) nothing of the error changes: the note, or the cause
with all frames, is JAX's.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar

from .._jax_internals import filtering, shows_file
from .._values import is_own_frame, is_python_frame
from ._attaching import attach_advice


P = ParamSpec("P")
R = TypeVar("R")


def hide_frames(error: Exception) -> None:
    """Add the advice on common mistakes, and take jfi's and JAX's frames out.

    To be called where a public function of jfi has caught the error, before `raise`,
    which adds no frame: then the error looks as if the user had called the function
    of theirs without jfi.
    """
    # The user's error must come, whatever its text and the source around it are.
    with contextlib.suppress(Exception):
        attach_advice(error)
    mode = filtering()
    if mode == "off":
        return
    if mode == "tracebackhide":
        _mark(error)
    else:
        error.__traceback__ = _without_hidden(error.__traceback__)


_HIDES = "__jfi_hides_frames__"


def hiding_frames(fn: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public function that calls functions of users: see `hide_frames`.

    A function that is called often has the `except` clause itself, which costs nothing.
    """

    @functools.wraps(fn)
    def shown(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    vars(shown)[_HIDES] = True
    return shown


def hides_frames(fn: Callable[..., Any]) -> bool:
    """Whether a function was decorated so."""
    return hasattr(fn, _HIDES)


def _without_hidden(traceback: TracebackType | None) -> TracebackType | None:
    steps = [step for step, hidden in _calls_of_traceback(traceback) if not hidden]
    # New ones: a traceback may be shared, as with the cause that JAX makes of it.
    kept: TracebackType | None = None
    for step in reversed(steps):
        kept = TracebackType(kept, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return kept


def _mark(error: Exception) -> None:
    """Let IPython and pytest leave out frames, which stay there for a debugger."""
    for step, hidden in _calls_of_traceback(error.__traceback__):
        if hidden:
            variables: Any = step.tb_frame.f_locals
            variables["__tracebackhide__"] = True
            if isinstance(variables, dict):  # a copy that the frame keeps, before 3.13
                _forget(variables, error)


def _forget(variables: dict[str, Any], error: Exception) -> None:
    """Without this the error would hold the frame, and the frame the error."""
    for name in [name for name, value in variables.items() if value is error]:
        del variables[name]


def _calls_of_traceback(
    traceback: TracebackType | None,
) -> Iterator[tuple[TracebackType, bool]]:
    """The calls of a traceback, and whether each is hidden."""
    hidden = False
    while traceback is not None:
        frame = traceback.tb_frame
        # What jfi calls of Python's library, such as functools, is as good as jfi's.
        hidden = _is_hidden(frame) or (hidden and is_python_frame(frame))
        yield traceback, hidden
        traceback = traceback.tb_next


def _is_hidden(frame: FrameType) -> bool:
    return is_own_frame(frame) or not shows_file(frame.f_code.co_filename)
