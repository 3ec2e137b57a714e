"""How what `functools` makes of functions is taken apart and put together again."""

import functools
from collections.abc import Sequence
from typing import Any

from ._base import Expression, Kind, Source, Split


# `x.__dict__` would make one, after which `partial(x, 2)` has `x` for its function.
_STATE: Any = functools.partial.__reduce__


class PartialKind(Kind):
    """A `functools.partial`, with its attributes."""

    reads = True

    def split(self, x: Any) -> Split:
        function, args, keywords, attributes = _STATE(x)[2]
        return type(x), (function, args, keywords, attributes or None)

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
        return [*steps, f"({source.constant(_STATE)}({name})[2][3] or None)"]


def cached_property_of(
    cls: type["functools.cached_property[Any]"], func: Any, name: str | None
) -> Any:
    """A `functools.cached_property`, as a class has made it known under a name."""
    made = cls(func)
    made.attrname = name
    return made
