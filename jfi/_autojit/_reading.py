"""What the code that a call may run reads, by name: global variables and attributes.

All of it is known before the code runs, from its bytecode. It is more than what a
call reads, never less, but for code that makes up names while it runs (`Read.whole`)
and for what nobody can watch (`Read.unseen`).
"""

import builtins
import contextvars
import enum
import functools
import operator
import pathlib
import random
import sys
import threading
import types
from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._values import (
    References,
    is_user_function,
    is_user_module,
    reads_surroundings,
    references,
)
from ._modes import Mode


# Code that reads attributes by names that it makes up, or all there are.
_READS_ALL = frozenset(("delattr", "dir", "getattr", "hasattr", "setattr", "vars"))
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
_SHOWING = frozenset(("__format__", "__repr__", "__str__"))
_SHOWS = frozenset(("ascii", "format", "print", "repr", "str"))


LRU_CACHED = type(functools.cache(lambda: None))


def copied_module(variables: Mapping[str, Any]) -> tuple[str, str] | None:
    """What identifies copies of a module's variables, and is equal for all; else None.

    Functions that came from another process bring one, with what they read.
    """
    name = str(variables.get("__name__"))  # None: such as those of a dataclass
    if "__builtins__" not in variables or vars(sys.modules.get(name, sys)) is variables:
        return None
    return "a copy of", name


class Assumed(NamedTuple):
    """What is known of a function besides its code.

    Attributes:
        whole: Whether all attributes count, whatever the code seems to read.
        effects: Global variables, by the id of their module's dict (of a copy, see
            `copied_module`) and their name, whose changes by the body are effects, as
            prints are: they are not watched.
        unused: Names of attributes that the body does not use, as the user said.
    """

    whole: bool = False
    effects: frozenset[tuple[Hashable, str]] = frozenset()
    unused: frozenset[str] = frozenset()


NOTHING_ASSUMED = Assumed()


class Read:
    """The names that the code met so far reads.

    Attributes:
        attributes: The attributes, of whatever.
        whole: Whether attributes may be read by names that the code makes up.
        texts: If so, the texts met, of which such names may be made.
        made: The classes that code can call, to make objects.
        unseen: What is read that can't be watched, as the user writes it.
        untraced: Whether some of that must not be traced, either.
        imports: What code of the user's imports when it runs.
        asked: The attributes that code of the user's reads.
        effects: As assumed.
        unused: As assumed.
    """

    def __init__(self, assumed: Assumed = NOTHING_ASSUMED) -> None:
        self.attributes: set[str] = set()
        self.whole: bool = assumed.whole
        self.texts: set[str] = set()
        self.made: set[type] = set()
        self.unseen: dict[str, None] = {}
        self.untraced: bool = False
        self.imports: set[str] = set()
        self.asked: set[str] = set()
        self.effects: frozenset[tuple[Hashable, str]] = assumed.effects
        self.unused: frozenset[str] = assumed.unused
        self._variables: dict[tuple[int, Mode], set[str]] = {}
        self._written: dict[tuple[int, Mode], set[str]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Read) and vars(self) == vars(other)

    def __hash__(self) -> int:
        raise TypeError("what code reads is compared, and no key")

    def variables(self, module: Mapping[str, Any], mode: Mode) -> list[str]:
        """The global variables of a module that are read."""
        names = self._variables.get((id(module), mode), set())
        return sorted(names.difference(self.effects_in(module)))

    def written(
        self, module: Mapping[str, Any], mode: Mode
    ) -> tuple[list[str], list[str]]:
        """Those that are written; and those of which this is an effect."""
        names = self._written.get((id(module), mode), set())
        effects = names & self.effects_in(module)
        return sorted(names - effects), sorted(effects)

    def effects_in(self, module: Mapping[str, Any]) -> set[str]:
        """The global variables of a module whose changes are effects."""
        if not self.effects:
            return set()
        modules = id(module), copied_module(module)
        return {name for of, name in self.effects if of in modules}

    def writes(self) -> bool:
        """Whether code assigns global variables."""
        return any(self._written.values())

    def follows(self, name: str, cls: type) -> bool:
        """Whether a function that a class holds by this name may be called."""
        if name in _MAKING:
            return cls in self.made
        special = name.startswith("__") and name.endswith("__") and name != "__del__"
        if name in self.attributes or (special and name not in _SHOWING):
            return True
        by_place = "__match_args__" in self.attributes  # `case Point(x)`
        if name in _TREES or (by_place and name in getattr(cls, "__match_args__", ())):
            return True
        # `getattr(self, self.mode)`, or `getattr(self, "step_" + mode)`.
        return any(name.startswith(text) or name.endswith(text) for text in self.texts)

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
        self.whole |= not found.attributes.isdisjoint(_ALL_ATTRIBUTES)
        if not is_user_function(fn):
            return
        names = {chain[0] for chain in found.chains}
        module = fn.__globals__
        builtin = {name for name in names if name not in module}
        self.whole |= not builtin.isdisjoint(_READS_ALL)
        if not builtin.isdisjoint(_SHOWS):
            self.attributes |= _SHOWING
        self._variables.setdefault((id(module), mode), set()).update(names)
        self.imports.update(found.imports)
        self.asked |= found.attributes
        if found.written:
            self._written.setdefault((id(module), mode), set()).update(found.written)
        unseen = dict.fromkeys(_unseen(module, found))
        self.unseen.update(unseen)
        # What such code calls, by a name that it makes up, may be any of these.
        if unseen and any(isinstance(x, LRU_CACHED) for x in list(module.values())):
            self.untraced = True
        imported = {
            name
            for name in found.imports
            if is_user_module(name) or name.partition(".")[0] not in sys.modules
        }
        key = id(sys.modules), Mode.LOOKED_AT
        self._variables.setdefault(key, set()).update(imported)

    def add_module(self, module: types.ModuleType, known: "Read", mode: Mode) -> None:
        """A module of the user: whatever code reads of anything may be read of it."""
        asked = known.attributes | {
            "__getattr__"
        }  # which answers for what is not there
        names = asked & vars(module).keys()
        self._variables.setdefault((id(vars(module)), mode), set()).update(names)


