"""Calls of one form, recognised and taken apart by code written for them.

Opening the arguments of every call would cost some tens of microseconds. Calls are
mostly alike, so a graph is written down once as Python source: a function that checks
that a call has this graph, settings apart, and lists its settings and its arrays. Each
kind of value writes its own checks (`Kind.guard`); what they let pass has this graph.

A function of `source` reads like this:

    def recognise(a0, a1, a2):  # self, x, mode
        run = unusual = None
        try:
            while True:  # left by `break` when the call is of another form
                if not (type(a0) is c2): break  # Model
                t1 = a0.__dict__
                if not (tuple(t1) == ('w', 'power')): break
                (v5, v6,) = t1.values()
                if not (type(v6) is int): break
                if not (type(a2) is str): break
                if not (a1 is not v5): break
                if not (type(a1) is Array and type(v5) is Array): unusual = ...
                run = programs[(v6, a2,)]
                break
        except Exception: pass
        if run is None: return otherwise(a0, a1, a2)
        out = run(a1, v5) if unusual is None else run(*unusual)
        if out.__class__ is not Outcome: return out
        return out.deliver((...))
"""

import itertools
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import jax

from .._per_function import weakly
from .._trees import contents_key, number_key, own_copy
from ._classify import ARRAY, SCALAR
from ._function_kinds import Body
from ._graphs import LEAVES, Opened
from ._kinds import Expression, Kind, Source
from ._modes import Mode
from ._opening import kind_in_mode, told_apart
from ._outcomes import Outcome
from ._outside_kinds import Variables


MAX_PAIRED = 8  # objects of one class that are compared one by one
MAX_NODES = 5000  # of a graph that is written down: compiling the source takes a second


MAX_LAYOUTS = 16  # per function: they are tried one after the other


NO_SETTINGS = object()  # the key of a graph that has none


class Written(NamedTuple):
    """A graph written down.

    Attributes:
        source: The text of the function that recognises it.
        constants: What the text calls `c0`, `c1`, ...
        settings: The key of the settings of this very graph.
        form: Equal for graphs that differ in their settings alone.
    """

    source: str
    constants: tuple[Any, ...]
    settings: Hashable
    form: Hashable


class Layout:
    """A form of calls, and the programs for each of its sets of settings.

    Attributes:
        recognise: Runs a call of this form, and hands others on.
    """

    def __init__(
        self, written: Written, name: str, otherwise: Callable[..., Any]
    ) -> None:
        self._programs: dict[Hashable, Callable[..., Any]] = {}
        self._only: list[Callable[..., Any] | None] = [None]  # if it has no settings
        self._names: dict[str, Any] = {
            "__name__": __name__,
            "programs": self._programs,
            "only": self._only,
            "otherwise": otherwise,
            "Outcome": Outcome,
            "array": array,
            "number": number,
            "integer": integer,
            "is_kind": is_kind,
            "number_key": number_key,
            "contents_key": contents_key,
            "Array": type(jax.numpy.zeros(())),
            **{f"c{k}": value for k, value in enumerate(written.constants)},
        }
        exec(compile(written.source, f"<autojit {name}>", "exec"), self._names)
        self.recognise: Callable[..., Any] = self._names["recognise"]

    def hand_on_to(self, otherwise: Callable[..., Any]) -> None:
        """Who runs calls of other forms."""
        self._names["otherwise"] = otherwise

    def is_empty(self) -> bool:
        """Whether it runs no calls."""
        return not self._programs and self._only[0] is None

    def empty(self) -> None:
        """Hand all calls on; whose calls come again are put again."""
        self._programs.clear()
        self._only[0] = None

    def put(self, settings: Hashable, run: Callable[..., Any] | None) -> None:
        """Run calls with these settings by a function; None: hand them on."""
        if settings is NO_SETTINGS:
            self._only[0] = run
        elif run is None:
            self._programs.pop(settings, None)
        else:
            self._programs[settings] = run


