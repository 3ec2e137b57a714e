"""PyTensor's rules for JAX, imported without its side effect."""

import threading
from typing import Any

from ..._jax_internals import setting
from ..._optional._packages import require


_lock = threading.Lock()


def jax_rules() -> Any:
    """PyTensor's `jax_funcify`, which makes a JAX function of a graph.

    Its module sets `jax_enable_x64`, for the whole process, by the float type that
    PyTensor has. While it is imported PyTensor gets the one that JAX has: so the option
    is set to what it is, and other threads see no other value in between.
    """
    with _lock:
        pytensor = require("pytensor", extra="pytensor", needed_by="jaxify")
        floats = "float64" if _x64_of_process() else "float32"
        with pytensor.config.change_flags(floatX=floats):
            dispatch = require(
                "pytensor.link.jax.dispatch", extra="pytensor", needed_by="jaxify"
            )
    return dispatch.jax_funcify


def _x64_of_process() -> bool:
    """The option as it is outside all `with` blocks, which are a thread's own."""
    found: list[bool] = []
    thread = threading.Thread(
        target=lambda: found.append(bool(setting("jax_enable_x64")))
    )
    thread.start()
    thread.join()
    return found[0]
