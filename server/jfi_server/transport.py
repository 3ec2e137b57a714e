"""Frames of bytes over rpyc: one handler of our own, and nothing else to reach.

rpyc's remote objects, attribute access, calls and pickling are not served. Its
compression (slow for arrays), its copying of large writes, and its limit of 30 seconds
for an answer are left out.
"""

import contextlib
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from rpyc.core import consts
from rpyc.core.channel import Channel
from rpyc.core.protocol import Connection
from rpyc.core.service import Service
from rpyc.core.stream import SocketStream
from rpyc.utils.factory import connect_channel

from .protocol import NotServed, Reply, Request, decode, encode


_HANDLE_MESSAGE = 100  # rpyc's own handlers have lower numbers


class _Stream(SocketStream):  # type: ignore[misc]
    __slots__ = ()

    def socket(self) -> socket.socket:
        """The socket.

        Raises:
            EOFError: It is closed.
        """
        if self.closed:
            raise EOFError("the connection is closed")
        return cast("socket.socket", self.sock)

    def write(self, data: bytes) -> None:
        try:
            self.socket().sendall(data)
        except OSError as error:
            self.close()
            raise EOFError(error) from error

    def read(self, count: int) -> Any:
        buffer = bytearray(count)
        view, done = memoryview(buffer), 0
        while done < count:
            try:
                received = self.socket().recv_into(view[done:])
            except OSError as error:
                self.close()
                raise EOFError(error) from error
            if not received:
                self.close()
                raise EOFError("the connection was closed")
            done += received
        return bytes(buffer)


class _Connection(Connection):  # type: ignore[misc]
    @classmethod
    def _request_handlers(cls) -> dict[int, Callable[..., Any]]:
        own = super()._request_handlers()
        kept = {code: own[code] for code in (consts.HANDLE_PING, consts.HANDLE_CLOSE)}
        return kept | {_HANDLE_MESSAGE: cls._handle_message}

    def _handle_message(self, frame: bytes) -> bytes:
        root: Any = self._local_root
        answer: bytes = root.answer(frame)
        return answer


class _Client(Service):  # type: ignore[misc]
    _protocol = _Connection

    def answer(self, frame: bytes) -> bytes:
        raise NotServed("a client answers no requests")


class _Server(Service):  # type: ignore[misc]
    _protocol = _Connection

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self.answer = answer


_abandoned: list[object] = []


class Link:
    """The client's end of one connection. One thread at a time may use it."""

    def __init__(self, path: Path, *, timeout: int = 10) -> None:
        """Connect to the socket at a path.

        Raises:
            OSError: Nobody listens there.
        """
        self._stream = _Stream.unix_connect(str(path), timeout=timeout)
        self._stream.socket().settimeout(None)
        channel = Channel(self._stream, compress=False)
        self._connection = _connect(channel, _Client())

    def request(self, message: Request, *, timeout: float | None = None) -> Reply:
        """Send a message and wait for the answer, for as long as it takes.

        Raises:
            EOFError: The server is gone.
            TimeoutError: There was no answer within `timeout` seconds.
        """
        frame = encode(message)
        pending = self._connection.async_request(
            _HANDLE_MESSAGE, frame, timeout=timeout
        )
        answer: Any = pending.value
        return cast("Reply", decode(answer))

    def peer(self) -> int | None:
        """The process id of the server, where the system tells it."""
        credentials = _credentials(self._stream.socket())
        return credentials and credentials[0]

    def close(self) -> None:
        """Hang up at once: rpyc's own close would wait for the server to answer."""
        self._stream.close()
        with contextlib.suppress(EOFError, OSError):
            self._connection.close()

    def abandon(self) -> None:
        """Close this process's copy of a connection which belongs to its parent."""
        # rpyc's close would shut it down for the parent too, or wait for a lock which
        # no thread of this process will release: so the connection is not collected.
        _abandoned.append(self._connection)
        if not self._stream.closed:
            os.close(self._stream.socket().detach())


def serve(sock: socket.socket, answer: Callable[[bytes], bytes]) -> None:
    """Answer the frames of one connection until it ends; other users' are refused."""
    credentials = _credentials(sock)
    if credentials is not None and credentials[1] != os.getuid():
        sock.close()
        return
    channel = Channel(_Stream(sock), compress=False)
    with contextlib.suppress(EOFError, OSError):
        _connect(channel, _Server(answer)).serve_all()


def _connect(channel: Channel, service: Service) -> Connection:
    # rpyc says that it wants a class here; it takes an instance as well.
    return cast("Connection", connect_channel(channel, cast("Any", service)))


def _credentials(sock: socket.socket) -> tuple[int, int] | None:
    """The process id and user id of the peer, where the system tells them."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    fields = struct.Struct("3i")
    pid, uid, _ = fields.unpack(sock.getsockopt(socket.SOL_SOCKET, option, fields.size))
    return pid, uid
