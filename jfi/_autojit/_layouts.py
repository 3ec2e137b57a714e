"""Calls of one form, recognised and taken apart by code written for them.

Opening the arguments of every call would cost some tens of microseconds. Calls are
mostly alike, so a graph is written down once as Python source: a function that checks
that a call has this graph, settings apart, and lists its settings and its arrays. Each
kind of value writes its own checks (`Kind.guard`); what they let pass has this graph.

A function of `source` reads like this:

    def recognise(a0, a1, a2):  # self, x, mode
        run = None
        try:
            while True:  # left by `break` when the call is of another form
                if not (type(a0) is c2): break  # Model
                t1 = a0.__dict__
                if not (tuple(t1) == ('w', 'power')): break
                (v5, v6,) = t1.values()
                if not (type(v6) is int): break
                if not (type(a2) is str): break
                if not (a1 is not v5): break
                if type(a1) is Array and type(v5) is Array: run = programs[(v6, a2,)]
                else: run = with_these(programs[(v6, a2,)], array(a1), array(v5))
                out = run(a1, v5)
                if out.__class__ is not Outcome: return out
                return out.deliver((...))
        except Exception:
            if run is not None: raise  # it is no error of a check
        return otherwise(a0, a1, a2)

An error in a check (an attribute that is gone, a key without a hash) says that the call
is of another form: `otherwise` opens it, and raises what is to be raised.
"""

import itertools
import re
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import jax

from .._arrays._placement import passed_on
from .._dispatch._active import ACTIVE_RULES, are_active, before_first
from .._jax_internals import plain_class
from .._jit._per_function import weakly
from .._values import KeyedValue, contents_key, is_plain_int, number_key
from ._graphs import LEAVES, Opened
from ._identities import Part, PartRecogniser, StillPart, still_part
from ._opening import kind_in_mode, may_change, told_apart
from ._outcomes import Outcome
from ._reading import Mode
from .kinds._base import Expression, Kind, Source
from .kinds._classify import ARRAY, SCALAR
from .kinds._functions import Body
from .kinds._variables import Variables


MAX_PAIRED = 8  # objects of one class that are compared one by one
MAX_NODES = 5000  # of a graph that is written down: compiling the source takes a second


NO_SETTINGS = object()  # the key of a graph that has none


class Written(NamedTuple):
    """A graph written down.

    Attributes:
        source: The text of the function that recognises it.
        constants: What the text calls `c0`, `c1`, ...
        settings: The key of the settings of this very graph.
        form: Equal for graphs that differ in their settings alone.
        has_rules: Whether there were rules for jfi's functions (see `_active`).
    """

    source: str
    constants: tuple[Any, ...]
    settings: Hashable
    form: Hashable
    has_rules: bool = False


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
    still = still_part(opened)
    inside = set(still.nodes) if still else set[int]()
    rest = [i for i in range(1, len(opened.graph)) if i not in inside]
    source.write(rest)
    source.require_distinct(rest)
    if still:
        source.look_up(still)
    _, modules, *_ = opened.graph[roots[-1]][1]
    return source.finish(parameters)._replace(has_rules=ACTIVE_RULES in modules)


