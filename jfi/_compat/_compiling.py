"""When XLA has compiled something.

`jax.monitoring` is public, the names of JAX's events are not (checked in JAX 0.10.2).
Under another name, nobody is told, and compile times are left out.
"""

from collections.abc import Callable
from typing import Any

from jax import monitoring


_EVENT = "/jax/core/compile/backend_compile_duration"
_callbacks: list[Callable[[float], None]] = []


def on_compiled(callback: Callable[[float], None]) -> None:
    """Call a function with the seconds of each compilation, in the thread that did it.

    Args:
        callback: Takes the seconds; it is called once, however often it is given.
    """
    if not _callbacks:
        monitoring.register_event_duration_secs_listener(_listen)
    if callback not in _callbacks:
        _callbacks.append(callback)


def _listen(event: str, duration_secs: float, **kwargs: Any) -> None:
    if event == _EVENT:
        for callback in _callbacks:
            callback(duration_secs)
