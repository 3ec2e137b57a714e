"""Code that calls back to Python in the middle of a program, and what it writes to."""

from collections.abc import Callable
from typing import Any

import jax

from .._jax_internals import inner_jaxprs


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
        if _calls_back(jitted.trace(*args).jaxpr.jaxpr):  # the call finds this trace
            raise CallsBackError
        return jitted(*args)

    return run


def _calls_back(jaxpr: Any) -> bool:
    """Whether a jaxpr, or one inside, has a callback."""
    return any(
        "callback" in equation.primitive.name
        or equation.primitive.name == "debug_print"
        or any(map(_calls_back, inner_jaxprs(equation)))
        for equation in jaxpr.eqns
    )