def _unseen(module: Mapping[str, Any], found: References) -> Iterator[str]:
    """What code reads that changes without a trace, as it is written there."""
    for name in found.imports:  # into a variable of the function
        imported = sys.modules.get(name)
        if imported is not None:
            for attributes in _chains_in(imported, found.attributes):
                if _is_unseen(imported, attributes, found):
                    yield ".".join((name, *attributes))
    for chain in found.chains:
        value, name, *rest = _MISSING, *chain
        if name in module:
            value = module[name]
        elif hasattr(builtins, name):
            value = getattr(builtins, name)
        if value is not _MISSING and _is_unseen(value, rest, found, chain):
            yield ".".join(chain)


_MISSING = object()


def _chains_in(
    module: types.ModuleType, attributes: Collection[str]
) -> Iterator[list[str]]:
    """What code may read of a module, which reads these attributes of whatever."""
    for name in attributes & vars(module).keys():
        yield [name]
        value = vars(module)[name]
        if isinstance(value, types.ModuleType):
            yield from ([name, inner] for inner in attributes & vars(value).keys())


def _is_unseen(
    value: Any,
    attributes: list[str],
    found: References,
    chain: tuple[str, ...] | None = None,
) -> bool:
    seeded = () if chain in found.bare else _SEEDED
    for name in (*attributes, ""):
        if isinstance(value, types.ModuleType):
            if is_user_module(value.__name__):
                return False
            full = f"{value.__name__}.{name}"
            if reads_surroundings(full) and not full.startswith(seeded):
                return True
            value = vars(value).get(name)
            continue
        if is_path(value):
            return reads_files(found.attributes)
        return _changes_unseen(value, name, seeded)
    return False


def is_path(x: object) -> bool:
    """Whether a value is the path of a file, or a class of paths."""
    return issubclass(x if isinstance(x, type) else type(x), pathlib.PurePath)


def reads_files(attributes: Collection[str]) -> bool:
    """Whether code that reads these attributes of a path reads files or folders."""
    return not _OF_FILES.isdisjoint(attributes)


_OF_FILES = frozenset(
    """cwd exists glob is_dir is_file is_symlink iterdir lstat open read_bytes
    read_text rglob samefile stat walk""".split()
)


_GENERATORS = (np.random.RandomState, np.random.Generator)
# Made inside with a seed, they start anew at each call.
_SEEDED = ("numpy.random", "random.Random")


def _changes_unseen(value: Any, attribute: str, seeded: tuple[str, ...]) -> bool:
    if isinstance(value, (contextvars.ContextVar, threading.local)):
        return True
    # NumPy's functions, such as `np.random.rand`, are methods of a generator.
    if isinstance(value, (types.BuiltinMethodType, types.MethodType)):
        owner = value.__self__
        if isinstance(owner, (*_GENERATORS, random.Random)):
            return True
    if not isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        value = type(value)
    names = f"{value.__module__}.{value.__qualname__}"
    read = reads_surroundings(names) or reads_surroundings(f"{names}.{attribute}")
    return read and not names.startswith(seeded)
