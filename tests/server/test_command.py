"""The command `jfi-server`, and what is safe about the process that it starts."""

import os
import signal
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from jfi_server.__main__ import ask, main
from jfi_server.paths import server_folder
from jfi_server.protocol import Status

from jfi._errors import ServerError


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def test_a_life(stopped_server, capsys):
    """Slow: four processes import JAX. What starts none is called in this one."""
    server = stopped_server

    def called(word):
        code = main([word, "--dir", str(server.folder)])
        return code, capsys.readouterr().out

    assert called("status") == (1, f"not running in {server.folder}\n")
    assert called("stop")[1] == f"not running in {server.folder}\n"

    started = server.command("start")
    assert started.returncode == 0, started.stderr + server.log()
    pid = server.report().pid
    assert started.stdout == f"started: process {pid}, {server.folder}/socket\n"

    again = server.command("start")
    assert again.returncode == 0
    assert again.stdout == f"already running: process {pid}, {server.folder}/socket\n"

    code, status = called("status")
    assert code == 0
    assert f"running: process {pid}\n" in status
    assert "functions: 0, compiled 0 times\ncalls: 0" in status

    second = server.command("run")
    assert second.returncode == 2
    assert "a server is already running in" in second.stderr
    assert "jfi-server stop" in second.stderr

    # Closed to others, and nothing on the network.
    process = psutil.Process(pid)
    assert [c for c in process.net_connections("all") if c.family != 1] == []
    assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700
    for path in server.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path

    stopped = server.command("stop")
    assert (stopped.returncode, stopped.stdout) == (0, f"stopped: process {pid}\n")
    psutil.wait_procs([process], timeout=10)
    assert not process.is_running()
    assert not (server.folder / "socket").exists()


def test_two_starts_at_once_give_one_server(stopped_server):
    with ThreadPoolExecutor() as pool:
        one, other = pool.map(lambda _: stopped_server.command("start"), range(2))
    assert one.returncode == other.returncode == 0
    pid = stopped_server.report().pid
    assert f"process {pid}," in one.stdout
    assert f"process {pid}," in other.stdout
    # The loser has ended, or is about to.
    wait_until(lambda: len(servers_in(stopped_server.folder)) == 1)


def servers_in(folder):
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "run" in words and str(folder) in words:
            found.append(process)
    return found


def test_a_killed_server_leaves_nothing_in_the_way(stopped_server):
    assert stopped_server.command("start").returncode == 0
    killed = stopped_server.report().pid
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: stopped_server.report() is None)
    assert (stopped_server.folder / "socket").exists()
    assert stopped_server.command("start").returncode == 0
    assert stopped_server.report().pid != killed


def test_in_the_foreground_until_a_signal(stopped_server):
    words = [sys.executable, "-m", "jfi_server", "run", "--dir"]
    process = subprocess.Popen(
        [*words, str(stopped_server.folder)], stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until(lambda: stopped_server.report() is not None)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert f"serves {stopped_server.folder}/socket" in said
    assert not (stopped_server.folder / "socket").exists()


@pytest.mark.parametrize("command", ["run", "start", "stop", "status"])
def test_an_open_folder_is_refused(command, tmp_path, capsys):
    tmp_path.chmod(0o755)
    assert main([command, "--dir", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"the folder {tmp_path} is open to other users (mode 755)" in said
    assert f"chmod 700 {tmp_path}" in said


def test_a_folder_of_somebody_else_is_refused(tmp_path, capsys, monkeypatch):
    tmp_path.chmod(0o700)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert main(["start", "--dir", str(tmp_path)]) == 2
    assert "belongs to another user" in capsys.readouterr().err


def test_a_link_is_no_folder(tmp_path, capsys):
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(target)
    assert main(["start", "--dir", str(tmp_path / "link")]) == 2
    assert "is not a folder" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["start", "--dir", str(tmp_path / "file" / "sub")]) == 2
    assert "can't be created" in capsys.readouterr().err


def test_a_path_too_long_for_a_socket(tmp_path, capsys):
    assert main(["start", "--dir", str(tmp_path / ("x" * 120))]) == 2
    assert "too long for a socket" in capsys.readouterr().err


def test_where_the_folder_is(tmp_path, monkeypatch):
    monkeypatch.delenv("JFI_SERVER_DIR", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert server_folder() == tmp_path / "jfi"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert server_folder() == tmp_path / "cache" / "jfi"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert server_folder() == tmp_path / ".cache" / "jfi"
    monkeypatch.setenv("JFI_SERVER_DIR", str(tmp_path / "own"))
    assert server_folder() == tmp_path / "own"
    assert server_folder(str(tmp_path / "chosen")) == tmp_path / "chosen"


def test_a_folder_that_was_opened_later_is_not_trusted(stopped_server):
    assert stopped_server.command("start").returncode == 0
    stopped_server.folder.chmod(0o750)
    try:
        with pytest.raises(ServerError, match="open to other users"):
            ask(stopped_server.folder, Status())
    finally:
        stopped_server.folder.chmod(0o700)
