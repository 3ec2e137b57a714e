"""The connection: frames for our own handler, and nothing else to reach."""

import os
import socket
import threading

import pytest
import rpyc
from jfi_server.environment import difference, environment
from jfi_server.protocol import Call, NotServed, Refused, Status, decode, encode
from jfi_server.transport import Link, serve
from rpyc.core import consts
from rpyc.core.channel import Channel


@pytest.fixture
def listener(tmp_path):
    """A socket whose clients are answered with their own frame."""
    path = f"/tmp/jfi-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        try:
            listener.listen()
            thread = threading.Thread(target=accept, args=(listener,), daemon=True)
            thread.start()
            yield path
        finally:
            os.unlink(path)
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def accept(listener):
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=serve, args=(client, bytes), daemon=True).start()


@pytest.mark.parametrize("size", [0, 1, 2**16, 2**20 + 1, 5 * 10**7])
def test_frames_of_any_length(listener, size):
    link = Link(listener)
    try:
        sent = Call("key", (), os.urandom(min(size, 1000)) * (size // 1000 + 1))
        assert link.request(sent) == sent
        assert link.peer() == os.getpid()
    finally:
        link.close()


def test_nothing_of_rpyc_is_served(listener):
    stream = rpyc.SocketStream(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    stream.sock.connect(listener)
    connection = rpyc.utils.factory.connect_channel(Channel(stream, compress=False))
    try:
        assert connection.ping(timeout=5) is None
        for name in (
            "GETROOT", "GETATTR", "CALL", "CALLATTR", "PICKLE", "INSPECT", "SETATTR",
            "DEL", "DIR", "BUFFITER", "OLDSLICING", "INSTANCECHECK", "CTXEXIT",
        ):  # fmt: skip
            code = getattr(consts, f"HANDLE_{name}")
            with pytest.raises(Exception, match=str(code)):  # no such handler
                connection.sync_request(code, "x", "y")
    finally:
        connection.close()


def test_other_users_are_refused(monkeypatch):
    one, other = socket.socketpair(socket.AF_UNIX)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    serve(one, bytes)
    with other:
        assert other.recv(1) == b""  # closed at once


def test_a_closed_peer_is_an_end_of_file(listener):
    link = Link(listener)
    link.close()
    with pytest.raises(EOFError):
        link.request(Status())


def test_a_silent_peer_times_out(tmp_path):
    path = f"/tmp/jfi-test-silent-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        try:
            listener.listen()
            link = Link(path)
            with pytest.raises(TimeoutError):
                link.request(Status(), timeout=0.1)
            link.close()
        finally:
            os.unlink(path)


def test_the_answers_take_as_long_as_they_take(monkeypatch):
    """rpyc gives up after 30 seconds unless it is told not to."""
    monkeypatch.setitem(rpyc.core.protocol.DEFAULT_CONFIG, "sync_request_timeout", 0.1)
    one, other = socket.socketpair(socket.AF_UNIX)
    path = f"/tmp/jfi-test-slow-{os.getpid()}"
    one.close(), other.close()

    def slow(frame):
        threading.Event().wait(0.5)
        return frame

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        try:
            listener.listen()
            link = Link(path)
            client, _ = listener.accept()
            thread = threading.Thread(target=serve, args=(client, slow), daemon=True)
            thread.start()
            assert link.request(Status()) == Status()
            link.close()
            thread.join()
        finally:
            os.unlink(path)


def test_messages_survive_the_way():
    for message in (
        Status(),
        Refused("why", for_ever=True),
        Call("k", (("a", 1),), b"x"),
    ):
        assert decode(encode(message)) == message


def test_a_frame_too_long_is_refused(monkeypatch):
    monkeypatch.setattr("jfi_server.protocol.LONGEST_FRAME", 100)
    with pytest.raises(NotServed, match="4 GB"):
        encode(Call("k", (), b"x" * 100))


def test_environments_are_compared_in_words():
    here = environment()
    assert difference(here, dict(here)) is None
    assert {"python", "jax", "jaxlib", "numpy", "backend", "XLA_FLAGS"} <= set(here)
    assert difference({**here, "jax": "0.1"}, here) == (
        f"the server has jax {here['jax']!r}, this process '0.1'"
    )
