"""Which kind each value is of, and which values `autojit` has to refuse."""

import collections
import concurrent.futures
import dataclasses
import enum
import functools
import io
import itertools
import logging
import queue
import random
import threading
import types
import weakref
from collections.abc import Collection, Hashable, Iterator, MappingView
from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jax.errors import TracerArrayConversionError
from jax.tree_util import all_leaves

from ..._values import (
    STATIC_MARK,
    is_array,
    is_fixed,
    is_installed,
    is_library,
    is_marked_pytree,
    is_marked_static,
    is_named,
    is_plain_int,
    is_scalar,
    is_user_function,
    is_user_module,
    is_writable,
    odd_array,
    own_attributes,
    own_equality,
    typed_key,
)
from ..._values.trees import declarations
from .._reading import LRU_CACHED
from . import (
    _base as kinds,
    _classes as classes,
    _constants as constants,
    _containers as containers,
    _flax as flax,
    _functions as functions,
    _objects as objects,
    _remembering as remembering,
    _stand_ins as stand_ins,
    _variables as outside,
)
from ._base import MetKind, ReaderError, RefusedError
from ._constants import (
    LIBRARY_CONSTANT,
    SENTINEL,
    SIGNATURE,
    is_constant_signature,
    is_library_constant,
    is_sentinel,
    kind_of_reference,
)
from ._functions import PROPERTY, SPECIAL_PROPERTY, PartialKind, cached_property_of
from ._objects import new


ARRAY = kinds.ArrayKind()
SCALAR = kinds.ScalarKind()
INTEGER = kinds.IntegerKind()
KNOWN_ARRAY = constants.KnownArrayKind()
NUMBER = kinds.NumberKind()  # a frozen scalar
VALUE = kinds.ValueKind()
STATIC_ARRAY = constants.StaticArrayKind()
ITSELF = kinds.IdentityKind()
LIST = containers.ListKind()
DICT = containers.DictKind()
TUPLE = containers.TupleKind()
NAMED_TUPLE = containers.NamedTupleKind()
PYTREE = objects.PytreeKind()
FUNCTION = functions.FunctionKind()
BODY = functions.BodyKind()
AUTOJITTED = functions.AutojittedKind()
WRAPPER = functions.WrapperKind()
SHOWN = functions.ShownKind()
CLASS = classes.ClassKind()
PARTIAL = PartialKind()
METHOD = functions.METHOD
OWN_METHOD = functions.OwnMethodKind()
CACHED = remembering.CachedKind()
CUSTOM_RULES = {
    cls: objects.ObjectKind(cls, frozen=True)
    for cls in (jax.custom_jvp, jax.custom_vjp)
}

PLAIN = functions.PlainKind()
CELL = functions.CellKind()
VARIABLES = outside.VariablesKind()
MODULE = outside.ModuleKind()
TEXTUAL = kinds.ConstantKind(lambda x: (type(x), x, repr(x)))  # Decimal: 1.0, 1.00
TEXT_METHOD = kinds.ConstantKind(lambda x: (typed_key(x.__self__), x.__name__))
OF_USERS_CLASS = kinds.OfUsersClassKind(typed_key)
MET = MetKind()
REMEMBERING = remembering.RememberingKind()
HASHABLE = kinds.HashableKind()
COUNTED = stand_ins.CountedKind()
GROWING = stand_ins.GrowingKind()
STAND_INS = (COUNTED, GROWING)
STEP = stand_ins.StepKind()


