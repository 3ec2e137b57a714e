"""Operations as nodes of a graph, folded until a person can look at it."""

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from ._costs import dtype_of, nbytes, shape_of
from ._flow import Enclosing, Flow, Line, Operation, Value


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
    for finer in ("none", "call", "line"):
        if finer == "none" and len(flow.operations) > most:
            continue
        graph = _Builder(flow, sources, finer, most).build()
        if sum(1 for _ in graph.all_nodes()) <= most:
            return graph
    return graph


class _Builder:
    """Makes the graph in two passes: nodes for the operations, then what joins them.

    A graph, of the function or of a body, has the number of its scope; 0 is the
    function's.
    """

    def __init__(
        self, flow: Flow, sources: Mapping[Value, str], fold: str, most: int
    ) -> None:
        self._flow, self._sources, self._fold = flow, dict(sources), fold
        lines = Counter(operation.line for operation in flow.operations)
        self._shown = {line for line, _ in lines.most_common(most)}
        self._opened = {s.operation for o in flow.operations for s in o.scopes}
        self._graphs = {0: Graph("", [], [])}
        self._scopes: dict[int, Enclosing] = {}
        self._by_key: dict[Hashable, Node] = {}
        self._by_operation: dict[int, tuple[int, Node]] = {}
        self._number = 0

    def build(self) -> Graph:
        for operation in self._flow.operations:
            self._add(operation)
        edges: dict[int, dict[tuple[int, int], None]] = {n: {} for n in self._graphs}
        for operation in self._flow.operations:
            number, target = self._by_operation[operation.number]
            for value in operation.inputs:
                source = self._source(number, value)
                if source is not None and source is not target:
                    edges[number][source.number, target.number] = None
        for number, graph in self._graphs.items():
            results = self._flow.ends[number] if number else self._flow.results
            sources = [self._source(number, value) for value in results]
            if ends := {node.number for node in sources if node is not None}:
                end = self._new(number, _ENDS.get(graph.title, "result"), "result")
                edges[number].update(((n, end.number), None) for n in sorted(ends))
            graph.edges = list(edges[number])
        return self._graphs[0]

    def _add(self, operation: Operation) -> None:
        """Count an operation in its node, and in the loops around that."""
        number, around = 0, list[Node]()
        called: Enclosing | None = None
        for scope in operation.scopes:
            if scope.operation is not None:
                number = scope.number
                around.append(self._by_operation[scope.operation][1])
                if number not in self._graphs:
                    self._open(around[-1], scope)
            elif self._fold == "call":
                called = scope
                break
        node = self._node(number, operation, called)
        self._by_operation[operation.number] = number, node
        for counting in (node, *around):
            counting.operations += 1
            counting.flops += operation.run_flops if operation.counted else 0
        node.bytes = max(node.bytes, *map(nbytes, operation.results), 0)
        if node.operations > 1 and not node.inside:
            place = f"line {node.line.number}: " if _is_line(node) and node.line else ""
            node.detail = f"{place}{node.operations} operations"

    def _node(
        self, number: int, operation: Operation, called: Enclosing | None
    ) -> Node:
        """The node of an operation in the graph of this number."""
        line = operation.line if operation.line in self._shown else None
        label, kind, detail = operation.name, _kind(operation), _type(operation)
        key: Hashable = operation.number
        if called is not None:
            key, label, kind = called, called.name, "call"
        elif self._fold == "line" and operation.number not in self._opened:
            key, label, kind = ("line", line), "elsewhere", "line"
            if line:
                label, detail = _code(line), f"line {line.number}: {detail}"
        if (number, key) not in self._by_key:
            node = self._new(number, label, kind, detail)
            node.line = operation.line
            self._by_key[number, key] = node
        return self._by_key[number, key]

    def _open(self, node: Node, scope: Enclosing) -> None:
        """Give a loop or branching one of its bodies."""
        if scope.operation is None:
            return
        if node.label in ("scan", "while"):
            turns = "until its end" if scope.times is None else f"{scope.times} times"
            node.label, node.kind = f"{node.label}, {turns}", "loop"
        elif node.kind != "loop":
            node.kind = "branch"
        node.inside.append(Graph(scope.name, [], []))
        self._graphs[scope.number] = node.inside[-1]
        self._scopes[scope.number] = scope
        # What the body takes from outside is called there as it is here.
        outside = self._flow.operations[scope.operation].inputs[scope.offset :]
        for k, (value, role) in enumerate(zip(outside, scope.roles, strict=False)):
            if not role and value in self._sources:
                self._sources["in", scope.number, k] = self._sources[value]

    def _source(self, graph_number: int, value: Value) -> Node | None:
        """The node in this graph that a value comes from."""
        origin, number, k = value
        if origin == "op":
            place = self._by_operation.get(number)
            return place[1] if place and place[0] == graph_number else None
        if origin == "lit" or (origin == "in" and number != graph_number):
            return None
        kind: Kind = "constant" if origin == "const" else "input"
        scope = self._scopes.get(graph_number)
        role = ""
        if scope and origin == "in" and k < len(scope.roles):
            role = scope.roles[k]
        named = self._sources.get(value, "")
        unnamed = "constant" if origin == "const" else "given"
        label, key = named or _ROLES.get(role) or unnamed, value
        if self._fold != "none":  # the arrays of one variable share a node
            label = label.split("[")[0]
        if self._fold != "none" or not named:
            key = "named", label, 0
        if (graph_number, key) not in self._by_key:
            self._by_key[graph_number, key] = self._new(graph_number, label, kind)
        return self._by_key[graph_number, key]

    def _new(self, graph_number: int, label: str, kind: Kind, detail: str = "") -> Node:
        self._number += 1
        node = Node(self._number, label, detail, kind)
        self._graphs[graph_number].nodes.append(node)
        return node


_WIDTH = 34
_ROLES = {"carry": "carry", "x": "row of x"}
_ENDS = {"body": "next", "condition": "go on?"}


def _is_line(node: Node) -> bool:
    return node.kind == "line" and node.label != "elsewhere"


def _code(line: Line) -> str:
    """What is written in a line, cut to what fits in a node."""
    text = line.text or str(line)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def _type(operation: Operation) -> str:
    """The shape and dtype of the first result: "float32[3,4]"."""
    results = operation.results
    if not results:
        return ""
    shape = ",".join(map(str, shape_of(results[0])))
    more = f" and {len(results) - 1} more" if len(results) > 1 else ""
    return f"{dtype_of(results[0])}[{shape}]{more}"


_KINDS: dict[Kind, re.Pattern[str]] = {
    "callback": re.compile(".*callback|debug_print"),
    "random": re.compile("random_|next_key|threefry"),
    "matrix": re.compile(
        "dot_general|conv_|cholesky|lu$|qr|svd|eig|triangular|solve|schur|fft|geq|"
        "household"
    ),
    "reduction": re.compile("reduce|arg|cum|sort|top_k"),
}


def _kind(operation: Operation) -> Kind:
    for kind, names in _KINDS.items():
        if names.match(operation.name):
            return kind
    is_moved = operation.cost.flops == operation.cost.transcendentals == 0
    return "movement" if is_moved else "elementwise"
