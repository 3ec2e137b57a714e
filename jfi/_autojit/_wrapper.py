"""`jit` that finds by itself what is data and what is a setting."""

from __future__ import annotations

import functools
import itertools
import keyword
import types
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    TypeAlias,
    TypeVar,
    overload,
)

from .._advice import hide_frames, hiding_frames
from .._jit._per_function import PerFunction, options_key
from .._shown import HTML, Page, ToolFacts, is_in_class_body, shown, times
from .._values import WeakIdentity, function_name, identity_key, names_to_copy
from ._ahead import Lowered, eval_shape, lower, trace
from ._calls import Calls, Parameter
from ._history import Explanation
from ._messages import refuse_uncompilable
from .kinds._classify import register_kind
from .kinds._functions import AutojitMark, EmptyKind, is_autojitted


P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
Names: TypeAlias = str | Iterable[str]


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

        fn: Callable[P, R_co]
        __wrapped__: Callable[P, R_co]

        def __init__(self, fn: Callable[P, R_co], /, **options: Any) -> None: ...
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
        def explain(self) -> Explanation: ...
        def lower(self, *args: Any, **kwargs: Any) -> Lowered: ...
        def trace(self, *args: Any, **kwargs: Any) -> Any: ...
        def eval_shape(self, *args: Any, **kwargs: Any) -> Any: ...

    # As a text, which jedi does not read: it then shows the decorated function, where
    # it would show `*args: P.args`.
    Compiled: TypeAlias = "AutoJIT[P, R]"


