"""Functions that run an autojitted one in a way of their own: those of `persistent`."""

import operator
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..._shown import ShownFunction
from ._attributes import AttributesKind, is_autojitted
from ._base import Split
from ._containers import PartsKind


F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__jfi_wrapper__"


def mark_wrapper(fn: F) -> F:
    """Say that a function runs the autojitted one that its `__wrapped__` is."""
    setattr(fn, _MARK, getattr(fn, "__code__"))  # noqa: B009 - unknown to type checkers
    return fn


def is_wrapper(value: Any) -> bool:
    """Whether a function is marked so; those that copy its attributes are not."""
    if not isinstance(value, types.FunctionType):
        return False
    return value.__dict__.get(_MARK) is value.__code__


def plain_function(value: Any) -> Any:
    """What the user wrote, of a function under `persistent` or `autojit`."""
    if is_wrapper(value):
        value = value.__wrapped__
    return value.__wrapped__ if is_autojitted(value) else value


class WrapperKind(AttributesKind):
    """Such a function: in compiled code it is the autojitted one, with its attributes.

    The parts are the names of those that the user gave it. What the body gives the
    autojitted one is written to both.
    """

    def split(self, x: Any) -> Split:
        inner = x.__wrapped__
        own = {
            name: value
            for name, value in x.__dict__.items()
            if name not in (_MARK, "__wrapped__")
            and (name not in inner.__dict__ or inner.__dict__[name] is not value)
        }
        return tuple(own), (inner, *own.values())

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        made, *values = children
        made.__dict__.update(zip(part, values, strict=True))
        return made

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return f".{part[k - 1]}" if k else ""


def is_shown(fn: object) -> bool:
    """Whether it is what a tool returned, with the function inside."""
    return type(fn) is ShownFunction  # which it is to `isinstance`, too


class ShownKind(PartsKind):
    """What other tools return, such as `vmap` and `grad`: the function in it counts."""

    def __init__(self) -> None:
        parts = operator.attrgetter("_jfi_function", "_jfi_describe")
        steps = ["._jfi_function", "._jfi_describe"]
        super().__init__(parts, lambda cls, *parts: cls(*parts), steps)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ""