BUILTIN: dict[type, kinds.Kind] = {
    **dict.fromkeys((str, int, bool, bytes, type(None)), VALUE),
    **dict.fromkeys((type(...), type(NotImplemented)), ITSELF),
    **dict.fromkeys((float, complex), SCALAR),
    tuple: TUPLE,
    list: LIST,
    dict: DICT,
    set: containers.SetKind(),
    frozenset: containers.FrozensetKind(),
    bytearray: containers.BytearrayKind(),
    collections.deque: containers.DequeKind(),
    types.CellType: CELL,
    outside.Variables: VARIABLES,
    range: kinds.ConstantKind(lambda r: (range, r.start, r.stop, r.step)),
    slice: containers.PartsKind(
        lambda s: (s.start, s.stop, s.step),
        lambda cls, *parts: slice(*parts),
        [".start", ".stop", ".step"],
        frozen=True,
    ),
    functools.singledispatchmethod: remembering.DISPATCHED_METHOD,
    property: PROPERTY,
    functools.cached_property: containers.PartsKind(  # without its lock
        lambda p: (p.func, p.attrname), cached_property_of, [".func", ".attrname"]
    ),
    **{
        method: containers.PartsKind(
            lambda m: (m.__func__,), lambda cls, function: cls(function), [".__func__"]
        )
        for method in (staticmethod, classmethod)
    },
    types.MappingProxyType: containers.PartsKind(
        lambda m: (dict(m),), lambda cls, d: types.MappingProxyType(d), [""]
    ),
}
# What was found out about classes; a class that goes away takes its entry with it.
_by_class: weakref.WeakKeyDictionary[type, kinds.Kind] = weakref.WeakKeyDictionary(
    {
        functions.Body: BODY,
        functions.AutojitMark: functions.EmptyKind(),
        remembering.Remembering: REMEMBERING,
        stand_ins.Count: STEP,
    }
)


def register_kind(cls: type, kind: kinds.Kind) -> None:
    """Say how the instances of one of jfi's own classes are opened."""
    _by_class[cls] = kind


def kind_of(x: Any) -> kinds.Kind:
    """The kind of a value.

    Raises:
        RefusedError: The value could change without being seen, or can't be read twice.
    """
    cls = type(x)
    if cls is objects.Unread:
        objects.touch()
        raise kinds.RefusedError("an attribute for {path} that is not read")
    kind = BUILTIN.get(cls) or _by_class.get(cls)
    if kind is None:
        kind = _kind_of_value(x)
    if kind is None:
        kind = _kind_of_class(x, cls)
        # Only what every instance has in common: others may carry attributes.
        common = isinstance(kind, (objects.ObjectKind, objects.PytreeKind))
        if common or (kind is NAMED_TUPLE and not cls.__dictoffset__):
            _by_class[cls] = kind
    if isinstance(kind, objects.ObjectKind) and not builtin_base(cls):
        if is_sentinel(x, cls):
            return SENTINEL
        return LIBRARY_CONSTANT if is_library_constant(x, cls) else kind
    return kind


def _kind_of_value(x: Any) -> kinds.Kind | None:
    """The kind of a value whose class alone does not decide it."""
    # A list of tests and not a table: subclasses count, and the order matters. NumPy's
    # scalars are also instances of float, enums of int, functions of jfi of Python's.
    if isinstance(x, (jax.Array, Tracer, jax.Ref)):
        BUILTIN[type(x)] = ARRAY
        return ARRAY
    if is_array(x):
        return ARRAY
    if isinstance(x, np.ndarray):
        return _kind_of_odd_array(x)
    if isinstance(x, np.generic) or is_scalar(x) or is_plain_int(x):
        return SCALAR if is_scalar(x) else NUMBER
    if isinstance(x, type):
        return ITSELF if is_library(x) or classes.is_plain_tuple(x) else CLASS
    if isinstance(x, types.ModuleType):
        return MODULE if outside.is_users_module(x) else ITSELF
    if isinstance(x, enum.Enum):
        return classes.MEMBER if classes.holds_code(type(x)) else ITSELF
    if isinstance(x, types.FunctionType):
        return _kind_of_function(x)
    if isinstance(x, (types.BuiltinFunctionType, types.MethodWrapperType)):
        return _kind_of_builtin(x)
    if isinstance(x, types.MethodType):
        return OWN_METHOD if functions.is_of_class(x) else METHOD
    if isinstance(x, functools.partial):
        return PARTIAL
    if isinstance(x, LRU_CACHED):
        return _kind_of_cached(x)
    if isinstance(x, (jax.custom_jvp, jax.custom_vjp)):
        of_library = is_named(x) and not is_user_module(x.__module__)
        return HASHABLE if of_library else CUSTOM_RULES[type(x)]
    if isinstance(x, property):
        return SPECIAL_PROPERTY
    if isinstance(x, weakref.ref):
        return kind_of_reference(x)
    if is_constant_signature(x):
        return SIGNATURE
    is_error = isinstance(x, BaseException) and is_library(type(x))
    fixed = is_error or isinstance(x, logging.Logger) or is_marked_static(x)
    return ITSELF if fixed else None


