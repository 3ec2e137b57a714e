"""Arrays of clients that stay in the server: kept between calls, by number.

They belong to a session of a client: a process that has drawn a number of its own, over
as many connections as it likes. A session ends a while after its last connection, which
may have been cut; its arrays go with it.

>>> stored = StoredArrays(Limits())
>>> session = stored.open("ann", "0" * 32)
>>> session.store([7], [memoryview(bytes(8))])
>>> session.fetch(7).nbytes
8
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .limits import Limits


GRACE = 10.0
"""Seconds after its last connection in which a session may have another one."""


class GoneError(Exception):
    """An array of that number is not stored."""


@dataclass(eq=False)
class Session:
    """The arrays of one process of a client.

    Attributes:
        client: Its name.
        links: How many connections it has.
        left: When the last one ended.
    """

    client: str
    table: "StoredArrays"
    links: int = 0
    left: float = 0.0
    arrays: dict[int, Any] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return sum(int(x.nbytes) for x in list(self.arrays.values()))

    def put(self, numbers: Sequence[int], arrays: Sequence[Any]) -> None:
        """Store arrays of NumPy's, where programs want them; errors as of `store`."""
        self.table.check(self, numbers, arrays)
        self.store(numbers, self.table.place(arrays))

    def store(self, numbers: Sequence[int], arrays: Sequence[Any]) -> None:
        """Store arrays under the client's numbers.

        Raises:
            ValueError: They are more than a client may have.
        """
        self.table.check(self, numbers, arrays)
        self.arrays.update(zip(numbers, arrays, strict=True))

    def fetch(self, number: int) -> Any:
        """An array.

        Raises:
            GoneError: There is none of this number.
        """
        try:
            return self.arrays[number]
        except KeyError:
            raise GoneError(number) from None

    def free(self, numbers: Sequence[int]) -> None:
        """Let go of arrays."""
        for number in numbers:
            self.arrays.pop(number, None)


class StoredArrays:
    """The arrays of all clients.

    Args:
        limits: What one of them may have.
        place: Puts arrays of NumPy's where programs want them.
    """

    def __init__(
        self, limits: Limits, place: Callable[[Sequence[Any]], list[Any]] = list
    ) -> None:
        self._limits = limits
        self.place: Callable[[Sequence[Any]], list[Any]] = place
        self._lock = threading.Lock()
        self._sessions: dict[tuple[str, str], Session] = {}

    def open(self, client: str, token: str) -> Session:
        """The session of a connection that begins."""
        with self._lock:
            new = Session(client, self)
            session = self._sessions.setdefault((client, token), new)
            session.links += 1
            return session

    def close(self, session: Session) -> None:
        """A connection has ended."""
        with self._lock:
            session.links -= 1
            session.left = time.monotonic()

    def sweep(self) -> None:
        """Let go of what belongs to clients that are gone."""
        now = time.monotonic()
        with self._lock:
            for key, session in list(self._sessions.items()):
                empty = not session.arrays
                if not session.links and (empty or now - session.left >= GRACE):
                    del self._sessions[key]
                    session.arrays.clear()

    def are_there(self) -> bool:
        """Whether a client would lose some if the server ended."""
        return any(session.arrays for session in list(self._sessions.values()))

    def of(self, client: str) -> tuple[int, int, int]:
        """How many sessions a client has, how many arrays, and their bytes."""
        with self._lock:
            own = [s for s in self._sessions.values() if s.client == client]
        return len(own), sum(len(s.arrays) for s in own), sum(s.bytes for s in own)

    def check(
        self, session: Session, numbers: Sequence[int], arrays: Sequence[Any]
    ) -> None:
        """Refuse what is too much for one client.

        Raises:
            ValueError: It is.
        """
        if len(arrays) != len(numbers) or len({*numbers}) != len(numbers):
            raise ValueError("each array has a number of its own")
        _, count, size = self.of(session.client)
        count += len(arrays)
        size += sum(int(x.nbytes) for x in arrays)
        limits = self._limits
        if count > limits.arrays or size > limits.stored:
            raise ValueError(
                f"a client may store {limits.arrays} arrays of {limits.stored} bytes, "
                f"and would have {count} of {size}"
            )
