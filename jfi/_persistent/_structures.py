"""The structure of a result as plain data, for a file: what the arrays are put into.

It may hold objects of the user's classes, and what the body wrote to its arguments
(`Outcome`). Written down are numbers for arrays, and for the user's classes and
functions: those in the description of the program. The class of that number in this
process is what the class of that process was. Classes and functions of libraries have
their names. To read it makes values, and objects without a call of their `__init__`:
no name in a file is called, but the few constructors of `_MADE`. What needs more is
not kept.
"""

import collections
import copyreg
import datetime as dt
import decimal
import enum
import fractions
import importlib
import pathlib
import sys
import types
from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import numpy as np

from .._autojit._changes import Change
from .._autojit._graphs import INPUT
from .._autojit._outcomes import Delivery, Outcome
from .._autojit.kinds import _classify, _constants, _flax
from .._autojit.kinds._base import Kind
from .._autojit.kinds._classify import BUILTIN, builtin_base
from .._autojit.kinds._objects import ObjectKind
from .._values import (
    KeyedValue,
    WeakIdentity,
    identity_key,
    is_installed_module,
    is_tracer,
    is_user_module,
)


Data: TypeAlias = Any
"""What JSON has: None, booleans, numbers, texts, lists."""


class UnwritableError(Exception):
    """It has no meaning in another process, and why."""


def dump_tree(structure: Any, shared: Sequence[object]) -> Data:
    """The structure of a result as data.

    Raises:
        UnwritableError: It holds something that has no meaning in another process.
    """
    numbered = jax.tree.unflatten(structure, range(structure.num_leaves))
    data = _Writer(shared).write(numbered)
    try:
        again = load_tree(data, shared)
    except UnwritableError:
        raise
    except Exception as error:  # a constructor of the user's
        raise UnwritableError(f"its result can't be made again ({error!r})") from error
    if again.num_leaves != structure.num_leaves or repr(again) != repr(structure):
        raise UnwritableError("its result changes when it is written to a file")
    return data


def load_tree(data: Data, shared: Sequence[object], *, imports: bool = True) -> Any:
    """The structure of a result that `dump_tree` wrote.

    Args:
        data: What was written; whatever it is, it makes values and calls nothing.
        shared: The user's classes and functions, as they were numbered.
        imports: Whether modules of libraries may be imported.

    Raises:
        Exception: It is nothing that was written.
    """
    return jax.tree.structure(_Reader(shared, imports).read(data))


# ---- the two ways ----

_AS_IN_JSON = (type(None), bool, float, str)
_SEQUENCES: dict[type, str] = {
    tuple: "tuple", list: "list", set: "set", frozenset: "frozenset"
}  # fmt: skip
_OF_NAME = {name: cls for cls, name in _SEQUENCES.items()}
# Made by a call with what `__reduce__` says, or with these parts.
_MADE: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        range, slice, complex, dt.date, dt.datetime, dt.time,
        dt.timedelta, dt.timezone, decimal.Decimal, fractions.Fraction,
        pathlib.PosixPath, pathlib.PurePosixPath, collections.deque,
    )
}  # fmt: skip
# Such as that of functions, which Python knows by no name in a module.
_PYTHONS = {cls: name for name, cls in vars(types).items() if isinstance(cls, type)}
_CONSTANTS = {"...": ..., "NotImplemented": NotImplemented}


