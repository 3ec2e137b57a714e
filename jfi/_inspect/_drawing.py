"""Graphs for other programs: Graphviz, which draws them, Mermaid, networkx."""

import contextlib
import io
import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from .._optional._packages import require
from ._graphs import Graph, Node
from ._text import of_number


# Fill colors by what a node does: light, so that black text is readable on them, and
# distinguished by people who don't see all colors.
_COLORS = {
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


class Picture(NamedTuple):
    """A picture of a graph, which notebooks show.

    Attributes:
        svg: It, as the text of an SVG file.
    """

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<a picture of {len(self.svg)} bytes of SVG; plot(file) saves it>"


def plot(graph: Graph, name: str, file: str | os.PathLike[str] | None, ax: Any) -> Any:
    """Draw a graph by Graphviz: see `Inspection.plot`."""
    graphviz: Any = require("pygraphviz", extra="inspect", needed_by="plot()")
    # Closed at once: one that lives until Python ends complains in its finalizer.
    with contextlib.closing(graphviz.AGraph(string=dot(graph, name))) as drawing:
        drawing.layout(prog="dot")
        if file is not None:
            drawing.draw(os.fspath(file))
        if ax is None:
            return Picture(drawing.draw(format="svg").decode())
        images: Any = require("matplotlib.image", extra="plot", needed_by="plot(ax=)")
        png = drawing.draw(format="png", args="-Gdpi=200")
    ax.imshow(images.imread(io.BytesIO(png)))
    ax.axis("off")
    return ax


def dot(graph: Graph, name: str) -> str:
    """The graph in the language of Graphviz; loops and their bodies are clusters."""
    head = [
        f"digraph {_quoted(name)} {{",
        # Many edges across many layers else take minutes to place.
        f"  label={_quoted(name)}; labelloc=t; compound=true; nslimit=2; nslimit1=2;",
        '  graph [fontname=Helvetica, fontsize=10, color="#555555"];',
        '  node [shape=box, style="rounded,filled", fontname=Helvetica, fontsize=10,',
        '    color="#555555"];',
        '  edge [color="#777777", arrowsize=0.6];',
    ]
    return "\n".join([*head, *_dot_lines(graph, "  "), "}"])


def _dot_lines(graph: Graph, margin: str) -> Iterator[str]:
    for node in graph.nodes:
        label = _quoted("\n".join(_lines(node)))
        tooltip = _quoted(str(node.line or ""))
        style = f'label={label}, tooltip={tooltip}, fillcolor="{_COLORS[node.kind]}"'
        if not node.inside:
            yield f"{margin}n{node.number} [{style}];"
            continue
        yield f"{margin}subgraph cluster_{node.number} {{"
        yield f'{margin}  graph [style="rounded,filled", {style}];'
        for k, inside in enumerate(node.inside):
            yield f"{margin}  subgraph cluster_{node.number}_{k} {{"
            yield f"{margin}    label={_quoted(inside.title)};"
            yield from _dot_lines(inside, margin + "    ")
            yield f"{margin}  }}"
        yield f"{margin}}}"
    nodes = {node.number: node for node in graph.nodes}
    order = {number: k for k, number in enumerate(nodes) if nodes[number].operations}
    for a, b in graph.edges:
        style = f"ltail=cluster_{a}, " if nodes[a].inside else ""
        style += f"lhead=cluster_{b}, " if nodes[b].inside else ""
        if order.get(a, -1) > order.get(b, a):  # back, in a Python loop
            style += "style=dashed, constraint=false"
        yield f"{margin}n{_last(nodes[a])} -> n{_first(nodes[b])} [{style}];"


def _first(node: Node) -> int:
    """The node in a cluster that an edge leads to, which `lhead` ends at the border."""
    while node.inside:
        nodes = node.inside[0].nodes
        node = next((n for n in nodes if not n.operations), nodes[0])
    return node.number


def _last(node: Node) -> int:
    """The node in a cluster that an edge comes from."""
    while node.inside:
        node = node.inside[-1].nodes[-1]
    return node.number


def _quoted(text: str) -> str:
    """Text as Graphviz reads it, which has the quotes and line ends of JSON."""
    return json.dumps(text, ensure_ascii=False)


def mermaid(graph: Graph) -> str:
    """The graph in the language of Mermaid; bodies are subgraphs."""
    classes = sorted({node.kind for node in graph.all_nodes()})
    styles = [
        f"  classDef {k} fill:{_COLORS[k]},stroke:#666,color:#000" for k in classes
    ]
    return "\n".join(["flowchart TD", *_mermaid_lines(graph, "  "), *styles])


def _mermaid_lines(graph: Graph, margin: str) -> Iterator[str]:
    for node in graph.nodes:
        label = "\n".join(_lines(node)).translate(_FOR_MERMAID)
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


# These characters end a label there.
_FOR_MERMAID = {
    ord(character): text
    for character, text in zip(
        '#"<>\n', ("#35;", "#quot;", "#lt;", "#gt;", "<br/>"), strict=True
    )
}


def _lines(node: Node) -> list[str]:
    """What is written in a node."""
    cost = f"{of_number(node.flops)} flops" if node.flops else ""
    return [text for text in (node.label, node.detail, cost) if text]


_ATTRIBUTES = ("label", "detail", "kind", "operations", "flops", "bytes")


def networkx_graph(graph: Graph) -> Any:
    """The graph as a `networkx.MultiDiGraph`; bodies name the node that they are in."""
    networkx: Any = require("networkx", extra="inspect", needed_by="to_networkx()")
    made = networkx.MultiDiGraph()

    def add(graph: Graph, around: int | None) -> None:
        for node in graph.nodes:
            made.add_node(
                node.number,
                **{name: getattr(node, name) for name in _ATTRIBUTES},
                line=str(node.line or ""),
                around=around,
            )
            for inside in node.inside:
                add(inside, node.number)
        made.add_edges_from(graph.edges)

    add(graph, None)
    return made
