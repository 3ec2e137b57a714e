"""A graph for other programs: Graphviz, Mermaid, networkx."""

import json
from collections.abc import Iterator
from typing import Any

from .._optional._packages import require
from ._graphs import Graph, Node, cost_of


# Fill colors by what a node does: light, so that black text is readable on them, and
# distinguished by people who don't see all colors.
COLORS = {
    "input": "#ffffff",
    "constant": "#e6e6e6",
    "result": "#ffffff",
    "matrix": "#f4a582",
    "elementwise": "#d1e5f0",
    "reduction": "#92c5de",
    "movement": "#f0f0f0",
    "random": "#c2a5cf",
    "callback": "#f768a1",
    "call": "#d9f0d3",
    "line": "#fee8b6",
    "loop": "#fff9e8",
    "branch": "#eef7ee",
}


def lines_of(node: Node) -> list[str]:
    """What is written in a node."""
    return [text for text in (node.label, node.detail, cost_of(node)) if text]


def dot(graph: Graph, name: str) -> str:
    """The graph in the language of Graphviz; bodies are clusters."""
    head = [
        f"digraph {json.dumps(name)} {{",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif"];',
        "  compound=true;",
    ]
    return "\n".join([*head, *_dot_lines(graph, "  "), "}"])


def _dot_lines(graph: Graph, margin: str) -> Iterator[str]:
    for node in graph.nodes:
        # json writes the quotes and line ends that Graphviz reads.
        label = json.dumps("\n".join(lines_of(node)), ensure_ascii=False)
        where = json.dumps(str(node.line or ""), ensure_ascii=False)
        style = f'label={label}, tooltip={where}, fillcolor="{COLORS[node.kind]}"'
        if not node.inside:
            yield f"{margin}n{node.number} [{style}];"
            continue
        # Edges can't end at a cluster: they end at its first node, which has its name.
        yield f"{margin}subgraph cluster_{node.number} {{"
        yield f'{margin}  style="rounded,filled"; fillcolor="{COLORS[node.kind]}";'
        yield f"{margin}  n{node.number} [{style}];"
        for k, inside in enumerate(node.inside):
            yield f"{margin}  subgraph cluster_{node.number}_{k} {{"
            yield f"{margin}    label={json.dumps(inside.title)};"
            yield from _dot_lines(inside, margin + "    ")
            yield f"{margin}  }}"
        yield f"{margin}}}"
    for a, b in graph.edges:
        yield f"{margin}n{a} -> n{b};"


def mermaid(graph: Graph) -> str:
    """The graph in the language of Mermaid; bodies are subgraphs."""
    classes = {node.kind for node in graph.all_nodes()}
    styles = [
        f"  classDef {kind} fill:{COLORS[kind]},stroke:#666,color:#000"
        for kind in sorted(classes)
    ]
    return "\n".join(["flowchart TD", *_mermaid_lines(graph, "  "), *styles])


def _mermaid_lines(graph: Graph, margin: str) -> Iterator[str]:
    for node in graph.nodes:
        label = "<br/>".join(map(_for_mermaid, lines_of(node)))
        if not node.inside:
            yield f'{margin}n{node.number}["{label}"]:::{node.kind}'
            continue
        yield f'{margin}subgraph n{node.number}["{label}"]'
        for k, inside in enumerate(node.inside):
            yield f'{margin}  subgraph n{node.number}_{k}["{inside.title}"]'
            yield from _mermaid_lines(inside, margin + "    ")
            yield f"{margin}  end"
        yield f"{margin}end"
        yield f"{margin}class n{node.number} {node.kind}"
    for a, b in graph.edges:
        yield f"{margin}n{a} --> n{b}"


def _for_mermaid(text: str) -> str:
    """Text without the characters that end a label there."""
    escapes = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;"}
    return "".join(escapes.get(character, character) for character in text)


def networkx_graph(graph: Graph) -> Any:
    """The graph as a `networkx.MultiDiGraph`; bodies name the node that they are in."""
    networkx: Any = require(
        "networkx", extra="inspect", needed_by="Inspection.to_networkx()"
    )
    found = networkx.MultiDiGraph()

    def add(graph: Graph, around: int | None) -> None:
        for node in graph.nodes:
            found.add_node(
                node.number,
                label=node.label,
                detail=node.detail,
                kind=node.kind,
                operations=node.operations,
                flops=node.flops,
                bytes=node.bytes,
                line=str(node.line or ""),
                around=around,
            )
            for inside in node.inside:
                add(inside, node.number)
        found.add_edges_from(graph.edges)

    add(graph, None)
    return found
