"""What a state may hold, and by which name the text calls it.

Data are stored. What is code (functions, classes) stays out: it comes from the state
that is passed as `like`, where it stands in the same place.
"""

import collections
import datetime as dt
import decimal
import fractions
import functools
import logging
import operator
import pathlib
import random
import re
import threading
import types
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from .._autojit.kinds._constants import constant_names, is_library_constant
from .._autojit.kinds._objects import EMPTY_BASES
from .._errors import StateError
from .._random._generator_objects import OwnStream
from .._values import full_name


PLAIN = (type(None), bool, int, str)  # as JSON has them
NUMBERS = (float, complex, bytes)  # as text

# Compared by what they print: the state must have the same one.
CONSTANTS = (
    type(Ellipsis), type(NotImplemented), range, slice, np.dtype, pathlib.PurePath,
    dt.date, dt.time, dt.timedelta, dt.tzinfo,
    decimal.Decimal, fractions.Fraction, uuid.UUID, jax.Device,
    jax.sharding.Sharding, jax.sharding.Mesh, jax.sharding.PartitionSpec,
    jax.tree_util.PyTreeDef, re.Pattern,
    operator.attrgetter, operator.itemgetter, operator.methodcaller,
)  # fmt: skip

_CODE = (
    type, types.FunctionType, types.BuiltinFunctionType, types.MethodType,
    types.ModuleType, np.ufunc, jax.custom_jvp, jax.custom_vjp, logging.Logger,
    type(threading.Lock()), type(threading.RLock()), type(jax.jit(abs)),
    type(functools.cache(abs)), random.SystemRandom,
)  # fmt: skip


class Stateful(NamedTuple):
    """How the state of a random generator is read and set."""

    get: Callable[[Any], Any]
    set: Callable[[Any, Any], Any]


_STATEFUL: dict[type, Stateful] = {
    OwnStream: Stateful(lambda x: x.get_rng_state(), lambda x, s: x.set_rng_state(s)),
    np.random.Generator: Stateful(
        lambda x: _numpy_state(x), lambda x, s: _set_numpy_state(x, s)
    ),
    np.random.RandomState: Stateful(
        lambda x: x.get_state(legacy=False), lambda x, s: x.set_state(s)
    ),
    random.Random: Stateful(lambda x: x.getstate(), lambda x, s: x.setstate(s)),
}


def _numpy_state(x: np.random.Generator) -> dict[str, Any]:
    """Where a generator stands, and how many it has spawned."""
    found: dict[str, Any] = dict(x.bit_generator.state)
    seeds = x.bit_generator.seed_seq
    if isinstance(seeds, np.random.SeedSequence):
        found["seeds"] = seeds.state
    return found


def _set_numpy_state(x: np.random.Generator, state: dict[str, Any]) -> None:
    seeds = state.pop("seeds", None)
    bits: Any = x.bit_generator
    if seeds is None:
        bits.state = state
    else:
        bits.__setstate__((state, np.random.SeedSequence(**seeds)))


def dict_base(x: dict[Any, Any]) -> type[dict[Any, Any]]:
    """The builtin class that keeps the items of a dict."""
    ordered = collections.OrderedDict  # which knows its order itself
    return ordered if isinstance(x, ordered) else dict


def stateful(x: object) -> Stateful | None:
    """How a random generator is saved; None for all else."""
    if isinstance(x, random.SystemRandom):  # it stands nowhere
        return None
    found = (way for cls, way in _STATEFUL.items() if isinstance(x, cls))
    return next(found, None)


def printed(x: object) -> str:
    """What identifies a constant."""
    if isinstance(x, re.Pattern):  # which prints the beginning only
        return f"re.compile({x.pattern!r}, {x.flags})"
    return repr(x)


def is_code(x: object) -> bool:
    """Whether a value is code, a means of the process or a library's, and no data."""
    named = callable(x) and not _is_python_class(type(x)) and hasattr(x, "__name__")
    return isinstance(x, _CODE) or named or is_library_constant(x, type(x))


def name_of(x: object) -> str:
    """The name of a class or of code, with its module."""
    if not hasattr(x, "__qualname__"):
        if is_library_constant(x, type(x)):  # a tag of lineax
            return f"{type(x).__module__}.{constant_names(x)[0]}"
        named = getattr(x, "__name__", "")
        return f"{full_name(type(x))} {named}".rstrip()
    return full_name(x)


def same_name(one: str, other: str) -> bool:
    """Whether two names mean one thing: a script calls its module `__main__`."""
    if one == other:
        return True
    scripts = [name for name in (one, other) if name.startswith("__main__.")]
    rest = scripts[0].removeprefix("__main__.") if scripts else None
    return rest is not None and all(
        name == rest or name.endswith(f".{rest}") for name in (one, other)
    )


def refuse_opaque(x: object, path: str) -> None:
    """Refuse an object that holds more than attributes and items.

    Raises:
        StateError: It does, or this is no object of a Python class.
    """
    cls = type(x)
    if any(base.__module__.startswith("flax.nnx.") for base in cls.__mro__):
        raise StateError(
            f"{path} is a {full_name(cls)}, which holds more than attributes. Save "
            "nnx.to_pure_dict(nnx.state(model)). What load_state() returns goes back "
            "by state = nnx.state(model); nnx.replace_by_pure_dict(state, loaded); "
            "nnx.update(model, state)."
        )
    hidden = not _is_python_class(cls)
    if not (hidden or isinstance(x, _CONTAINERS)):
        try:
            object.__reduce_ex__(x, 2)  # Python knows of memory beyond the attributes
        except Exception:  # whatever a class says
            hidden = True
    if hidden:
        raise StateError(
            f"{path} is a {full_name(cls)}, which can't be saved. A state holds "
            "arrays, numbers, texts, containers and objects of Python classes: leave "
            "it out, and make it anew after load_state()."
        )


_CONTAINERS: tuple[Any, ...] = (
    *(base for base in EMPTY_BASES if base is not object),
    tuple, frozenset, collections.deque,
)  # fmt: skip


def _is_python_class(cls: type) -> bool:
    """Whether a class is one of Python code, over builtin containers at most."""
    heap = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, and some in C
    known = (*_CONTAINERS, object)
    return all(base.__flags__ & heap or base in known for base in cls.__mro__)
