"""What a call is made of: a hashable graph of its arguments, and the arrays.

A graph is a tuple of nodes; a node is its kind, its hashable part and the numbers of
its children. The same object reached twice is one node, so that sharing and cycles
are part of the graph. Two calls with equal graphs differ in their arrays alone.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._jax_internals import plain_class
from ._modes import Mode
from ._reading import Read
from .kinds._base import InputKind, Kind
from .kinds._classify import (
    ARRAY,
    INTEGER,
    ITSELF,
    KNOWN_ARRAY,
    NUMBER,
    SCALAR,
    STATIC_ARRAY,
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
        of_copy: Whether copies count as one function: see `_recent`.
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
