"""`jit` that finds by itself what is data and what is a setting."""

from __future__ import annotations

import functools
import keyword
import types
from collections.abc import Callable
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    TypeVar,
    overload,
)

from .._trees import function_name
from ._calls import Calls, Parameter
from ._messages import refuse_uncompilable
from ._classify import register_kind
from ._object_kinds import AutojitMark, EmptyKind, is_autojitted


P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")


class CacheInfo(NamedTuple):
    """What a function under `autojit` has compiled.

    Attributes:
        traces: How many times the body ran to be compiled.
        signatures: How many different settings (values that are not arrays) are kept.
    """

    traces: int
    signatures: int


if TYPE_CHECKING:

    class AutoJIT(Generic[P, R_co]):
        """A function compiled for each new set of settings among its arguments."""

        __wrapped__: Callable[P, R_co]

        def __init__(self, fn: Callable[P, R_co]) -> None: ...
        def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
        @overload
        def __get__(
            self, instance: None, owner: type | None = None
        ) -> AutoJIT[P, R_co]: ...
        @overload
        def __get__(
            self: AutoJIT[Concatenate[S, Q], R_co],
            instance: S,
            owner: type | None = None,
        ) -> AutoJIT[Q, R_co]: ...
        def __get__(self, instance: object, owner: type | None = None) -> object: ...
        def cache_info(self) -> CacheInfo: ...
        def clear_cache(self) -> None: ...


@overload
def autojit(fn: Callable[P, R], /) -> AutoJIT[P, R]: ...
@overload
def autojit() -> Callable[[Callable[P, R]], AutoJIT[P, R]]: ...
def autojit(fn: Any = None, /) -> Any:
    """Compile a function; arrays and floats are data, everything else is a setting.

    The result equals that of the plain function, whatever was called before.

    >>> import jfi as jnp
    >>> @jnp.autojit
    ... def norm(x, kind="mean", *, scale=1.0):
    ...     total = abs(x).sum() if kind == "sum" else abs(x).mean()
    ...     return total * scale
    >>> norm(jnp.ones(4), "sum", scale=2.0)
    Array(8., dtype=float32)

    Methods work: the arrays of `self` are data, its other attributes are settings.

    >>> class Model:
    ...     def __init__(self):
    ...         self.w, self.shift = jnp.ones(2), 3
    ...     @jnp.autojit
    ...     def __call__(self, x):
    ...         return self.w * x + self.shift
    >>> Model()(2.0)
    Array([5., 5.], dtype=float32)

    Args:
        fn: A function, method, partial or callable object without side effects.

    Returns:
        A callable with the signature of `fn`, `cache_info()` and `clear_cache()`.

    Raises:
        AutoJitError: `fn` can't be compiled (a class, a generator function ...); at a
            call: an argument can't be opened, or the body changes one.
    """
    if fn is None:
        return autojit
    if isinstance(fn, (staticmethod, classmethod)):
        return type(fn)(autojit(fn.__func__))
    refuse_uncompilable(fn)
    if is_autojitted(fn):
        fn = fn.__wrapped__
    return _wrap(Calls(fn))


if not TYPE_CHECKING:
    AutoJIT = autojit


def _wrap(calls: Calls) -> types.FunctionType:
    """A plain function with the signature of the original: fast, and a method too."""
    name = function_name(calls.fn)
    if not name.isidentifier() or keyword.iskeyword(name):
        name = "autojitted"
    source, variables = _source(name, calls)
    exec(compile(source, f"<autojit {name}>", "exec"), variables)
    return _dress(variables[name], calls)


def _dress(wrapper: types.FunctionType, calls: Calls) -> types.FunctionType:
    # The attributes of a callable object are its state, not a function's marks.
    plain = isinstance(calls.fn, types.FunctionType)
    functools.update_wrapper(wrapper, calls.fn, updated=("__dict__",) if plain else ())
    if plain:
        # The same objects: what is changed in them is seen.
        wrapper.__defaults__ = calls.fn.__defaults__
        wrapper.__kwdefaults__ = calls.fn.__kwdefaults__
    wrapper.__dict__[AutojitMark.ATTRIBUTE] = AutojitMark(wrapper.__code__, _fill)
    for method in (_Method(calls, cache_info), _Method(calls, clear_cache)):
        wrapper.__dict__[method.__name__] = method
    return wrapper


_CALLS = "__jfi_calls"  # what the wrapper calls its `Calls`


def _source(name: str, calls: Calls) -> tuple[str, dict[str, Any]]:
    """The source of the wrapper, and its global variables."""
    variables: dict[str, Any] = {_CALLS: calls, "__name__": calls.fn.__module__}
    signature: list[str] = []
    kind = None
    for k, parameter in enumerate(calls.parameters):
        if kind is Parameter.POSITIONAL_ONLY and parameter.kind is not kind:
            signature.append("/")
        if parameter.kind is Parameter.KEYWORD_ONLY and kind not in (
            Parameter.KEYWORD_ONLY,
            Parameter.VAR_POSITIONAL,
        ):
            signature.append("*")
        kind = parameter.kind
        default = ""
        if parameter.default is not Parameter.empty:
            variables[f"__jfi_default_{k}"] = parameter.default
            default = f"=__jfi_default_{k}"
        signature.append(f"{_STARS.get(kind, '')}{parameter.name}{default}")
    if kind is Parameter.POSITIONAL_ONLY:
        signature.append("/")
    arguments = ", ".join(parameter.name for parameter in calls.parameters)
    source = f"""\
def {name}({", ".join(signature)}):
    try:
        return {_CALLS}.recognise({arguments})
    except BaseException as __jfi_error:
        if not {_CALLS}.retries(__jfi_error): raise
    return {_CALLS}.run({arguments})
"""
    return source, variables


_STARS = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}


class _Method:
    """A method of what `autojit` returns, which is a function."""

    def __init__(self, calls: Calls, function: Callable[[Calls], Any]) -> None:
        self._calls, self._function = calls, function
        functools.update_wrapper(self, function, updated=())

    def __call__(self) -> Any:
        return self._function(self._calls)


register_kind(_Method, EmptyKind())


def cache_info(calls: Calls) -> CacheInfo:
    """How often the function was traced, and for how many sets of settings."""
    return CacheInfo(calls.traces, len(calls.programs))


def clear_cache(calls: Calls) -> None:
    """Forget everything compiled so far, and what it keeps alive."""
    calls.clear()


def _fill(shell: types.FunctionType, fn: Callable[..., Any]) -> None:
    """Let the empty copy of a wrapper call a function."""
    calls = Calls(fn)
    shell.__globals__[_CALLS] = calls
    _dress(shell, calls)