def _kind_of_odd_array(x: np.ndarray[Any, Any]) -> kinds.Kind:
    if x.dtype.hasobject:
        raise holds_objects(x)
    odd = odd_array(x, "{path}")
    if odd is not None:
        raise kinds.RefusedError(odd)
    return STATIC_ARRAY


def _kind_of_function(fn: types.FunctionType) -> kinds.Kind:
    if functions.is_autojitted(fn):
        return AUTOJITTED
    if functions.is_wrapper(fn):
        return WRAPPER
    if remembering.is_dispatched(fn):
        return remembering.DISPATCHED
    if fn.__dict__.get(STATIC_MARK) is fn.__code__:
        return ITSELF
    named = is_named(fn)
    # A decorator of a library, under which the user's function has its name, does not.
    if named and not (is_user_function(fn) or is_user_module(fn.__module__)):
        return ITSELF
    if functions.is_shown(fn):
        return SHOWN
    own = (fn.__defaults__, *(fn.__kwdefaults__ or {}).values())
    if named and not (fn.__closure__ or fn.__dict__) and is_fixed(own):
        return PLAIN
    held = fn.__closure__ or fn.__defaults__ or fn.__kwdefaults__ or fn.__dict__
    return FUNCTION if held else PLAIN


def _kind_of_cached(x: Any) -> kinds.Kind:
    if not is_named(x):
        return CACHED
    own = x.__wrapped__
    of_library = isinstance(own, types.FunctionType) and not is_user_function(own)
    return ITSELF if of_library else REMEMBERING


def _kind_of_builtin(x: Any) -> kinds.Kind:
    owner = x.__self__
    if owner is None or isinstance(owner, (types.ModuleType, type)):
        return ITSELF
    if type(owner) in (str, bytes):
        return TEXT_METHOD
    raise kinds.RefusedError(
        f"a method of a {type(owner).__name__} for {{path}}, which may change unseen.\n"
        f"Pass the {type(owner).__name__} itself and call the method inside."
    )


def _kind_of_class(x: Any, cls: type) -> kinds.Kind:
    """The kind of a value that its class decides (the value is an example)."""
    # From the most special to the most general. What changes when it is read is refused
    # first. Then come libraries that have rules of their own, what JAX takes apart by
    # itself (its rules win, as they do under jax.jit), immutable builtins, library
    # objects with a hash, and last all objects whose attributes can be opened.
    refuse_readers(x, cls)
    of_others = hasattr(cls, "__array__") and not is_user_module(cls.__module__)
    if of_others and hasattr(cls, "__setitem__"):  # a table of pandas
        raise contents_change(cls)
    if (of_flax := flax.kind_of_flax(cls)) is not None:
        return of_flax
    base = builtin_base(cls)
    root = cls.__module__.partition(".")[0]
    if isinstance(x, tuple) and hasattr(cls, "_fields"):
        return _kind_of_subclass(x, cls)
    opened_by_jax = (collections.OrderedDict, collections.defaultdict)
    registered = cls not in opened_by_jax and _is_node(x)
    of_library = is_library(cls) or is_marked_pytree(cls)
    if registered and (of_library or not _clonable(cls)):
        return PYTREE
    # Compiled functions; the interpolators of jax.scipy are objects with arrays.
    of_jax = root in ("jax", "jaxlib") and "scipy" not in cls.__module__
    if (of_jax and callable(x)) or flax.is_compiled(cls):
        return HASHABLE
    if isinstance(x, (int, float, complex, str, bytes, tuple, frozenset)):
        return _kind_of_subclass(x, cls)
    hashes, compares = own_equality(cls)
    if root in ("jax", "jaxlib") and isinstance(x, Hashable):
        return HASHABLE
    if is_library(cls) and hashes and cls is not memoryview:
        return TEXTUAL
    if not _clonable(cls):
        return _kind_of_opaque(x, cls)
    frozen = hashes and compares and not (registered or _holds_fields(cls))
    static = _static_names(x) if registered else ()
    order = objects.field_order(cls) if registered else None
    if flax.is_pytree(cls):
        order = sorted  # as nnx itself does wherever it goes through them
    # Code of a library, which nobody looks at, may read any attribute.
    inherits = any(map(is_installed, cls.__mro__)) and not _is_test_case(cls)
    whole = registered or is_library(cls) or inherits
    kind = objects.object_kind(cls)
    if flax.is_train_state(cls):
        kind = flax.TrainStateKind
    elif flax.is_module_state(cls):
        kind = flax.ModuleStateKind
    return kind(
        cls,
        frozen=frozen,
        base=base,
        static=static,
        order=order,
        whole=whole,
        keeps_ints=cls in declarations,
    )


