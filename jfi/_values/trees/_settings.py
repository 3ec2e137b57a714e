"""The attributes of an object as data and settings, and an object of both again."""

import functools
import threading
import types
from collections.abc import Callable, Container, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer

from ..._errors import TreeError
from ..._jax_internals import plain_class
from .. import (
    KeyedValue,
    Rest,
    attributes_of,
    captured,
    contents_key,
    counts_as_data,
    identity_key,
    is_array,
    is_cached,
    is_fixed,
    is_library,
    is_named,
    number_key,
    own_attributes,
    partition,
    set_attributes,
)


class Settings(NamedTuple):
    """What is no data in an object: equal where compiled programs may be shared.

    Attributes:
        names: The attributes, in their order.
        whole: Those that are children as they are.
        rests: What is no data in the others, by name. Where there is data besides, that
            is a child.
    """

    names: tuple[str, ...]
    whole: frozenset[str]
    rests: tuple[tuple[str, KeyedValue], ...]

    def __repr__(self) -> str:
        """As JAX shows it where two trees differ: `name='a', layers=[..., 2]`."""
        kept = {name: rest.value for name, rest in self.rests}
        shown = [f"{n}={_shown(kept[n])}" for n in self.names if n in kept]
        return ", ".join(shown) or f"attributes {', '.join(self.names)}"


# Objects that hold something else where data belong (axes, shapes, None) have it: which
# attributes are children nevertheless, whole or in which places.
_MARK = "_jfi_children"


class _Placed:
    """The same in a slot, where an object has no room for the mark.

    Reading the attribute shows it, where one would read an axis or a mask. None stays:
    in a slot it is a child without leaves, also where it is a setting.
    """

    def __init__(self, value: object, places: Any) -> None:
        self.value, self.places = value, places

    def __repr__(self) -> str:
        return repr(self.value)


class Declared(NamedTuple):
    """What a class says of its attributes, by name.

    Attributes:
        data: In which Python's floats are data, as arrays are.
        settings: In which nothing is.
        buffers: Of which data have no derivative.
    """

    data: frozenset[str]
    settings: frozenset[str]
    buffers: frozenset[str]


# What the classes of trees declare. As JAX's own registry, this keeps them for ever.
declarations: dict[type, Declared] = {}


def is_object_of_tree(x: object) -> bool:
    """Whether a value is an object of a class that `pytree` has registered."""
    return type(x) in declarations


def is_array_of_tree(x: object) -> bool:
    """Whether a value is data in an object: an array, or a number of NumPy's.

    Python's floats are settings, such as `self.eps = 1e-5`: who wants to train one
    makes it an array. So is a tracer that stands for one in the body of `autojit`.
    """
    return counts_as_data(x) and plain_class(x) not in (float, complex)


def divided(
    x: object,
    data: Iterable[str] | None = None,
    *,
    is_sorted: bool = False,
    declared: Declared | None = None,
) -> tuple[dict[str, Any], Settings]:
    """The children of an object, and its settings.

    Args:
        x: The object.
        data: The attributes that are children as they are, and no others; None: those
            that hold data.
        is_sorted: Whether objects whose attributes were set in another order are alike.
        declared: What its class says of its attributes; None: floats are data in all.
    """
    attributes = attributes_of(x)
    marked = _marks(x, attributes)
    if is_sorted:
        attributes = dict(sorted(attributes.items()))
    children: dict[str, Any] = {}
    whole: list[str] = []
    rests: list[tuple[str, KeyedValue]] = []
    for name, value in attributes.items():
        taken: list[Any]
        rest: Rest | KeyedValue | None
        if data is not None:
            is_whole = name in data
            taken, rest = ([value], None) if is_whole else ([], _without_data(value))
        elif name in marked:
            taken, rest = _as_marked(value, marked[name])
        elif type(value) in _SIMPLE:  # not taken apart: this is asked at each call
            rests.append((name, _simple(value)))
            continue
        else:
            taken, rest = _divided_attribute(x, name, value, declared)
        if isinstance(rest, KeyedValue):
            rests.append((name, rest))
            continue
        if rest is None or (taken and not rest.others):
            children[name] = value
            whole.append(name)
            continue
        rests.append((name, _constant(rest)))
        if taken:
            children[name] = tuple(taken)
    return children, Settings(tuple(attributes), frozenset(whole), tuple(rests))


def _divided_attribute(
    x: object, name: str, value: Any, declared: Declared | None
) -> tuple[list[Any], Rest | KeyedValue | None]:
    """An attribute's data and the rest of it, or the setting that it is."""
    if declared and name in declared.settings:
        return [], _without_data(value)
    with_floats = declared is None or name in declared.data
    takes = counts_as_data if with_floats else is_array_of_tree
    if takes(value):  # most are: it is not asked for its leaves
        return [value], None
    if type(value) is float:  # asked at each call, too
        return [], _simple_float(value.hex())
    return _taken_apart(x, name, value, takes)


