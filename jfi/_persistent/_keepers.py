"""Who keeps programs: for all functions (`enable_cache`), or for some."""

import functools
from pathlib import Path
from typing import Literal, NamedTuple

from .._autojit._keeping import ProgramOrigin, keeper_of_all
from .._errors import RemoteError
from ._kept import KeptProgram
from ._places import ProgramPlaces, Server
from ._remote import Server as RemoteServer, remote_keeper, server_in_use
from ._served import ServerLink
from ._store import Store, default_folder


class StoreKeeper:
    """Keeps programs in a store, as autojit asks for (see `_autojit/_keeping`).

    Args:
        folder: That of the store.
        server: Runs programs in another process; None: all run here.
        announces: Whether to warn of functions whose programs can't be kept.
    """

    def __init__(
        self, folder: Path, server: Server | None = None, *, announces: bool = False
    ) -> None:
        self.places = ProgramPlaces(Store(folder), server, announces=announces)

    def keep(self, place: ProgramOrigin) -> KeptProgram | None:
        """What compiles the program of a place; None if it can't be kept."""
        return KeptProgram.of(place, self.places)


Mode = Literal["auto", "server", "disk", "off"]


class ModeKeeper(NamedTuple):
    """Keeps the programs of a persistent function, in the store that is in use.

    Attributes:
        mode: Where they run.
        timeout: Seconds to wait for the server; None: as long as it lives.
        server: That on the network; None: the one of `use_server`, if there is one.
        falls_back: Whether what such a server can't do runs here.
    """

    mode: Mode
    timeout: float | None
    server: RemoteServer | None = None
    falls_back: bool = True

    def keep(self, place: ProgramOrigin) -> KeptProgram | None:
        """What compiles the program of a place; None if it can't be kept."""
        if self.mode == "off":
            return None
        remote = None if self.mode == "disk" else self.server or server_in_use()
        if remote is not None:
            chosen = self.timeout, self.falls_back
            return remote_keeper(remote, folder_in_use(), *chosen).keep(place)
        if not self.falls_back:
            raise RemoteError(
                f"{place.name}() has no server to run on, and fallback=False. Write, "
                'before: jfi.use_server("ssh://gpu-box").'
            )
        return _keeper(folder_in_use(), self.mode, self.timeout).keep(place)


@functools.cache
def _keeper(folder: Path, mode: Mode, timeout: float | None) -> StoreKeeper:
    stays = mode == "server"
    server = None if mode == "disk" else ServerLink(folder, stays, timeout)
    return StoreKeeper(folder, server, announces=True)


def folder_in_use() -> Path:
    """The folder of the store: that of `enable_cache`, or the user's own."""
    keeper = keeper_of_all()
    if isinstance(keeper, StoreKeeper):
        return keeper.places.store.folder
    return default_folder() / "programs"
