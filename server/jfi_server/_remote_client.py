"""The client's side of a server on the network: programs are sent once, and run there.

>>> from jfi_server.addresses import parsed
>>> client = RemoteClient(parsed("rpyc://127.0.0.1:9"))
>>> client.find("0" * 64)
Traceback (most recent call last):
    ...
jfi_server.errors.NoServer: no server runs at rpyc://127.0.0.1:9
"""

import contextlib
import hashlib
import os
import queue
import secrets
import socket
import ssl
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ._network import RpycLink
from ._remote import owner_of_peer
from .addresses import Address, Certificates
from .arrays import Array, pack
from .client import PATIENCE, Client
from .errors import ArrayGone, BadMessageError, ServerError, ServerLost
from .transport import AnyLink


_SOON = 0.1  # seconds after which an array that is not used any more is let go
_SEEN = 3.0  # seconds after which the server hears from a client that has arrays there
_MOST_AT_ONCE = 10_000  # numbers of such in a message

Reply: TypeAlias = tuple[dict[str, Any], bytes]


class RemoteClient(Client):
    """What keeps and runs programs in a server on the network."""

    def __init__(self, address: Address, certificates: Path | None = None) -> None:
        """Nothing is connected before the first call.

        Args:
            address: Where the server is.
            certificates: A folder with those of this client, for TLS.
        """
        self.address = address
        self._certificates = certificates
        self._description: dict[str, Any] | None = None
        self._session = secrets.token_hex(16)
        self._unused: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._reaper = 0  # the process that lets go of what is not used
        self._stored = 0  # how many arrays are there
        self._prepare(f"at {address}")

    def describe(self, timeout: float | None = None) -> dict[str, Any]:
        """What the server says of itself: its platform, its versions.

        Raises:
            ServerLost: There is no server.
        """
        if self._description is None:
            self._description, _ = self._ask({"op": "describe"}, timeout=timeout)
        return self._description

    def find(self, key: str, timeout: float | None = None) -> tuple[str, bytes] | None:
        """What this client, or one with its certificate, has kept under a key.

        Args:
            key: 64 hexadecimal digits.
            timeout: The most seconds to wait; None: as long as the server lives.

        Returns:
            The key with which to run it, and what was said of it; None: nothing.

        Raises:
            ServerLost: There is no server, or it can't run it.
        """
        return _program(*self._ask({"op": "find", "key": key}, timeout=timeout))

    def keep(
        self, key: str, record: bytes, code: bytes, timeout: float | None = None
    ) -> str:
        """Have the server compile a program and keep it.

        Args:
            key: By which it is found again: 64 hexadecimal digits.
            record: What is to be said of it.
            code: That of `jax.export`.
            timeout: The most seconds to wait; None: as long as the server lives. It
                goes on compiling, for the next call.

        Returns:
            The key with which to run it.

        Raises:
            ServerLost: There is no server, or it doesn't take the program.
        """
        digest = hashlib.sha256(code).hexdigest()
        message = {"op": "keep", "key": key, "digest": digest, "record": len(record)}
        kept = _program(*self._ask(message, record, code, timeout=timeout))
        if kept is None:
            raise ServerLost("the server has not kept a program")
        return kept[0]

    def open(self, patience: float) -> AnyLink:
        """A new connection."""
        address = self.address
        if address.scheme == "ssh":
            from ._ssh import connected

            return connected(address)
        sock = socket.create_connection((address.host, address.port), patience)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if address.scheme == "tls":
                return RpycLink.over(self._secured(sock))
            if owner_of_peer(sock, patience) != os.getuid():
                raise ServerError(f"a process of another user listens at {address}")
            return RpycLink.over(sock)
        except BaseException:
            sock.close()
            raise

    def greeting(self) -> dict[str, Any]:
        """What a connection begins with."""
        return {"op": "hello", "session": self._session}

    def which(self) -> object:
        """A server at an address is not told from the next one there."""
        return self.address

    def check_alive(self) -> None:
        """Ask over a second connection, which stays: a login may take its time.

        Raises:
            ServerLost: The server does not answer.
        """
        link = self.take()
        try:
            link.send({"op": "ping"})
            if not link.wait(PATIENCE):
                raise self.silent()
            link.receive()
        except (BadMessageError, EOFError, OSError):
            link.close()  # it ends: the call's own connection will tell
        except BaseException:
            link.close()
            raise
        else:
            self.give(link)

    def call(self, function: str, code: bytes, data: bytes, again: bool) -> Reply:
        """Have the server call a Python function.

        Args:
            function: Its name: 64 hexadecimal digits.
            code: The function, pickled; empty where it was sent before.
            data: The arguments, pickled.
            again: Whether it may be called a second time, after the call was cut off.

        Raises:
            ServerLost: There is no server, or the call was cut off.
        """
        if not again:  # a connection that was shut in the meantime is no cut
            self._ask({"op": "ping"})
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        about = {"function": function, "code": len(code), "python": python}
        return self._ask({"op": "call", **about}, code, data, again=again)

    # ---- arrays that stay there ----

    def number(self) -> int:
        """A number for an array: none is given twice, in forked processes either."""
        if self._reaper != os.getpid():
            self._reaper = os.getpid()
            threading.Thread(target=self._reap, daemon=True).start()
        with self._lock:
            self._stored += 1
        return secrets.randbits(63)

    def put(self, arrays: Sequence[Array]) -> list[int]:
        """Store arrays in the server; return their numbers.

        Raises:
            ServerLost: There is no server, or it does not take them.
        """
        numbers = [self.number() for _ in arrays]

        def talk(link: AnyLink) -> dict[str, Any]:
            about, chunks = pack(arrays, link)
            message = {"op": "put", "numbers": numbers, **about}
            link.send(message, chunks)
            self.await_answer(link, None)
            return link.receive()[0]

        reply = self.exchange(talk)
        if reply.get("is") != "ok":
            raise ServerLost(f"the server refuses: {reply.get('reason', reply)}")
        return numbers

    def fetch(self, number: int) -> Array:
        """A stored array.

        Raises:
            ArrayGone: The server has it no more.
            ServerLost: There is no server.
        """

        def talk(link: AnyLink) -> tuple[dict[str, Any], list[Array]]:
            return self._run(link, {"op": "fetch", "number": number}, [], None)

        reply, arrays = self.exchange(talk)
        if reply.get("is") == "gone":
            raise ArrayGone(number)
        if len(arrays) != 1:
            raise ServerLost(str(reply.get("reason", "the server sent no array")))
        return arrays[0]

    def free(self, number: int) -> None:
        """Let go of a stored array soon; it may be called by the garbage collector."""
        self._unused.put(number)

    def _request(
        self, key: str, arrays: Sequence[Array | int], keep: Sequence[int | None]
    ) -> dict[str, Any]:
        # With the next call, before it needs memory for its own results.
        request = super()._request(key, arrays, keep)
        unused = self._take_unused()
        return {**request, "free": unused} if unused else request

    def _take_unused(self) -> list[int]:
        unused: list[int] = []
        with contextlib.suppress(queue.Empty):
            while len(unused) < _MOST_AT_ONCE:
                unused.append(self._unused.get_nowait())
        with self._lock:
            self._stored -= len(unused)
        return unused

    def _reap(self) -> None:
        """Let go of arrays while nothing is called; be seen while some are there."""
        while True:
            try:
                first = self._unused.get(timeout=_SEEN if self._stored else None)
                self._unused.put(first)
                time.sleep(_SOON)
            except queue.Empty:
                pass
            with contextlib.suppress(ServerError):  # they go with the session
                self._ask({"op": "ping", "free": self._take_unused()})

    def _ask(
        self,
        message: dict[str, Any],
        *chunks: bytes,
        timeout: float | None = None,
        again: bool = True,
    ) -> Reply:
        end = None if timeout is None else time.monotonic() + timeout

        def talk(link: AnyLink) -> Reply:
            link.send(message, chunks)
            self.await_answer(link, end)
            reply, body = link.receive()
            return reply, bytes(body)

        return self.exchange(talk, again)

    def _secured(self, sock: socket.socket) -> ssl.SSLSocket:
        folder = self._certificates or Path("~/.config/jfi/tls").expanduser()
        files = Certificates.in_folder(folder)
        context = ssl.create_default_context(cafile=os.fspath(files.ca))
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(files.cert, files.key)
            return context.wrap_socket(sock, server_hostname=self.address.host)
        except ssl.SSLError as error:
            raise ServerError(f"no TLS with {self.address} ({error})") from error


def _program(reply: dict[str, Any], body: bytes) -> tuple[str, bytes] | None:
    match reply:
        case {"is": "program", "program": str(program)}:
            return program, body
        case {"is": "unknown"}:
            return None
        case _:
            raise ServerLost(f"the server refuses: {reply.get('reason', reply)}")