def _marks(x: object, attributes: dict[str, Any]) -> Mapping[str, Any]:
    """What is marked in an object; its attributes come to be what the marks hold."""
    if type(x).__dictoffset__:
        marked: Mapping[str, Any] = attributes.pop(_MARK, {})
        return marked
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        if value is None:
            found[name] = None
        elif type(value) is _Placed:
            attributes[name], found[name] = value.value, value.places
    return found


class _Open(threading.local):
    """The attributes that are being taken apart, each inside the one before."""

    def __init__(self) -> None:
        self.places: list[tuple[object, str]] = []


_open = _Open()


def _taken_apart(
    x: object, name: str, value: Any, takes: Callable[[Any], bool]
) -> tuple[list[Any], Rest]:
    """An attribute's data and the rest of it.

    Raises:
        TreeError: The object is among its own parts.
    """
    # Before JAX goes round until RecursionError, which names nothing.
    places = _open.places
    for first, (outer, _) in enumerate(places):
        if outer is x:
            names = ".".join(name for _, name in places[first:])
            cls = type(x).__name__
            raise TreeError(
                f"{cls}.{names} leads back to the {cls} itself, and a tree has no "
                f"cycles. Leave {names} out of the object: pass what it needs as an "
                "argument of the method that reads it."
            )
    places.append((x, name))
    try:
        if is_object_of_tree(value):  # such as a layer: its own class says what is data
            jax.tree.leaves(value)
            return [value], partition([], takes)[1]
        return partition(value, _of_parts(takes), is_leaf=is_object_of_tree)
    finally:
        places.pop()


