"""Folders and files that nobody but this user can have put there.

A folder is opened once, from the root on, and its files are opened in it: whatever
becomes of its path later, they are those of this very folder. The store of compiled
programs, the cache of JAX and the server have theirs by this module alone.

In the folder of all servers each environment (see `environment`) has one, with

    socket   where the server listens
    lock     held by the server's process for as long as it lives; it says which it is
    log      what it says, bounded
    loaded   the keys of what it has loaded, for the next server
"""

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

from .errors import FolderError, ServerError


_locks: Any = None
with contextlib.suppress(ImportError):  # on Windows, where no Folder can be opened
    import fcntl as _locks


KEY_BYTES = 32

_MOST_LINKS = 40
# Folders on the way need not be readable: /home often is not.
_ON_THE_WAY = getattr(os, "O_PATH", os.O_RDONLY)
_OPEN_FOLDER = (
    os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
)
_OPEN_FILE = os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
_BY_DESCRIPTOR = os.open in os.supports_dir_fd  # not on Windows


class Folder:
    """A folder of this user, open.

    Attributes:
        path: Where it was when it was opened.
        fd: Its file descriptor.
    """

    def __init__(self, path: Path, *, closed: bool = False, make: bool = True) -> None:
        """Open it.

        Args:
            path: An absolute path.
            closed: Whether others may not even look into it.
            make: Whether to make it, for this user alone, where it is not there.

        Raises:
            FolderError: Somebody else owns it, can write in it or can replace it; or
                it can't be opened.
            FileNotFoundError: It is not there, and not to be made.
        """
        if not _BY_DESCRIPTOR:
            raise FolderError(f"this system opens no files by their folder, as {path}")
        self.path = path
        try:
            self.fd: int = _opened(path, make)
        except OSError as error:
            if not make and isinstance(error, FileNotFoundError):
                raise
            raise _unusable(path, error) from error
        try:
            self._check(closed)
        except BaseException:
            self.close()
            raise

    def _check(self, closed: bool) -> None:
        info = os.fstat(self.fd)
        if info.st_uid != os.getuid():
            raise FolderError(
                f"the folder {self.path} belongs to another user (uid {info.st_uid})"
            )
        mode = f"(mode {stat.S_IMODE(info.st_mode):o}). Close it: chmod 700 {self.path}"
        if info.st_mode & 0o022:
            raise FolderError(f"others can write in the folder {self.path} {mode}")
        if closed and info.st_mode & 0o077:
            raise FolderError(f"the folder {self.path} is open to other users {mode}")

    def close(self) -> None:
        """Close it."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            self._close(fd)

    # At the end of a process `os` may be gone before a folder is.
    _close = staticmethod(os.close)

    def __del__(self) -> None:
        """A folder that is forgotten leaves no open file."""
        if getattr(self, "fd", -1) >= 0:
            self.close()

    def open(self, name: str, *, private: bool = False) -> int:
        """Open a file to read; return its descriptor.

        Args:
            name: That of the file.
            private: Whether others may not even read it.

        Raises:
            FolderError: It is no file that this user alone can write.
            FileNotFoundError: It is not there.
            OSError: It can't be read.
        """
        try:
            # Without O_NONBLOCK a pipe would be waited for.
            fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _OPEN_FILE, dir_fd=self.fd)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):  # a link, a socket
                raise FolderError(f"{self.path / name} is not a file") from None
            raise
        info = os.fstat(fd)
        shared = info.st_mode & (0o077 if private else 0o022)
        if not stat.S_ISREG(info.st_mode):
            reason = "is not a file"
        elif info.st_uid != os.getuid() or shared:
            reason = "is not this user's alone"
        else:
            return fd
        os.close(fd)
        raise FolderError(f"{self.path / name} {reason}")

    def read(self, name: str, *, private: bool = False) -> bytes:
        """All of a file; errors are those of `open`."""
        with open(self.open(name, private=private), "rb") as file:
            return file.read()

    def create(self, name: str, flags: int = os.O_RDWR) -> int:
        """Open a file to write, made if it is not there; return its descriptor."""
        return os.open(name, flags | os.O_CREAT | _OPEN_FILE, 0o600, dir_fd=self.fd)

    def write(self, name: str, parts: Sequence[bytes]) -> None:
        """Write a file as a whole, or not at all.

        Raises:
            OSError: It can't be written; what was there stays.
        """
        part = f"{secrets.token_hex(8)}.part"
        try:
            with open(self.create(part, os.O_WRONLY | os.O_EXCL), "wb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        except BaseException:
            self.remove(part)
            raise

    def remove(self, name: str) -> None:
        """Remove a file, or an empty folder; what can't be removed stays."""
        with contextlib.suppress(OSError):
            try:
                os.unlink(name, dir_fd=self.fd)
            except (IsADirectoryError, PermissionError):
                os.rmdir(name, dir_fd=self.fd)

    def entries(self) -> Iterator[tuple[str, os.stat_result]]:
        """What is in it, and what the system knows of that."""
        # A descriptor of its own: threads that read one folder share their place in it.
        fd = os.open(".", os.O_RDONLY | _OPEN_FOLDER, dir_fd=self.fd)
        try:
            names = os.listdir(fd)
        finally:
            os.close(fd)
        for name in names:
            with contextlib.suppress(OSError):
                yield name, os.stat(name, dir_fd=self.fd, follow_symlinks=False)

    def use(self, name: str) -> None:
        """Note that a file was used now."""
        with contextlib.suppress(OSError):
            os.utime(name, dir_fd=self.fd, follow_symlinks=False)

    def key(self) -> bytes:
        """What signs the files in here: random bytes in a file that nobody else reads.

        One that others could read or write is replaced: what it has signed is void.

        Raises:
            OSError: There is none, and none can be written.
        """
        while True:
            with contextlib.suppress(FileNotFoundError):
                try:
                    return self._known_key()
                except FolderError:
                    self.remove("key")
            with contextlib.suppress(FileExistsError):
                fd = self.create("key", os.O_WRONLY | os.O_EXCL)
                with open(fd, "wb") as file:
                    file.write(secrets.token_bytes(KEY_BYTES))

    def _known_key(self) -> bytes:
        for _ in range(100):
            key = self.read("key", private=True)
            if len(key) == KEY_BYTES:
                return key
            time.sleep(0.01)  # another process has made it, and writes
        raise FolderError(f"{self.path / 'key'} is no key")

    def first_strange(self) -> str:
        """A file that others have written, or could; "" where there is none."""
        for name, info in self.entries():
            if info.st_uid != os.getuid() or _others_write(info):
                return name
        return ""

    @property
    def address(self) -> str:
        """The path of this very folder, for what takes nothing but paths: sockets."""
        by_descriptor = f"/proc/self/fd/{self.fd}"
        # Without /proc (macOS) the path, which nobody else could replace when it was
        # opened.
        return by_descriptor if os.path.exists(by_descriptor) else str(self.path)


