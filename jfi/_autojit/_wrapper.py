"""`jit` that finds by itself what is data and what is a setting."""

from __future__ import annotations

import collections
import functools
import threading
import types
from collections.abc import Callable, Hashable, Sequence
from typing import (
    Any,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    TypeVar,
    cast,
    overload,
)

import jax

from .._compat import setting
from .._jit import jit
from .._trees import (
    Constant,
    argument_names,
    function_name,
    identity,
    is_named,
    own_copy,
)
from ._classify import register_kind
from ._kinds import Kind, Split
from ._messages import (
    change_refused,
    explain,
    may_need_numbers,
    refuse_traced_text,
    refuse_uncompilable,
)
from ._opening import (
    Graph,
    Mode,
    Opened,
    changed,
    contents,
    held_by_classes,
    open_values,
    rebuild,
    restore_classes,
    take_back_tracers,
)


P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")

MAX_PROGRAMS = 1024  # per function; the least recently used goes


class CacheInfo(NamedTuple):
    """What a function under `autojit` has compiled.

    Attributes:
        traces: How many times the body ran to be compiled.
        signatures: How many different settings (values that are not arrays) are kept.
    """

    traces: int
    signatures: int


class AutoJIT(Generic[P, R_co]):
    """A function compiled for each new set of settings among its arguments.

    >>> import jfi as jnp
    >>> def power(x, n):
    ...     return x**n
    >>> power = jnp.AutoJIT(power)
    >>> power(jnp.arange(3.0), 2)
    Array([0., 1., 4.], dtype=float32)
    >>> power.cache_info()
    CacheInfo(traces=1, signatures=1)

    `autojit` makes it from a function, and says what is compiled and what is a setting.
    """

    # In a slot: wrappers such as jax.grad copy what is in `__dict__`.
    __slots__ = ("__dict__", "__weakref__", "_programs")

    __wrapped__: Callable[P, R_co]

    def __init__(self, fn: Callable[P, R_co]) -> None:
        refuse_uncompilable(fn)
        # The attributes of a callable object are its state, not a function's marks.
        plain = isinstance(fn, types.FunctionType)
        wrapped: Callable[..., Any] = fn
        functools.update_wrapper(self, wrapped, updated=("__dict__",) if plain else ())
        self._programs = _Programs()

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function, compiled for these settings."""
        fn = self.__wrapped__
        if setting("jax_disable_jit"):
            return fn(*args, **kwargs)
        call = _Call(fn, args, kwargs)
        opened = call.open(Mode.TRACED)
        key = (opened.graph, call.keywords)
        if not self._programs.is_frozen(key):
            try:
                return cast("R_co", self._run(call, opened, key))
            except Exception as error:
                if not (opened.has_scalars and may_need_numbers(error)):
                    raise
        # The body needs the value of a number: with all numbers as settings, then.
        frozen = call.open(Mode.FROZEN)
        result: R_co = self._run(call, frozen, (frozen.graph, call.keywords))
        self._programs.freeze(key)
        return result

    def _run(self, call: _Call, opened: Opened, key: Hashable) -> Any:
        program = self._programs.get(key)
        if program is None:
            program = _Program(call, opened.graph, self._programs)
            program = self._programs.add(key, program)
        try:
            result = program.jitted(*map(own_copy, opened.leaves))
        except Exception as error:
            if not program.succeeded:  # JAX would run it slowly for ever after
                self._programs.drop(key)
            explain(error, opened, call.names())
            raise
        program.succeeded = True
        return rebuild(result.graph, result.leaves, opened.objects)[0][1]

    @overload
    def __get__(
        self, instance: None, owner: type | None = None
    ) -> AutoJIT[P, R_co]: ...
    @overload
    def __get__(
        self: AutoJIT[Concatenate[S, Q], R_co], instance: S, owner: type | None = None
    ) -> AutoJIT[Q, R_co]: ...
    def __get__(self, instance: object, owner: type | None = None) -> object:
        """Bind to an instance, as functions do."""
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.__wrapped__,)

    def __repr__(self) -> str:
        return f"<autojit {self.__wrapped__!r}>"

    def cache_info(self) -> CacheInfo:
        """How often the function was traced, and for how many sets of settings.

        >>> import jfi as jnp
        >>> double = jnp.autojit(lambda x: 2 * x)
        >>> y = double(jnp.ones(3)) + double(jnp.zeros(3))
        >>> double.cache_info()
        CacheInfo(traces=1, signatures=1)

        Returns:
            The two counts; a new shape or dtype of an array is a trace, no signature.
        """
        return self._programs.info()

    def clear_cache(self) -> None:
        """Forget everything compiled so far, and what it keeps alive.

        >>> import jfi as jnp
        >>> double = jnp.autojit(lambda x: 2 * x)
        >>> double.clear_cache()
        >>> double.cache_info()
        CacheInfo(traces=0, signatures=0)
        """
        self._programs.clear()


AdvancedAutoJIT = AutoJIT


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
    return AutoJIT(fn)


class _Call:
    """One call: the function and its arguments, in the order of the roots."""

    def __init__(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.fn, self.args, self.kwargs = fn, args, kwargs
        self.keywords = tuple(kwargs)

    def open(self, mode: Mode) -> Opened:
        roots = (self.fn, *self.args, *self.kwargs.values())
        return open_values(roots, self.names, mode=mode)

    def names(self) -> list[str]:
        return [
            function_name(self.fn),
            *argument_names(self.fn, self.args, self.kwargs),
        ]


class _Program:
    """The compiled code for one graph of arguments. It holds no argument itself."""

    def __init__(self, call: _Call, graph: Graph, programs: _Programs) -> None:
        self.succeeded = False
        keywords, names = call.keywords, call.names()

        def flat(*leaves: Any) -> _Result:
            built = rebuild(graph, leaves)
            before = contents(graph, built)
            held = held_by_classes(graph, built)
            held_before = contents(held.graph, held.objects)
            fn, *values = built[0]
            n = len(values) - len(keywords)
            try:
                result = fn(*values[:n], **dict(zip(keywords, values[n:], strict=True)))
                programs.count_trace()
                change = changed(graph, before, contents(graph, built))
            finally:
                restore_classes(graph, built, before)
                left = take_back_tracers(held, held_before)
            if left is not None:
                now, node = left
                raise change_refused(now.graph, now.objects, names[:1], node, "")
            if change is not None:
                raise change_refused(graph, built, names, *change)
            # What came in and goes out again is the caller's own object.
            inputs = {
                id(clone): i
                for i, clone in enumerate(built)
                if graph[i][0].changeable or graph[i][2]
            }
            return _open_result(result, names[0], inputs)

        flat.__name__ = flat.__qualname__ = names[0]
        self.jitted = jit(flat, {})


class _Programs:
    """The programs of one function, the least recently used first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # for the table alone: never held while tracing
        self._table: collections.OrderedDict[Hashable, _Program | None] = (
            collections.OrderedDict()
        )
        self._traces = 0

    def is_frozen(self, key: Hashable) -> bool:
        """Whether calls with these settings must have all their numbers as settings."""
        with self._lock:
            return self._table.get(key, self) is None

    def freeze(self, key: Hashable) -> None:
        with self._lock:
            self._table[key] = None
            self._table.move_to_end(key)

    def get(self, key: Hashable) -> _Program | None:
        with self._lock:
            if key in self._table:
                self._table.move_to_end(key)
            return self._table.get(key)

    def add(self, key: Hashable, program: _Program) -> _Program:
        """Keep a program, or take the one that another thread has kept meanwhile."""
        with self._lock:
            kept = self._table.setdefault(key, program) or program
            while len(self._table) > MAX_PROGRAMS:
                self._table.popitem(last=False)
            return kept

    def drop(self, key: Hashable) -> None:
        with self._lock:
            if self._table.get(key) is not None:
                del self._table[key]

    def clear(self) -> None:
        with self._lock:
            self._table.clear()
            self._traces = 0

    def count_trace(self) -> None:
        with self._lock:
            self._traces += 1

    def info(self) -> CacheInfo:
        with self._lock:
            programs = sum(p is not None for p in self._table.values())
            return CacheInfo(self._traces, programs)


class _Result:
    """A result taken apart; the graph travels in the tree structure of the output."""

    def __init__(self, leaves: Sequence[Any], graph: Graph) -> None:
        self.leaves, self.graph = leaves, graph


jax.tree_util.register_pytree_node(
    _Result, lambda r: (r.leaves, r.graph), lambda graph, leaves: _Result(leaves, graph)
)


def _open_result(result: Any, name: str, inputs: dict[int, int]) -> _Result:
    opened = open_values(
        (None, result),
        lambda: [name, "result"],
        mode=Mode.RESULT,
        inputs=inputs,
        refused="returned",
    )
    refuse_traced_text(name, opened)
    return _Result(opened.leaves, opened.graph)


class _AutoJITKind(Kind):
    """A function under `autojit` among the arguments: its own function is opened."""

    changeable = True

    def split(self, x: Any) -> Split:
        if is_named(x):
            return identity(x), ()
        return type(x), (x.__wrapped__,)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part.value if isinstance(part, Constant) else part.__new__(part)

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        if not isinstance(part, Constant):
            shell.__init__(*children)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return ""

    def contents(self, x: Any) -> Split:
        return None, ()


register_kind(AutoJIT, _AutoJITKind())
