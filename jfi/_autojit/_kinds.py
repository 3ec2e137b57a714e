"""What every kind of value can do, and the kinds of arrays, numbers and constants.

A kind splits a value into a hashable part and its children, and makes a clone of it
from the same part and new children. Kinds of values that Python code can change in
place make an empty shell first and fill it later, so that cycles can be rebuilt.
"""

from collections.abc import Collection, Sequence
from typing import Any, Protocol, TypeAlias

import jax
import numpy as np

from .._trees import Constant, contents_key, identity, number_key


# The part is hashable; a checker can't tell that classes and `Any` are.
Split: TypeAlias = tuple[Any, Sequence[Any]]

# Where the children of a value are found: an expression, or one for several of them.
Expression: TypeAlias = str | tuple[str, int]


class Source(Protocol):
    """Where a kind writes down how its values are recognised (see `_layouts`)."""

    def require(self, condition: str) -> None:
        """Go on only if an expression is true."""

    def require_kind(self, name: str) -> None:
        """Go on only if the value is of the kind that is being written."""

    def local(self, expression: str) -> str:
        """Give a name to what an expression gives."""
        ...

    def unpack(self, expression: str, n: int) -> list[str]:
        """Give names to the n items of an iterable."""
        ...

    def constant(self, value: Any, key: Any = None) -> str:
        """Give a name to a value; the key tells it from others, its id by default."""
        ...

    def setting(self, expression: str, value: Any) -> None:
        """Tell programs apart by what an expression gives; here it is `value`."""

    def leaf(self, name: str, convert: str, usual: str) -> None:
        """Pass a value to the program; if not of the usual class, check and convert."""


class Kind:
    """Base: what the walk and the rebuilding ask of every kind of value."""

    named: bool = False  # told from all others by what its guard or part compares
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

    def frozen(self, part: Any, n: int) -> Collection[int]:
        """Which of n children must keep numbers as plain values."""
        return ()

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        """How the user writes the k-th child; a bare name starts a new path."""
        return f"[{k}]"

    def contents(self, x: Any) -> Split:
        """What the body of a function might change in a clone: a part and children."""
        return self.split(x)

    def puts(self, part: Any, k: int) -> bool:
        """Whether the k-th child can be replaced alone."""
        return False

    def put(self, x: Any, part: Any, k: int, value: Any) -> None:
        """Replace the k-th child alone."""
        raise NotImplementedError

    def target(self, part: Any, k: int) -> str:
        """What to write behind a name to assign its k-th child; "" where `put` must."""
        return ""

    def replace(self, x: Any, part: Any, children: Sequence[Any]) -> None:
        """Replace the contents of a changeable value."""
        self.empty(x)
        self.fill(x, part, children)

    def display(self, part: Any, children: Sequence[str]) -> str:
        """The expression that makes a value from others; "" where `make` must."""
        return ""

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        """Write down how a value with this part and n children is recognised.

        Any kind can be recognised by splitting the value again; the kinds that are met
        often write less.

        Returns:
            Where its children are found then.
        """
        source.require_kind(name)
        split = source.local(f"{source.constant(self)}.split({name})")
        source.setting(f"{split}[0]", part)
        source.require(f"len({split}[1]) == {n}")
        return [(f"{split}[1]", n)]


class ArrayKind(Kind):
    """An array: a traced input."""

    def split(self, x: Any) -> Split:
        return None, ()

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.leaf(name, "array", "Array")
        return ()


class ScalarKind(ArrayKind):
    """A float, complex or NumPy number: traced, or a plain value where frozen."""

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.leaf(name, "number", "float")
        return ()


class IntegerKind(ArrayKind):
    """An int or bool that is declared to be traced."""

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.leaf(name, "integer", "int")
        return ()


class ValueKind(Kind):
    """A value of a simple builtin type, static by type and value."""

    def split(self, x: Any) -> Split:
        return (type(x), x), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part[1]

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        cls, value = part
        if value is None:
            source.require(f"{name} is None")
        else:
            source.require(f"type({name}) is {cls.__name__}")
            source.setting(name, value)
        return ()


class ConstantKind(Kind):
    """Any other static value, under a key made by a function."""

    def __init__(self, key: Any) -> None:
        self._key = key

    def split(self, x: Any) -> Split:
        return Constant(self._key(x), x), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part.value


class HashableKind(ConstantKind):
    """A static value of JAX, such as a compiled function: by its own equality."""

    named = True

    def __init__(self) -> None:
        super().__init__(lambda x: (type(x), x))

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        # The part keeps the value alive: no other can have its id.
        source.setting(f"id({name})", id(part.value))
        return ()


class NumberKind(ConstantKind):
    """A number of which the code must know the value."""

    def __init__(self) -> None:
        super().__init__(number_key)

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"type({name}) is {source.constant(type(part.value))}")
        source.setting(f"number_key({name})", part.key)
        return ()


class IdentityKind(ConstantKind):
    """A static value that equals only itself."""

    named = True

    def __init__(self) -> None:
        super().__init__(lambda x: identity(x).key)

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        # The part keeps the value alive: no other can have its id.
        source.setting(f"id({name})", id(part.value))
        return ()


class SentinelKind(IdentityKind):
    """An object without contents that is told by `is`, with what its class holds."""

    keyed = True

    def split(self, x: Any) -> Split:
        return identity(x), (type(x),)

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        return [*super().guard(source, name, part, n), f"type({name})"]


class OfUsersClassKind(ConstantKind):
    """A value of a user's class derived from a number or text, and its class."""

    keyed = True

    def split(self, x: Any) -> Split:
        part, _ = super().split(x)
        return part, (type(x),)


class StaticArrayKind(Kind):
    """A NumPy array that is not traced (text, dates, results), static by contents."""

    def split(self, x: Any) -> Split:
        return Constant(contents_key(x), x.copy()), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part.value.copy()


class KnownArrayKind(Kind):
    """A JAX array that is declared to be static: by contents."""

    def split(self, x: Any) -> Split:
        numbers = x
        if jax.numpy.issubdtype(x.dtype, jax.dtypes.prng_key):
            numbers = jax.random.key_data(x)
        key = str(x.dtype), bool(x.weak_type), contents_key(np.asarray(numbers))
        return Constant(key, x), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part.value


class InputKind(Kind):
    """In a result: an object that came in as an argument, and goes out as itself."""

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        raise NotImplementedError  # the rebuilding looks it up
