"""Where programs are: in this process, in the server, in the store."""

import functools
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from .._errors import LocalFallbackWarning
from .._jax_internals import Device, Slots, deserialized
from .._values import user_level
from ._asked_for import AskedFor
from ._records import Record, dumps, loads
from ._report import Ledger
from ._store import Entry, Store
from .fingerprint import is_as_noted


Run = Callable[..., Sequence[Any]]  # of arrays one by one, with a list of arrays


class FoundProgram(NamedTuple):
    """A program that was found.

    Attributes:
        record: What is known of it.
        run: Runs it; None if it can't be run from here.
        fill: Loads one that calls back, given its callbacks.
    """

    record: Record
    run: Run | None
    fill: Callable[[Slots], Run | None] | None = None


class Server(Protocol):
    """Runs programs of the store in another process."""

    def run_of(
        self, key: str, record: Record, asked: AskedFor, load: Callable[[], Run | None]
    ) -> Run | None:
        """What has the server run a program; None: it is to be loaded here."""
        ...

    def keep(self, key: str) -> None:
        """There is a new program in the store."""
        ...


class ProgramPlaces:
    """The places of one store.

    Args:
        store: The files.
        server: Runs programs elsewhere; None: all are loaded here.
        announces: Whether to warn of functions whose programs can't be kept.
    """

    def __init__(
        self, store: Store, server: Server | None = None, *, announces: bool = False
    ) -> None:
        self.store, self.server, self._announces = store, server, announces

    def find(self, key: str, asked: AskedFor) -> FoundProgram | None:
        """Find a program; None: it must be compiled."""
        entry = self.store.read(key)
        record = None if entry is None else _record(entry)
        if entry is None or record is None:
            return None
        if record.made != "compiled":
            return FoundProgram(record, None)
        if not is_as_noted(record.libraries or {}):
            return None
        if record.called_back:
            fill = functools.partial(self.load, key, entry, record, asked.device)
            return FoundProgram(record, None, fill)

        def load() -> Run | None:
            return self.load(key, entry, record, asked.device)

        run = self.server.run_of(key, record, asked, load) if self.server else None
        if run is not None:
            LEDGER.found(record.seconds)
            return FoundProgram(record, run)
        start = time.perf_counter()
        run = load()
        if run is None:
            return None
        LEDGER.found(record.seconds - (time.perf_counter() - start))
        return FoundProgram(record, run)

    def load(
        self,
        key: str,
        entry: Entry,
        record: Record,
        device: Device,
        slots: Slots | None = None,
    ) -> Run | None:
        """Load a program into this process; None if that can't be done.

        Args:
            key: Its key.
            entry: Its file.
            record: What is known of it.
            device: Where it runs.
            slots: What it calls back. Such a program is that of one function: another
                may have other callbacks.
        """
        with _locks.setdefault(key, threading.Lock()):
            known = _loaded.get((key, device))
            if known is not None:
                return known
            with self.store.loading(key) as safe:
                code = self.store.code(key, entry) if safe else None
                if code is None:
                    return None
                sizes = len(record.arguments), len(record.results)
                try:
                    program = deserialized(code, *sizes, device, slots)
                except Exception as error:  # whatever XLA says
                    why = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
                    self.store.drop(key, f"can't be loaded ({why})")
                    return None
            if slots is not None:
                return program
            loaded = _loaded[key, device] = Loaded(program)
            return loaded

    def not_kept(self, name: str, why: str) -> None:
        """A program can't be kept."""
        is_new = LEDGER.not_kept(name, why)
        if is_new and self._announces:
            warnings.warn(
                f"{name}() is compiled at each start of the script: {why}.",
                LocalFallbackWarning,
                stacklevel=user_level(),
            )

    def keep(self, key: str, record: Record, code: bytes) -> None:
        """Keep a program that was compiled here."""
        if self.store.write(key, dumps(record), code) and self.server:
            self.server.keep(key)

    def note(self, key: str, record: Record) -> None:
        """Keep why a program can't be compiled as it was asked for."""
        self.store.write(key, dumps(record))


LEDGER = Ledger()


class Loaded:
    """A program in this process, one for all functions that need it.

    Args:
        program: Of arrays one by one, with a list of arrays.
    """

    def __init__(self, program: Callable[..., Sequence[Any]]) -> None:
        self._program = program

    def __call__(self, *arrays: Any) -> Sequence[Any]:
        """Run it."""
        return self._program(*arrays)


_loaded: weakref.WeakValueDictionary[Any, Loaded] = weakref.WeakValueDictionary()
_locks: dict[str, threading.Lock] = {}  # so that two threads load a program once


def _record(entry: Entry) -> Record | None:
    try:
        return loads(entry.record)
    except (TypeError, ValueError):  # it is signed: another jfi has written it
        return None
