"""The error for Python code that asks for the truth of a traced value."""

from collections.abc import Generator
from contextlib import contextmanager

import jax


@contextmanager
def with_advice() -> Generator[None]:
    """Tell the user's line, and what to write, in an error that leaves this block.

    The error keeps its class, and JAX's text below ours.
    """
    try:
        yield
    except jax.errors.TracerBoolConversionError as error:
        attach_advice(error)
        raise


def attach_advice(error: jax.errors.TracerBoolConversionError) -> None:
    """Put the user's line, and what to write, in front of JAX's words."""
    better = None if has_advice(error) else advice(error)
    mark_advised(error)
    if better is not None:
        error.args = (f"{better}\n\nJAX says: {error}",)


def has_advice(error: BaseException) -> bool:
    """Whether the error is in the user's words already."""
    return hasattr(error, _ADVISED)


def mark_advised(error: BaseException) -> None:
    """Note that it is."""
    setattr(error, _ADVISED, True)


_ADVISED = "_jfi_advised"


def advice(error: BaseException) -> str | None:
    """The user's line and what to write instead; None if the line is not found."""
    from ._branches import advice_for  # not needed where nothing goes wrong

    return advice_for(error)
