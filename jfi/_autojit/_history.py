"""Why each compilation of a function happened."""

import collections
import dataclasses
import re
import threading
import time
import warnings
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, overload

from .._errors import AutoJitError, RecompileWarning
from .._jax_internals import at_top_level, is_outermost, on_compiled
from .._shown import aligned_lines, html_table
from .._values import listed, user_level
from ._descriptions import CallDescription, Difference, description_of, differences
from ._graphs import Graph
from ._remedies import remedy, remedy_of_growth


MAX_RECORDS = 1000  # compilations that are remembered
MAX_COMPARED = 16  # of them, those to which a new one is compared
OFTEN_GROWN = 3  # compilations because a list grew: the next call is one, too


@dataclasses.dataclass
class CompilationRecord:
    """One compilation of a function.

    Attributes:
        changes: What differs from the most similar call before; nothing at the first.
        tracing_seconds: How long the body ran.
        compiling_seconds: How long XLA took; None if it compiled nothing for it alone.
        compiled: How it was compiled: "anew"; "before", if there was the same code
            already; "inside" another function; "" if it has not run yet.
    """

    changes: tuple[Difference, ...] = ()
    tracing_seconds: float = 0.0
    compiling_seconds: float | None = None
    compiled: Literal["anew", "before", "inside", ""] = ""

    @property
    def cause(self) -> str:
        """The changes as text."""
        return "; ".join(map(str, self.changes))


class Explanation(Sequence[CompilationRecord]):
    """The compilations of a function, oldest first; it prints as a table.

    Args:
        function: What it is called: "step()".
        compilations: Its compilations.
    """

    def __init__(
        self, function: str, compilations: Iterable[CompilationRecord]
    ) -> None:
        self._function, self._compilations = function, tuple(compilations)

    def __len__(self) -> int:
        return len(self._compilations)

    @overload
    def __getitem__(self, index: int) -> CompilationRecord: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[CompilationRecord]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._compilations[index]

    def __repr__(self) -> str:
        return "\n".join(aligned_lines([self._columns(), *self._rows()]))

    def _repr_html_(self) -> str:
        return html_table(self._columns(), self._rows())

    def _columns(self) -> tuple[str, ...]:
        return "#", "trace", "compile", f"why {self._function} was compiled"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                str(k),
                f"{compilation.tracing_seconds:.3f} s",
                _compiling_time(compilation),
                compilation.cause
                or ("the first call" if k == 1 else _same(compilation)),
            )
            for k, compilation in enumerate(self._compilations, start=1)
        ]


def _compiling_time(compilation: CompilationRecord) -> str:
    if compilation.compiling_seconds is not None:
        return f"{compilation.compiling_seconds:.3f} s"
    return compilation.compiled or "-"


def _same(compilation: CompilationRecord) -> str:
    """Why it was traced again, where no argument has changed."""
    if compilation.compiled == "inside":
        return "the same arguments, inside another function"
    if compilation.compiled or compilation.compiling_seconds is not None:
        return _SAME
    return "the same arguments: lower(), trace() or eval_shape() asked for it"


_SAME = "the same arguments: another mesh or sharding, or a cleared cache"


