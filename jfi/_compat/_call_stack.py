"""Which of JAX's own transformations the caller runs inside of.

Some of them can't take random state, and say so in words that help nobody. Their names
on the call stack let jfi say it better. What is not recognised is left to JAX, whose
error comes a moment later. Checked in JAX 0.10.2.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import jax


def enclosing_transformations(until: Callable[..., Any]) -> Iterator[str]:
    """Names of the transformations around the caller, from the inside out.

    Args:
        until: A function whose call hides everything outside of it.
    """
    labels = _labels()
    for frame in _frames():
        if frame.f_code is until.__code__:
            return
        module = frame.f_globals.get("__name__")
        label = (
            labels.get(frame.f_code)
            or labels.get((module, frame.f_code.co_name))
            or labels.get((module, "*"))
        )
        if label is not None:
            yield label


def in_uneven_loop() -> bool:
    """Whether JAX is batching a while loop that ends at other times in each row."""
    for frame in _frames():
        if frame.f_code.co_name == "_while_loop_batching_rule":
            return bool(frame.f_locals.get("pred_bat"))
    return False


def condition_draws() -> bool:
    """Whether this is the body of a while loop whose condition draws, too."""
    for frame in _frames():
        if frame.f_code.co_name == "_create_jaxpr":
            condition = frame.f_locals.get("cond_jaxpr")
            kinds = {
                type(effect).__name__ for effect in getattr(condition, "effects", ())
            }
            return "WriteEffect" in kinds
    return False


def user_level() -> int:
    """The `stacklevel` of the innermost caller outside of JAX and jfi."""
    for level, frame in enumerate(_frames(), start=1):
        module = str(frame.f_globals.get("__name__")).partition(".")[0]
        if module not in ("jax", "jfi", "jfi_server"):
            return level
    return 1


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        yield frame
        frame = frame.f_back


@functools.cache
def _labels() -> dict[CodeType | tuple[Any, str], str]:
    """What each code object, or function of a module, stands for."""
    labels: dict[CodeType | tuple[Any, str], str] = {
        ("jax._src.shard_map", "wrapped"): "shard_map",
        ("jax._src.export._export", "do_export"): "export",
        ("equinox.internal._loop.checkpointed", "*"): "equinox",
    }
    wrapping: tuple[Any, ...] = (jax.vmap, jax.jacfwd, jax.pmap)
    for function in wrapping:
        for inner in _code(function).co_consts:
            if inspect.iscode(inner):
                labels[inner] = function.__name__
    for branching in (jax.lax.cond, jax.lax.switch):
        labels[_code(branching)] = branching.__name__
    return labels


def _code(function: Callable[..., Any]) -> CodeType:
    plain: Any = inspect.unwrap(function)
    code: CodeType = plain.__code__
    return code
