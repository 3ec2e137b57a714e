"""What client and server say to each other: plain records, pickled into one frame."""

import pickle
from dataclasses import dataclass
from typing import TypeAlias


VERSION = 1
"""Changed with any change of these records: both sides must have the same."""

LONGEST_FRAME = 2**32 - 2**16
"""rpyc writes the length of a frame in 32 bits; some of it is its own."""

Settings: TypeAlias = "tuple[tuple[str, object], ...]"
"""The options of JAX and jfi that decide results, sorted by name."""


@dataclass(frozen=True)
class Hello:
    """The first message of a connection: is this server like this process?"""

    environment: dict[str, str]


@dataclass(frozen=True)
class Call:
    """Run the program of that key; `definition` comes when the server asked for it."""

    key: str
    settings: Settings
    traced: bytes
    definition: bytes | None = None
    libraries: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Status:
    """Tell how the server is."""


@dataclass(frozen=True)
class Stop:
    """End the server."""


@dataclass(frozen=True)
class Welcome:
    """The server is like the client's process."""


@dataclass(frozen=True)
class Unknown:
    """The server does not know the program: send its definition."""


@dataclass(frozen=True)
class Result:
    """What the program returned."""

    value: bytes


@dataclass(frozen=True)
class Raised:
    """What the program raised."""

    error: bytes


@dataclass(frozen=True)
class Refused:
    """The server can't run this right; the client runs it itself.

    Attributes:
        reason: Completes "f() runs in this process: ...".
        for_ever: The same program will be refused again.
    """

    reason: str
    for_ever: bool = False


@dataclass(frozen=True)
class Report:
    """The answer to `Status`."""

    pid: int
    uptime: float
    functions: int
    compiled: int
    calls: int


Request: TypeAlias = Hello | Call | Status | Stop
Reply: TypeAlias = Welcome | Unknown | Result | Raised | Refused | Report


class NotServed(Exception):  # noqa: N818 - a way out, not an error that users see
    """The server can't take a call; the text completes "f() runs in this process: ...".

    Attributes:
        for_ever: The same program will be refused again.
    """

    def __init__(self, reason: str, *, for_ever: bool = False) -> None:
        super().__init__(reason)
        self.for_ever = for_ever


def encode(message: Request | Reply) -> bytes:
    """Write a message as the bytes of one frame."""
    frame = pickle.dumps(message, protocol=5)
    if len(frame) > LONGEST_FRAME:
        raise NotServed("the data are larger than the 4 GB that one message can hold")
    return frame


def decode(frame: bytes) -> Request | Reply:
    """Read a message. Only ever from a peer that belongs to the same user."""
    message: Request | Reply = pickle.loads(frame)
    return message
