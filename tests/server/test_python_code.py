"""Python functions on another machine: `remote`, `--allow-code`."""

import os
import threading
import time

import numpy as np
import pytest
from jfi_server import control

import jfi as jnp
from jfi import RemoteError

from .conftest import free_port
from .test_remote import a_server, folder


@pytest.fixture(scope="module")
def module_base(tmp_path_factory):
    return tmp_path_factory.mktemp("base", numbered=True)


@pytest.fixture(scope="module")
def shared(module_base):
    with a_server(module_base, None, "--allow-code") as url:
        yield url


def pid_of(base):
    return control.ask(folder(base), "status")["pid"]


def test_a_function_runs_there_with_all_kinds_of_arguments(shared, module_base):
    offset = 3

    def where(x, *, text):
        import os

        return os.getpid(), x + offset, text.upper()

    pid, x, text = jnp.remote(shared)(where)(np.ones(2), text="a")
    assert pid == pid_of(module_base) != os.getpid()
    assert x.tolist() == [4, 4]
    assert text == "A"
    x = jnp.remote(shared)(lambda x: jnp.sin(x))(jnp.ones(2))
    np.testing.assert_array_equal(x, jnp.sin(jnp.ones(2)))


def test_the_users_error_comes_back_with_its_type_and_its_place(shared):
    class MineError(ValueError):
        pass

    def fails(x):
        raise MineError(f"no {x}")

    with pytest.raises(ValueError, match="no 7") as caught:
        jnp.remote(shared)(fails)(7)
    assert type(caught.value).__name__ == "MineError"
    assert "in fails" in caught.value.__notes__[0]

    def holds_a_lock():
        raise ValueError(threading.Lock())

    with pytest.raises(RuntimeError, match="ValueError: <unlocked"):
        jnp.remote(shared)(holds_a_lock)()


def test_a_function_is_sent_once_and_again_after_an_edit(shared, monkeypatch):
    from jfi_server._remote_client import RemoteClient

    sent, call = [], RemoteClient.call

    def noted(self, name, code, data, again):
        sent.append(bool(code))
        return call(self, name, code, data, again)

    monkeypatch.setattr(RemoteClient, "call", noted)

    def make(factor):
        def scale(x):
            return x * factor

        return scale

    assert [jnp.remote(shared)(make(5))(k) for k in (1, 2)] == [5, 10]
    assert sent == [False, True, False]
    sent.clear()
    assert jnp.remote(shared)(make(6))(2) == 12
    assert sent == [False, True]


def test_without_the_owners_word_nothing_is_unpickled(tmp_path):
    class Payload:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "owned"),)

    with a_server(tmp_path) as url:
        with pytest.raises(RemoteError, match=r"no result: the owner of the server"):
            jnp.remote(url)(len)(Payload())
        pid = pid_of(tmp_path)
        with open(f"/proc/{pid}/maps") as maps:
            assert "cloudpickle" not in maps.read()
    assert not (tmp_path / "owned").exists()


def test_a_call_that_was_cut_off_is_repeated_if_it_says_so_alone(tmp_path, monkeypatch):
    # No second connection meanwhile, which would be cut as well.
    monkeypatch.setattr("jfi_server.client._LISTEN", 30.0)
    mark = tmp_path / "mark"

    def ends(mark):
        import os

        with open(mark, "a") as file:
            file.write("x")
        if os.stat(mark).st_size < 2:
            import gc
            import socket

            for x in gc.get_objects():
                if isinstance(x, socket.socket) and x.type == socket.SOCK_STREAM:
                    try:
                        x.getpeername()
                        x.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
        return os.stat(mark).st_size

    with a_server(tmp_path, None, "--allow-code") as url:
        with pytest.raises(RemoteError, match="no result: the server ended during"):
            jnp.remote(url)(ends)(str(mark))
        assert mark.read_text() == "x"
        mark.unlink()
        assert jnp.remote(url, pure=True)(ends)(str(mark)) == 2


def test_no_server_the_line_to_write(monkeypatch):
    monkeypatch.delenv("JFI_SERVER", raising=False)
    with pytest.raises(RemoteError, match=r"Write jfi\.remote\(.ssh://gpu-box.\)"):
        jnp.remote()(len)([])
    start = time.monotonic()
    with pytest.raises(RemoteError, match=r"gave no result: no server runs"):
        jnp.remote(f"rpyc://127.0.0.1:{free_port()}")(len)([])
    assert time.monotonic() - start < 5
    with pytest.raises(ValueError, match="no address"):
        jnp.remote("gpu-box")
