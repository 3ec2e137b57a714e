"""Opening the arguments of a call: a hashable graph of what they are, and the arrays.

A graph is a tuple of nodes; a node is its kind, its hashable part and the numbers of
its children. The same object reached twice is one node, so that sharing and cycles
are part of the graph. Two calls with equal graphs differ in their arrays alone.
"""

import enum
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np
from jax.core import Tracer

from .._errors import AutoJitError
from ._classify import (
    ARRAY,
    DICT,
    INTEGER,
    ITSELF,
    KNOWN_ARRAY,
    LIST,
    NAMED_TUPLE,
    NUMBER,
    PYTREE,
    SCALAR,
    STATIC_ARRAY,
    TUPLE,
    RefusedError,
    kind_of,
)
from ._kinds import InputKind, Kind


Node: TypeAlias = tuple[Kind, Any, tuple[int, ...]]
Graph: TypeAlias = tuple[Node, ...]

INPUT = InputKind()
LEAVES = (ARRAY, SCALAR, INTEGER)
UNSHARED = (int, float, complex, str, bool, bytes, type(None))  # `is` says nothing


class Mode(enum.Enum):
    """What becomes of the numbers and arrays that are met."""

    TRACED = enum.auto()  # arguments: arrays and floats are traced
    ABSTRACT = enum.auto()  # arguments: so are shapes and dtypes without an array
    DATA = enum.auto()  # arguments: so are ints and bools
    FROZEN = enum.auto()  # parts of which the code must know the floats
    STATIC = enum.auto()  # arguments of which the code must know all values
    RESULT = enum.auto()  # results: what is no JAX array is returned as it is
    LOOKED_AT = enum.auto()  # data of a class: passed itself, only its key is taken


class Opened(NamedTuple):
    """Arguments taken apart.

    Attributes:
        graph: What they are, without the arrays.
        leaves: The arrays and traced scalars, in the order of their nodes.
        objects: The value behind each node.
        modes: How the numbers and arrays in each node are taken.
        single: Whether each node is another object than all others.
    """

    graph: Graph
    leaves: list[Any]
    objects: list[Any]
    modes: list[Mode]
    single: list[bool]

    def leaf_nodes(self) -> list[int]:
        """The number of the node of each leaf."""
        return [i for i, (kind, _, _) in enumerate(self.graph) if kind in LEAVES]

    def roots_of_leaves(self) -> list[int]:
        """For each leaf, through which root it is reached: 0, 1, ..."""
        (_, _, roots), *_ = self.graph
        found = [-1] * len(self.graph)
        for k, root in enumerate(roots):
            if found[root] < 0:
                found[root] = k
        for i, (_, _, children) in enumerate(self.graph[1:], start=1):
            for child in children:
                if found[child] < 0:
                    found[child] = found[i]
        return [found[i] for i in self.leaf_nodes()]

    def frozen(self, nodes: Collection[int]) -> "Opened":
        """The same arguments with some of their traced numbers as plain values."""
        graph = list(self.graph)
        for i in nodes:
            graph[i] = (NUMBER, NUMBER.split(self.objects[i])[0], ())
        kept = zip(self.leaf_nodes(), self.leaves, strict=True)
        leaves = [leaf for i, leaf in kept if i not in nodes]
        return Opened(tuple(graph), leaves, self.objects, self.modes, self.single)


