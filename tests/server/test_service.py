"""Programs run by key in a server, as a client sees it."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from jfi_server.client import Client
from jfi_server.control import start_server, stop
from jfi_server.environment import digest
from jfi_server.errors import NotKept, ServerLost

from .conftest import ONES, wait_until


def test_a_program_runs_and_is_loaded_once(servers, client):
    for size in (1, 10, 100_000, 2, 300_000):
        array = np.arange(size, dtype=np.float32)
        (found,) = client.run("double", [array])
        np.testing.assert_array_equal(found, 2 * array)
        assert found.flags.writeable
    assert servers.loads() == ["double"]


def test_a_result_stays_when_the_next_one_comes(client):
    first = client.run("double", [np.arange(100_000.0)])[0]
    client.run("double", [np.zeros(100_000)])
    np.testing.assert_array_equal(first, 2 * np.arange(100_000.0))


def test_arguments_may_be_returned_and_be_none_or_many(client):
    assert client.run("echo", []) == []
    arrays = [np.full(i, i) for i in range(2000)]
    for found, array in zip(client.run("echo", arrays), arrays, strict=True):
        np.testing.assert_array_equal(found, array)


def test_a_program_that_is_not_kept(servers, client):
    with pytest.raises(NotKept):
        client.run("later", [ONES])
    servers.keep("later", "double")
    client.load("later")
    wait_until(lambda: servers.loads() == ["later"])
    np.testing.assert_array_equal(client.run("later", [ONES])[0], 2 * ONES)
    assert servers.loads() == ["later"]


def test_one_that_can_not_be_loaded_is_tried_again(servers, client):
    servers.keep("it", "damaged")
    with pytest.raises(ServerLost, match="the entry is damaged"):
        client.run("it", [ONES])
    servers.keep("it", "double")
    assert client.run("it", [ONES])[0][0] == 2


@pytest.mark.parametrize("key", ["../echo", "a/b", "", ".", "x" * 300, "é"])
def test_a_key_is_no_path(key, client):
    with pytest.raises(ServerLost, match="the server ended during the call"):
        client.run(key, [ONES])
    assert client.run("double", [ONES])[0][0] == 2


def test_arrays_of_no_numbers_are_the_callers_error(client):
    with pytest.raises(TypeError, match="an array of object can't be sent"):
        client.run("echo", [np.array([None])])
    assert client.run("double", [ONES])[0][0] == 2


def test_many_clients_make_the_server_load_once(servers, client):
    servers.keep("heavy", "double", loading=0.5)
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(client.run, "heavy", [ONES + i]) for i in range(8)]
        for i, call in enumerate(calls):
            np.testing.assert_array_equal(call.result()[0], 2 * (ONES + i))
    assert servers.loads() == ["heavy"]


def test_threads_get_their_own_results(client):
    def many(seed):
        for i in range(40):
            array = np.full(10 + 4000 * (i % 3), seed * 100.0 + i)
            np.testing.assert_array_equal(client.run("double", [array])[0], 2 * array)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(many, range(8)))


def test_forked_processes_have_connections_of_their_own(servers, client):
    """In a process without JAX, which warns of a fork."""
    code = """
import os
import numpy as np
from jfi_server.client import Client
from jfi_server.environment import digest
from jfi_server.folders import base_folder

client = Client(base_folder(), digest(), base_folder() / "store")

def check(seed):
    for i in range(50):
        array = np.full(5000 * (i % 2) + 3, 1000.0 * seed + i)
        assert (client.run("double", [array])[0] == 2 * array).all()

check(0)
children = []
for seed in (1, 2, 3):
    pid = os.fork()
    if not pid:
        check(seed)
        os._exit(7)
    children.append(pid)
