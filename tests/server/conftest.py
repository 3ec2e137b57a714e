"""Servers of the tests' own, which end with the test."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from jfi_server import control
from jfi_server.client import Client
from jfi_server.environment import digest
from jfi_server.folders import server_folder


FAKE = Path(__file__).with_name("fake_server.py")


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


ONES = np.ones(3, np.float32)


def works(client):
    """Whether the server still serves."""
    return client.run("double", [ONES])[0][0] == 2


def later(action, *args):
    """Run something in a thread; the list gets its result or its exception."""
    found = []

    def run():
        try:
            found.append(action(*args))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


def runs(servers, count=1):
    wait_until(lambda: servers.status()["running"] == count)


@pytest.fixture
def impatient(monkeypatch):
    """Clients wait less for a silent server, so that the tests do."""
    monkeypatch.setattr("jfi_server.client._LISTEN", 0.3)
    monkeypatch.setattr("jfi_server.client.PATIENCE", 0.7)


class Servers:
    """A base folder, a store, and the servers in it."""

    def __init__(self):
        # Not pytest's folder: the path of a socket has to be short.
        self.base = Path(tempfile.mkdtemp(prefix="jfi", dir="/tmp"))
        self.folder = server_folder(self.base, digest())
        self.store = self.base / "store"
        self.store.mkdir()
        self.processes = []

    def keep(self, key, name=None, **about):
        """Put a program into the store."""
        about = {"name": name or key, "source": "here.py:1", "seconds": 2.5, **about}
        (self.store / key).write_text(json.dumps({"bytes": 100, **about}))

    def loads(self):
        """The keys that were loaded, in order."""
        path = self.store / "loads"
        return path.read_text().split() if path.exists() else []

    def start(self, **options):
        """Start a server of fake programs that listens; return its process."""
        process = self.begin(**options)
        wait_until(lambda: self.status() or process.poll() is not None)
        assert process.poll() is None, self.log()
        return process

    def begin(self, **options):
        """Start its process."""
        words = [f"{name}={value}" for name, value in options.items()]
        # The log is a file, as for a server that the command starts.
        self.folder.mkdir(mode=0o700, exist_ok=True)
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen(
                [sys.executable, str(FAKE), str(self.base), *words],
                stdout=log,
                stderr=log,
                # The system sends a hangup to a stopped process whose shell ends.
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def command(self, *words, **environment):
        """Run `jfi-server`, as a shell would."""
        return subprocess.run(
            [sys.executable, "-m", "jfi_server", *words],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )

    def status(self):
        return control.ask(self.folder, "status")

    def client(self, **changed):
        return Client(self.base, digest(), changed.get("store", self.store))

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
        for folder in control.servers(self.base):
            control.stop(folder)
        shutil.rmtree(self.base)


@pytest.fixture
def servers(monkeypatch):
    """A folder in which no server runs yet, with the programs of fake_server.py."""
    servers = Servers()
    monkeypatch.setenv("JFI_SERVER_DIR", str(servers.base))
    for key in (
        "echo",
        "double",
        "forever",
        "slowly",
        "exhausted",
        "exiting",
        "missing",
    ):
        servers.keep(key)
    yield servers
    servers.close()


@pytest.fixture
def client(servers):
    """A client of a running server."""
    servers.start()
    client = servers.client()
    yield client
    client.close()
