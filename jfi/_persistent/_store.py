"""The store: compiled programs in files, shared by processes.

A file is written beside its place and moved there, so that nobody sees a part of one.
It is signed with a key that this user alone can read, as loading a program may run
code. What is damaged, or not signed so, is removed and compiled again, with a warning.
Where files can't be written there is no store, with a warning, too.
"""

import contextlib
import functools
import hmac
import importlib
import os
import re
import stat
import struct
import tempfile
import time
import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from .._errors import CacheWarning
from .._values import Warner, user_level


if TYPE_CHECKING:
    from jfi_server.folders import Folder

DEFAULT_LIMIT = 4 * 2**30  # bytes
DEFAULT_MOST = 1_000_000  # programs
_PATIENCE = 900.0  # seconds for another process that compiles the same
_FORMAT = b"jfi store 3\n"
_HEADER = struct.Struct("<QQ32s32s")  # lengths of record and code, their signatures
_START = len(_FORMAT) + _HEADER.size
_KEY = re.compile(r"[0-9a-f]{64}")
_MOST_LOST = 2  # processes in a row that may end while they load a program


class Entry(NamedTuple):
    """What the store knows of a program.

    Attributes:
        record: What is to be done with its results.
        offset: Where its code begins.
        size: How many bytes of code there are.
        signature: Of the code.
    """

    record: bytes
    offset: int
    size: int
    signature: bytes


class Store:
    """Programs in the files of a folder.

    Args:
        folder: Where they lie; made if it is not there.
        limit: How many bytes they may have together: the least recently used go.
        most: How many there may be, likewise.
    """

    def __init__(
        self, folder: Path, limit: int = DEFAULT_LIMIT, most: int = DEFAULT_MOST
    ) -> None:
        self.folder, self.limit, self._most = folder, limit, most
        self._warner = Warner(CacheWarning)
        self._is_refused = False
        self._files: Folder | None = None
        self._secret = b""

    def is_usable(self) -> bool:
        """Whether files may be kept there; if not it warns once."""
        return self._open() is not None

    def read(self, key: str) -> Entry | None:
        """What is kept under a key; None if there is nothing that can be used."""
        if not _KEY.fullmatch(key):  # such as `key`, which is a file of another kind
            return None
        file = self._open_file(key)
        if file is None:
            return None
        with file:
            entry = self._entry(key, file)
        if entry is None:
            self.drop(key, "is damaged, or was not written by you and this jfi")
        elif files := self._open():
            files.use(key)
        return entry

    def code(self, key: str, entry: Entry) -> bytes | None:
        """The code of a program; None if it is damaged, or gone meanwhile."""
        file = self._open_file(key)
        if file is None:
            return None
        with file:
            file.seek(entry.offset)
            code = file.read(entry.size)
        if hmac.compare_digest(self._signature(key, code), entry.signature):
            return code
        self.drop(key, "is damaged")
        return None

    def write(self, key: str, record: bytes, code: bytes = b"") -> bool:
        """Keep a program; False where that can't be done, with one warning."""
        files = self._open()
        if files is None or len(record) + len(code) > self.limit:
            return False
        of_code = self._signature(key, code)
        of_record = self._signature(key, record, of_code)
        head = _HEADER.pack(len(record), len(code), of_record, of_code)
        try:
            files.write(key, (_FORMAT, head, record, code))
            self._make_room(files)
        except OSError as error:
            self._warn(f"can't write to {self.folder} ({error.strerror})")
            return False
        return True

    def drop(self, key: str, why: str = "") -> None:
        """Remove what is kept under a key."""
        if why:
            self._warn(f"{self.folder / key} {why}: it is compiled again")
        files = self._open()
        if files is not None:
            files.remove(key)

    @contextlib.contextmanager
    def claim(self, key: str) -> Generator[None]:
        """While a program is compiled: other processes that need it wait.

        They wait for as long as this process lives, but no more than 15 minutes.
        """
        with self._mark(f"{key}.lock") as mark:
            end = time.monotonic() + _PATIENCE
            while mark is not None and time.monotonic() < end:
                if server_module("folders").lock(mark) is not False:
                    break
                time.sleep(0.02)
            yield

    @contextlib.contextmanager
    def loading(self, key: str) -> Generator[bool]:
        """While code is loaded, which may be a crash: whether it may be tried.

        XLA ends the process where it meets code that it can't take. But so may a
        signal of the user's, or of a queue: one process that was lost is no proof.
        """
        with self._mark(f"{key}.loading") as mark:
            # One byte for each process that has ended meanwhile. A lock that is free
            # says that they have ended, on all machines that see the folder.
            if mark is not None and server_module("folders").lock(mark):
                if os.fstat(mark).st_size >= _MOST_LOST:
                    self.drop(key, "has ended the processes that loaded it")
                    yield False
                    return
                with contextlib.suppress(OSError):  # a full disk
                    os.write(mark, b"x")
            yield True

    @contextlib.contextmanager
    def _mark(self, name: str) -> Generator[int | None]:
        """A file that is there for a block; it stays if the process ends in it."""
        files = self._open()
        mark = None
        if files is not None:
            with contextlib.suppress(OSError):
                mark = files.create(name, os.O_RDWR | os.O_APPEND)
        try:
            yield mark
        finally:
            if files is not None and mark is not None:
                files.remove(name)
                os.close(mark)

    def entries(self) -> Iterator[tuple[str, os.stat_result]]:
        """The keys of programs, and what the system knows of their files."""
        files = self._open()
        for name, info in files.entries() if files else ():
            if len(name) == 64 and stat.S_ISREG(info.st_mode):
                yield name, info

    def clear(self) -> int:
        """Remove all programs; how many there were."""
        keys = [key for key, _ in self.entries()]
        for key in keys:
            self.drop(key)
        return len(keys)

    def _make_room(self, files: "Folder") -> None:
        kept = sorted(self.entries(), key=lambda entry: entry[1].st_mtime)
        total = sum(info.st_size for _, info in kept)
        for k, (key, info) in enumerate(kept):
            if total <= self.limit and len(kept) - k <= self._most:
                break
            files.remove(key)
            total -= info.st_size
        old = time.time() - 3600  # left by writers that were killed
        for name, info in files.entries():
            if name.endswith(".part") and info.st_mtime < old:
                files.remove(name)

    def _open(self) -> "Folder | None":
        """The folder, opened once; again where it was removed."""
        # Threads may open it at the same time, without a lock, which a fork could leave
        # held. What one of them holds stays open for as long as it does.
        files = self._files
        if files is not None and not os.fstat(files.fd).st_nlink:
            files = None
        if files is None and not self._is_refused:
            errors = server_module("errors")
            try:
                opened = server_module("folders").Folder(self.folder)
                self._secret, files = opened.key(), opened
            except errors.FolderError as error:
                self._warn(f"is not used: {error}")
            except OSError as error:
                self._warn(f"can't use {self.folder} ({error.strerror})")
            self._is_refused = files is None
        self._files = files
        return files

    def _open_file(self, key: str) -> BinaryIO | None:
        files = self._open()
        if files is None:
            return None
        try:
            return open(files.open(key), "rb")
        except FileNotFoundError:
            return None
        except server_module("errors").FolderError as error:
            self._warn(f"does not use an entry: {error}. It is compiled again")
            files.remove(key)
        except OSError as error:
            self._warn(f"can't read {self.folder / key} ({error.strerror})")
        return None

    def _entry(self, key: str, file: BinaryIO) -> Entry | None:
        head = file.read(_START)
        if not head.startswith(_FORMAT) or len(head) != _START:
            return None
        n, size, of_record, of_code = _HEADER.unpack_from(head, len(_FORMAT))
        if os.fstat(file.fileno()).st_size != _START + n + size:
            return None
        record = file.read(n)
        if not hmac.compare_digest(self._signature(key, record, of_code), of_record):
            return None
        return Entry(record, _START + n, size, of_code)

    def _signature(self, key: str, data: bytes, beside: bytes = bytes(32)) -> bytes:
        """That of code; or of a record, with the signature of the code beside it."""
        made = hmac.new(self._secret, bytes.fromhex(key) + beside, "sha256")
        made.update(data)
        return made.digest()

    def _warn(self, what: str) -> None:
        kind = what.partition("/")[0]  # not once for each path
        self._warner.warn(f"The store of compiled programs {what}.", about=kind)


