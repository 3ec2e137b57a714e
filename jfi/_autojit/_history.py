"""Why each compilation of a function happened."""

import collections
import dataclasses
import re
import threading
import time
import types
import warnings
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, overload

import jax

from .._errors import AutoJitError, RecompileWarning
from .._jax_internals import all_settings, at_top_level, is_outermost, on_compiled
from .._shown import aligned_lines, html_table
from .._values import function_label, listed, user_level
from ._graphs import LEAVES, Graph, all_paths, paths
from .kinds._base import MISSING
from .kinds._classes import class_data
from .kinds._classify import CLASS, SCALAR, VALUE, VARIABLES
from .kinds._flax import NUMBERED
from .kinds._stand_ins import StandInKind


# ---- What a call is made of, in words, and what changed from one call to another ----


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

    @property
    def place(self) -> str:
        """What changed: of what came or went, that in which it is."""
        if self.before and self.after:
            return self.path
        return _LAST.sub("", self.path)

    def __str__(self) -> str:
        return f"{self.path}: {self.before or 'nothing'} -> {self.after or 'nothing'}"


# The last attribute, key or index of a path.
_LAST = re.compile(r"""(?<=.)(\.\w+|\[('[^']*'|"[^"]*"|[^\[\]]*)\])$""")


class CallDescription(NamedTuple):
    """What a call was made of, by path.

    Each counts only where those before it are the same.

    Attributes:
        values: What is seen at first: types, settings, shapes.
        orders: The order of keys and attributes, methods of classes, kinds of numbers.
        parts: What tells apart values that look the same, such as two functions.
        options: JAX's options.
    """

    values: Mapping[str, str]
    orders: Mapping[str, str]
    parts: Mapping[str, int]
    options: Mapping[str, str]


def differences(
    before: CallDescription, after: CallDescription
) -> tuple[Difference, ...]:
    """What changed from one call to another."""
    for old, new in ((before[0], after[0]), (before[1], after[1])):
        if found := tuple(_changed_paths(old, new)):
            return found
    other = tuple(
        Difference(path, after.values[path], "another one")
        for path, part in after.parts.items()
        if before.parts.get(path) != part
    )
    return other or tuple(_changed_paths(before.options, after.options))


def _changed_paths(
    old: Mapping[str, str], new: Mapping[str, str]
) -> Iterator[Difference]:
    """What changed, but for the parts of what changed as a whole."""
    whole: set[str] = set()
    for path in dict.fromkeys((*old, *new)):  # level by level: parts come after all
        if old.get(path) == new.get(path):
            continue
        ends = (i for i, character in enumerate(path) if character in ".[")
        if whole.isdisjoint(path[:end] for end in ends):
            yield Difference(path, old.get(path, ""), new.get(path, ""))
        whole.add(path)


def description_of(
    graph: Graph, clones: Sequence[Any], names: Sequence[str]
) -> CallDescription:
    """What a call is made of."""
    values: dict[str, str] = {}
    orders: dict[str, str] = {}
    parts: dict[str, int] = {}
    found = paths(graph, clones, names)
    for i, path in enumerate(found[:MAX_DESCRIBED]):
        kind, part, children = graph[i]
        if isinstance(kind, StandInKind):
            values[path] = kind.cls.__name__
            continue
        value = _value_of_node(kind, part, clones[i])
        if i < 2 or kind is NUMBERED or (value is None and path in values):
            continue  # the attributes that a function does not have
        if kind is CLASS:
            orders.update(_methods(part[0].value))
        elif kind in LEAVES:
            values[path] = str(jax.typeof(value).str_short())
            orders[path] = _kind_of_number(kind, part, value)
        elif isinstance(value, types.FunctionType):
            values[path], parts[path] = (
                _setting_in_words(value),
                hash((part, parts.get(path))),
            )
        elif children or isinstance(value, (list, tuple, dict)):
            values[path] = type(value).__name__
            if kind is VARIABLES:  # the order of a module's names says nothing
                continue
            keys = value if isinstance(value, dict) else getattr(value, "__dict__", ())
            orders[path] = f"in the order {', '.join(map(repr, keys)) or 'of no keys'}"
        else:
            values[path], parts[path] = (
                _setting_in_words(value),
                hash((part, parts.get(path))),
            )
    for path, i in all_paths(graph, clones, names):
        if graph[i][0] in LEAVES and i < MAX_DESCRIBED and path not in values:
            values[path] = f"the same as {found[i]}"
    options = {name: repr(value) for name, value in all_settings().items()}
    return CallDescription(values, orders, parts, options)


def _methods(cls: type) -> Iterator[tuple[str, str]]:
    for (owner, name), method in class_data(cls).items():
        code = method.__code__ if isinstance(method, types.FunctionType) else method
        text = f"{type(method).__name__} #{id(code):x}"
        yield f"{owner.__qualname__}.{name}", text


