"""What a class defines by itself, and the mark of what `autojit` leaves alone."""

import functools
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeVar


F = TypeVar("F", bound=Callable[..., Any])


def own_equality(cls: type) -> tuple[bool, bool]:
    """Whether a class has a hash of its own, and an `==` of its own."""
    hashing, comparing = (getattr(cls, name, None) for name in ("__hash__", "__eq__"))
    return (
        hashing is not None and hashing is not object.__hash__,
        comparing is not object.__eq__,
    )


def own_attributes(x: object) -> dict[str, Any]:
    """The dict of an object's attributes, an empty one if it has none.

    `getattr(x, "__dict__")` may be that of what `x` holds: some classes hand on what
    they don't have themselves, such as the variables of flax.
    """
    if not type(x).__dictoffset__:
        return {}
    try:
        return x.__dict__
    except AttributeError:  # a class that answers for all names, as NumPy's `npz.f`
        found: dict[str, Any] = object.__getattribute__(x, "__dict__")
        return found


def slots(cls: type) -> dict[str, types.MemberDescriptorType]:
    """The attributes that a class keeps in `__slots__`, by their stored names."""
    return {
        name: value
        for base in reversed(cls.__mro__)
        for name, value in tuple(vars(base).items())
        if isinstance(value, types.MemberDescriptorType) and name != "__dict__"
    }


def is_writable(empty: object) -> bool:
    """Whether Python can write all attributes that an object, still empty, has."""
    for slot in slots(type(empty)).values():
        try:
            value = slot.__get__(empty)
        except AttributeError:
            continue
        try:
            slot.__set__(empty, value)
        except (AttributeError, TypeError):
            return False
    return True


# Classes that were asked for slots and have none, as nearly all.
_without_slots = weakref.WeakSet[type]()


def _known_slots(cls: type) -> dict[str, types.MemberDescriptorType]:
    if cls in _without_slots:
        return {}
    found = slots(cls)
    if not found:
        _without_slots.add(cls)
    return found


def attributes_of(x: object) -> dict[str, Any]:
    """The attributes of an object, those in slots, too."""
    found = dict(own_attributes(x))
    for name, slot in _known_slots(type(x)).items():
        if name != "__weakref__" and hasattr(x, name):
            found[name] = slot.__get__(x)
    return found


def set_attributes(x: object, attributes: Mapping[str, Any]) -> None:
    """Give an object what `attributes_of` listed, below any `__setattr__` it has."""
    own, in_slots = own_attributes(x), _known_slots(type(x))
    for name, value in attributes.items():
        if name in in_slots:
            in_slots[name].__set__(x, value)
        else:
            own[name] = value


def is_cached(cls: type, name: str) -> bool:
    """Whether an attribute is what a `functools.cached_property` has remembered."""
    found = (vars(base)[name] for base in cls.__mro__ if name in vars(base))
    return isinstance(next(found, None), functools.cached_property)


# On a class of jfi: its instances pass through `autojit` as they are. On a function:
# see `mark_static`.
STATIC_MARK = "__jfi_static__"


def is_marked_static(x: object) -> bool:
    """Whether an object is of such a class."""
    return getattr(type(x), STATIC_MARK, False) is True


# On a class of jfi that is a pytree: `autojit` sees what JAX sees, and no attributes.
PYTREE_MARK = "__jfi_pytree__"


def is_marked_pytree(cls: type) -> bool:
    """Whether instances of a class are to JAX's tools what JAX takes them for."""
    return getattr(cls, PYTREE_MARK, False) is True


def mark_static(fn: F) -> F:
    """Let a function made by jfi pass through `autojit` as it is, by identity.

    For functions whose captured values are read on the host, at run time. The mark
    names the code, so that a wrapper which copies the attributes is not marked.
    """
    function: Any = fn
    setattr(fn, STATIC_MARK, function.__code__)
    return fn
