"""The command `jfi-server`, and what is safe about the process that it starts."""

import fcntl
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest
from jfi_server import environment as environment_module
from jfi_server.__main__ import main
from jfi_server.environment import digest, environment
from jfi_server.folders import base_folder, server_folder
from jfi_server.transport import Link

from .conftest import wait_until


def test_a_life(servers):
    """Each command as a process of its own, as in a shell."""
    nothing = f"not running in {servers.folder}\n"
    assert (servers.command("status").returncode, servers.command("stop").stdout) == (
        1,
        nothing,
    )

    started = servers.command("start")
    assert started.returncode == 0, started.stderr
    pid = servers.status()["pid"]
    assert started.stdout == f"started: process {pid}, {servers.folder}/socket\n"
    again = servers.command("start")
    assert again.stdout == f"already running: process {pid}, {servers.folder}/socket\n"

    second = servers.command("run")
    assert second.returncode == 2
    assert "a server is already running in" in second.stderr
    assert "jfi-server stop" in second.stderr

    # Closed to others, and nothing on the network.
    process = psutil.Process(pid)
    assert [c for c in process.net_connections("all") if c.family != 1] == []
    for path in (servers.base, servers.folder, *servers.folder.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path

    stopped = servers.command("stop")
    assert (stopped.returncode, stopped.stdout) == (0, f"stopped: process {pid}\n")
    # Where nobody fetches its exit code, it stays as a zombie.
    assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    assert not (servers.folder / "socket").exists()


def called(capsys, *words):
    code = main([*words])
    said = capsys.readouterr()
    return code, said.out + said.err


def test_status_and_list_show_the_programs(servers, client, capsys):
    servers.keep("k1", "double", seconds=12.34, source="plan.py:7", bytes=2_500_000)
    for _ in range(3):
        client.run("k1", [np.ones(3)])

    code, text = called(capsys, "status")
    pid = str(servers.status()["pid"])
    heads, row = (line.split() for line in text.splitlines())
    assert code == 0
    assert heads[:2] == ["server", "pid"]
    assert row[:2] == [servers.folder.name, pid]
    assert row[4:] == ["1", "2.5", "MB", "3", "2", "0"]

    code, text = called(capsys, "list")
    heads, row = text.splitlines()
    assert code == 0
    assert heads.split()[:2] == ["function", "source"]
    expected = "double plan.py:7 12.3 s 3 2 2.5 MB 0 s ago".split()
    assert row.split()[:-3] == expected[:-3]

    (one,) = json.loads(called(capsys, "status", "--json")[1])
    assert (one["pid"], one["own"], one["calls"]) == (int(pid), True, 3)
    assert one["environment"] == environment()
    (one,) = json.loads(called(capsys, "list", "--json")[1])
    assert (one["key"], one["calls"], one["bytes"]) == ("k1", 3, 2_500_000)
    assert one["store"] == str(servers.store)


def test_clear_lets_go_of_what_is_loaded(servers, client, capsys):
    client.run("double", [np.ones(3)])
    client.run("echo", [np.ones(3)])
    assert called(capsys, "clear") == (0, "let go of 2 programs\n")
    assert servers.status()["programs"] == 0
    client.run("double", [np.ones(3)])
    assert servers.loads() == ["double", "echo", "double"]


def test_logs_and_restart(servers, client, capsys):
    assert f"serves {servers.folder}/socket" in called(capsys, "logs")[1]
    before = servers.status()["pid"]
    code, text = called(capsys, "restart", "--idle-timeout", "5m", "--memory", "1GB")
    assert code == 0
    after = servers.status()["pid"]
    assert f"started: process {after}," in text
    assert before != after
    words = psutil.Process(after).cmdline()
    assert {"--idle-timeout=300.0", "--memory=1000000000"} <= set(words)
    assert called(capsys, "stop", "--json")[1] == (
        json.dumps({"stopped": [after], "others": 0}) + "\n"
    )


@pytest.mark.parametrize("word", ["list", "clear", "logs"])
def test_without_a_server_they_say_so(servers, capsys, word):
    code, text = called(capsys, word)
    assert code == 2
    assert "there is no log" in text or "Start one: jfi-server start" in text


def test_other_environments_have_servers_beside(servers, monkeypatch, capsys):
    main(["start"])
    own = servers.status()["pid"]
    with monkeypatch.context() as changed:
        changed.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
        changed.setenv("JAX_PLATFORMS", "cpu")
        assert server_folder(servers.base, digest()) != servers.folder
        main(["start"])
        capsys.readouterr()
        code, text = called(capsys, "status")
        assert code == 0
        assert "JAX_PLATFORMS: " in text
    code, text = called(capsys, "stop")
    assert f"stopped: process {own}" in text
    assert "servers of other environments run: 1" in text
    code, text = called(capsys, "status")
    assert code == 1
    assert "XLA_FLAGS: --xla_cpu_enable_fast_math=true" in text
    assert "none of them is this environment's" in text
    assert "stopped: process" in called(capsys, "stop", "--all")[1]
    assert called(capsys, "status")[0] == 1


def test_what_is_dumped_is_no_other_environment(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--a=1 --xla_dump_to=/tmp/x --b=2")
    one = digest()
    monkeypatch.setenv("XLA_FLAGS", "--b=2 --a=1")
    assert digest() == one
    monkeypatch.setenv("XLA_FLAGS", "--a=1")
    assert digest() != one


def test_two_starts_at_once_give_one_server(servers):
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda _: servers.command("start"), range(3)))
    pid = servers.status()["pid"]
    for done in found:
        assert done.returncode == 0, done.stderr
        assert f"process {pid}," in done.stdout
    # The losers have ended, or are about to.
    wait_until(lambda: len(servers_in(servers.base)) == 1)


