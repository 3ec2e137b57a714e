"""What a server looks at while it serves: calls nobody waits for, idleness, its log."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import NoReturn

from .stored import StoredArrays
from .transport import AnyLink


PATIENCE = 5.0
"""Seconds a program may run on after its client left."""

_PERIOD = 0.25
_LONGEST_LOG = 1 << 20
_KEPT_OF_LOG = 1 << 18


class Calls:
    """The programs that run now, and for whom."""

    def __init__(self) -> None:
        self.total: int = 0
        self._lock = threading.Lock()
        self._links: dict[AnyLink, float | None] = {}  # since when its client is gone
        self._last = time.monotonic()

    @property
    def now(self) -> int:
        """How many programs run."""
        return len(self._links)

    def count(self) -> None:
        """Note a call."""
        with self._lock:
            self.total += 1
            self._last = time.monotonic()

    def touch(self) -> None:
        """Note that a client is there."""
        self._last = time.monotonic()

    def idle(self) -> float:
        """Seconds since a client wanted something; 0 while a program runs."""
        return 0.0 if self._links else time.monotonic() - self._last

    @contextlib.contextmanager
    def running(self, link: AnyLink) -> Generator[None]:
        """Keep account of a program while it runs."""
        with self._lock:
            self._links[link] = None
        try:
            yield
        finally:
            with self._lock:
                del self._links[link]
                self._last = time.monotonic()

    def longest_left_alone(self) -> float:
        """For how many seconds a program has run without a client, at most."""
        now = time.monotonic()
        with self._lock:
            for link, since in self._links.items():
                if since is None and link.hung_up():
                    self._links[link] = now
            times = [now - since for since in self._links.values() if since is not None]
            return max(times, default=0.0)


def watch(
    calls: Calls,
    stored: StoredArrays,
    log: Path,
    idle_timeout: float,
    begin_anew: Callable[[], None],
    end: Callable[[str], None],
) -> NoReturn:
    """Look after the server, for ever.

    Args:
        calls: What runs.
        stored: What clients have left here. While they have, the server goes on.
        log: The file to keep short.
        idle_timeout: Seconds without a call after which the server ends.
        begin_anew: Called when a program runs on for nobody. XLA has no way to stop it.
        end: Called with a reason.
    """
    while True:
        time.sleep(_PERIOD)
        shorten(log)
        stored.sweep()
        if stored.are_there():
            calls.touch()
            continue
        if calls.longest_left_alone() >= PATIENCE:
            begin_anew()
        if calls.idle() >= idle_timeout:
            end(f"no call for {idle_timeout:g} s")


def shorten(log: Path, longest: int = _LONGEST_LOG, kept: int = _KEPT_OF_LOG) -> None:
    """Keep the end of a log that has become too long.

    It is cut in place: native libraries write into the same open file.
    """
    with contextlib.suppress(OSError), open(log, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        if size <= longest:
            return
        file.seek(size - kept)
        tail = file.read()
        file.seek(0)
        file.write(tail[tail.find(b"\n") + 1 :])
        file.truncate()
