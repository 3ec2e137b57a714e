"""rpyc, locked down: one kind of request, bytes alone, whole buffers.

What stays of rpyc is its protocol: frames, numbered requests and replies, threads. What
goes is all that lets one end use objects of the other: references, attributes, pickles,
exceptions with their classes, and the decompression of what anybody has sent.

A request and its reply are a message each (`transport`): its JSON is what rpyc carries;
the bytes that it describes follow in the same frame, past rpyc's serializer, which
would copy them five times. As it comes, rpyc 6.0.2 takes 100 times the time of a plain
socket for 1 MB, as it compresses what is over 3 000 bytes; and 500 times for 100 MB, as
it copies the rest for each 64 KB.
"""

# pyright: reportIncompatibleMethodOverride=false
# rpyc says nothing of types, and pyright finds narrow ones.

import contextlib
import mmap
import select
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any, Self

from rpyc.core import brine, consts
from rpyc.core.channel import Channel
from rpyc.core.protocol import Connection
from rpyc.core.service import VoidService
from rpyc.core.stream import ClosedFile, SocketStream

from .arenas import available
from .errors import BadMessageError
from .transport import decoded, encoded


EXCHANGE = 100
"""The number of jfi's request among those of rpyc."""

LARGEST_HEADER = 4 << 20
"""In bytes: of the JSON of a message, in rpyc's frame."""

LARGEST_BODY = 2 << 30
"""In bytes: of the arrays of a message, unless the server says otherwise."""

STALL = 5.0
"""Seconds after which an end that stopped in the middle of a frame is given up."""

_PLAIN, _WITH_BODY = 0, 2  # flags of a frame; rpyc's 1 says that it is compressed
_BODY = struct.Struct("!Q")
_TOGETHER = 64 << 10  # bytes that are sent at once
_AT_ONCE = 1 << 20  # bytes for which a send may take as long as it may stall
_KEPT = 256 << 20  # bytes of the buffer that stay for the next message


class WholeStream(SocketStream):
    """A stream that reads into a buffer, and copies nothing that it writes.

    What is short comes by one read: a frame would take five.
    """

    sock: Any

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        sock.settimeout(STALL)
        self._ahead = memoryview(b"")
        self._arrival = select.poll()
        self._arrival.register(sock.fileno(), select.POLLIN)
        # TLS may have decrypted more than was read, which the system does not know.
        self._pending: Callable[[], int] = getattr(sock, "pending", int)

    def wait(self, seconds: float | None) -> bool:
        """Wait for something to read; return whether it came.

        Raises:
            EOFError: The other end is gone.
        """
        if self._ahead:
            return True
        limit = None if seconds is None else max(seconds * 1000, 0)
        if not self._pending() and not self._arrival.poll(limit):
            return False
        try:
            self._ahead = memoryview(self.sock.recv(_TOGETHER))
        except TimeoutError:  # what TLS has to say to itself
            return False
        except OSError as error:
            raise EOFError(str(error)) from error
        if not self._ahead:
            raise EOFError("the other end has hung up")
        return True

    def read_into(self, view: memoryview) -> None:
        """Fill a buffer.

        Raises:
            EOFError: The other end is gone.
            TimeoutError: It stands still.
        """
        if view and self._ahead:
            count = min(len(view), len(self._ahead))
            view[:count], self._ahead = self._ahead[:count], self._ahead[count:]
            view = view[count:]
        try:
            while view:
                count = self.sock.recv_into(view)
                if not count:
                    raise EOFError("the other end has hung up")
                view = view[count:]
        except TimeoutError:
            raise
        except OSError as error:
            raise EOFError(str(error)) from error

    def read(self, count: int) -> bytes:
        """So many bytes."""
        data = bytearray(count)
        self.read_into(memoryview(data))
        return bytes(data)

    def write(self, data: Any) -> None:
        """Send bytes, from where they lie."""
        view = memoryview(data)
        try:
            while view:
                view = view[self.sock.send(view[:_AT_ONCE]) :]
        except TimeoutError:
            raise
        except OSError as error:
            raise EOFError(str(error)) from error

    def close(self) -> None:
        """Close this process's end: rpyc would shut a parent's after a fork, too."""
        with contextlib.suppress(OSError):
            self.sock.close()
        self.sock = ClosedFile


class WholeChannel(Channel):
    """Frames of rpyc, never compressed, each with a body if there is one.

    Attributes:
        outgoing: What the next frame has as its body.
        body: What the last one had: the next one is written over it.
    """

    def __init__(self, stream: WholeStream, largest: int) -> None:
        super().__init__(stream, compress=False)
        self.outgoing: Sequence[Any] = ()
        self.body = memoryview(b"")
        self._largest = largest
        self._buffer: mmap.mmap | None = None

    def poll(self, timeout: Any) -> bool:
        """Wait for a frame to begin; `timeout` is one of rpyc's."""
        return bool(self.stream.wait(timeout.timeleft()))

    def recv(self) -> bytes:
        """The frame that has begun; its body is in `body`.

        Raises:
            BadMessageError: It is compressed, or too long: nothing is taken for it.
        """
        header = self.stream.read(self.FRAME_HEADER.size)
        length, kind = self.FRAME_HEADER.unpack(header)
        if kind not in (_PLAIN, _WITH_BODY):
            raise BadMessageError("compressed frames are not taken")
        if length > LARGEST_HEADER:
            raise BadMessageError(f"a frame of {length} bytes is too long")
        size = 0
        if kind == _WITH_BODY:
            (size,) = _BODY.unpack(self.stream.read(_BODY.size))
        room = self._room(size)
        frame: bytes = self.stream.read(length + len(self.FLUSHER))[:length]
        self.stream.read_into(room)
        self.body = room
        return frame

    def send(self, data: bytes) -> None:
        """Send a frame with what is outgoing."""
        chunks, self.outgoing = self.outgoing, ()
        size = sum(map(len, chunks))
        kind = _WITH_BODY if size else _PLAIN
        head = self.FRAME_HEADER.pack(len(data), kind)
        length = _BODY.pack(size) if size else b""
        first = [head, length, data, b"\n"]
        if size + len(data) <= _TOGETHER:
            self.stream.write(b"".join([*first, *chunks]))
            return
        self.stream.write(b"".join(first))
        for chunk in chunks:
            if len(chunk):
                self.stream.write(chunk)

    def memory(self) -> int:
        """How many bytes the buffer has."""
        return 0 if self._buffer is None else len(self._buffer)

    def _room(self, size: int) -> memoryview:
        """Memory for a body: pages that the system gives when bytes have come."""
        if size > self._largest:
            raise BadMessageError(
                f"a message with {size} bytes of arrays is too long "
                f"(the most is {self._largest})"
            )
        if size == 0:
            return memoryview(b"")
        if self._buffer is None or not size <= len(self._buffer) <= max(_KEPT, size):
            if size > _KEPT and size > available():
                raise BadMessageError(f"{size} bytes are more than there is memory")
            self.body = memoryview(b"")
            self._buffer = mmap.mmap(-1, size)
        return memoryview(self._buffer)[:size]


