"""How what methods of classes read, too, is taken: see `.._met`."""

from collections.abc import Sequence
from typing import Any

from ..._values import identity_key
from ._base import Expression, IdentityKind, Source, Split


class MetKind(IdentityKind):
    """A list, a dict or an object itself: the same that methods of classes read.

    They meet what their module holds. In a copy of that, code would not see what they
    change, nor they what the code changes, if only for a while: `with training():`.
    """

    keyed = True
    is_fixed = False

    def split(self, x: Any) -> Split:
        return identity_key(x), (x,)

    def portable(self, part: Any) -> Any:
        return None

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ""

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        return [*super().guard(source, name, part, n), name]
