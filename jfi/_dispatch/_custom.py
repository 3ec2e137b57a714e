"""Which classes are custom arrays, and which types no rule can be for.

A class is a custom array if it has rules, or one of the methods that say what functions
of NumPy and JAX are to make of it.
"""

import functools
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from .._shown import ShownFunction
from .._values import full_name, is_installed_module, is_key, is_user_module


RULES = "__jfi_rules__"
#: The global variables of the functions that were made, and of one to copy from.
wrappers: list[dict[str, Any]] = [{"array": type(None)}]
#: Types whose values go straight to JAX. Arrays and tracers are learnt when first seen:
#: to create one here would start JAX's backend, or leave an operation in a trace.
known: set[type] = {
    type(None), type(...), bool, int, float, complex, str, bytes, slice, type,
    np.ndarray, np.dtype, jax.ShapeDtypeStruct, types.FunctionType,
    types.BuiltinFunctionType, types.MethodType, functools.partial, ShownFunction,
    *(c for c in np.sctypeDict.values()),
}  # fmt: skip
all_known: Callable[[Iterable[type]], bool] = known.issuperset
#: The same but for NumPy's arrays: of those, the order of the bytes counts, too.
known_beside_numpy: set[type] = known - {np.ndarray}
listed = frozenset((list, tuple))

#: What solvers pass on to the user's functions, and don't look at.
PASSED_ON = frozenset("args constraints extra_arguments extra_keywords options".split())

_METHODS = ("__jfi_function__", "__jfi_array__", "__jax_array__")
# Rules for classes of libraries.
_rules_beside: weakref.WeakKeyDictionary[type, dict[str, Any]]
_rules_beside = weakref.WeakKeyDictionary()
_is_custom: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()


def own_rules(cls: type) -> dict[str, Any] | None:
    """The rules that were registered for a class itself, by function."""
    found: dict[str, Any] | None = cls.__dict__.get(RULES)
    return _rules_beside.get(cls) if found is None else found


def make_rules(cls: type) -> dict[str, Any]:
    """The place of a class's own rules; the class is a custom array from now on."""
    _is_custom.clear()
    rules = own_rules(cls)
    if rules is None:
        rules = {}
        if is_user_module(cls.__module__) or not is_installed_module(cls.__module__):
            # On the class, so that they go wherever a pickled class goes.
            setattr(cls, RULES, rules)
        else:  # classes of libraries are not changed
            _rules_beside[cls] = rules
    return rules


def is_beside(cls: type) -> bool:
    """Whether the rules of a class are kept beside it: it is a library's."""
    return cls in _rules_beside


def rules_beside() -> list[tuple[str, str, Any]]:
    """All rules for classes of libraries: the class, the function, the rule."""
    found = [
        (full_name(cls), name, rule)
        for cls, rules in list(_rules_beside.items())
        for name, rule in list(rules.items())
    ]
    return sorted(found, key=lambda one: one[:2])


def rules_for(cls: type, name: str) -> Iterator[Any]:
    """The rules of a class and its bases for a function, the nearest first."""
    for base in cls.__mro__:
        rules = own_rules(base)
        if rules and name in rules:
            yield rules[name]


def takes_part(cls: type) -> bool:
    """Whether a class has more to say than how its values become plain arrays."""
    return (
        hasattr(cls, "__jfi_function__")
        or hasattr(cls, "__jfi_array__")
        or hasattr(cls, "__array_namespace__")
        or hasattr(cls, "__array_function__")
        or getattr(cls, "__array_ufunc__", None) is not None
        or any(own_rules(base) for base in cls.__mro__)
    )


def is_custom(cls: type) -> bool:
    """Whether the values of a class are custom arrays."""
    found = _is_custom.get(cls)
    if found is None:
        found = _is_custom[cls] = _classified(cls)
    return found


def _classified(cls: type) -> bool:
    if any(own_rules(base) is not None for base in cls.__mro__):
        return True
    if issubclass(cls, (jax.Array, Tracer, np.ndarray, np.generic, type)):
        return hasattr(cls, "__jfi_function__")
    if any(hasattr(cls, name) for name in _METHODS) or is_of_library(cls):
        return True
    if cls.__module__.partition(".")[0] in ("jax", "jaxlib"):
        return False
    return hasattr(cls, "__array_namespace__")


def is_of_library(cls: type) -> bool:
    """Whether a library with rules for JAX's operations has made the class."""
    return is_quax(cls) or is_sparse(cls)


def is_quax(cls: type) -> bool:
    """Whether this is an array of quax, which then is imported already."""
    quax: Any = sys.modules.get("quax")
    return quax is not None and issubclass(cls, quax.Value)


def is_sparse(cls: type) -> bool:
    """Whether this is a matrix of jax.experimental.sparse, if that is imported."""
    sparse: Any = sys.modules.get("jax.experimental.sparse")
    return sparse is not None and issubclass(cls, sparse.JAXSparse)


#: How far lists in lists are looked through: as many dimensions as NumPy has.
DEPTH = 64


def customs(values: Iterable[Any], depth: int = DEPTH) -> list[Any]:
    """The custom arrays among values, one of each class.

    They come from left to right, those of a derived class before those of its base, and
    also from inside lists, tuples and dicts.
    """
    found: list[Any] = []
    for value in values:
        cls = type(value)
        if cls in known:
            continue
        if issubclass(cls, (jax.Array, Tracer)) and not is_custom(cls):
            _learn(value)
        elif is_custom(cls):
            _add(found, value)
        elif depth and issubclass(cls, (list, tuple, dict)):
            inside = value.values() if isinstance(value, Mapping) else value
            if not all_known(map(type, inside)):
                for one in customs(inside, depth - 1):
                    _add(found, one)
    return found


def customs_of_call(args: Iterable[Any], named: Mapping[str, Any]) -> list[Any]:
    """The custom arrays among the arguments of a canonical call."""
    taken = [value for name, value in named.items() if name not in PASSED_ON]
    return customs([*args, *taken])


def _learn(value: Any) -> None:
    cls = type(value)
    known.add(cls)
    known_beside_numpy.add(cls)
    if not (issubclass(cls, Tracer) or is_key(value)):
        for names in wrappers:
            names["array"] = cls


def _add(found: list[Any], value: Any) -> None:
    cls = type(value)
    if any(type(other) is cls for other in found):
        return
    below = (k for k, other in enumerate(found) if issubclass(cls, type(other)))
    found.insert(next(below, len(found)), value)
