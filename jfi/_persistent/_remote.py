"""Programs that another machine compiles, keeps and runs: `use_server`.

A function is traced here, as everywhere. Its program goes there once, under a key that
says what it is made of, and not on which machine; so another client finds it. What has
no program to send, and what the server can't do, runs here.
"""

import contextlib
import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax

from .._autojit._keeping import ProgramOrigin, RetakenError
from .._errors import LocalFallbackWarning, RemoteError
from .._jax_internals import calls_back
from .._jit._compiled import TracedBody
from .._optional._packages import without_collections
from .._values import Warner
from ._arrays import are_results, arrays_for_server, arrays_from_server
from ._asked_for import AskedFor
from ._environment import portable_surroundings
from ._exported import NotExportedError, exported
from ._handles import ServerArray
from ._kept import KeptJitted, KeptProgram, Program
from ._places import LEDGER, ProgramPlaces
from ._records import Record, dumps, loads
from ._served import GoneError
from ._store import Store, server_module
from .fingerprint import is_as_noted


RETRY = 30.0  # seconds for which programs run here, before a lost server is asked again


class Server(NamedTuple):
    """A server on the network.

    Attributes:
        url: Where it is, as the user writes it.
        certificates: The folder with those of this client.
    """

    url: str
    certificates: Path


def server_at(url: object, certificates: object = None) -> Server:
    """The server of an address that a user gave.

    Raises:
        ValueError: It is no address.
    """
    try:
        server_module("addresses").parsed(url if isinstance(url, str) else repr(url))
    except server_module("errors").ServerError as error:
        raise ValueError(str(error)) from None
    folder: Any = certificates or os.environ.get("JFI_SERVER_TLS", "~/.config/jfi/tls")
    return Server(str(url), Path(folder).expanduser().absolute())


def choose_server(server: Server | None) -> None:
    """Use a server for all persistent functions that name none."""
    _chosen[:] = [server]


def server_in_use() -> Server | None:
    """The server that `use_server` chose, else that of `$JFI_SERVER`."""
    if _chosen:
        return _chosen[0]
    url = os.environ.get("JFI_SERVER")
    return server_at(url) if url else None


_chosen: list[Server | None] = []


class RemoteKeeper:
    """Keeps programs in a server on the network, as autojit asks for.

    Args:
        server: Where it is.
        folder: That of the store on disk, for what runs here.
        timeout: Seconds to wait for a result; None: as long as the server lives.
        falls_back: Whether what the server can't do runs here.
    """

    def __init__(
        self, server: Server, folder: Path, timeout: float | None, falls_back: bool
    ) -> None:
        client = client_of(server)
        self.places = RemotePlaces(Store(folder), client, timeout, falls_back)

    def keep(self, place: ProgramOrigin) -> KeptProgram | None:
        """What has the program of a place compiled; None if it can't be kept."""
        return RemoteProgram.of(place, self.places)


@functools.cache
def remote_keeper(
    server: Server, folder: Path, timeout: float | None, falls_back: bool
) -> RemoteKeeper:
    """The keeper for a server: one for all functions."""
    return RemoteKeeper(server, folder, timeout, falls_back)


@functools.cache
def client_of(server: Server) -> Any:
    """The connections to a server: one client for all functions, and for arrays."""
    where = server_module("addresses").parsed(server.url)
    return server_module("_remote_client").RemoteClient(where, server.certificates)


