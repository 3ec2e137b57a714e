"""How classes are looked at: what their instances read from them."""

import contextlib
import enum
import functools
import inspect
import operator
import re
import types
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from typing import Any

from jax.core import Tracer

from ..._values import (
    KeyedValue,
    identity_key,
    is_installed,
    is_library,
    is_user_function,
    is_user_module,
    typed_key,
)
from .._reading import Mode, Read, copied_module
from ._base import Expression, IdentityKind, Kind, Source, Split, Watches
from ._functions import AutojitMark, is_autojitted, plain_function
from ._variables import variables_of


class ClassKind(Kind):
    """A class of the user: itself, with what instances read from it, by value.

    Plain functions are compared by identity and code; the captured values and defaults
    of others are looked at. So is what functions read from their module, of those that
    code may call, by their names. Functions of a library's class stay what they are, as
    all functions of libraries do.
    """

    named = keyed = constant = True
    ordered = False

    def open(self, x: Any, read: Read, mode: Mode) -> Split:
        part, values = self._split(x, read.owners)
        if mode is Mode.UNREAD:
            return part, values
        found = {
            id(f.__globals__): variables
            for f in self.functions(x, read)
            for variables in variables_of(f)
        }
        return part, [*values, *found.values()]

    def functions(self, x: Any, read: Read) -> Iterable[types.FunctionType]:
        for (_, name), value in class_data(x).items():
            if read.follows(name, x):
                yield from functions_behind(value)

    def unread(self, part: Any, read: Read) -> Collection[int]:
        return [
            k
            for k, (_, name) in enumerate(part[1])
            if not read.follows(name, part[0].value)
        ]

    def split(self, x: Any) -> Split:
        return self._split(x, ())

    def _split(self, x: Any, owners: Collection[str]) -> Split:
        plain: list[Any] = []
        names: list[tuple[type, str]] = []
        values: list[Any] = []
        for key, value in class_data(x).items():
            if _is_function_of_library(key[0], value):
                continue
            functions = functions_behind(value)
            # A dataclass makes `__repr__` with a closure: slow to look at each time.
            plainly = key[1] not in owners and all(
                _is_plain(f, x.__mro__) for f in functions
            )
            if functions and (key[1] == "__repr__" or plainly):
                codes = ((f.__code__, identity_key(f.__defaults__)) for f in functions)
                plain += [value, *codes]
            else:
                names.append(key)
                values.append(value)
        return (identity_key(x), tuple(names), tuple(plain)), values

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part[0].value

    def portable(self, part: Any) -> Any:
        constant, names, _ = part
        cls: type = constant.value
        plain = [
            (base, name, type(value), [(f.__code__, f.__defaults__) for f in functions])
            for (base, name), value in sorted(class_data(cls).items(), key=_by_name)
            if (functions := functions_behind(value))
            and (base, name) not in names
            and not _is_function_of_library(base, value)
        ]
        own = [
            declared(base) for base in _bases(cls) if is_user_module(base.__module__)
        ]
        return cls, type(cls), cls.__mro__, names, plain, own

    def contents(self, x: Any) -> Split:
        data = {**class_data(x), **_stamps(x)}
        return tuple(data), tuple(data.values())

    def keys(self, part: Any, children: Sequence[Any]) -> Sequence[Any] | None:
        names: Sequence[Any] = part
        return names

    def key_of(self, part: Any, k: int) -> Any:
        return part[1][k] if k < len(part[1]) else None

    def put(self, x: Any, key: Any, value: Any) -> None:
        base, name = key
        type.__setattr__(base, name, value)  # whatever its metaclass says

    def remove(self, x: Any, key: Any) -> None:
        base, name = key
        with contextlib.suppress(AttributeError):
            type.__delattr__(base, name)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        names = part[1] if isinstance(part[0], KeyedValue) else part
        if k >= len(names):
            return ""
        base, name = names[k]
        return f"{base.__qualname__}.{name}"

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        constant, names, _ = part
        cls: type = constant.value
        if name != source.constant(cls):
            source.require(f"{name} is {source.constant(cls)}")
        source.require(f"{name}.__mro__ is {source.constant(cls.__mro__)}")
        data = {base for base, _ in names}
        for base in _bases(cls):
            if base in data or not is_user_module(base.__module__):
                source.require(
                    f"len({source.constant(base)}.__dict__) == {len(vars(base))}"
                )
            else:
                attributes = dict(vars(base))
                ids = tuple((k, id(v)) for k, v in attributes.items())
                expected = source.constant(attributes, ids)
                source.require(f"{source.constant(base)}.__dict__ == {expected}")
        for (base, key), value in class_data(cls).items():
            if (base, key) not in names and not _is_function_of_library(base, value):
                _guard_plain(source, base, key, value, look_up=base in data)
        own = [f"{source.constant(base)}.__dict__[{key!r}]" for base, key in names]
        return [*own, *source.variables_from(len(own))]

    def watches(self, x: Any, part: Any) -> Watches | None:
        _, names, _ = part
        found: list[Callable[[], Iterable[Any]]] = [functools.partial(_bases_of, x)]
        sized = [vars(base) for base in _bases(x)]
        for base, attributes in zip(_bases(x), sized, strict=True):
            own = [name for b, name in names if b is base]
            if is_user_module(base.__module__):
                found += [attributes.keys, attributes.values]
            elif len(own) > 1:
                found.append(functools.partial(operator.itemgetter(*own), attributes))
            elif own:
                found.append(functools.partial(map, attributes.get, own))
        for (base, _), value in class_data(x).items():
            if not _is_function_of_library(base, value):
                for function in functions_behind(value):
                    found.append(functools.partial(_CODE, function))
        return Watches(sized=sized, calls=found)