def lock(file: int) -> bool | None:
    """Lock an open file for this process.

    Returns:
        Whether it is locked; False where others have, None where nobody can.
    """
    try:
        _locks.flock(file, _locks.LOCK_EX | _locks.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _unusable(path: Path, error: OSError) -> FolderError:
    if error.errno in (errno.ENOTDIR, errno.ELOOP):
        return FolderError(f"{path} is not a folder")
    return FolderError(
        f"nothing can be written in the folder {path} ({error.strerror})"
    )


def _opened(path: Path, make: bool) -> int:
    """Open a folder from the root on; others can't replace what was opened.

    Links on the way are followed where nobody else can have put them; the last part
    of the path may be none.
    """
    names, links = [*reversed(path.parts[1:])], 0
    fd, way = os.open("/", _ON_THE_WAY | _OPEN_FOLDER), PurePath("/")
    trusted = {0, os.getuid(), os.fstat(fd).st_uid}
    try:
        while names:
            name = names.pop()
            info = _below(fd, name, way, trusted)
            if info is None and make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=fd)
                info = _below(fd, name, way, trusted)
            if info is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            if (
                stat.S_ISLNK(info.st_mode)
                and names
                and (links := links + 1) <= _MOST_LINKS
            ):
                target = PurePath(os.readlink(name, dir_fd=fd))
                names += reversed(target.parts)
                if not target.is_absolute():
                    continue
                name = names.pop()  # the root, which is opened as any other
            below = os.open(name, _ON_THE_WAY | _OPEN_FOLDER, dir_fd=fd)
            os.close(fd)
            fd, way = below, way / name
        return os.open(".", os.O_RDONLY | _OPEN_FOLDER, dir_fd=fd)
    finally:
        os.close(fd)


