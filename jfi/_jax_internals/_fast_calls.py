"""The quick way by which JAX's C++ code calls what it has compiled.

Where the first call for a kind of arrays raises an error while the function is traced,
JAX takes all later calls of that kind for calls of the function by itself, and makes
them in Python: ten times as slowly. To have it look again, its quick ways are cleared;
what was traced and compiled stays.
"""

from collections.abc import Callable
from typing import Any

import jax

from ._pieces import outside_of_tracing, piece


def find_quick_ways_again(jitted: Any) -> None:
    """Let JAX find out once more how to call a function under `jax.jit` quickly."""
    clear = clear_quick_ways()
    if clear is not None:
        clear(jitted)


@piece(
    uses="_clear_cache of a function under jax.jit",
    without="what autojit has traced twice for one shape is called more slowly",
)
def clear_quick_ways() -> Callable[[Any], None] | None:
    def clear(jitted: Any) -> None:
        jitted._clear_cache()

    def known() -> bool:
        traces: list[Any] = []

        def traced(x: Any) -> Any:
            traces.append(x)
            return x

        jitted = jax.jit(traced)
        jitted(1.0)
        clear(jitted)
        jitted(1.0)
        return len(traces) == 1

    return clear if outside_of_tracing(known) else None
