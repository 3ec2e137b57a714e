"""Code that calls back to Python in the middle of a program, and what it writes to."""

from collections.abc import Callable, Iterator
from typing import Any

import jax


class CallsBackError(Exception):
    """What is being compiled calls back to Python."""


def without_callbacks(block: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays that may be compiled by autojit.

    autojit runs the function on copies of what it captured. A callback would write into
    these copies, at run time, and the caller would never see it.

    Raises:
        CallsBackError: At its call: it has `jax.debug.callback`, `pure_callback` ...
    """
    jitted = jax.jit(block, inline=True)

    def run(*args: Any) -> Any:
        if any(_primitives(jitted.trace(*args).jaxpr)):  # the call finds this trace
            raise CallsBackError
        return jitted(*args)

    return run


def _primitives(closed: Any) -> Iterator[str]:
    """The names of the callbacks in a jaxpr, also in the jaxprs inside."""
    jaxpr = getattr(closed, "jaxpr", closed)
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if "callback" in name or name == "debug_print":
            yield name
        for inner in jax.tree.leaves(list(equation.params.values())):
            if hasattr(inner, "jaxpr") or hasattr(inner, "eqns"):
                yield from _primitives(inner)
