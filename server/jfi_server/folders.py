"""Where a server's files lie: in a folder that nobody else can enter.

Each environment (see `environment`) has a folder of its own in the base folder, with

    socket   where the server listens
    lock     held by the server's process for as long as it lives
    log      what it says, bounded
    loaded   the keys of what it has loaded, for the next server
"""

import os
import stat
from pathlib import Path

from .errors import ServerError


_LONGEST_SOCKET_PATH = 107  # bytes, on Linux


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


def socket_path(folder: Path) -> Path:
    """The socket in a server's folder.

    Raises:
        ServerError: The path is longer than a socket's can be.
    """
    path = folder / "socket"
    if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH:
        raise ServerError(
            f"the path {path} is too long for a socket (more than "
            f"{_LONGEST_SOCKET_PATH} bytes). Choose a shorter folder: "
            "export JFI_SERVER_DIR=/tmp/jfi-$USER"
        )
    return path


def create_folder(folder: Path) -> None:
    """Create the folder, for this user alone; one that is there must be so already.

    Raises:
        ServerError: It can't be created, or others own it or can enter it.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unusable(folder, error) from error
    check_folder(folder)


def unusable(folder: Path, error: OSError) -> ServerError:
    """The error for a folder in which nothing can be written."""
    return ServerError(
        f"nothing can be written in the folder {folder} ({error.strerror}). "
        "Choose another: export JFI_SERVER_DIR=~/.jfi"
    )


def check_folder(folder: Path) -> None:
    """Make sure that a folder is this user's, and closed to everybody else.

    Raises:
        ServerError: It is not: whoever can write there could answer for the server.
        FileNotFoundError: There is no such folder.
    """
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise ServerError(
            f"{folder} is not a folder. Choose another: export JFI_SERVER_DIR=~/.jfi"
        )
    if found.st_uid != os.getuid():
        raise ServerError(
            f"the folder {folder} belongs to another user (uid {found.st_uid}). "
            "Choose another: export JFI_SERVER_DIR=~/.jfi"
        )
    if found.st_mode & 0o077:
        raise ServerError(
            f"the folder {folder} is open to other users "
            f"(mode {stat.S_IMODE(found.st_mode):o}). "
            f"Close it: chmod 700 {folder}"
        )
