"""Why each compilation of a function happened."""

import collections
import dataclasses
import re
import threading
import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, overload

import jax

from .._errors import AutoJitError, RecompileWarning
from .._jax_internals import is_outermost, on_compiled
from .._values import user_level
from ._graphs import LEAVES, Graph, paths
from .kinds._base import MISSING
from .kinds._classes import class_data
from .kinds._classify import CLASS, VALUE, VARIABLES
from .kinds._flax import NUMBERED


MAX_RECORDS = 1000  # compilations that are remembered
MAX_COMPARED = 16  # of them, those to which a new one is compared
OFTEN_GROWN = 3  # compilations because a list grew: the next call is one, too
MAX_DESCRIBED = 2000  # values of one call that are written down


class Difference(NamedTuple):
    """What changed from an earlier call.

    Attributes:
        path: Where, as the user would write it.
        before: What it was; "" if it was not there.
        after: What it is; "" if it is gone.
    """

    path: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}: {self.before or 'nothing'} -> {self.after or 'nothing'}"


@dataclasses.dataclass
class Compilation:
    """One compilation of a function.

    Attributes:
        changes: What differs from the most similar call before; nothing at the first.
        tracing_seconds: How long the body ran.
        compiling_seconds: How long XLA took; None if nothing was compiled: the same
            code is compiled already, or it is a part of another function.
    """

    changes: tuple[Difference, ...] = ()
    tracing_seconds: float = 0.0
    compiling_seconds: float | None = None

    @property
    def cause(self) -> str:
        """The changes as text."""
        return "; ".join(map(str, self.changes))


class Explanation(Sequence[Compilation]):
    """The compilations of a function, oldest first; it prints as a table."""

    def __init__(self, function: str, compilations: Iterable[Compilation]) -> None:
        self._function, self._compilations = function, tuple(compilations)

    def __len__(self) -> int:
        return len(self._compilations)

    @overload
    def __getitem__(self, index: int) -> Compilation: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Compilation]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._compilations[index]

    def __repr__(self) -> str:
        rows = [("#", "trace", "compile", f"why {self._function}() was compiled")]
        for k, compilation in enumerate(self._compilations, start=1):
            compiling = compilation.compiling_seconds
            rows.append(
                (
                    str(k),
                    f"{compilation.tracing_seconds:.3f} s",
                    "-" if compiling is None else f"{compiling:.3f} s",
                    compilation.cause or ("the first call" if k == 1 else _SAME),
                )
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(
                text.ljust(n) for text, n in zip(row, widths, strict=True)
            ).rstrip()
            for row in rows
        )


_SAME = "the same arguments: another JAX setting or sharding, or a cleared cache"


class Description(NamedTuple):
    """What a call was made of, by path.

    Attributes:
        values: What is seen at first: types, settings, shapes.
        orders: What else counts: the order of keys and attributes, methods of classes.
    """

    values: dict[str, str]
    orders: dict[str, str]


