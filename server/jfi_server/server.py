"""The server's process: one socket, a thread for each connection, an end at any time.

JAX is imported in the background: the server answers at once, and a program waits for
it.
"""

import contextlib
import importlib
import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from . import _memory
from .environment import digest
from .errors import ServerError
from .folders import Folder, lock, open_server_folder, server_folder, unusable
from .limits import Limits
from .programs import Hosted, Program, Programs
from .service import Service
from .stored import StoredArrays
from .transport import Link
from .watch import Calls, watch


if TYPE_CHECKING:
    from ._remote import Listening, RemoteService, RemoteStore

_log = logging.getLogger("jfi-server")

# File descriptors of the lock and the socket, for the process that takes over.
_INHERITED = "JFI_SERVER_INHERITED"


@dataclass(frozen=True)
class Options:
    """How a server is to run.

    Attributes:
        folder: The base folder of all servers.
        store: The only store to serve; None serves the store each client names.
        memory: The most bytes of loaded programs.
        idle_timeout: Seconds without a call after which the server ends.
        listening: Where clients on the network find it; None: nowhere.
        limits: What one of them may have.
        allow_code: Whether they may send Python functions.
    """

    folder: Path
    store: Path | None = None
    memory: int = 4 << 30
    idle_timeout: float = 4 * 3600.0
    listening: "Listening | None" = None
    limits: Limits = field(default_factory=Limits)
    allow_code: bool = False


def run(
    options: Options,
    hosted: Hosted | None = None,
    remote_store: "Callable[[Limits], RemoteStore] | None" = None,
) -> NoReturn:
    """Serve until a signal or idleness ends it. The process ends with it.

    Args:
        options: How to run.
        hosted: Loads programs; None takes those of `jfi.persistent`.
        remote_store: Makes the store of what clients on the network send; likewise.

    Raises:
        ServerError: Another server of this environment runs, or the folder is not safe.
    """
    os.umask(0o077)
    open_server_folder(options.folder).close()
    folder = open_server_folder(server_folder(options.folder, digest()))
    held, listener = _taken_over() or _taken(folder)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, partial(_end_by_signal, folder))
    signals = _awaken_by_signals()
    calls = Calls()
    changed = partial(_memory.remember, folder)
    programs = Programs(hosted or _hosted, options.memory, changed)
    ready = threading.Event()
    make_store = remote_store or partial(_remote_store, options.store)
    limits, allow_code = options.limits, options.allow_code

    @cache
    def remote() -> "RemoteService":
        # Here, so that a server of one machine does without rpyc.
        from ._remote import RemoteService

        return RemoteService(
            service, partial(make_store, limits), limits, ready, allow_code
        )

    ours = hosted is None
    stored = StoredArrays(options.limits, _placed if ours else list)
    parts = programs, calls, options.store, ready, lambda sock: remote().bridge(sock)
    service = Service(*parts, stored, _devices if ours else list)
    if options.listening is not None:
        _serve_network(options.listening, remote())
    # Last: who starts a server waits until it answers here, and then uses all of it.
    if listener is None:
        listener = _listen(folder)
    _log.info("process %d serves %s", os.getpid(), folder.path / "socket")
    begin_anew = partial(_begin_anew, folder, held, listener)
    log = Path(folder.address, "log")
    watched = (calls, stored, log, options.idle_timeout, begin_anew)
    _thread(watch, *watched, partial(_end, folder))
    names = _memory.remembered(folder)
    _thread(_warm_up, programs, names, ready, hosted is None)
    _accept(listener, service, signals)


def _warm_up(
    programs: Programs, names: list[_memory.Name], ready: threading.Event, jax: bool
) -> None:
    """Import what programs need, and load what the last server had.

    Programs wait for `ready`: modules that import each other, as NumPy's and JAX's do,
    are found half made by a second thread that imports them at the same time.
    """
    try:
        importlib.import_module(".arrays", __package__)
        if jax:
            module: Any = importlib.import_module("jax")
            importlib.import_module("jfi._persistent")
            module.devices()
    except Exception:  # each call tries again and is told
        _log.exception("JAX can't be imported")
    finally:
        ready.set()
    programs.load_again(names)


def _hosted(store: Path, key: str) -> Program:
    # By name: the command and the clients must not import JAX.
    module: Any = importlib.import_module("jfi._persistent")
    program: Program = module.hosted(store, key)
    return program


