"""What a server, or a call of one, can end in.

Exception
├── FolderError          a folder or a file is not this user's alone, or can't be had
├── ServerError          a server can't be had as asked: what to do about it
│   └── ServerLost       no server can take this call: compute here
│       └── NoServer     none runs
├── ArrayGone            it has no such array (any more)
├── NotKept              it knows no program of that key: compile, store, `load`
└── BadMessageError      what came is no message: the connection is dropped
"""


class FolderError(Exception):
    """A folder or a file is not this user's alone, or can't be had."""


class ServerError(RuntimeError):
    """A server can't be had as asked; the message says what to do."""


class ServerLost(ServerError):  # noqa: N818 - an answer rather than an error
    """No server can take the call; the text says why, without a full stop."""


class NoServer(ServerLost):
    """No server of this environment runs."""


class NotKept(Exception):  # noqa: N818
    """The server knows no program of that key."""


class ArrayGone(Exception):  # noqa: N818
    """The server has no array of that number.

    Attributes:
        number: That one.
    """

    def __init__(self, number: object) -> None:
        super().__init__(number)
        self.number = number


class BadMessageError(Exception):
    """What came is no message of this protocol."""
