"""The server on the network: who may connect, and what is answered there.

Programs come as code of XLA (`jax.export`), by the digest of it, are compiled here and
kept in a store of this server's own. Nothing that comes in is unpickled, or is Python.
"""

import hashlib
import logging
import os
import re
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from rpyc.utils.authenticators import AuthenticationError, SSLAuthenticator
from rpyc.utils.server import ThreadedServer

from ._network import LockedConnection, Nothing, RpycLink, WholeChannel, WholeStream
from .addresses import Certificates, is_loopback
from .errors import BadMessageError, ServerError
from .limits import Limits
from .service import Answer, Caller, Service, answered, refused
from .transport import decoded, encoded


if TYPE_CHECKING:
    from .code import PythonCode

_log = logging.getLogger("jfi-server")
_log_of_rpyc = logging.getLogger("jfi-server.rpyc")
_log_of_rpyc.setLevel(logging.CRITICAL)  # what it has to say is said here

_HANDSHAKE = 5.0  # seconds that a client may take for its certificate
_SESSION = re.compile(r"[0-9a-f]{32}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Listening:
    """Where a server listens, and for whom.

    Attributes:
        host, port: A socket of TCP.
        certificates: Its own, and who signs those of clients; None: it is for other
            processes of this user on this machine.
        connections: The most at once.
    """

    host: str
    port: int
    certificates: Certificates | None = None
    connections: int = 256

    def check(self) -> None:
        """Refuse what others could read.

        Raises:
            ServerError: It listens to other machines without TLS, or a file is missing.
        """
        if self.certificates is None and not is_loopback(self.host):
            raise ServerError(
                f"--listen {self.host}:{self.port} would be open to everybody who can "
                "reach this machine. Add --tls CERT --key KEY --clients CA, or listen "
                "on 127.0.0.1"
            )


class RemoteStore(Protocol):
    """Programs of clients: compiled here, and found again by their keys.

    A program is told by its key in the store of compiled programs, and the record: what
    its client has said of it.

    Attributes:
        folder: That of compiled programs.
    """

    folder: Path

    def describe(self) -> dict[str, Any]:
        """What a client must know to send a program."""
        ...

    def find(self, client: str, key: str) -> tuple[str, bytes] | None:
        """What a client has kept under a key; None: nothing."""
        ...

    def count(self, client: str) -> int:
        """How many programs of a client are kept."""
        ...

    def keep(self, client: str, key: str, record: bytes, code: bytes) -> str:
        """Compile and keep a program, in the place of what this client had there.

        Raises:
            ValueError: It is not to be run here, and why.
        """
        ...


class Client(NamedTuple):
    """Who is at the other end.

    Attributes:
        name: What others do not have: what one keeps is under it.
        shown: What the owner of the server sees.
    """

    name: str
    shown: str


LOCAL = Client("local", "this user")


@dataclass
class ClientFacts:
    """What there is to know of a client."""

    connections: int = 0
    calls: int = 0
    used: float = field(default_factory=time.time)


class ServedConnection(LockedConnection):
    """The server's end."""

    caller: Caller
    facts: ClientFacts


class RemoteService(Nothing):
    """Answers the messages of clients on the network.

    Args:
        service: Runs what is compiled.
        store: Makes the store, once JAX is imported.
        limits: What a client may have.
        ready: Set once JAX is imported.
        allow_code: Whether clients may send Python functions.
    """

    def __init__(
        self,
        service: Service,
        store: Callable[[], RemoteStore],
        limits: Limits,
        ready: threading.Event,
        allow_code: bool,
    ) -> None:
        self._service, self._make, self._ready = service, store, ready
        self._limits = limits
        self._code: PythonCode | None = None
        if allow_code:
            # Here, so that no server unpickles anything that may not.
            from . import code

            self._code = code.PythonCode()
        self._clients: dict[Client, ClientFacts] = {}
        service.clients = self._rows
        self._lock = threading.Lock()
        self._made: RemoteStore | None = None
        known = service.answers
        self._answers: dict[str, Any] = {
            "ping": known["ping"], "hello": self._hello, "describe": self._describe,
            "find": self._find, "keep": self._keep, "run": self._run,
            "put": known["put"], "fetch": known["fetch"], "call": self._call,
        }  # fmt: skip

    def serve(self, sock: socket.socket, client: Client) -> None:
        """Answer a client until it hangs up, or sends no message."""
        channel = WholeChannel(WholeStream(sock), self._limits.message)
        connection = ServedConnection(self, channel, {"logger": None})
        connection.caller = caller = Caller(RpycLink(connection), name=client.name)
        with self._lock:
            connection.facts = self._clients.setdefault(client, ClientFacts())
            connection.facts.connections += 1
        try:
            connection.serve_all()
        finally:
            self._leave(caller)
            with self._lock:
                connection.facts.connections -= 1

    def _rows(self) -> list[dict[str, Any]]:
        """What there is to say of each client, for the owner of the server."""
        with self._lock:
            known = list(self._clients.items())
        store, rows = self._made, []
        for client, facts in known:
            sessions, arrays, stored = self._service.stored.of(client.name)
            rows.append(
                {
                    "client": client.shown, "connections": facts.connections,
                    "processes": sessions, "calls": facts.calls, "arrays": arrays,
                    "stored": stored,
                    "programs": store.count(client.name) if store else 0,
                    "used": facts.used,
                }
            )  # fmt: skip
        return sorted(rows, key=lambda row: float(row["used"]), reverse=True)

    def bridge(self, sock: socket.socket) -> None:
        """Answer a client that a process of this user brings, such as sshd's."""
        with sock:
            try:
                self.serve(sock, LOCAL)
            except (BadMessageError, OSError) as error:
                _log.warning("a client is dropped: %s", str(error)[:200])

    def exchange(self, connection: "ServedConnection", header: bytes) -> bytes:
        """The answer to a message.

        Raises:
            BadMessageError: It is no request.
        """
        message = decoded(header)
        channel, facts = connection.channel, connection.facts
        facts.used = time.time()
        facts.calls += message.get("op") == "run"
        asked = self._answers, connection.caller, message, channel.body
        reply, channel.outgoing = answered(*asked)
        return encoded(reply)

    def _hello(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        """A connection begins: it names the session of its process."""
        self._leave(caller)
        if "session" in message:
            token = message["session"]
            if not isinstance(token, str) or not _SESSION.fullmatch(token):
                raise BadMessageError(f"{str(token)[:80]!r} is no session")
            caller.session = self._service.stored.open(caller.name, token)
        return {"is": "ok"}, []

    def _leave(self, caller: Caller) -> None:
        if caller.session is not None:
            self._service.stored.close(caller.session)
            caller.session = None

    def _describe(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        return {"is": "description", **self._store().describe()}, []

    def _run(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        _digest(message, "key")
        caller.store = os.fspath(self._store().folder)
        return self._service.answers["run"](caller, message, body)

    def _find(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        key = _digest(message, "key")
        try:
            kept = self._store().find(caller.name, key)
        except Exception as error:  # another JAX may have compiled it before
            return refused(f"program {key}", error)
        return _told(*kept) if kept else ({"is": "unknown"}, [])

    def _keep(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        key, digest = _digest(message, "key"), _digest(message, "digest")
        length = message.get("record")
        if not isinstance(length, int) or not 0 <= length <= len(body):
            raise BadMessageError("a record without its length")
        record, code = bytes(body[:length]), bytes(body[length:])
        if hashlib.sha256(code).hexdigest() != digest:
            return refused(f"program {key}", ValueError("its code has another digest"))
        store, most = self._store(), self._limits.compile
        keep = partial(store.keep, caller.name, key, record, code)
        try:
            return _told(_within(most, keep), b"")
        except Exception as error:  # whatever JAX says of code that it can't take
            return refused(f"program {key}", error)

    def _call(self, caller: Caller, message: dict[str, Any], body: Any) -> Answer:
        """Call a Python function, if that is allowed."""
        name, length = _digest(message, "function"), message.get("code")
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        if self._code is None:
            why = "the owner of the server does not allow Python code (--allow-code)"
            return refused(f"code {name}", ValueError(why))
        if message.get("python") != python:
            why = f"it has Python {python}, and code does not go to another one"
            return refused(f"code {name}", ValueError(why))
        if not isinstance(length, int) or not 0 <= length <= len(body):
            raise BadMessageError("code without its length")
        if not length and not self._code.knows(caller.name, name):
            return {"is": "unknown"}, []
        self._ready.wait()
        code, data = bytes(body[:length]), bytes(body[length:])
        with self._service.calls.running(caller.link):
            raised, result = self._code.call(caller.name, name, code, data)
        return {"is": "called", "raised": raised}, [result]

    def _store(self) -> RemoteStore:
        self._ready.wait()
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


def _within(seconds: float, work: Callable[[], str]) -> str:
    """What some work returns; it goes on when its time is over.

    Raises:
        ValueError: That is so.
    """
    future: Future[str] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return future.result(seconds)
    except TimeoutError:
        if future.done():  # the work's own
            raise
    raise ValueError(f"it takes longer than {seconds:g} s to compile")


def _told(program: str, record: bytes) -> Answer:
    return {"is": "program", "program": program}, [record]


def _digest(message: dict[str, Any], name: str) -> str:
    digest = message.get(name)
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise BadMessageError(f"{str(digest)[:80]!r} is no {name}")
    return digest


class NetworkServer(ThreadedServer):
    """A socket of TCP, with a thread for each client.

    Args:
        listening: Where, and for whom.
        service: Answers them.

    Raises:
        ServerError: It can't listen there.
    """

    def __init__(self, listening: Listening, service: RemoteService) -> None:
        listening.check()
        self._listening, self._remote = listening, service
        certificates = listening.certificates
        try:
            super().__init__(
                service,
                hostname=listening.host,
                port=listening.port,
                ipv6=":" in listening.host,
                authenticator=_SameUser() if not certificates else _Tls(certificates),
                logger=_log_of_rpyc,
            )
            self.listener.settimeout(None)
            self._listen()
        except OSError as error:
            raise ServerError(
                f"can't listen on {listening.host}:{listening.port} ({error})"
            ) from error

    def serve(self) -> NoReturn:
        """Take clients, for ever."""
        while True:
            try:
                self.accept()
            except (EOFError, OSError, RuntimeError) as error:  # too many files
                _log.warning("could not accept a client: %s", error)
                threading.Event().wait(0.1)

    def _accept_method(self, sock: socket.socket) -> None:
        if len(self.clients) > self._listening.connections:
            _log.warning("a client is refused: too many connections")
            self.clients.discard(sock)
            sock.close()
            return
        super()._accept_method(sock)

    def _authenticate_and_serve_client(self, sock: socket.socket) -> None:
        try:
            super()._authenticate_and_serve_client(sock)
        except (EOFError, ConnectionError):
            pass
        except (BadMessageError, OSError) as error:
            _log.warning("a client is dropped: %s", str(error)[:200])
        except Exception:
            _log.exception("a client is dropped")
        finally:
            sock.close()  # rpyc leaves that to the garbage collector

    def _serve_client(self, sock: socket.socket, credentials: Client) -> None:
        for level, option, value in _OPTIONS:
            sock.setsockopt(level, option, value)
        with sock:
            self._remote.serve(sock, credentials)


_OPTIONS = (
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),  # a client whose machine is gone
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 20),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)


class _Tls(SSLAuthenticator):
    """Clients with a certificate of the authority that the owner names."""

    def __init__(self, files: Certificates) -> None:
        for file in (files.cert, files.key, files.ca):
            if not file.is_file():
                raise ServerError(f"{file} is not there")
        super().__init__(files.key, files.cert, ca_certs=files.ca)

    def __call__(self, sock: socket.socket) -> tuple[ssl.SSLSocket, Client]:
        """The socket with TLS, and the client: by a digest of whom the CA has named."""
        sock.settimeout(_HANDSHAKE)
        try:
            secured, certificate = super().__call__(sock)
        except (AuthenticationError, OSError) as error:
            _log.warning("a client without a good certificate is refused: %s", error)
            raise AuthenticationError(str(error)) from error
        who = repr((certificate["subject"], certificate["issuer"]))
        names = dict(pair for part in certificate["subject"] for pair in part)
        shown = "".join(filter(str.isprintable, names.get("commonName", "?")))[:40]
        return secured, Client(hashlib.sha256(who.encode()).hexdigest()[:32], shown)


class _SameUser:
    """Clients on this machine that are processes of this user."""

    def __call__(self, sock: socket.socket) -> tuple[socket.socket, Client]:
        """The socket itself, and the client."""
        if owner_of_peer(sock) != os.getuid():
            _log.warning("a process of another user is refused")
            raise AuthenticationError("a process of another user")
        return sock, LOCAL


def owner_of_peer(sock: socket.socket, patience: float = 1.0) -> int | None:
    """The user of the process at the other end of a connection within this machine.

    None where that can't be seen, as in another container, or where it has hung up.

    Args:
        sock: A socket of TCP.
        patience: Seconds in which the other end may accept the connection. Until then,
            and after it has hung up, the system says that it is root's.

    Raises:
        TimeoutError: It does not accept it.
    """
    end = time.monotonic() + patience
    while (owner := _owner_in_table(sock)) is _NOBODY:
        if time.monotonic() >= end:
            raise TimeoutError("the other end does not accept the connection")
        time.sleep(0.002)
    return owner


_NOBODY = -1
_CONNECTED = "01"  # the state of a connection that neither end has shut


def _owner_in_table(sock: socket.socket) -> int | None:
    wanted = [_as_in_proc(sock.getpeername()), _as_in_proc(sock.getsockname())]
    table = "tcp6" if sock.family == socket.AF_INET6 else "tcp"
    with open(f"/proc/net/{table}") as rows:
        for row in rows:
            fields = row.split()
            if fields[1:3] == wanted:
                state, user, inode = fields[3], int(fields[7]), fields[9]
                if state != _CONNECTED:
                    return None
                return _NOBODY if inode == "0" else user
    return None


def _as_in_proc(address: tuple[Any, ...]) -> str:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    packed = socket.inet_pton(family, address[0])
    words = [packed[k : k + 4][::-1].hex() for k in range(0, len(packed), 4)]
    return f"{''.join(words)}:{address[1]:04x}".upper()
