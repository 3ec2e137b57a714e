"""Attributes that code gives to functions, and those that `autojit` gives them."""

import types
from collections.abc import Sequence
from typing import Any

from ._base import Kind, Split


class AttributesKind(Kind):
    """A function that code may give attributes: `step.calls = 1`."""

    def contents(self, x: Any) -> Split:
        given = x.__dict__[AutojitMark.ATTRIBUTE].attributes if is_autojitted(x) else ()
        own = {name: value for name, value in x.__dict__.items() if name not in given}
        return tuple(own), list(own.values())

    def keys(self, part: Any, children: Sequence[Any]) -> Sequence[Any] | None:
        return tuple(part)

    def put(self, x: Any, key: Any, value: Any) -> None:
        x.__dict__[key] = value

    def remove(self, x: Any, key: Any) -> None:
        x.__dict__.pop(key, None)

    def replace(self, x: Any, part: Any, children: Sequence[Any]) -> None:
        for name in self.contents(x)[0]:
            self.remove(x, name)


class AutojitMark:
    """Among the attributes of what `autojit` returns.

    It names the code, since wrappers such as `jax.grad` copy the attributes.

    Attributes:
        code: That of the wrapper.
        template: The same, calling nobody.
        fill: Lets an empty copy of the wrapper call a function.
        attributes: The names of those that `autojit` gave the wrapper.
    """

    ATTRIBUTE = "__jfi_autojit__"

    def __init__(self, code: Any, template: Any, fill: Any, attributes: Any) -> None:
        self.code, self.template, self.fill = code, template, fill
        self.attributes = attributes


def is_autojitted(value: Any) -> bool:
    """Whether this is what `autojit` returned."""
    if not isinstance(value, types.FunctionType):
        return False
    mark = value.__dict__.get(AutojitMark.ATTRIBUTE)
    return isinstance(mark, AutojitMark) and mark.code is value.__code__
