"""Values that code changes without reading them: a count, a list that grows.

`self.calls += 1` and `self.losses.append(loss)` are the commonest lines of a training
script. A setting that changes at each call would compile at each call. So a stand-in is
put in its place while the body is traced: it remembers what is done to it, and that is
done at each call. Code that does anything else with it (`range(self.calls)`,
`len(self.losses)`) is noted as for attributes that no code seems to read; then the call
is taken apart again, with the value as a setting.
"""

import operator
from collections.abc import Sequence
from typing import Any, NoReturn

from ._base import Expression, Kind, Source, Split
from ._objects import Unread, touch


class Count(Unread):
    """Stands for an int, and for what is computed of it with other ints.

    Attributes:
        step: What was done last: an operator, the other int, and whether that comes
            first; None: nothing.
        inner: To what that was done.
    """

    __slots__ = ("inner", "step")

    def __init__(self, inner: Any = None, step: Any = None) -> None:
        object.__setattr__(self, "inner", inner)
        object.__setattr__(self, "step", step)

    def __getattribute__(self, name: str) -> Any:
        return int if name == "__class__" else super().__getattribute__(name)

    def _then(self, name: str, other: object, *, first: bool = False) -> "Count":
        if type(other) not in (int, bool):
            _refuse()
        return Count(self, (name, other, first))

    def __add__(self, other: object) -> "Count":
        return Count._then(self, "add", other)

    def __radd__(self, other: object) -> "Count":
        return Count._then(self, "add", other, first=True)

    def __sub__(self, other: object) -> "Count":
        return Count._then(self, "sub", other)

    def __rsub__(self, other: object) -> "Count":
        return Count._then(self, "sub", other, first=True)

    def __mul__(self, other: object) -> "Count":
        return Count._then(self, "mul", other)

    def __rmul__(self, other: object) -> "Count":
        return Count._then(self, "mul", other, first=True)


class Appended(Unread):
    """Stands for a list to which values are appended."""

    __slots__ = ("new",)

    def __init__(self) -> None:
        object.__setattr__(self, "new", [])

    def __getattribute__(self, name: str) -> Any:
        if name in ("append", "extend"):
            return object.__getattribute__(self, name)
        return list if name == "__class__" else super().__getattribute__(name)

    def append(self, value: object) -> None:
        object.__getattribute__(self, "new").append(value)

    def extend(self, values: object) -> None:
        if type(values) not in (list, tuple):
            _refuse()
        object.__getattribute__(self, "new").extend(values)

    def __iadd__(self, values: object) -> "Appended":
        self.extend(values)
        return self


def _refuse() -> NoReturn:
    touch()
    raise TypeError("the value is not known while the function is compiled")


class StandInKind(Kind):
    """A value that is changed, and not read: all of its class share a program.

    Attributes:
        cls: Its class.
    """

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def split(self, x: Any) -> Split:
        return None, ()

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"type({name}) is {self.cls.__name__}")
        return ()


class CountedKind(StandInKind):
    """An int; the body gets a `Count`."""

    def __init__(self) -> None:
        super().__init__(int)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return Count()


class GrowingKind(StandInKind):
    """A list; the body gets an `Appended`, whose contents are what was appended."""

    changeable = True

    def __init__(self) -> None:
        super().__init__(list)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return Appended()

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        """There is nothing in it."""

    def contents(self, x: Any) -> Split:
        return None, tuple(object.__getattribute__(x, "new"))

    def join(self, x: Any, first: int, last: int, values: Sequence[Any]) -> bool:
        list.extend(x, values)
        return True


class StepKind(Kind):
    """In a result: what was computed of a count."""

    def split(self, x: Any) -> Split:
        return object.__getattribute__(x, "step"), (
            object.__getattribute__(x, "inner"),
        )

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        name, other, first = part
        (inner,) = children
        operands = (other, inner) if first else (inner, other)
        return getattr(operator, name)(*operands)

    def display(self, part: Any, children: Sequence[str]) -> str:
        name, other, first = part
        left, right = (other, children[0]) if first else (children[0], other)
        return f"({left} {_SIGNS[name]} {right})"


_SIGNS = {"add": "+", "sub": "-", "mul": "*"}