def _by_name(item: tuple[tuple[type, str], Any]) -> tuple[str, str]:
    (base, name), _ = item
    return base.__qualname__, name


_bases_of = operator.attrgetter("__mro__")
_CODE = operator.attrgetter("__code__", "__defaults__")


def class_data(cls: type) -> dict[tuple[type, str], Any]:
    """The attributes that users gave a class and its bases, by base and name."""
    return {
        (base, name): value
        for base in _bases(cls)
        for name, value in vars(base).items()
        if name not in _PYTHONS and not name.startswith("_abc_")
        if not isinstance(value, _SLOTS)
    }


STAMP = "__module__"


def _stamps(cls: type) -> dict[tuple[type, str], Any]:
    """What shows that another thread got a copy of a class.

    The next task of a cluster is unpickled while this one runs: cloudpickle then gives
    the class that is there all attributes anew, also where they are equal. The name of
    its module is among them, and is another object each time.
    """
    return {
        (base, STAMP): vars(base)[STAMP] for base in _bases(cls) if STAMP in vars(base)
    }


def has_come(
    before: Mapping[Any, Any], cls: type, key: tuple[type, str], value: Any
) -> bool:
    """Whether a changed attribute came with another copy of a class: see `_stamps`."""
    base, name = key
    if isinstance(value, Tracer):
        return False
    arrived = vars(base).get(STAMP) is not before.get((base, STAMP))
    # The copy may have come in part when the contents were read.
    return arrived or is_same_copy(cls, name, before.get(key), value)


def is_same_copy(cls: type, name: str, one: Any, two: Any) -> bool:
    """Whether two attributes of a class are copies of the same plain functions."""
    functions = [*functions_behind(one), *functions_behind(two)]
    plain = all(name == "__repr__" or _is_plain(f, cls.__mro__) for f in functions)
    return bool(functions) and plain and of_copies([one]) == of_copies([two])