def servers_in(base):
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "run" in words and str(base) in words:
            found.append(process)
    return found


def test_a_killed_server_leaves_nothing_in_the_way(servers):
    process = servers.start()
    process.kill()
    process.wait()
    assert (servers.folder / "socket").exists()
    assert servers.command("stop").stdout.startswith("not running")
    servers.start()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_in_the_foreground_until_a_signal(servers, number):
    words = [sys.executable, "-m", "jfi_server", "run"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(servers.status)
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert f"serves {servers.folder}/socket" in said
    assert f"ends: {number.name}" in said
    assert not (servers.folder / "socket").exists()


def test_a_signal_may_come_at_any_time(servers):
    """While it starts, the process ends by the signal; afterwards by itself."""
    words = [sys.executable, "-m", "jfi_server", "run"]
    for milliseconds in range(0, 300, 30):
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(milliseconds / 1000)
        process.terminate()
        assert process.wait(10) in (0, -signal.SIGTERM)
    servers.start()


@pytest.mark.parametrize("word", ["run", "start"])
def test_a_folder_that_can_not_be_written_is_told_in_words(word, servers):
    # /proc is read-only even for root.
    done = servers.command(word, "--dir", "/proc/jfi")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "jfi-server: nothing can be written in the folder /proc/jfi (No such file"
    )
    assert done.stderr.endswith("export JFI_SERVER_DIR=~/.jfi\n")


def test_run_refuses_an_open_folder(servers):
    servers.base.chmod(0o755)
    done = servers.command("run")
    servers.base.chmod(0o700)
    assert done.returncode == 2
    assert f"{servers.base} is open to other users (mode 755)" in done.stderr


@pytest.mark.parametrize("word", ["start", "stop", "restart", "status", "list"])
def test_an_open_folder_is_refused(word, tmp_path, capsys):
    own = server_folder(tmp_path, digest())
    own.mkdir(mode=0o755)
    tmp_path.chmod(0o700)
    (own / "socket").touch()
    code, text = called(capsys, word, "--dir", str(tmp_path))
    assert code == 2
    assert f"the folder {own} is open to other users (mode 755)" in text
    assert f"chmod 700 {own}" in text


def test_a_folder_of_somebody_else_is_refused(tmp_path, capsys, monkeypatch):
    tmp_path.chmod(0o700)
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    code, text = called(capsys, "start", "--dir", str(tmp_path))
    assert code == 2
    assert f"{tmp_path} belongs to another user (uid {owner})" in text


def test_a_file_or_a_link_is_no_folder(tmp_path, capsys):
    (tmp_path / "file").touch()
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert called(capsys, "start", "--dir", str(tmp_path / "file"))[0] == 2
    code, text = called(capsys, "start", "--dir", str(tmp_path / "link"))
    assert code == 2
    assert "is not a folder" in text