def _static_names(x: Any) -> Collection[str]:
    """The attributes of a registered object that are settings, floats included.

    Of an object of a `pytree` class floats are passed as data, although its tree has
    them as settings: a new value compiles nothing (see `_outcomes`). Its ints are
    settings whatever is around it (`keeps_ints`).
    """
    own = declarations.get(type(x))
    return objects.static_names(x) if own is None else own.settings


def _holds_fields(cls: type) -> bool:
    """Whether `==` and `hash` of a class are no more than those of what it holds."""
    return (
        dataclasses.is_dataclass(cls)
        or hasattr(cls, "__attrs_attrs__")
        or any(base.__module__.startswith("omegaconf.") for base in cls.__mro__)
    )


def _is_test_case(cls: type) -> bool:
    """Whether instances are tests: absl's and chex's lead to all of pytest."""
    return any(base.__module__ == "unittest.case" for base in cls.__mro__)


def _is_node(x: Any) -> bool:
    """Whether JAX takes a value apart."""
    try:
        return not all_leaves([x])
    except Exception:  # its class does, and refuses: a state of equinox's, used before
        return True


def builtin_base(cls: type) -> kinds.Kind | None:
    """The kind of the items of a list, dict or set subclass."""
    if issubclass(cls, collections.OrderedDict):
        return containers.DictKind(collections.OrderedDict)
    return next((BUILTIN[b] for b in (dict, list, set) if issubclass(cls, b)), None)


def _kind_of_subclass(x: Any, cls: type) -> kinds.Kind:
    """Subclasses of immutable builtins, which carry their value in the builtin part."""
    if own_attributes(x):
        raise kinds.RefusedError(
            f"a {cls.__name__} for {{path}}, an immutable value with attributes, "
            "which may change unseen.\nPass the value and the attributes apart."
        )
    if isinstance(x, tuple):
        try:
            tuple.__new__(cls, x)
        except TypeError:
            return TEXTUAL
        return NAMED_TUPLE
    if is_library(cls):
        return NUMBER if isinstance(x, (int, float, complex)) else TEXTUAL
    return OF_USERS_CLASS


def _clonable(cls: type) -> bool:
    """Whether an empty instance can be made, and thrown away without any effect."""
    if hasattr(cls, "__del__"):
        return False
    try:
        objects.new(cls)
    except TypeError:
        return False
    return cls is not object and not is_of_c(cls)


def _kind_of_opaque(x: Any, cls: type) -> kinds.Kind:
    """What can't be cloned is static by identity, if it can't change meanwhile."""
    name = cls.__name__
    if is_named(x):  # a function of its module, such as one under functools.cache
        return ITSELF
    if hasattr(cls, "__del__"):
        raise kinds.RefusedError(
            f"a {name} for {{path}}, which can't be copied: it has a __del__ method.\n"
            "Pass the arrays and settings it holds instead."
        )
    members = (value for base in cls.__mro__ for value in vars(base).values())
    writable = any(isinstance(v, property) and v.fset is not None for v in members)
    if writable or any(
        hasattr(cls, name) for name in ("__setitem__", "__array__", "__dlpack__")
    ):
        raise contents_change(cls)
    constant = isinstance(x, Hashable) and not isinstance(x, MappingView)
    if not constant or own_attributes(x) or is_of_c(cls):
        raise kinds.RefusedError(
            f"a {name} for {{path}}, which can change and can't be copied.\n"
            "Pass the arrays and settings it holds instead."
        )
    return ITSELF