class History:
    """Remembers the compilations of one function.

    Attributes:
        function: Its name.
        traces: How often its body ran to be compiled.
    """

    def __init__(self, function: str, warn_after: int, max_traces: int | None) -> None:
        self.function = function
        self._warn_after, self._max_traces = warn_after, max_traces
        self._lock = threading.Lock()
        self._said: set[str] = set()
        self.clear()

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._compilations: collections.deque[Compilation] = collections.deque(
                maxlen=MAX_RECORDS
            )
            self.traces: int = 0
            self._lately: collections.deque[Description] = collections.deque(
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
        described = _describe(graph, clones, names)
        changes = self._changes(described)
        if self._max_traces is not None and self.traces >= self._max_traces:
            cause = "; ".join(map(str, changes)) or _SAME
            raise AutoJitError(
                f"{self.function}() was compiled {self.traces} times, and "
                f"max_traces={self._max_traces}.\nWhat changed now: {cause}.\n"
                f"{_remedy(changes)}"
            )
        return Running(described, changes, time.perf_counter())

    def end(self, running: "Running") -> None:
        """The body was traced."""
        seconds = time.perf_counter() - running.started
        compilation = Compilation(running.changes, seconds)
        path, grows = self._cause(running.changes)
        beside = grows and "." in str(path)  # the body may not even use it
        often = min(self._warn_after, OFTEN_GROWN) if beside else self._warn_after
        with self._lock:
            self.traces += 1
            self._compilations.append(compilation)
            self._lately.append(running.described)
            if path is not None:
                self._alone[path] += 1
            warns = path is not None and self._alone[path] == often
        _await_compiling(compilation if is_outermost() else None)
        if warns:
            change = running.changes[0]
            how = (
                "grew"
                if grows
                else f"changed (lately {change.before} -> {change.after})"
            )
            remedy = _remedy_of_growth(self.function, path) if grows else None
            warnings.warn(
                f"{self.function}() was compiled {often} times because {path} {how}.\n"
                f"{remedy or _remedy(running.changes)}",
                RecompileWarning,
                stacklevel=user_level(),
            )

    def _cause(self, changes: Sequence[Difference]) -> tuple[str | None, bool]:
        """What changed, if it is one thing; and whether it is a list that grew.

        Its new items are each at a path where there was nothing ever before.
        """
        items = [change.path for change in changes if not change.before]
        new = self._items.isdisjoint(items)
        self._items.update(items)
        if new and items and len(items) == len(changes):
            (name, *others) = {_ITEM.sub("", item) for item in items}
            if not others and name != items[0]:
                return name, True
        return (changes[0].path if len(changes) == 1 else None), False

    def says(self, what: str) -> bool:
        """Whether to say something now: once for each function."""
        with self._lock:
            new = what not in self._said
            self._said.add(what)
        return new

    def explanation(self, last: int) -> Explanation:
        """What is remembered of the last compilations."""
        with self._lock:
            compilations = tuple(self._compilations)
        return Explanation(
            self.function, compilations[max(0, len(compilations) - last) :]
        )

    def _changes(self, described: Description) -> tuple[Difference, ...]:
        """What differs from the most similar call of late."""
        with self._lock:
            lately = list(self._lately)
        differences = (_differences(before, described) for before in reversed(lately))
        return min(differences, key=len, default=())


class Running(NamedTuple):
    """A compilation that has begun."""

    described: Description
    changes: tuple[Difference, ...]
    started: float


def _differences(before: Description, after: Description) -> tuple[Difference, ...]:
    for old, new in zip(before, after, strict=True):
        found = tuple(
            Difference(path, old.get(path, ""), new.get(path, ""))
            for path in dict.fromkeys((*old, *new))
            if old.get(path) != new.get(path)
        )
        if found:
            return found
    return ()


def _describe(graph: Graph, clones: Sequence[Any], names: Sequence[str]) -> Description:
    """What a call is made of."""
    values: dict[str, str] = {}
    orders: dict[str, str] = {}
    for i, path in enumerate(paths(graph, clones, names)[:MAX_DESCRIBED]):
        kind, part, children = graph[i]
        if i < 2 or kind is NUMBERED:
            continue
        value = _value(kind, part, clones[i])
        if kind is CLASS:
            for (cls, name), method in class_data(part[0].value).items():
                code = getattr(method, "__code__", method)
                text = f"{type(method).__name__} #{id(code):x}"
                orders[f"{cls.__qualname__}.{name}"] = text
        elif kind in LEAVES:
            values[path] = _described_array(value)
        elif children or isinstance(value, (list, tuple, dict)):
            values[path] = type(value).__name__
            if kind is VARIABLES:  # the order of a module's names says nothing
                continue
            keys = value if isinstance(value, dict) else getattr(value, "__dict__", ())
            orders[path] = f"in the order {', '.join(map(_text, keys))}"
        else:
            text = f"{type(value).__name__} {_text(value)}"
            values[path] = text if len(text) < 80 else f"{text[:77]}..."
    return Description(values, orders)


def _value(kind: Any, part: Any, clone: Any) -> Any:
    """What a node stands for; of what is only looked at there is no clone."""
    if kind is VALUE:
        return part[1]
    if clone is not MISSING:
        return clone
    return getattr(part, "value", part)


def _text(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # such as Python's of a number of thousands of digits
        return f"#{id(value)}"


def _described_array(x: Any) -> str:
    return str(jax.typeof(x).str_short())


_ITEM = re.compile(r"\[\d+\]$")


def _remedy_of_growth(function: str, path: str | None) -> str:
    _, dot, attribute = str(path).rpartition(".")
    if dot and attribute.isidentifier():
        return (
            f'If {function}() does not use it, write @autojit(unused="{attribute}"); '
            f"if it does, keep its length the same: {path} = jnp.zeros(1000)"
        )
    return f"Keep its length the same, or make it an array: jnp.asarray({path})"


def _remedy(changes: Sequence[Difference]) -> str:
    if not changes:
        return "Call it with the same settings."
    path, before, after = changes[0]
    if "[" in before and "[" in after and " " not in before:
        return f"Keep its shape and dtype the same: pad {path} to a fixed shape."
    if not all(text.startswith(("int ", "float ")) for text in (before, after)):
        return f"Call it with fewer different values of {path}."
    if path.isidentifier():
        return (
            f'If it is data, write @autojit(traced="{path}"), or pass an array: '
            f"{path}=jnp.asarray({path})"
        )
    return f"If it is data, make it an array: {path} = jnp.asarray({path})"


_compiling = threading.local()


def has_run() -> None:
    """What was traced last in this thread is compiled, if it had to be."""
    _compiling.now = None


def _await_compiling(compilation: Compilation | None) -> None:
    """The next compilation of XLA in this thread is that of this program."""
    on_compiled(_compiled)
    _compiling.now = compilation


def _compiled(seconds: float) -> None:
    compilation: Compilation | None = getattr(_compiling, "now", None)
    if compilation is not None:
        compilation.compiling_seconds = seconds
        _compiling.now = None
