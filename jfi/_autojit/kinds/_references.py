"""Weak references: what they refer to is opened, if it is still there."""

import weakref
from typing import Any

from ._base import IdentityKind, Kind, RefusedError
from ._containers import PartsKind


_PLAIN = (weakref.ref, weakref.KeyedRef, weakref.WeakMethod)


class _Gone:
    pass


def _reference_to(cls: type, x: Any) -> Any:
    return weakref.ref(_Gone() if x is None else x)


REFERENCE = PartsKind(lambda r: (r(),), _reference_to, ["()"])
ITSELF = IdentityKind()


def kind_of_reference(x: Any) -> Kind:
    """The kind of a weak reference.

    Raises:
        RefusedError: It has a class of its own, which may have more in it.
    """
    cls = type(x)
    if cls not in _PLAIN:
        raise RefusedError(
            f"a weak reference of a class of its own for {{path}} (a {cls.__name__}), "
            "which can't be copied.\nPass what it refers to: {path}()"
        )
    if x() is not None:
        return REFERENCE
    try:
        hash(x)
    except TypeError:  # it had no hash while it was alive: all of these are alike
        return REFERENCE
    return ITSELF
