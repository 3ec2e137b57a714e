"""How the user's pytree classes are registered with JAX."""

import dataclasses
import weakref
from collections.abc import Iterator
from enum import Enum
from typing import Any, TypeAlias

import jax
from jax.tree_util import GetAttrKey

from ..._autojit.kinds._flax import is_pytree
from ..._values.trees import is_pytree_class


Registration: TypeAlias = tuple[str, tuple[str, ...], tuple[str, ...]]
"""How a class was registered, its data fields and its static fields."""

# A registration is for ever; what is not registered may be registered later.
_known: weakref.WeakKeyDictionary[type, Registration] = weakref.WeakKeyDictionary()


def registration(cls: type) -> Registration | None:
    """How JAX opens instances of a class; None where they are leaves.

    Raises:
        LookupError: The class is registered with functions that can't be found again.
    """
    known = _known.get(cls)
    if known is not None:
        return known
    blank = _blank(cls)
    if blank is None or _is_leaf(blank):
        return None
    found = _describe(cls, blank)
    if found is None:
        raise LookupError(cls.__qualname__)
    _known[cls] = found
    return found


def _blank(cls: type) -> Any:
    """An instance whose `__init__` has not run; None where there can't be one.

    Every field of a dataclass is set to an object of its own, to be found again.
    """
    if issubclass(cls, (BaseException, Enum)) or _is_named_tuple(cls):
        return None  # never registered, or opened by JAX without being registered
    base: Any = next(b for b in cls.__mro__ if b.__module__ == "builtins")
    try:
        blank = base.__new__(cls)
        for name in _field_names(cls):
            object.__setattr__(blank, name, object())
    except (TypeError, AttributeError):
        return None  # abstract, or with a layout of its own
    return blank


def _is_leaf(blank: Any) -> bool:
    try:
        return jax.tree_util.all_leaves([blank])
    except Exception:
        return False  # its flatten function ran, and missed what __init__ sets


def _describe(cls: type, blank: Any) -> Registration | None:
    if is_pytree_class(cls):  # jfi's own functions, the same for all
        return ("jfi", (), ())
    if hasattr(cls, "tree_flatten_with_keys") and hasattr(cls, "tree_unflatten"):
        return ("keys", (), ())
    if hasattr(cls, "tree_flatten") and hasattr(cls, "tree_unflatten"):
        return ("methods", (), ())
    if is_pytree(cls):  # nnx registers its own, in one way for all
        return ("nnx", (), ())
    if not dataclasses.is_dataclass(cls):
        return None
    names = tuple(_field_names(cls))
    try:
        paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(blank)[0]]
    except Exception:  # it needs what __init__ sets: another way may identify it
        return None
    data = tuple(
        path[0].name
        for path in paths
        if len(path) == 1 and isinstance(path[0], GetAttrKey)
    )
    if len(data) != len(paths) or not set(data) <= set(names):
        return None
    return ("dataclass", data, tuple(name for name in names if name not in data))


def _field_names(cls: type) -> Iterator[str]:
    if dataclasses.is_dataclass(cls):
        yield from (field.name for field in dataclasses.fields(cls))


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields")
