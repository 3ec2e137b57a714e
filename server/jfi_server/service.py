"""What a server answers: messages in, messages out."""

import logging
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .environment import digest, environment
from .errors import BadMessageError
from .programs import Programs
from .stored import GoneError, Session, StoredArrays
from .transport import AnyLink, Link
from .watch import Calls


_log = logging.getLogger("jfi-server")

# It becomes the name of a file in the store.
_KEY = re.compile(r"[A-Za-z0-9_-]{1,200}")

Answer = tuple[dict[str, Any], list[Any]]


@dataclass
class Caller:
    """A connection, the store whose keys come over it, and who is there.

    Attributes:
        name: Of a client on the network; what one keeps is not seen by others.
        session: What has its arrays that stay here.
    """

    link: AnyLink
    store: str | None = None
    name: str = ""
    session: Session | None = None


Request = Callable[[Caller, dict[str, Any], Any], Answer]


class Service:
    """Answers the messages of all connections, each in a thread of its own."""

    def __init__(
        self,
        programs: Programs,
        calls: Calls,
        store: Path | None,
        ready: threading.Event,
        bridge: Callable[[socket.socket], None],
        stored: StoredArrays,
        devices: Callable[[], list[dict[str, Any]]],
    ) -> None:
        """Take the parts together.

        Args:
            programs: What can be run.
            calls: Keeps account of what runs.
            store: The only store to serve; None serves the store each client names.
            ready: Set once what programs need is imported.
            bridge: Serves a client on another machine, over what the other end brings.
            stored: Has the arrays that stay.
            devices: What there is to say of those that programs run on.
        """
        self._programs, self._store = programs, store
        self.calls: Calls = calls
        self._ready, self._bridge = ready, bridge
        self.stored: StoredArrays = stored
        self._devices = devices
        self.clients: Callable[[], list[dict[str, Any]]] = list  # on the network
        self._started = time.time()
        self._environment = environment()
        self.answers: dict[str, Request] = {
            "ping": self._ping, "hello": self._hello, "run": self._run,
            "load": self._load, "status": self._status, "list": self._list,
            "clear": self._clear, "put": self._put, "fetch": self._fetch,
        }  # fmt: skip

    def serve(self, link: Link) -> None:
        """Answer a connection until its client hangs up, or sends no message."""
        caller, who = Caller(link), f"process {link.pid}"
        try:
            while True:
                message, body = link.receive()
                if message.get("op") == "bridge":
                    link.send({"is": "ok"})
                    self._bridge(link.detach())
                    return
                link.send(*answered(self.answers, caller, message, body))
        except (EOFError, ConnectionError):
            pass
        except (BadMessageError, OSError) as error:
            _log.warning("%s is dropped: %s", who, str(error)[:200])
        except Exception:
            _log.exception("%s is dropped", who)
        finally:
            link.close()

    def _ping(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        return {"is": "ok"}, []

    def _hello(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        store = message.get("store")
        if not isinstance(store, str) or not os.path.isabs(store):
            raise BadMessageError(f"{store!r} is no folder")
        if self._store is not None and os.fspath(self._store) != store:
            reason = f"the server runs programs of {self._store} alone, not of {store}"
            return {"is": "refused", "reason": reason}, []
        caller.store = store
        return {"is": "ok"}, []

    def _run(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        self._ready.wait()
        # Here, so that the server answers before NumPy is imported.
        import numpy as np

        from .arrays import pack, unpack

        name = _name(caller, message)
        link = caller.link
        arrays: list[Any] = unpack(message, body, link)
        keep: list[int | None] = []
        if "stored" in message:
            session, keep = _session(caller), _numbers_or_none(message["keep"])
            try:
                arrays = _filled(session, _numbers_or_none(message["stored"]), arrays)
            except GoneError as error:
                return {"is": "gone", "number": error.args[0]}, []
        self.calls.count()
        try:
            entry = self._programs.get(name)
        except KeyError:
            return {"is": "unknown"}, []
        except BaseException as error:
            return _failed(name, error)
        if link.hung_up():  # while it was loaded: nobody wants the result
            raise EOFError
        self._programs.count(entry)
        try:
            with self.calls.running(link):
                results = entry.program.run(arrays)
                if any(number is not None for number in keep):
                    results = _stored(_session(caller), keep, results)
                found = [np.asarray(x) for x in results]
            about, chunks = pack(found, link)
        except BaseException as error:
            return _failed(name, error)
        else:
            return {"is": "result", **about}, chunks

    def _put(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        """Store arrays."""
        self._ready.wait()
        from .arrays import copied, unpack

        session, numbers = _session(caller), _numbers(message.get("numbers"))
        arrays = unpack(message, body, caller.link)
        self.calls.touch()
        try:
            session.put(numbers, [copied(x) for x in arrays])
        except Exception as error:  # no memory, on the GPU or here
            return refused(caller.name, error)
        return {"is": "ok"}, []

    def _fetch(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        """Return a stored array."""
        self._ready.wait()
        import numpy as np

        from .arrays import pack

        (number,) = _numbers([message.get("number")])
        self.calls.touch()
        try:
            array = _session(caller).fetch(number)
        except GoneError:
            return {"is": "gone", "number": number}, []
        about, chunks = pack([np.asarray(array)], caller.link)
        return {"is": "result", **about}, chunks

    def _load(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        name = _name(caller, message)
        self.calls.touch()
        threading.Thread(target=self._load_now, args=(name,), daemon=True).start()
        return {"is": "ok"}, []

    def _load_now(self, name: tuple[str, str]) -> None:
        self._ready.wait()
        try:
            self._programs.get(name)
        except Exception as error:
            _log.warning("%s is not loaded: %r", name[1], error)

    def _status(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        count, size = self._programs.total()
        return {
            "is": "status",
            "pid": os.getpid(),
            "environment": self._environment,
            "digest": digest(self._environment),
            "store": None if self._store is None else os.fspath(self._store),
            "started": self._started,
            "uptime": time.time() - self._started,
            "programs": count,
            "bytes": size,
            "loads": self._programs.loads,
            "hits": self._programs.hits,
            "calls": self.calls.total,
            "running": self.calls.now,
            "idle": self.calls.idle(),
            "devices": self._devices() if self._ready.is_set() else [],
            "clients": self.clients(),
        }, []

    def _list(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        # A frame holds so many: those used last.
        return {"is": "list", "programs": self._programs.rows()[:5000]}, []

    def _clear(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        return {"is": "ok", "count": self._programs.clear()}, []


def answered(
    answers: Mapping[str, Request], caller: Caller, message: dict[str, Any], body: Any
) -> Answer:
    """The answer to a message, and the bytes that it describes.

    Raises:
        BadMessageError: It is no request.
        EOFError: Nobody waits for an answer any more.
    """
    answer = answers.get(str(message.get("op")))
    if answer is None:
        raise BadMessageError(f"no request: {str(message)[:80]}")
    if "free" in message:
        _session(caller).free(_numbers(message["free"]))
    return answer(caller, message, body)


def _session(caller: Caller) -> Session:
    if caller.session is None:
        raise BadMessageError("a number of an array came before its session")
    return caller.session


def _numbers(numbers: object) -> list[int]:
    """The numbers of arrays in a message."""
    found = _numbers_or_none(numbers)
    if None in found:
        raise BadMessageError("an array without its number")
    return [number for number in found if number is not None]


def _numbers_or_none(numbers: object) -> list[int | None]:
    are_numbers = isinstance(numbers, list) and all(
        x is None or type(x) is int for x in numbers
    )
    if not isinstance(numbers, list) or not are_numbers:
        raise BadMessageError(f"{str(numbers)[:80]!r} are no numbers of arrays")
    return numbers


def _filled(
    session: Session, numbers: Sequence[int | None], arrays: Sequence[Any]
) -> list[Any]:
    """All arrays of a call: those that were stored, and between them what has come."""
    if sum(number is None for number in numbers) != len(arrays):
        raise BadMessageError("other arrays came than were announced")
    came = iter(arrays)
    return [next(came) if n is None else session.fetch(n) for n in numbers]


def _stored(
    session: Session, numbers: Sequence[int | None], results: Sequence[Any]
) -> list[Any]:
    """Store results that stay; return those that travel."""
    if len(numbers) != len(results):
        raise ValueError("the program has another number of results")
    pairs = [(n, x) for n, x in zip(numbers, results, strict=True) if n is not None]
    session.store([n for n, _ in pairs], [x for _, x in pairs])
    return [x for n, x in zip(numbers, results, strict=True) if n is None]


def refused(who: str, error: Exception) -> Answer:
    """The answer to what is not done, and why."""
    reason = str(error) if isinstance(error, ValueError) else repr(error)
    _log.warning("%s is refused: %s", who, reason[:500])
    return {"is": "refused", "reason": reason[:2000]}, []


def _failed(name: tuple[str, str], error: BaseException) -> Answer:
    """A program holds no code of the user's: whatever happens is the server's own."""
    reason = f"{type(error).__name__}: {error}"[:2000]
    _log.warning("%s failed: %s", name[1], reason)
    return {"is": "failed", "reason": f"the server failed ({reason})"}, []


def _name(caller: Caller, message: dict[str, Any]) -> tuple[str, str]:
    key = message.get("key")
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise BadMessageError(f"{str(key)[:80]!r} is no key")
    if caller.store is None:
        raise BadMessageError("a key came before its store")
    return caller.store, key
