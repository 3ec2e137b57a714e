"""Whether a value stands for the rows of a batch."""

from typing import Any

import jax
import numpy as np

from ._pieces import decided_once, outside_of_tracing, piece


def is_batched(x: Any) -> bool:
    """Whether the innermost transformation around a value is a `vmap` over it.

    Without `batch_tracers` nothing is known to be, and JAX's own rules are used.
    """
    return type(x) is _batch_tracer()


@decided_once
def _batch_tracer() -> Any:
    return batch_tracers()


@piece(
    uses="jax._src.interpreters.batching.BatchTracer",
    without="eager jfi.cond and jfi.switch under vmap copy what all rows share",
)
def batch_tracers() -> type | None:
    from jax._src.interpreters.batching import BatchTracer

    seen: list[type] = []

    def row(x: Any) -> Any:
        seen.append(type(x))
        return x

    outside_of_tracing(lambda: jax.vmap(row)(np.ones(2, np.float32)))
    return BatchTracer if seen == [BatchTracer] else None