class History:
    """Remembers the compilations of one function.

    Args:
        function: Its name, for other messages.
        label: What explanations call it: "step()", "lambda at train.py:7".
        warn_after: After how many compilations because of one change to warn.
        max_traces: After how many compilations to raise.
        settings: The parameters that the user named `static` or `frozen`.

    Attributes:
        function: Its name.
        label: What explanations call it.
        traces: How often its body ran to be compiled.
        times_cleared: How often all was forgotten.
    """

    def __init__(
        self,
        function: str,
        label: str,
        warn_after: int,
        max_traces: int | None,
        settings: Collection[str] = (),
    ) -> None:
        self.function: str = function
        self.label: str = label
        self._settings = settings
        self._warn_after, self._max_traces = warn_after, max_traces
        self._lock = threading.Lock()
        self._said: set[str] = set()
        self.times_cleared: int = -1
        self.clear()

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self.times_cleared += 1
            self._compilations: collections.deque[CompilationRecord] = (
                collections.deque(maxlen=MAX_RECORDS)
            )
            self.traces: int = 0
            self._lately: collections.deque[CallDescription] = collections.deque(
                maxlen=MAX_COMPARED
            )
            self._items: set[str] = set()
            self._alone: collections.Counter[str] = collections.Counter()

    def begin(
        self, graph: Graph, clones: Sequence[Any], names: Sequence[str]
    ) -> "Running":
        """A compilation begins.

        Raises:
            AutoJitError: It is one more than the user allows.
        """
        now = description_of(graph, clones, names)
        changes = self._changes(now)
        if self._max_traces is not None and self.traces >= self._max_traces:
            cause = "; ".join(map(str, changes)) or _SAME
            raise AutoJitError(
                f"{self.label} was compiled {self.traces} times, and "
                f"max_traces={self._max_traces}.\nWhat changed now: {cause}.\n"
                f"{remedy(changes, names, self._settings)}"
            )
        return Running(now, changes, names, time.perf_counter())

    def end(self, running: "Running") -> None:
        """The body was traced."""
        seconds = time.perf_counter() - running.started
        compilation = CompilationRecord(running.changes, seconds)
        path, grown = self._cause(running.changes)
        beside = any("." in name for name in grown)  # the body may not even use it
        often = min(self._warn_after, OFTEN_GROWN) if beside else self._warn_after
        with self._lock:
            self.traces += 1
            self._compilations.append(compilation)
            self._lately.append(running.described)
            if path is not None:
                self._alone[path] += 1
            warns = path is not None and self._alone[path] == often
        _await_compiling(compilation)
        if warns:
            warnings.warn(
                self._warning(running, often, grown),
                RecompileWarning,
                stacklevel=user_level(),
            )

    def _warning(self, running: "Running", often: int, grown: Sequence[str]) -> str:
        changes = running.changes
        head = f"{self.label} was compiled {often} times because"
        if grown:
            said = f"{head} {listed(grown, most=3)} grew.\n"
            return said + remedy_of_growth(self.label, grown[0])
        if all(change.before and change.after for change in changes):
            changed = listed([*dict.fromkeys(c.path for c in changes)], most=3)
            lately = ", ".join(f"{c.before} -> {c.after}" for c in changes[:3])
        else:
            changed = listed([*dict.fromkeys(c.place for c in changes)], most=3)
            lately = ", ".join(map(str, changes[:3]))
        return (
            f"{head} {changed} changed (lately {lately}).\n"
            f"{remedy(changes, running.names, self._settings)}"
        )

    def _cause(self, changes: Sequence[Difference]) -> tuple[str | None, list[str]]:
        """What changed, each time together; and which lists, if nothing but lists grew.

        Their new items are each at a path where there was nothing ever before.
        """
        items = [change.path for change in changes if not change.before]
        new = self._items.isdisjoint(items)
        self._items.update(items)
        if new and items and len(items) == len(changes):
            lists = [*dict.fromkeys(_ITEM.sub("", item) for item in items)]
            if set(lists).isdisjoint(items):
                return "\n".join(lists), lists
        places = dict.fromkeys(change.place for change in changes)
        return "\n".join(places) or None, []

    def is_first_time(self, what: str) -> bool:
        """Whether something is to be said of the function for the first time."""
        with self._lock:
            new = what not in self._said
            self._said.add(what)
        return new

    def explanation(self, last: int) -> Explanation:
        """What is remembered of the last compilations."""
        with self._lock:
            compilations = tuple(self._compilations)
        return Explanation(self.label, compilations[max(0, len(compilations) - last) :])

    def _changes(self, now: CallDescription) -> tuple[Difference, ...]:
        """What differs from the most similar call of late."""
        with self._lock:
            lately = list(self._lately)
        found = (differences(before, now) for before in reversed(lately))
        return min(found, key=len, default=())


class Running(NamedTuple):
    """A compilation that has begun."""

    described: CallDescription
    changes: tuple[Difference, ...]
    names: Sequence[str]
    started: float


_ITEM = re.compile(r"\[\d+\]$")


class _Here(threading.local):
    """What is being compiled in this thread.

    Attributes:
        waiting: What was traced last, and may have to be compiled.
        is_outermost: Whether calls of it are inside no transformation.
    """

    waiting: CompilationRecord | None = None
    is_outermost: bool = False


_here = _Here()


@contextmanager
def running() -> Generator[None]:
    """While a program runs for the first time: it is traced, and compiled."""
    before, _here.is_outermost = _here.is_outermost, at_top_level()
    try:
        yield
        if _here.is_outermost and _here.waiting is not None:
            _here.waiting.compiled, _here.waiting = "before", None
    finally:
        _here.is_outermost = before


def _await_compiling(compilation: CompilationRecord) -> None:
    """The next compilation of XLA in this thread is that of this program."""
    on_compiled(_note_seconds)
    if _here.waiting is not None:  # it was traced inside this one
        _here.waiting.compiled = "inside"
    # A function that draws is traced inside a program of jfi's.
    outermost = _here.is_outermost or is_outermost()
    compilation.compiled = "" if outermost else "inside"
    _here.waiting = compilation if outermost else None


def _note_seconds(seconds: float) -> None:
    if _here.waiting is not None:
        _here.waiting.compiling_seconds = seconds
        _here.waiting.compiled, _here.waiting = "anew", None
