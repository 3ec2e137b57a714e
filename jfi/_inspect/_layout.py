"""Where the nodes of a graph are drawn: in layers, from top to bottom.

The method of Sugiyama, in its usual four steps: layers by longest paths; edges that
cross layers get a point in each of them, one for all edges of a node; the order in a
layer follows the neighbours' mean place; then places, as near to the neighbours' as the
widths allow. A loop is a large node: its bodies are laid out first.

References:
    Sugiyama, K., Tagawa, S., and Toda, M., "Methods for Visual Understanding of
    Hierarchical System Structures", IEEE Transactions on Systems, Man, and
    Cybernetics 11(2), 1981.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ._graphs import Graph, Node


GAP, LAYER_GAP, MARGIN = 0.25, 0.42, 0.18  # inches
SWEEPS = 12  # which order and place the nodes of a layer; more change little


@dataclass(slots=True)
class Box:
    """A node with its place.

    Attributes:
        node: It; None for a point of an edge on its way.
        width: In inches, as all here.
        height: The same.
        x: The middle, from the left.
        y: The middle, from the top.
        inside: The bodies of a loop, each with the place of its left upper corner.
    """

    node: Node | None
    width: float
    height: float
    x: float = 0
    y: float = 0
    inside: "list[tuple[float, float, LaidOutGraph]]" = field(default_factory=list)


@dataclass(slots=True)
class LaidOutGraph:
    """A graph with places.

    Attributes:
        title: That of the graph.
        boxes: The nodes.
        edges: From which box over which points to which box, and whether it leads back.
            An edge begins at the last point that it shares with one before it.
        width: Of the whole.
        height: The same.
    """

    title: str
    boxes: list[Box]
    edges: list[tuple[list[Box], bool]]
    width: float
    height: float


Measure = Callable[[Node], tuple[float, float]]


def lay_out(graph: Graph, measure: Measure) -> LaidOutGraph:
    """Find places for the nodes of a graph.

    Args:
        graph: The graph.
        measure: Gives the width and height of the text in a node.
    """
    boxes = {node.number: _box(node, measure) for node in graph.nodes}
    layers_of = _layers(graph)
    paths, layers = _with_points(graph, boxes, layers_of)
    neighbours: defaultdict[int, list[Box]] = defaultdict(list)
    for path, _ in paths:
        for a, b in pairwise(path):
            neighbours[id(a)].append(b)
            neighbours[id(b)].append(a)
    _place(layers, neighbours)
    top = 0.0
    for layer in layers:
        height = max(box.height for box in layer)
        for box in layer:
            box.y = top + height / 2
        top += height + LAYER_GAP
    everything = [box for layer in layers for box in layer]
    left = min((b.x - b.width / 2 for b in everything), default=0.0)
    for box in everything:
        box.x -= left
    width = max((b.x + b.width / 2 for b in everything), default=0.0)
    height = max(top - LAYER_GAP, 0.0)
    return LaidOutGraph(graph.title, list(boxes.values()), paths, width, height)


def _box(node: Node, measure: Measure) -> Box:
    width, height = measure(node)
    if not node.inside:
        return Box(node, width, height)
    inside = [lay_out(graph, measure) for graph in node.inside]
    x, y, placed = MARGIN, height + MARGIN, []
    for layout in inside:
        head = 0.2 if len(inside) > 1 else 0  # the name of a branch
        placed.append((x, y + head, layout))
        x += layout.width + 2 * MARGIN
    total = max(x - MARGIN, width + 2 * MARGIN)
    shift = (total - (x - MARGIN)) / 2
    placed = [(x + shift, y, layout) for x, y, layout in placed]
    bottom = max(y + layout.height for _, y, layout in placed) + MARGIN
    return Box(node, total, bottom, inside=placed)


def _forward(graph: Graph) -> list[tuple[int, int]]:
    """The edges that follow the order of the program; sources have no place in it."""
    order = {node.number: k for k, node in enumerate(graph.nodes)}
    sources = {n.number for n in graph.nodes if n.kind in ("input", "constant")}
    return [(a, b) for a, b in graph.edges if a in sources or order[a] < order[b]]


def _layers(graph: Graph) -> Mapping[int, int]:
    """The layer of each node: next to who reads it, if that makes edges no longer."""
    before: dict[int, list[int]] = defaultdict(list)
    after: dict[int, list[int]] = defaultdict(list)
    for a, b in _forward(graph):
        before[b].append(a)
        after[a].append(b)
    layers: dict[int, int] = {}
    is_source = {n.number: n.kind in ("input", "constant") for n in graph.nodes}
    for node in sorted(graph.nodes, key=lambda node: not is_source[node.number]):
        above = [layers[a] for a in before[node.number]]
        layers[node.number] = max(above, default=-1) + 1
    for node in reversed(graph.nodes):
        below = [layers[b] for b in after[node.number]]
        if len(below) >= len(set(before[node.number])) and below:
            layers[node.number] = min(below) - 1
    used = {layer: k for k, layer in enumerate(sorted(set(layers.values())))}
    return {number: used[layer] for number, layer in layers.items()}


def _with_points(
    graph: Graph, boxes: Mapping[int, Box], layers_of: Mapping[int, int]
) -> tuple[list[tuple[list[Box], bool]], list[list[Box]]]:
    """The edges as paths with a point in each layer they cross, and the layers."""
    layers: list[list[Box]] = [
        [] for _ in range(max(layers_of.values(), default=-1) + 1)
    ]
    for node in graph.nodes:
        layers[layers_of[node.number]].append(boxes[node.number])
    forward = set(_forward(graph))
    paths: list[tuple[list[Box], bool]] = []
    points: dict[tuple[int, int], Box] = {}
    for a, b in graph.edges:
        if (a, b) not in forward:
            paths.append(([boxes[a], boxes[b]], True))
            continue
        path = [boxes[a]]
        for layer in range(layers_of[a] + 1, layers_of[b]):
            if (a, layer) in points:  # so far another edge of the node is drawn
                path = [points[a, layer]]
                continue
            points[a, layer] = Box(None, 0.05, 0.05)
            layers[layer].append(points[a, layer])
            path.append(points[a, layer])
        paths.append(([*path, boxes[b]], False))
    return paths, layers


def _place(
    layers: Sequence[list[Box]], neighbours: defaultdict[int, list[Box]]
) -> None:
    """Order the boxes of each layer, and give them their `x`."""
    for layer in layers:
        _spread(layer, [0.0] * len(layer))
    level = {id(box): k for k, layer in enumerate(layers) for box in layer}

    def towards(box: Box, step: int) -> float:
        """Where its neighbours in one direction are, in the mean."""
        own = level[id(box)]
        near = [b.x for b in neighbours[id(box)] if (level[id(b)] - own) * step > 0]
        return sum(near) / len(near) if near else box.x

    for sweep in range(SWEEPS):
        step = -1 if sweep % 2 == 0 else 1
        for layer in layers if step < 0 else reversed(layers):
            if sweep < SWEEPS - 4:  # then the order stays
                layer.sort(key=lambda box: towards(box, step))
            wanted = [towards(box, step) for box in layer]
            if sweep >= SWEEPS - 2:
                wanted = [(towards(b, -1) + towards(b, 1)) / 2 for b in layer]
            _spread(layer, wanted)


def _spread(layer: Sequence[Box], wanted: Sequence[float]) -> None:
    """Put boxes side by side, as near as possible to where they should be.

    The least squares under "each box is right of the one before" are those of an
    isotonic regression: neighbours that want to overlap move together.
    """
    offsets = [0.0]
    for a, b in pairwise(layer):
        offsets.append(offsets[-1] + (a.width + b.width) / 2 + GAP)
    blocks: list[tuple[float, int]] = []  # mean, and how many boxes
    for want, offset in zip(wanted, offsets, strict=True):
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, n = blocks.pop()
            mean, count = (mean * count + other * n) / (count + n), count + n
        blocks.append((mean, count))
    means: Iterable[float] = (mean for mean, n in blocks for _ in range(n))
    for box, mean, offset in zip(layer, means, offsets, strict=True):
        box.x = mean + offset