class _Source(Source):
    """The text of a function that grows line by line."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._lines: list[str] = []
        self._constants: dict[Any, tuple[int, Any]] = {}
        self._settings: list[tuple[str, Any]] = []
        self._leaves: list[tuple[int, str, str, str]] = []
        self.names = [""] * len(opened.graph)
        self._repeated = 0  # children that were met before
        self.node = 0  # which is written at present

    def write(self, nodes: Iterable[int]) -> None:
        """Write how these nodes are recognised; parents come before their children."""
        for i in nodes:
            self.node = i
            kind, part, children = self._opened.graph[i]
            self.bind(children, kind.guard(self, self.names[i], part, len(children)))

    def look_up(self, still: Part) -> None:
        """Let a part that stays as it is be recognised apart, and be remembered."""
        source = _Source(self._opened)
        for root in still.roots:
            source.names[root] = f"v{root}"
        source.write(still.nodes)
        distinct = source.require_distinct(still.nodes)
        text, constants, key, form, _ = source.finish_part(still, distinct)
        names = {**NAMES, "StillPart": StillPart}
        names |= {f"c{k}": value for k, value in enumerate(constants)}
        exec(compile(text, "<autojit part>", "exec"), names)
        kinds = [self._opened.graph[i][:2] for i in still.nodes]
        part = PartRecogniser(names["recognise"], kinds)
        roots = [self.names[root] for root in still.roots]
        recogniser = self.constant(part, form)
        found = self.local(f"{recogniser}.last")
        same = [f"{root} is {found}.nodes[{k}]" for k, root in enumerate(roots)]
        known = " and ".join([f"{found} is not None", *same, f"{found}.holds()"])
        self.line(f"if not ({known}): {found} = {recogniser}.find({', '.join(roots)})")
        self.require(f"{found} is not None")
        others = self._alike(still, distinct)
        if others:
            ids = "".join(f"id({name}), " for name in others)
            self.require(f"{found}.ids.isdisjoint(({ids}))")
        nodes = self.local(f"{found}.nodes")
        for k, i in enumerate(still.nodes):
            known, self.names[i] = self.names[i], f"{nodes}[{k}]"
            # What stands for the variables of a module is nobody's object.
            of_module = isinstance(self._opened.objects[i], Variables)
            if known and i not in still.roots and not of_module:
                self.require(f"{known} is {nodes}[{k}]")
        self.setting(f"{found}.key", KeyedValue(key, None))
        for i, _, _, _ in source._leaves:
            self._leaves.append((i, self.names[i], "", ""))

    def _alike(self, still: Part, distinct: Sequence[int]) -> list[str]:
        """The names of nodes outside a part that may not be one of its objects."""
        groups = {self._group(i) for i in distinct}
        inside = {*still.nodes, 0}
        nodes = [i for i in range(len(self.names)) if i not in inside]
        return [
            self.names[i]
            for i in nodes
            if self._is_single(i) and self._group(i) in groups
        ]

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
        self._leaves.append((self.node, name, convert, usual))

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

    def _is_single(self, i: int) -> bool:
        return self._opened.single[i] and not self._opened.graph[i][0].named

    def _group(self, i: int) -> Any:
        """Objects of different groups differ: guards have checked their classes."""
        kind, x = self._opened.graph[i][0], self._opened.objects[i]
        cls = kind if kind in LEAVES else type(x)
        apart = told_apart(x, self._opened.modes[i])
        # What methods of classes meet, too, would be passed itself.
        return cls, None if apart is Mode.LOOKED_AT and may_change(x) else apart

    def require_distinct(self, nodes: Iterable[int]) -> list[int]:
        """Nodes are different objects, or else they would be one node.

        Returns:
            The nodes of which this is asked.
        """
        single = [i for i in nodes if self._is_single(i)]
        groups: dict[Any, list[str]] = {}
        for i in single:
            groups.setdefault(self._group(i), []).append(self.names[i])
        for names in groups.values():
            if len(names) > MAX_PAIRED:
                ids = ", ".join(f"id({name})" for name in names)
                self.require(f"len({{{ids}}}) == {len(names)}")
            elif len(names) > 1:  # faster for so few
                pairs = itertools.combinations(names, 2)
                self.require(" and ".join(f"{a} is not {b}" for a, b in pairs))
        return single

    def finish_part(self, still: Part, single: Sequence[int]) -> Written:
        """The text of a function that recognises a part, and the key of its settings.

        Args:
            still: The part.
            single: Its nodes that must be objects of their own.
        """
        arguments = ", ".join(self.names[root] for root in still.roots)
        nodes = "".join(f"{self.names[i]}, " for i in still.nodes)
        distinct = "".join(f"{self.names[i]}, " for i in single)
        checks = [
            f"{convert}({name})" for _, name, convert, _ in self._leaves if convert
        ]
        settings, values = self._key()
        found = f"({nodes}), {settings or None}, ({distinct})"
        lines = [
            f"def recognise({arguments}):",
            "    try:",
            "        while True:",
            *(f"            {line}" for line in (*self._lines, *checks)),
            f"            return StillPart({found})",
            "    except Exception: pass",
            "    return None",
        ]
        source = "\n".join(lines)
        constants = tuple(value for _, value in self._constants.values())
        form = source, still, *self._constants
        return Written(source, constants, values if settings else None, form)

    def finish(self, parameters: Sequence[str]) -> Written:
        """The whole text."""
        self._ask_late(self._opened.graph[0][2][0])
        arguments = ", ".join(parameters)
        objects = "".join(f"{name or None}, " for name in self.names)
        found = sorted(self._leaves)
        leaves = ", ".join(name for _, name, _, _ in found)
        usual = " and ".join(f"type({x}) is {cls}" for _, x, _, cls in found if cls)
        converted = ", ".join(f"{convert}({name})" for _, name, convert, _ in found)
        settings, values = self._key()
        program = f"programs[{settings}]" if self._settings else "only[0]"
        lines = [
            f"def recognise({arguments}):",
            "    run = None",
            "    try:",
            "        while True:",
            *(f"            {line}" for line in self._lines),
            f"            if {usual or True}: run = {program}",
            f"            else: run = with_these({program}, {converted})",
            f"            out = run({leaves})",
            "            if out.__class__ is not Outcome: return out",
            f"            return out.deliver(({objects}))",
            "    except Exception:",
            "        if run is not None: raise",
            f"    return otherwise({arguments})",
        ]
        source = "\n".join(lines)
        constants = tuple(value for _, value in self._constants.values())
        return Written(source, constants, values, (source, *self._constants))

    def _ask_late(self, node: int) -> None:
        """Let the expression of a node stand where its objects are delivered alone.

        Most calls write nothing: to ask for the function then costs them 30 ns.
        """
        name = self.names[node]
        texts = [*self._lines, *(expression for expression, _ in self._settings)]
        uses = [text for text in texts if re.search(rf"\b{name}\b", text)]
        if len(uses) == 1 and uses[0].startswith(f"{name} = "):
            self._lines.remove(uses[0])
            self.names[node] = uses[0].removeprefix(f"{name} = ")

    def _key(self) -> tuple[str, Any]:
        """The settings as one expression, and their values."""
        if not self._settings:
            return "", NO_SETTINGS
        if len(self._settings) == 1:
            return self._settings[0]
        text = "".join(f"{expression}, " for expression, _ in self._settings)
        return f"({text})", tuple(value for _, value in self._settings)


# ---- The layouts of one function, and the programs that they run ----


MAX_LAYOUTS = 16  # per function: they are tried one after the other


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
            **NAMES,
            "programs": self._programs,
            "only": self._only,
            "otherwise": otherwise,
            "Outcome": Outcome,
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

    def close(self) -> None:
        """Hand all calls on, whatever is put from now on."""
        self._names |= {"programs": {}, "only": [None]}

    def put(self, settings: Hashable, run: Callable[..., Any] | None) -> None:
        """Run calls with these settings by a function; None: hand them on."""
        if settings is NO_SETTINGS:
            self._only[0] = run
        elif run is None:
            self._programs.pop(settings, None)
        else:
            self._programs[settings] = run


class WeakLayout:
    """A layout, among those of a program: it goes with the function it is written for.

    A program may be that of many copies of a function (see `_copies`).
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = weakref.ref(layout)

    def put(self, settings: Hashable, run: Callable[..., Any] | None) -> None:
        """As of the layout, while there is one."""
        layout = self._layout()
        if layout is not None:
            layout.put(settings, run)


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
        with _lock:
            _all.add(self)

    def get(self, written: Written) -> Layout | None:
        """The layout for a form, made if there is none; None: not yet."""
        with self._lock:
            if are_active() and not written.has_rules:
                return None
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
        first = self._otherwise
        for layout in kept.values():
            layout.hand_on_to(first)
            first = layout.recognise
        self._layouts = kept
        self.recognise = first
        return True

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            for layout in self._layouts.values():
                layout.close()  # who has it may still call it
            self._layouts.clear()
            self.recognise = self._otherwise