@overload
def autojit(
    fn: Callable[P, R],
    /,
    *,
    static: Names = (),
    traced: Names = (),
    frozen: Names = (),
    donate: Names = (),
    warn_after: int = 8,
    max_traces: int | None = None,
    unused: Names = (),
    uncompiled: bool = True,
    **jit_options: Any,
) -> Compiled[P, R]: ...
@overload
def autojit(
    *,
    static: Names = (),
    traced: Names = (),
    frozen: Names = (),
    donate: Names = (),
    warn_after: int = 8,
    max_traces: int | None = None,
    unused: Names = (),
    uncompiled: bool = True,
    **jit_options: Any,
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...
@hiding_frames
def autojit(fn: Any = None, /, **options: Any) -> Any:  # noqa: D417 - see overloads
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

    What the body changes in its arguments is changed as plain Python would:

    >>> class Counter:
    ...     def __init__(self):
    ...         self.total = jnp.zeros(())
    ...     @jnp.autojit
    ...     def add(self, x):
    ...         self.total = self.total + x
    >>> counter = Counter()
    >>> counter.add(2.0)
    >>> counter.add(3.0)
    >>> counter.total
    Array(5., dtype=float32)

    Args:
        fn: A function, method, partial or callable object.
        static: Names of parameters whose arrays and floats are settings, too.
        traced: Names of parameters whose ints and bools are data, too.
        frozen: Names of parameters whose floats are settings; their arrays stay data.
        donate: Names of parameters whose arrays the compiled code may overwrite.
        warn_after: After how many compilations because of one value to warn.
        max_traces: After how many compilations to raise; None: never.
        unused: Names of attributes, of `self` or other objects, that `fn` does not use:
            what they hold (such as a list of losses that grows) does not count.
        uncompiled: Whether a function that reads what can't be watched (`os.environ`,
            an iterator ...) runs uncompiled, with a warning; if not, it is refused.
        jit_options: `in_shardings`, `out_shardings`, `keep_unused`, `device`,
            `backend`, `inline` and `compiler_options` of `jax.jit`. Shardings of
            arguments may be a dict with the names of parameters. `static_argnums`,
            `donate_argnames` ... mean the same as `static` and `donate`.

    Returns:
        A function with the signature of `fn`, with `explain()`, `cache_info()`,
        `clear_cache()`, `lower()`, `trace()` and `eval_shape()`.

    Raises:
        AutoJitError: `fn` can't be compiled (a class, a generator function ...), or an
            option names no parameter; at a call: an argument can't be opened, or the
            body changes what can't be written back.
    """
    if fn is None:
        return functools.partial(autojit, **options)
    if isinstance(fn, (staticmethod, classmethod)):
        return type(fn)(autojit(fn.__func__, **options))
    refuse_uncompilable(fn)
    if is_autojitted(fn):
        fn = fn.__wrapped__
    wrapper = wrap(_calls_of(fn, options))
    methods = wrapper.__dict__["cache_info"], wrapper.__dict__["explain"]
    function = shown(wrapper, functools.partial(_described, fn, *methods))
    # Not the one inside: of a copy, which cloudpickle makes of this one, it would not
    # live on, and the copy could not be copied again.
    wrapper.__globals__[_WRAPPER] = WeakIdentity(function)
    return function


def _calls_of(fn: Any, options: Mapping[str, Any]) -> Calls:
    """The calls of a function, shared by all `autojit(fn)` with the same options.

    `autojit(f)(x)` in a loop compiles once.
    """
    function = getattr(fn, "__func__", fn)
    # What is compiled for a class holds it, and would keep the function alive.
    if not isinstance(function, types.FunctionType) or is_in_class_body(function):
        return Calls(fn, options)

    def make() -> Calls:
        calls = Calls(fn, options)
        calls.share()
        return calls

    names = sorted(function.__kwdefaults__ or ())
    form = WeakIdentity(function.__code__), identity_key(function.__defaults__), *names
    try:
        return _shared.get(fn, (form, options_key(options)), make)
    except TypeError:  # it can't be weakly referenced, or an option not hashed
        return Calls(fn, options)


_shared: PerFunction[Calls] = PerFunction()


def wrap(calls: Calls) -> types.FunctionType:
    """A plain function with the signature of the original: fast, and a method too."""
    name = function_name(calls.fn)
    if not name.isidentifier() or keyword.iskeyword(name):
        name = "autojitted"
    source, variables = _source(name, calls.parameters)
    exec(compile(source, f"<autojit {name}>", "exec"), variables)
    # Not in its own variables: it would live on after its last use, with `calls.fn`.
    return _connect(variables.pop(name), calls)


def _connect(wrapper: types.FunctionType, calls: Calls) -> types.FunctionType:
    """Let a wrapper, whose code calls nobody yet, run these calls."""
    template = wrapper.__code__
    token = f"{_TOKEN}_{next(_numbers)}"
    wrapper.__code__ = template.replace(
        co_consts=tuple(token if c == _TOKEN else c for c in template.co_consts),
        co_names=tuple(token if name == _TOKEN else name for name in template.co_names),
    )
    # The attributes of a callable object are its state, not a function's marks.
    plain = isinstance(calls.fn, types.FunctionType)
    attributes = ("__dict__",) if plain else ()
    functools.update_wrapper(wrapper, calls.fn, names_to_copy(calls.fn), attributes)
    if plain and _defaults_of(wrapper) == _defaults_of(calls.fn):
        # The same objects: what is changed in them is seen.
        wrapper.__defaults__ = calls.fn.__defaults__
        wrapper.__kwdefaults__ = calls.fn.__kwdefaults__
    methods = (cache_info, clear_cache, explain, lower, trace, eval_shape)
    names = (
        "__wrapped__", "fn", HTML, AutojitMark.ATTRIBUTE, *(m.__name__ for m in methods)
    )  # fmt: skip
    since = _Since(cache_info(calls), calls.history.times_cleared)
    wrapper.__dict__.update({m.__name__: _Method(calls, m, since) for m in methods})
    wrapper.__dict__.setdefault("fn", calls.fn)
    wrapper.__dict__[AutojitMark.ATTRIBUTE] = AutojitMark(
        wrapper.__code__, template, _Filler(calls.given), frozenset(names)
    )
    wrapper.__globals__[_WRAPPER] = WeakIdentity(wrapper)
    connect(wrapper, token)
    return wrapper


def _defaults_of(fn: Callable[..., Any]) -> tuple[int, set[str]]:
    """For how many and which parameters a function has defaults."""
    return len(fn.__defaults__ or ()), set(fn.__kwdefaults__ or ())


# The global variable in which a wrapper finds its calls. Each wrapper has a name of its
# own in its code, the token: so code that came from another one is noticed.
_TOKEN = "__jfi_calls"
_WRAPPER = "__jfi_wrapper"  # that in which it finds itself
_numbers = itertools.count()


def _source(name: str, parameters: Sequence[Parameter]) -> tuple[str, dict[str, Any]]:
    """The source of a wrapper, and its global variables."""
    variables: dict[str, Any] = {"__name__": __name__}
    signature: list[str] = []
    kind = None
    for k, parameter in enumerate(parameters):
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
    arguments = ", ".join(parameter.name for parameter in parameters)
    source = f"""\