def _below(
    fd: int, name: str, way: PurePath, trusted: set[int]
) -> os.stat_result | None:
    """What is in a folder under a name; None: nothing.

    Raises:
        FolderError: Somebody else could put something else there.
    """
    parent, child = os.fstat(fd), None
    with contextlib.suppress(FileNotFoundError):
        child = os.stat(name, dir_fd=fd, follow_symlinks=False)
    if parent.st_uid not in trusted:
        raise FolderError(
            f"{way} belongs to another user (uid {parent.st_uid}), who can replace "
            f"{way / name}"
        )
    # As in /tmp: there each user can replace what is his own.
    is_kept = parent.st_mode & stat.S_ISVTX and (
        child is None or child.st_uid in trusted
    )
    if _others_write(parent) and not is_kept:
        raise FolderError(
            f"others can write in {way} (mode {stat.S_IMODE(parent.st_mode):o}), and "
            f"replace {way / name}. Close it: chmod go-w {way}"
        )
    return child


def _others_write(info: os.stat_result) -> bool:
    """Whether others can write there; the group of this user alone is none."""
    if info.st_mode & stat.S_IWOTH:
        return not stat.S_ISLNK(info.st_mode)
    return bool(info.st_mode & stat.S_IWGRP) and not _is_own_group(info.st_gid)


def _is_own_group(group: int) -> bool:
    """Whether a group is this user's, as many systems make one for each user."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except KeyError:
        return False
    alone = not {*found.gr_mem} - {user.pw_name}
    return user.pw_gid == group and found.gr_name == user.pw_name and alone


# ---- of servers ----

_ELSEWHERE = "Choose another: export JFI_SERVER_DIR=~/.jfi"


def base_folder(chosen: str | None = None) -> Path:
    """The folder of all servers of this user.

    Args:
        chosen: The folder the user asked for; None takes `$JFI_SERVER_DIR`, else
            `$XDG_RUNTIME_DIR/jfi`, else `~/.cache/jfi/servers`.

    Returns:
        The folder, which need not exist.

    Raises:
        ServerError: The user has no home folder to put it in.

    >>> base_folder("/tmp/servers")
    PosixPath('/tmp/servers')
    """
    chosen = chosen or os.environ.get("JFI_SERVER_DIR")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    try:
        if chosen:
            return Path(chosen).expanduser().absolute()
        if runtime and os.path.isdir(runtime):
            return Path(runtime) / "jfi"
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(cache, "jfi", "servers")
    except RuntimeError as error:
        raise ServerError(
            f"there is no home folder for {chosen or 'this user'}. "
            "Choose a folder: export JFI_SERVER_DIR=/tmp/jfi-$UID"
        ) from error


def server_folder(base: Path, digest: str) -> Path:
    """The folder of the server of one environment."""
    return base / digest[:12]


@contextlib.contextmanager
def unusable(path: Path) -> Generator[None]:
    """A block that uses a server's folder: its errors are ServerErrors.

    Raises:
        ServerError: The folder can't be had as it has to be.
    """
    try:
        yield
    except OSError as error:
        raise _for_user(_unusable(path, error)) from error


def open_server_folder(path: Path, *, make: bool = True) -> Folder:
    """Open the folder of a server, or of all, which nobody else can enter.

    Raises:
        ServerError: It can't be had so.
        FileNotFoundError: It is not there, and not to be made.
    """
    try:
        return Folder(path, closed=True, make=make)
    except FolderError as error:
        raise _for_user(error) from error


def _for_user(error: FolderError) -> ServerError:
    text = str(error)
    return ServerError(text if "chmod" in text else f"{text}. {_ELSEWHERE}")
