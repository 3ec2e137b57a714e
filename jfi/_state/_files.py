"""A file that is replaced as a whole: a zip archive of arrays and of one text.

A reader finds the old file or the new one. A process that is killed in between leaves
a file of another name, which the next one removes.
"""

import contextlib
import errno
import glob
import itertools
import json
import os
import shutil
import socket
import zipfile
import zlib
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .._errors import StateError


_TEXT = "state.json"
_FORMAT = "jfi state 1"
# The end of the file, as the archive's comment: a checksum of all that is before. Those
# inside leave out the archive's own entries, such as dates, and what follows its end.
_END = b"crc32 %08x"
_SIZE_OF_END = len(_END % 0)
_numbers = itertools.count()  # threads may save to one file at a time
_being_written: set[Path] = set()


def write(path: Path, text: Any, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write a file, or leave the one that is there.

    Raises:
        OSError: It can't be written.
    """
    path = Path(os.path.realpath(path))  # a link goes on pointing to it
    if not path.parent.is_dir():  # the error of `open` would name the file in between
        raise FileNotFoundError(
            errno.ENOENT, "There is no such folder", str(path.parent)
        )
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "This is a folder", str(path))
    _remove_partial(path)
    process = f"{socket.gethostname()}-{next(_numbers)}-{os.getpid()}"
    partial = path.with_name(f".{path.name}.{process}.partial")
    _being_written.add(partial)
    try:
        with open(partial, "x+b") as file:
            with zipfile.ZipFile(file, "w") as archive:
                archive.comment = _END % 0
                for name, array in arrays.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, array, allow_pickle=False)
                archive.writestr(_TEXT, json.dumps({"format": _FORMAT, **text}))
            end = _true_end(file)
            file.seek(-_SIZE_OF_END, os.SEEK_END)
            file.write(end)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):  # the first save
            shutil.copymode(path, partial)
        os.replace(partial, path)
        _sync_folder(path.parent)
    finally:
        with contextlib.suppress(FileNotFoundError):
            partial.unlink()
        _being_written.discard(partial)


@contextlib.contextmanager
def opened(path: Path) -> Generator[tuple[Any, "Arrays"]]:
    """The text of a file, and its arrays while it is open.

    Raises:
        StateError: It is damaged, or no file of `save_state`.
        OSError: It can't be read.
    """
    with open(path, "rb") as file:
        with damage(path):
            end = _true_end(file)
            if file.read() != end:
                raise ValueError("its checksum is another one")
            archive = zipfile.ZipFile(file)
            text = json.loads(archive.read(_TEXT))
            written = text["format"]
        if written != _FORMAT:
            raise StateError(
                f"{path} is of the format {written!r}, and this version of jfi reads "
                f"{_FORMAT!r}. Load it with the version that wrote it."
            )
        yield text, Arrays(path, archive)


def _true_end(file: BinaryIO) -> bytes:
    """The checksum that belongs at the end of a file, before which it is left."""
    left = max(0, file.seek(0, os.SEEK_END) - _SIZE_OF_END)
    file.seek(0)
    found = 0
    while part := file.read(min(left, 1 << 20)):
        found, left = zlib.crc32(part, found), left - len(part)
    return _END % found


class Arrays:
    """The arrays of an open file."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self._path, self._archive = path, archive

    def __call__(self, name: str) -> np.ndarray[Any, Any]:
        """One of them, by its name."""
        with damage(self._path), self._archive.open(f"{name}.npy") as member:
            found: np.ndarray[Any, Any] = np.lib.format.read_array(member)
            if member.read(1):  # to the end: the archive compares its checksum there
                raise ValueError("longer than its array")
            return found


@contextlib.contextmanager
def damage(path: Path) -> Generator[None]:
    """A block that reads a file: what it raises says that the file is damaged.

    Raises:
        StateError: It is.
    """
    try:
        yield
    except StateError:
        raise
    except Exception as error:  # zipfile, zlib, json and NumPy have many
        # A damaged table of contents leads to places before the file: EINVAL.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        raise StateError(
            f"{path} is damaged, or no file of save_state(): {error} "
            f"({type(error).__name__}). Take an older one."
        ) from error


def _remove_partial(path: Path) -> None:
    """Remove what processes of this machine have left when they were killed."""
    start = glob.escape(f".{path.name}.{socket.gethostname()}-")
    for file in path.parent.glob(f"{start}*.partial"):
        pid = file.name.removesuffix(".partial").rpartition("-")[2]
        if not pid.isdigit() or not Path("/proc").exists():
            continue
        own = int(pid) == os.getpid()  # as a process had that was killed, or a thread
        if file not in _being_written and (own or not Path(f"/proc/{pid}").exists()):
            file.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # not on every system
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
