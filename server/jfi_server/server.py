"""The server's process: one socket, a thread for each client, an end by request."""

import fcntl
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn

from jfi._errors import ServerError

from .paths import create_folder, socket_path


_log = logging.getLogger("jfi-server")


def run(folder: Path) -> NoReturn:
    """Serve until a signal or a client ends it. The process ends with it.

    Raises:
        ServerError: Another server runs in this folder, or the folder is not safe.
    """
    os.umask(0o077)
    create_folder(folder)
    path = socket_path(folder)
    lock = _take_lock(folder)
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _end)
    try:
        listener = _listen(path)
        try:
            # Not before the lock: importing JAX and finding its devices takes seconds.
            from .service import Service
            from .transport import serve

            service = Service(stop=_end_soon)
            listener.listen(128)
            _log.info("process %d serves %s", os.getpid(), path)
            _accept(listener, lambda client: serve(client, service.answer))
        finally:
            path.unlink(missing_ok=True)
    except _Ended:
        _log.info("process %d ends", os.getpid())
        logging.shutdown()
    os.close(lock)
    # A thread may be compiling: the interpreter would wait for it, or crash in it.
    os._exit(0)


class _Ended(BaseException):
    """A signal asked the server to end."""


def _end(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the socket is removed in peace
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise _Ended


def _end_soon() -> None:
    """End, once the client that asked has had time to get its answer."""
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM))
    timer.daemon = True
    timer.start()


def _take_lock(folder: Path) -> int:
    """Hold a lock for as long as this process lives: one server for a folder."""
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise ServerError(
            f"a server is already running in {folder}. "
            "To start another one, end it first: jfi-server stop"
        ) from error
    return lock


def _listen(path: Path) -> socket.socket:
    path.unlink(
        missing_ok=True
    )  # of a server that was killed: the lock says it is gone
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    return listener


def _accept(
    listener: socket.socket, serve: Callable[[socket.socket], None]
) -> NoReturn:
    while True:
        try:
            client, _ = listener.accept()
        except OSError as error:  # too many open files: they will be fewer
            _log.warning("could not accept a client: %s", error)
            threading.Event().wait(0.1)
            continue
        threading.Thread(target=serve, args=(client,), daemon=True).start()
