"""Finding out whether a function draws: the first draw stops what is being traced."""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from ..._errors import RandomError
from ..._jax_internals import forget_traces
from ._refusals import CAUGHT


if TYPE_CHECKING:
    from ._sources import StreamSource


class FoundDraws(BaseException):
    """Stops a trace that turns out to draw.

    A BaseException, which user code lets pass; where it does not, `tracing` refuses it.
    As an Exception it would end in the `except Exception` of user code, which would go
    on without a number, and be compiled like that.
    """

    def __init__(self, sources: Sequence["StreamSource"]) -> None:
        super().__init__("jfi's own signal; it never reaches the user")
        self.sources: tuple[StreamSource, ...] = tuple(sources)


class _Trace(threading.local):
    """What the tracing in progress in this thread does with draws."""

    refuses = False
    found: tuple["StreamSource", ...] = ()  # of the draws refused so far


_trace = _Trace()


@contextmanager
def tracing(*, refuses: bool) -> Generator[None]:
    """Say whether draws raise `FoundDraws` in what is traced in this block."""
    before = _trace.refuses, _trace.found
    _trace.refuses, _trace.found = refuses, ()
    try:
        yield
        refuse_caught_draws()
    except BaseException as error:
        forget_traces(error)
        raise
    finally:
        _trace.refuses, _trace.found = before


def is_refusing() -> bool:
    """Whether draws raise `FoundDraws` in what is being traced now."""
    return _trace.refuses


def refuse_caught_draws() -> None:
    """Refuse code in which a draw was found, and the signal of it caught."""
    if _trace.found:
        raise RandomError(CAUGHT)


def found_draw(source: "StreamSource") -> NoReturn:
    """Stop what is being traced: it draws."""
    _trace.found = (*_trace.found, source)
    raise FoundDraws([source])
