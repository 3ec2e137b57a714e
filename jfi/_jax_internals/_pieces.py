"""The pieces of JAX that jfi uses beyond its documentation.

A piece is found and proved when it is first needed. Where that fails, in a release that
jfi was not tested with, jfi does without it: `python -m jfi` prints what that costs.

To see it before such a release comes, `JFI_WITHOUT=hidden_state,trace_state` in the
environment hides pieces from jfi (`all` hides all of them), and so does `without` in a
test.
"""

import functools
import os
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import jax


T = TypeVar("T")
State = Literal["in use", "fallback", "refused"]

# The releases of JAX in constraints.txt, with which all of the tests pass.
TESTED = ("0.10.2", "0.12.0.1")

_UNTRIED: Any = object()
_pieces: dict[str, "Piece[Any]"] = {}
_caches: list[Callable[[], object]] = []  # what to call when a piece comes or goes
_hidden: set[str] = set(os.environ.get("JFI_WITHOUT", "").replace(",", " ").split())


class Row(NamedTuple):
    """What `python -m jfi` says of a piece."""

    name: str
    state: State
    uses: str
    without: str


class Piece(Generic[T]):
    """One piece of JAX: call it to get it, or None where it is not there.

    Args:
        find: Imports and proves it; raises or returns None if it does not work.
        uses: What of JAX it is.
        without: What it costs the user to do without.
        refuses: Whether something is refused then.
    """

    def __init__(
        self, find: Callable[[], T | None], uses: str, without: str, refuses: bool
    ) -> None:
        self.name = find.__name__
        self._find, self._uses = find, uses
        self._without, self._refuses = without, refuses
        self._found: T | None = _UNTRIED
        # By the pieces that were hidden: it may stand on others.
        self._found_without: dict[frozenset[str], T | None] = {}
        _pieces[self.name] = self

    def __call__(self) -> T | None:
        """The piece, or None."""
        if self._found is _UNTRIED:
            hidden = frozenset(_hidden)
            found = None if self._is_hidden() else self._look()
            self._found = self._found_without[hidden] = found
        return self._found

    def if_tried(self) -> T | None:
        """The piece if it was needed before, without looking for it now."""
        return None if self._found is _UNTRIED else self._found

    def _look(self) -> T | None:
        try:
            return self._find()
        except Exception:  # whatever another JAX says
            return None

    def _is_hidden(self) -> bool:
        return self.name in _hidden or "all" in _hidden

    def turn_to(self, hidden: frozenset[str]) -> None:
        """Be what was found without these pieces, or look when it is next needed."""
        self._found = self._found_without.get(hidden, _UNTRIED)

    def row(self) -> Row:
        """What there is to say of it."""
        without: State = "refused" if self._refuses else "fallback"
        state: State = without if self() is None else "in use"
        return Row(self.name, state, self._uses, self._without)


def piece(
    *, uses: str, without: str, refuses: bool = False
) -> Callable[[Callable[[], T | None]], Piece[T]]:
    """Decorate a function that finds a piece: see `Piece`."""
    return lambda find: Piece(find, uses, without, refuses)


def decided_once(choose: Callable[[], T]) -> Callable[[], T]:
    """Decorate a function without arguments that is asked often: its answer is kept.

    Until a piece comes or goes. `functools.cache` spares more than half of the time
    that a call of a `Piece` takes.
    """
    cached = functools.cache(choose)
    _caches.append(cached.cache_clear)
    return cached


def rows() -> list[Row]:
    """All pieces, with what each costs where it is missing."""
    return [piece.row() for piece in _pieces.values()]


@contextmanager
def without(*names: str) -> Generator[None]:
    """Do without some pieces in a `with` block, in all threads; "all" of them."""
    check_names(names)
    before = set(_hidden)
    _hide({*before, *names})
    try:
        yield
    finally:
        _hide(before)


def check_names(names: Iterable[str] = _hidden) -> None:
    """Refuse names that are no pieces, those of `JFI_WITHOUT` by default.

    Raises:
        ValueError: There are some.
    """
    unknown = sorted(set(names) - {*_pieces, "all"})
    if unknown:
        message = f"JFI_WITHOUT: no pieces are {unknown}. There are: {list(_pieces)}."
        raise ValueError(message)


def _hide(names: set[str]) -> None:
    _hidden.clear()
    _hidden.update(names)
    for one in _pieces.values():
        one.turn_to(frozenset(names))
    for clear in _caches:
        clear()


def outside_of_tracing(test: Callable[[], T]) -> T:
    """The result of a test that runs outside every transformation: in a new thread.

    A piece may be needed for the first time while JAX traces the user's code, and its
    proof would be traced along. Another thread traces nothing. Nor do options that the
    user has set reach it: a proof that they stop would say that JAX lacks the piece.

    Raises:
        Exception: What the test raises.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            with _options_of_jax():
                results.append(test())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


@contextmanager
def _options_of_jax() -> Generator[None]:
    """In a `with` block, options that would stop a proof are those JAX begins with."""
    with (
        jax.default_matmul_precision(None),
        jax.disable_jit(False),
        jax.numpy_rank_promotion("allow"),
        jax.transfer_guard("allow"),
    ):
        yield