check(4)
assert all(os.waitpid(pid, 0)[1] == 7 << 8 for pid in children)
check(5)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_was_used_least_recently_is_let_go(servers):
    servers.start(memory=250)
    client = servers.client()
    for key in ("a", "b", "c"):
        servers.keep(key, "double")
        client.run("a", [ONES])
        client.run(key, [ONES])
    assert servers.loads() == ["a", "b", "c"]
    client.run("a", [ONES])
    client.run("b", [ONES])  # was let go for c
    assert servers.loads() == ["a", "b", "c", "b"]
    assert servers.status()["bytes"] == 200
    servers.keep("big", "double", bytes=1000)
    client.run("big", [ONES])
    assert servers.status()["programs"] == 1


def test_a_new_server_loads_what_the_last_one_had(servers):
    process = servers.start()
    client = servers.client()
    client.run("echo", [ONES])
    client.run("double", [ONES])
    process.terminate()
    assert process.wait(30) == 0
    servers.start()
    wait_until(lambda: servers.status()["programs"] == 2)
    assert servers.loads() == ["echo", "double"] * 2
    assert client.run("double", [ONES])[0][0] == 2
    assert servers.loads() == ["echo", "double"] * 2


def test_an_idle_server_leaves(servers):
    process = servers.start(idle_timeout=0.4)
    client = servers.client()
    client.run("slowly", [ONES])  # longer than the timeout, and not idle
    assert process.wait(30) == 0
    assert "no call for 0.4 s" in servers.log()
    assert servers.status() is None
    with pytest.raises(ServerLost):
        client.run("double", [ONES])


def test_keys_are_of_the_clients_store(servers, client):
    other = servers.base / "other"
    other.mkdir()
    stranger = servers.client(store=other)
    client.run("double", [ONES])
    with pytest.raises(NotKept):
        stranger.run("double", [ONES])


def test_a_server_of_one_store_refuses_others(servers):
    servers.start(store=servers.store)
    assert servers.client().run("double", [ONES])[0][0] == 2
    stranger = servers.client(store=servers.base / "other")
    for _ in range(2):
        with pytest.raises(ServerLost, match=r"programs of \S+/store alone, not of"):
            stranger.run("double", [ONES])


def test_without_a_server(servers, tmp_path):
    with pytest.raises(ServerLost, match="no server runs in"):
        servers.client().run("double", [ONES])
    with pytest.raises(ServerLost, match="no server runs in"):
        servers.client().load("double")
    nowhere = Client(tmp_path / "nowhere", digest(), tmp_path)
    with pytest.raises(ServerLost, match="no server runs in"):
        nowhere.run("double", [ONES])


def test_a_folder_open_to_others_is_not_used(servers, client):
    servers.folder.chmod(0o755)
    client.close()
    with pytest.raises(ServerLost, match="is open to other users"):
        client.run("double", [ONES])
    servers.folder.chmod(0o700)
    assert client.run("double", [ONES])[0][0] == 2


def test_a_call_may_have_a_limit_of_time(servers, client):
    start = time.monotonic()
    with pytest.raises(ServerLost, match="longer than the timeout"):
        client.run("slowly", [ONES], timeout=0.2)
    assert time.monotonic() - start < 2
    assert client.run("double", [ONES], timeout=60)[0][0] == 2


def test_a_long_call_needs_no_limit(client, monkeypatch):
    """Longer than the time after which signs of life are asked for."""
    monkeypatch.setattr("jfi_server.client._LISTEN", 0.2)
    np.testing.assert_array_equal(client.run("slowly", [ONES])[0], ONES)


def test_calls_run_beside_each_other(client):
    client.run("double", [ONES])
    thread = threading.Thread(target=client.run, args=("slowly", [ONES]))
    thread.start()
    for _ in range(10):
        client.run("double", [ONES])
    assert thread.is_alive()
    thread.join()


def test_the_client_can_start_the_server(servers):
    start_server(servers.base, "--idle-timeout", "300")
    pid = servers.status()["pid"]
    start_server(servers.base)
    assert servers.status()["pid"] == pid
    assert stop(servers.folder) == pid


def test_neither_client_nor_command_import_jax():
    code = """
import sys
import jfi_server.__main__, jfi_server.server
assert "numpy" not in sys.modules
import jfi_server.client
assert not {"jax", "jfi"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
