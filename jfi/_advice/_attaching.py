"""What jfi adds to the errors that leave its tools."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax

from .._errors import JfiError


def attach_advice(error: BaseException) -> None:
    """Add the user's line, and what to write, if the error is a common mistake.

    The error keeps its class. One about traced values, which the function does not have
    without jfi, begins with the advice, and has JAX's text below. One that plain Python
    has, too, keeps its text, and the advice is a note.
    """
    if not isinstance(error, _CLASSES) or isinstance(error, JfiError):
        return
    if has_advice(error):
        return
    from ._mistakes import mistake_of  # not needed where nothing goes wrong

    mistake = mistake_of(error)
    if mistake is None:
        return
    better = mistake.advise(error)
    mark_advised(error)
    if better is None:
        return
    if mistake.is_of_tracing:
        _begin_with(error, better)
    else:
        _add_note(error, better)


def advice_on_tracers(error: BaseException) -> str | None:
    """The user's line and what to write instead, for an error about traced values.

    None if it is another error, or the line is not found.
    """
    from ._mistakes import mistake_of

    mistake = mistake_of(error)
    is_known = mistake is not None and mistake.is_of_tracing
    return mistake.advise(error) if mistake is not None and is_known else None


def attach_axes(
    error: Exception, in_axes: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Explain which `in_axes` fit the arguments, in an error of `jax.vmap`."""
    if isinstance(error, JfiError) or has_advice(error):
        return
    from ._arguments import of_axes

    better = of_axes(error, in_axes, args, kwargs)
    if better is not None:
        mark_advised(error)
        _begin_with(error, better)


def _begin_with(error: BaseException, text: str) -> None:
    error.args = (f"{text}\n\nJAX says: {error}",)


def _add_note(error: BaseException, text: str) -> None:
    """Add a note right below the text of an error: JAX's own is about the traceback."""
    error.add_note(text)
    error.__notes__.insert(0, error.__notes__.pop())


def has_advice(error: BaseException) -> bool:
    """Whether the error is in the user's words already."""
    return hasattr(error, _ADVISED)


def mark_advised(error: BaseException) -> None:
    """Note that it is."""
    setattr(error, _ADVISED, True)


_ADVISED = "_jfi_advised"

# Of all common mistakes. Others, such as what jfi explains itself, are not looked at.
_CLASSES = (
    AttributeError, FloatingPointError, IndexError, NotImplementedError, OverflowError,
    TypeError, ValueError,
    jax.errors.UnexpectedTracerError,
)  # fmt: skip
