"""How objects are taken apart and put together again."""

import collections
import contextlib
import dataclasses
import functools
import threading
import types
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, TypeAlias

from jax import tree_util

from ..._dispatch._custom_array import CustomArray
from ..._jax_internals import pytree_from_node, pytree_node
from ..._values import (
    attributes_of,
    own_attributes,
    set_attributes,
    slots as slots,
)
from .._reading import PASSED, Mode, Read
from ._base import Expression, Kind, Source, Split, Watches
from ._containers import items_of


# The attributes of an object in an order of their own.
Order: TypeAlias = Callable[[Iterable[str]], list[str]]


class ObjectKind(Kind):
    """An object of a Python class: attributes, and the items of a builtin base class.

    The clone is made without calling the class. Its attributes are set below any
    `__setattr__` of the class (frozen dataclasses have one). Attributes that no code
    reads don't count; in the clone `UNREAD` stands for their values.

    The order of attributes counts, too, as code may go through them. For a
    class that JAX takes apart and makes again, such as a module of equinox, it means
    nothing: `jax.tree.map` changes it. There the clone has an order of its own.
    """

    changeable = True
    tells_class = True

    def __init__(
        self,
        cls: type,
        *,
        frozen: bool,
        base: Kind | None = None,
        static: Collection[str] = (),
        whole: bool = False,
        order: Order | None = None,
        keeps_ints: bool = False,
    ) -> None:
        self._frozen, self._base, self._static = frozen, base, static
        if static and not frozen:
            self.frozen_as = Mode.FIXED
        self._slots = slots(cls)
        self._whole = whole or bool(base) or hasattr(cls, "__getattr__")
        self._order, self.keeps_ints = order, keeps_ints

    def split(self, x: Any) -> Split:
        return self.parts(x, None)

    def open(self, x: Any, read: Read, mode: Mode) -> Split:
        if self._whole or read.whole or mode not in PASSED:
            return self.parts(x, None, read.unused)
        # `case Point(x)` reads the attributes that the class names.
        by_place = "__match_args__" in read.attributes
        more = getattr(type(x), "__match_args__", ()) if by_place else ()
        names = read.attributes.union(more) if more else read.attributes
        return self.parts(x, names, read.unused)

    def parts(
        self, x: Any, read: Collection[str] | None, unused: Collection[str] = ()
    ) -> Split:
        """Take an object apart, with the attributes of some names; None: with all."""
        attributes, own = self._attributes(x)
        names = tuple(attributes)
        known = names if read is None else read
        # In the order of their names: objects whose attributes were set in another
        # order share what was compiled.
        opened = tuple(sorted(n for n in names if n in known and n not in unused))
        base, items = self._base.split(x) if self._base else (None, ())
        part = (type(x), names, base, own, opened)
        return part, (type(x), *(attributes[name] for name in opened), *items)

    def _attributes(self, x: Any) -> tuple[dict[str, Any], bool]:
        """The attributes; whether the dict of attributes is the object itself."""
        own = own_attributes(x) is x  # self.__dict__ = self
        attributes = {} if own else dict(own_attributes(x))
        for name, slot in self._slots.items():
            try:
                attributes[name] = slot.__get__(x)
            except AttributeError:  # the slot is empty
                continue
        if self._order:
            attributes = {name: attributes[name] for name in self._order(attributes)}
        return attributes, own

    def contents(self, x: Any) -> Split:
        attributes, own = self._attributes(x)
        names = tuple(attributes)
        base, items = self._base.split(x) if self._base else (None, ())
        part = (type(x), names, base, own, names)
        return part, (type(x), *attributes.values(), *items)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return new(part[0])

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        _, names, base, own, opened = part
        n = 1 + len(opened)
        if self._base:
            self._base.fill(shell, base, children[n:])
        if own:
            shell.__dict__ = shell
        values = dict(zip(opened, children[1:n], strict=True))
        for name in names:
            self.put(shell, name, values.get(name, UNREAD))

    def empty(self, x: Any) -> None:
        own_attributes(x).clear()
        for slot in self._slots.values():
            with contextlib.suppress(AttributeError):  # it is empty
                slot.__delete__(x)
        if self._base:
            self._base.empty(x)

    def keys(self, part: Any, children: Sequence[Any]) -> Sequence[Any] | None:
        _, _, _, own, opened = part
        return None if own or self._base else ("", *opened)

    def target(self, key: Any) -> str:
        plain = type(key) is str and key and key not in self._slots
        return f".__dict__[{key!r}]" if plain else ""

    def key_of(self, part: Any, k: int) -> Any:
        opened = part[4]
        return opened[k - 1] if 0 < k <= len(opened) else None

    def put(self, x: Any, key: Any, value: Any) -> None:
        if key == "":
            x.__class__ = value
        elif key in self._slots:
            self._slots[key].__set__(x, value)
        else:
            x.__dict__[key] = value

    def remove(self, x: Any, key: Any) -> None:
        with contextlib.suppress(AttributeError, KeyError):
            if key in self._slots:
                self._slots[key].__delete__(x)
            else:
                del x.__dict__[key]

    def replace(self, x: Any, part: Any, children: Sequence[Any]) -> None:
        if type(x) is not part[0]:
            x.__class__ = part[0]
        super().replace(x, part, children)

    def frozen(self, part: Any, n: int) -> Collection[int]:
        if self._frozen:
            return range(n)
        return [k for k, name in enumerate(part[4], start=1) if name in self._static]

    def display(self, part: Any, children: Sequence[str]) -> str:
        made, names, _, own, opened = part
        if self._slots or own or set(names) != set(opened) or _base(made) is not object:
            return ""
        cls, *values = children
        texts = dict(zip(opened, values, strict=True))
        attributes = ", ".join(f"{name!r}: {texts[name]}" for name in names)
        return f"object_of({cls}, {{{attributes}}})"

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        cls, names, _, own, opened = part
        plain = all(type(name) is str for name in names)
        slotted = set(names) == set(self._slots) and not cls.__dictoffset__
        if self._base or own or not names or not plain or (self._slots and not slotted):
            return super().guard(source, name, part, n)
        constant = source.constant(cls)
        source.require(f"type({name}) is {constant}")
        if slotted:
            slots = (source.constant(self._slots[key].__get__) for key in opened)
            return [constant, *(f"{slot}({name})" for slot in slots)]
        attributes = source.local(f"{name}.__dict__")
        if self._order:
            source.require(f"len({attributes}) == {len(names)}")
            return [constant, *(f"{attributes}[{key!r}]" for key in opened)]
        source.require(f"tuple({attributes}) == {names!r}")
        return [constant, *items_of(source, attributes, names, opened)]

    def watches(self, x: Any, part: Any) -> Watches | None:
        _, names, _, own, opened = part
        # Values that no code reads may be large: no memory of a call keeps them.
        if self._slots or self._base or own or set(opened) != set(names):
            return None
        if not type(x).__dictoffset__:
            return Watches(calls=(functools.partial(map, type, (x,)),))
        return Watches(dicts=(x.__dict__,), objects=(x,))

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        _, _, base, _, opened = part
        if k == 0:
            return ".__class__"
        if k <= len(opened):
            return f".{opened[k - 1]}"
        n = 1 + len(opened)
        return self._base.step(base, k - n, children[n:]) if self._base else ""


