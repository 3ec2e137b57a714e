"""How members of enums are looked at: what their methods and values read."""

import enum
from collections.abc import Sequence
from typing import Any

from ..._values import identity_key, is_user_function
from ._base import Expression, IdentityKind, Source, Split
from ._classes import class_data, functions_behind


class MemberKind(IdentityKind):
    """A member of an enum that holds code: itself, with what its class and it hold."""

    keyed = tells_class = True
    is_fixed = False

    def split(self, x: Any) -> Split:
        return identity_key(x), (type(x), x.__dict__)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return (".__class__", ".__dict__")[k]

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        own = super().guard(source, name, part, n)
        return [*own, f"type({name})", f"{name}.__dict__"]


MEMBER = MemberKind()


def holds_code(cls: type[enum.Enum]) -> bool:
    """Whether members have methods of the user's, or values that may change.

    All others are names and numbers, told by identity_key alone.
    """
    functions = map(functions_behind, class_data(cls).values())
    if any(is_user_function(f) for found in functions for f in found):
        return True
    return not all(map(_is_fixed, cls))


_OWN = frozenset(("_name_", "_sort_order_", "_value_", "__objclass__"))


def _is_fixed(member: enum.Enum) -> bool:
    """Whether a member has its name and a constant alone, and no attributes."""
    return vars(member).keys() <= _OWN and _is_constant(member.value)


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return isinstance(value, (int, float, complex, str, bytes, type(None)))
