"""Operations as nodes of a graph, folded until a person can look at it."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from ._amounts import of_number
from ._costs import nbytes
from ._flow import Enclosing, Flow, Line, Operation, Value
from ._rows import dtype_of, shape_of


Fold: TypeAlias = Literal["auto", "none", "call", "line"]
Kind: TypeAlias = Literal[
    "input", "constant", "result", "matrix", "elementwise", "reduction", "movement",
    "random", "callback", "call", "line", "loop", "branch",
]  # fmt: skip


@dataclass(slots=True)
class Node:
    """A node of a graph.

    Attributes:
        number: Another one for each node, also of graphs inside.
        label: What it is: "dot_general", "softmax", "x", "train.py, line 5".
        detail: A few words more: the shape and dtype of its result.
        kind: What it does, which decides its color.
        operations: How many operations it stands for.
        flops: What they cost, in all turns of a loop.
        bytes: The size of the largest of their results.
        line: The line of the user that it comes from.
        inside: The bodies of a loop, the branches of a branching.
    """

    number: int
    label: str
    detail: str
    kind: Kind
    operations: int = 0
    flops: int = 0
    bytes: int = 0
    line: Line | None = None
    inside: "list[Graph]" = field(default_factory=list)


@dataclass(slots=True)
class Graph:
    """A graph.

    Attributes:
        title: Of a graph inside a node: "body", "branch 0"; else empty.
        nodes: The nodes, in the order of the program.
        edges: The numbers of nodes from which and to which something flows. In a graph
            folded by line an edge may lead back, as in a Python loop.
    """

    title: str
    nodes: list[Node]
    edges: list[tuple[int, int]]

    def all_nodes(self) -> Iterator[Node]:
        """The nodes, and those of graphs inside them."""
        for node in self.nodes:
            yield node
            for graph in node.inside:
                yield from graph.all_nodes()


def graph_of(
    flow: Flow, sources: Mapping[Value, str], fold: Fold = "auto", most: int = 40
) -> Graph:
    """The graph of a function.

    Args:
        flow: Its operations.
        sources: What the user calls the values that no operation makes.
        fold: What is one node: see `Inspection.graph`.
        most: How many nodes a person looks at.

    Raises:
        ValueError: `fold` is no way to fold.
    """
    if fold not in get_args(Fold):
        raise ValueError(
            f'graph() got fold={fold!r}. Write fold="auto", "none", "call" or "line".'
        )
    if fold != "auto":
        return _Builder(flow, sources, fold, most).build()
    graph = Graph("", [], [])
    for way in ("none", "call", "line"):
        if way == "none" and len(flow.operations) > most:
            continue
        graph = _Builder(flow, sources, way, most).build()
        if sum(1 for _ in graph.all_nodes()) <= most:
            return graph
    return graph


class _Builder:
    def __init__(
        self, flow: Flow, sources: Mapping[Value, str], fold: str, most: int
    ) -> None:
        self._flow, self._sources, self._fold = flow, dict(sources), fold
        self._number = 0
        self._with_bodies = {
            scope.operation
            for operation in flow.operations
            for scope in operation.scopes
            if scope.operation is not None
        }
        lines = Counter(operation.line for operation in flow.operations)
        self._shown = {line for line, _ in lines.most_common(most)}

    def build(self) -> Graph:
        operations = [(o, o.scopes) for o in self._flow.operations]
        return self._graph("", 0, operations, self._flow.results, ())

    def _graph(
        self,
        title: str,
        scope: int,
        operations: "Sequence[tuple[Operation, tuple[Enclosing, ...]]]",
        results: Sequence[Value],
        roles: Sequence[str],
    ) -> Graph:
        """The graph of one body, or of the function.

        Args:
            title: That of the graph.
            scope: The number of the body's scope.
            operations: Its operations, each with the scopes around it inside the body.
            results: Where its results come from.
            roles: What each of its inputs is.
        """
        graph = Graph(title, [], [])
        groups: dict[Hashable, list[Operation]] = {}
        group_of: dict[int, Hashable] = {}
        inner: dict[Enclosing, list[tuple[Operation, tuple[Enclosing, ...]]]] = {}
        for operation, scopes in operations:
            key, body, rest = self._place(operation, scopes)
            if body is not None:
                inner.setdefault(body, []).append((operation, rest))
                continue
            groups.setdefault(key, []).append(operation)
            group_of[operation.number] = key
        made = {
            key: self._node(graph, key, group, inner) for key, group in groups.items()
        }
        seen: dict[Hashable, Node] = {}

        def from_node(value: Value) -> Node | None:
            where, number, _ = value
            if where == "op":
                return made[group_of[number]] if number in group_of else None
            if where == "lit" or (where == "in" and number != scope):
                return None
            return self._source(graph, seen, value, roles)

        edges: dict[tuple[int, int], None] = {}
        for key, group in groups.items():
            target = made[key]
            for operation in group:
                for value in operation.inputs:
                    source = from_node(value)
                    if source is not None and source is not target:
                        edges[source.number, target.number] = None
        self._end(graph, results, from_node, edges)
        graph.edges = list(edges)
        return graph

    def _place(
        self, operation: Operation, scopes: tuple[Enclosing, ...]
    ) -> tuple[Hashable, Enclosing | None, tuple[Enclosing, ...]]:
        """The group of an operation; or the body it is in, and its scopes there."""
        for k, scope in enumerate(scopes):
            if scope.operation is not None:
                return None, scope, scopes[k + 1 :]
            if self._fold == "call":
                return ("call", scope), None, ()
        is_whole = operation.number in self._with_bodies
        if self._fold == "line" and not is_whole:
            line = operation.line
            return ("line", line if line in self._shown else None), None, ()
        return ("operation", operation.number), None, ()

    def _node(
        self,
        graph: Graph,
        key: Hashable,
        group: Sequence[Operation],
        inner: "Mapping[Enclosing, Sequence[tuple[Operation, tuple[Enclosing, ...]]]]",
    ) -> Node:
        assert isinstance(key, tuple)
        way, what = key
        first, last = group[0], group[-1]
        label, kind = first.name, _kind(first)
        if way == "call":
            label, kind = what.name, "call"
        elif way == "line":
            label, kind = _code(what) if what else "elsewhere", "line"
        sizes = [nbytes(x) for operation in group for x in operation.results]
        node = self._new(graph, label, _type(last), kind)
        node.operations, node.line = len(group), first.line
        node.bytes = max(sizes, default=0)
        node.flops = sum(map(_flops, group))
        if len(group) > 1:
            node.detail = f"{len(group)} operations"
        if way == "line" and what:
            node.detail = f"line {what.number}: {node.detail}"
        bodies = {s: ops for s, ops in inner.items() if s.operation == first.number}
        if way == "operation" and bodies:
            self._open(node, bodies)
        return node

    def _open(
        self,
        node: Node,
        bodies: "Mapping[Enclosing, Sequence[tuple[Operation, tuple[Enclosing, ...]]]]",
    ) -> None:
        """Give a loop or branching its bodies."""
        times = next(iter(bodies)).times
        if node.label in ("scan", "while"):
            turns = "until its end" if times is None else f"{times} times"
            node.label, node.kind = f"{node.label}, {turns}", "loop"
        else:
            node.kind = "branch"
        for scope, operations in bodies.items():
            ends = self._flow.ends[scope.number]
            self._name_inputs(scope)
            inside = self._graph(
                scope.name, scope.number, operations, ends, scope.roles
            )
            node.inside.append(inside)
            node.operations += sum(n.operations for n in inside.nodes)
            node.flops += sum(n.flops for n in inside.nodes)

    def _name_inputs(self, scope: Enclosing) -> None:
        """Call what a body takes from outside as it is called there."""
        assert scope.operation is not None
        outside = self._flow.operations[scope.operation].inputs[scope.offset :]
        for k, (value, role) in enumerate(zip(outside, scope.roles, strict=False)):
            if not role and value in self._sources:
                self._sources["in", scope.number, k] = self._sources[value]

    def _source(
        self,
        graph: Graph,
        seen: dict[Hashable, Node],
        value: Value,
        roles: Sequence[str],
    ) -> Node:
        """The node of an input or constant; arrays of one variable may share it."""
        where, _, k = value
        kind: Kind = "constant" if where == "const" else "input"
        role = str(roles[k]) if where == "in" and k < len(roles) else ""
        unnamed = "constant" if where == "const" else "given"
        named = self._sources.get(value, "")
        label = named or _ROLES.get(role) or unnamed
        if self._fold != "none":
            label = re.split(r"\[", label)[0]
        is_shared = self._fold != "none" or not named
        key: Hashable = (label,) if is_shared else value
        node = seen.get(key)
        if node is None:
            node = seen[key] = self._new(graph, label, "", kind)
        return node

    def _end(
        self,
        graph: Graph,
        results: Sequence[Value],
        from_node: "Callable[[Value], Node | None]",
        edges: dict[tuple[int, int], None],
    ) -> None:
        """One node for all results."""
        sources = [from_node(value) for value in results]
        found = {node.number for node in sources if node is not None}
        if found:
            label = _ENDS.get(graph.title, "result")
            node = self._new(graph, label, "", "result")
            for number in sorted(found):
                edges[number, node.number] = None

    def _new(self, graph: Graph, label: str, detail: str, kind: Kind) -> Node:
        self._number += 1
        node = Node(self._number, label, detail, kind)
        graph.nodes.append(node)
        return node


def _code(line: Line) -> str:
    """What is written in a line, cut to what fits in a node."""
    text = line.text or str(line)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


_WIDTH = 34
_ROLES = {"carry": "carry", "x": "row of x"}
_ENDS = {"body": "next", "condition": "go on?"}


def _flops(operation: Operation) -> int:
    if not operation.counted:
        return 0
    return (operation.cost.flops + operation.cost.transcendentals) * operation.times


def _type(operation: Operation) -> str:
    """The shape and dtype of the first result: "float32[3,4]"."""
    results = operation.results
    if not results:
        return ""
    shape = ",".join(map(str, shape_of(results[0])))
    more = f" and {len(results) - 1} more" if len(results) > 1 else ""
    return f"{dtype_of(results[0])}[{shape}]{more}"


def cost_of(node: Node) -> str:
    """What a node costs, in words; empty if nothing."""
    return f"{of_number(node.flops)} flops" if node.flops else ""


_MATRICES = re.compile(
    "dot_general|conv_|cholesky|lu$|qr|svd|eig|triangular|solve|schur|fft|geq|household"
)


def _kind(operation: Operation) -> Kind:
    name = operation.name
    if "callback" in name or name == "debug_print":
        return "callback"
    if name.startswith(("random_", "next_key", "threefry")):
        return "random"
    if _MATRICES.match(name):
        return "matrix"
    if name.startswith(("reduce", "arg", "cum", "sort", "top_k")):
        return "reduction"
    is_moved = operation.cost.flops == operation.cost.transcendentals == 0
    return "movement" if is_moved else "elementwise"
