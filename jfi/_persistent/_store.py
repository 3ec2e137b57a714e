"""The store: compiled programs in files, shared by processes.

A file is written beside its place and moved there, so that nobody sees a part of one.
It carries checksums; what does not fit is removed and compiled again, with a warning.
Where files can't be written there is no store, with a warning, too.
"""

import contextlib
import hashlib
import os
import platform
import stat
import struct
import tempfile
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from .._errors import CacheWarning
from .._values import Warner


try:
    import fcntl
except ImportError:  # Windows: nobody waits for others
    fcntl = None  # type: ignore[assignment]


DEFAULT_LIMIT = 4 * 2**30  # bytes
_PATIENCE = 900.0  # seconds for another process that compiles the same
_FORMAT = b"jfi store 2\n"
_HEADER = struct.Struct("<32sQQ32s32s")  # key, lengths of record and code, checksums


class Entry(NamedTuple):
    """What the store knows of a program.

    Attributes:
        record: What is to be done with its results.
        path: The file.
        offset: Where its code begins.
        size: How many bytes of code there are.
        checksum: Of the code.
    """

    record: bytes
    path: Path
    offset: int
    size: int
    checksum: bytes


class Store:
    """Programs in the files of a folder.

    Args:
        folder: Where they lie; made if it is not there.
        limit: How many bytes they may have together: the least recently used go.
    """

    def __init__(self, folder: Path, limit: int = DEFAULT_LIMIT) -> None:
        self.folder, self.limit = folder, limit
        self._warner = Warner(CacheWarning)
        self._is_open: bool | None = None  # not looked at yet

    def is_usable(self) -> bool:
        """Whether files may be kept there; if not it warns once."""
        if self._is_open is None:
            self._is_open = self._open()
        return self._is_open

    def read(self, key: str) -> Entry | None:
        """What is kept under a key; None if there is nothing that can be used."""
        if not self.is_usable():
            return None
        path = self._path(key)
        try:
            with path.open("rb") as file:
                entry = _read(key, path, file)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(f"can't read {path} ({error.strerror})")
            return None
        if entry is None:
            self.drop(key, "is damaged, or was written by another version of jfi")
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # used now
        return entry

    def code(self, key: str, entry: Entry) -> bytes | None:
        """The code of a program; None if it is damaged, or gone meanwhile."""
        try:
            with entry.path.open("rb") as file:
                file.seek(entry.offset)
                code = file.read(entry.size)
        except OSError:
            return None
        if _checksum(key, code) == entry.checksum:
            return code
        self.drop(key, "is damaged")
        return None

    def write(self, key: str, record: bytes, code: bytes = b"") -> bool:
        """Keep a program; False where that can't be done, with one warning."""
        if not self.is_usable() or len(record) + len(code) > self.limit:
            return False
        head = _HEADER.pack(
            bytes.fromhex(key), len(record), len(code),
            _checksum(key, record), _checksum(key, code),
        )  # fmt: skip
        path = self._path(key)
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            _write_file(path, (_FORMAT, head, record, code))
            self._make_room()
        except OSError as error:
            self._warn(f"can't write to {self.folder} ({error.strerror})")
            return False
        return True

    def drop(self, key: str, why: str = "") -> None:
        """Remove what is kept under a key."""
        path = self._path(key)
        if why:
            self._warn(f"{path} {why}: it is compiled again")
        with contextlib.suppress(OSError):
            path.unlink()

    @contextlib.contextmanager
    def claim(self, key: str) -> Generator[None]:
        """While a program is compiled: other processes that need it wait.

        They wait for as long as this process lives, but no more than 15 minutes.
        """
        path = self._path(key).with_suffix(".lock")
        file = None
        if self.is_usable():
            with contextlib.suppress(OSError):
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                file = path.open("wb")
        if file is None or fcntl is None:
            yield
            return
        with file:
            end = time.monotonic() + _PATIENCE
            while time.monotonic() < end:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(0.02)
                except OSError:  # a file system without locks
                    break
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    path.unlink()

    @contextlib.contextmanager
    def loading(self, key: str) -> Generator[bool]:
        """While code is loaded, which may be a crash: whether it was none before.

        XLA ends the process where it meets code that it can't take.
        """
        path = self._path(key)
        marks = list(path.parent.glob(f"{path.name}.loading-*"))
        if any(not _is_alive(mark) for mark in marks):
            for mark in marks:
                mark.unlink(missing_ok=True)
            self.drop(key, "ended the process that loaded it")
            yield False
            return
        mark = path.with_name(f"{path.name}.loading-{_HOST}-{os.getpid()}")
        with contextlib.suppress(OSError):
            mark.touch()
        try:
            yield True
        finally:
            with contextlib.suppress(OSError):
                mark.unlink()

    def entries(self) -> Iterator[tuple[Path, os.stat_result]]:
        """The files of programs, and what the system knows of them."""
        for path in self.folder.glob("??/*"):
            if len(path.name) == 64:
                with contextlib.suppress(OSError):
                    yield path, path.stat()

    def clear(self) -> int:
        """Remove all programs; how many there were."""
        found = [path for path, _ in self.entries()]
        for path in found:
            path.unlink(missing_ok=True)
        return len(found)

    def _make_room(self) -> None:
        found = sorted(self.entries(), key=lambda entry: entry[1].st_mtime)
        total = sum(info.st_size for _, info in found)
        for path, info in found:
            if total <= self.limit:
                break
            path.unlink(missing_ok=True)
            total -= info.st_size
        old = time.time() - 3600  # left by writers that were killed
        for path in self.folder.glob("??/*.part"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < old:
                    path.unlink()

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / key

    def _open(self) -> bool:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.folder.stat()
        except OSError as error:
            self._warn(f"can't use {self.folder} ({error.strerror})")
            return False
        if not stat.S_ISDIR(found.st_mode):
            self._warn(f"can't use {self.folder}, which is no folder")
            return False
        if hasattr(os, "getuid") and (
            found.st_uid != os.getuid() or found.st_mode & 0o022
        ):
            self._warn(
                f"does not use {self.folder}: others can write there, and what they "
                f"write would run as you. Close it: chmod 700 {self.folder}"
            )
            return False
        return True

    def _warn(self, what: str) -> None:
        kind = what.partition("/")[0]  # not once for each path
        self._warner.warn(f"The store of compiled programs {what}.", about=kind)


def _read(key: str, path: Path, file: BinaryIO) -> Entry | None:
    mark, head = file.read(len(_FORMAT)), file.read(_HEADER.size)
    if mark != _FORMAT or len(head) != _HEADER.size:
        return None
    own, n, size, of_record, of_code = _HEADER.unpack(head)
    start = len(_FORMAT) + _HEADER.size + n
    if own != bytes.fromhex(key) or path.stat().st_size != start + size:
        return None
    record = file.read(n)
    if _checksum(key, record) != of_record:
        return None
    return Entry(record, path, start, size, of_code)


def _checksum(key: str, data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=32, key=bytes.fromhex(key)).digest()


def _write_file(path: Path, parts: tuple[bytes, ...]) -> None:
    """Write a file as a whole, or not at all."""
    handle, name = tempfile.mkstemp(suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


_HOST = platform.node()  # machines may share a folder


def _is_alive(mark: Path) -> bool:
    """Whether the process that made a mark lives, as far as this machine can tell."""
    host, _, process = mark.name.partition(".loading-")[2].rpartition("-")
    if host != _HOST:
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (OSError, ValueError):
        return True
    return True


def default_folder() -> Path:
    """Where programs are kept unless the user says where.

    `$JFI_CACHE_DIR`, else `$XDG_CACHE_HOME/jfi`, else `~/.cache/jfi`.
    """
    chosen = os.environ.get("JFI_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # the user has no home
        cache = Path(tempfile.gettempdir()) / f"jfi-{os.getuid()}"
    return Path(cache) / "jfi"
