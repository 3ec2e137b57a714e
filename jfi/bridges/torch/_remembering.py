"""Forward passes whose graph waits for the backward pass, so that none runs twice.

A forward pass leaves PyTorch's own graph in a table and returns its number, which JAX
hands to the backward pass. That takes the graph out and follows it. It is never asked
for more than it has: a graph that is not there any more (another backward pass took
it, there were too many, or it was dropped for its memory) is made again from the
arguments, which the backward pass gets as well.

The graph has views of XLA's memory, which is valid during a call only. Small arguments
are copied. A large one must lie, when the backward pass gets it, where it lay in the
forward pass: then all views of it have its values. Otherwise the graph is made again.

Another way is `torch._functorch.aot_autograd`, which splits a function in two that pass
tensors to each other. It is private, needs functions that don't look at values, and XLA
would have to copy all that is saved.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._host import Spec
from ..._values import Recent
from ._functions import (
    Cotangents,
    Flags,
    TensorFunction,
    Tensors,
    as_torch_has_them,
    chosen,
    filled_with_zeros,
    gradients,
    of_wanted,
    source,
)
from ._operations import TorchOperation


if TYPE_CHECKING:
    import torch

TOKEN = Spec((), np.dtype(np.int32))
_NONE = -1  # the number of no graph
MOST_GRAPHS = 64  # of one function, as many as steps of a scan
FEW_GRAPHS = 4  # of one whose memory is unknown
MOST_BYTES = 2**29
_SMALL = 65_536


@dataclass
class _Graph:
    """What one forward pass has left.

    Attributes:
        sources: The arguments that are differentiated.
        results: All results.
        places: The memory of the arguments that are not copied.
    """

    sources: Tensors
    results: Tensors
    places: tuple[int, ...]


class _Graphs:
    """The graphs of one function, by number; the oldest ones go."""

    def __init__(self) -> None:
        self._graphs: Recent[_Graph] = Recent(FEW_GRAPHS)
        self._numbers = itertools.count()
        self.each: int | None = None  # bytes; unknown for what is derived itself

    def put(self, graph: _Graph) -> int:
        fitting = FEW_GRAPHS if self.each is None else MOST_BYTES // max(1, self.each)
        self._graphs.most = max(1, min(MOST_GRAPHS, fitting))
        number = next(self._numbers) % 2**31
        self._graphs.add(number, graph)
        return number

    def take(self, number: int) -> _Graph | None:
        return self._graphs.take(number)


class GraphForward(TensorFunction):
    """The results, and the number of the graph that leads to them."""

    def __init__(self, base: TensorFunction, wanted: Flags) -> None:
        inexact = (*base.inexact, False)
        super().__init__(base.name, inexact, stops_gradients=base.stops_gradients)
        self.base, self._wanted = base, wanted
        self._all = (True,) * len(base.inexact)
        self.graphs = _Graphs()

    def results(self, *specs: Spec) -> Sequence[Spec]:
        return (*self.base.results(*specs), TOKEN)

    def inner(self, *tensors: torch.Tensor) -> Tensors:
        return (*self.base.inner(*tensors), _number(_NONE))

    def outer(self, *tensors: torch.Tensor) -> Tensors:
        safe = [t.clone() if t.nbytes < _SMALL else t for t in tensors]
        run = of_wanted(self.base.outer, safe, self._wanted, self._all)
        sources = tuple(map(source, chosen(safe, self._wanted)))
        if self.graphs.each is None and isinstance(self.base, TorchOperation):
            with _Measured() as measured:
                results = run(*sources)
            self.graphs.each = measured.nbytes
        else:
            results = run(*sources)
        graph = _Graph(sources, results, _places(tensors))
        return (*results, _number(self.graphs.put(graph)))


class GraphBackward(TensorFunction):
    """(*arguments, number of a graph, *cotangents) -> gradients of the wanted ones."""

    def __init__(self, forward: GraphForward, wanted: Flags, given: Flags) -> None:
        again: Cotangents = forward.base.derived(Cotangents, wanted, given)
        super().__init__(
            again.name, again.inexact, stops_gradients=again.stops_gradients
        )
        self._again, self._graphs = again, forward.graphs
        self._n, self._given = len(wanted), given

    def results(self, *specs: Spec) -> Sequence[Spec]:
        return self._again.results(*self._without_number(specs))

    def inner(self, *tensors: torch.Tensor) -> Tensors:
        return self._again.inner(*self._without_number(tensors))

    def outer(self, *tensors: torch.Tensor) -> Tensors:
        arguments, number = tensors[: self._n], tensors[self._n]
        graph = self._graphs.take(int(number))
        if graph is None or graph.places != _places(arguments):
            return self._again.outer(*self._without_number(tensors))
        results = chosen(graph.results, self._given)
        cotangents = as_torch_has_them(tensors[self._n + 1 :], results)
        found = gradients(results, graph.sources, cotangents)
        return tuple(g.conj() for g in filled_with_zeros(found, graph.sources))

    def _without_number(self, items: Sequence[Any]) -> list[Any]:
        return [*items[: self._n], *items[self._n + 1 :]]


class _Measured:
    """The bytes of what graphs save that are made in a block, without `torch.func`."""

    def __enter__(self) -> _Measured:
        import torch

        self._seen: dict[int, int] = {}
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._see, lambda t: t)
        self._hooks.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._hooks.__exit__(*error)

    def _see(self, tensor: torch.Tensor) -> torch.Tensor:
        for part in _strided(tensor):
            storage = part.untyped_storage()
            self._seen[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()

    @property
    def nbytes(self) -> int:
        return sum(self._seen.values())


def _strided(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The tensors with memory that a tensor is made of: a sparse one of several."""
    import torch

    if tensor.layout is torch.strided:
        return [tensor]
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]  # noqa: SLF001
    by_rows = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
    places = (
        [tensor.crow_indices(), tensor.col_indices()]
        if by_rows
        else [tensor.ccol_indices(), tensor.row_indices()]
    )
    return [*places, tensor.values()]


def _number(number: int) -> torch.Tensor:
    import torch

    return torch.tensor(number, dtype=torch.int32)


def _places(tensors: Sequence[torch.Tensor]) -> tuple[int, ...]:
    return tuple(t.data_ptr() for t in tensors if t.nbytes >= _SMALL)
