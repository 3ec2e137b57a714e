"""Making the values that a graph describes, around new leaves."""

from collections.abc import Iterable, Sequence
from typing import Any

from .._errors import AutoJitError
from ._graphs import INPUT, LEAVES, Graph, Node
from .kinds._base import MISSING
from .kinds._classify import VARIABLES


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