class LockedConnection(Connection):
    """A connection of rpyc that knows one request, of bytes with bytes."""

    def __init__(self, root: Any, channel: WholeChannel, config: Any = None) -> None:
        # No time limit on a reply: programs are compiled and run meanwhile.
        settings = {**(config or {}), "sync_request_timeout": None}
        super().__init__(root, channel, settings)

    @property
    def channel(self) -> WholeChannel:
        """What brings the messages."""
        channel: WholeChannel = self._channel
        return channel

    @classmethod
    def _request_handlers(cls) -> dict[int, Callable[..., Any]]:
        return {EXCHANGE: cls._exchange}

    def _exchange(self, header: bytes) -> bytes:
        service: Any = self._local_root
        answer: bytes = service.exchange(self, header)
        return answer

    def _dispatch_request(self, seq: int, raw_args: Any) -> None:
        match raw_args:
            case (int(number), (consts.LABEL_VALUE, (bytes(header),))) if (
                number in self._HANDLERS
            ):
                answer = self._HANDLERS[number](self, header)
                self._send(consts.MSG_REPLY, seq, (consts.LABEL_VALUE, answer))
            case _:
                reason = "this server answers requests of jfi alone"
                raised = (("builtins", "PermissionError"), (reason,), (), "")
                self._send(consts.MSG_EXCEPTION, seq, raised)
                raise BadMessageError(f"a request of rpyc: {str(raw_args)[:80]}")

    def _seq_request_callback(self, msg: int, seq: Any, is_exc: bool, obj: Any) -> None:
        if seq not in self._request_callbacks:
            raise BadMessageError("a reply that nobody asked for")
        super()._seq_request_callback(msg, seq, is_exc, obj)

    def _box(self, obj: Any) -> tuple[int, Any]:
        if not brine.dumpable(obj):
            raise TypeError(f"{type(obj).__name__} is not sent: bytes alone are")
        return consts.LABEL_VALUE, obj

    def _unbox(self, package: Any) -> bytes:
        match package:
            case (consts.LABEL_VALUE, bytes(data)):
                return data
            case _:
                raise BadMessageError("the other end sends a reference")

    def _unbox_exc(self, raw: Any) -> BadMessageError:
        return BadMessageError(f"the other end refuses: {str(raw)[:200]}")

    def close(self) -> None:
        """Close it: nothing is asked of the other end, which may stand still."""
        if not self._closed:
            self._cleanup()


class Nothing(VoidService):
    """What a client offers to its server."""


class RpycLink:
    """One end of a connection over rpyc; of messages, as `transport.AnyLink` says."""

    arena = None
    theirs = None

    def __init__(self, connection: LockedConnection) -> None:
        self._connection = connection
        self._reply: Any = None
        self._end = select.poll()
        self._end.register(connection.fileno(), select.POLLRDHUP)

    @classmethod
    def over(cls, sock: socket.socket, largest: int = LARGEST_BODY) -> Self:
        """A client's end of a connected socket."""
        channel = WholeChannel(WholeStream(sock), largest)
        return cls(LockedConnection(Nothing(), channel))

    def send(self, message: dict[str, Any], chunks: Sequence[Any] = ()) -> None:
        """Send a request, and bytes that it describes."""
        self._connection.channel.outgoing = chunks
        self._reply = None
        request: Any = self._connection.async_request(EXCHANGE, encoded(message))
        request.add_callback(self._arrived)

    def wait(self, seconds: float) -> bool:
        """Wait for the reply; return whether it came."""
        if self._reply is None:
            self._serve(seconds)
        return self._reply is not None

    def receive(self) -> tuple[dict[str, Any], memoryview]:
        """The reply, with the bytes that it describes.

        Raises:
            BadMessageError: It is none.
            EOFError: The other end is gone.
            TimeoutError: It stands still in the middle of it.
        """
        while self._reply is None:
            self._serve(None)
        return decoded(self._reply.value), self._connection.channel.body

    def hung_up(self) -> bool:
        """Whether the other end is gone."""
        return bool(self._end.poll(0))

    def memory(self) -> int:
        """How many bytes it holds between two messages."""
        return self._connection.channel.memory()

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _serve(self, seconds: float | None) -> None:
        serve: Any = self._connection.serve
        serve(seconds)

    def _arrived(self, reply: Any) -> None:
        self._reply = reply
