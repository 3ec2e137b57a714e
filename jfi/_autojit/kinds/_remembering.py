"""Functions that remember their results: those of `functools.lru_cache` and `cache`.

While a body is traced, a `Remembering` stands for each of them. It calls the function
itself, outside the trace: the cache never holds a tracer, and what it held before is
found, as in plain Python. The results are constants of what is compiled, which asks
for them again at each call, and is traced anew when one is another. What they draw
would come before the draws of the body: then the body is not compiled.

Methods of classes meet the functions themselves. That is right for those that compute
from their arguments alone, without JAX; others can't be watched.
"""

import enum
import functools
import sys
import types
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer

from ..._jax_internals import at_top_level
from ..._random._streams import DrawnOutOfOrder, without_draws
from ..._values import (
    contents_key,
    copied_if_numpy,
    function_name,
    identity_key,
    is_named,
    is_user_function,
    not_recording,
    number_key,
    references,
)
from .._reading import LRU_CACHED, PASSED, Mode, Read
from ._base import (
    Expression,
    IdentityKind,
    Kind,
    RefusedError,
    Source,
    Split,
    UnportableError,
)
from ._containers import PartsKind


class Remembered(NamedTuple):
    """A call of a function that remembers, and the key of its result."""

    fn: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    key: Hashable

    def holds(self) -> bool:
        """Whether the function still returns this."""
        try:
            found = _call_outside(self.fn, self.args, self.kwargs)
            return _constant_key(found) == self.key
        except (Exception, DrawnOutOfOrder):  # the body is to meet it
            return False


class Remembering:
    """Stands for a function that remembers, while a body is traced.

    Attributes:
        fn: The function, or what stands for it in the trace around this one.
        calls: Those of the body, by function and arguments.
        refused: Why nothing can be compiled that does what the body did with it.
        error: What a call raised last.
        name: What messages call it.
    """

    def __init__(self, fn: Any) -> None:
        self.fn = fn
        self.calls: dict[Hashable, Remembered] = {}
        self.refused = ""
        self.error: Exception | None = None
        self.name = function_name(fn)
        for name in functools.WRAPPER_ASSIGNMENTS:
            if hasattr(fn, name):
                setattr(self, name, getattr(fn, name))

    @property
    def maxsize(self) -> int:
        """How many results are kept."""
        if isinstance(self.fn, Remembering):
            return self.fn.maxsize
        size = self.fn.cache_parameters()["maxsize"]
        return sys.maxsize if size is None else size

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, Tracer) and not value.shape:
                float(value)  # JAX's error names the number that the code needs
        call = args, tuple(kwargs.items())
        hash(call)
        try:
            key = id(self.fn), _constant_key(call)
        except RefusedError as error:
            raise self._refusal(f"with {error}") from None
        try:
            result = _call_outside(self.fn, args, kwargs)
        except DrawnOutOfOrder:
            raise self._refusal("and draws random numbers") from None
        except Exception as error:
            self.error = error
            raise
        try:
            found = _constant_key(result)
        except RefusedError as error:
            raise self._refusal(f"and gets {error}") from None
        self.calls[key] = Remembered(self.fn, args, kwargs, found)
        if len(self.calls) > self.maxsize:
            raise self._refusal("more often than it remembers")
        # JAX remembers the arrays that are constants, whatever is written to them.
        return copied_if_numpy(result)

    def __getattr__(self, name: str) -> Any:
        if name == "fn" or not hasattr(self.fn, name):
            raise AttributeError(name)
        raise self._refusal(f"and reads its .{name}")

    def _refusal(self, what: str) -> RefusedError:
        self.refused = f"calls {self.name}(), which remembers its results, {what}"
        return RefusedError(self.refused)


