"""PyTorch's words for arguments that arrays here don't have: what to write instead."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar


P = ParamSpec("P")
R = TypeVar("R")


_ONE_LAYOUT = "Leave it out: arrays have one layout."
_INSTEAD = {
    "end": "Write stop=.",
    "generator": "Its functions are methods here: g = jnp.Generator(0), "
    "and g.{function}(...).",
    "layout": _ONE_LAYOUT,
    "memory_format": _ONE_LAYOUT,
    "out": "Arrays don't change: take the result, x = jnp.{function}(...).",
    "pin_memory": "Leave it out: arrays are copied to a GPU from any memory.",
    "requires_grad": "Arrays here don't record what is done with them: take the "
    "derivative of a function, jnp.grad(loss)(x).",
    "size": "The shape comes first, without a name: jnp.{function}((2, 3), ...).",
    "steps": "Write num=.",
}


def explains_words(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that refuses such words with what to write."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            explain_words(error, function.__name__, kwargs)
            raise

    return called


def explain_words(error: TypeError, function: str, given: Mapping[str, Any]) -> None:
    """Raise what to write, if a call failed because of a word of PyTorch's.

    Args:
        error: Python's own, of the call.
        function: The name of the function.
        given: Its arguments by name.
    """
    if "unexpected keyword argument" not in str(error):
        return
    for word, value in given.items():
        if word in _INSTEAD and f"argument {word!r}" in str(error):
            raise refused_word(function, word, value) from None


def refused_word(function: str, word: str, value: Any) -> TypeError:
    """The error for a word of PyTorch's that a function got."""
    line = _INSTEAD[word].format(function=function)
    return TypeError(f"{function}() got {word}={value!r:.40}. {line}")
