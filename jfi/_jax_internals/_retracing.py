"""What makes JAX trace functions again, though their arguments are the same."""

import contextlib
import threading
from collections.abc import Generator, Hashable

from ._key_state import JitKeyState, jit_key_state
from ._pieces import decided_once


_lock = threading.Lock()


def trace_again(version: int) -> None:
    """Let JAX trace whatever is called from now on, as if it were called first.

    Args:
        version: Another number than at all calls before.
    """
    with _lock:
        _everywhere().set_global(version)


@contextlib.contextmanager
def trace_apart(value: Hashable) -> Generator[None, None, None]:
    """A block of this thread with traced functions of its own.

    Args:
        value: Blocks with equal ones share what is traced.
    """
    with _lock:
        state = _in_block()
    with state(value):
        yield


@decided_once
def _everywhere() -> JitKeyState[int]:
    return jit_key_state(0)


@decided_once
def _in_block() -> JitKeyState[Hashable]:
    return jit_key_state(())
