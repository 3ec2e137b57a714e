"""What a call is made of: a hashable graph of its arguments, and the arrays.

A graph is a tuple of nodes; a node is its kind, its hashable part and the numbers of
its children. The same object reached twice is one node, so that sharing and cycles
are part of the graph. Two calls with equal graphs differ in their arrays alone.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._errors import AutoJitError
from .._jax_internals import plain_class
from ._reading import Mode, Read
from .kinds._base import MISSING, InputKind, Kind
from .kinds._classify import (
    ARRAY,
    INTEGER,
    ITSELF,
    KNOWN_ARRAY,
    NUMBER,
    SCALAR,
    STATIC_ARRAY,
    VARIABLES,
)


Node: TypeAlias = tuple[Kind, Any, tuple[int, ...]]
Graph: TypeAlias = tuple[Node, ...]

INPUT = InputKind()
LEAVES = (ARRAY, SCALAR, INTEGER)


class Opened(NamedTuple):
    """Arguments taken apart.

    Attributes:
        graph: What they are, without the arrays.
        leaves: The arrays and traced scalars, in the order of their nodes.
        objects: The value behind each node.
        modes: How the numbers and arrays in each node are taken.
        single: Whether each node is another object than all others.
        outside: Whether each node was first met in what functions read outside.
        read: What the code reads, by name.
        of_copy: Whether copies count as one function: see `_copies`.
    """

    graph: Graph
    leaves: list[Any]
    objects: list[Any]
    modes: list[Mode]
    single: list[bool]
    outside: list[bool]
    read: Read
    of_copy: bool = False

    def leaf_nodes(self) -> list[int]:
        """The number of the node of each leaf."""
        return [i for i, (kind, _, _) in enumerate(self.graph) if kind in LEAVES]

    def numbers(self) -> list[int]:
        """The nodes of numbers that are data, and that nobody declared to be data."""
        return [
            i
            for i, (kind, _, _) in enumerate(self.graph)
            if kind is SCALAR and self.modes[i] is not Mode.DATA
        ]

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

    def with_classes(self) -> "Opened":
        """The same arguments; the classes of arrays and numbers are part of the graph.

        Otherwise arrays of JAX and NumPy, and numbers of Python, share programs.
        """
        graph = list(self.graph)
        for i in self.leaf_nodes():
            kind, _, children = graph[i]
            graph[i] = (kind, plain_class(self.objects[i]), children)
        return self._replace(graph=tuple(graph))

    def frozen(self, nodes: Collection[int]) -> "Opened":
        """The same arguments with some numbers and arrays as plain values."""
        graph = list(self.graph)
        for i in nodes:
            x = self.objects[i]
            kind: Kind = NUMBER
            if graph[i][0] is ARRAY:
                known = KNOWN_ARRAY if self.of_copy else ITSELF
                kind = STATIC_ARRAY if isinstance(x, np.ndarray) else known
            graph[i] = (kind, kind.split(x)[0], ())
        kept = zip(self.leaf_nodes(), self.leaves, strict=True)
        leaves = [leaf for i, leaf in kept if i not in nodes]
        return self._replace(graph=tuple(graph), leaves=leaves)


def paths(
    graph: Sequence[Node], objects: Sequence[Any], names: Sequence[str]
) -> list[str]:
    """Where each node is, as the user would write it, from the names of the roots.

    A root whose name begins with `**` is the dict of the keyword arguments.
    """
    found = [""] * len(objects)
    for path, child in all_paths(graph, objects, names):
        found[child] = found[child] or path
    return found


def all_paths(
    graph: Sequence[Node], objects: Sequence[Any], names: Sequence[str]
) -> Iterator[tuple[str, int]]:
    """Each path in a graph, and the number of the node there: one may have several."""
    found = [""] * len(objects)
    for i, (kind, part, children) in enumerate(graph):
        known = [objects[c] for c in children]
        for k, child in enumerate(children):
            if i == 0:
                path = names[k] if k < len(names) else ""
            else:
                path = _path(found[i], kind.step(part, k, known))
            found[child] = found[child] or path
            yield path.removeprefix("**"), child


def _path(above: str, step: str) -> str:
    if above.startswith("**") and step[2:-2].isidentifier():  # a keyword argument
        return step[2:-2]
    # A captured or global variable is a new root, but for those of a module.
    if step and step[0] not in ".[(" and not above.endswith("."):
        return step
    return above + step


def path_of_node(
    graph: Sequence[Node], objects: Sequence[Any], i: int, names: Sequence[str]
) -> str:
    """The path of one node."""
    return paths(graph, objects, names)[i]


# ---- Making the values that a graph describes, around new leaves ----


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
    for i in _staying(graph):
        kind, part, _ = graph[i]
        built[i] = kind.itself(part)
    built = _Building(graph, built).run()
    for i, (kind, part, _) in enumerate(graph):
        if built[i] is MISSING and kind.keyed:  # below what stays: code meets it, too
            built[i] = kind.make(part, ())
    return built


class _Building:
    """The values of a graph, some of which are there from the start."""

    def __init__(self, graph: Graph, built: list[Any]) -> None:
        self._graph, self._built = graph, built
        self._started = [x is not MISSING for x in built]
        self._done = list(self._started)
        self._late: list[int] = []

    def run(self) -> list[Any]:
        # Depth first, children before parents, without recursion: lists may be long
        # chains.
        stack = [(0, False)]
        while stack:
            i, children_done = stack.pop()
            kind = self._graph[i][0]
            if children_done:
                self._finish(i)
            elif not self._started[i]:
                self._started[i] = True
                if kind.changeable:
                    self._shell(i)
                stack.append((i, True))
                stack.extend((c, False) for c in reversed(self._passed(i)))
        for i in self._late:
            kind, part, _ = self._graph[i]
            kind.fill(self._built[i], part, [self._built[c] for c in self._passed(i)])
        return self._built

    def _passed(self, i: int) -> Sequence[int]:
        """The children of which a value is made."""
        kind, part, children = self._graph[i]
        return children[: kind.looked_at(part, len(children))]

    def _shell(self, i: int) -> Any:
        kind, part, children = self._graph[i]
        if self._built[i] is MISSING:
            inside = [self._shell(c) for c in children[: kind.cells(part)]]
            self._built[i] = kind.make(part, inside)
        return self._built[i]

    def _finish(self, i: int) -> None:
        kind, part, _ = self._graph[i]
        children = self._passed(i)
        if kind.reads and not all(self._done[c] for c in children):
            raise _endless(self._graph, i)
        values = [self._built[c] for c in children]
        missing = any(v is MISSING for v in values)  # a value around this one
        if kind.changeable and missing:
            self._late.append(i)
            return
        if kind.changeable:
            kind.fill(self._built[i], part, values)
        elif missing:
            raise _endless(self._graph, i)
        else:
            self._built[i] = kind.make(part, values)
        self._done[i] = True


def _changes(graph: Graph, node: Node) -> bool:
    kind, part, children = node
    if kind is not VARIABLES:
        return not kind.stays(part)
    # JAX keeps what it traced of the functions of branches and loops. Where they read
    # settings, others must be made for each trace, or the old ones are found.
    return not kind.stays(part) or not all(graph[c][0].is_fixed for c in children)


def _staying(graph: Graph) -> Iterable[int]:
    """The nodes of values that are passed themselves, since nothing inside is data.

    They are the variables of a module and what belongs to them: all others are made
    anew from equal parts.
    """
    parents: list[list[int]] = [[] for _ in graph]
    for i, (kind, part, children) in enumerate(graph):
        for child in children[: kind.looked_at(part, len(children))]:
            parents[child].append(i)
    waiting = [i for i, node in enumerate(graph) if _changes(graph, node)]
    changing = set(waiting)
    while waiting:
        new = [i for i in parents[waiting.pop()] if i not in changing]
        changing.update(new)
        waiting += new
    for i, (kind, part, _) in enumerate(graph):
        if i not in changing and kind.itself(part) is not MISSING:
            yield i


def _endless(graph: Graph, i: int) -> AutoJitError:
    name = graph[i][1].__name__ if isinstance(graph[i][1], type) else "value"
    return AutoJitError(
        f"an argument holds a {name} that contains itself, which can't be copied.\n"
        "Pass its parts as separate arguments."
    )
