"""What the code that recognises calls may call itself (see `_layouts`)."""

from collections.abc import Callable
from typing import Any

import jax

from .._arrays._placement import passed_on
from .._jax_internals import plain_class
from .._values import contents_key, is_plain_int, number_key
from ._modes import Mode
from ._opening import kind_in_mode
from .kinds._classify import ARRAY, SCALAR


class _OtherKindError(Exception):
    """A value is of another kind than in the layout."""


def is_kind(x: Any, mode: Mode, kind: Any) -> bool:
    """Whether a value is of the same kind as that in the layout."""
    return kind_in_mode(x, mode) is kind


def array(x: Any) -> Any:
    """An array, ready to be passed on."""
    if kind_in_mode(x, Mode.TRACED) is not ARRAY:
        raise _OtherKindError
    return passed_on(x, "")  # it is refused in words where the call is opened


def array_of_jax(x: Any) -> Any:
    """The same, where an array of NumPy is another matter."""
    if plain_class(x) is not jax.Array:
        raise _OtherKindError
    return array(x)


def number(x: Any) -> Any:
    """A number that is to be traced."""
    if kind_in_mode(x, Mode.TRACED) is not SCALAR:
        raise _OtherKindError
    return passed_on(x, "")


def integer(x: Any) -> Any:
    """An int or bool that is to be traced."""
    if not is_plain_int(x):
        raise _OtherKindError
    return x


def with_these(
    run: Callable[..., Any] | None, *leaves: Any
) -> Callable[..., Any] | None:
    """A program that runs with these leaves, whatever it is called with.

    The leaves of most calls need no conversion: they ask nothing a second time.
    """
    return None if run is None else lambda *_: run(*leaves)


# What the text of all layouts may name.
NAMES: dict[str, Any] = {
    "__name__": __name__,
    "array": array,
    "array_of_jax": array_of_jax,
    "number": number,
    "integer": integer,
    "with_these": with_these,
    "is_kind": is_kind,
    "number_key": number_key,
    "contents_key": contents_key,
}