def open_values(
    values: Sequence[object],
    names: Callable[[], Sequence[str]],
    *,
    mode: Mode = Mode.TRACED,
    modes: Sequence[Mode] | None = None,
    spread: Collection[int] = (),
    strict: bool = False,
    inputs: Mapping[int, int] | None = None,
    refused: str = "got",
) -> Opened:
    """Take values apart, breadth first.

    Args:
        values: The values; together they are node 0.
        names: What the user calls them, asked for when one is refused.
        mode: What becomes of the numbers.
        modes: The same, for each value.
        spread: Which values are the tuple or dict of arguments without a parameter.
        strict: Whether the identity of arrays counts everywhere.
        inputs: In results, the node of each argument that may come back, by its id.
        refused: The beginning of the sentence that refuses a value.

    Raises:
        AutoJitError: A value can't be opened; the message has its path.
    """
    walk = _Walk(tuple(values), mode)
    nodes: list[Node] = []
    leaves: list[Any] = []
    arguments: set[int] = {0}  # whose children are arguments of the user
    for i, x in enumerate(walk.objects):  # the list grows meanwhile
        if inputs is not None and id(x) in inputs:
            nodes.append((INPUT, inputs[id(x)], ()))
            continue
        try:
            kind = kind_in_mode(x, walk.modes[i])
        except RefusedError as error:
            path = place(nodes, walk.objects, i, names())
            text = str(error).replace("{path}", path)
            raise AutoJitError(f"{names()[0]}() {refused} {text}") from None
        if kind in LEAVES:
            leaves.append(x)
        part, children = kind.split(x)
        if kind.keyed and mode is Mode.RESULT:
            children = ()
        below: Sequence[Mode] = _modes_below(kind, part, len(children), walk.modes[i])
        if modes and i == 0:
            below = modes
        of_values = kind in _OF_VALUES and i not in arguments and not strict
        numbers = tuple(
            walk.number(c, m, of_values) for c, m in zip(children, below, strict=True)
        )
        if i == 0:
            arguments |= {numbers[k] for k in spread}
        nodes.append((kind, part, numbers))
    return Opened(tuple(nodes), leaves, walk.objects, walk.modes, walk.single)


# In these, arrays are values: whether two of them are one object does not count.
_OF_VALUES = (TUPLE, LIST, DICT, NAMED_TUPLE, PYTREE)


class _Walk:
    """What was met so far, by node."""

    def __init__(self, root: object, mode: Mode) -> None:
        self.objects, self.modes, self.single = [root], [mode], [True]
        self._known: dict[tuple[Any, int], int] = {}

    def number(self, x: Any, mode: Mode, of_values: bool) -> int:
        """The node of an object, new unless it was met before."""
        single = type(x) not in UNSHARED and not (
            of_values and mode in WITH_DATA and isinstance(x, _ARRAYS)
        )
        key = (told_apart(x, mode), id(x))
        found = self._known.get(key) if single else None
        if found is None:
            found = len(self.objects)
            self.objects.append(x)
            self.modes.append(mode)
            self.single.append(single)
            if single:
                self._known[key] = found
        return found


_ARRAYS = (jax.Array, np.ndarray, np.generic)


def told_apart(x: Any, mode: Mode) -> Any:
    """The same object is one node, unless it is taken in two ways."""
    if isinstance(x, type):
        return None
    if isinstance(x, _ARRAYS):
        return mode
    return mode is Mode.LOOKED_AT


def kind_in_mode(x: Any, mode: Mode) -> Kind:
    """The kind of a value.

    Raises:
        RefusedError: It can't be an argument.
    """
    if mode is Mode.ABSTRACT and isinstance(x, jax.ShapeDtypeStruct):
        return ARRAY
    try:
        kind = kind_of(x)
    except RefusedError:
        if mode is Mode.LOOKED_AT:  # a constant for the code, like a global
            return ITSELF
        raise
    if mode is Mode.TRACED or mode is Mode.ABSTRACT:
        return kind
    if mode is Mode.DATA:
        return INTEGER if type(x) in (int, bool) else kind
    if kind is SCALAR:
        return NUMBER
    if kind is ARRAY and mode is not Mode.FROZEN:
        return _kind_of_untraced_array(x, mode)
    return kind


def _kind_of_untraced_array(x: Any, mode: Mode) -> Kind:
    if isinstance(x, np.ndarray):
        return STATIC_ARRAY
    if mode is Mode.LOOKED_AT:
        return ITSELF
    if mode is Mode.RESULT:
        return ARRAY
    if isinstance(x, (Tracer, jax.Ref)):
        raise RefusedError(
            "a traced array for {path}, which is declared static: its value is not "
            'known here.\nLeave {path} out of static="...".'
        )
    return KNOWN_ARRAY


