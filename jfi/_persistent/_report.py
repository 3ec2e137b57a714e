"""What was kept, found and saved in this process: `jfi.cache_report()`."""

import threading
from typing import NamedTuple


class CacheReport(NamedTuple):
    """What the store of compiled programs did in this process; it prints as a text.

    Attributes:
        folder: Where programs are kept.
        hits: How many programs were found there, or in the server.
        misses: How many were compiled.
        seconds_saved: How long the hits took to trace and compile when they were made,
            without the time that it took to load them.
        seconds_compiling: How long the misses took.
        bytes: The size of all programs in the folder.
        programs: Their number.
        not_kept: For each function of which programs could not be kept: why.
    """

    folder: str
    hits: int
    misses: int
    seconds_saved: float
    seconds_compiling: float
    bytes: int
    programs: int
    not_kept: dict[str, str]

    def __repr__(self) -> str:
        lines = [
            f"compiled programs in {self.folder}: {self.programs}, "
            f"{self.bytes / 1e6:.1f} MB",
            f"found: {self.hits}, {self.seconds_saved:.2f} s saved",
            f"compiled: {self.misses}, {self.seconds_compiling:.2f} s",
        ]
        if self.not_kept:
            lines.append("not kept:")
            lines += [f"  {name}(): {why}" for name, why in self.not_kept.items()]
        return "\n".join(lines)


class Ledger:
    """Counts what happens, in all threads.

    Attributes:
        hits, misses: Programs that were found, and compiled.
        saved, compiling: Seconds, of these.
        why_not: For functions of which programs are not kept: why.
    """

    hits: int
    misses: int
    saved: float
    compiling: float
    why_not: dict[str, str]

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.clear()

    def found(self, seconds: float) -> None:
        """A program was found that took so long to make, but for loading it."""
        with self._lock:
            self.hits += 1
            self.saved += max(seconds, 0.0)

    def compiled(self, seconds: float) -> None:
        """A program was compiled."""
        with self._lock:
            self.misses += 1
            self.compiling += seconds

    def not_kept(self, name: str, why: str) -> bool:
        """A program can't be kept; whether that was not known."""
        with self._lock:
            is_new = self.why_not.get(name) != why
            if name in self.why_not or len(self.why_not) < MAX_NAMES:
                self.why_not[name] = why
            return is_new

    def clear(self) -> None:
        """Begin anew."""
        with self._lock:
            self.hits = self.misses = 0
            self.saved = self.compiling = 0.0
            self.why_not = {}


MAX_NAMES = 1000  # of functions, of which it is remembered why they are not kept
