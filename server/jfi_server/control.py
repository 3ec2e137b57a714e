"""Servers seen from outside: start one, ask it, end it."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .environment import digest
from .errors import BadMessageError, ServerError
from .folders import (
    check_folder,
    create_folder,
    server_folder,
    socket_path,
    unusable,
)
from .transport import Link, connect


_PATIENCE = 30.0  # seconds for a server to listen, on a machine that has much to do
_ANSWER = 4.0  # seconds for a server to answer a question
_GRACE = 1.0  # seconds to end by itself
_REFUSED = 2  # exit code of a server that found another one there

# -P: a server must not import a file that lies where it was started.
_COMMAND = ("-P", "-m", "jfi_server")


def start_server(folder: Path, *options: str) -> None:
    """Start the server of this environment in the background, if none runs.

    It is no child of this process: it stays when this one ends.

    Args:
        folder: The base folder of the servers.
        options: Those of the command, such as `"--idle-timeout", "1h"`.

    Raises:
        ServerError: It did not start.
    """
    words = [*_COMMAND, "start", "--dir", os.fspath(folder), *options]
    try:
        done = subprocess.run(
            [sys.executable, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * _PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerError(f"jfi-server can't be started ({error})") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().removeprefix("jfi-server: ")
        raise ServerError(said or f"jfi-server start ended with {done.returncode}")


def start(base: Path, options: Sequence[str]) -> tuple[int, bool]:
    """Start the server of this environment unless it runs.

    Args:
        base: The base folder of the servers.
        options: Those of `jfi-server run`.

    Returns:
        Its process id, and whether it is new.

    Raises:
        ServerError: It does not start; the message says where its log is.
    """
    folder = server_folder(base, digest())
    socket_path(folder)  # one that is too long is told here, not in the log
    create_folder(base)
    create_folder(folder)
    if (running := ask(folder, "status")) is not None:
        return running["pid"], False
    log = folder / "log"
    child = _spawn(["run", "--dir", os.fspath(base), *options], log)
    end = time.monotonic() + _PATIENCE
    code = None
    while time.monotonic() < end:
        if (running := ask(folder, "status")) is not None:
            return running["pid"], running["pid"] == child
        if code is None and (code := _exit_code(child)) is not None:
            if code != _REFUSED:
                break
            # Another one that was started at the same time is ahead of it.
            end = min(end, time.monotonic() + 10)
        time.sleep(0.01)
    if code == _REFUSED:
        raise ServerError(
            f"the server in {folder} does not answer. End it: jfi-server stop"
        )
    raise ServerError(f"the server did not start; see {log}")


def stop(folder: Path) -> int | None:
    """End the server of a folder, however busy it is.

    Returns:
        Its process id; None where none runs.

    Raises:
        ServerError: The folder is open to other users, or the process does not end.
    """
    link = _link(folder)
    if link is None:
        return None
    with contextlib.closing(link):
        try:
            process = os.pidfd_open(link.pid)
        except ProcessLookupError:
            return link.pid
    ended = select.poll()
    ended.register(process, select.POLLIN)
    try:
        # The second one: it is stopped, or native code keeps Python from running.
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, number)
            if ended.poll(_GRACE * 1000):
                return link.pid
        raise ServerError(f"process {link.pid} does not end: kill it")
    finally:
        os.close(process)


def ask(folder: Path, op: str) -> dict[str, Any] | None:
    """Ask the server of a folder something; None where none answers.

    Raises:
        ServerError: The folder is open to other users: whoever answers may be one.
    """
    link = _link(folder)
    if link is None:
        return None
    with contextlib.closing(link):
        try:
            link.send({"op": op})
            return link.receive()[0]
        except (BadMessageError, EOFError, OSError):
            return None


def servers(base: Path) -> dict[Path, int]:
    """The folders in which servers run, and their process ids.

    Raises:
        ServerError: The base folder is open to other users.
    """
    try:
        check_folder(base)
        folders = sorted(p.parent for p in base.glob("*/socket"))
    except OSError:
        return {}
    found: dict[Path, int] = {}
    for folder in folders:
        link = _link(folder)
        if link is not None:
            found[folder] = link.pid
            link.close()
    return found


def _link(folder: Path) -> Link | None:
    try:
        check_folder(folder)
        return connect(folder / "socket", _ANSWER)
    except OSError:
        return None


def _spawn(words: list[str], log: Path) -> int:
    """Start the command in a session of its own, with its output in the log."""
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise unusable(log.parent, error) from error
    # Not Popen, which warns of a child that lives on.
    try:
        return os.posix_spawn(
            sys.executable,
            [sys.executable, *_COMMAND, *words],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, output, 1),
                (os.POSIX_SPAWN_DUP2, output, 2),
            ],
            setsid=True,
        )
    except OSError as error:
        raise ServerError(f"{sys.executable} can't be started ({error})") from error
    finally:
        os.close(output)


def _exit_code(child: int) -> int | None:
    pid, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if pid else None
