"""The client's side: kept connections, and one call through them.

>>> from pathlib import Path
>>> import numpy as np
>>> client = Client(Path("/tmp/no-servers"), "0" * 64, store=Path("/tmp/store"))
>>> client.run("a-key", [np.ones(3)])
Traceback (most recent call last):
    ...
jfi_server.errors.NoServer: no server runs in /tmp/no-servers/000000000000
"""

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .arrays import Array, copied, pack, unpack
from .errors import (
    ArrayGone,
    BadMessageError,
    NoServer,
    NotKept,
    ServerError,
    ServerLost,
)
from .folders import server_folder
from .transport import AnyLink, connect


T = TypeVar("T")

_LISTEN = 1.0  # seconds without an answer before the server is asked for a sign of life
PATIENCE = 3.5
"""Seconds for that sign."""
_PAUSE = 30.0  # seconds before a server that gave none is asked again
_MOST_IDLE = 16  # connections
_LARGEST_KEPT = 1 << 30  # bytes of the arenas of an idle connection


class Client:
    """What runs programs by key in the server of one environment.

    It may be used by many threads at once and in forked processes: each call has a
    connection to itself, and a child opens its own.
    """

    def __init__(self, folder: Path, environment_digest: str, store: Path) -> None:
        """Nothing is connected before the first call.

        Args:
            folder: The base folder of the servers (`folders.base_folder()`).
            environment_digest: Of this process (`environment.digest()`).
            store: The folder of the store in which the keys are.
        """
        self.folder: Path = server_folder(folder, environment_digest)
        self.store = store
        self._prepare(f"in {self.folder}")

    def _prepare(self, where: str) -> None:
        self.where: str = where
        self._lock = threading.Lock()
        self._idle: list[AnyLink] = []
        self._links: weakref.WeakSet[AnyLink] = weakref.WeakSet()
        # A server that did not answer: which, until when to leave it, and why.
        self._avoided: tuple[object, float, str] | None = None
        _clients.add(self)

    def open(self, patience: float) -> AnyLink:
        """A new connection.

        Raises:
            ServerError: It is not to be used.
            OSError: There is none to be had.
        """
        return connect(self.folder, patience)

    def greeting(self) -> dict[str, Any]:
        """What a connection begins with: they agree on the store."""
        return {"op": "hello", "store": os.fspath(self.store)}

    def which(self) -> object:
        """Tells a server from the next one; None if there is none."""
        try:
            found = os.stat(self.folder / "socket")
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def run(
        self,
        key: str,
        arrays: Sequence[Array | int],
        timeout: float | None = None,
        keep: Sequence[int | None] = (),
    ) -> list[Array]:
        """Run the program of a key.

        Args:
            key: Names the program in the store.
            arrays: What it takes; for an array that is stored there, its number.
            timeout: The most seconds to wait for the result; None waits for as long as
                the server shows signs of life.
            keep: For each result the number under which it is stored there; None: it
                comes back.

        Returns:
            What it returns and does not store, in memory of this process.

        Raises:
            ArrayGone: The server has no array of a number.
            NotKept: The server has no such program.
            ServerLost: No server can run it; NoServer where none runs.
            TypeError: An array holds no numbers.
        """
        end = None if timeout is None else time.monotonic() + timeout
        sent = self._request(key, arrays, keep)
        came = [x for x in arrays if not isinstance(x, int)]
        message, found = self.exchange(lambda link: self._run(link, sent, came, end))
        match message.get("is"):
            case "result":
                return found
            case "unknown":
                raise NotKept(key)
            case "gone":
                raise ArrayGone(message.get("number"))
            case _:
                reason = message.get("reason", "the server could not run it")
                raise ServerLost(str(reason))

    def load(self, key: str) -> None:
        """Have the server load a program from the store, while this process goes on.

        Raises:
            ServerLost: There is no server.
        """
        self.exchange(lambda link: self._load(link, key))

    def close(self) -> None:
        """Close the connections that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for link in idle:
            link.close()

    def avoid(self, reason: str) -> ServerLost:
        """Leave this very server alone for a while; return the error to raise."""
        self.close()
        which = self.which()
        if which is not None:
            self._avoided = which, time.monotonic() + _PAUSE, reason
        return ServerLost(reason)

    def after_fork(self) -> None:
        """In a child: close its copies of the connections, which are its parent's."""
        self._lock = threading.Lock()
        self._idle = []
        for link in list(self._links):
            link.close()

    def exchange(self, talk: Callable[[AnyLink], T], again: bool = True) -> T:
        """Talk over a connection; over a new one where that of an old server is shut.

        Args:
            talk: What is said.
            again: Whether it may be said twice.

        Raises:
            ServerLost: The server, or the way to it, is gone.
        """
        for last in (False, True) if again else (True,):
            link = self.take()
            try:
                found = talk(link)
            except (EOFError, ConnectionError) as error:
                link.close()
                if last:
                    raise ServerLost("the server ended during the call") from error
                # Kept connections are to a server that ended, or that began anew: all
                # of them are closed. Programs have no effects: this one can run again.
                self.close()
            except (BlockingIOError, TimeoutError):
                link.close()
                raise self.silent() from None
            except (BadMessageError, OSError, MemoryError) as error:
                link.close()
                raise ServerLost(f"the connection broke ({error})") from error
            # Ctrl-C, too: the answer would be taken for that of a later call.
            except BaseException:
                link.close()
                raise
            else:
                self.give(link)
                return found
        raise AssertionError

    def _load(self, link: AnyLink, key: str) -> None:
        link.send({"op": "load", "key": key})
        self.await_answer(link, None)
        link.receive()

    def _request(
        self, key: str, arrays: Sequence[Array | int], keep: Sequence[int | None]
    ) -> dict[str, Any]:
        request: dict[str, Any] = {"op": "run", "key": key}
        stored = [x if isinstance(x, int) else None for x in arrays]
        if keep or any(number is not None for number in stored):
            request |= {"stored": stored, "keep": list(keep)}
        return request

    def _run(
        self,
        link: AnyLink,
        request: dict[str, Any],
        arrays: Sequence[Array],
        end: float | None,
    ) -> tuple[dict[str, Any], list[Array]]:
        sent, chunks = pack(arrays, link)
        link.send({**request, **sent}, chunks)
        self.await_answer(link, end)
        message, body = link.receive()
        if message.get("is") != "result":
            return message, []
        # Copied: the next answer is written over this one.
        return message, [copied(array) for array in unpack(message, body, link)]

    def await_answer(self, link: AnyLink, end: float | None) -> None:
        """Wait for an answer, as long as the server lives."""
        while True:
            left = _LISTEN if end is None else min(_LISTEN, end - time.monotonic())
            if link.wait(max(left, 0.0)):
                return
            if end is not None and time.monotonic() >= end:
                raise ServerLost("the server took longer than the timeout")
            self.check_alive()

    def check_alive(self) -> None:
        """Ask for a sign of life, over another connection.

        Raises:
            ServerLost: There is none.
        """
        try:
            link = self.open(PATIENCE)
        except (BlockingIOError, TimeoutError):
            raise self.silent() from None
        except (OSError, ServerError):
            return  # it ends: the call's own connection will tell
        try:
            link.send({"op": "ping"})
            if not link.wait(PATIENCE):
                raise self.silent()
        except (EOFError, OSError):
            return
        finally:
            link.close()

    def take(self) -> AnyLink:
        """A connection that is idle, or a new one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._connected()

    def give(self, link: AnyLink) -> None:
        """Let it be idle, unless there are many."""
        if link.memory() <= _LARGEST_KEPT:
            with self._lock:
                if len(self._idle) < _MOST_IDLE:
                    self._idle.append(link)
                    return
        link.close()

    def _connected(self) -> AnyLink:
        which = self.which()
        if which is None:
            raise NoServer(f"no server runs {self.where}")
        if self._avoided is not None:
            avoided, until, reason = self._avoided
            if avoided == which and time.monotonic() < until:
                raise ServerLost(reason)
        try:
            link = self.open(PATIENCE)
        except ServerError as error:
            raise ServerLost(str(error).rstrip(".")) from error
        except (BlockingIOError, TimeoutError):
            raise self.silent() from None
        except (FileNotFoundError, ConnectionError):  # it was killed
            raise NoServer(f"no server runs {self.where}") from None
        except OSError as error:
            raise self.avoid(f"no server can be reached ({error})") from error
        self._links.add(link)
        try:
            self._greet(link)
        except BaseException:
            link.close()
            raise
        return link

    def _greet(self, link: AnyLink) -> None:
        """Agree on the store."""
        try:
            link.send(self.greeting())
            if not link.wait(PATIENCE):
                raise self.silent()
            message, _ = link.receive()
        except (BlockingIOError, TimeoutError):
            raise self.silent() from None
        except (BadMessageError, EOFError, OSError) as error:
            raise ServerLost(f"the server {self.where} ended ({error})") from error
        if message.get("is") != "ok":
            raise self.avoid(str(message.get("reason", "the server refused")))

    def silent(self) -> ServerLost:
        """The error of a server that gives no sign of life."""
        return self.avoid(f"the server {self.where} does not answer")


_clients: weakref.WeakSet[Client] = weakref.WeakSet()


def _after_fork() -> None:
    for client in list(_clients):
        client.after_fork()


def _close_all() -> None:
    for client in list(_clients):
        client.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_close_all)  # a connection may have a process of its own
