"""Graphs made ready for JAX: shared variables as constants, random ones refused."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np


def free_inputs(outputs: Sequence[Any]) -> list[Any]:
    """The inputs of a graph that have no value yet, in the order of the graph."""
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.basic import Constant
    from pytensor.graph.traversal import graph_inputs

    valued = (Constant, SharedVariable)
    found = [v for v in graph_inputs(outputs) if not isinstance(v, valued)]
    return list(dict.fromkeys(found))


def prepared(
    inputs: Sequence[Any], outputs: Sequence[Any], sizes: Mapping[Any, int]
) -> Any:
    """A copy of a graph, rewritten for JAX.

    Args:
        inputs: Its inputs.
        outputs: Its outputs.
        sizes: Values of inputs, which become constants.

    Raises:
        NotImplementedError: It draws random numbers, or misses an input.
    """
    from pytensor.compile.mode import get_mode
    from pytensor.graph.fg import FunctionGraph
    from pytensor.graph.replace import clone_replace
    from pytensor.graph.traversal import graph_inputs

    missing = [v for v in free_inputs(outputs) if v not in inputs]
    if missing:
        raise NotImplementedError(
            f"the graph needs {', '.join(map(str, missing))}, which inputs= lacks"
        )
    _refuse_random(outputs)
    variables: Sequence[Any] = list(graph_inputs(outputs))
    known: dict[Any, Any] = {
        variable: variable.type.constant_type(variable.type, variable.get_value())
        for variable in variables
        if hasattr(variable, "get_value")
    }
    for variable, size in sizes.items():
        value = variable.type.filter(np.asarray(size), allow_downcast=True)
        known[variable] = variable.type.constant_type(variable.type, value)
    inputs = [variable for variable in inputs if variable not in sizes]
    replaced = clone_replace(list(outputs), known) if known else list(outputs)
    graph = FunctionGraph(inputs, replaced, clone=True)
    mode: Any = get_mode("JAX")  # type: ignore[no-untyped-call]
    mode.optimizer.rewrite(graph)
    return graph


def _refuse_random(outputs: Sequence[Any]) -> None:
    from pytensor.tensor.random.op import RandomVariable
    from pytensor.tensor.random.type import RandomType

    for node in _nodes(outputs):
        is_random = isinstance(node.op, RandomVariable)
        if is_random or any(isinstance(v.type, RandomType) for v in node.inputs):
            raise NotImplementedError(
                f"{node.op} draws random numbers, the same ones at each call. Make "
                "what it draws an input of the graph, and draw it with "
                "jnp.randn, jnp.rand ..."
            )


def _nodes(outputs: Sequence[Any]) -> Iterator[Any]:
    """The operations of a graph, also those inside loops and other inner graphs."""
    from pytensor.graph.traversal import applys_between, graph_inputs

    for node in applys_between(list(graph_inputs(outputs)), outputs):
        yield node
        inner = getattr(node.op, "inner_outputs", None)
        if inner:
            yield from _nodes(inner)
