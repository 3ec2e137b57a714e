"""The programs that a server holds: loaded once, used by all, the oldest let go."""

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ._memory import Name


class Program(Protocol):
    """A compiled program, as the store has it."""

    about: dict[str, Any]

    def run(self, arrays: list[Any]) -> list[Any]:
        """Run it on NumPy arrays; return NumPy arrays."""
        ...


Hosted = Callable[[Path, str], Program]
"""Loads a program from the folder of a store; KeyError where it is not there."""


@dataclass(eq=False)
class Entry:
    """A loaded program, and what became of it."""

    program: Program
    calls: int = 0
    hits: int = 0  # times it was asked for and there
    used: float = field(default_factory=time.time)

    @property
    def bytes(self) -> int:
        """How much memory it counts for."""
        return int(self.program.about.get("bytes", 0))


class Programs:
    """A table of programs, bounded by their bytes."""

    def __init__(
        self,
        hosted: Hosted,
        memory: int,
        changed: Callable[[Iterable[Name]], None] = lambda _: None,
    ) -> None:
        """Start empty.

        Args:
            hosted: Loads a program.
            memory: The most bytes of all programs; the last one is always kept.
            changed: Called with what is loaded, the least recently used first.
        """
        self.hits: int = 0
        self.loads: int = 0
        self._hosted, self._memory, self._changed = hosted, memory, changed
        self._lock = threading.Lock()
        self._table: OrderedDict[Name, Entry] = OrderedDict()
        self._loading: dict[Name, Future[Entry]] = {}
        # What the last server had and this one has not loaded yet.
        self._pending: list[Name] = []

    def get(self, name: Name) -> Entry:
        """The program of that name, loaded if need be, once for all who ask.

        Raises:
            KeyError: The store has no such program.
            Exception: It can't be loaded.
        """
        with self._lock:
            entry = self._table.get(name)
            if entry is not None:
                self.hits += 1
                entry.hits += 1
                self._table.move_to_end(name)
                return entry
            future = self._loading.get(name)
            mine = future is None
            if future is None:
                future = self._loading[name] = Future()
        if mine:
            self._load(name, future)
        return future.result()

    def load_again(self, names: list[Name]) -> None:
        """Load what an earlier server had, one after the other.

        What is being loaded is not written down: if it ends the process, the next
        server does without it.
        """
        with self._lock:
            self._pending = list(names)
        while (name := self._next()) is not None:
            self._write_down()
            # Gone from the store, or not for this machine any more.
            with contextlib.suppress(Exception):
                self.get(name)

    def count(self, entry: Entry) -> None:
        """Note a call."""
        with self._lock:
            entry.calls += 1
            entry.used = time.time()

    def clear(self) -> int:
        """Let go of all programs; return how many there were."""
        with self._lock:
            count = len(self._table)
            self._table.clear()
            self._pending.clear()
        self._write_down()
        return count

    def total(self) -> tuple[int, int]:
        """How many programs there are, and their bytes."""
        with self._lock:
            return len(self._table), sum(e.bytes for e in self._table.values())

    def rows(self) -> list[dict[str, Any]]:
        """What there is to say of each program, the last used one first."""
        with self._lock:
            found = list(self._table.items())
        rows = [
            {
                "name": str(entry.program.about.get("name", "?")),
                "source": str(entry.program.about.get("source", "")),
                "seconds": float(entry.program.about.get("seconds", 0.0)),
                "calls": entry.calls,
                "hits": entry.hits,
                "bytes": entry.bytes,
                "used": entry.used,
                "key": key,
                "store": store,
            }
            for (store, key), entry in found
        ]
        return sorted(rows, key=lambda row: row["used"], reverse=True)

    def _next(self) -> Name | None:
        with self._lock:
            return self._pending.pop(0) if self._pending else None

    def _load(self, name: Name, future: "Future[Entry]") -> None:
        try:
            entry = Entry(self._hosted(Path(name[0]), name[1]))
            size = entry.bytes
        except BaseException as error:
            with self._lock:
                del self._loading[name]
            future.set_exception(error)
            return
        with self._lock:
            del self._loading[name]
            self.loads += 1
            total = size + sum(e.bytes for e in self._table.values())
            while total > self._memory and self._table:
                total -= self._table.popitem(last=False)[1].bytes
            self._table[name] = entry
        future.set_result(entry)
        self._write_down()

    def _write_down(self) -> None:
        with self._lock:
            # Under the lock, so that the last one to write knows the most.
            self._changed(dict.fromkeys([*self._pending, *self._table]))