def {name}({", ".join(signature)}):
    try:
        try:
            __jfi_recognise = {_TOKEN}.recognise
            return __jfi_recognise({arguments})
        except BaseException as __jfi_error:
            try: __jfi_own = {_TOKEN}
            except NameError:
                from {reconnect.__module__} import reconnect as __jfi_reconnect
                __jfi_own = __jfi_reconnect({_TOKEN!r}, lambda: {_WRAPPER}())
            else:
                if not __jfi_own.retries(__jfi_error): raise
        return __jfi_own.run({arguments})
    except Exception as __jfi_error:
        from {hide_frames.__module__} import hide_frames as __jfi_hide_frames
        __jfi_hide_frames(__jfi_error)
        raise
"""
    return source, variables


_STARS: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}


class _Method:
    """A method of what `autojit` returns, which is a function."""

    def __init__(
        self, calls: Calls, function: Callable[..., Any], since: _Since
    ) -> None:
        self.calls, self._function, self._since = calls, function, since
        self._fn = calls.fn  # which `calls` may not keep alive
        functools.update_wrapper(self, function, names_to_copy(function), updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function in (cache_info, explain):
            # Of what this wrapper compiled, and not others of the same function.
            return self._function(self.calls, self._since, *args, **kwargs)
        try:
            return self._function(self.calls, *args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise


register_kind(_Method, EmptyKind())
register_kind(Page, EmptyKind())


class _Since(NamedTuple):
    """What was compiled, and how often it was forgotten, before a wrapper was made."""

    info: CacheInfo
    times_cleared: int


def cache_info(calls: Calls, since: _Since | None = None) -> CacheInfo:
    """How often the function was traced, and for how many sets of settings."""
    now = CacheInfo(calls.history.traces, len(calls.programs))
    if since is None or since.times_cleared != calls.history.times_cleared:
        return now
    before = since.info
    return CacheInfo(now.traces - before.traces, max(now[1] - before[1], 0))


def clear_cache(calls: Calls) -> None:
    """Forget everything compiled so far, and what it keeps alive."""
    calls.clear()


def explain(calls: Calls, since: _Since) -> Explanation:
    """Why each compilation happened; it prints as a table."""
    return calls.history.explanation(cache_info(calls, since).traces)


def _described(
    fn: Any, info: Callable[[], CacheInfo], explain: Callable[[], Explanation]
) -> ToolFacts:
    found = explain()
    last = [("last time because of", found[-1].cause)] if len(found) > 1 else []
    return ToolFacts("autojit", fn, times(info().traces), last)


class _Filler:
    """Lets the empty copy of a wrapper call a function, with some options."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = dict(options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Filler) and self.options == other.options

    def __hash__(self) -> int:
        return hash(frozenset(self.options))

    def __call__(self, shell: types.FunctionType, fn: Callable[..., Any]) -> None:
        _connect(shell, Calls(fn, self.options))


# What `autojit` returns, in modules that are read again while a session goes on.
#
# Editors such as IPython's `%autoreload` give the functions that live on the code and
# the attributes of the new ones. A name in the code, the token, says whose it is: the
# global variable of this name holds the calls, and is not there in another function.


_wrappers: weakref.WeakValueDictionary[str, types.FunctionType] = (
    weakref.WeakValueDictionary()
)


def connect(wrapper: types.FunctionType, token: str) -> Any:
    """Let a wrapper run the calls that its attributes know of, and return them."""
    variables, calls = wrapper.__globals__, _calls_in(wrapper)
    variables[token] = calls
    start, _, _ = token.rpartition("_")
    for name in tuple(variables):  # of the code that it had before
        if name.startswith(start) and name != token:
            variables.pop(name, None)
    _wrappers.setdefault(token, wrapper)
    return calls


def _calls_in(wrapper: types.FunctionType) -> Any:
    return wrapper.__dict__["cache_info"].calls


def reconnect(token: str, find_wrapper: Callable[[], types.FunctionType]) -> Any:
    """The calls that code is about, in a function that got it from another one.

    Args:
        token: The token in the code.
        find_wrapper: Looks for the function.
    """
    try:
        wrapper = find_wrapper()
    except NameError:
        # It had no decorator: its global variables are those of its module, where
        # nothing of the wrapper is.
        known = _wrappers.get(token)
        if known is None:
            raise NameError("this function was edited again: import it again") from None
        return _calls_in(known)
    return connect(wrapper, token)
