"""How what `functools` makes of functions is taken apart and put together again."""

import functools
from collections.abc import Sequence
from typing import Any

from ._base import Expression, Kind, Source, Split


class PartialKind(Kind):
    """A `functools.partial`, with its attributes."""

    reads = True

    def split(self, x: Any) -> Split:
        return type(x), (x.func, x.args, x.keywords, x.__dict__ or None)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        made = part.__new__(part, children[0])
        made.__setstate__(tuple(children))  # keeps the dict of keywords itself
        return made

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return (".func", ".args", ".keywords", "")[k]

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"type({name}) is {source.constant(part)}")
        steps = (f"{name}.func", f"{name}.args", f"{name}.keywords")
        return [*steps, f"({name}.__dict__ or None)"]


def cached_property_of(
    cls: type["functools.cached_property[Any]"], func: Any, name: str | None
) -> Any:
    """A `functools.cached_property`, as a class has made it known under a name."""
    made = cls(func)
    made.attrname = name
    return made
