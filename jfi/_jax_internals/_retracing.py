"""What is part of the key of everything that JAX compiles."""

import contextlib
import threading
from collections.abc import Generator, Hashable
from typing import Any, NamedTuple

import jax

from ._pieces import outside_of_tracing, piece


class _Contexts(NamedTuple):
    everywhere: Any
    in_block: Any


_lock = threading.Lock()


def trace_again(version: int) -> None:
    """Let JAX trace whatever is called from now on, as if it were called first.

    Args:
        version: Another number than at all calls before.
    """
    with _lock:
        contexts = user_contexts()
        if contexts is None:
            jax.clear_caches()
        else:
            contexts.everywhere.set_global(version)


@contextlib.contextmanager
def trace_apart(value: Hashable) -> Generator[None, None, None]:
    """A block of this thread with traced functions of its own.

    Args:
        value: Blocks with equal ones share what is traced.
    """
    with _lock:
        contexts = user_contexts()
    if contexts is not None:
        with contexts.in_block(value):
            yield
        return
    jax.clear_caches()
    try:
        yield
    finally:
        jax.clear_caches()


@piece(
    uses="jax.make_user_context, with set_global",
    without="register_function, override and on_materialise clear what JAX compiled",
)
def user_contexts() -> _Contexts | None:
    made = _Contexts(
        jax.make_user_context(default_value=0), jax.make_user_context(default_value=())
    )
    traces: list[int] = []
    one = jax.ShapeDtypeStruct((), "float32")

    def traced(x: Any) -> Any:
        traces.append(1)
        return x

    def tried() -> None:
        function = jax.jit(traced)
        jax.eval_shape(function, one)
        made.everywhere.set_global(-1)
        jax.eval_shape(function, one)
        with made.in_block(("tried",)):
            jax.eval_shape(function, one)
            jax.eval_shape(function, one)
        jax.eval_shape(function, one)

    outside_of_tracing(tried)
    made.everywhere.set_global(0)
    return made if len(traces) == 3 else None
