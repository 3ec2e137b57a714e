"""Messages and arrays between two ends of a connection, and what is no message."""

import fcntl
import json
import os
import socket
import struct
import tempfile
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from jfi_server.arrays import LARGE, copied, pack, unpack
from jfi_server.errors import BadMessageError
from jfi_server.transport import LARGEST_FRAME, Link, connect


@pytest.fixture
def ends():
    one, other = (Link(sock) for sock in socket.socketpair())
    yield one, other
    one.close()
    other.close()


def sent(arrays, ends):
    """What arrives at the other end."""
    one, other = ends
    message, chunks = pack(arrays, one)
    one.send(message, chunks)
    return unpack(*other.receive(), other)


NUMBERS = np.arange(24).reshape(4, 6)
LARGE_NUMBERS = np.arange(LARGE).reshape(4, -1)
TYPES = [*"?bhilBHILefdFD", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("numbers", [NUMBERS, LARGE_NUMBERS])
def test_arrays_arrive_with_their_type_and_shape(numbers, dtype, ends):
    array = (numbers % 7).astype(dtype)
    (found,) = sent([array], ends)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    "array",
    [
        NUMBERS.T, NUMBERS[::-1, ::2], LARGE_NUMBERS.T, LARGE_NUMBERS[:, ::3],
        np.array(3.5), np.zeros((0, 3)), np.zeros((5, 0)), NUMBERS.astype(">i4"),
        LARGE_NUMBERS.astype(">f8"), np.broadcast_to(1.0, (100, 100)),
    ],
    ids=str,
)  # fmt: skip
def test_arrays_of_any_layout_arrive(array, ends):
    (found,) = sent([array], ends)
    assert found.shape == array.shape
    assert found.dtype == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found, array)


def test_many_arrays_arrive_in_order(ends):
    arrays = [np.full(length, length) for length in [*range(300), 9000, 3, 5000]]
    for found, array in zip(sent(arrays, ends), arrays, strict=True):
        np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    "array",
    [np.array([object()]), np.array(["a"]), np.zeros(2, "M8[s]"), np.void(b"a")],
)
def test_what_holds_no_numbers_is_refused(array, ends):
    with pytest.raises(TypeError, match="can't be sent"):
        pack([np.asarray(array)], ends[0])


def test_large_arrays_use_the_same_memory_again(ends):
    one, _ = ends
    sent([np.ones(200_000)], ends)
    name = one.arena.name()
    sent([np.ones(150_000), np.ones(20_000)], ends)
    assert one.arena.name() == name
    big = np.arange(1_000_000.0)
    np.testing.assert_array_equal(sent([big], ends)[0], big)
    assert one.arena.name() != name


def test_the_arena_of_a_message_is_not_writable(ends):
    (found,) = sent([np.ones(100_000)], ends)
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 2


def test_a_copy_lies_where_xla_can_read_it(ends):
    (found,) = sent([np.arange(100_003, dtype=np.int8)], ends)
    copy = copied(found)
    assert copy.ctypes.data % 64 == 0
    sent([np.zeros(100_003, np.int8)], ends)
    np.testing.assert_array_equal(copy, np.arange(100_003, dtype=np.int8))
    copy[0] = 1


def test_closed_ends_leave_no_open_files():
    def cycle():
        one, other = (Link(sock) for sock in socket.socketpair())
        sent([np.ones(100_000)], (one, other))
        one.close()
        other.close()

    cycle()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        cycle()
    assert len(os.listdir("/proc/self/fd")) == before


def test_more_memory_than_there_is_can_not_be_had(ends):
    one, _ = ends
    with pytest.raises(MemoryError, match="more than this machine has free"):
        one.arena.reserve(1 << 48)
    np.testing.assert_array_equal(sent([LARGE_NUMBERS], ends)[0], LARGE_NUMBERS)


def test_clients_stand_in_line():
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,
        socket.socket(socket.AF_UNIX) as listener,
    ):
        listener.bind(f"{folder}/socket")
        listener.listen(0)
        first = connect(Path(folder), 10)
        with pytest.raises(BlockingIOError):  # nobody accepts
            connect(Path(folder), 0.1)
        thread = threading.Timer(0.3, lambda: listener.accept()[0].close())
        thread.start()
        second = connect(Path(folder), 10)
        thread.join()
        first.close()
        second.close()


# ------------------------------------------------------------ what is no message


