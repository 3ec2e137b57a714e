"""What `jit` and `autojit` compile of a function that may draw random numbers.

A function that draws is compiled with the state of its streams as one more argument,
and the number of its draws in the structure of its result, where it costs nothing. A
function that does not is left to `jax.jit`.
"""

import contextlib
import functools
import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from .._arrays._float64 import watching_float64
from .._jax_internals import (
    XLA_ERRORS,
    RefusedEffectsError,
    at_top_level,
    cache_size,
    carrying,
    forget_traces,
    host_calls,
    is_derived,
    is_outermost,
    raise_original,
    setting,
    wait_for,
)
from .._random._streams import MANY, Stream, current
from .._random.traced import (
    FoundDraws,
    StreamSource,
    any_draws_traced,
    is_refusing,
    source_of,
    trace_call,
    traced_sources,
    tracing,
)
from .._values import function_name, names_to_copy
from .._values.trees import add_advice


class TracedBody:
    """What is compiled of a function, and where it draws from.

    It knows nothing of what compiles it: without a cycle, all that the programs hold
    goes when they go, as with JAX.

    Attributes:
        fun: The function.
        streams: What it has drawn from so far; None is the stream current at each call.
        calls_host: Whether it calls host functions (`_host`), as far as known.
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun
        self.streams: tuple[Stream | None, ...] = ()
        self.calls_host: bool = False

    def remember(self, sources: Sequence[StreamSource]) -> None:
        """Remember what it draws from."""
        found = (source.bound for source in sources)
        self.streams = tuple(dict.fromkeys((*self.streams, *found)))

    def without_state(self, /, *args: Any, **kwargs: Any) -> Any:
        """What is compiled for calls that don't draw, and for nested calls."""
        if at_top_level():  # jax.disable_jit(): nothing is traced
            return self.fun(*args, **kwargs)
        if is_refusing() or not is_outermost():
            # Nested: its draws belong to what is traced around it.
            with tracing(refuses=is_refusing()):
                out = self.fun(*args, **kwargs)
            # What JAX has now traced must never run by itself.
            self.remember(traced_sources())
            return out
        try:
            with tracing(refuses=True), carrying():
                out = self.fun(*args, **kwargs)
        except RefusedEffectsError:
            if not any_draws_traced():
                raise
            # What JAX says to a conditional under `vmap` that was traced before
            # (jax-ml/jax#39290: "State effect not supported in vmap-of-cond"). Its
            # Python does not run again, so no draw of it raises FoundDraws.
            raise FoundDraws([source_of(current())]) from None
        if traced_sources():  # by code that was traced before
            raise FoundDraws(traced_sources())
        return out

    def with_state(
        self, states: tuple[jax.Array, ...], /, *args: Any, **kwargs: Any
    ) -> tuple[Any, list[dict[int, Any]]]:
        """What is compiled for calls that draw: results, and the numbers of draws."""
        before = host_calls()
        with carrying():
            function, values = trace_call(self.fun, args, kwargs)
        sources = (source_of(stream or current()) for stream in self.streams)
        known = dict(zip(sources, states, strict=False))
        if not set(function.sources) <= set(known):
            raise FoundDraws(function.sources)
        out, counts = function({s: known[s] for s in function.sources}, values)
        self.calls_host |= host_calls() != before
        return out, [_count_as_tree(function.draws(s), counts.get(s)) for s in known]


