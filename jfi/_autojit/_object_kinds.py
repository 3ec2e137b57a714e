"""How objects are taken apart and put together again."""

import collections
import contextlib
import types
from collections.abc import Collection, Sequence
from typing import Any

from jax import tree_util

from .._compat import pytree_from_node, pytree_node
from ._kinds import Expression, Kind, Source, Split


class ObjectKind(Kind):
    """An object of a Python class: attributes, and the items of a builtin base class.

    The clone is made without calling the class. Its attributes are set below any
    `__setattr__` of the class (frozen dataclasses have one).
    """

    changeable = True

    def __init__(
        self,
        cls: type,
        *,
        frozen: bool,
        base: Kind | None = None,
        static: Collection[str] = (),
    ) -> None:
        self._frozen, self._base, self._static = frozen, base, static
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

    def puts(self, part: Any, k: int) -> bool:
        _, names, _, own = part
        return 0 < k <= len(names) and not own

    def target(self, part: Any, k: int) -> str:
        name = part[1][k - 1]
        plain = type(name) is str and name not in self._slots
        return f".__dict__[{name!r}]" if plain else ""

    def put(self, x: Any, part: Any, k: int, value: Any) -> None:
        name = part[1][k - 1]
        if name in self._slots:
            self._slots[name].__set__(x, value)
        else:
            x.__dict__[name] = value

    def replace(self, x: Any, part: Any, children: Sequence[Any]) -> None:
        if type(x) is not part[0]:
            x.__class__ = part[0]
        super().replace(x, part, children)

    def frozen(self, part: Any, n: int) -> Collection[int]:
        if self._frozen:
            return range(n)
        return [k for k, name in enumerate(part[1], start=1) if name in self._static]

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        cls, names, _, own = part
        plain = all(type(name) is str for name in names)
        if self._base or own or not names or not plain or self._slots:
            return super().guard(source, name, part, n)
        constant = source.constant(cls)
        source.require(f"type({name}) is {constant}")
        attributes = source.local(f"{name}.__dict__")
        source.require(f"tuple({attributes}) == {names!r}")
        return [constant, (f"{attributes}.values()", n - 1)]

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

    def frozen(self, part: Any, n: int) -> Collection[int]:
        return range(2)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        if isinstance(part, tuple):
            return f".{part[k]}"
        return (".__class__", ".<static data>", f"[<leaf {k - 2}>]")[min(k, 2)]

    def contents(self, x: Any) -> Split:
        # Taking it apart may make new containers every time; the attributes stay.
        attributes = dict(getattr(x, "__dict__", ()))
        return tuple(attributes), tuple(attributes.values())

    def replace(self, x: Any, part: Any, children: Sequence[Any]) -> None:
        x.__dict__.clear()
        x.__dict__.update(zip(part, children, strict=True))


def static_names(x: Any) -> frozenset[str]:
    """The attributes of a registered object that JAX does not take for data."""
    attributes = dict(getattr(x, "__dict__", ()))
    try:
        data = _flattened_names(type(x), attributes)
    except Exception:  # its class does more than to list attributes
        leaves = set(map(id, tree_util.tree_leaves(x)))
        data = {
            name
            for name, value in attributes.items()
            if any(id(leaf) in leaves for leaf in tree_util.tree_leaves(value))
        }
    return frozenset(attributes.keys() - data)


def _flattened_names(cls: type, names: Collection[str]) -> set[str]:
    """Which attributes flattening gives: it is tried on an object of marks."""
    marks = {name: object() for name in names}
    marked = new(cls)
    marked.__dict__.update(marks)
    children = tree_util.tree_leaves(marked, is_leaf=lambda y: y is not marked)
    found = set(map(id, children))
    return {name for name, mark in marks.items() if id(mark) in found}


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
