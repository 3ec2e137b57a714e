"""What the code that a call may run reads, by name: global variables and attributes.

All of it is known before the code runs, from its bytecode. It is more than what a
call reads, never less, but for code that makes up names while it runs (`Read.whole`)
and for what nobody can watch (`Read.unseen`).
"""

import copy
import enum
import functools
import operator
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Union, get_args, get_origin

from .._dispatch._active import ACTIVE_RULES
from .._values import (
    Handlers,
    References,
    is_user_function,
    is_user_module,
    references,
)


# ---- What becomes of the numbers and arrays that are met ----


class Mode(enum.Enum):
    """How a value is taken."""

    TRACED = enum.auto()  # arguments: arrays and floats are traced
    ABSTRACT = enum.auto()  # arguments: so are shapes and dtypes without an array
    DATA = enum.auto()  # arguments: so are ints and bools
    FROZEN = enum.auto()  # parts of which the code must know the floats
    FIXED = enum.auto()  # parts that are constants to JAX: also small arrays of NumPy
    VARYING = enum.auto()  # as FROZEN, but for floats that have changed
    STATIC = enum.auto()  # arguments of which the code must know all values
    RESULT = enum.auto()  # results: what is no JAX array is returned as it is
    SHOWN = enum.auto()  # what a person looks at: the same, and nothing is refused
    LOOKED_AT = enum.auto()  # data of a class: passed itself, only its key is taken
    MET = enum.auto()  # passed itself: methods of classes meet it, too
    UNREAD = enum.auto()  # the same, of what no code reads: functions are not followed


# Of these a copy is passed, and not the value itself.
WITH_DATA = (Mode.TRACED, Mode.ABSTRACT, Mode.DATA)
PASSED = (*WITH_DATA, Mode.VARYING, Mode.FROZEN, Mode.FIXED, Mode.STATIC)
RETURNED = (Mode.RESULT, Mode.SHOWN)
KEYS = (Mode.LOOKED_AT, Mode.UNREAD)


# ---- What code reads ----


# Code that reads all attributes that there are.
_LISTS = frozenset(("dir", "vars"))
_PEEKS = frozenset(("callable", "type"))
_ASKS_FOR_NAMES = frozenset(("getattr", "hasattr"))
_LISTS_BY_ATTRIBUTE = frozenset(("__dict__", "getmembers"))
# What leads to variables and classes that nothing else here names.
_UNSEEN_ATTRIBUTES = frozenset(("__globals__", "f_builtins", "f_globals", "f_locals"))
_OF_PROCESS = frozenset(("argv", "modules", "path", "stdin"))  # variables of `sys`
_PART = 2  # letters: in modules are many names, of which one more may begin so
_ALL_ATTRIBUTES = frozenset(
    ("__dict__", "__getattribute__", "__getstate__", "__reduce__", "__reduce_ex__")
)
# Called where an object is made, and not where one is used.
_MAKING = frozenset(
    ("__init__", "__init_subclass__", "__new__", "__post_init__", "__set_name__")
)
# Called by JAX where it takes an object apart as a tree.
_TREES = frozenset(("tree_flatten", "tree_flatten_with_keys", "tree_unflatten"))
# Called where an object is written as text.
SHOWING = frozenset(("__format__", "__repr__", "__str__"))
_SHOWS = frozenset(("ascii", "format", "print", "repr", "str"))
# Functions and attributes that tell arrays of NumPy from JAX's, or floats from both,
# or give other numbers of small integers; and the beginnings of those of equinox.
_ASKS_CLASS = frozenset(("getattr", "hasattr", "isinstance", "type"))
_DEPENDS_ON_CLASS = frozenset(("__class__", "cumprod", "cumsum", "isscalar", "sort"))
_COMPARISONS = frozenset(("__eq__", "__ge__", "__gt__", "__le__", "__lt__"))
_OF_EQUINOX = ("filter_", "is_array", "is_inexact_array", "partition")


LRU_CACHED = type(functools.cache(lambda: None))


def copied_module(variables: Mapping[str, Any]) -> tuple[str, str] | None:
    """What identifies copies of a module's variables, and is equal for all; else None.

    Functions that came from another process bring one, with what they read.
    """
    name = str(variables.get("__name__"))  # None: such as those of a dataclass
    if "__builtins__" not in variables or vars(sys.modules.get(name, sys)) is variables:
        return None
    return "a copy of", name


