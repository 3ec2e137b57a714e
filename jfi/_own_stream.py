"""Functions that get a stream of random draws of their own.

JAX's `vmap`, `jacfwd`, `shard_map` and conditionals under `vmap` can't take mutable
state. A function traced once more, with its state as an argument, they can.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import jax
from jax.core import Tracer

from ._errors import RandomError
from ._generator import MANY, folded
from ._staging import (
    LOST_DERIVATIVES,
    FoundDraws,
    Functional,
    Keys,
    draw_keys,
    functionalize,
    is_computing,
    is_differentiating,
    is_refusing,
    is_under_vmap,
    tracing,
)


T = TypeVar("T")
Function: TypeAlias = Callable[..., Any]


def with_own_stream(run: Callable[[Keys | None], T]) -> T:
    """Run something without random state; if it draws, once more with keys for it.

    Args:
        run: Gets None, or the keys that `on_keys` is to be given.
    """
    keys: Keys | None = None
    while True:
        try:
            if keys is None:
                with tracing(refuses=True):
                    return run(None)
            return run(keys)
        except FoundDraws as found:
            if is_refusing():  # so does who called: let him do it
                raise
            new = [s for s in found.sources if s not in (keys or {})]
            keys = {**(keys or {}), **draw_keys(new)}


def on_keys(fun: Function, keys: Keys, *args: Any, **kwargs: Any) -> Any:
    """Call a function on streams that begin with these keys (their data)."""
    function, values = traced(fun, args, kwargs)
    if function.has_custom_derivatives and is_differentiating():
        raise RandomError(LOST_DERIVATIVES)
    return function.with_keys(keys, values)


def varied(keys: Keys, number: jax.Array | int) -> Keys:
    """Other keys for each number: of a row, a shard, a step."""
    return {s: folded(s.impl, key, number) for s, key in keys.items()}


def traced(
    fun: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Functional, list[Any]]:
    """A call, traced: its function of the tracers among the arguments, and these."""
    leaves, structure = jax.tree.flatten((args, kwargs))
    is_traced = [isinstance(leaf, Tracer) for leaf in leaves]

    def flat(*values: Any) -> Any:
        value = iter(values)
        chosen = [
            next(value) if traced else leaf
            for leaf, traced in zip(leaves, is_traced, strict=True)
        ]
        args, kwargs = jax.tree.unflatten(structure, chosen)
        return fun(*args, **kwargs)

    values = [leaf for leaf in leaves if isinstance(leaf, Tracer)]
    return functionalize(flat, values), values


def in_stream(call: Callable[[], T]) -> T:
    """Make a call of JAX's control flow so that its draws are those of plain Python.

    Under `vmap` each row gets a stream of its own.
    """
    if is_refusing():
        return call()
    if is_under_vmap(until=functionalize):
        return with_own_stream(lambda keys: on_keys(call, keys) if keys else call())
    if not is_computing():
        return call()
    try:
        with tracing(refuses=True):
            return call()
    except FoundDraws:
        pass
    function = functionalize(call, ())
    taken = {s: (s.stream(), *s.stream().take(MANY)) for s in function.sources}
    ends = {s: start for s, (_, _, start) in taken.items()}
    try:
        states = {s: origin.state(start) for s, (_, origin, start) in taken.items()}
        out: T
        out, counts = function(states, ())
        for s, (_, _, start) in taken.items():
            n = function.draws(s)
            ends[s] = start + ((int(counts[s]) - start) % 2**32 if n is None else n)
        return out
    finally:
        for s, (stream, _, start) in taken.items():
            stream.settle(start + MANY, ends[s])
