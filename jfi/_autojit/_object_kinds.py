"""How functions, classes and objects are taken apart and put together again."""

import collections
import contextlib
import types
from collections.abc import Sequence
from typing import Any

from jax import tree_util

from .._compat import pytree_from_node, pytree_node
from .._trees import Constant, identity, is_library
from ._kinds import Kind, Split


class CellKind(Kind):
    """The cell of a variable that a function captured; two functions may share it."""

    changeable = True

    def split(self, x: Any) -> Split:
        try:
            return True, (x.cell_contents,)
        except ValueError:  # the variable has no value yet
            return False, ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return types.CellType()

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        if part:
            (shell.cell_contents,) = children

    def empty(self, x: Any) -> None:
        del x.cell_contents

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ""


class FunctionKind(Kind):
    """A function made at run time: code and globals count, captured values are opened.

    The shell holds the cells; defaults and attributes come when it is filled.
    """

    changeable = True

    def split(self, x: Any) -> Split:
        cells = x.__closure__ or ()
        part = (
            x.__code__,
            Constant(id(x.__globals__), (x.__globals__, x.__doc__, x.__annotations__)),
            (x.__name__, x.__qualname__, x.__module__),
            len(cells),
        )
        return part, (*cells, x.__defaults__, x.__kwdefaults__, x.__dict__ or None)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        code, constant, (name, qualname, module), _ = part
        variables, doc, annotations = constant.value
        clone = types.FunctionType(code, variables, name, None, tuple(children))
        clone.__qualname__, clone.__module__, clone.__doc__ = qualname, module, doc
        clone.__annotations__ = annotations
        return clone

    def cells(self, part: Any) -> int:
        return int(part[3])

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        *_, shell.__defaults__, shell.__kwdefaults__, attributes = children
        if attributes is not None:
            shell.__dict__ = attributes

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        code, _, _, n = part
        if k < n:
            return str(code.co_freevars[k])
        return (".__defaults__", ".__kwdefaults__", "")[k - n]


class NamedFunctionKind(Kind):
    """A function that its module holds by name: itself; its defaults by value."""

    keyed = True

    def split(self, x: Any) -> Split:
        part = identity(x), x.__code__  # some editors replace the code in place
        return part, (x.__defaults__, x.__kwdefaults__, x.__dict__ or None)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part[0].value


class ClassKind(Kind):
    """A class of the user: itself, with what instances read from it, by value.

    Plain functions are told by identity and code; the captured values and defaults of
    others are looked at.
    """

    keyed = True

    def split(self, x: Any) -> Split:
        plain: list[Any] = []
        names: list[tuple[type, str]] = []
        values: list[Any] = []
        for key, value in class_data(x).items():
            function = _function_behind(value)
            if isinstance(function, types.FunctionType) and (
                # A dataclass makes its own with a closure: slow to look at each time.
                key[1] == "__repr__" or _is_plain(function, x.__mro__)
            ):
                plain += (value, function.__code__, identity(function.__defaults__))
            else:
                names.append(key)
                values.append(function)
        return (identity(x), tuple(names), tuple(plain)), values

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part[0].value

    def contents(self, x: Any) -> Split:
        data = class_data(x)
        return tuple(data), tuple(data.values())

    def restore(self, cls: type, names: Sequence[Any], values: Sequence[Any]) -> None:
        """Undo what code did to the attributes of a class."""
        before, now = dict(zip(names, values, strict=True)), class_data(cls)
        for base, name in now.keys() - before.keys():
            delattr(base, name)
        for (base, name), value in before.items():
            if now.get((base, name)) is not value:
                setattr(base, name, value)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        base, name = (part[1] if isinstance(part[0], Constant) else part)[k]
        return f"{base.__qualname__}.{name}"


