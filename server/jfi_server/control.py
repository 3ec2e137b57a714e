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
from .errors import BadMessageError, FolderError, ServerError
from .folders import Folder, lock, open_server_folder, server_folder, unusable
from .transport import Link, connect


_PATIENCE = 30.0  # seconds for a server to listen, on a machine that has much to do
_ANSWER = 3.0  # seconds for a server to answer a question
_BEGINNING = 1.0  # seconds for a server that has just been started to have a socket
_GRACE = 1.0  # seconds to end by itself
_NAME = 12  # letters in the name of the folder of one environment
_REFUSED = 2  # exit code of a server that found another one there

# -P: a server must not import a file that lies where it was started.
_COMMAND = ("-P", "-m", "jfi_server")


def start_server(folder: Path, *options: str, patience: float = 2 * _PATIENCE) -> None:
    """Start the server of this environment in the background, if none runs.

    It is no child of this process: it stays when this one ends.

    Args:
        folder: The base folder of the servers.
        options: Those of the command, such as `"--idle-timeout", "1h"`.
        patience: Seconds to wait for it; later it may still come.

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
            timeout=patience,
            check=False,
        )
    except OSError as error:
        raise ServerError(f"jfi-server can't be started ({error})") from error
    except subprocess.TimeoutExpired as error:
        raise ServerError(
            f"jfi-server start does not answer in {patience:g} seconds"
        ) from error
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
    open_server_folder(base).close()
    with contextlib.closing(open_server_folder(folder)) as opened:
        if (pid := _pid_of_running(opened)) is not None:
            return pid, False
        child = _spawn(["run", "--dir", os.fspath(base), *options], opened)
    end = time.monotonic() + _PATIENCE
    code = None
    while time.monotonic() < end:
        if (pid := _pid_of_answer(folder)) is not None:
            return pid, pid == child
        if code is None and (code := _exit_code(child)) is not None:
            if code != _REFUSED:
                break
            # Another one that was started at the same time is ahead of it.
            end = min(end, time.monotonic() + _ANSWER)
        time.sleep(0.01)
    if code == _REFUSED:
        raise _silent(folder)
    raise ServerError(f"the server did not start; see {folder / 'log'}")


def _pid_of_running(folder: Folder) -> int | None:
    """The process of the server of a folder; None where none runs.

    Raises:
        ServerError: It does not answer.
    """
    end = time.monotonic() + _BEGINNING
    while (pid := _pid_of_answer(folder.path)) is None:
        holder = _holder(folder)
        if holder is None:
            return None
        if time.monotonic() >= end:  # its socket was removed: nobody can reach it
            stop(folder.path)
            return None
        time.sleep(0.02)  # it has just been started
    return pid


def _pid_of_answer(folder: Path) -> int | None:
    """The process that answers in a folder; None where nobody listens.

    Raises:
        ServerError: It listens, and does not answer.
    """
    link = _link(folder)
    if link is None:
        return None
    with contextlib.closing(link):
        if _answer(link, "status") is None:
            raise _silent(folder)
        return link.pid


def _silent(folder: Path) -> ServerError:
    return ServerError(
        f"the server in {folder} does not answer. End it: jfi-server stop"
    )


def _holder(folder: Folder) -> int | None:
    """The process that holds the lock of a folder, whether or not it can be reached."""
    try:
        fd = folder.open("lock")
    except (FolderError, OSError):
        return None
    with open(fd, "rb") as file:
        if lock(fd) is not False:
            return None
        pid = file.read()
        # Of another container, whose processes have other numbers, or of a file that
        # is older than its lock: it is the process only if it has this file open.
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{int(pid or 0)}/fd"):
                with contextlib.suppress(OSError):
                    theirs = os.stat(f"/proc/{int(pid)}/fd/{name}")
                    if os.path.samestat(theirs, os.fstat(fd)):
                        return int(pid)
    return None


def stop(folder: Path) -> int | None:
    """End the server of a folder, however busy it is.

    Returns:
        Its process id; None where none runs.

    Raises:
        ServerError: The folder is open to other users, or the process does not end.
    """
    pid = _pid(folder)
    if pid is None:
        return None
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return pid
    ended = select.poll()
    ended.register(process, select.POLLIN)
    try:
        # The second one: it is stopped, or native code keeps Python from running.
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, number)
            if ended.poll(_GRACE * 1000):
                return pid
        raise ServerError(f"process {pid} does not end: kill it")
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
        return _answer(link, op)


def _answer(link: Link, op: str) -> dict[str, Any] | None:
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
        with contextlib.closing(open_server_folder(base, make=False)) as opened:
            names = sorted(name for name, _ in opened.entries())
    except OSError:
        return {}
    folders = (base / name for name in names if len(name) == _NAME)
    pids = {folder: _pid(folder) for folder in folders}
    return {folder: pid for folder, pid in pids.items() if pid is not None}


def _pid(folder: Path) -> int | None:
    """The process of the server of a folder, also of one that does not answer."""
    link = _link(folder)
    if link is not None:
        link.close()
        return link.pid
    try:
        with contextlib.closing(open_server_folder(folder, make=False)) as opened:
            return _holder(opened)
    except OSError:
        return None


def _link(folder: Path) -> Link | None:
    try:
        return connect(folder, _ANSWER)
    except OSError:
        return None


def _spawn(words: list[str], folder: Folder) -> int:
    """Start the command in a session of its own, with its output in the log."""
    with unusable(folder.path):
        output = folder.create("log", os.O_WRONLY | os.O_APPEND)
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
