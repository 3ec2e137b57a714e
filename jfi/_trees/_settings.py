"""The attributes of an object as data and settings, and an object of both again."""

import types
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import jax

from .._errors import TreeError
from .._values import (
    Constant,
    Rest,
    identity,
    is_array,
    is_fixed,
    is_library,
    is_scalar,
    number_key,
    own_attributes,
    partition,
    slots,
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
    rests: tuple[tuple[str, Constant], ...]


# Objects that hold something else where data belong (axes, shapes, None) have it: which
# attributes are children nevertheless, whole or in which places.
_MARK = "_jfi_children"


def divided(x: object) -> tuple[dict[str, Any], Settings]:
    """The children of an object, and its settings.

    Raises:
        TreeError: It holds an object of an ordinary class that has data.
    """
    attributes = _attributes(x)
    marked: Mapping[str, Any] = attributes.pop(_MARK, {})
    children: dict[str, Any] = {}
    whole: list[str] = []
    rests: list[tuple[str, Constant]] = []
    for name, value in attributes.items():
        if name in marked:
            taken, rest = _as_marked(value, marked[name])
        elif _is_data(value):  # most are: it is not asked for its leaves
            taken, rest = [value], None
        else:
            taken, rest = partition(value, _is_data)
        if rest is None or (taken and not rest.others):
            children[name] = value
            whole.append(name)
            continue
        for leaf in rest.others:
            _refuse_hidden_data(leaf, x, name)
        rests.append((name, _constant(rest)))
        if taken:
            children[name] = tuple(taken)
    return children, Settings(tuple(attributes), frozenset(whole), tuple(rests))


def put_together(cls: type, settings: Settings, children: Iterable[Any]) -> Any:
    """An object, without a call of its class."""
    rests = dict(settings.rests)
    new = iter(children)
    found: Any = object.__new__(cls)
    marks: dict[str, Any] = {}
    for name in settings.names:
        rest = rests.get(name)
        if rest is None:
            value = next(new)
            leaves = jax.tree.leaves(value)
            if not leaves or not all(map(_is_data, leaves)):  # None is no leaf
                marks[name] = None
        else:
            is_taken = rest.value.is_taken
            taken = next(new) if any(is_taken) else ()
            value = rest.value.filled(taken)  # new containers: they may be changed
            if not all(map(_is_data, taken)):
                marks[name] = is_taken
        object.__setattr__(found, name, value)  # below that of a frozen dataclass
    if marks and cls.__dictoffset__:
        object.__setattr__(found, _MARK, marks)
    return found


def _as_marked(value: Any, is_taken: Any) -> tuple[list[Any], Rest | None]:
    if is_taken is None:
        return [value], None
    flags = iter(is_taken)
    return partition(value, lambda leaf: next(flags, _is_data(leaf)))


def _is_data(x: object) -> bool:
    return is_array(x) or is_scalar(x)


def _attributes(x: object) -> dict[str, Any]:
    found = dict(own_attributes(x))
    for name in slots(type(x)):
        if name != "__weakref__" and hasattr(x, name):
            found[name] = getattr(x, name)
    return found


def _constant(rest: Rest) -> Constant:
    keys = tuple(_key(leaf, ()) for leaf in rest.others)
    return Constant((rest.structure, rest.is_taken, keys), rest)


def _key(x: Any, around: tuple[int, ...]) -> Hashable:
    """A key of a setting, with all that may change in it."""
    if isinstance(x, (bool, int, float, complex)):
        return number_key(x)
    if is_fixed(x) and isinstance(x, Hashable):
        return type(x), x
    if id(x) in around:
        return id(x)
    around = (*around, id(x))
    if isinstance(x, (set, frozenset)):
        return type(x), frozenset(_key(item, around) for item in x)
    if isinstance(x, (list, tuple)):
        return type(x), tuple(_key(item, around) for item in x)
    if isinstance(x, dict):
        return type(x), tuple((key, _key(v, around)) for key, v in x.items())
    attributes = own_attributes(x).items()
    return identity(x), tuple((name, _key(v, around)) for name, v in attributes)


def has_data(x: object) -> bool:
    """Whether an object of a user's class has data among its attributes."""
    if isinstance(x, (type, types.FunctionType, types.ModuleType, jax.Array)):
        return False
    if is_library(type(x)):
        return False
    return any(map(_is_data, jax.tree.leaves(list(_attributes(x).values()))))


def _refuse_hidden_data(leaf: object, x: object, name: str) -> None:
    if not has_data(leaf):
        return
    cls = type(leaf).__name__
    raise TreeError(
        f"{type(x).__name__}.{name} holds an object with arrays or floats of the "
        f"ordinary class {cls}, which JAX can't take apart: it would stand still. "
        f"Write @jnp.pytree above class {cls}."
    )
