"""The client's side: connections that are kept, and one call through them."""

import atexit
import os
import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jfi._errors import ServerError
from jfi_server.fingerprint import Identity

from .environment import debugging, environment, settings
from .errors import loads_error
from .paths import check_folder, server_folder, socket_path
from .payload import Registrations, dumps, dumps_program, loads
from .protocol import Call, Hello, NotServed, Raised, Refused, Result, Unknown
from .transport import Link


_PATIENCE = 10.0  # seconds for a server to greet
_PAUSE = 60.0  # seconds before one that did not is asked again


def call(
    fn: Callable[..., Any],
    tree: Callable[[], Any],
    identity: Identity,
    traced: list[Any],
    unchanged: Callable[[], bool],
) -> Any:
    """Have the server call a function.

    Args:
        fn: The function.
        tree: Makes `(args, kwargs)` with a hole for each traced leaf.
        identity: Of the function together with its settings.
        traced: The traced leaves.
        unchanged: Tells whether the program still has that identity.

    Returns:
        What the function returns, in arrays of this process.

    Raises:
        NotServed: There is no server, or it can't take this call.
        BaseException: What the function raised.
    """
    if (option := debugging()) is not None:
        raise NotServed(f"{option} is on")
    request = Call(identity.digest, settings(), _pickled(traced))

    def defined() -> Call:
        definition = _defined(request, fn, tree, identity)
        # Else the server would keep, for ever, another program under this name.
        if not unchanged():
            raise NotServed("it was changed by another thread during the call")
        return definition

    reply = _exchange(request, defined)
    if isinstance(reply, Result):
        return _read(lambda: loads(reply.value, identity.shared))
    if isinstance(reply, Raised):
        raise _read(lambda: loads_error(reply.error, identity.shared))
    if isinstance(reply, Refused):
        raise NotServed(reply.reason, for_ever=reply.for_ever)
    raise NotServed(f"the server answered {type(reply).__name__}")


def _exchange(request: Call, define: Callable[[], Call]) -> Any:
    """Send a call, and the program where the server does not know it."""
    for last in (False, True):
        link, fresh = _pool.take()
        try:
            reply = link.request(request)
            if isinstance(reply, Unknown):
                reply = link.request(define())
        except (EOFError, OSError) as error:
            link.close()
            if fresh or last:
                raise NotServed("the server ended during the call") from error
            # Links that were kept may all be to a server that was ended since.
            _pool.close()
        except (
            BaseException
        ):  # Ctrl-C: the answer would be taken for that of a later call
            link.close()
            raise
        else:
            _pool.give(link)
            return reply
    raise AssertionError


def _defined(
    request: Call, fn: Callable[..., Any], tree: Callable[[], Any], identity: Identity
) -> Call:
    try:
        args, kwargs = tree()
        definition = dumps_program(
            (fn, args, kwargs, identity.shared, Registrations(identity.shared))
        )
    except NotServed:
        raise
    except Exception as error:
        raise NotServed(
            f"it can't be pickled ({type(error).__name__}: {error})", for_ever=True
        ) from error
    libraries = tuple(sorted(identity.libraries.items()))
    return Call(request.key, request.settings, request.traced, definition, libraries)


def _pickled(traced: list[Any]) -> bytes:
    try:
        return dumps(traced)
    except pickle.PicklingError as error:
        raise NotServed(f"its arguments can't be pickled ({error})") from error


def _read(load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as error:
        raise NotServed(
            f"the answer could not be read ({type(error).__name__}: {error})"
        ) from error


class _Pool:
    """Idle connections of this process: each thread takes one for each call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Link] = []
        self._folder: Path | None = None
        # The server whose environment differs, by its socket, and how it differs.
        self._unlike: tuple[object, str] | None = None
        # The server that did not answer, by its socket, and when to try again.
        self._silent: tuple[object, float] | None = None

    def take(self) -> tuple[Link, bool]:
        """A connection, and whether it is a new one."""
        try:
            folder = server_folder()
        except ServerError as error:
            raise NotServed(str(error)) from error
        with self._lock:
            if folder == self._folder and self._idle:
                return self._idle.pop(), False
        self.close()
        link = self._connect(folder)
        with self._lock:
            self._folder = folder
        return link, True

    def give(self, link: Link) -> None:
        with self._lock:
            self._idle.append(link)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for link in idle:
            link.close()

    def forked(self) -> None:
        """In a child: its parent goes on using the connections, and holds the lock."""
        self._lock = threading.Lock()
        idle, self._idle = self._idle, []
        for link in idle:
            link.abandon()

    def _connect(self, folder: Path) -> Link:
        try:
            path = socket_path(folder)
            stat = os.stat(path)
            check_folder(folder)
        except ServerError as error:
            raise NotServed(str(error)) from error
        except OSError as error:
            raise _no_server(folder) from error
        which = (folder, stat.st_ino, stat.st_mtime_ns)
        if self._unlike is not None and self._unlike[0] == which:
            raise NotServed(self._unlike[1])
        silent = f"the server in {folder} does not answer"
        which_silent, until = self._silent or (None, 0.0)
        if which_silent == which and time.monotonic() < until:
            raise NotServed(silent)
        try:
            link = Link(path)
        except OSError as error:
            raise _no_server(folder) from error
        try:
            reply = link.request(Hello(environment()), timeout=_PATIENCE)
        except TimeoutError as error:
            link.close()
            self._silent = (which, time.monotonic() + _PAUSE)
            raise NotServed(silent) from error
        except (EOFError, OSError) as error:
            link.close()
            raise _no_server(folder) from error
        if isinstance(reply, Refused):
            link.close()
            advice = "restart it here: jfi-server stop; jfi-server start"
            self._unlike = (which, f"{reply.reason}; {advice}")
            raise NotServed(self._unlike[1])
        return link


def _no_server(folder: Path) -> NotServed:
    return NotServed(
        f"no compilation server is running in {folder}. Start one: jfi-server start"
    )


_pool = _Pool()
atexit.register(_pool.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.forked)
