"""A program of the store in the server's process, which knows it by its key alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._arrays import run_in_server
from ._environment import device_in_force
from ._places import ProgramPlaces
from ._records import loads
from ._store import Store


def hosted(folder: Path, key: str) -> "Hosted":
    """Load a program of the store.

    Args:
        folder: That of the store.
        key: Its name there.

    Raises:
        KeyError: The store has none of this name, or it can't be loaded.
    """
    return Hosted(folder, key)


class Hosted:
    """A program of the store, loaded.

    Args:
        folder: That of the store.
        key: Its name there.

    Attributes:
        about: `name` and `source` of its function, `seconds` that compiling it took,
            `bytes` of its code.

    Raises:
        KeyError: The store has none of this name, or it can't be loaded.
    """

    def __init__(self, folder: Path, key: str) -> None:
        places = ProgramPlaces(Store(folder))
        entry = places.store.read(key)
        record = entry and loads(entry.record)
        if entry is None or record is None or record.made != "compiled":
            raise KeyError(key)
        run = places.load(key, entry, record, device_in_force())
        if run is None:
            raise KeyError(key)
        self._run, self._record = run, record
        self.about: dict[str, Any] = {
            "name": record.name,
            "source": record.source,
            "seconds": record.seconds,
            "bytes": entry.size,
        }

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """Run it on arrays of NumPy's or JAX's; random keys are their numbers."""
        return run_in_server(self._run, self._record, arrays)