def frame(header, body=b""):
    return struct.pack("<I", len(header)) + header + body


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"abc",
        frame(b"{"),
        frame(b"[1]"),
        frame(b"7"),
        frame(b"\xff\xfe"),
        frame(b"[" * 200_000),
        struct.pack("<I", 2**32 - 1),
    ],
    ids=lambda c: repr(c[:9]),
)
def test_what_is_no_message_is_refused(content):
    one, other = socket.socketpair()
    link = Link(one)
    with other:
        other.sendall(struct.pack("!i", len(content)) + content)
        with pytest.raises(BadMessageError):
            link.receive()
    link.close()


@pytest.mark.parametrize(
    "length",
    [struct.pack("!i", LARGEST_FRAME + 1), struct.pack("!iQ", -1, 4_200_000_000)],
    ids=["int", "long"],
)
def test_a_frame_that_says_it_is_too_long_is_refused_at_once(length):
    one, other = socket.socketpair()
    link = Link(one)
    with other:
        other.sendall(length)
        with pytest.raises(OSError, match="bad message length"):
            link.receive()
    link.close()


def test_a_message_that_would_be_too_long_is_not_sent(ends):
    with pytest.raises(BadMessageError, match="too long"):
        ends[0].send({}, [bytes(LARGEST_FRAME)])


GOOD = ["float32", [4], False, 0]


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"arrays": 3},
        {"arrays": [GOOD[:3]]},
        {"arrays": [["object", *GOOD[1:]]]},
        {"arrays": [["dtype", *GOOD[1:]]]},
        {"arrays": [[["float32"], *GOOD[1:]]]},
        {"arrays": [["float32", [5], False, 0]]},
        {"arrays": [["float32", [-4], False, 0]]},
        {"arrays": [["float32", [2**62, 4], False, 0]]},
        {"arrays": [["float32", [0, 2**70], False, 0]]},
        {"arrays": [["float32", ["4"], False, 0]]},
        {"arrays": [["float32", [4], False, -16]]},
        {"arrays": [["float32", [4], False, 1]]},
        {"arrays": [["float32", [4], True, 0]]},
        {"arrays": [["float32", [4], False, 0.5]]},
    ],
    ids=json.dumps,
)
def test_arrays_that_are_not_there_are_refused(said, ends):
    one, other = ends
    one.send(said, [bytes(16)])
    with pytest.raises(BadMessageError):
        unpack(*other.receive(), other)


def memfd(size):
    fd = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    return fd


def test_what_is_no_arena_is_refused(ends, tmp_path):
    """Each of them would block a reader, or end it by a signal."""
    _, other = ends
    reading, writing = os.pipe()
    loose, short, sealed = memfd(4096), memfd(4096), memfd(4096)
    for fd in (short, sealed):
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    path = tmp_path / "file"
    path.write_bytes(bytes(4096))
    with open(path, "rb") as file:
        cases = [
            ([reading, 4096], "smaller"),
            ([file.fileno(), 4096], "mapped"),
            ([file.fileno(), 8192], "smaller"),
            ([short, 8192], "smaller"),
            ([loose, 4096], "not sealed"),
            ([99999, 4096], "opened"),
            ([-1, 4096], "no name"),
            ([sealed, 0], "no name"),
            (["1", 4096], "no name"),
            (None, "no name"),
        ]
        for name, reason in cases:
            with pytest.raises(BadMessageError, match=reason):
                other.theirs.view(name)
    for fd in (reading, writing, loose, short, sealed):
        os.close(fd)


def test_another_user_is_refused(monkeypatch):
    one, other = socket.socketpair()
    monkeypatch.setattr(os, "getuid", lambda: 123456)
    with one, other, pytest.raises(PermissionError, match="another user"):
        Link(one)


def test_a_client_that_leaves_is_seen(ends):
    one, other = ends
    assert not one.hung_up()
    assert not one.wait(0)
    other.close()
    assert one.hung_up()
    with pytest.raises((EOFError, ConnectionError)):
        one.receive()


def test_a_frame_in_pieces_arrives(ends):
    one, other = socket.socketpair()
    link = Link(one)
    content = frame(b'{"a":1}')
    data = struct.pack("!i", len(content)) + content

    def send():
        for byte in data:
            other.sendall(bytes([byte]))

    thread = threading.Thread(target=send)
    thread.start()
    assert link.receive() == ({"a": 1}, b"")
    thread.join()
    link.close()
    other.close()
