"""Loops and branches that carry the random state of what is around them.

They do where JAX has no `hidden_state`. Where it has, nothing is carried, and JAX's
function gets the user's as they are.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jax import lax

from .._jax_internals import with_kept_rules
from .._random.traced import carried_here
from .._random.traced._own_stream import Function


def scan(run: Callable[[Function, Any], Any], f: Function, init: Any) -> Any:
    """`run(f, init)`, a kind of `lax.scan`."""
    carried = carried_here()
    if carried is None:
        return run(f, init)

    def step(state: Any, x: Any) -> Any:
        counts, (carry, y) = carried.run(state[0], f, state[1], x)
        return (counts, carry), y

    (counts, carry), ys = run(step, (carried.counts, init))
    carried.end(counts)
    return carry, ys


def fori_loop(run: Callable[[Function, Any], Any], body: Function, init: Any) -> Any:
    """`run(body, init)`, a kind of `lax.fori_loop`."""
    carried = carried_here()
    if carried is None:
        return run(body, init)
    counts, out = run(
        lambda i, state: carried.run(state[0], body, i, state[1]),
        (carried.counts, init),
    )
    carried.end(counts)
    return out


def map(f: Function, xs: Any) -> Any:
    """`lax.map`."""
    if carried_here() is None:
        return with_kept_rules(lambda: lax.map(f, xs))

    def run(f: Function, carry: Any) -> Any:
        return with_kept_rules(lambda: lax.scan(f, carry, xs))

    return scan(run, lambda c, x: (c, f(x)), None)[1]


def branches(run: Callable[..., Any], functions: Sequence[Function], *args: Any) -> Any:
    """`run(functions, *args)`, which calls one of the functions."""
    carried = carried_here()
    if carried is None:
        return run(functions, *args)

    def carrying(function: Function) -> Function:
        return lambda counts, *args: carried.run(counts, function, *args)

    counts, out = run(tuple(carrying(f) for f in functions), carried.counts, *args)
    carried.end(counts)
    return out


def checkpoint(
    transform: Callable[[Function], Function],
    f: Function,
    /,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """`transform(f)(*args, **kwargs)`."""
    carried = carried_here()
    if carried is None:
        return transform(f)(*args, **kwargs)

    # Captured: JAX can be told what to do with each argument.
    def carrying(*args: Any, **kwargs: Any) -> Any:
        return carried.run(carried.counts, f, *args, **kwargs)

    counts, out = transform(carrying)(*args, **kwargs)
    carried.end(counts)
    return out
