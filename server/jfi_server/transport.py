"""Messages: JSON, and bytes that it describes; here over a unix socket.

JSON makes no objects but numbers, texts, lists and dictionaries, so nothing that comes
in can run. Between two processes of one user a message is a frame of
`multiprocessing.connection`: the length of the JSON, the JSON, and the bytes. The same
messages go to another machine over rpyc (`_network`).
"""

import contextlib
import json
import os
import select
import socket
import struct
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from .arenas import Arena, PeerArena
from .errors import BadMessageError
from .folders import open_server_folder


LARGEST_FRAME = 16 << 20
"""In bytes. A frame that says it is longer is refused before memory is taken for it."""

_LENGTH = struct.Struct("<I")
_CREDENTIALS = struct.Struct("3i")
_TIME = struct.Struct("ll")
# As `json.dumps` and `json.loads`, which look at their options in each call.
_write_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_read_json = json.JSONDecoder().raw_decode


class AnyLink(Protocol):
    """One end of a connection, of whatever kind. For one thread at a time."""

    @property
    def arena(self) -> Arena | None:
        """Memory that the other end reads; None: all arrays go in messages."""

    @property
    def theirs(self) -> PeerArena | None:
        """The other end's, as read here."""

    def send(self, message: dict[str, Any], chunks: Sequence[Any] = ()) -> None:
        """Send a message, and bytes that it describes."""

    def receive(self) -> tuple[dict[str, Any], memoryview]:
        """Wait for a message; return it with the bytes that it describes."""
        ...

    def wait(self, seconds: float) -> bool:
        """Wait for something to receive; return whether it came."""
        ...

    def hung_up(self) -> bool:
        """Whether the other end is gone."""
        ...

    def memory(self) -> int:
        """How many bytes it holds between two messages."""
        ...

    def close(self) -> None:
        """Hang up."""


def encoded(message: dict[str, Any]) -> bytes:
    """A message in JSON."""
    return _write_json(message).encode()


def decoded(text: bytes | memoryview) -> dict[str, Any]:
    """The message that a JSON text is; what follows it is left alone.

    Raises:
        BadMessageError: It is none.
    """
    try:
        message: Any = _read_json(str(text, "utf-8"))[0]
    except (ValueError, RecursionError) as error:
        raise BadMessageError(f"no message: {error}") from error
    if not isinstance(message, dict):
        raise BadMessageError(f"a message is a {type(message).__name__}, not a dict")
    return message


class Link:
    """One end of a unix socket, with an arena each way. For one thread at a time."""

    def __init__(self, sock: socket.socket) -> None:
        """Take over a connected socket.

        Raises:
            PermissionError: A process of another user is at the other end.
        """
        self.pid: int = _peer(sock)
        self.arena: Arena = Arena()
        self.theirs: PeerArena = PeerArena(self.pid)
        # A string: before Python 3.14 the class takes no parameters.
        self._connection: "Connection[Any, Any]" = Connection(sock.detach())  # noqa: UP037
        self._arrival = select.poll()
        self._arrival.register(self._connection.fileno(), select.POLLIN)
        self._end = select.poll()
        self._end.register(self._connection.fileno(), select.POLLRDHUP)

    def send(self, message: dict[str, Any], chunks: Sequence[Any] = ()) -> None:
        """Send a message, and bytes that it describes.

        Raises:
            BadMessageError: It is too long.
            OSError: The other end is gone, or takes nothing.
        """
        header = encoded(message)
        # The bytes start at a multiple of 16, so that arrays in them are aligned.
        header += b" " * (-(len(header) + _LENGTH.size) % 16)
        frame = b"".join((_LENGTH.pack(len(header)), header, *chunks))
        if len(frame) > LARGEST_FRAME:
            raise BadMessageError(f"a message of {len(frame)} bytes is too long")
        self._connection.send_bytes(frame)

    def receive(self) -> tuple[dict[str, Any], memoryview]:
        """Wait for a message; return it with the bytes that it describes.

        Raises:
            BadMessageError: Something else came.
            EOFError: The other end is gone.
            OSError: It is gone, or announced a frame that is too long.
        """
        frame = memoryview(self._connection.recv_bytes(LARGEST_FRAME))
        try:
            (length,) = _LENGTH.unpack_from(frame)
        except struct.error as error:
            raise BadMessageError(f"no message: {error}") from error
        start = _LENGTH.size + length
        return decoded(frame[_LENGTH.size : start]), frame[start:]

    def wait(self, seconds: float) -> bool:
        """Wait for something to receive; return whether it came."""
        return bool(self._arrival.poll(seconds * 1000))

    def hung_up(self) -> bool:
        """Whether the other end is gone."""
        return bool(self._end.poll(0))

    def detach(self) -> socket.socket:
        """Close the link; return its socket, for bytes that are other messages."""
        sock = socket.socket(fileno=os.dup(self._connection.fileno()))
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            sock.setsockopt(socket.SOL_SOCKET, option, _TIME.pack(0, 0))
        self.close()
        return sock

    def memory(self) -> int:
        """How many bytes it holds between two messages."""
        return self.arena.size + self.theirs.size

    def close(self) -> None:
        """Hang up."""
        with contextlib.suppress(OSError):
            self._connection.close()
        self.arena.close()
        self.theirs.close()


def connect(folder: Path, patience: float) -> Link:
    """Connect to the server of a folder.

    Args:
        folder: Where a server has its socket.
        patience: Seconds after which a write or a read that has begun is given up.

    Returns:
        The client's end.

    Raises:
        ServerError: The folder is open to other users: who listens may be one.
        OSError: Nobody listens there, or nobody accepts in time.
    """
    opened = open_server_folder(folder, make=False)
    with (
        contextlib.closing(opened),
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock,
    ):
        limit = _TIME.pack(int(patience), int(patience % 1 * 1e6))
        # A stopped server must not hold a client that is in the middle of a frame.
        # `settimeout` would make the socket one that does not wait at all while more
        # clients than the server has accepted stand in line.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        sock.connect(f"{opened.address}/socket")
        return Link(sock)


def _peer(sock: socket.socket) -> int:
    """The process id at the other end, which must be this user's."""
    found = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid: int
    pid, uid, _ = _CREDENTIALS.unpack(found)
    if uid != os.getuid():
        raise PermissionError(f"a process of another user (uid {uid}) is there")
    if pid == 0:
        raise PermissionError("a process of another container is there")
    return pid