def _in_unions(values: Iterable[object]) -> Iterator[str]:
    """The names of the classes in unions, such as `Number = Union[int, float]`."""
    for value in values:
        if get_origin(value) is Union:
            yield from (getattr(cls, "__name__", "") for cls in get_args(value))


_OF_ARITHMETIC = {
    "ArithmeticError", "FloatingPointError", "OverflowError", "ZeroDivisionError",
}  # fmt: skip
_OF_ALL = {"BaseException", "Exception"}


def _of_arithmetic(handlers: Handlers, builtin: set[str]) -> bool:
    """Whether errors of Python's arithmetic are caught; builtin names are read."""
    of_all = handlers.of_all or bool(builtin & _OF_ALL)
    by_name = handlers.some and bool(builtin & _OF_ARITHMETIC)
    return by_name or (handlers.around_division and of_all)


class Assumed(NamedTuple):
    """What is known of a function besides its code.

    Attributes:
        whole: Whether all attributes count, whatever the code seems to read.
        unused: Names of attributes that the body does not use, as the user said.
        exact: Whether the body uses what can't be opened, so that a call is refused.
        ran: The names of functions that ran although nothing seemed to lead to them.
    """

    whole: bool = False
    unused: frozenset[str] = frozenset()
    exact: bool = False
    ran: frozenset[str] = frozenset()


NOTHING_ASSUMED = Assumed()


def _of_process(module: Mapping[str, Any], found: References) -> Iterator[str]:
    """The variables of `sys` that code reads: no function is called for them."""
    for name, *attributes in found.chains:
        if module.get(name) is sys and not _OF_PROCESS.isdisjoint(attributes):
            yield ".".join((name, *attributes))
    if "sys" in found.imports:  # inside: then `sys` is a variable like others
        yield from (f"sys.{name}" for name in _OF_PROCESS & found.attributes)


def _is_of_user(x: Any) -> bool:
    return isinstance(x, types.ModuleType) and is_user_module(x.__name__)


def _is_method(fn: types.FunctionType) -> bool:
    """Whether a function was written in a class."""
    around = fn.__qualname__.rpartition(".")[0]
    return bool(around) and not around.endswith("<locals>")


def _runs_when_assigned(cls: type, name: str) -> bool:
    """Whether a class has a property or another descriptor for what is assigned."""
    values = [vars(base)[name] for base in cls.__mro__ if name in vars(base)]
    return any(hasattr(type(value), "__set__") for value in values)


