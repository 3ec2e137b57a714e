"""Pictures of graphs, by matplotlib."""

import functools
import io
import math
import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from .._optional._packages import require
from ._graphs import Graph, Node
from ._layout import Box, LaidOutGraph, lay_out
from ._texts_of_graphs import COLORS, lines_of


SIZE = 8  # of the text, in points
_LINE = 1.35 * SIZE / 72  # inches
_CHARACTER, _BOLD = 0.58 * SIZE / 72, 0.66 * SIZE / 72
_PIXELS = 25e6  # of the largest picture: more take minutes to write
_EDGE = "#777777"
_NAMES = {
    "matrix": "linear algebra",
    "movement": "moves data",
    "call": "function",
    "line": "line of code",
}


def plot_graph(
    graph: Graph, name: str, file: str | os.PathLike[str] | None, ax: Any
) -> Any:
    """Draw a graph, and save it if there is a file; see `Inspection.plot`."""
    figures: Any = require(
        "matplotlib.figure", extra="inspect", needed_by="Inspection.plot()"
    )
    layout = lay_out(graph, _measure)
    if ax is None:
        # No pyplot: it keeps its figures, and may need a screen.
        height = layout.height + 1.0
        figure: Any = figures.Figure(figsize=(max(layout.width + 0.4, 4.0), height))
        ax = figure.add_axes((0, 0, 1, 1))
        # Axes are a text in notebooks, and only figures of pyplot a picture.
        ax._repr_png_ = functools.partial(_picture, figure)
    size = SIZE * _scale(ax, layout)
    _draw_layout(ax, layout, 0, 0, size)
    ax.set_xlim(-0.2, max(layout.width, 3.6) + 0.2)
    ax.set_ylim(layout.height + 0.5, -0.5)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(name, fontsize=size * 1.25, y=1, pad=-1.7 * size)
    _draw_legend(ax, graph, size)
    if file is not None:
        _save(ax.figure, os.fspath(file))
    return ax


def _save(figure: Any, file: Any, **options: str) -> None:
    across, down = figure.get_size_inches()
    dpi = min(110.0, math.sqrt(_PIXELS / (across * down)))
    figure.savefig(file, dpi=dpi, **options)


def _picture(figure: Any) -> bytes:
    """The bytes of a PNG, as notebooks ask for them."""
    file = io.BytesIO()
    _save(figure, file, format="png")
    return file.getvalue()


def _scale(ax: Any, layout: LaidOutGraph) -> float:
    """How large the text is in axes that are too small for it."""
    across, down = ax.figure.get_size_inches()
    place = ax.get_position()
    wide = place.width * across / (layout.width + 0.4)
    return float(min(wide, place.height * down / (layout.height + 1.0), 1.0))


def _measure(node: Node) -> tuple[float, float]:
    lines = lines_of(node)
    first, *others = map(len, lines)
    width = max([first * _BOLD, *(n * _CHARACTER for n in others)]) + 0.16
    return width, len(lines) * _LINE + 0.1


def _draw_layout(
    ax: Any, layout: LaidOutGraph, x: float, y: float, size: float
) -> None:
    """Draw a layout with its left upper corner at a place."""
    paths: Any = require("matplotlib.path", extra="inspect", needed_by="plot()")
    patches: Any = require("matplotlib.patches", extra="inspect", needed_by="plot()")
    for boxes, leads_back in layout.edges:
        points = list(_back(boxes) if leads_back else _down(boxes))
        codes = [1] + [4] * (len(points) - 1)  # a start, and cubic curves
        path = paths.Path([(x + a, y + b) for a, b in points], codes)
        ax.add_patch(
            patches.FancyArrowPatch(
                path=path,
                arrowstyle="-|>,head_length=3,head_width=1.6",
                color=_EDGE,
                linewidth=0.8,
                linestyle=(0, (4, 2)) if leads_back else "-",
                zorder=1,
            )
        )
    for box in layout.boxes:
        _draw_box(ax, box, x, y, size)


def _draw_box(ax: Any, box: Box, x: float, y: float, size: float) -> None:
    patches: Any = require("matplotlib.patches", extra="inspect", needed_by="plot()")
    node = box.node
    if node is None:
        return
    left, top = x + box.x - box.width / 2, y + box.y - box.height / 2
    ends = node.kind in ("input", "constant", "result")
    ax.add_patch(
        patches.FancyBboxPatch(
            (left, top),
            box.width,
            box.height,
            boxstyle=f"round,pad=0,rounding_size={0.12 if ends else 0.05}",
            facecolor=COLORS[node.kind],
            edgecolor="#555555",
            linewidth=0.6,
            zorder=2,
        )
    )
    lines = lines_of(node)
    height = _measure(node)[1]
    for k, line in enumerate(lines):
        at = top + height / 2 + (k - (len(lines) - 1) / 2) * _LINE
        ax.text(
            x + box.x, at, line,
            ha="center", va="center", fontsize=size if k == 0 else 0.88 * size,
            fontweight="bold" if k == 0 and not ends else "normal",
            color="black" if k == 0 else "#444444", zorder=3, parse_math=False,
        )  # fmt: skip
    for dx, dy, inside in box.inside:
        if len(box.inside) > 1:
            ax.text(
                left + dx, top + dy - 0.1, inside.title,
                fontsize=0.88 * size, fontstyle="italic", va="center", zorder=3,
            )  # fmt: skip
        # What is inside lies above its box.
        before = len(ax.patches), len(ax.texts)
        _draw_layout(ax, inside, left + dx, top + dy, size)
        for patch in [*ax.patches[before[0] :], *ax.texts[before[1] :]]:
            patch.set_zorder(patch.get_zorder() + 3)


def _down(boxes: list[Box]) -> Iterator[tuple[float, float]]:
    """A curve from the lower edge of the first box to the upper edge of the last."""
    first, last = boxes[0], boxes[-1]
    places = [
        (first.x, first.y + first.height / 2),
        *((box.x, box.y) for box in boxes[1:-1]),
        (last.x, last.y - last.height / 2),
    ]
    yield places[0]
    for (a, b), (c, d) in pairwise(places):
        middle = (b + d) / 2
        yield from ((a, middle), (c, middle), (c, d))


def _back(boxes: list[Box]) -> Iterator[tuple[float, float]]:
    """A curve around the right side, to a box that comes earlier."""
    first, last = boxes
    start = first.x + first.width / 2, first.y
    end = last.x + last.width / 2, last.y
    out = max(start[0], end[0]) + 0.3
    yield from (start, (out, start[1]), (out, end[1]), end)


def _draw_legend(ax: Any, graph: Graph, size: float) -> None:
    patches: Any = require("matplotlib.patches", extra="inspect", needed_by="plot()")
    plain = ("input", "result", "loop", "branch", "constant")
    kinds = dict.fromkeys(n.kind for n in graph.all_nodes() if n.kind not in plain)
    handles = [
        patches.Patch(facecolor=COLORS[k], edgecolor="#555555", label=_NAMES.get(k, k))
        for k in kinds
    ]
    if handles:
        columns = min(len(handles), 4)
        ax.legend(
            handles=handles, loc="lower center", ncols=columns, frameon=False,
            fontsize=0.88 * size, handlelength=1.2, columnspacing=1,
        )  # fmt: skip
