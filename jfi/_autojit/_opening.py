"""Opening the arguments of a call: a hashable graph of what they are, and the arrays.

A graph is a tuple of nodes; a node is its kind, its hashable part and the numbers of
its children. The same object reached twice is one node, so that sharing and cycles
are part of the graph. Two calls with equal graphs differ in their arrays alone.
"""

import enum
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jax.core import Tracer

from .._errors import AutoJitError
from .._trees import number_key
from ._classify import (
    ARRAY,
    CLASS,
    ITSELF,
    NUMBER,
    PYTREE,
    SCALAR,
    STATIC_ARRAY,
    RefusedError,
    kind_of,
)
from ._kinds import InputKind, Kind, Split


Node: TypeAlias = tuple[Kind, Any, tuple[int, ...]]
Graph: TypeAlias = tuple[Node, ...]

INPUT = InputKind()
LEAVES = (ARRAY, SCALAR)
UNSHARED = (int, float, complex, str, bool, bytes, type(None))  # `is` says nothing


class Mode(enum.Enum):
    """What becomes of the numbers and arrays that are met."""

    TRACED = enum.auto()  # arguments: arrays and floats are traced
    FROZEN = enum.auto()  # arguments of which the code must know the floats
    RESULT = enum.auto()  # results: what is no JAX array is returned as it is
    LOOKED_AT = enum.auto()  # data of a class: passed itself, only its key is taken


class Opened(NamedTuple):
    """Arguments taken apart.

    Attributes:
        graph: What they are, without the arrays.
        leaves: The arrays and traced scalars, in the order of their nodes.
        objects: The value behind each node.
        modes: How the numbers and arrays in each node are taken.
    """

    graph: Graph
    leaves: list[Any]
    objects: list[Any]
    modes: list[Mode]

    def leaf_nodes(self) -> list[int]:
        """The number of the node of each leaf."""
        return [i for i, (kind, _, _) in enumerate(self.graph) if kind in LEAVES]

    def frozen(self, nodes: Collection[int]) -> "Opened":
        """The same arguments with some of their traced numbers as plain values."""
        graph = list(self.graph)
        for i in nodes:
            graph[i] = (NUMBER, NUMBER.split(self.objects[i])[0], ())
        kept = zip(self.leaf_nodes(), self.leaves, strict=True)
        leaves = [leaf for i, leaf in kept if i not in nodes]
        return Opened(tuple(graph), leaves, self.objects, self.modes)


def open_values(
    values: Sequence[object],
    names: Callable[[], Sequence[str]],
    *,
    mode: Mode = Mode.TRACED,
    inputs: Mapping[int, int] | None = None,
    refused: str = "got",
) -> Opened:
    """Take values apart, breadth first.

    Args:
        values: The values; together they are node 0.
        names: What the user calls them, asked for when one is refused.
        mode: What becomes of the numbers.
        inputs: In results, the node of each argument that may come back, by its id.
        refused: The beginning of the sentence that refuses a value.

    Raises:
        AutoJitError: A value can't be opened; the message has its path.
    """
    objects: list[Any] = [tuple(values)]
    modes = [mode]
    memo: dict[tuple[bool, int], int] = {}
    nodes: list[Node] = []
    leaves: list[Any] = []

    def number(child: Any, child_mode: Mode) -> int:
        # A class is the same node in every mode.
        key = (child_mode is Mode.LOOKED_AT and not isinstance(child, type), id(child))
        found = memo.get(key)
        if found is None:
            found = len(objects)
            objects.append(child)
            modes.append(child_mode)
            if type(child) not in UNSHARED:
                memo[key] = found
        return found

    for i, x in enumerate(objects):  # the list grows meanwhile
        if inputs is not None and id(x) in inputs:
            nodes.append((INPUT, inputs[id(x)], ()))
            continue
        try:
            kind = kind_in_mode(x, modes[i])
        except RefusedError as error:
            path = place(nodes, objects, i, names())
            text = str(error).replace("{path}", path)
            raise AutoJitError(f"{names()[0]}() {refused} {text}") from None
        if kind in LEAVES:
            leaves.append(x)
        part, children = kind.split(x)
        if kind.keyed and mode is Mode.RESULT:
            children = ()
        numbers: tuple[int, ...] = ()
        if children:
            modes_below = _modes_below(kind, part, len(children), modes[i])
            numbers = tuple(map(number, children, modes_below))
        nodes.append((kind, part, numbers))
    return Opened(tuple(nodes), leaves, objects, modes)


def kind_in_mode(x: Any, mode: Mode) -> Kind:
    try:
        kind = kind_of(x)
    except RefusedError:
        if mode is Mode.LOOKED_AT:  # a constant for the code, like a global
            return ITSELF
        raise
    if mode is Mode.TRACED:
        return kind
    if kind is SCALAR:
        return NUMBER
    if kind is ARRAY and mode is not Mode.FROZEN:
        if isinstance(x, np.ndarray):
            return STATIC_ARRAY
        return ITSELF if mode is Mode.LOOKED_AT else ARRAY
    return kind


def _modes_below(kind: Kind, part: Any, n: int, mode: Mode) -> list[Mode]:
    if kind.keyed:
        return [Mode.LOOKED_AT] * n
    if mode is not Mode.TRACED:
        return [mode] * n
    frozen = kind.frozen(part, n)
    return [Mode.FROZEN] * frozen + [Mode.TRACED] * (n - frozen)


def place(
    graph: Sequence[Node], objects: Sequence[Any], i: int, names: Sequence[str]
) -> str:
    """The path of a node as the user would write it, from the names of the roots."""
    steps: list[str] = []
    while i:
        above = next(p for p, (_, _, children) in enumerate(graph) if i in children)
        kind, part, children = graph[above]
        k = children.index(i)
        if above == 0:
            steps.append(names[k])
        else:
            steps.append(kind.step(part, k, [objects[c] for c in children]))
        if steps[-1] and steps[-1][0] not in ".[(":  # a captured variable: a new root
            break
        i = above
    path = "".join(reversed(steps))
    keyword = re.match(r"\*\*\w+\['(\w+)'\]", path)  # a keyword argument: its own name
    return keyword[1] + path[keyword.end() :] if keyword else path


MISSING = object()


def rebuild(
    graph: Graph, leaves: Iterable[Any], inputs: Sequence[Any] = ()
) -> list[Any]:
    """Make the values that a graph describes, around new leaves: one per node.

    Args:
        graph: The graph of `open_values`.
        leaves: One value per leaf.
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