class Read:
    """The names that the code met so far reads.

    Attributes:
        attributes: The attributes, of whatever.
        stored: Those that are assigned.
        owners: Those of which attributes are read or assigned.
        whole: Whether attributes may be read by names that the code makes up.
        texts: If so, the texts met, of which such names may be made.
        listed: The modules, by id, of which code may read all there is.
        made: The classes that code can call, to make objects.
        unseen: What is read that can't be watched, as the user writes it.
        readers: Where there is what changes when it is read: iterators, open files.
        untraced: Whether some of that must not be traced, either.
        imports: What code of the user's imports when it runs.
        met: What is passed itself, by id: see `_opening.met_among`.
        asked: The attributes that code of the user's reads.
        codes: The code of the user's that may run.
        spelled: The texts that may be names, of code that asks with a default: what is
            not there counts, too.
        classes_count: Whether what code of the user's does depends on the classes of
            arrays and numbers: on NumPy's or JAX's.
        compared: The classes with which it compares `type(x)`, by their names.
        unions: Those of a `typing.Union` for which it asks by `isinstance`, likewise.
        catches_arithmetic: Whether code of the user's catches errors of arithmetic.
        peeks: Whether code of the user's asks by made-up names what no stand-in for an
            attribute notices.
        unused: As assumed, and the names of attributes that can't be opened.
        ran: As assumed.
    """

    def __init__(
        self, assumed: Assumed = NOTHING_ASSUMED, unused: frozenset[str] = frozenset()
    ) -> None:
        self.attributes: set[str] = set(assumed.ran)
        self.stored: set[str] = set()
        self.owners: set[str] = set()
        self.whole: bool = assumed.whole
        self.texts: set[str] = set()
        self.listed: set[int] = set()
        self.made: set[type] = set()
        self.unseen: dict[str, None] = {}
        self.readers: set[str] = set()
        self.untraced: bool = False
        self.imports: set[str] = set()
        self.met: frozenset[int] = frozenset()
        self.asked: set[str] = set()
        self.spelled: set[str] = set()
        self.codes: set[types.CodeType] = set()
        self.classes_count: bool = False
        self.compared: set[str] = set()
        self.unions: set[str] = set()
        self.catches_arithmetic: bool = False
        self.peeks: bool = False
        self.unused: frozenset[str] = assumed.unused | unused
        self.ran: frozenset[str] = assumed.ran
        self._variables: dict[tuple[int, Mode], set[str]] = {}
        self._written: dict[tuple[int, Mode], set[str]] = {}

    @property
    def catches(self) -> bool:
        """Whether code of the user's catches exceptions."""
        return any(references(code).handlers.some for code in self.codes)

    def may_ask(self, name: str) -> bool:
        """Whether code of the user's may ask what an attribute is, unnoticed."""
        return name in self.asked or (self.whole and self.peeks)

    def leaving_out(self, unused: frozenset[str]) -> "Read":
        """The same, but for the attributes that are not opened."""
        other = copy.copy(self)
        other.unused = unused
        return other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Read) and vars(self) == vars(other)

    def __hash__(self) -> int:
        raise TypeError("what code reads is compared, and no key")

    def variables(self, module: Mapping[str, Any], mode: Mode) -> list[str]:
        """The global variables of a module that are read."""
        names = self._variables.get((id(module), mode), set())
        if module is sys.modules:
            names = names | {ACTIVE_RULES}
        return sorted(names)

    def written(self, module: Mapping[str, Any], mode: Mode) -> list[str]:
        """Those that are written."""
        return sorted(self._written.get((id(module), mode), ()))

    def follows(self, name: str, cls: type) -> bool:
        """Whether a function that a class holds by this name may be called."""
        if name in _MAKING:
            return cls in self.made or name in self.ran
        special = name.startswith("__") and name.endswith("__") and name != "__del__"
        if name in self.attributes or (special and name not in SHOWING):
            return True
        if name in self.stored and _runs_when_assigned(cls, name):
            return True
        by_place = "__match_args__" in self.attributes  # `case Point(x)`
        if name in _TREES or (by_place and name in getattr(cls, "__match_args__", ())):
            return True
        return bool(self.made_up((name,), 1))

    def made_up(self, names: Iterable[str], least: int) -> set[str]:
        """Those names that code may make up: `getattr(self, "step_" + self.mode)`.

        Args:
            names: The names that there are.
            least: How many letters a part of a name has.
        """
        if not self.texts:
            return set()
        parts = tuple(text for text in self.texts if len(text) >= least)
        return {
            name
            for name in names
            if name in self.texts or name.startswith(parts) or name.endswith(parts)
        }

    def add_getter(
        self, value: "operator.attrgetter[Any] | operator.methodcaller"
    ) -> None:
        """What reads attributes without any code."""
        names = value.__reduce__()[1]
        if isinstance(value, operator.methodcaller):
            names = names[:1]
        self.attributes |= {part for name in names for part in str(name).split(".")}

    def add_value(self, value: object) -> None:
        """A setting, which may be (a part of) the name of an attribute."""
        if isinstance(value, enum.Enum):
            self.add_value(value.value)
        elif isinstance(value, str) and value.isidentifier():
            self.texts.add(str(value))

    def add(self, fn: types.FunctionType, mode: Mode) -> None:
        """Code that may run."""
        found = references(fn.__code__)
        self.attributes |= found.attributes
        self.stored |= found.stored
        self.owners |= found.owners
        is_users = is_user_function(fn)
        # Methods of a library look into objects of its own classes, of which all
        # attributes count anyway (`__getattr__` of flax's and equinox's modules).
        if is_users or not _is_method(fn):
            self.whole |= not found.attributes.isdisjoint(_ALL_ATTRIBUTES)
        if not is_users:
            # `functools.singledispatch` asks for the user.
            is_pythons = fn.__globals__.get("__name__") == functools.__name__
            self.classes_count |= is_pythons and "__class__" in found.attributes
            return
        names = {chain[0] for chain in found.chains}
        module = fn.__globals__
        builtin = {name for name in names if name not in module}
        if not builtin.isdisjoint(_LISTS | found.made_up):
            self.whole = True
            self.texts |= found.texts
        if not builtin.isdisjoint(_ASKS_FOR_NAMES):
            self.spelled |= found.texts
        self.peeks |= not builtin.isdisjoint(_PEEKS)
        if not (
            builtin.isdisjoint(_LISTS)
            and found.attributes.isdisjoint(_LISTS_BY_ATTRIBUTE)
        ):
            bare = (module.get(name) for name, *rest in found.chains if not rest)
            self.listed |= {id(x) for x in bare if isinstance(x, types.ModuleType)}
        if not builtin.isdisjoint(_SHOWS):
            self.attributes |= SHOWING
        self._variables.setdefault((id(module), mode), set()).update(names)
        imports = found.imports_in(module)
        self.imports.update(imports)
        self.asked |= found.attributes
        self.codes.add(fn.__code__)
        self._add_questions(fn, found, names, builtin)
        if "isinstance" in builtin:  # `typing` itself compares `type(x)`
            self.unions.update(_in_unions(map(module.get, names)))
            named = names | found.attributes
            if not named.isdisjoint(("Union", "Optional")):  # written where it asks
                self.unions.update(named & {"complex", "float", "ndarray"})
        if found.written:
            self._written.setdefault((id(module), mode), set()).update(found.written)
        self._add_assigned(module, found, mode)
        self.unseen.update(dict.fromkeys(sorted(self.asked & _UNSEEN_ATTRIBUTES)))
        self.unseen.update(dict.fromkeys(_of_process(module, found)))
        self.unseen.update(dict.fromkeys(self._lost()))
        imported = {
            name
            for name in imports
            if is_user_module(name) or name.partition(".")[0] not in sys.modules
        }
        key = id(sys.modules), Mode.LOOKED_AT
        self._variables.setdefault(key, set()).update(imported)

    def _add_assigned(
        self, module: Mapping[str, Any], found: References, mode: Mode
    ) -> None:
        """The variables of other modules that code assigns: `config.on = True`."""
        for root, *between, name in found.assigned:
            owner = module.get(root)
            for step in between:
                owner = vars(owner).get(step) if _is_of_user(owner) else None
            if _is_of_user(owner):
                key = id(vars(owner)), mode
                self._variables.setdefault(key, set()).add(name)
                self._written.setdefault(key, set()).add(name)

    def _lost(self) -> Iterator[str]:
        """The global variables that are written where others don't see it."""
        for (module, mode), written in self._written.items():
            # Functions are run with copies of modules, methods of classes with the
            # modules themselves: neither meets what the others write.
            others = [m for m in Mode if (m in KEYS) is not (mode in KEYS)]
            met = (self._variables.get((module, m), set()) for m in others)
            yield from sorted(written & set().union(*met))

    def _add_questions(
        self,
        fn: types.FunctionType,
        found: References,
        names: set[str],
        builtin: set[str],
    ) -> None:
        """What code of the user's asks: the class of a value, which error has come."""
        self.catches_arithmetic |= _of_arithmetic(found.handlers, builtin)
        self.compared |= found.compared
        depends = found.attributes & _DEPENDS_ON_CLASS
        # `other.__class__ is self.__class__` of a dataclass: data is of no such class.
        if fn.__name__ in _COMPARISONS and fn.__code__.co_filename.startswith("<"):
            depends = depends - {"__class__"}
        asks = builtin & _ASKS_CLASS or depends
        of_equinox = (n for n in names | found.attributes if n.startswith(_OF_EQUINOX))
        self.classes_count |= found.in_place or bool(asks) or any(of_equinox)

    def add_module(self, module: types.ModuleType, known: "Read", mode: Mode) -> None:
        """A module of the user: whatever code reads of anything may be read of it."""
        # `__getattr__` answers for what is not there.
        asked = known.attributes | {"__getattr__"}
        names = (asked & vars(module).keys()) | known.made_up(vars(module), _PART)
        names |= known.spelled
        if id(module) in known.listed or module.__name__ == ACTIVE_RULES:
            names |= {name for name in dict(vars(module)) if not name.startswith("__")}
        self._variables.setdefault((id(vars(module)), mode), set()).update(names)
        self.unseen.update(dict.fromkeys(self._lost()))