class _Writer:
    def __init__(self, shared: Sequence[object]) -> None:
        self._shared = {id(x): k for k, x in reversed(list(enumerate(shared)))}
        self._seen: dict[int, int] = {}
        self._alive: list[object] = []  # an id stands for its object while that lives

    def write(self, x: Any) -> Data:
        kind = type(x)
        if kind in _AS_IN_JSON:
            return x
        if kind is int:  # JSON has no limit, but Python's reader of decimals
            return x if abs(x) < 2**63 else ["int", hex(x)]
        if (number := self._shared.get(id(x))) is not None:
            return ["shared", number]
        if (number := self._seen.get(id(x))) is not None:
            return ["seen", number]
        name = _SEQUENCES.get(kind)
        if name in ("tuple", "frozenset"):
            return [name, *map(self.write, x)]
        for write in (self._constant, self._name, self._structure, self._made):
            if (data := write(x)) is not None:
                return data
        self._seen[id(x)] = len(self._seen)
        self._alive.append(x)
        if name is not None:
            return [name, *map(self.write, x)]
        if kind is dict:
            return ["dict", *([self.write(k), self.write(v)] for k, v in x.items())]
        return self._object(x)

    def _constant(self, x: Any) -> Data:
        """Bytes, and NumPy's values."""
        if type(x) is bytes:
            return ["bytes", x.hex()]
        if isinstance(x, np.dtype):
            return ["dtype", _name_of_dtype(x)]
        if isinstance(x, (np.generic, np.ndarray)):
            if isinstance(x, np.ndarray) and type(x) is not np.ndarray:
                raise _unwritable(x)
            dtype, is_array = _name_of_dtype(x.dtype), isinstance(x, np.ndarray)
            order = "F" if is_array and not x.flags.c_contiguous else "C"
            data = np.asarray(x).tobytes("F" if order == "F" else "C").hex()
            return ["array", dtype, list(x.shape) if is_array else None, order, data]
        for name, value in _CONSTANTS.items():
            if x is value:
                return ["constant", name]
        return None

    def _name(self, x: Any) -> Data:
        """What another process has under the same name."""
        if is_tracer(x):
            raise UnwritableError(
                "it keeps a traced value, as a loss that writes its argument to an "
                "attribute"
            )
        if isinstance(x, Kind):
            return ["kind", _name_of_kind(x)]
        if isinstance(x, types.ModuleType):
            return ["module", x.__name__]
        if isinstance(x, enum.Enum):
            by_name = type(x).__members__.get(x.name or "") is x
            if not by_name and not isinstance(x.value, int):
                raise _unwritable(x)
            # Flags that were put together have no name of their own.
            return ["enum", self.write(type(x)), x.name if by_name else int(x.value)]
        if isinstance(x, type) and x in _PYTHONS:
            return ["type", _PYTHONS[x]]
        named = isinstance(x, (type, types.FunctionType))
        if named and is_user_module(x.__module__):
            raise UnwritableError(
                f"its result holds {x.__qualname__}, which the function does not name"
            )
        module, name = _module_and_name(x)
        if module and _named(module, name) is x:
            return ["named", module, name]
        if named:
            raise _unwritable(x)
        return None

    def _structure(self, x: Any) -> Data:
        """What jfi itself puts into structures."""
        if isinstance(x, KeyedValue):
            return ["keyed", self.write(x.value)]
        if isinstance(x, WeakIdentity):
            return ["weak", self.write(x())]
        if type(x) is Outcome:
            return ["outcome", self.write(x.delivery), self.write(list(x.leaves))]
        if type(x) is Delivery:
            graph = [[_stored_kind(kind), *rest] for kind, *rest in x.graph]
            changes = [
                [node, _stored_kind(kind), *rest] for node, kind, *rest in x.changes
            ]
            return ["delivery", self.write(graph), self.write(changes)]
        return None

    def _made(self, x: Any) -> Data:
        name = type(x).__name__
        if _MADE.get(name) is not type(x):
            return None
        if type(x) is complex:
            parts: tuple[Any, ...] = (x.real, x.imag)
        else:
            reduced: Any = x.__reduce_ex__(4)  # 4: with `fold`
            parts = reduced[1]
            if type(x) is collections.deque:
                parts = (list(x), x.maxlen)
        return ["made", name, *map(self.write, parts)]

    def _object(self, x: Any) -> Data:
        """An object by its class and attributes."""
        cls = type(x)
        try:
            maker, arguments, *rest = x.__reduce_ex__(4)
        except Exception:  # whatever its class says
            raise _unwritable(x) from None
        state, *items = [*rest, None, None][:3]
        state = state if isinstance(state, tuple) else (state, None)
        plain = (
            maker is getattr(copyreg, "__newobj__")  # noqa: B009 - unknown to checkers
            and arguments[0] is cls
            and not any(part is not None for part in items)
            and len(state) == 2
            and all(part is None or type(part) is dict for part in state)
            and not hasattr(cls, "__setstate__")
        )
        if not plain:
            raise _unwritable(x)
        attributes, slots = (part or {} for part in state)
        return ["object", *map(self.write, (cls, arguments[1:], attributes, slots))]