def is_plain_tuple(cls: type) -> bool:
    """Whether a class is a named tuple of an installed library: names and functions."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields") and is_installed(cls)


def _bases(cls: type) -> list[type]:
    """Where attributes of a class may come from, if users may change them."""
    classes = (*inspect.getmro(cls), *inspect.getmro(type(cls)))
    return [base for base in classes if not is_library(base)]


# Python keeps these for itself in a class, some of them from the first use on: what
# `copy` and `pickle` need to know, the members of a `Flag` that were put together.
_PYTHONS = frozenset(
    (
        "__abstractmethods__", "__annotations__", "__annotate__", "__classdictcell__",
        "__conditional_annotations__", "__dataclass_fields__", "__dataclass_params__",
        "__dict__", "__doc__", "__firstlineno__", "__match_args__", "__module__",
        "__orig_bases__", "__parameters__", "__qualname__", "__slotnames__",
        "__slots__", "__static_attributes__", "__type_params__", "__weakref__",
        "__annotations_cache__", "__annotate_func__", "_value2member_map_",
    )
)  # fmt: skip


# Of these, the value can't change while the tuple of defaults is the same.
_CONSTANT = frozenset((int, float, complex, str, bool, bytes, type(None)))


def _is_plain(fn: types.FunctionType, classes: Sequence[type]) -> bool:
    """Whether its code and its defaults identify a function of a class."""
    if fn.__kwdefaults__ or fn.__dict__:
        return False
    if not all(type(default) in _CONSTANT for default in fn.__defaults__ or ()):
        return False
    try:
        captured = [cell.cell_contents for cell in fn.__closure__ or ()]
    except ValueError:  # a captured variable has no value yet
        return False
    # `super()` captures the class, which is looked at anyway.
    return all(
        isinstance(value, type) and (value in classes or is_library(value))
        for value in captured
    )


_SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)


def _is_function_of_library(base: type, value: Any) -> bool:
    """Whether an attribute of a class is a function of the library that has the class.

    Modules of flax and named tuples of optax have dozens of them. Another descriptor is
    code, too: that of TensorFlow Probability's bijectors remembers results.
    """
    if is_user_module(base.__module__):
        return False
    functions = functions_behind(value)
    if not functions:
        return hasattr(type(value), "__get__") and is_installed(type(value))
    return not any(map(is_user_function, functions))


def _guard_plain(
    source: Source, base: type, key: str, value: Any, *, look_up: bool
) -> None:
    if look_up:
        attribute = f"{source.constant(base)}.__dict__[{key!r}]"
        source.require(f"{attribute} is {source.constant(value)}")
    # Editors that reload a module replace the code of its functions in place.
    for function in functions_behind(value):
        name = source.constant(function)
        source.require(
            f"{name}.__code__ is {source.constant(function.__code__)} and "
            f"{name}.__defaults__ is {source.constant(function.__defaults__)}"
        )


def functions_behind(value: Any) -> list[types.FunctionType]:
    """What a function, property, class method or static method calls; else nothing."""
    found = list(map(plain_function, _held_by(value)))
    if all(isinstance(f, types.FunctionType) for f in found):
        return found
    return []


def _held_by(value: Any) -> list[Any]:
    """What a property, class method or static method holds; another value itself."""
    if isinstance(value, property):
        return [f for f in (value.fget, value.fset, value.fdel) if f is not None]
    if isinstance(value, (staticmethod, classmethod)):
        return [value.__func__]
    return [value]


def of_copies(plain: Iterable[Any]) -> tuple[Any, ...]:
    """The plain functions of a class, where those that were copied are not themselves.

    A class that comes from another process is the one that came before, with the
    functions of the last copy.

    Args:
        plain: As in the part of a `ClassKind`.
    """
    found: list[Any] = []
    for value in plain:
        functions = functions_behind(value)
        if functions and all(copied_module(f.__globals__) for f in functions):
            options = (f.__dict__[AutojitMark.ATTRIBUTE].fill for f in _held_by(value)
                       if is_autojitted(f))  # fmt: skip
            found.append((type(value), *map(_form_of_copy, functions), *options))
        elif type(value) is not tuple or not found or type(found[-1]) is not tuple:
            found.append(value)
    return tuple(found)


def _form_of_copy(fn: types.FunctionType) -> Any:
    """What identifies a plain function of a class, if it is a copy: see `_is_plain`."""
    defaults = fn.__defaults__ or ()
    if all(type(default) in _CONSTANT for default in defaults):
        keys: Any = tuple(map(typed_key, defaults))
    else:  # of a `__repr__`
        keys = identity_key(defaults)
    cells = [cell.cell_contents for cell in fn.__closure__ or ()]
    captured = tuple(identity_key(x) for x in cells if isinstance(x, type))
    module = copied_module(fn.__globals__)
    return fn.__code__, fn.__name__, fn.__qualname__, module, keys, captured


# ---- What classes and functions say of themselves: fields, slots, annotations ----


def declared(cls: type) -> tuple[Any, ...]:
    """What a class says of itself, which stays what it is as long as the class."""
    fields: dict[str, Any] = vars(cls).get("__dataclass_fields__", {})
    return (
        vars(cls).get("__match_args__"),
        repr(vars(cls).get("__slots__")),
        annotations_of(cls, evaluated=True),
        [
            (f.name, f.init, f.repr, f.hash, f.compare, f.kw_only, dict(f.metadata))
            for f in fields.values()
        ],
    )


def annotations_of(x: Any, *, evaluated: bool = False) -> str:
    """The annotations of a class or function, as a text without addresses.

    Args:
        x: The class or function.
        evaluated: Whether those that are texts stand for what they name, as those of
            `from __future__ import annotations`.
    """
    for evaluate in (evaluated, False):
        # What is evaluated may raise anything: names that only type checkers import.
        with contextlib.suppress(Exception):
            found = inspect.get_annotations(x, eval_str=evaluate)
            return _ADDRESS.sub("", repr(found))
    return ""


_ADDRESS = re.compile(r" at 0x\w+")


# ---- How members of enums are looked at: what their methods and values read ----


class MemberKind(IdentityKind):
    """A member of an enum that holds code: itself, with what its class and it hold."""

    keyed = tells_class = True
    is_fixed = False

    def split(self, x: Any) -> Split:
        return identity_key(x), (type(x), x.__dict__)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return (".__class__", ".__dict__")[k]

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        own = super().guard(source, name, part, n)
        return [*own, f"type({name})", f"{name}.__dict__"]


MEMBER = MemberKind()


def holds_code(cls: type[enum.Enum]) -> bool:
    """Whether members have methods of the user's, or values that may change.

    All others are names and numbers, told by identity_key alone.
    """
    functions = map(functions_behind, class_data(cls).values())
    if any(is_user_function(f) for found in functions for f in found):
        return True
    return not all(map(_is_fixed, cls))


_OWN = frozenset(("_name_", "_sort_order_", "_value_", "__objclass__"))


def _is_fixed(member: enum.Enum) -> bool:
    """Whether a member has its name and a constant alone, and no attributes."""
    return vars(member).keys() <= _OWN and _is_constant(member.value)


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return isinstance(value, (int, float, complex, str, bytes, type(None)))
