"""How builtin values are taken apart and put together again.

A kind splits a value into a hashable part and its children, and makes a clone of it
from the same part and new children. Kinds of values that Python code can change in
place make an empty shell first and fill it later, so that cycles can be rebuilt.
"""

import collections
from collections.abc import Sequence
from typing import Any, TypeAlias

from .._trees import Constant, contents_key


# The part is hashable; a checker can't tell that classes and `Any` are.
Split: TypeAlias = tuple[Any, Sequence[Any]]


class Kind:
    """Base: what the walk and the rebuilding ask of every kind of value."""

    changeable: bool = False  # by the code that holds it: shell first, filled later
    reads: bool = False  # making it reads what is in the children
    keyed: bool = False  # children are only looked at: the value itself is passed

    def split(self, x: Any) -> Split:
        """Take a value apart: what must be equal to share a program, and children."""
        raise NotImplementedError

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        """Put a value together; for changeable kinds an empty one, without children."""
        raise NotImplementedError

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        """Put the children into an empty shell."""
        raise NotImplementedError

    def empty(self, x: Any) -> None:
        """Take the children out of a changeable value, to fill it again."""

    def cells(self, part: Any) -> int:
        """How many children, from the first, the shell itself holds."""
        return 0

    def frozen(self, part: Any, n: int) -> int:
        """How many of n children, from the first, must keep numbers as plain values."""
        return 0

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        """How the user writes the k-th child; a bare name starts a new path."""
        return f"[{k}]"

    def contents(self, x: Any) -> Split:
        """What the body of a function might change in a clone: a part and children."""
        return self.split(x)


class ArrayKind(Kind):
    """An array: a traced input."""

    def split(self, x: Any) -> Split:
        return None, ()


class ScalarKind(ArrayKind):
    """A float, complex or NumPy number: traced, or a plain value where frozen."""


class ValueKind(Kind):
    """A value of a simple builtin type, static by type and value."""

    def split(self, x: Any) -> Split:
        return (type(x), x), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part[1]


class ConstantKind(Kind):
    """Any other static value, under a key made by a function."""

    def __init__(self, key: Any) -> None:
        self._key = key

    def split(self, x: Any) -> Split:
        return Constant(self._key(x), x), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part.value


class StaticArrayKind(Kind):
    """A NumPy array that is not traced (text, dates, results), static by contents."""

    def split(self, x: Any) -> Split:
        return Constant(contents_key(x), x.copy()), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part.value.copy()


class TupleKind(Kind):
    """A tuple, or a builtin class derived from it."""

    def split(self, x: Any) -> Split:
        return type(x), tuple(x)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return tuple.__new__(part, children)


class NamedTupleKind(Kind):
    """A named tuple, with what it reads from its class."""

    def split(self, x: Any) -> Split:
        return type(x), (*x, type(x))

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return tuple.__new__(part, children[:-1])

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return f".{(*part._fields, '__class__')[k]}"


class PartsKind(Kind):
    """A value that a class makes of a fixed list of parts (a slice, a bound method)."""

    def __init__(
        self,
        parts: Any,
        make: Any,
        steps: Sequence[str],
        *,
        reads: bool = False,
        frozen: bool = False,
    ) -> None:
        self._parts, self._make, self._steps = parts, make, steps
        self.reads, self._frozen = reads, frozen

    def split(self, x: Any) -> Split:
        return type(x), self._parts(x)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return self._make(part, *children)

    def frozen(self, part: Any, n: int) -> int:
        return n if self._frozen else 0

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return self._steps[k]


class ListKind(Kind):
    """A list."""

    changeable = True

    def split(self, x: Any) -> Split:
        return None, tuple(list.__iter__(x))

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return []

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        list.extend(shell, children)

    def empty(self, x: Any) -> None:
        list.clear(x)


class DequeKind(Kind):
    """A deque, with its maximal length."""

    changeable = True

    def split(self, x: Any) -> Split:
        return x.maxlen, tuple(x)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return collections.deque(maxlen=part)

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        shell.extend(children)

    def empty(self, x: Any) -> None:
        x.clear()


class BytearrayKind(Kind):
    """A bytearray, static by content."""

    changeable = True

    def split(self, x: Any) -> Split:
        return bytes(x), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return bytearray()

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        shell.extend(part)


class DictKind(Kind):
    """A dict: its order of keys counts, as in Python. Keys that are no text are nodes.

    The methods are those of the builtin class, below what a subclass makes of them.
    """

    changeable = True

    def __init__(self, cls: type[dict[Any, Any]] = dict) -> None:
        self._cls = cls

    def split(self, x: Any) -> Split:
        keys, values = tuple(self._cls.keys(x)), self._cls.values(x)
        if all(type(key) is str for key in keys):
            return keys, tuple(values)
        return len(keys), (*keys, *values)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return {}

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        if isinstance(part, int):
            part, children = children[:part], children[part:]
        self._cls.update(shell, zip(part, children, strict=True))

    def empty(self, x: Any) -> None:
        self._cls.clear(x)

    def frozen(self, part: Any, n: int) -> int:
        return part if isinstance(part, int) else 0

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        key = repr(children[k % part] if isinstance(part, int) else part[k])
        return f"[{key}]" if len(key) < 60 else f"[{key[:60]}...]"


class SetKind(Kind):
    """A set: static by its elements and their types."""

    changeable = True

    def split(self, x: Any) -> Split:
        # Sorted, since two equal sets may list their elements in different orders.
        return type(x), sorted(x, key=lambda e: (type(e).__qualname__, repr(e)))

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part()

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        set.update(shell, children)

    def empty(self, x: Any) -> None:
        set.clear(x)

    def frozen(self, part: Any, n: int) -> int:
        return n

    def contents(self, x: Any) -> Split:
        return frozenset((type(e), e) for e in x), ()


class FrozensetKind(SetKind):
    """A frozenset."""

    changeable = False

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return frozenset(children)


class InputKind(Kind):
    """In a result: an object that came in as an argument, and goes out as itself."""

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        raise NotImplementedError  # the rebuilding looks it up
