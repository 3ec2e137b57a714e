"""What a server or a call of one can end in."""


class ServerError(RuntimeError):
    """A server can't be had as asked; the message says what to do."""


class NotKept(Exception):  # noqa: N818 - an answer: compile, store, and `load` the key
    """The server knows no program of that key."""


class ServerLost(Exception):  # noqa: N818 - an answer: compute here
    """No server can take the call; the text says why, without a full stop."""


class BadMessageError(Exception):
    """What came is no message of this protocol: the connection is dropped."""
