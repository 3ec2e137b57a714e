"""Calls of one form, recognised and taken apart by code written for them.

Opening the arguments of every call would cost some tens of microseconds. Calls are
mostly alike, so a graph is written down once as Python source: a function that checks
that a call has this graph, settings apart, and lists its settings and its arrays. Each
kind of value writes its own checks (`Kind.guard`); what they let pass has this graph.

A function of `source` reads like this:

    def recognise(self, x, mode):
        run = None
        try:
            while True:  # left by `break` when the call is of another form
                if type(self) is not Model: break
                v4 = self.__dict__
                if tuple(v4) != ('w', 'power'): break
                (v5, v6,) = v4.values()
                if type(v6) is not int: break
                ...
                run = programs.get((v6, mode,))
                break
        except Exception: pass
        if run is None: return otherwise(self, x, mode)
        out = run(v5, x)
        return out if out.__class__ is not Outcome else out.deliver((...))
"""

import linecache
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import jax

from .._trees import number_key, own_copy
from ._kinds import Expression, Source
from ._object_kinds import Body, function_behind
from ._opening import ARRAY, SCALAR, UNSHARED, Mode, Opened, kind_in_mode
from ._outcomes import Outcome


MAX_NODES = 5000  # of a graph that is written down: compiling the source takes a second


class Written(NamedTuple):
    """A graph written down.

    Attributes:
        source: The text of the function that recognises it.
        constants: What the text calls `c0`, `c1`, ...
        settings: The settings of this very graph, in the order of the text.
    """

    source: str
    constants: tuple[Any, ...]
    settings: tuple[Any, ...]
    form: Hashable  # equal for graphs that differ in their settings alone


class Layout:
    """A form of calls, and the programs for each of its sets of settings.

    Attributes:
        programs: What to call with the arrays, for each set of settings.
        recognise: Runs a call of this form, and hands others on.
    """

    def __init__(
        self, written: Written, name: str, otherwise: Callable[..., Any]
    ) -> None:
        self.programs: dict[tuple[Any, ...], Callable[..., Any]] = {}
        names: dict[str, Any] = {
            "programs": self.programs,
            "otherwise": otherwise,
            "Outcome": Outcome,
            "array": array,
            "number": number,
            "is_kind": is_kind,
            "number_key": number_key,
            "function_behind": function_behind,
            "Array": type(jax.numpy.zeros(())),
            **{f"c{k}": value for k, value in enumerate(written.constants)},
        }
        file = f"<autojit {name} {id(self):x}>"
        exec(compile(written.source, file, "exec"), names)
        lines = written.source.splitlines(keepends=True)
        linecache.cache[file] = len(written.source), None, lines, file
        self.recognise: Callable[..., Any] = names["recognise"]


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
    source.bind(roots, [source.constant(fn), *parameters])
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
        self._leaves: list[str] = []
        self.names = [""] * len(opened.graph)
        self.node = 0  # which is written at present

    def line(self, text: str) -> None:
        self._lines.append(text)

    def require(self, condition: str) -> None:
        self.line(f"if not ({condition}): break")

    def local(self, expression: str) -> str:
        name = f"t{len(self._lines)}"
        self.line(f"{name} = {expression}")
        return name

    def constant(self, value: Any, key: Any = None) -> str:
        key = id(value) if key is None else key
        number = self._constants.setdefault(key, (len(self._constants), value))[0]
        return f"c{number}"

    def setting(self, expression: str, value: Any) -> None:
        self._settings.append((expression, value))

    def require_kind(self, name: str) -> None:
        kind = self.constant(self._opened.graph[self.node][0])
        mode = self.constant(self._opened.modes[self.node])
        self.require(f"is_kind({name}, {mode}, {kind})")

    def leaf(self, name: str, convert: str, usual: str) -> None:
        leaf = f"x{self.node}"
        self.line(f"{leaf} = {name} if type({name}) is {usual} else {convert}({name})")
        self._leaves.append(leaf)

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
            return f"t{len(self._lines)}_{child}", known
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
        """Nodes are different objects, or else they would be one node."""
        for looked_at in (True, False):
            names = [
                self.names[i]
                for i, (kind, _, _) in enumerate(self._opened.graph[1:], start=1)
                if not kind.named
                and type(self._opened.objects[i]) not in UNSHARED
                and (self._opened.modes[i] is Mode.LOOKED_AT) is looked_at
            ]
            if len(names) > 4:
                ids = ", ".join(f"id({name})" for name in names)
                self.require(f"len({{{ids}}}) == {len(names)}")
            else:  # faster for so few
                for k, a in enumerate(names):
                    for b in names[:k]:
                        self.require(f"{a} is not {b}")

    def finish(self, parameters: Sequence[str]) -> Written:
        arguments = ", ".join(parameters)
        settings = "".join(f"{expression}, " for expression, _ in self._settings)
        objects = "".join(f"{name or None}, " for name in self.names)
        lines = [
            f"def recognise({arguments}):",
            "    run = None",
            "    try:",
            "        while True:",
            *(f"            {line}" for line in self._lines),
            f"            run = programs.get(({settings}))",
            "            break",
            "    except Exception: pass",
            f"    if run is None: return otherwise({arguments})",
            f"    out = run({', '.join(self._leaves)})",
            "    if out.__class__ is not Outcome: return out",
            f"    return out.deliver(({objects}))",
        ]
        values = tuple(value for _, value in self._settings)
        source = "\n".join(lines)
        constants = tuple(value for _, value in self._constants.values())
        return Written(source, constants, values, (source, *self._constants))


class _OtherKindError(Exception):
    """A value is of another kind than in the layout."""


def is_kind(x: Any, mode: Mode, kind: Any) -> bool:
    """Whether a value is of the same kind as that in the layout."""
    return kind_in_mode(x, mode) is kind


def array(x: Any) -> Any:
    """An array that is no plain JAX array, ready to be passed on."""
    if kind_in_mode(x, Mode.TRACED) is not ARRAY:
        raise _OtherKindError
    return own_copy(x)


def number(x: Any) -> Any:
    """A number to be traced that is no Python float."""
    if kind_in_mode(x, Mode.TRACED) is not SCALAR:
        raise _OtherKindError
    return x
