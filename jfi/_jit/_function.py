"""`jit` for functions that may draw random numbers without keys."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import jax

from .._advice import hide_frames, hiding_frames
from .._jax_internals import XLA_ERRORS, raise_original
from .._random.traced import FoundDraws
from .._shown import ToolFacts, shown, times
from .._values import mark_static, names_to_copy, refuse_no_function
from ._compiled import CompiledFunction as CompiledFunction, TracedBody, referable


OPTIONS = "_jfi_jit_options"


def jit(
    fun: Callable[..., Any],
    options: Mapping[str, Any],
    find: "Callable[[], CompiledFunction] | None" = None,
) -> Callable[..., Any]:
    """Compile a function as `jax.jit` does, so that its random draws are fresh.

    Args:
        fun: The function.
        options: Those of `jax.jit`.
        find: Finds its programs at the first call; None: makes them.

    Returns:
        A function with the attributes of what `jax.jit` returns.
    """
    # A call takes three steps at most: what is compiled for calls without draws; where
    # that finds a draw (`FoundDraws`) or nothing is compiled yet, the programs are
    # looked up (`found`); from then on a function that draws goes there at once. The
    # two variables below save the look-up, which costs a tenth of a small call.
    refuse_no_function("jit", fun)
    jax.jit(referable(fun), **options)  # which refuses wrong options
    program: CompiledFunction | None = None
    body: Any = _NO_BODY
    pure: Any = _not_found_yet

    def found() -> CompiledFunction:
        nonlocal program, body, pure
        if program is None:
            program = CompiledFunction(fun, options) if find is None else find()
            body, pure = program.body, program.pure
        return program

    def call_found(draws: FoundDraws | None, args: Any, kwargs: Any) -> Any:
        nonlocal pure
        try:
            if draws is None:
                return found()(*args, **kwargs)
            return found().run_after(draws, args, kwargs)
        except XLA_ERRORS as error:
            raise_original(error)
            raise
        finally:
            if body.calls_host:
                pure = _not_found_yet  # calls come here, and wait for their results
            del draws  # its traceback holds the arguments, and this frame

    def describe() -> ToolFacts:
        return ToolFacts("jit", fun, times(found().cache_size()))

    @functools.wraps(
        fun, names_to_copy(fun), _ATTRIBUTES if inspect.isfunction(fun) else ()
    )
    def jitted(*args: Any, **kwargs: Any) -> Any:
        try:
            if body.streams:
                return found().draw(args, kwargs)
            try:
                return pure(*args, **kwargs)
            except FoundDraws as error:
                draws = error
            except _NotFoundYetError:
                draws = None
            except XLA_ERRORS as error:
                raise_original(error)
                raise
            try:
                return call_found(draws, args, kwargs)
            finally:
                del draws
        except Exception as error:
            hide_frames(error)
            raise

    _attach(jitted, found, options)
    # As of jax.jit: what it captured is a constant of what it compiled, also inside
    # autojit, which would else run it with a clone of `program`.
    return shown(mark_static(jitted), describe)


def _attach(
    jitted: Any,
    found: "Callable[[], CompiledFunction]",
    options: Mapping[str, Any],
) -> None:
    """Give it the attributes of what `jax.jit` returns.

    None of them holds `jitted`: what that captured goes when it goes.
    """

    def ahead(name: str) -> Callable[..., Any]:
        return hiding_frames(lambda *args, **kwargs: found().ahead(name, args, kwargs))

    attributes = {
        **{name: ahead(name) for name in ("lower", "trace", "eval_shape")},
        "clear_cache": lambda: found().clear_cache(),
        "_cache_size": lambda: found().cache_size(),
        OPTIONS: dict(options),
    }
    for name, value in attributes.items():
        setattr(jitted, name, value)


_ATTRIBUTES = ("__dict__",)  # of a function: those of other callables are their state


class _NotFoundYetError(Exception):
    """No call has asked for the programs yet: to test for it would cost each call."""


def _not_found_yet(*args: Any, **kwargs: Any) -> Any:
    raise _NotFoundYetError


def is_jitted(value: Any) -> bool:
    """Whether this is what `jit` returned."""
    return getattr(value, "__code__", None) is _CODE


def options_of(jitted: Any) -> dict[str, Any]:
    """The options that `jit` was given."""
    options: dict[str, Any] = getattr(jitted, OPTIONS)
    return options


_NO_BODY = TracedBody(lambda: None)

# All functions that `jit` returns have the same code.
_CODE = jit(lambda: None, {}).__code__