WITH_DATA = (Mode.TRACED, Mode.ABSTRACT, Mode.DATA)


def _modes_below(kind: Kind, part: Any, n: int, mode: Mode) -> list[Mode]:
    if kind.keyed:
        return [Mode.LOOKED_AT] * n
    if mode not in WITH_DATA:
        return [mode] * n
    below = [mode] * n
    for k in kind.frozen(part, n):
        below[k] = Mode.FROZEN
    return below


def paths(
    graph: Sequence[Node], objects: Sequence[Any], names: Sequence[str]
) -> list[str]:
    """Where each node is, as the user would write it, from the names of the roots.

    A root whose name begins with `**` is the dict of the keyword arguments.
    """
    found = [""] * len(objects)
    for i, (kind, part, children) in enumerate(graph):
        known = [objects[c] for c in children]
        for k, child in enumerate(children):
            if not found[child]:
                if i == 0:
                    found[child] = names[k] if k < len(names) else ""
                else:
                    found[child] = _path(found[i], kind.step(part, k, known))
    return [path.removeprefix("**") for path in found]


def _path(above: str, step: str) -> str:
    if above.startswith("**") and step[2:-2].isidentifier():  # a keyword argument
        return step[2:-2]
    if step and step[0] not in ".[(":  # a captured variable: a new root
        return step
    return above + step


def place(
    graph: Sequence[Node], objects: Sequence[Any], i: int, names: Sequence[str]
) -> str:
    """The path of one node."""
    return paths(graph, objects, names)[i]


MISSING = object()


def rebuild(
    graph: Graph, leaves: Iterable[Any], inputs: Sequence[Any] = ()
) -> list[Any]:
    """Make the values that a graph describes, around new leaves: one per node.

    Args:
        graph: The graph of `open_values`.
        leaves: One value per leaf.
        strict: Whether the identity of arrays counts everywhere.
        inputs: In results, the arguments that may come back.

    Raises:
        AutoJitError: A cycle runs through a value that Python can't make empty.
    """
    leaf = iter(leaves)
    built = [MISSING] * len(graph)
    for i, (kind, part, _) in enumerate(graph):
        if kind in LEAVES:
            built[i] = next(leaf)
        elif kind is INPUT:
            built[i] = inputs[part]
    started, done = (
        [b is not MISSING for b in built],
        [b is not MISSING for b in built],
    )

    late: list[int] = []

    def shell(i: int) -> Any:
        kind, part, children = graph[i]
        if built[i] is MISSING:
            built[i] = kind.make(part, [shell(c) for c in children[: kind.cells(part)]])
        return built[i]

    def finish(i: int) -> None:
        kind, part, children = graph[i]
        if kind.reads and not all(done[c] for c in children):
            raise _endless(graph, i)
        values = [built[c] for c in children]
        missing = any(v is MISSING for v in values)  # a value around this one
        if kind.changeable and missing:
            late.append(i)
            return
        if kind.changeable:
            kind.fill(built[i], part, values)
        elif missing:
            raise _endless(graph, i)
        else:
            built[i] = kind.make(part, values)
        done[i] = True

    # Depth first, children before parents, without recursion: lists may be long chains.
    stack = [(0, False)]
    while stack:
        i, children_done = stack.pop()
        kind, part, children = graph[i]
        if children_done:
            finish(i)
        elif kind.keyed and not started[i]:
            built[i], started[i], done[i] = kind.make(part, ()), True, True
        elif not started[i]:
            started[i] = True
            if kind.changeable:
                shell(i)
            stack.append((i, True))
            stack.extend((c, False) for c in reversed(children))
    for i in late:
        kind, part, children = graph[i]
        kind.fill(built[i], part, [built[c] for c in children])
    return built


def _endless(graph: Graph, i: int) -> AutoJitError:
    name = graph[i][1].__name__ if isinstance(graph[i][1], type) else "value"
    return AutoJitError(
        f"an argument holds a {name} that contains itself, which can't be copied.\n"
        "Pass its parts as separate arguments."
    )
