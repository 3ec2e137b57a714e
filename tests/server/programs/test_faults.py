"""What may go wrong with a server: each fault is made to happen.

What may go wrong with its clients: test_lost_clients.py.
"""

import json
import os
import random
import re
import signal
import socket
import struct
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from jfi_server import client as of_client, control
from jfi_server.__main__ import main
from jfi_server.errors import NotKept, ServerLost
from jfi_server.transport import LARGEST_FRAME
from jfi_server.watch import shorten

from ..conftest import ONES, later, runs, wait_until, works


def raw(servers):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(servers.folder / "socket"))
    sock.settimeout(30)
    return sock


def stopped(process):
    """Stop a process, as Ctrl-Z does; wait until all of its threads stand still."""
    process.suspend()
    threads = [f"/proc/{process.pid}/task/{t.id}/stat" for t in process.threads()]

    def still():
        return all(
            Path(path).read_text().rpartition(") ")[2][0] == "T" for path in threads
        )

    wait_until(still)


# ------------------------------------------------------------ what comes over the wire


def test_the_length_of_a_frame_takes_no_memory(servers, client):
    process = psutil.Process(servers.status()["pid"])
    before = process.memory_info()
    with raw(servers) as one, raw(servers) as other, raw(servers) as third:
        one.sendall(struct.pack("!iQ", -1, 4_200_000_000))
        other.sendall(struct.pack("!i", 2**31 - 1))
        # Allowed, and never coming.
        third.sendall(struct.pack("!i", LARGEST_FRAME))
        assert one.recv(1) == b""
        assert other.recv(1) == b""
        assert works(client)
        after = process.memory_info()
    assert after.rss - before.rss < 50e6
    assert after.vms - before.vms < 1e9


def test_random_frames_never_stop_it(servers, client):
    numbers = random.Random(7)
    for i in range(300):
        content = numbers.randbytes(numbers.randrange(200))
        if i % 3 == 0:
            content = struct.pack("!i", len(content)) + content
        elif i % 3 == 1:
            header = b'{"op":"%s","key":3}' % numbers.choice([b"run", b"hello", b"x"])
            content = struct.pack("<I", len(header)) + header + content
            content = struct.pack("!i", len(content)) + content
        with raw(servers) as sock:
            sock.sendall(content)
        if i % 100 == 0:
            assert works(client)
    assert works(client)
    servers.client().run("double", [ONES])  # a new connection
    assert len(servers.log()) < 200_000
    process = psutil.Process(servers.status()["pid"])
    wait_until(lambda: process.num_threads() < 20)


def test_a_client_that_sends_half_a_message_holds_up_nobody(servers, client):
    with raw(servers) as sock:
        sock.sendall(struct.pack("!i", 100) + b"half")
        assert works(client)


def test_more_connections_than_files(servers):
    servers.start(files=60)
    socks = [raw(servers) for _ in range(100)]
    for sock in socks:
        sock.close()
    client = servers.client()
    assert wait_until(lambda: works(client))


def test_the_log_is_bounded(servers, client, tmp_path):
    line = "a line of a library that says much\n"
    log = servers.folder / "log"
    with open(log, "a") as file:
        file.write(line * 40_000)
    wait_until(lambda: log.stat().st_size < 300_000)
    assert servers.log().startswith(line)
    with raw(servers) as sock:
        sock.sendall(struct.pack("!i", 1) + b"x")
    wait_until(lambda: "is dropped" in servers.log())
    assert servers.log().count("\0") == 0

    short = tmp_path / "short"
    short.write_text(line)
    shorten(short)
    assert short.read_text() == line


# ------------------------------------------------------------ a server that is silent


def test_clients_wait_for_a_few_seconds():
    assert of_client._LISTEN + of_client.PATIENCE < 6


def test_a_stopped_server_is_left(servers, impatient, client):
    client.run("double", [ONES])
    process = psutil.Process(servers.status()["pid"])
    stopped(process)
    start = time.monotonic()
    with pytest.raises(ServerLost, match="does not answer"):
        client.run("double", [ONES])
    assert time.monotonic() - start < 4
    # Not asked again: neither on a kept connection nor on a new one.
    start = time.monotonic()
    for _ in range(3):
        with pytest.raises(ServerLost, match="does not answer"):
            client.run("double", [ONES])
    assert time.monotonic() - start < 1
    process.resume()
    assert works(servers.client())


