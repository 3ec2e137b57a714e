"""Programs that run in the compilation server: `jfi-server`.

The server has what the store has, loaded. A program runs there from the first call on,
which spares this process to load it. In mode "auto" one that is called again and again
is loaded here meanwhile: no way to another process is as short as none.
"""

import contextlib
import functools
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .._errors import LocalFallbackWarning
from .._values import Warner
from ._arrays import are_results, arrays_for_server, arrays_from_server
from ._asked_for import AskedFor
from ._places import Run
from ._records import Record
from ._store import server_module


CALLS_TO_LOAD = 4  # of a program, before it is loaded into this process
SECONDS_TO_START = 4.0  # for the server; then calls run in this process


class GoneError(Exception):
    """A program is neither in the server nor in the store any more."""


class ServerLink:
    """The server of this environment, for the programs of one store.

    Args:
        store: The folder of the store.
        stays: Whether programs stay in the server, and it is started if none runs.
        timeout: Seconds to wait for a result; None: as long as the server lives.
    """

    def __init__(self, store: Path, stays: bool, timeout: float | None) -> None:
        self._store, self.stays, self.timeout = store, stays, timeout
        self._warner = Warner(LocalFallbackWarning)

    @functools.cached_property
    def client(self) -> Any:
        """The connections."""
        base = server_module("folders").base_folder()
        digest = server_module("environment").digest()
        client = server_module("client").Client(base, digest, self._store)
        if self.stays:
            try:
                server_module("control").start_server(base, patience=SECONDS_TO_START)
            except server_module("errors").ServerError as error:
                why = f"no server could be started ({str(error).rstrip('.')})"
                self.warn(why)
                self.stays = False
                client.avoid(why)  # it may be found later, which nobody waits for
        return client

    def run_of(
        self, key: str, record: Record, asked: AskedFor, load: Callable[[], Run | None]
    ) -> Run | None:
        """What has the server run a program; None: no server runs."""
        try:
            self.client.load(key)
        except server_module("errors").ServerError as error:
            if self.stays or not isinstance(error, server_module("errors").NoServer):
                self.warn(str(error).rstrip("."))
            return None
        return Served(self, key, record, asked, load)

    def keep(self, key: str) -> None:
        """Let the server load a new program, while this process goes on."""
        with contextlib.suppress(server_module("errors").ServerError):
            self.client.load(key)  # if it can't, who runs it will warn

    def warn(self, why: str) -> None:
        """Warn once that programs run in this process."""
        self._warner.warn(f"Persistent functions run in this process: {why}.")


class Served:
    """A program that runs in the server, until it is loaded here."""

    def __init__(
        self,
        link: ServerLink,
        key: str,
        record: Record,
        asked: AskedFor,
        load: Callable[[], Run | None],
    ) -> None:
        self._link, self._key, self._record, self._asked = link, key, record, asked
        self._load = load
        self._local: Run | None = None
        self._calls = 0

    def __call__(self, *arrays: Any) -> Sequence[Any]:
        """Run it."""
        if self._local is not None:
            return self._local(*arrays)
        self._calls += 1
        if self._calls == CALLS_TO_LOAD and not self._link.stays:
            threading.Thread(target=self._load_here, daemon=True).start()
        record, asked = self._record, self._asked
        errors = server_module("errors")
        try:
            found = self._link.client.run(
                self._key, arrays_for_server(arrays, asked), timeout=self._link.timeout
            )
        except errors.NotKept:
            return self._here()(*arrays)
        except errors.ServerLost as error:
            self._link.warn(str(error).rstrip("."))
            return self._here()(*arrays)
        if not are_results(found, record):
            self._link.warn("the server has answered something else than the results")
            return self._here()(*arrays)
        return arrays_from_server(found, record, asked)

    def _here(self) -> Run:
        """The program, loaded into this process."""
        self._load_here()
        if self._local is None:
            raise GoneError
        return self._local

    def _load_here(self) -> None:
        self._local = self._load()