def test_start_in_a_path_longer_than_that_of_a_socket(tmp_path, capsys):
    words = "--dir", str(tmp_path / ("x" * 200))
    assert called(capsys, "start", *words)[0] == 0
    assert called(capsys, "status", *words)[0] == 0
    assert "stopped: process" in called(capsys, "stop", *words)[1]


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"JFI_SERVER_DIR": "/a", "XDG_RUNTIME_DIR": "/tmp"}, "/a"),
        ({"JFI_SERVER_DIR": "~/b", "HOME": "/home/x"}, "/home/x/b"),
        ({"XDG_RUNTIME_DIR": "/tmp", "HOME": "/home/x"}, "/tmp/jfi"),
        (
            {"XDG_RUNTIME_DIR": "/not there", "HOME": "/home/x"},
            "/home/x/.cache/jfi/servers",
        ),
        ({"XDG_CACHE_HOME": "/c", "HOME": "/home/x"}, "/c/jfi/servers"),
    ],
)
def test_where_the_folder_is(variables, folder, monkeypatch):
    for name in ("JFI_SERVER_DIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(base_folder()) == folder
    assert str(base_folder("/chosen")) == "/chosen"


@pytest.mark.parametrize(
    "words",
    [["start", "--memory", "4 apples"], ["start", "--idle-timeout", "1.2.3"], ["go"]],
)
def test_what_is_no_option_is_told(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "jfi-server: error" in capsys.readouterr().err


def test_the_command_alone_prints_its_help_and_the_servers(servers, capsys):
    code, text = called(capsys)
    assert code == 0
    assert "start    start the server of this environment" in text
    assert f"not running in {servers.folder}" in text
    servers.start()
    assert str(servers.status()["pid"]) in called(capsys)[1]


@pytest.mark.parametrize("word", ["start", "stop", "restart"])
def test_a_server_whose_socket_was_removed_is_mended(
    servers, capsys, word, monkeypatch
):
    monkeypatch.setattr("jfi_server.control._ANSWER", 0.5)
    before = servers.start()
    (servers.folder / "socket").unlink()
    code, text = called(capsys, word)
    assert code == 0, text
    assert before.wait(30) is not None
    if word == "stop":
        assert text == f"stopped: process {before.pid}\n"
        assert servers.status() is None
    else:
        assert text.startswith("started: process ")
        assert servers.status()["pid"] != before.pid


def test_who_only_says_that_it_is_the_server_is_left_alone(servers, capsys):
    servers.folder.mkdir(mode=0o700)
    with subprocess.Popen(["sleep", "60"]) as other:
        lock = os.open(servers.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        os.write(lock, b"%d" % other.pid)
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert called(capsys, "stop")[1].startswith("not running in")
        assert other.poll() is None
        other.kill()
        os.close(lock)


def test_another_checkout_of_one_version_is_another_environment(tmp_path):
    source = Path(environment_module.__file__).parent
    digests = []
    for name in ("one", "two"):
        shutil.copytree(source, tmp_path / name / "jfi_server")
        (tmp_path / name / "jfi").mkdir()
        (tmp_path / name / "jfi" / "__init__.py").write_text(f"'{name} of it'")
        code = "from jfi_server.environment import digest; print(digest())"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": str(tmp_path / name)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.append(done.stdout)
    assert digests[0] != digests[1]


def test_flags_of_xla_in_a_file_are_those_of_the_file(tmp_path, monkeypatch):
    file = tmp_path / "flags.txt"
    monkeypatch.setenv("XLA_FLAGS", str(file))
    digests = []
    for text in ("--a=1", "--a=2", "--a=1 --xla_dump_to=/tmp/x\n"):
        file.write_text(text)
        digests.append(digest())
    assert digests[0] == digests[2] != digests[1]
    monkeypatch.setenv("XLA_FLAGS", "--a=1")
    assert digest() == digests[0]


def test_a_server_that_says_anything_is_shown_as_one_that_does_not(servers, capsys):
    servers.folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(servers.folder / "socket"))
        listener.listen()
        thread = threading.Thread(target=answer_anything, args=(listener,), daemon=True)
        thread.start()
        assert "it does not answer" in called(capsys, "status")[1]
        assert f"already running: process {os.getpid()}" in called(capsys, "start")[1]


def answer_anything(listener):
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client:
            link = Link(client)
            try:
                link.receive()
                link.send({"is": "result", "arrays": [], "environment": 3})
            except (EOFError, OSError):
                pass
            link.close()
