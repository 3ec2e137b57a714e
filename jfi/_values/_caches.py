"""Tables of what was made, with a bound: the least recently used goes."""

import collections
import threading
import weakref
from collections.abc import Callable, Hashable
from types import CodeType
from typing import Generic, TypeVar


T = TypeVar("T")


def by_identity(answer: Callable[[CodeType], T]) -> Callable[[CodeType], T]:
    """Remember what a function says of code, as long as there is that code.

    By its identity: the hash of a code object reads all of its bytecode.
    """
    known: dict[int, tuple[weakref.ref[CodeType], T]] = {}

    def ask(code: CodeType) -> T:
        found = known.get(id(code))
        if found is None or found[0]() is not code:
            key = id(code)
            gone = weakref.ref(code, lambda _: known.pop(key, None))
            found = known[key] = gone, answer(code)
        return found[1]

    return ask


class Recent(Generic[T]):
    """What was made lately for some keys: the least recently used goes.

    A key such as a graph is long, and its hash is not remembered: each use looks it up
    as seldom as it can. No value is None.

    Args:
        most: How many are kept.
        on_drop: Gets each one that goes.
    """

    def __init__(self, most: int, on_drop: Callable[[T], object] | None = None) -> None:
        self.most = most
        self._on_drop = on_drop
        self._lock = threading.RLock()
        self._table: collections.OrderedDict[Hashable, T] = collections.OrderedDict()

    def __len__(self) -> int:
        return len(self._table)

    def find(self, key: Hashable) -> T | None:
        """What there is for a key.

        Raises:
            TypeError: The key can't be hashed.
        """
        with self._lock:
            found = self._table.get(key)
            if found is not None:
                self._table.move_to_end(key)
            return found

    def add(self, key: Hashable, value: T) -> T:
        """What there is for a key; this value, if there is nothing."""
        with self._lock:
            value = self._table.setdefault(key, value)
            self._table.move_to_end(key)
            while len(self._table) > self.most:
                self._dropped(self._table.popitem(last=False)[1])
            return value

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """What there is for a key, made if there is nothing: by one thread alone."""
        with self._lock:
            found = self.find(key)
            return self.add(key, make()) if found is None else found

    def take(self, key: Hashable) -> T | None:
        """What there was for a key, and is no longer there."""
        with self._lock:
            return self._table.pop(key, None)

    def drop(self, key: Hashable) -> None:
        """Let the value of a key go."""
        found = self.take(key)
        if found is not None:
            self._dropped(found)

    def clear(self) -> None:
        """Let all go."""
        with self._lock:
            values = list(self._table.values())
            self._table.clear()
        for value in values:
            self._dropped(value)

    def _dropped(self, value: T) -> None:
        if self._on_drop is not None:
            self._on_drop(value)