def _kind_of_number(kind: Any, part: Any, x: Any) -> str:
    """What tells apart numbers and arrays of one shape and dtype."""
    if part is not None and part is not jax.Array:  # where code asks for classes
        return f"a {part.__name__}"
    if kind is SCALAR:
        return "a Python number" if jax.typeof(x).weak_type else "a NumPy number"
    return "an array of weak type" if jax.typeof(x).weak_type else "an array"


def _value_of_node(kind: Any, part: Any, clone: Any) -> Any:
    """What a node stands for; of what is only looked at there is no clone."""
    if kind is VALUE:
        return part[1]
    if clone is not MISSING:
        return clone
    return getattr(part, "value", part)


def _setting_in_words(value: Any) -> str:
    """A setting in a few words."""
    if value is None:
        return "None"
    if isinstance(value, types.FunctionType):
        return function_label(value)
    try:
        text = f"{type(value).__name__} {value!r}"
    except Exception:  # such as Python's of a number of thousands of digits
        text = type(value).__name__
    return text if len(text) < 80 else f"{text[:77]}..."


# ---- What to write so that a function is compiled less often ----


def remedy_of_growth(function: str, path: str) -> str:
    """The line to write for a list that has one more item at each call."""
    _, dot, attribute = path.rpartition(".")
    appended = (
        f"If {function} appends to it, return the value, and append it after the call: "
        f"{path}.append(value)."
    )
    if dot and attribute.isidentifier():
        return (
            f'If {function} does not use it, write @autojit(unused="{attribute}"). '
            f"{appended} Else keep its length the same: {path} = jnp.zeros(1000)"
        )
    return (
        f"{appended} Else keep its length the same, or make it an array: "
        f"jnp.asarray({path})"
    )


def attribute_in(path: str, left_out: Collection[str] = ()) -> str:
    """The last attribute in a path, or nothing.

    Args:
        path: How a value is reached.
        left_out: Attributes that don't count. A value that is reached all the same is
            none of an object's own, as the `__self__` of a method in an attribute.

    >>> attribute_in("task.log['file']"), attribute_in("p['v']")
    ('log', '')
    >>> attribute_in("task.write.__self__", {"__self__"})
    'write'
    """
    found: list[str] = re.findall(r"\.([^\W\d]\w*)", path)
    return next((name for name in reversed(found) if name not in left_out), "")


def remedy_of_refusal(function: str, path: str, read: Collection[str]) -> str:
    """The line to write for what is refused in an attribute that no code names.

    Such attributes count where code makes up names, and in objects whose class comes
    from a library.

    >>> print(remedy_of_refusal("step", "task.log['file']", {"w"}).strip())
    If step() does not use task.log, write @autojit(unused="log").
    """
    for found in re.finditer(r"\.(\w+)", path):
        if found[1] not in read:
            return (
                f"\nIf {function}() does not use {path[: found.end()]}, write "
                f'@autojit(unused="{found[1]}").'
            )
    return ""


def remedy(
    changes: Sequence[Difference],
    parameters: Collection[str],
    settings: Collection[str],
) -> str:
    """The lines to write for values that change often.

    Args:
        changes: What changed lately.
        parameters: Those of the function.
        settings: The parameters that the user has named `static` or `frozen`.
    """
    if not changes:
        return "Call it with the same settings."
    return "\n".join(
        dict.fromkeys(_remedy(c, parameters, settings) for c in changes[:3])
    )


def _remedy(
    change: Difference, parameters: Collection[str], settings: Collection[str]
) -> str:
    path, before, after = change
    if not (before and after) and change.place != path:
        return f"Keep the keys and the length of {change.place} the same."
    (root,) = re.findall(r"^\w+", path) or [""]
    if root in settings:
        return (
            f'If it is data, leave out "{root}" in static= and frozen=; else call it '
            f"with fewer different values of {path}."
        )
    if "[" in before and "[" in after and " " not in before:
        return f"Keep its shape and dtype the same: pad {path} to a fixed shape."
    numbers = [text.partition(" ")[0] for text in (before, after)]
    if numbers == ["float", "float"]:
        return (
            f"Python code needs its value, as in `if {path} > 0`. Write jnp.where or "
            f"jnp.cond, or call it with fewer different values of {path}."
        )
    if not set(numbers) <= {"int", "float"}:
        return f"Call it with fewer different values of {path}."
    if path in parameters:
        return (
            f'If it is data, write @autojit(traced="{path}"), or pass an array: '
            f"{path}=jnp.asarray({path})"
        )
    return f"If it is data, make it an array: {path} = jnp.asarray({path})"


# ---- Compilations ----


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
