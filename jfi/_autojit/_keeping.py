"""Where what was compiled may be kept for other processes: the seam, and who keeps.

`jfi._persistent` keeps it. Nothing here knows how: autojit shows a keeper what a
program is made of, and gets what compiles it, or finds it compiled.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, Protocol

from .._jit._compiled import TracedBody
from ._graphs import Opened


class ProgramOrigin(NamedTuple):
    """What a program is made of.

    Attributes:
        name: What the user calls the function.
        source: The file and line where it is.
        opened: The call that it is made for, with its objects.
        around: What else decides what it does: parameters, modes, options, and what
            is assumed to run, as notes of other processes are of what they assumed.
    """

    name: str
    source: str
    opened: Opened
    around: tuple[Any, ...]


class Keeper(Protocol):
    """Keeps what is compiled."""

    def keep(self, place: ProgramOrigin) -> "Kept | None":
        """What compiles the program of a place; None if it can't be kept."""
        ...


class Kept(Protocol):
    """Compiles one program, or finds it compiled.

    Attributes:
        ignores_counts: Whether it traces what another process found to count only.
    """

    ignores_counts: bool

    def jit(self, fun: Callable[..., Any], options: Mapping[str, Any]) -> Any:
        """Stands for `jax.jit`, for calls that draw no random numbers."""
        ...

    def jit_drawing(
        self, fun: Callable[..., Any], options: Mapping[str, Any], body: TracedBody
    ) -> Any:
        """The same for calls that draw, with the states of streams as arguments."""
        ...

    def note_numbers(self, nodes: Collection[int]) -> None:
        """The last trace in this thread has failed: it needs values of numbers."""
        ...


class RetakenError(Exception):
    """A call must be taken apart in another way; nothing has run yet."""


class ChangedMeanwhileError(RetakenError):
    """What the body meets has got other attributes since the call began: a class, or an
    object that was empty, which the body itself has filled.
    """


class _OfNodesError(RetakenError):
    """Some values of the call must be taken in another way.

    Attributes:
        nodes: Which.
    """

    def __init__(self, nodes: Collection[int]) -> None:
        super().__init__()
        self.nodes = list(nodes)


class NumbersError(_OfNodesError):
    """The body needs some numbers themselves, as this or another process has found."""


class ChangedOnlyError(_OfNodesError):
    """The body has changed values that it may not read: stand-ins will show that."""


class _Everywhere:
    """Who keeps what all functions compile that have no keeper of their own."""

    keeper: Keeper | None = None


def keep_everything(keeper: Keeper | None) -> None:
    """Let a keeper keep what is compiled from now on; None: nothing is kept."""
    _Everywhere.keeper = keeper


def keeper_of_all() -> Keeper | None:
    """Who keeps what is compiled; None if nobody does."""
    return _Everywhere.keeper
