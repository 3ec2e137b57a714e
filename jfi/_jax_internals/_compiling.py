"""When XLA has compiled something, and how much is compiled."""

from collections.abc import Callable
from typing import Any

from jax import monitoring

from ._pieces import piece


_EVENT = "/jax/core/compile/backend_compile_duration"
_callbacks: list[Callable[[float], None]] = []


def on_compiled(callback: Callable[[float], None]) -> None:
    """Call a function with the seconds of each compilation, in the thread that did it.

    Without `compile_events` it is never called.

    Args:
        callback: Takes the seconds; it is called once, however often it is given.
    """
    if compile_events() and not _callbacks:
        monitoring.register_event_duration_secs_listener(_listen)
    if callback not in _callbacks:
        _callbacks.append(callback)


@piece(
    uses="the name of an event of jax.monitoring, backend_compile_duration",
    without="explain() of autojit leaves out how long compiling took",
)
def compile_events() -> bool | None:
    from jax._src.dispatch import BACKEND_COMPILE_EVENT

    return True if BACKEND_COMPILE_EVENT == _EVENT else None


def cache_size(jitted: Any) -> int:
    """For how many kinds of arguments `jax.jit` has compiled a function; or 0."""
    # JAX counts below zero where its table of all functions was full.
    return max(0, int(getattr(jitted, "_cache_size", int)()))


def _listen(event: str, duration_secs: float, **kwargs: Any) -> None:
    if event == _EVENT:
        for callback in _callbacks:
            callback(duration_secs)