def _placed(arrays: Sequence[Any]) -> list[Any]:
    module: Any = importlib.import_module("jfi._persistent")
    placed: list[Any] = module.placed(arrays)
    return placed


def _devices() -> list[dict[str, Any]]:
    module: Any = importlib.import_module("jfi._persistent")
    devices: list[dict[str, Any]] = module.devices()
    return devices


def _serve_network(listening: "Listening", service: "RemoteService") -> None:
    from ._remote import NetworkServer

    server = NetworkServer(listening, service)
    _log.info("it listens on %s:%d", server.host, server.port)
    _thread(server.serve)


def _remote_store(store: Path | None, limits: Limits) -> "RemoteStore":
    module: Any = importlib.import_module("jfi._persistent")
    made: RemoteStore = module.RemoteStore(store, limits)
    return made


def _taken_over() -> tuple[int, socket.socket | None] | None:
    """The lock and the socket of the process that this one has taken the place of."""
    inherited = os.environ.pop(_INHERITED, None)
    if inherited is None:
        return None
    held, listener = map(int, inherited.split())
    os.set_inheritable(held, False)
    os.set_inheritable(listener, False)
    return held, socket.socket(fileno=listener)


def _taken(folder: Folder) -> tuple[int, None]:
    """Hold a lock for as long as this process lives: one server for a folder."""
    with unusable(folder.path):
        file = folder.create("lock")
    if not lock(file):
        os.close(file)
        raise ServerError(
            f"a server is already running in {folder.path}. "
            "To start another one, end it first: jfi-server stop"
        )
    with unusable(folder.path):  # how it is found where its socket was removed
        os.truncate(file, 0)
        os.write(file, b"%d" % os.getpid())
    return file, None


def _listen(folder: Folder) -> socket.socket:
    # That of a server which was killed: the lock says that it is gone.
    folder.remove("socket")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with unusable(folder.path):
        listener.bind(f"{folder.address}/socket")
    listener.listen(128)
    return listener


def _awaken_by_signals() -> socket.socket:
    """What becomes readable when a signal has come.

    A signal that comes just before `accept` waits would be seen when the next client
    comes: Python runs handlers between two lines of Python, and `accept` is not one.
    """
    signals, written = socket.socketpair()
    written.setblocking(False)
    signal.set_wakeup_fd(written.detach())
    return signals


def _accept(
    listener: socket.socket, service: Service, signals: socket.socket
) -> NoReturn:
    """Take connections, whatever becomes of them."""
    while True:
        select.select([listener, signals], [], [])
        try:
            client, _ = listener.accept()
        except OSError as error:  # too many open files: they will be fewer
            _log.warning("could not accept a client: %s", error)
            time.sleep(0.1)
            continue
        try:
            with client:
                link = Link(client)
            _thread(service.serve, link)
        except (OSError, RuntimeError) as error:  # another user, too many threads
            _log.warning("a client is refused: %s", error)


def _thread(target: Any, *args: Any) -> None:
    threading.Thread(target=target, args=args, daemon=True).start()


def _end_by_signal(folder: Folder, number: int, frame: FrameType | None) -> NoReturn:
    _end(folder, signal.Signals(number).name)


def _end(folder: Folder, reason: str) -> NoReturn:
    """End at once, wherever the threads are.

    Nothing is waited for: a program may run, or the interpreter's own end would crash
    in it. Not by the log's handlers: a signal may come while this thread holds a lock.
    """
    with contextlib.suppress(OSError):
        os.write(2, f"process {os.getpid()} ends: {reason}\n".encode())
    folder.remove("socket")
    os._exit(0)


def _begin_anew(folder: Folder, held: int, listener: socket.socket) -> NoReturn:
    """Start the same command in this process; clients wait at the socket meanwhile."""
    _log.warning(
        "nobody waits for the program that runs: process %d restarts", os.getpid()
    )
    # A GPU's memory is held by open files, which the new program must not have.
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            os.set_inheritable(int(name), int(name) <= 2)
    for fd in (held, listener.fileno()):
        os.set_inheritable(fd, True)
    os.environ[_INHERITED] = f"{held} {listener.fileno()}"
    try:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    except OSError as error:  # its Python was removed
        _end(folder, f"it can't restart ({error})")