@functools.cache
def server_module(name: str) -> Any:
    """A module of the server's package, imported by the first call that needs it."""
    return importlib.import_module(f"jfi_server.{name}")


def is_for_jax(path: Path) -> bool:
    """Whether JAX may keep what it compiles in a folder; if not it warns.

    JAX opens it by its path, and nothing there is signed: nobody else may be able to
    replace the folder, or have put something there.
    """
    try:
        files = server_module("folders").Folder(path)
        strange = files.first_strange()
        if not strange:
            return True
        why = (
            f"others have written {path / strange}, or could. If you know that they "
            f"have not: chmod -R go-w {path}"
        )
    except server_module("errors").FolderError as error:
        why = str(error)
    warnings.warn(
        f"JAX's cache of compiled programs is not used: {why}.",
        CacheWarning,
        stacklevel=user_level(),
    )
    return False


def default_folder() -> Path:
    """Where programs are kept unless the user says where.

    `$JFI_CACHE_DIR`, else `$XDG_CACHE_HOME/jfi`, else `~/.cache/jfi`.
    """
    chosen = os.environ.get("JFI_CACHE_DIR")
    if chosen:
        # That of a user who is not there stays as it is written, as in a shell.
        return Path(os.path.expanduser(chosen)).absolute()
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # the user has no home
        cache = Path(tempfile.gettempdir()) / f"jfi-{os.getuid()}"
    return Path(cache) / "jfi"
