"""Objects that a module names, without contents or a library's: compared by `is`.

Code is passed `MISSING = Missing()` itself: methods of classes, and libraries, compare
it with theirs. At its first call `state = State()`, which is to be filled, looks the
same. What a traced body leaves in it is taken back, and the call is taken apart anew:
objects of its class are opened as others are from then on.
"""

import sys
import weakref
from collections.abc import Sequence
from typing import Any

from ..._values import (
    identity_key,
    is_fixed,
    is_user_module,
    own_attributes,
    own_equality,
    slots,
)
from ._base import Expression, IdentityKind, Source, Split


class SentinelKind(IdentityKind):
    """Compared by `is`, with what its class holds."""

    keyed = tells_class = True
    is_fixed = False

    def split(self, x: Any) -> Split:
        return identity_key(x), (type(x),)

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"not getattr({name}, '__dict__', None)")
        return [*super().guard(source, name, part, n), f"type({name})"]

    def portable(self, part: Any) -> Any:
        return constant_names(part.value)


class LibraryConstantKind(SentinelKind):
    """The same with settings, which may change: the tags of lineax, by their text."""

    def split(self, x: Any) -> Split:
        return identity_key(x), (type(x), own_attributes(x))

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return (".__class__", ".__dict__")[k]

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        own = IdentityKind.guard(self, source, name, part, n)
        return [*own, f"type({name})", f"{name}.__dict__"]


SENTINEL = SentinelKind()
LIBRARY_CONSTANT = LibraryConstantKind()
_filled: weakref.WeakSet[type] = weakref.WeakSet()  # classes whose objects were


def is_sentinel(x: Any, cls: type) -> bool:
    """Whether an object of a class that may have attributes is such a constant."""
    empty = not (own_attributes(x) or slots(cls) or cls in _filled)
    return empty and _is_named(x, cls)


def is_library_constant(x: Any, cls: type) -> bool:
    """Whether a library's code may compare an object with that which its module names.

    Nobody looks at that code, and a copy among the arguments would not be the same.
    """
    attributes = own_attributes(x)
    if not (attributes and all(map(is_fixed, attributes.values()))) or slots(cls):
        return False
    if is_user_module(cls.__module__) or any(own_equality(cls)):
        return False
    return _is_named(x, cls)


def constant_names(x: Any) -> list[str]:
    """The names of a constant in the module of its class, sorted."""
    variables = vars(sys.modules[type(x).__module__])
    return sorted(name for name, value in variables.items() if value is x)


def _is_named(x: Any, cls: type) -> bool:
    module = sys.modules.get(cls.__module__)
    return module is not None and any(v is x for v in vars(module).values())


def note_filled(cls: type) -> None:
    """Objects of this class get attributes: they are no sentinels."""
    _filled.add(cls)
