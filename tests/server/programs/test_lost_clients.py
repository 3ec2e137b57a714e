"""Clients that leave in the middle of a call: each way is made to happen."""

import subprocess
import sys

import numpy as np
import psutil
import pytest
from jfi_server.control import ask
from jfi_server.errors import ServerLost

from ..conftest import ONES, later, runs, wait_until, works


CALL = """
import sys
import numpy as np
from jfi_server.client import Client
from jfi_server.environment import digest
from jfi_server.folders import base_folder
Client(base_folder(), digest(), base_folder() / "store").run(sys.argv[1], [np.ones(3)])
"""


def test_a_client_that_is_killed_leaves_nothing(servers, client):
    process = psutil.Process(servers.status()["pid"])
    works(client)
    files = process.num_fds()
    script = subprocess.Popen([sys.executable, "-c", CALL, "slowly"])
    runs(servers)
    script.kill()
    script.wait()
    runs(servers, 0)
    wait_until(lambda: process.num_fds() <= files)
    assert works(client)
    assert servers.status()["pid"] == process.pid


def test_a_program_that_never_ends_is_ended_with_the_server(servers):
    """The server begins anew, with what it had."""
    servers.start(patience=1)
    client = servers.client()
    client.run("echo", [ONES])
    client.run("double", [ONES])
    before = servers.status()
    script = subprocess.Popen([sys.executable, "-c", CALL, "forever"])
    runs(servers)
    script.kill()
    script.wait()
    # Another client's call, which is cut off and run again.
    thread, found = later(client.run, "slowly", [ONES])

    def anew():
        status = ask(servers.folder, "status")
        return status and status["started"] > before["started"] and status

    wait_until(lambda: "restarts" in servers.log())
    status = wait_until(anew)
    assert status["pid"] == before["pid"]
    wait_until(lambda: servers.status()["programs"] >= 3)
    thread.join(30)
    np.testing.assert_array_equal(found[0][0], ONES)
    assert works(client)
    runs(servers, 0)
    assert {"echo", "double"} <= set(servers.loads()[3:])
    # As it was: it can be ended, and another one can't start beside it.
    assert servers.command("run").returncode == 2
    assert "stopped" in servers.command("stop").stdout


def test_a_call_that_took_too_long_is_dropped(servers):
    servers.start(patience=0.5)
    client = servers.client()
    before = servers.status()["pid"]
    with pytest.raises(ServerLost, match="longer than the timeout"):
        client.run("forever", [ONES], timeout=0.2)
    assert works(client)
    wait_until(lambda: "restarts" in servers.log())
    assert wait_until(lambda: works(client))
    assert servers.status()["pid"] == before


def test_nobody_waits_for_a_program_whose_client_left_while_it_was_loaded(servers):
    servers.start()
    servers.keep("it", "forever", loading=1)
    with pytest.raises(ServerLost):
        servers.client().run("it", [ONES], timeout=0.1)
    wait_until(lambda: servers.status()["programs"] == 1)
    assert servers.status()["running"] == 0


INTERRUPTED = """
import os, signal, threading
import numpy as np
from jfi_server.client import Client
from jfi_server.environment import digest
from jfi_server.folders import base_folder

# A shell that starts processes in the background has them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
client = Client(base_folder(), digest(), base_folder() / "store")
client.run("double", [np.ones(3)])
for _ in range(3):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        client.run("slowly", [np.full(3, 7.0)])
    except KeyboardInterrupt:
        pass
    else:
        raise SystemExit("no Ctrl-C")
    assert client.run("double", [np.ones(3)])[0][0] == 2
"""


def test_ctrl_c_leaves_no_answer_for_the_next_call(servers, client):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], check=False, timeout=60)
    assert done.returncode == 0
