"""Waiting for what a call computes, also where JAX does not see the arrays."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import jax

from .._values import attributes_of, function_name, is_library


def refuse_what_does_not_run(fn: object) -> None:
    """Refuse what is no function, and functions whose calls run nothing yet.

    Raises:
        TypeError: It is no function, or a generator function, or asynchronous.
    """
    if not callable(fn):
        kind = "an array" if isinstance(fn, jax.Array) else f"{fn!r:.40}"
        raise TypeError(
            f"timeit() got {kind}, which is no function. Write the function and its "
            "arguments apart, as in timeit(jnp.sin, x), or timeit(lambda: ...)."
        )
    inner = inspect.unwrap(fn)
    if inspect.iscoroutinefunction(inner) or inspect.isasyncgenfunction(inner):
        kind, remedy = "asynchronous", f"lambda: asyncio.run({function_name(fn)}())"
    elif inspect.isgeneratorfunction(inner):
        kind, remedy = "a generator function", f"lambda: list({function_name(fn)}())"
    else:
        return
    raise TypeError(
        f"timeit() got {function_name(fn)}(), which is {kind}: calling it runs none of "
        f"its lines. Write timeit({remedy})."
    )


def waiting(
    fn: Callable[..., object], args: object, result: object
) -> Callable[[object], object]:
    """What waits for the results of such calls.

    JAX waits for arrays in trees. Objects of ordinary classes are opened, and so are
    the arguments of a function that returns no array and may write to them. Others
    do without: opening takes time, which would count.

    Args:
        fn: The function.
        args: Its arguments.
        result: What one call returned.
    """
    given = (getattr(fn, "__self__", None), args)
    leaves = jax.tree.leaves(result)
    if any(map(_holds_attributes, leaves)):
        return lambda found: jax.block_until_ready(list(_arrays(found)))
    if any(isinstance(leaf, jax.Array) for leaf in leaves):
        return jax.block_until_ready
    if any(map(_holds_attributes, jax.tree.leaves(given))):
        return lambda _: jax.block_until_ready(list(_arrays(given)))
    return jax.block_until_ready


def _holds_attributes(x: object) -> bool:
    return not is_library(type(x)) and bool(attributes_of(x))


def _arrays(tree: object) -> Iterator[jax.Array]:
    seen: dict[int, Any] = {}
    places: list[object] = [tree]
    while places:
        for leaf in jax.tree.leaves(places.pop()):
            if isinstance(leaf, jax.Array):
                yield leaf
            elif id(leaf) not in seen and _holds_attributes(leaf):
                seen[id(leaf)] = leaf
                places.append(dict(attributes_of(leaf)))
