"""Something for each function, for as long as the function lives."""

import inspect
import types
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Generic, TypeVar

import jax
import numpy as np

from .._values import WeakIdentity


T = TypeVar("T")


class PerFunction(Generic[T]):
    """A table by function, which keeps no function alive.

    Nor may what it holds for a function: `weakly` makes what can call it. Bound methods
    are made anew at each `obj.method`: they count by the object and the method.
    """

    def __init__(self) -> None:
        self._of: dict[WeakIdentity, dict[Hashable, T]] = {}

    def get(self, fun: Any, key: Hashable, make: Callable[[], T]) -> T:
        """What there is for a function under a key, made if there is nothing.

        Raises:
            TypeError: The function can't be weakly referenced, or the key not hashed.
        """
        hash(key)
        if isinstance(fun, types.MethodType):
            owner, key = fun.__self__, (WeakIdentity(fun.__func__), key)
        else:
            owner = fun
        of_owner = self._of.setdefault(WeakIdentity(owner, self._forget), {})
        if key not in of_owner:
            of_owner[key] = make()
        return of_owner[key]

    def _forget(self, owner: WeakIdentity) -> None:
        self._of.pop(owner, None)


def weakly(fun: Any) -> Callable[[], Any]:
    """What returns a function, for as long as something else keeps it alive."""
    if isinstance(fun, np.ufunc):  # has no weak references, and its module keeps it
        return lambda: fun
    if not isinstance(fun, types.MethodType):
        return WeakIdentity(fun)
    # Not weakref.WeakMethod, whose callbacks fail where a cycle is collected.
    function: Any = WeakIdentity(fun.__func__)
    owner: Any = WeakIdentity(fun.__self__)

    def method() -> types.MethodType:
        return types.MethodType(function(), owner())

    return method


def stand_in(fun: Any) -> Any:
    """A function that shows where another is written; it can't be called."""
    code = getattr(inspect.unwrap(fun), "__code__", None)
    if not isinstance(code, types.CodeType):
        return None
    cells = tuple(types.CellType() for _ in code.co_freevars)
    return types.FunctionType(code, {}, code.co_name, None, cells)


def options_key(options: Mapping[str, Any]) -> Hashable:
    """Equal for options that mean the same: `static_argnums` may be 0 or (0,)."""
    named: dict[str, Any] = {}
    for name, value in options.items():
        single = isinstance(value, (int, str, np.integer))
        if name.endswith(("_argnums", "_argnames")) and value is not None:
            value = (value,) if single else tuple(value)
        named[name] = value
    leaves, structure = jax.tree.flatten(named)
    return tuple(leaves), structure