class _Reader:
    def __init__(self, shared: Sequence[object], imports: bool) -> None:
        self._shared, self._imports = shared, imports
        self._seen: list[Any] = []

    def read(self, data: Data) -> Any:
        match data:
            case ["seen", number]:
                return self._seen[number]
            case ["keyed", value]:
                return identity_key(self.read(value))
            case ["weak", value]:
                return WeakIdentity(self.read(value))
            case ["made", name, *parts]:
                return _MADE[name](*map(_as_data, map(self.read, parts)))
            case ["dict", *items]:
                return self._dict(items)
            case ["object", cls, arguments, attributes, slots]:
                return self._object(cls, arguments, attributes, slots)
            case ["delivery", graph, changes]:
                return _delivery(self.read(graph), self.read(changes))
            case ["outcome", delivery, leaves]:
                return Outcome(self.read(delivery), self.read(leaves))
            case ["list" | "set" | "tuple" | "frozenset" as name, *parts]:
                return self._sequence(_OF_NAME[name], parts)
            case [*_] | {}:
                return self._constant(data)
            case _:
                return data

    def _constant(self, data: Data) -> Any:
        """What holds nothing to be read."""
        # As many cases as the writer has words: a table of them would say them twice.
        match data:
            case ["int", digits]:
                return int(digits, 16)
            case ["shared", number]:
                return self._shared[number]
            case ["bytes", digits]:
                return bytes.fromhex(digits)
            case ["dtype", name]:
                return np.dtype(name)
            case ["array", dtype, shape, order, digits]:
                flat = np.frombuffer(bytearray.fromhex(digits), np.dtype(dtype))
                return flat[0] if shape is None else flat.reshape(shape, order=order)
            case ["constant", name]:
                return _CONSTANTS[name]
            case ["kind", name]:
                return _KINDS[name]
            case ["module", name]:
                return _module(name, imports=self._imports)
            case ["type", name]:
                return vars(types)[name]
            case ["named", module, name]:
                return _named(module, name, imports=self._imports)
            case ["enum", cls, name]:
                return _member(self.read(cls), name)
            case _:
                raise UnwritableError(f"{data!r:.80} is nothing that was written")

    def _sequence(self, cls: Any, parts: Sequence[Data]) -> Any:
        if cls in (tuple, frozenset):
            return cls(map(self.read, parts))
        made = cls()
        self._seen.append(made)
        add = made.append if cls is list else made.add
        for part in parts:
            add(self.read(part))
        return made

    def _dict(self, items: Sequence[Data]) -> Any:
        made: dict[Any, Any] = {}
        self._seen.append(made)
        for key, value in items:
            key = self.read(key)
            made[key] = self.read(value)
        return made

    def _object(self, cls: Data, arguments: Data, attributes: Data, slots: Data) -> Any:
        number = len(self._seen)
        self._seen.append(None)
        cls = self.read(cls)
        if not isinstance(cls, type) or issubclass(cls, type):
            raise UnwritableError(f"{cls!r} is no class of objects")
        of_user = id(cls) in map(id, self._shared)
        self._seen[number] = made = _new(cls, self.read(arguments), of_user)
        # Past properties and `__setattr__`: they would do it a second time.
        for name, value in self.read(attributes).items():
            made.__dict__[name] = value
        for name, value in self.read(slots).items():
            _slot(cls, name).__set__(made, value)
        return made


# The constructors of plain values. `map`, for one, keeps a function that others call.
_NEW = tuple(cls.__new__ for cls in (object, int, float, complex, str, bytes, tuple))


