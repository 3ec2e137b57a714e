"""Functions that choose by class, and remember what they chose.

The memory of `functools.singledispatch` grows with the calls. It says nothing about
what the function does, and may hold what the body of a compiled function works on.
"""

import functools
import types
from collections.abc import Iterable, Mapping
from typing import Any

from .._reading import Read
from ._containers import PartsKind


def is_dispatched(fn: types.FunctionType) -> bool:
    """Whether a function was made by `functools.singledispatch`."""
    return fn.__code__ is _CODE and isinstance(
        getattr(fn, "registry", None), types.MappingProxyType
    )


def _parts_of_function(fn: Any) -> tuple[Any, ...]:
    return (dict(fn.registry),)


def _function(cls: type, registry: Mapping[type, Any]) -> Any:
    return _registered(functools.singledispatch(registry[object]), registry)


def _parts_of_method(method: Any) -> tuple[Any, ...]:
    return method.func, dict(method.dispatcher.registry)


def _method(cls: type, fn: Any, registry: Mapping[type, Any]) -> Any:
    return _registered(cls(fn), registry)


def _registered(made: Any, registry: Mapping[type, Any]) -> Any:
    for cls, implementation in registry.items():
        made.register(cls, implementation)
    return made


_CHOOSE: Any = functools.singledispatch(lambda x: x)
_CODE = _CHOOSE.__code__


class _DispatchedKind(PartsKind):
    def functions(self, x: Any, read: Read) -> Iterable[types.FunctionType]:
        return (_CHOOSE,)  # which asks for the class of its argument


DISPATCHED = _DispatchedKind(_parts_of_function, _function, [""])
DISPATCHED_METHOD = _DispatchedKind(_parts_of_method, _method, [".func", ""])
