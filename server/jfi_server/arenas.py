"""Memory that two processes share, for arrays too large for a message.

The owner of an arena writes and the peer reads: it opens `/proc/<pid>/fd/<fd>`, which
the system allows to the same user. A memfd has no name, so nothing is left behind when
a process is killed. `multiprocessing.shared_memory` leaks then, and before Python 3.13
it removes a segment as soon as a process that merely attached to it ends.
"""

import contextlib
import fcntl
import mmap
import os
import stat

from .errors import BadMessageError


_LEAST = 1 << 20
_MOST_AT_ONCE = 1 << 28


class Arena:
    """Memory of this process that its peer can read. It grows and is reused."""

    def __init__(self) -> None:
        self.size: int = 0
        self._fd = -1
        self._view = memoryview(b"")

    def reserve(self, size: int) -> memoryview:
        """Writable memory of at least so many bytes.

        Raises:
            MemoryError: The machine has not so much.
            OSError: Nor has what this process may use.
        """
        if size > self.size:
            if self._fd < 0:
                self._fd = os.memfd_create("jfi", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
                # Else a peer that reads where the file was cut is killed by SIGBUS.
                fcntl.fcntl(self._fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
            # An eighth more than asked for: sizes that grow slowly stay in place.
            size = -(-max(_LEAST, size + size // 8) // mmap.PAGESIZE) * mmap.PAGESIZE
            # Memory that is not there is an error now, not a killed process later.
            if size > _MOST_AT_ONCE and size - self.size > available():
                raise MemoryError(f"{size} bytes are more than this machine has free")
            os.posix_fallocate(self._fd, 0, size)
            # The old mapping shows the same bytes and goes with its last reader.
            self._view = memoryview(_mapped(self._fd, size))
            self.size = size
        return self._view

    def name(self) -> tuple[int, int]:
        """What the peer needs to map it."""
        return self._fd, self.size

    def close(self) -> None:
        """Let go of the memory, once nothing reads it."""
        self._view = memoryview(b"")
        self.size = 0
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        """A client that is forgotten leaves no open file."""
        self.close()


class PeerArena:
    """The peer's arena, as this process reads it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._name: tuple[int, int] | None = None
        self._view = memoryview(b"")

    @property
    def size(self) -> int:
        """How many bytes are mapped."""
        return len(self._view)

    def view(self, name: object) -> memoryview:
        """The bytes of the arena that the peer names.

        Raises:
            BadMessageError: It names something else than an arena.
        """
        match name:
            case [int(fd), int(size)] if fd >= 0 and size > 0:
                pass
            case _:
                raise BadMessageError(f"{name!r} is no name of an arena")
        if (fd, size) != self._name:
            self._view = memoryview(self._map(fd, size))
            self._name = (fd, size)
        return self._view

    def close(self) -> None:
        """Let go of the memory, once nothing reads it."""
        self._view = memoryview(b"")
        self._name = None

    def _map(self, number: int, size: int) -> mmap.mmap:
        # Without O_NONBLOCK a pipe of the peer's would be waited for.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            fd = os.open(f"/proc/{self._pid}/fd/{number}", flags)
        except OSError as error:
            raise BadMessageError(f"the arena can't be opened: {error}") from error
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode) or found.st_size < size:
                raise BadMessageError("the arena is smaller than it says")
            if not fcntl.fcntl(fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
                raise BadMessageError("the arena is not sealed")
            return _mapped(fd, size, mmap.PROT_READ)
        except OSError as error:  # no memfd, or no address space for it
            raise BadMessageError(f"the arena can't be mapped: {error}") from error
        finally:
            os.close(fd)


def _mapped(
    fd: int, size: int, protection: int = mmap.PROT_READ | mmap.PROT_WRITE
) -> mmap.mmap:
    # All pages at once: one by one, as they are touched, takes several times as long.
    # But not gigabytes of them: Python holds its lock meanwhile.
    at_once = mmap.MAP_POPULATE if size <= _MOST_AT_ONCE else 0
    return mmap.mmap(fd, size, flags=mmap.MAP_SHARED | at_once, prot=protection)


def available() -> int:
    """Bytes of memory that can be taken without swapping."""
    with open("/proc/meminfo") as file:
        found = dict(line.split(":") for line in file)
    return int(found["MemAvailable"].split()[0]) * 1024