def _new(cls: Any, arguments: Sequence[Any], of_user: bool) -> Any:
    """An object without its attributes; of what a library's `__new__` does nothing."""
    new = cls.__new__
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return tuple.__new__(cls, arguments)
    if not of_user and new not in _NEW:
        raise UnwritableError(f"its result holds {cls!r}, which has its own __new__")
    return new(cls, *map(_as_data, arguments))


def _as_data(x: Any) -> Any:
    """A value of Python's own, of which constructors ask nothing that it could do."""
    if type(x) in _DATA or isinstance(x, (dt.timedelta, dt.tzinfo, np.generic)):
        return x
    raise UnwritableError(f"it makes a value of {type(x).__name__}")


_DATA = (*_AS_IN_JSON, int, bytes, complex, tuple, list, types.EllipsisType)


def _slot(cls: type, name: str) -> Any:
    slot = next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)
    if not isinstance(slot, types.MemberDescriptorType):
        raise UnwritableError(f"{cls!r} has no slot {name}")
    return slot


def _member(cls: Any, name: str | int) -> Any:
    if not (isinstance(cls, type) and issubclass(cls, enum.Enum)):
        raise UnwritableError(f"{cls!r} is no enum")
    return cls[name] if isinstance(name, str) else cls(name)


def _delivery(nodes: Any, changes: Any) -> Delivery:
    graph = ((_restored_kind(kind, part), part, below) for kind, part, below in nodes)
    made = (
        Change(node, _restored_kind(kind, part), part, *rest)
        for node, kind, part, *rest in changes
    )
    return Delivery(tuple(graph), tuple(made))


def _unwritable(x: Any) -> UnwritableError:
    cls = x if isinstance(x, type) else type(x)
    return UnwritableError(
        f"its result holds {cls.__module__}.{cls.__qualname__}, which no file can name"
    )


# ---- names ----


def _module_and_name(x: Any) -> tuple[str, str]:
    """What an object says of itself; NumPy's own functions say no module."""
    module = getattr(x, "__module__", None)
    name = getattr(x, "__qualname__", None) or getattr(x, "__name__", None)
    if isinstance(x, np.ufunc):
        module = "numpy"
    if isinstance(module, str) and isinstance(name, str):
        return module, name
    return "", ""


def _named(module: str, name: str, *, imports: bool = True) -> Any:
    """What a library has under a name; None where it has nothing."""
    found: Any = _module(module, imports=imports)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _module(name: str, *, imports: bool) -> types.ModuleType | None:
    """A module; the user's own must be there: nothing is imported by a file's word."""
    if imports and name not in sys.modules and is_installed_module(name):
        return importlib.import_module(name)
    return sys.modules.get(name)


def _name_of_dtype(dtype: np.dtype[Any]) -> str:
    if dtype.hasobject or dtype.fields or dtype.subdtype:
        raise UnwritableError(f"its result has an array of {dtype}")
    return dtype.name if dtype.kind == "V" else dtype.str


def _stored_kind(kind: Kind) -> Kind | None:
    return None if isinstance(kind, ObjectKind) else kind


def _restored_kind(kind: Kind | None, part: Any) -> Kind:
    """The kind of a node; that of an object is made for its class.

    Objects are put together by it, and compared with nothing.
    """
    if kind is not None:
        return kind
    cls = part[0]
    return ObjectKind(cls, frozen=False, base=builtin_base(cls))


def _name_of_kind(kind: Kind) -> str:
    for name, one in _KINDS.items():
        if one is kind:
            return name
    raise UnwritableError(
        f"its result has a {type(kind).__name__}, which no file can name"
    )


_KINDS: dict[str, Kind] = {
    "INPUT": INPUT,
    **{f"of {cls.__name__}": kind for cls, kind in BUILTIN.items()},
    **{
        name: kind
        for module in (_classify, _flax, _constants)
        for name, kind in vars(module).items()
        if isinstance(kind, Kind)
    },
}
