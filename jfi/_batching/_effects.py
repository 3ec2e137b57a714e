"""Code that runs on the host in the middle of a program, and what it writes to."""

from collections.abc import Callable
from typing import Any

import jax


class EffectsError(Exception):
    """What is being compiled calls back to Python."""


def without_effects(block: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays that may be compiled by autojit.

    autojit runs the function on copies of what it captured. A callback would write into
    these copies, at run time, and the caller would never see it.

    Raises:
        EffectsError: At its call: it has `jax.debug.callback`, `io_callback` ...
    """
    jitted = jax.jit(block, inline=True)

    def run(*args: Any) -> Any:
        if jitted.trace(*args).jaxpr.effects:  # the call finds this trace again
            raise EffectsError
        return jitted(*args)

    return run
