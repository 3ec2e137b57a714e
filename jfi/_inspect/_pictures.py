"""The pictures of a report."""

import os
from functools import cached_property
from typing import Any

from .._jax_internals import is_ref
from ._flow import Flow, Value, flow_of
from ._graphs import Fold, Graph, graph_of
from ._plotting import plot_graph
from ._texts_of_graphs import dot, mermaid, networkx_graph
from ._tracing import Traced


class Pictures:
    """What an `Inspection` draws.

    Attributes:
        name: The name of the function.
        jaxpr: The closed jaxpr, as of `jax.make_jaxpr`.
    """

    def __init__(self, traced: Traced) -> None:
        self.name: str = traced.name
        self.jaxpr: Any = traced.jaxpr
        self._traced = traced

    @cached_property
    def _flow(self) -> Flow:
        return flow_of(self.jaxpr)

    def graph(self, fold: Fold = "auto", most: int = 40) -> Graph:
        """Operations as nodes, and what flows between them.

        Args:
            fold: What is one node. "none": each operation; "call": a function that is
                called; "line": all that a line of the code makes; "auto": the finest
                of these with `most` nodes at most.
            most: How many nodes a person looks at.

        Returns:
            A `Graph` with `nodes` and `edges`; a loop has one inside.

        Raises:
            ValueError: `fold` is none of these.
        """
        return graph_of(self._flow, self._sources(), fold, most)

    def to_dot(self, fold: Fold = "auto", most: int = 40) -> str:
        """The graph as text for Graphviz: `dot -Tsvg`."""
        return dot(self.graph(fold, most), self.name)

    def to_mermaid(self, fold: Fold = "auto", most: int = 40) -> str:
        """The graph as text for Mermaid, which GitHub and notebooks draw."""
        return mermaid(self.graph(fold, most))

    def to_networkx(self, fold: Fold = "none", most: int = 40) -> Any:
        """The graph as a `networkx.MultiDiGraph`; nodes have label, flops, bytes ...

        Raises:
            MissingDependencyError: networkx is not installed.
        """
        return networkx_graph(self.graph(fold, most))

    def plot(
        self,
        file: str | os.PathLike[str] | None = None,
        *,
        fold: Fold = "auto",
        most: int = 40,
        ax: Any = None,
    ) -> Any:
        """Draw the graph from top to bottom; loops are boxes around their bodies.

        Args:
            file: Where to save the picture, by the ending of its name: `"step.png"`,
                `"step.svg"`, `"step.pdf"`; None: nowhere.
            fold: As for `graph`.
            most: As for `graph`.
            ax: The axes of matplotlib to draw in; None: a new figure of fitting size.

        Returns:
            The axes of matplotlib; notebooks show those of a new figure as a picture.

        Raises:
            MissingDependencyError: matplotlib is not installed.
        """
        return plot_graph(self.graph(fold, most), self.name, file, ax)

    def _sources(self) -> dict[Value, str]:
        """What the user calls the values that no operation makes."""
        found: dict[Value, str] = {
            ("in", 0, k): path for k, path in enumerate(self._traced.inputs)
        }
        for path, x in zip(self._traced.constants, self.jaxpr.consts, strict=True):
            found["const", id(x), 0] = "random state" if is_ref(x) else path
        return found