def _of_parts(takes: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def takes_part(x: Any) -> bool:
        if not is_object_of_tree(x):
            return takes(x)
        jax.tree.leaves(x)  # or a refusal, which names the way to it
        return True

    return takes_part


def put_together(
    cls: type,
    settings: Settings,
    children: Iterable[Any],
    takes: Callable[[Any], bool] = counts_as_data,
    buffers: Container[str] = (),
) -> Any:
    """An object, without a call of its class.

    Args:
        cls: The class.
        settings: Its settings.
        children: Its data.
        takes: Says what is data in it.
        buffers: The attributes of which data have no derivative.
    """
    rests = dict(settings.rests)
    new = iter(children)
    found: Any = object.__new__(cls)
    attributes: dict[str, Any] = {}
    marks: dict[str, Any] = {}
    for name in settings.names:
        rest = rests.get(name)
        if rest is None:
            value = next(new)
            if not takes(value) and not _is_all_data(value, takes):
                marks[name] = None
        else:
            is_taken = rest.value.is_taken
            taken = next(new) if any(is_taken) else ()
            value = rest.value.filled(taken)  # new containers: they may be changed
            if not all(takes(x) or is_object_of_tree(x) for x in taken):
                marks[name] = is_taken
        attributes[name] = value
        if name in buffers:
            attributes[name] = jax.tree.map(_without_derivative, value)
    if marks and cls.__dictoffset__:
        attributes[_MARK] = marks
    elif marks:
        for name, places in marks.items():
            if attributes[name] is not None:
                attributes[name] = _Placed(attributes[name], places)
    set_attributes(found, attributes)  # below the `__setattr__` of a frozen dataclass
    return found


def refuse_hidden_data(x: object, settings: Settings) -> None:
    """Refuse objects of ordinary classes among the settings that have data.

    Raises:
        TreeError: One has: JAX can't take it apart. Or one is a function that holds
            data of the object.
    """
    for name, rest in settings.rests:
        for leaf in rest.value.others:
            if isinstance(leaf, _FIXED):
                continue
            if callable(leaf) and not is_named(leaf):
                _refuse_captured_data(leaf, x, name)
            if has_data(leaf):
                cls = type(leaf).__name__
                raise TreeError(
                    f"{type(x).__name__}.{name} holds an object with arrays "
                    f"of the ordinary class {cls}, which JAX can't take apart: "
                    "compiled code would keep its first values. Write @jnp.pytree "
                    f"above class {cls}."
                )


def refuse_computed_data(x: object, settings: Settings) -> None:
    """Refuse data that a `functools.cached_property` has computed.

    It would be a child beside what it was computed from: the derivative of that would
    lack the part that comes through it, and changes of it would be without effect.

    Raises:
        TreeError: Such a property has been read, and holds data.
    """
    cls: Any = type(x)
    computed = _cached_names(cls)
    if not computed:  # asked at each call
        return
    bare = {name for name, rest in settings.rests if not any(rest.value.is_taken)}
    for name in settings.names:
        if name in computed and name not in bare:
            raise TreeError(
                f"{cls.__name__}.{name} is a functools.cached_property that was "
                "computed from other attributes, and would keep its value when those "
                f"change. Write @property above {name}; or forget what was computed: "
                f"del x.{name}"
            )


@functools.lru_cache(maxsize=1000)
def _cached_names(cls: type) -> frozenset[str]:
    names = (name for base in cls.__mro__ for name in vars(base))
    return frozenset(name for name in names if is_cached(cls, name))


def given_attributes(x: object) -> dict[str, Any]:
    """The attributes that an object was given, by name."""
    attributes = attributes_of(x)
    attributes.pop(_MARK, None)
    return dict(sorted(attributes.items()))


def _without_derivative(x: Any) -> Any:
    return jax.lax.stop_gradient(x) if isinstance(x, Tracer) else x


def _is_all_data(tree: Any, takes: Callable[[Any], bool]) -> bool:
    leaves = jax.tree.leaves(tree)
    return bool(leaves) and all(map(takes, leaves))  # None is no leaf


def _as_marked(value: Any, is_taken: Any) -> tuple[list[Any], Rest | None]:
    if is_taken is None:
        return [value], None
    flags = iter(is_taken)
    return partition(value, lambda leaf: next(flags, counts_as_data(leaf)))


_SIMPLE = frozenset((int, bool, str, type(None)))


@functools.lru_cache(maxsize=1000, typed=True)
def _simple(x: Hashable) -> KeyedValue:
    return _constant(_without_data(x))


@functools.lru_cache(maxsize=1000)
def _simple_float(text: str) -> KeyedValue:
    return _constant(_without_data(float.fromhex(text)))


def _without_data(x: Any) -> Rest:
    return partition(x, lambda _: False)[1]


def _shown(rest: Rest) -> str:
    """What is no data, with `...` in the places of data."""
    return repr(rest.filled([...] * sum(rest.is_taken))).replace("Ellipsis", "...")


def _constant(rest: Rest) -> KeyedValue:
    keys = tuple(_setting_key(leaf, ()) for leaf in rest.others)
    return KeyedValue((rest.structure, rest.is_taken, keys), rest)


def _setting_key(x: Any, around: tuple[int, ...]) -> Hashable:
    """A key of a setting, with all that may change in it."""
    if isinstance(x, (bool, int, float, complex)):
        return number_key(x)
    if (parts := _parts_of_function(x)) is not None:
        return type(x), tuple(_setting_key(part, around) for part in parts)
    if is_fixed(x) and isinstance(x, Hashable) and not isinstance(x, tuple):
        return type(x), x
    if isinstance(x, np.ndarray):  # one that was declared to be no data
        return (
            _setting_key(x.tolist(), around) if x.dtype.hasobject else contents_key(x)
        )
    if id(x) in around:
        return id(x)
    around = (*around, id(x))
    if isinstance(x, (set, frozenset)):
        return type(x), frozenset(_setting_key(item, around) for item in x)
    if isinstance(x, (list, tuple)):
        return type(x), tuple(_setting_key(item, around) for item in x)
    if isinstance(x, dict):
        return type(x), tuple((key, _setting_key(v, around)) for key, v in x.items())
    if isinstance(x, bytearray):
        return bytearray, bytes(x)
    attributes = own_attributes(x).items()
    return identity_key(x), tuple(
        (name, _setting_key(v, around)) for name, v in attributes
    )


def _parts_of_function(x: Any) -> tuple[Any, ...] | None:
    """What a function is made of, if not itself is its key: `lambda x: 2 * x`.

    Each object that makes one in `__init__` has its own. Not of functions with captured
    variables: others may write to these later.
    """
    if type(x) is functools.partial:
        values = (*x.args, *x.keywords.values())
        if own_attributes(x) or not is_fixed(values):
            return None
        return x.func, tuple(x.keywords), values
    if type(x) is not types.FunctionType or "<locals>" not in x.__qualname__:
        return None
    if x.__closure__ or x.__dict__ or x.__kwdefaults__ or not is_fixed(x.__defaults__):
        return None
    return id(x.__code__), id(x.__globals__), x.__qualname__, x.__defaults__


def has_data(x: object) -> bool:
    """Whether an object of a user's class has arrays among its attributes."""
    if isinstance(x, (type, types.FunctionType, types.ModuleType, jax.Array)):
        return False
    if is_library(type(x)):
        return False
    return any(map(is_array_of_tree, jax.tree.leaves([*attributes_of(x).values()])))


_FIXED = (int, str, bytes, type, types.ModuleType, type(None))


def _refuse_captured_data(leaf: object, x: object, name: str) -> None:
    """Refuse a function that holds what is data of the object, too.

    What it holds besides (another model, a table) is a constant, as in a closure.
    """
    values = list(attributes_of(x).values())
    own = jax.tree.leaves(values, is_leaf=lambda y: not _is_container(y))
    for held in captured(leaf):
        if held is leaf or isinstance(held, _FIXED):
            continue
        if held is x:
            what = "the object itself"
        elif any(held is y for y in own) and (is_array(held) or has_data(held)):
            what = f"an attribute of the object, of class {type(held).__name__}"
        else:
            continue
        raise TreeError(
            f"{type(x).__name__}.{name} is a function that holds {what}. Its data "
            "would stand still there while those of the tree change. Write a method "
            "with def in the class, or pass the object as an argument."
        )


def _is_container(x: object) -> bool:
    return isinstance(x, (list, tuple, dict))