# ---- Values that can't be opened: they change when they are read, or unseen ----


_OF_THREADS = (
    threading.Barrier, threading.Condition, threading.Event, threading.Semaphore,
    threading.Thread, queue.Queue, concurrent.futures.Executor,
    concurrent.futures.Future,
)  # fmt: skip


def refuse_readers(x: Any, cls: type) -> None:
    """Refuse what changes when it is read, or in memory of C that nobody can watch.

    Iterators, files, random generators; numbers and structs of ctypes.
    """
    if isinstance(x, io.IOBase):
        raise ReaderError(
            f"the file {{path}} (a {cls.__name__}), which would be read or written "
            "once, and not at each call.\n"
            "Read it before the call and pass what it holds; write into it after the "
            "call, or in a function for jax.debug.callback."
        )
    if cls in weakref.ProxyTypes:
        raise RefusedError(
            "a weak proxy for {path}, which can't be copied.\n"
            "Pass the object itself instead, or weakref.ref(...) of it."
        )
    if isinstance(x, Iterator) and not _is_iterator_in_python(cls):
        what = "generator" if isinstance(x, types.GeneratorType) else cls.__name__
        next_ = "at each call, what comes next: next({path})"
        if isinstance(x, (itertools.count, itertools.cycle, itertools.repeat)):
            advice = f"Pass, {next_}"  # a list of it may have no end
        else:
            listed = "Pass a list or an array instead: {path} = list({path})"
            advice = f"{listed}; or, {next_}"
        raise ReaderError(
            f"an iterator for {{path}} (a {what}), which can be read only once.\n"
            + advice
        )
    if isinstance(x, (types.CoroutineType, types.AsyncGeneratorType)):
        raise ReaderError(
            "a coroutine for {path}, which must be awaited first.\n"
            "Pass its result instead: {path} = await {path}"
        )
    generators = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
    if isinstance(x, (*generators, random.Random)):
        raise ReaderError(
            f"the random generator {{path}} (a {cls.__name__}), whose draws would be "
            "constants of the compiled function.\n"
            "Draw outside and pass the numbers, or draw inside with jnp.randn(...)."
        )
    if isinstance(x, _OF_THREADS):
        raise RefusedError(
            f"the {cls.__name__} {{path}}, which other threads use meanwhile: compiled "
            "code would see a copy.\n"
            "Read it before the call and pass what it holds; use it after the call, or "
            "in a function for jax.debug.callback."
        )
    if any(base.__module__ == "_ctypes" for base in cls.__mro__):
        raise contents_change(cls)


def _is_iterator_in_python(cls: type) -> bool:
    """Whether what an iterator reads next is in its attributes, as for any object.

    A sequence of random keys is one (haiku's `PRNGSequence`). What a generator or a
    `zip` reads next, only Python knows.
    """
    found = [vars(base)["__next__"] for base in cls.__mro__ if "__next__" in vars(base)]
    return all(isinstance(method, types.FunctionType) for method in found)


def contents_change(cls: type) -> RefusedError:
    """What is raised for an object of a library that can be written unseen."""
    remedy = "Pass the arrays and settings that you need of it instead."
    if any(hasattr(cls, name) for name in ("__array__", "__dlpack__", "__setitem__")):
        remedy = "Pass an array instead: {path} = jnp.asarray({path})"
    return RefusedError(
        f"a {cls.__module__.partition('.')[0]} {cls.__name__} for {{path}}, "
        f"whose contents can change unseen.\n{remedy}"
    )


def holds_objects(x: np.ndarray[Any, Any]) -> Exception:
    """What is raised for a NumPy array of Python objects."""
    for item in x.flat:
        # NumPy makes such an array of numbers that pass for floats, `np.array([dt])`,
        # and plain Python one of numbers: their values are needed.
        if isinstance(item, Tracer):
            return TracerArrayConversionError(item)
    return RefusedError(
        "a NumPy array of Python objects for {path}, which JAX can't compute "
        "with.\nPass an array of numbers, or a list: {path} = {path}.tolist()"
    )


def is_of_c(cls: type) -> bool:
    """Whether empty instances can be made, and not filled."""
    try:
        return not is_writable(new(cls))
    except TypeError:
        return False
