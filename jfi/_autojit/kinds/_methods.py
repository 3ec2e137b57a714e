"""Bound methods."""

import types
from collections.abc import Sequence
from typing import Any

from ._base import Expression, Kind, Source, Split
from ._containers import PartsKind


METHOD = PartsKind(
    lambda m: (m.__func__, m.__self__),
    lambda cls, function, owner: types.MethodType(function, owner),
    [".__func__", ".__self__"],
)


def is_of_class(method: types.MethodType) -> bool:
    """Whether the function of a method is what the class of its object has."""
    name = getattr(method.__func__, "__name__", None)
    return (
        isinstance(name, str) and _found(type(method.__self__), name) is method.__func__
    )


def _found(cls: type, name: str) -> Any:
    """What a class holds under a name, before it is bound."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


class OwnMethodKind(Kind):
    """A method of the class of its object: `self.act = self.tanh`.

    Its function is the one that the class holds, as for `self.tanh` in the body: the
    two are equal. The class is compared with the object.
    """

    constant = True

    def split(self, x: Any) -> Split:
        return x.__func__.__name__, (x.__self__,)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        (owner,) = children
        return types.MethodType(_found(type(owner), part), owner)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ".__self__"

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"type({name}) is {source.constant(types.MethodType)}")
        source.require(f"{name}.__func__.__name__ == {part!r}")
        # What `is_of_class` says, without a frame of Python.
        source.require(f"getattr(type({name}.__self__), {part!r}) is {name}.__func__")
        return [f"{name}.__self__"]