class Layouts:
    """The forms of calls that one function recognises.

    When there are too many, those go that no call has come to for long: all are
    emptied, and those that are still empty when the next form comes are dropped.

    Attributes:
        recognise: Runs a call of any form: the newest layout, which hands others on.
    """

    def __init__(self, name: str, otherwise: Callable[..., Any]) -> None:
        self._name, self._otherwise = name, otherwise
        self._layouts: dict[Hashable, Layout] = {}  # the oldest first
        self._lock = threading.Lock()
        self.recognise: Callable[..., Any] = otherwise

    def get(self, written: Written) -> Layout | None:
        """The layout for a form, made if there is none; None: not yet."""
        with self._lock:
            known = self._layouts.get(written.form)
            if known is not None:
                return known
            if len(self._layouts) >= MAX_LAYOUTS and not self._drop_some():
                return None
            layout = Layout(written, self._name, self.recognise)
            self._layouts[written.form] = layout
            self.recognise = layout.recognise
            return layout

    def _drop_some(self) -> bool:
        layouts = self._layouts.items()
        kept = {form: layout for form, layout in layouts if not layout.is_empty()}
        if len(kept) == len(self._layouts):
            for layout in kept.values():
                layout.empty()
            return False
        self.recognise = self._otherwise
        for layout in kept.values():
            layout.hand_on_to(self.recognise)
            self.recognise = layout.recognise
        self._layouts = kept
        return True

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._layouts.clear()
            self.recognise = self._otherwise


def write_down(opened: Opened, parameters: Sequence[str]) -> Written:
    """Write the graph of a call as code that recognises it.

    Args:
        opened: The arguments: the function, then one value for each parameter.
        parameters: The names of the parameters.
    """
    source = _Source(opened)
    (_, _, roots), *_ = opened.graph
    fn = opened.objects[roots[0]]
    fn = fn.fn if isinstance(fn, Body) else fn
    imported = source.variables(opened.objects[roots[-1]].all)
    # Who calls keeps the function alive: what it captured goes when it goes.
    found = f"{source.constant(weakly(fn), ('weakly', id(fn)))}()"
    source.bind(roots, [found, *parameters, imported])
    for i, (kind, part, children) in enumerate(opened.graph[1:], start=1):
        source.node = i
        source.bind(children, kind.guard(source, source.names[i], part, len(children)))
    source.require_distinct()
    return source.finish(parameters)


