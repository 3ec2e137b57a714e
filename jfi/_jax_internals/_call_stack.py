"""Which functions of JAX the caller runs inside.

That a function of JAX is on the call stack is seen by what Python documents alone.
Which one it is can't: that is only asked for better messages. Some transformations
can't take random state, and say so in words that help nobody; what is not recognised is
left to JAX, whose error comes a moment later.
"""

import contextlib
import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

import jax

from ._pieces import piece


def calls_of_jax() -> int:
    """How many times, on the way to the caller, other code called a function of JAX."""
    runs = itertools.groupby(_frames(), _is_of_jax)
    return sum(is_jax for is_jax, _ in runs)


def _is_of_jax(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__"))
    return module.partition(".")[0] == "jax" and module not in _that_only_call()


@functools.cache
def _that_only_call() -> frozenset[str]:
    """The modules of functions that call the user's, and trace nothing.

    Those of maps over trees, and of names in profiles, which haiku and equinox use.
    """
    wrappers: list[Callable[[], Any]] = [
        lambda: jax.tree.map,
        lambda: jax.tree_util.tree_map,
        lambda: jax.named_scope("jfi")(_that_only_call),
        lambda: jax.profiler.annotate_function(_that_only_call),
    ]
    found: set[str] = set()
    for wrapper in wrappers:
        with contextlib.suppress(AttributeError, TypeError):
            found.add(wrapper().__globals__["__name__"])
    return frozenset(found)


def enclosing_transformations(until: Callable[..., Any]) -> Iterator[str]:
    """Names of the transformations around the caller, from the inside out.

    Without `transformation_names` none.

    Args:
        until: A function whose call hides everything outside it.
    """
    labels = transformation_names() or {}
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
    # Asked by a rule of `hidden_state`, and refused for better words than JAX's.
    return any(
        _ends_unevenly(frame.f_locals)
        for frame in _frames()
        if frame.f_code.co_name == "_while_loop_batching_rule"
    )


def _ends_unevenly(rule: Mapping[str, Any]) -> bool:
    """Whether it does, by the local variables of JAX's rule.

    Nothing else says so where a draw in the loop is batched. Let through, the draw ends
    in an AssertionError of JAX, once the whole program is lowered.
    """
    if "pred_bat" in rule:
        return bool(rule["pred_bat"])
    # JAX batches the body first, and does it only once where the whole carry has rows:
    # what it asks of the condition later must be known now.
    condition, carry = rule["cond_jaxpr"], rule.get("carry_bat")
    if carry is None or condition.effects:
        return False
    from jax._src.interpreters.batching import batch_jaxpr

    has_rows = (*rule["cconst_bat"], *carry)
    _, (uneven,) = batch_jaxpr(condition, rule["axis_data"], has_rows, False)
    return bool(uneven)


def condition_draws() -> bool:
    """Whether this is the body of a while loop whose condition draws, too."""
    for frame in _frames():
        # JAX traces the condition first and the body in the same function, where the
        # finished jaxpr of the condition is a local variable.
        if frame.f_code.co_name == "_create_jaxpr":
            condition = frame.f_locals.get("cond_jaxpr")
            kinds = {
                type(effect).__name__ for effect in getattr(condition, "effects", ())
            }
            return "WriteEffect" in kinds
    return False


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        yield frame
        frame = frame.f_back


@piece(
    uses="the names of modules and inner functions of jax.vmap, jax.lax.cond ...",
    without="draws that JAX can't give random state are refused in JAX's words; "
    "jfi.cond copies what rows share",
)
def transformation_names() -> dict[CodeType | tuple[Any, str], str] | None:
    """What each code object, or function of a module, stands for."""
    labels: dict[CodeType | tuple[Any, str], str] = {
        ("jax._src.shard_map", "wrapped"): "shard_map",
        ("jax._src.export._export", "do_export"): "export",
        ("equinox.internal._loop.checkpointed", "*"): "equinox",
    }
    wrapping: tuple[Any, ...] = (jax.vmap, jax.jacfwd, jax.pmap)
    for function in wrapping:
        for inner in _code_of(function).co_consts:
            if inspect.iscode(inner):
                labels[inner] = function.__name__
    for branching in (jax.lax.cond, jax.lax.switch):
        labels[_code_of(branching)] = branching.__name__
    return labels if {"vmap", "jacfwd"} <= set(labels.values()) else None


def _code_of(function: Callable[..., Any]) -> CodeType:
    plain: Any = inspect.unwrap(function)
    code: CodeType = plain.__code__
    return code