def _jit(fun: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    return jax.jit(fun, **options)


class CompiledFunction:
    """A function compiled twice: for calls that don't draw, and for those that do.

    Args:
        fun: The function.
        options: Those of `jax.jit`.
        jit: What compiles it, given a function and options.
        jit_drawing: What compiles it for calls that draw; it gets the body, too.

    Attributes:
        body: What is compiled.
        pure: Runs it if it does not draw, and raises FoundDraws if it does.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        options: Mapping[str, Any],
        jit: Callable[[Callable[..., Any], Mapping[str, Any]], Any] = _jit,
        jit_drawing: Callable[..., Any] | None = None,
    ) -> None:
        fun = referable(fun)
        body = TracedBody(fun)
        self.body: TracedBody = body
        pure = with_signature_of(fun, body.without_state)
        self.pure: Any = watching_float64(jit(pure, options))
        self._options = options
        drawing = with_signature_of(fun, body.with_state, "_jfi_state")
        if jit_drawing is None:
            self._drawing: Any = watching_float64(jit(drawing, _shifted(options)))
        else:
            self._drawing = watching_float64(
                jit_drawing(drawing, _shifted(options), body)
            )
        if isinstance(options.get("in_shardings"), jax.sharding.Sharding):
            # One for all arguments: they come as one, beside that of the state.
            self._drawing = _with_one_sharding(body.with_state, options)

    @functools.cached_property
    def plain(self) -> Any:
        """As plain JAX would: ahead of time, it draws from a stream of its own."""
        return jax.jit(self.body.fun, **self._options)

    @property
    def streams(self) -> tuple[Stream | None, ...]:
        """What it has drawn from so far."""
        return self.body.streams

    def clear_cache(self) -> None:
        """Forget what was compiled."""
        self.pure.clear_cache()
        self._drawing.clear_cache()

    def cache_size(self) -> int:
        """For how many kinds of arguments it is compiled."""
        return cache_size(self.pure) + cache_size(self._drawing)

    def ahead(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a method of a jitted function does: `lower`, `trace` or `eval_shape`."""
        if not self.streams and at_top_level():
            with contextlib.suppress(FoundDraws):
                return getattr(self.pure, name)(*args, **kwargs)  # a call finds this
        return getattr(self.plain, name)(*args, **kwargs)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call it, whether it draws or not."""
        if self.streams:
            return self.draw(args, kwargs)
        try:
            return self._run_pure(args, kwargs)
        except FoundDraws as error:
            found = error
        try:
            return self.run_after(found, args, kwargs)
        finally:
            del found  # its traceback holds the arguments, and this frame

    def _run_pure(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        before = host_calls()
        try:
            out = self.pure(*args, **kwargs)
            if self.body.calls_host or host_calls() != before:
                self.body.calls_host = True
                wait_for(out)
        except XLA_ERRORS as error:
            raise_original(error)
            raise
        except TypeError as error:
            add_advice(error, (args, kwargs))
            raise
        return out

    def run_after(
        self, found: FoundDraws, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call it again, now that it is known to draw."""
        self.add(found)
        if not (at_top_level() or is_derived()):
            return self.plain(*args, **kwargs)
        return self.draw(args, kwargs)

    def add(self, found: FoundDraws) -> None:
        """Remember sources; under an outer trace that is to find them, let it."""
        forget_traces(found)
        if is_refusing():
            raise found
        self.body.remember(found.sources)

    def draw(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call it with the state of its streams."""
        # Eager code that is differentiated draws as it goes, as plain Python does.
        if not at_top_level() and (is_refusing() or not is_derived()):
            return self.pure(*args, **kwargs)  # which finds the draws
        if setting("jax_disable_jit"):
            return self.body.fun(*args, **kwargs)
        # The state goes in from Python's counter, and no state comes out: it would tie
        # each call to the one before, and be lost where a call fails.
        first, *others = self.streams
        if others:
            return self._draw_from_many(args, kwargs)
        # For one source without loops: they cost a fifth of a small call.
        stream = first or current()
        origin, start = stream.reserve(MANY)
        used = 0
        try:
            out, count = self._drawing((origin.state(start),), *args, **kwargs)
            used = _used(start, *count)
            if self.body.calls_host:
                wait_for(out)
            return out
        except FoundDraws as found:
            self.add(found)
        except XLA_ERRORS as error:
            raise_original(error)
            raise
        finally:
            stream.release(start + MANY, start + used)
        return self.draw(args, kwargs)

    def _draw_from_many(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        streams = [stream or current() for stream in self.streams]
        taken = [stream.reserve(MANY) for stream in streams]
        starts = [start for _, start in taken]
        ends = starts
        try:
            states = tuple(origin.state(start) for origin, start in taken)
            out, counts = self._drawing(states, *args, **kwargs)
            ends = [n + _used(n, c) for n, c in zip(starts, counts, strict=True)]
            if self.body.calls_host:
                wait_for(out)
            return out
        except FoundDraws as found:
            self.add(found)
        except XLA_ERRORS as error:
            raise_original(error)
            raise
        finally:
            for stream, start, end in zip(streams, starts, ends, strict=True):
                stream.release(start + MANY, end)
        return self.draw(args, kwargs)


def _count_as_tree(static: int | None, last: Any) -> dict[int, Any]:
    """A number of draws as a tree: the number itself is in its structure, if known."""
    if last is None:
        return {0: None}
    return {-1: last} if static is None else {static: None}


def _used(start: int, count: dict[int, Any]) -> int:
    """How many draws a call made that began with draw number `start`."""
    ((n, last),) = count.items()
    return n if n >= 0 else (int(last) - start) % 2**32


def with_signature_of(
    fun: Callable[..., Any], run: Callable[..., Any], *leading: str
) -> Callable[..., Any]:
    """A function with the name and signature of another, after more arguments."""

    @functools.wraps(fun, names_to_copy(fun), updated=())
    def named(*args: Any, **kwargs: Any) -> Any:
        return run(*args, **kwargs)

    named.__name__ = function_name(fun)  # a partial and an object have none to copy
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):  # some builtins have none
        return named
    more = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in leading]
    parameters = [*more, *signature.parameters.values()]
    setattr(named, "__signature__", signature.replace(parameters=parameters))  # noqa: B010 - unknown to type checkers
    return named


def referable(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function in place of an object that JAX can't refer to weakly, or not hash.

    JAX keeps what it compiled by a weak reference to the function. An object with
    `__slots__`, or with `__eq__` and no `__hash__`, is a TypeError at its first call
    (JAX 0.10.2), and was a crash before (jax-ml/jax#9541).
    """
    try:
        weakref.ref(fun)
        hash(fun)
    except TypeError:
        return with_signature_of(fun, fun)
    return fun


def _with_one_sharding(
    run: Callable[..., Any], options: Mapping[str, Any]
) -> Callable[..., Any]:
    if options.get("static_argnums") or options.get("static_argnames"):
        message = (
            "jit() got one sharding for all arguments, and some are static. "
            "Write one for each: in_shardings=(sharding, None, ...)."
        )
        raise ValueError(message)
    # Nothing is donated: that would be all or nothing.
    shifted = {n: x for n, x in _shifted(options).items() if "donate" not in n}
    shifted["in_shardings"] = (None, options["in_shardings"])
    drawing: Any = jax.jit(lambda states, args: run(states, *args), **shifted)

    @functools.wraps(drawing)  # with its methods
    def spread(states: Any, *args: Any) -> Any:
        return drawing(states, args)

    return spread


def _shifted(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `jax.jit` for a function with one more argument in front."""
    shifted = dict(options)
    for name in ("static_argnums", "donate_argnums"):
        numbers = shifted.get(name)
        if isinstance(numbers, (int, np.integer)):
            numbers = (numbers,)
        if isinstance(numbers, Sequence):
            shifted[name] = tuple(n + 1 if n >= 0 else n for n in numbers)
    if shifted.get("out_shardings") is not None:
        shifted["out_shardings"] = (shifted["out_shardings"], None)
    if isinstance(shifted.get("in_shardings"), (tuple, list)):
        shifted["in_shardings"] = (None, *shifted["in_shardings"])
    return shifted
