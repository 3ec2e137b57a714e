"""What every kind of value can do, and the kinds of arrays, numbers and constants.

A kind splits a value into a hashable part and its children, and makes a clone of it
from the same part and new children. Kinds of values that Python code can change in
place make an empty shell first and fill it later, so that cycles can be rebuilt.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol


if TYPE_CHECKING:
    pass
import types
from collections.abc import Callable, Collection, Iterable, Sized
from typing import NamedTuple, TypeAlias

import jax

from ..._jax_internals import wide_dtype
from ..._values import KeyedValue, identity_key, number_key
from .._reading import Mode, Read


# ---- Where kinds write down how their values are recognised ----


class Source(Protocol):
    """Where a kind writes down how its values are recognised (see `_layouts`)."""

    def require(self, condition: str) -> None:
        """Go on only if an expression is true."""

    def require_kind(self, name: str) -> None:
        """Go on only if the value is of the kind that is being written."""

    def local(self, expression: str) -> str:
        """Give a name to the value of an expression."""
        ...

    def unpack(self, expression: str, n: int) -> list[str]:
        """Give names to the n items of an iterable."""
        ...

    def constant(self, value: Any, key: Any = None) -> str:
        """Give a name to a value, one for each key; the key is its id by default."""
        ...

    def is_constant(self, name: str, value: Any) -> bool:
        """Whether a name is that of a constant."""
        ...

    def kinds(self) -> Sequence["Kind"]:
        """The kinds of the children of the value that is being written."""
        ...

    def variables(self, variables: dict[str, Any]) -> str:
        """The name of the variables of a module."""
        ...

    def variables_from(self, k: int) -> Sequence[str]:
        """The names of the children from the k-th on, which are variables."""
        ...

    def setting(self, expression: str, value: Any) -> None:
        """Have a program for each value of an expression; here it is `value`."""

    def leaf(self, name: str, convert: str, usual: str) -> None:
        """Pass a value to the program; if not of the usual class, check and convert."""


# ---- Kinds ----


# The part is hashable; a checker can't see that classes and `Any` are.
Split: TypeAlias = tuple[Any, Sequence[Any]]

# Where the children of a value are found: an expression, or one for several of them.
Expression: TypeAlias = str | tuple[str, int]


class ModuleName(str):
    """In a portable part, what has some code: a library's changes with its version."""

    __slots__ = ()


class Watches(NamedTuple):
    """How to see that a value is what it was: by what holds the very same objects.

    Attributes:
        dicts: Of which the keys and the values count.
        lists: Of which the items count.
        objects: Of which the class and the dict of attributes count.
        sized: What has as many items as before.
        attributes: Objects, and an attribute of each that counts.
        checks: Each is true while something is as it was.
        calls: Each lists the same objects when it is called again.
    """

    dicts: Sequence[dict[Any, Any]] = ()
    lists: Sequence[list[Any]] = ()
    objects: Sequence[object] = ()
    sized: Sequence[Sized] = ()
    attributes: Sequence[tuple[object, str]] = ()
    checks: Sequence[Callable[[], bool]] = ()
    calls: Sequence[Callable[[], Iterable[Any]]] = ()


class RefusedError(Exception):
    """A value that can't be an argument; `{path}` in the text stands for its place."""


class UnportableError(Exception):
    """A value means something in this process alone, or at this moment."""


class ReaderError(RefusedError):
    """The same, of a value that changes when it is read."""


class Kind:
    """Base: what the walk and the rebuilding ask of every kind of value."""

    named: bool = False  # its guard or part is equal for no other value
    changeable: bool = False  # by the code that holds it: shell first, filled later
    reads: bool = False  # making it reads what is in the children
    keyed: bool = (
        False  # children enter the key; the value itself is passed, not a copy
    )
    constant: bool = False  # stays what it is while all its children do
    is_fixed: bool = False  # an object of a library, under a name that stays its own
    ordered: bool = True  # its keys have an order, which Python code can see
    tells_class: bool = False  # its own class is among its children
    frozen_as: Mode = Mode.FROZEN  # how the children are taken that `frozen` names
    keeps_ints: bool = False  # ints below it are settings, where all ints are data

    def split(self, x: Any) -> Split:
        """Take a value apart: what must be equal to share a program, and children."""
        raise NotImplementedError

    def open(self, x: Any, read: Read, mode: Mode) -> Split:
        """The same, as far as code reads it."""
        return self.split(x)

    def functions(self, x: Any, read: Read) -> Iterable[types.FunctionType]:
        """The functions that may run where code uses the value."""
        return ()

    def looked_at(self, part: Any, n: int) -> int:
        """From which of n children on they only count, and are not passed."""
        return 0 if self.keyed else n

    def unread(self, part: Any, read: Read) -> Collection[int]:
        """Which children no code reads, of those that are only looked at."""
        return ()

    def portable(self, part: Any) -> Any:
        """The part without identities: what it says in another process, too.

        It is made of plain values, code and classes, which go by their names (what they
        hold are nodes of their own), and of objects that are compared by what they are.

        Raises:
            UnportableError: There is no such thing.
        """
        return part

    def stays(self, part: Any) -> bool:
        """Whether this value stays what it is, if those of its kind do."""
        return self.constant

    def itself(self, part: Any) -> Any:
        """The value itself, which is passed where it and its children stay."""
        return MISSING

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

    def keys(self, part: Any, children: Sequence[Any]) -> Sequence[Any] | None:
        """Under which keys a value holds its contents; None: it has a length alone."""
        return None

    def key_of(self, part: Any, k: int) -> Any:
        """Under which key the k-th child is put; None where there is none."""
        return None

    def put(self, x: Any, key: Any, value: Any) -> None:
        """Put a new value under a key."""
        raise NotImplementedError

    def remove(self, x: Any, key: Any) -> None:
        """Remove what is under a key, if it is there."""
        raise NotImplementedError

    def target(self, key: Any) -> str:
        """What to write behind a name to assign a key; "" where `put` must."""
        return ""

    def join(self, x: Any, first: int, last: int, values: Sequence[Any]) -> bool:
        """Drop so many values at both ends and append others, if the kind can."""
        return False

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

    def watches(self, x: Any, part: Any) -> Watches | None:
        """How to see that a value is unchanged: it then lists the very same objects.

        None where only taking it apart tells; what can't change needs nothing.
        """
        return None