class HostObjectKind(ObjectKind):
    """An object of SciPy, whose code computes with NumPy: its arrays are settings.

    `jaxify` reads them, too. Objects of `scipy.optimize` (bounds, results) and of
    `scipy.spatial` (rotations) may hold data: they are opened like others.
    """

    frozen_as = Mode.STATIC

    def frozen(self, part: Any, n: int) -> Collection[int]:
        return range(n)


_COMPUTING = ("interpolate", "linalg", "signal", "sparse", "stats")


def object_kind(cls: type) -> type[ObjectKind]:
    """The kind of the objects of a class."""
    root, *parts = cls.__module__.split(".")
    computes = root == "scipy" and bool(parts) and parts[0] in _COMPUTING
    return HostObjectKind if computes else ObjectKind


class Unread:
    """Stands for the values of attributes that no code reads, as far as jfi can see.

    Code that does something with it all the same is noted, and raises an error: the
    call is then made again, with all values.
    """

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        touch()
        raise AttributeError(name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        touch()
        raise TypeError("unread")


def _touching(self: Any, *args: Any) -> Any:
    touch()
    raise TypeError("unread")


for _name in (
    "abs add and bool bytes call complex contains delitem divmod enter eq exit float "
    "floordiv format ge getitem gt hash index int invert iter le len lshift lt matmul "
    "mod mul ne neg next or pos pow radd rand rdivmod repr reversed rfloordiv rlshift "
    "rmatmul rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor setitem str "
    "sub truediv xor"
).split():
    setattr(Unread, f"__{_name}__", _touching)

UNREAD: Any = Unread()
_here = threading.local()


def touch() -> None:
    """Note that what stands for an attribute was used."""
    _here.touched = True


@contextlib.contextmanager
def touching() -> Generator[Callable[[], bool]]:
    """While code runs on clones: whether it has used what stands for attributes."""
    before, _here.touched = getattr(_here, "touched", False), False
    try:
        yield lambda: bool(_here.touched)
    finally:
        _here.touched = before


class PytreeKind(Kind):
    """An object registered as a pytree with JAX: its children, and its static data."""

    reads = True
    tells_class = True

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
        attributes = dict(own_attributes(x))
        return tuple(attributes), tuple(attributes.values())

    def keys(self, part: Any, children: Sequence[Any]) -> Sequence[Any] | None:
        names: Sequence[Any] = part
        return names

    def put(self, x: Any, key: Any, value: Any) -> None:
        x.__dict__[key] = value

    def remove(self, x: Any, key: Any) -> None:
        x.__dict__.pop(key, None)


def field_order(cls: type) -> Order | None:
    """The order of attributes that a dataclass declares, or a custom array has."""
    if issubclass(cls, CustomArray):
        return sorted  # as it flattens them
    if not dataclasses.is_dataclass(cls):
        return None
    fields = [field.name for field in dataclasses.fields(cls)]
    return lambda names: fields if set(fields) == set(names) else list(names)


def static_names(x: Any) -> frozenset[str]:
    """The attributes of a registered object that JAX does not take for data."""
    attributes = attributes_of(x)
    data: set[str] = set()
    with contextlib.suppress(Exception):  # its class does more than to list attributes
        data = _flattened_names(type(x), attributes)
    reaching = _reaching_names(x, attributes)
    # distrax asks each value, and takes a mark for data, and an int for static.
    whole = lambda n: {*map(type, _with_contents(attributes[n]))} <= {bool, int, tuple}
    left_out = set(filter(whole, data - reaching))
    return frozenset(attributes.keys() - ((data - left_out) or reaching))


def _reaching_names(x: Any, attributes: Mapping[str, Any]) -> set[str]:
    """The attributes from which the children of a registered object are reached.

    They are gone through here, not by JAX, which sorts the keys of a dict: the state
    of equinox's layers may have keys without an order.
    """
    try:
        children = tree_util.tree_leaves(x, is_leaf=lambda y: y is not x)
    except Exception:  # it refuses: an old state of equinox's
        return set(attributes)
    found = set(map(id, children))
    return {
        name
        for name, value in attributes.items()
        if any(id(part) in found for part in _with_contents(value))
    }


def _with_contents(value: Any) -> Iterator[Any]:
    """A value, and what is in it if it is a container, and so on."""
    below, met = [value], set[int]()
    while below:
        part = below.pop()
        if id(part) in met:
            continue
        met.add(id(part))
        yield part
        if isinstance(part, dict):
            below.extend(part.values())
        elif isinstance(part, (list, tuple, set, frozenset)):
            below.extend(part)


def _flattened_names(cls: type, names: Collection[str]) -> set[str]:
    """Which attributes flattening returns: it is tried on an object of marks."""
    marks = {name: object() for name in names}
    marked = new(cls)
    set_attributes(marked, marks)
    children = tree_util.tree_leaves(marked, is_leaf=lambda y: y is not marked)
    found = set(map(id, children))
    return {name for name, mark in marks.items() if id(mark) in found}


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


def object_of(cls: type, attributes: Mapping[str, Any]) -> Any:
    """An object with these attributes, made without calling the class."""
    made: Any = object.__new__(cls)
    made.__dict__.update(attributes)
    return made


def new(cls: type) -> Any:
    """An empty instance, without `__init__`: TypeError where Python can't make one."""
    return _base(cls).__new__(cls)


def _base(cls: type) -> Any:
    return next(b for b in EMPTY_BASES if issubclass(cls, b))