class _Source(Source):
    """The text of a function that grows line by line."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._lines: list[str] = []
        self._constants: dict[Any, tuple[int, Any]] = {}
        self._settings: list[tuple[str, Any]] = []
        self._leaves: list[tuple[str, str, str]] = []
        self.names = [""] * len(opened.graph)
        self._repeated = 0  # children that were met before
        self.node = 0  # which is written at present

    def line(self, text: str) -> None:
        self._lines.append(text)

    def require(self, condition: str) -> None:
        self.line(f"if not ({condition}): break")

    def local(self, expression: str) -> str:
        name = f"t{len(self._lines)}"
        self.line(f"{name} = {expression}")
        return name

    def unpack(self, expression: str, n: int) -> list[str]:
        names = [f"t{len(self._lines)}_{k}" for k in range(n)]
        self.line(f"({', '.join(names)},) = {expression}")
        return names

    def constant(self, value: Any, key: Any = None) -> str:
        key = id(value) if key is None else key
        number = self._constants.setdefault(key, (len(self._constants), value))[0]
        return f"c{number}"

    def is_constant(self, name: str, value: Any) -> bool:
        known = self._constants.get(id(value))
        return known is not None and name == f"c{known[0]}"

    def kinds(self) -> Sequence[Kind]:
        children = self._opened.graph[self.node][2]
        return [self._opened.graph[child][0] for child in children]

    def variables(self, variables: dict[str, Any]) -> str:
        return self.constant(Variables(variables), ("variables", id(variables)))

    def variables_from(self, k: int) -> Sequence[str]:
        children = self._opened.graph[self.node][2][k:]
        return [self.variables(self._opened.objects[child].all) for child in children]

    def setting(self, expression: str, value: Any) -> None:
        self._settings.append((expression, value))

    def require_kind(self, name: str) -> None:
        kind = self.constant(self._opened.graph[self.node][0])
        mode = self.constant(self._opened.modes[self.node])
        self.require(f"is_kind({name}, {mode}, {kind})")

    def leaf(self, name: str, convert: str, usual: str) -> None:
        self._leaves.append((name, convert, usual))

    def bind(self, children: Sequence[int], expressions: Sequence[Expression]) -> None:
        """Give each child a name, or check that it is the one that has it already."""
        rest = iter(children)
        for expression in expressions:
            if isinstance(expression, str):
                self._bind_one(next(rest), expression)
                continue
            several, n = expression
            if n:
                targets = [self._target(next(rest)) for _ in range(n)]
                self.line(f"({', '.join(t for t, _ in targets)},) = {several}")
                for target, known in targets:
                    if known:
                        self.require(f"{target} is {known}")

    def _target(self, child: int) -> tuple[str, str]:
        known = self.names[child]
        if known:
            self._repeated += 1
            return f"r{self._repeated}", known
        self.names[child] = f"v{child}"
        return f"v{child}", ""

    def _bind_one(self, child: int, expression: str) -> None:
        known = self.names[child]
        if known:
            if known != expression:
                self.require(f"{known} is {expression}")
        elif expression.isidentifier():
            self.names[child] = expression
        else:
            self.names[child] = f"v{child}"
            self.line(f"v{child} = {expression}")

    def require_distinct(self) -> None:
        """Nodes are different objects, or else they would be one node.

        Objects of different classes need no check, and guards have checked the class.
        """
        groups: dict[Any, list[str]] = {}
        for i, (kind, _, _) in enumerate(self._opened.graph[1:], start=1):
            x, mode = self._opened.objects[i], self._opened.modes[i]
            if kind.named or not self._opened.single[i]:
                continue
            cls = kind if kind in LEAVES else type(x)
            groups.setdefault((cls, told_apart(x, mode)), []).append(self.names[i])
        for names in groups.values():
            if len(names) > MAX_PAIRED:
                ids = ", ".join(f"id({name})" for name in names)
                self.require(f"len({{{ids}}}) == {len(names)}")
            elif len(names) > 1:  # faster for so few
                pairs = itertools.combinations(names, 2)
                self.require(" and ".join(f"{a} is not {b}" for a, b in pairs))

    def finish(self, parameters: Sequence[str]) -> Written:
        """The whole text."""
        arguments = ", ".join(parameters)
        objects = "".join(f"{name or None}, " for name in self.names)
        leaves = ", ".join(name for name, _, _ in self._leaves)
        usual = " and ".join(f"type({name}) is {cls}" for name, _, cls in self._leaves)
        converted = "".join(f"{convert}({name}), " for name, convert, _ in self._leaves)
        settings, values = self._key()
        program = f"programs[{settings}]" if self._settings else "only[0]"
        lines = [
            f"def recognise({arguments}):",
            "    run = unusual = None",
            "    try:",
            "        while True:",
            *(f"            {line}" for line in self._lines),
            f"            if not ({usual or True}): unusual = ({converted})",
            f"            run = {program}",
            "            break",
            "    except Exception: pass",
            f"    if run is None: return otherwise({arguments})",
            f"    out = run({leaves}) if unusual is None else run(*unusual)",
            "    if out.__class__ is not Outcome: return out",
            f"    return out.deliver(({objects}))",
        ]
        source = "\n".join(lines)
        constants = tuple(value for _, value in self._constants.values())
        return Written(source, constants, values, (source, *self._constants))

    def _key(self) -> tuple[str, Any]:
        """The settings as one expression, and their values."""
        if not self._settings:
            return "", NO_SETTINGS
        if len(self._settings) == 1:
            return self._settings[0]
        text = "".join(f"{expression}, " for expression, _ in self._settings)
        return f"({text})", tuple(value for _, value in self._settings)


class _OtherKindError(Exception):
    """A value is of another kind than in the layout."""


def is_kind(x: Any, mode: Mode, kind: Any) -> bool:
    """Whether a value is of the same kind as that in the layout."""
    return kind_in_mode(x, mode) is kind


def array(x: Any) -> Any:
    """An array, ready to be passed on."""
    if kind_in_mode(x, Mode.TRACED) is not ARRAY:
        raise _OtherKindError
    return own_copy(x)


def number(x: Any) -> Any:
    """A number that is to be traced."""
    if kind_in_mode(x, Mode.TRACED) is not SCALAR:
        raise _OtherKindError
    return x


def integer(x: Any) -> Any:
    """An int or bool that is to be traced."""
    if type(x) not in (int, bool):
        raise _OtherKindError
    return x