MISSING = object()
IMMUTABLE = Watches()


class ArrayKind(Kind):
    """An array: a traced input. The part is its class, where code asks for classes."""

    def split(self, x: Any) -> Split:
        return None, ()

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        if part is jax.Array:
            source.leaf(name, "array_of_jax", "Array")
        else:
            _require_class(source, name, part)
            source.leaf(name, "array", "Array")
        return ()


def _require_class(source: Source, name: str, part: Any) -> None:
    if part is None:
        return
    wide = wide_dtype(part)  # the class of NumPy's arrays, and a dtype that JAX cuts
    cls = source.constant(part if wide is None else part.__base__)
    source.require(f"type({name}) is {cls}")
    if wide is not None:
        source.require(f"{name}.dtype == {source.constant(wide, ('dtype', wide))}")


class ScalarKind(ArrayKind):
    """A float, complex or NumPy number: traced, or a plain value where frozen."""

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        _require_class(source, name, part)
        source.leaf(name, "number", "float")
        return ()

    def watches(self, x: Any, part: Any) -> Watches | None:
        return IMMUTABLE


class IntegerKind(ArrayKind):
    """An int or bool that is declared to be traced."""

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        _require_class(source, name, part)
        source.leaf(name, "integer", "int")
        return ()


class ValueKind(Kind):
    """A value of a simple builtin type, static by type and value."""

    constant = True

    def split(self, x: Any) -> Split:
        return (type(x), x), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part[1]

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        cls, value = part
        if value is None:
            if name != "None":
                source.require(f"{name} is None")
        else:
            source.require(f"type({name}) is {cls.__name__}")
            source.setting(name, value)
        return ()

    def watches(self, x: Any, part: Any) -> Watches | None:
        return IMMUTABLE


class ConstantKind(Kind):
    """Any other static value, under a key made by a function."""

    constant = True

    def __init__(self, key: Any) -> None:
        self._key = key

    def split(self, x: Any) -> Split:
        return KeyedValue(self._key(x), x), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part.value

    def portable(self, part: Any) -> Any:
        return part.value


class HashableKind(ConstantKind):
    """A static value of JAX, such as a compiled function: by its own equality."""

    named = is_fixed = True

    def __init__(self) -> None:
        super().__init__(lambda x: (type(x), x))

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        return _guard_identity(source, name, part.value)

    def watches(self, x: Any, part: Any) -> Watches | None:
        return IMMUTABLE


class NumberKind(ConstantKind):
    """A number of which the code must know the value."""

    def __init__(self) -> None:
        super().__init__(number_key)

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"type({name}) is {source.constant(type(part.value))}")
        if type(part.value) is float:  # the same key, without a call
            source.setting(f"{name}.hex()", part.value.hex())
        else:
            source.setting(f"number_key({name})", part.key)
        return ()

    def watches(self, x: Any, part: Any) -> Watches | None:
        return IMMUTABLE


class IdentityKind(ConstantKind):
    """A static value that equals only itself."""

    named = is_fixed = True

    def __init__(self) -> None:
        super().__init__(lambda x: identity_key(x).key)

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        return _guard_identity(source, name, part.value)

    def watches(self, x: Any, part: Any) -> Watches | None:
        return IMMUTABLE if self.is_fixed else None


def _guard_identity(source: Source, name: str, value: Any) -> Sequence[Expression]:
    # Not where the name stands for the value, as that of a global variable can. The
    # part keeps the value alive: no other can have its id.
    if not source.is_constant(name, value):
        source.setting(f"id({name})", id(value))
    return ()


class OfUsersClassKind(ConstantKind):
    """A value of a user's class derived from a number or text, and its class."""

    keyed = tells_class = True

    def split(self, x: Any) -> Split:
        part, _ = super().split(x)
        return part, (type(x),)


class InputKind(Kind):
    """In a result: an object that came in as an argument, and goes out as itself."""

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        raise NotImplementedError  # the rebuilding looks it up


# ---- How what methods of classes read, too, is taken: see `.._opening` ----


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
