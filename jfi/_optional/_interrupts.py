"""Ctrl-C while a compiled loop runs, which a callback in the loop hears of.

Python raises KeyboardInterrupt when its main thread runs again: after the loop, for
which that thread waits. But it writes the number of a signal at once into a file that
`signal.set_wakeup_fd` names. A callback that finds it there ends the program by an
error, and the main thread goes on, with KeyboardInterrupt.
"""

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Generator

from .._jax_internals import without_log_of


class InterruptedLoopError(Exception):
    """What XLA sees of Ctrl-C."""


class _Signals:
    """The signals that came since a block was entered, of any thread."""

    arrived: socket.socket | None = None


@contextlib.contextmanager
def interruptible() -> Generator[None]:
    """A block of the main thread in which callbacks may ask whether Ctrl-C came."""
    in_main = threading.current_thread() is threading.main_thread()
    raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not (in_main and raises) or _Signals.arrived is not None:
        yield
        return
    arrived, told = socket.socketpair()
    for end in (arrived, told):
        end.setblocking(False)
    others = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    _Signals.arrived = arrived
    try:
        with without_log_of(InterruptedLoopError):
            yield
    finally:
        _Signals.arrived = None
        signal.set_wakeup_fd(others, warn_on_full_buffer=False)
        with contextlib.suppress(OSError):
            numbers = arrived.recv(64)
            if others != -1:  # an event loop waits for them there
                os.write(others, numbers)
        arrived.close()
        told.close()


def refuse_after_interrupt() -> None:
    """End a loop that this is called back from, if Ctrl-C came.

    Raises:
        InterruptedLoopError: It did.
    """
    arrived = _Signals.arrived
    if arrived is None:
        return
    try:
        numbers = arrived.recv(64, socket.MSG_PEEK)
    except OSError:  # nothing is there
        return
    if signal.SIGINT in numbers:
        raise InterruptedLoopError