def test_a_server_that_is_stopped_during_a_call(servers, impatient, client):
    process = psutil.Process(servers.status()["pid"])
    thread, found = later(client.run, "forever", [ONES])
    runs(servers)
    stopped(process)
    thread.join(30)
    assert "does not answer" in str(found[0])
    process.resume()


def test_a_stopped_server_takes_no_long_message(servers, impatient, client):
    """More than the socket holds: the client would wait while it writes."""
    client.run("double", [ONES])
    process = psutil.Process(servers.status()["pid"])
    stopped(process)
    with pytest.raises(ServerLost, match="does not answer"):
        client.run("double", [np.ones(1)] * 60_000)
    process.resume()


def test_a_stopped_server_can_be_ended(servers):
    process = servers.start()
    stopped(psutil.Process(process.pid))
    done = servers.command("stop")
    assert done.stdout == f"stopped: process {process.pid}\n"
    assert process.wait(10) == -signal.SIGKILL


def test_the_status_of_a_stopped_server_is_told(servers, monkeypatch, capsys):
    monkeypatch.setattr(control, "_ANSWER", 0.5)
    process = psutil.Process(servers.start().pid)
    stopped(process)
    assert main(["status"]) == 0
    assert "it does not answer" in capsys.readouterr().out
    assert main(["status", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["pid"] == process.pid
    assert main(["list"]) == 2
    process.resume()


def test_a_busy_server_ends_at_once(servers, client):
    threads = [later(client.run, "forever", [ONES])[0] for _ in range(3)]
    runs(servers, 3)
    start = time.monotonic()
    done = servers.command("stop")
    assert time.monotonic() - start < 2.5  # as a process of its own
    assert "stopped: process" in done.stdout
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


# ------------------------------------------------------------ a server that ends


def test_a_server_that_is_killed_during_a_call(servers):
    process = servers.start()
    client = servers.client()
    thread, found = later(client.run, "forever", [ONES])
    runs(servers)
    process.kill()
    thread.join(30)
    assert isinstance(found[0], ServerLost)
    assert re.search("no server runs|ended", str(found[0]))
    process.wait()
    servers.start()
    assert works(client)


def test_connections_are_renewed_after_a_restart(servers):
    process = servers.start()
    client = servers.client()
    # Several are kept.
    threads = [later(client.run, "slowly", [ONES])[0] for _ in range(3)]
    runs(servers, 3)
    for thread in threads:
        thread.join()
    process.terminate()
    process.wait()
    process = servers.start()
    assert works(client)
    assert works(client)
    process.terminate()
    process.wait()
    servers.start()
    client.load("echo")
    wait_until(lambda: "echo" in servers.loads())


def test_a_program_that_crashes_the_server(servers, client):
    servers.keep("it", "crashing")
    with pytest.raises(ServerLost):
        client.run("it", [ONES])
    servers.start()
    assert works(client)


def test_a_program_that_crashes_while_it_is_loaded_is_left_out(servers):
    process = servers.start()
    client = servers.client()
    for key in ("a", "b", "c"):
        servers.keep(key, "double")
        client.run(key, [ONES])
    servers.keep("b", "crashing at load")
    process.terminate()
    process.wait()
    assert servers.begin().wait(30) == -signal.SIGABRT
    servers.start()
    wait_until(lambda: servers.status()["programs"] >= 1)
    assert works(client)
    assert "b" not in servers.loads()[-2:]


# ------------------------------------------------------------ a program that fails


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("exhausted", "RuntimeError: RESOURCE_EXHAUSTED"),
        ("exiting", "SystemExit: 3"),
        ("missing", "KeyError: 'a key of its own'"),
    ],
)
def test_what_fails_in_the_server_is_not_the_callers_error(key, reason, client):
    with pytest.raises(ServerLost, match=reason):
        client.run(key, [ONES])
    assert works(client)


def test_a_result_that_can_not_be_sent(servers, client):
    servers.keep("objects")
    with pytest.raises(ServerLost, match="an array of object can't be sent"):
        client.run("objects", [ONES])
    assert works(client)


def test_a_full_or_read_only_folder_stops_nothing(servers, client):
    """What is loaded can't be written down, nor can the log."""
    for name in ("loaded.new", "loaded"):
        (servers.folder / name).unlink(missing_ok=True)
        (servers.folder / name).mkdir()
    assert works(client)
    with pytest.raises(NotKept):
        client.run("nothing", [ONES])
    assert os.path.isdir(servers.folder / "loaded")