class RemotePlaces(ProgramPlaces):
    """A server on the network, and the store on disk for what runs here."""

    def __init__(
        self, store: Store, client: Any, timeout: float | None, falls_back: bool
    ) -> None:
        super().__init__(store)
        self.client, self.timeout, self._falls_back = client, timeout, falls_back
        self._warner = Warner(LocalFallbackWarning)

    @property
    def lost(self) -> Any:
        """The error of a server that can't be had, or can't do what is asked."""
        return server_module("errors").ServerLost

    def note(self, key: str, record: Record) -> None:
        """Keep why a program can't be had as it was asked for, there and here."""
        super().note(key, record)
        with contextlib.suppress(self.lost):
            self.client.keep(key, dumps(record), b"")

    def not_kept(self, name: str, why: str) -> None:
        """Warn once that a function runs in this process; or refuse that."""
        LEDGER.not_kept(name, why)
        self._warn(f"{name}() runs in this process, not in the server: {why}", why)

    def no_server(self, why: str) -> None:
        """Warn once that programs run in this process; or refuse that."""
        self._warn(f"Persistent functions run in this process: {why}", why)

    def _warn(self, text: str, why: str) -> None:
        if not self._falls_back:
            raise RemoteError(
                f"The server at {self.client.address} can't run it: {why}. Without "
                "fallback=False it runs in this process."
            ) from None
        self._warner.warn(f"{text}.")


class RemoteProgram(KeptProgram):
    """One program of autojit, in the server."""

    places: RemotePlaces

    def jit(self, fun: Callable[..., Any], options: Mapping[str, Any]) -> KeptJitted:
        """Stands for `jax.jit`, for calls that draw no random numbers."""
        return RemoteJitted(self, fun, options, TracedBody(fun))

    def jit_drawing(
        self, fun: Callable[..., Any], options: Mapping[str, Any], body: TracedBody
    ) -> KeptJitted:
        """The same for calls that draw."""
        return RemoteJitted(self, fun, options, body)


class RemoteJitted(KeptJitted):
    """Stands for what `jax.jit` returns. What is not there runs as without a server."""

    _kept: RemoteProgram
    _runs_here_until = 0.0

    def __call__(self, *args: Any) -> Any:
        """Call it."""
        try:
            return super().__call__(*args)
        except (LostError, GoneError):  # GoneError: a second time
            self._runs_here_until = time.monotonic() + RETRY
            self.forget()
        return super()._find(args, jax.tree.leaves(args))(*args)

    def _find(self, args: tuple[Any, ...], leaves: Sequence[Any]) -> Any:
        places = self._kept.places
        try:
            if time.monotonic() >= self._runs_here_until:
                return self._find_there(args, leaves)
        except places.lost as error:
            places.no_server(str(error).rstrip("."))
            self._runs_here_until = time.monotonic() + RETRY
        except NotExportedError as error:
            places.not_kept(self._kept.name, str(error))
            return super()._find(args, leaves)
        return _until(self._runs_here_until, super()._find(args, leaves))

    def _find_there(self, args: tuple[Any, ...], leaves: Sequence[Any]) -> Any:
        """What calls the program in the server.

        Raises:
            ServerLost: There is no server, or it can't run it.
            NotExportedError: The program can't be sent.
        """
        places = self._kept.places
        platform = str(places.client.describe(places.timeout).get("platform"))
        if self._options:
            raise NotExportedError("it has options of jax.jit")
        with without_collections():
            around = portable_surroundings(platform)
            program = self._asked(leaves, lambda _: around)
        if isinstance(program, str):
            raise NotExportedError(program)
        if program.description.effect:
            raise NotExportedError(program.description.effect)
        return self._known(program) or self._send(program, args, platform)

    def _known(self, program: Program) -> Callable[..., Any] | None:
        """What the server has, if libraries are here as they were for its trace.

        A record that comes from there is nobody's word but the server's: it imports
        nothing, and where it is none, the function is traced and sent again.
        """
        places = self._kept.places
        there = places.client.find(program.key, places.timeout)
        if there is None:
            return None
        name, text = there
        try:
            record = loads(text)
            if not is_as_noted(record.libraries or {}, imports=False):
                return None
            found = self._there(program, name, record)
        except RetakenError:  # what the trace has raised that was noted
            raise
        except Exception:  # no record: it is traced and sent again
            return None
        LEDGER.found(record.seconds)
        return found

    def _there(self, program: Program, name: str, record: Record) -> Callable[..., Any]:
        """What calls a program of the server."""
        places, asked = self._kept.places, program.asked
        run = RemoteRun(places, name, record, asked) if name else None
        return self._call_of(program, record, run, imports=False)

    def _send(
        self, program: Program, args: tuple[Any, ...], platform: str
    ) -> Callable[..., Any]:
        """Trace it, and have the server compile and keep it."""
        start = time.perf_counter()
        found = self._traced(program, args)
        if isinstance(found, str):
            raise NotExportedError(found)
        traced, reads = found
        if calls_back(traced.jaxpr.jaxpr):
            raise NotExportedError("it calls back to Python")
        if why := reads.refusal(program.codes):
            raise NotExportedError(why)
        code = exported(traced, platform, self._kept.name)
        seconds = time.perf_counter() - start
        record = self._record(program, traced, reads.state(), seconds)
        if isinstance(record, str):
            raise NotExportedError(record)
        places = self._kept.places
        sent = program.key, dumps(record), code
        name = places.client.keep(*sent, timeout=places.timeout)
        LEDGER.compiled(seconds)
        return self._there(program, name, record)


