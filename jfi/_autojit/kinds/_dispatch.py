"""Functions that choose by class, and remember what they chose.

The memory of `functools.singledispatch` grows with the calls. It says nothing about
what the function does, and may hold what the body of a compiled function works on.
"""

import functools
import types
from collections.abc import Iterable, Mapping
from typing import Any

import jax
from jax.core import Tracer

from .._reading import Read
from ._containers import PartsKind


def is_dispatched(fn: types.FunctionType) -> bool:
    """Whether a function was made by `functools.singledispatch`."""
    return fn.__code__ is _CODE and isinstance(
        getattr(fn, "registry", None), types.MappingProxyType
    )


def take_tracers(dispatcher: Any) -> None:
    """Let a function choose for tracers what it chooses for arrays of JAX.

    JAX says of a tracer that it is an array, and not of the class of tracers. Plain
    Python has none, so the user's own function may know them: it is the one that a
    method in a class runs.
    """
    if jax.Array in dispatcher.registry and Tracer not in dispatcher.registry:
        dispatcher.register(Tracer, dispatcher.registry[jax.Array])


def _known_to(dispatcher: Any) -> dict[type, Any]:
    return {cls: f for cls, f in dispatcher.registry.items() if cls is not Tracer}


def _parts_of_function(fn: Any) -> tuple[Any, ...]:
    own = {name: x for name, x in vars(fn).items() if name not in _GIVEN}
    return _known_to(fn), own or None


def _function(cls: type, registry: Mapping[type, Any], own: Any) -> Any:
    made = _registered(functools.singledispatch(registry[object]), registry)
    take_tracers(made)
    made.__dict__.update(own or {})
    return made


def _parts_of_method(method: Any) -> tuple[Any, ...]:
    return method.func, _known_to(method.dispatcher)


def _method(cls: type, fn: Any, registry: Mapping[type, Any]) -> Any:
    made = _registered(cls(fn), registry)
    take_tracers(made.dispatcher)
    return made


def _registered(made: Any, registry: Mapping[type, Any]) -> Any:
    for cls, implementation in registry.items():
        made.register(cls, implementation)
    return made


_CHOOSE: Any = functools.singledispatch(lambda x: x)
_CODE = _CHOOSE.__code__
_GIVEN = frozenset(vars(_CHOOSE))  # what `functools` gave it


class _DispatchedKind(PartsKind):
    def functions(self, x: Any, read: Read) -> Iterable[types.FunctionType]:
        return (_CHOOSE,)  # which asks for the class of its argument


DISPATCHED = _DispatchedKind(_parts_of_function, _function, ["", ""])
DISPATCHED_METHOD = _DispatchedKind(_parts_of_method, _method, [".func", ""])
