"""Whether a value stands for the rows of a batch.

`jax._src.interpreters.batching.BatchTracer` (checked in JAX 0.10.2). Where it has moved
nothing is known to be batched, and JAX's own rules are used.
"""

import functools
from typing import Any


def is_batched(x: Any) -> bool:
    """Whether the innermost transformation around a value is a `vmap` over it."""
    return type(x) is _batch_tracer()


@functools.cache
def _batch_tracer() -> Any:
    try:
        from jax._src.interpreters.batching import BatchTracer
    except ImportError:
        return None
    return BatchTracer
