"""Whether a call works, found without computing."""

from collections.abc import Callable
from typing import Any

import jax

from ..._random._streams import current, using
from ..._random.traced import FoundDraws, functionalize, tracing
from ..._values import NEEDS_VALUE


def failure_of(call: Callable[[], Any]) -> Exception | None:
    """Why a call does not work; None if it does."""
    try:
        try:
            _trace(call)
        except NEEDS_VALUE:
            # Tracing hides the values of shared arrays too, which `fn` may ask for.
            with using(current().copy()):  # a trial leaves no trace
                call()
    except Exception as error:
        return error
    return None


def failure_of_trace(call: Callable[[], Any]) -> Exception | None:
    """The same in code that jfi compiles, where a value that must be known is raised.

    autojit makes it a setting if it is a float; else the call runs uncompiled.
    """
    try:
        _trace(call)
    except NEEDS_VALUE:
        raise
    except Exception as error:
        return error
    return None


def _trace(call: Callable[[], Any]) -> None:
    """Trace a call, whose draws leave no trace."""
    try:
        with tracing(refuses=True):
            jax.eval_shape(call)
    except FoundDraws:
        functionalize(call, ())