def _call_outside(fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    # What it reads is remembered in Python, too: the clock, when it was first called.
    with without_draws(), not_recording():
        if at_top_level():
            return fn(*args, **kwargs)
        with jax.ensure_compile_time_eval():
            return fn(*args, **kwargs)


_SIMPLE = (str, bytes, type(None), type(...), range, slice, np.dtype, enum.Enum)


def _constant_key(x: Any) -> Hashable:
    """Key of a value that stays as it is, or is a NumPy array.

    Raises:
        RefusedError: The value may change.
    """
    if isinstance(x, tuple):
        return type(x), *map(_constant_key, x)
    if isinstance(x, frozenset):
        return type(x), frozenset(map(_constant_key, x))
    if isinstance(x, (int, float, complex, np.generic)):
        return number_key(x)
    if isinstance(x, _SIMPLE):
        return type(x), x
    if isinstance(x, np.ndarray) and not x.dtype.hasobject:
        return contents_key(x)
    if isinstance(x, (jax.Array, type)) and not isinstance(x, Tracer):
        return identity_key(x)
    if isinstance(x, types.BuiltinFunctionType) or (callable(x) and is_named(x)):
        return identity_key(x)
    raise RefusedError(f"a {type(x).__name__}, which may change")


class RememberingKind(IdentityKind):
    """A function that remembers; code that is traced gets a `Remembering` for it."""

    keyed = True
    is_fixed = False
    constant = False

    def open(self, x: Any, read: Read, mode: Mode) -> Split:
        passed = mode in PASSED
        if isinstance(x, Remembering) and not passed:
            x = x.fn  # a result
        return (identity_key(x), passed), () if passed else (x.__wrapped__,)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        constant, passed = part
        return Remembering(constant.value) if passed else constant.value

    def portable(self, part: Any) -> Any:
        name = function_name(part[0].value)
        raise UnportableError(f"it calls {name}(), which remembers its results")

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        below = [f"{name}.__wrapped__"] * n
        return [*super().guard(source, name, part[0], n), *below]


class CachedKind(Kind):
    """A function of functools.lru_cache made at run time; its cache stays behind."""

    def split(self, x: Any) -> Split:
        parameters = x.cache_parameters()
        return (parameters["maxsize"], parameters["typed"]), (x.__wrapped__,)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return functools.lru_cache(*part)(children[0])

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ""


def remembering(values: Iterable[Any]) -> list[Remembering]:
    """Those among the values of which a body was traced."""
    return [value for value in values if isinstance(value, Remembering)]


# ---- those that methods of classes meet ----


def needs_watching(fn: Any) -> bool:
    """Whether the result depends on more than its arguments, or may come from JAX."""
    if _is_own_of_python(fn) or _makes_types(fn.__wrapped__):
        return False
    return not _is_alone(fn.__wrapped__, (), set())


def _makes_types(fn: Any) -> bool:
    """Whether a library remembers its `Class[...]`, as jaxtyping its `PyTree[...]`."""
    if not isinstance(fn, types.FunctionType) or is_user_function(fn):
        return False
    return fn.__name__ in ("__getitem__", "__class_getitem__")


def may_trace(fn: Any) -> bool:
    """Whether such a function may compute with JAX, and would remember tracers."""
    alone = _is_own_of_python(fn) or _is_alone(fn.__wrapped__, _WITHOUT_JAX, set())
    return not alone


def _is_own_of_python(fn: Any) -> bool:
    """Whether Python itself remembers by it, as a `Generic` class its `Class[int]`."""
    return _is_plain(fn.__wrapped__)


_WITHOUT_JAX = (int, float, complex, str, bytes, type(None), np.ndarray, np.generic)


def _is_alone(fn: Any, reads: tuple[type, ...], met: set[Any]) -> bool:
    """Whether a function computes from its arguments, with Python and NumPy alone.

    Args:
        fn: The function.
        reads: Of which classes the global variables are that it may read.
        met: The functions that were looked at before.
    """
    if isinstance(fn, types.BuiltinFunctionType):
        return _is_plain(fn)
    if not isinstance(fn, types.FunctionType) or fn.__closure__:
        return False
    if fn in met:  # a recursive function
        return True
    met.add(fn)
    found = references(fn.__code__)
    chained = {name for chain in found.chains for name in chain[1:]}
    roots = {chain[0] for chain in found.chains}
    return (
        not found.written
        and all(name.partition(".")[0] in _PLAIN_LIBRARIES for name in found.imports)
        and all(name in _OF_VALUES for name in found.attributes - chained - roots)
        and all(_is_alone_there(fn, name, reads, met) for name in roots)
    )


def _is_alone_there(
    fn: types.FunctionType, name: str, reads: tuple[type, ...], met: set[Any]
) -> bool:
    """Whether what a function calls by a global name computes in the same way."""
    value = fn.__globals__.get(name)
    if isinstance(value, LRU_CACHED):
        value = value.__wrapped__
    if isinstance(value, types.FunctionType) and is_user_function(value):
        return _is_alone(value, reads, met)
    if name not in fn.__globals__:
        return name not in _READS_ALL
    return _is_plain(value) or isinstance(value, reads)


def _is_plain(value: Any) -> bool:
    """Whether this is a module, a function or a class of Python's or NumPy's."""
    kinds = types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type
    if not isinstance(value, (*kinds, np.ufunc)):
        return False
    name = value.__name__ if isinstance(value, types.ModuleType) else None
    name = name or getattr(value, "__module__", None) or type(value).__module__
    return str(name).partition(".")[0] in _PLAIN_LIBRARIES


_PLAIN_LIBRARIES = {*sys.stdlib_module_names, "numpy", "scipy"}
_READS_ALL = {"eval", "exec", "getattr", "globals", "vars", "open", "input"}
# Attributes of constants and of containers that code makes itself.
_OF_VALUES = {
    name
    for cls in (list, dict, set, tuple, str, bytes, int, float, complex, np.ndarray)
    for name in dir(cls)
}


# ---- Functions that choose by class, and remember what they chose ----
#
# The memory of `functools.singledispatch` grows with the calls. It says nothing about
# what the function does, and may hold what the body of a compiled function works on.


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
