"""A compilation server of the tests' own, and processes that use it."""

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pytest
from jfi_server.__main__ import ask, main
from jfi_server.protocol import Status

from jfi._errors import LocalFallbackWarning


class Server:
    """A folder for a server, and the command on it."""

    def __init__(self):
        # Not pytest's folder: the path of a socket has to be short.
        self.folder = Path(tempfile.mkdtemp(prefix="jfi", dir="/tmp"))

    def command(self, *words, **environment):
        return subprocess.run(
            [sys.executable, "-m", "jfi_server", *words, "--dir", str(self.folder)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )

    def report(self):
        return ask(self.folder, Status())

    def script(self, path, *words, **environment):
        """Run a script whose persistent functions use this server."""
        return subprocess.run(
            [sys.executable, str(path), *words],
            env={**os.environ, "JFI_SERVER_DIR": str(self.folder), **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )

    def log(self):
        return (self.folder / "log").read_text()

    def close(self):
        main(["stop", "--dir", str(self.folder)])
        shutil.rmtree(self.folder)


@pytest.fixture
def stopped_server():
    """A folder in which no server runs yet."""
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="module")
def server():
    """A running server, for all tests of a module."""
    server = Server()
    started = server.command("start")
    assert started.returncode == 0, started.stdout + started.stderr
    yield server
    server.close()


@pytest.fixture
def client(server, monkeypatch):
    """The running server, used by persistent functions of this process."""
    monkeypatch.setenv("JFI_SERVER_DIR", str(server.folder))
    return server


@pytest.fixture
def fallbacks():
    """The messages of the warnings that a function runs in this process."""

    class Messages(list):
        def __enter__(self):
            self.caught = warnings.catch_warnings(record=True)
            self.warnings = self.caught.__enter__()
            warnings.simplefilter("always", LocalFallbackWarning)
            return self

        def __exit__(self, *error):
            self.caught.__exit__(*error)
            self.extend(str(warning.message) for warning in self.warnings)

    return Messages()