_all: weakref.WeakSet[Layouts] = weakref.WeakSet()
_lock = threading.RLock()  # what is collected meanwhile may bring a rule


@before_first
def _forget_all() -> None:
    """Forget the layouts of calls that no rule could reach: they don't look for one."""
    with _lock:
        known = tuple(_all)
    for layouts in known:
        layouts.clear()


# ---- What the code that recognises calls may call itself ----


class _OtherKindError(Exception):
    """A value is of another kind than in the layout."""


def is_kind(x: Any, mode: Mode, kind: Any) -> bool:
    """Whether a value is of the same kind as that in the layout."""
    return kind_in_mode(x, mode) is kind


def array(x: Any) -> Any:
    """An array, ready to be passed on."""
    if kind_in_mode(x, Mode.TRACED) is not ARRAY:
        raise _OtherKindError
    return passed_on(x, "")  # it is refused in words where the call is opened


def array_of_jax(x: Any) -> Any:
    """The same, where an array of NumPy is another matter."""
    if plain_class(x) is not jax.Array:
        raise _OtherKindError
    return array(x)


def number(x: Any) -> Any:
    """A number that is to be traced."""
    if kind_in_mode(x, Mode.TRACED) is not SCALAR:
        raise _OtherKindError
    return passed_on(x, "")


def integer(x: Any) -> Any:
    """An int or bool that is to be traced."""
    if not is_plain_int(x):
        raise _OtherKindError
    return x


def with_these(
    run: Callable[..., Any] | None, *leaves: Any
) -> Callable[..., Any] | None:
    """A program that runs with these leaves, whatever it is called with.

    The leaves of most calls need no conversion: they ask nothing a second time.
    """
    return None if run is None else lambda *_: run(*leaves)


# What the text of all layouts may name.
NAMES: dict[str, Any] = {
    "__name__": __name__,
    "array": array,
    "array_of_jax": array_of_jax,
    "number": number,
    "integer": integer,
    "with_these": with_these,
    "is_kind": is_kind,
    "number_key": number_key,
    "contents_key": contents_key,
}
