"""The command `jfi-server run|start|stop|status`."""

import argparse
import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from jfi._errors import ServerError

from .paths import check_folder, create_folder, server_folder, socket_path
from .protocol import Report, Request, Status, Stop


_PATIENCE = 60.0  # seconds for a server to start: JAX may have to find a GPU first


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return what the shell gets: 0 for success."""
    parser = argparse.ArgumentParser(
        prog="jfi-server",
        description="Keeps the functions of @jfi.persistent compiled between scripts.",
    )
    parser.add_argument(
        "command",
        choices=("run", "start", "stop", "status"),
        help="run: serve in this terminal; start: in the background; stop; status",
    )
    parser.add_argument(
        "--dir",
        help="folder of the socket (default: $JFI_SERVER_DIR, else "
        "$XDG_RUNTIME_DIR/jfi, else ~/.cache/jfi)",
    )
    chosen = parser.parse_args(arguments)
    command = {"run": _run, "start": _start, "stop": _stop, "status": _status}
    try:
        return command[chosen.command](server_folder(chosen.dir))
    except ServerError as error:
        print(f"jfi-server: {error}", file=sys.stderr)  # noqa: T201
        return 2


def _run(folder: Path) -> int:
    from .server import run

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    run(folder)


def _start(folder: Path) -> int:
    create_folder(folder)
    if (report := ask(folder, Status())) is not None:
        _say(f"already running: process {report.pid}, {socket_path(folder)}")
        return 0
    os.umask(0o077)
    with open(folder / "log", "ab") as log:
        # -P: the server must not import a file that lies where it was started.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "jfi_server", "run", "--dir", str(folder)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if (report := ask(folder, Status())) is not None:
            _say(f"started: process {report.pid}, {socket_path(folder)}")
            return 0
        # 2: another one that was started at the same time is ahead of it.
        if process.poll() not in (None, 2):
            break
        time.sleep(0.05)
    _say(f"the server did not start; see {folder / 'log'}")
    return 1


def _stop(folder: Path) -> int:
    pid = _peer(folder)
    if pid is None and ask(folder, Status()) is None:
        _say(f"not running in {folder}")
        return 0
    report = ask(folder, Stop())
    if report is None and pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)  # it is too busy to answer
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if not socket_path(folder).exists():
            _say(f"stopped: process {report.pid if report else pid}")
            return 0
        time.sleep(0.02)
    _say(f"process {report.pid if report else pid} does not end: kill it")
    return 1


def _status(folder: Path) -> int:
    report = ask(folder, Status())
    if report is None:
        _say(f"not running in {folder}")
        return 1
    _say(
        f"running: process {report.pid}\n"
        f"socket: {socket_path(folder)}\n"
        f"uptime: {report.uptime:.0f} s\n"
        f"functions: {report.functions}, compiled {report.compiled} times\n"
        f"calls: {report.calls}"
    )
    return 0


def ask(folder: Path, request: Request) -> Report | None:
    """Ask the server in a folder something; None where none answers.

    Raises:
        ServerError: The folder is open to other users: whoever answers may be one.
    """
    from .transport import Link

    try:
        check_folder(folder)
        link = Link(socket_path(folder))
    except OSError:
        return None
    try:
        reply = link.request(request, timeout=10)
    except (EOFError, OSError):
        return None
    finally:
        link.close()
    return reply if isinstance(reply, Report) else None


def _peer(folder: Path) -> int | None:
    from .transport import Link

    try:
        check_folder(folder)
        link = Link(socket_path(folder))
    except OSError:
        return None
    try:
        return link.peer()
    finally:
        link.close()


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