class ObjectKind(Kind):
    """An object of a Python class: attributes, and the items of a builtin base class.

    The clone is made without calling the class. Its attributes are set below any
    `__setattr__` of the class (frozen dataclasses have one).
    """

    changeable = True

    def __init__(self, cls: type, *, frozen: bool, base: Kind | None = None) -> None:
        self._frozen, self._base = frozen, base
        self._slots = slots(cls)

    def split(self, x: Any) -> Split:
        attributes = dict(getattr(x, "__dict__", ()))
        # An attribute dict that is the object itself (`self.__dict__ = self`).
        own = getattr(x, "__dict__", None) is x
        if own:
            attributes = {}
        for name, slot in self._slots.items():
            try:
                attributes[name] = slot.__get__(x)
            except AttributeError:  # the slot is empty
                continue
        base, items = self._base.split(x) if self._base else (None, ())
        part = (type(x), tuple(attributes), base, own)
        return part, (type(x), *attributes.values(), *items)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return new(part[0])

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        _, names, base, own = part
        n = 1 + len(names)
        if self._base:
            self._base.fill(shell, base, children[n:])
        if own:
            shell.__dict__ = shell
        for name, value in zip(names, children[1:n], strict=True):
            if name in self._slots:
                self._slots[name].__set__(shell, value)
            else:
                shell.__dict__[name] = value

    def empty(self, x: Any) -> None:
        getattr(x, "__dict__", {}).clear()
        for slot in self._slots.values():
            with contextlib.suppress(AttributeError):  # it is empty
                slot.__delete__(x)
        if self._base:
            self._base.empty(x)

    def frozen(self, part: Any, n: int) -> int:
        return n if self._frozen else 0

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        _, names, base, _ = part
        if k == 0:
            return ".__class__"
        if k <= len(names):
            return f".{names[k - 1]}"
        n = 1 + len(names)
        return self._base.step(base, k - n, children[n:]) if self._base else ""


class PytreeKind(Kind):
    """An object registered as a pytree with JAX: its children, and its static data."""

    reads = True

    def split(self, x: Any) -> Split:
        children, structure = tree_util.tree_flatten(x, is_leaf=lambda y: y is not x)
        node = pytree_node(structure)
        return type(x), (type(x), node and node[1], *children)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        _, data, *rest = children
        return pytree_from_node(part, data, rest)

    def frozen(self, part: Any, n: int) -> int:
        return 2

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        if isinstance(part, tuple):
            return f".{part[k]}"
        return (".__class__", ".<static data>", f"[<leaf {k - 2}>]")[min(k, 2)]

    def contents(self, x: Any) -> Split:
        # Taking it apart may make new containers every time; the attributes stay.
        attributes = dict(getattr(x, "__dict__", ()))
        return tuple(attributes), tuple(attributes.values())


def slots(cls: type) -> dict[str, types.MemberDescriptorType]:
    """The attributes that a class keeps in `__slots__`, by their stored names."""
    return {
        name: value
        for base in reversed(cls.__mro__)
        for name, value in vars(base).items()
        if isinstance(value, types.MemberDescriptorType) and name != "__dict__"
    }


# Builtin classes whose instances and subclasses can be made empty, most special first.
EMPTY_BASES: tuple[Any, ...] = (
    collections.OrderedDict,
    collections.defaultdict,
    dict,
    list,
    set,
    types.SimpleNamespace,
    object,
)


def new(cls: type) -> Any:
    """An empty instance, without `__init__`: TypeError where Python can't make one."""
    base = next(b for b in EMPTY_BASES if issubclass(cls, b))
    return base.__new__(cls)


def class_data(cls: type) -> dict[tuple[type, str], Any]:
    """The attributes that users gave a class and its bases, by base and name."""
    return {
        (base, name): value
        for base in cls.__mro__
        if not is_library(base)
        for name, value in vars(base).items()
        if name[:2] != "__" or callable(value)
        if not isinstance(value, _SLOTS) and not name.startswith("_abc_")
    }


# Of these, the value can't change while the tuple of defaults is the same.
_CONSTANT = frozenset((int, float, complex, str, bool, bytes, type(None)))


def _is_plain(fn: types.FunctionType, classes: Sequence[type]) -> bool:
    """Whether its code and the identity of its defaults tell a function of a class."""
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


def _function_behind(value: Any) -> Any:
    """What a property, class method or static method calls."""
    if isinstance(value, property):
        return value.fget
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