def _until(end: float, run: Callable[..., Any]) -> Callable[..., Any]:
    """What runs here, until it is time to ask the server again."""

    def call(*args: Any) -> Any:
        if time.monotonic() >= end:
            raise GoneError
        return run(*args)

    return call


class LostError(Exception):
    """The server can't run what was asked for; a warning has said why."""


class RemoteRun:
    """Runs a program in the server: of arrays one by one, with a list of arrays."""

    def __init__(
        self, places: RemotePlaces, program: str, record: Record, asked: AskedFor
    ) -> None:
        self._places, self._program = places, program
        self._record, self._asked = record, asked
        self._numbered = range(len(record.results))

    def __call__(self, *arrays: Any) -> Sequence[Any]:
        """Run it.

        Raises:
            GoneError: The server has it no more.
            LostError: It can't.
            RemoteError: An argument is there no more.
        """
        client = self._places.client
        sent = arrays_for_server(arrays, self._asked, client)
        stay = self._staying(sent)
        keep = [stay[k].number if k in stay else None for k in self._numbered]
        options = {"timeout": self._places.timeout, "keep": keep if stay else []}
        errors = server_module("errors")
        try:
            came = client.run(self._program, sent, **options)
        except errors.NotKept:
            raise GoneError from None
        except errors.ArrayGone as gone:
            handles = (x for x, n in zip(arrays, sent, strict=True) if n == gone.number)
            raise next(handles).gone() from None
        except self._places.lost as error:
            for x in arrays:  # it will run here: without them it can't
                if isinstance(x, ServerArray):
                    x.value()
            self._places.no_server(str(error).rstrip("."))
            raise LostError from error
        return self._results(came, stay)

    def _staying(self, sent: Sequence[Any]) -> dict[int, ServerArray]:
        """The results that stay there: the arrays, if an argument was there."""
        if not any(isinstance(x, int) for x in sent):
            return {}
        client = self._places.client
        return {
            k: ServerArray(client, client.number(), result.shape, result.dtype)
            for k, result in enumerate(self._record.results)
            if result.may_stay
        }

    def _results(
        self, came: Sequence[Any], stay: Mapping[int, ServerArray]
    ) -> Sequence[Any]:
        """All results: those that came between those that stay."""
        results = self._record.results
        record = self._record._replace(
            results=tuple(r for k, r in enumerate(results) if k not in stay)
        )
        if not are_results(came, record):
            places = self._places
            places.no_server("the server has answered something else than the results")
            raise LostError
        arrays = arrays_from_server(came, record, self._asked)
        if not stay:
            return arrays
        arrived = iter(arrays)
        return [stay[k] if k in stay else next(arrived) for k in self._numbered]
