"""A word about functions that draw by NumPy or Python, of which JAX sees one draw."""

from typing import Any

from .._errors import RepeatedDrawWarning
from .._values import Warner, function_name, generators_read, one_draw


def warn_of_one_draw(fn: Any, parts: str) -> None:
    """Warn, once, of a function that draws by a generator that is not jfi's.

    Args:
        fn: The function.
        parts: What gets one draw in common: "calls", "rows".
    """
    for generator in generators_read(fn):
        message = one_draw(function_name(fn), generator, parts)
        _WARNER.warn(message, about=(fn.__code__, parts))


_WARNER = Warner(RepeatedDrawWarning)
