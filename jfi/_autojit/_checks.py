"""What the code that recognises calls may call itself (see `_layouts`)."""

from typing import Any

from .._values import contents_key, copied_if_numpy, is_plain_int, number_key
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
    return copied_if_numpy(x)


def number(x: Any) -> Any:
    """A number that is to be traced."""
    if kind_in_mode(x, Mode.TRACED) is not SCALAR:
        raise _OtherKindError
    return x


def integer(x: Any) -> Any:
    """An int or bool that is to be traced."""
    if not is_plain_int(x):
        raise _OtherKindError
    return x


# What the text of all layouts may name.
NAMES: dict[str, Any] = {
    "__name__": __name__,
    "array": array,
    "number": number,
    "integer": integer,
    "is_kind": is_kind,
    "number_key": number_key,
    "contents_key": contents_key,
}
