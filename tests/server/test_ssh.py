"""A server through ssh: a command of that name stands for the other machine."""

import os
import sys
import time

import pytest
from jfi_server import control
from jfi_server._remote_client import RemoteClient
from jfi_server.addresses import parsed
from jfi_server.environment import digest
from jfi_server.errors import ServerError, ServerLost
from jfi_server.folders import server_folder

import jfi as jnp

from .conftest import ONES
from .test_persistent_served import state


SSH = """#!/bin/sh
echo "$@" >> {log}
echo $$ >> {log}.pids
case "$*" in *nowhere*) echo "ssh: Could not resolve hostname" >&2; exit 255;; esac
echo Welcome to this machine
for command; do :; done
exec sh -c "$command"
"""

COMMAND = """#!/bin/sh
exec {python} -P -m jfi_server "$@" --dir {base}
"""


class Box:
    """What stands for another machine: its address, and what ssh was told."""

    def __init__(self, folder, base):
        self._log, self.folder = folder / "log", folder
        environment = folder / "venv" / "bin"
        (folder / "path").mkdir()
        environment.mkdir(parents=True)
        self._write(folder / "path" / "ssh", SSH.format(log=self._log))
        command = COMMAND.format(python=sys.executable, base=base)
        self._write(environment / "jfi-server", command)
        self.url = f"ssh://me@gpu-box:2222{folder}/venv"

    def _write(self, path, text):
        path.write_text(text)
        path.chmod(0o755)

    def told(self):
        return self._log.read_text().splitlines()

    def pids(self):
        return [int(pid) for pid in (self.folder / "log.pids").read_text().split()]


@pytest.fixture
def box(servers, monkeypatch, tmp_path):
    box = Box(tmp_path, servers.base)
    monkeypatch.setenv("PATH", f"{tmp_path}/path{os.pathsep}{os.environ['PATH']}")
    return box


@pytest.fixture
def client(box):
    client = RemoteClient(parsed(box.url))
    yield client
    client.close()


def test_programs_go_through_ssh_of_the_user(servers, box, client):
    servers.start()
    key = "a" * 64
    program = client.keep(key, b"record", b"double")
    for _ in range(3):
        assert client.run(program, [ONES])[0][0] == 2
    there = f"{box.folder}/venv/bin/jfi-server bridge"
    assert box.told() == [f"-T -p 2222 -l me -- gpu-box {there}"]


def test_ssh_ends_with_the_client(servers, box, client):
    servers.start()
    assert client.find("a" * 64) is None
    (pid,) = box.pids()
    assert state(pid) in "SR"
    client.close()
    assert state(pid) in "ZX"


def test_a_server_that_ends_is_told(servers, box, client):
    process = servers.start()
    assert client.find("a" * 64) is None
    process.kill()
    process.wait()
    servers.start()
    assert client.find("a" * 64) is None  # through another ssh
    assert len(box.told()) == 2


def test_a_long_call_asks_for_signs_over_one_more_connection(
    servers, box, client, impatient
):
    servers.start()
    program = client.keep("a" * 64, b"", b"slowly")
    for _ in range(3):
        client.run(program, [ONES])
    assert len(box.told()) == 2


def test_what_ssh_says_is_said(box):
    client = RemoteClient(parsed("ssh://nowhere"))
    with pytest.raises(ServerLost, match=r"ssh nowhere: .*not resolve hostname"):
        client.find("a" * 64)
    client = RemoteClient(parsed(f"ssh://gpu-box{box.folder}/other"))
    with pytest.raises(ServerLost, match=r"Name the Python environment there.*ssh://"):
        client.find("a" * 64)


def test_no_ssh_on_this_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerLost, match="ssh can't be started"):
        RemoteClient(parsed("ssh://gpu-box")).find("a" * 64)


@pytest.mark.parametrize(
    "url", ["ssh://-oProxyCommand=id", "ssh://-l@box", "ssh://a:b@box", "ssh://a b"]
)
def test_no_address_is_an_option_of_ssh(url):
    with pytest.raises(ServerError, match="no address"):
        parsed(url)


def test_a_persistent_function_starts_the_server_there(servers, box, monkeypatch):
    """The bridge starts it; the function runs in it, from the first call on."""
    monkeypatch.setenv("JFI_CACHE_DIR", str(box.folder / "cache"))
    run = jnp.persistent(lambda x: x * 3, server=box.url)
    assert run(jnp.ones(2)).tolist() == [3, 3]
    folder = server_folder(servers.base, digest())
    assert control.ask(folder, "status")["calls"] == 1
    start = time.monotonic()
    control.stop(folder)
    monkeypatch.setenv("PATH", str(box.folder))
    with pytest.warns(jnp.LocalFallbackWarning):
        assert run(jnp.ones(2)).tolist() == [3, 3]
    assert time.monotonic() - start < 5
