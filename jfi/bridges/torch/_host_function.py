"""Functions of tensors as host functions: how JAX calls, batches and differentiates."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._host import Derivative, HostFunction, ReadyGradients, Saved, Spec, Transposable
from ._form import TORCH, in_memory_of
from ._functions import (
    BatchedTensorFunction,
    Cotangents,
    Flags,
    Tangents,
    TensorFunction,
    ValueAndGradients,
)
from ._operations import TorchOperation
from ._remembering import GraphBackward, GraphForward


class TorchHostFunction(HostFunction):
    """A function of tensors that JAX can call.

    Args:
        operation: The user's function.
        function: It, or what is derived from it: this is what is called.
    """

    form = TORCH

    def __init__(self, operation: TorchOperation, function: TensorFunction) -> None:
        super().__init__(function.name)
        self._operation, self._function = operation, function
        self.may_draw = not operation.reads_only_torch
        # A fifth of the time of a small call: no tensor is made, and none copied.
        self.writes_out = function is operation and operation.takes_out

    def results(self, *specs: Spec) -> Sequence[Spec]:
        """See `HostFunction.results`."""
        return self._function.results(*specs)

    def run(self, *tensors: Any) -> list[Any]:
        """See `HostFunction.run`."""
        return list(self._operation.checked(self._function.outer, tensors))

    def run_into(self, out: Sequence[Any], *tensors: Any) -> None:
        """See `HostFunction.run_into`."""
        self._operation.fill(in_memory_of(out[0]), tensors)

    def batched(self, is_batched: Flags) -> HostFunction:
        """See `HostFunction.batched`."""
        if not self._operation.draws:
            return self.of(BatchedTensorFunction, is_batched)
        # Rows with keys of their own draw one after the other, each from its seed.
        randomness = "loop" if is_batched[0] else "same"
        return self.of(BatchedTensorFunction, is_batched, randomness)

    def derivative(self, wanted: Flags, specs: Sequence[Spec]) -> Derivative:
        """See `HostFunction.derivative`."""
        if self._is_loss(wanted, specs):
            return ReadyGradients(self.of(ValueAndGradients, wanted))

        def transposed(given: Flags) -> HostFunction:
            return self.of(Cotangents, wanted, self._of_results(given))

        def remembered(given: Flags) -> HostFunction:
            given = self._of_results(given)
            return remembering.of(GraphBackward, wanted, given)

        remembering = self.of(GraphForward, wanted)
        products = Transposable(self.of(Tangents, wanted), transposed)
        return Saved(remembering, remembered, products, takes_inputs=True)

    def _of_results(self, given: Flags) -> Flags:
        """A flag for each result from one for each inexact result."""
        flags = iter(given)
        return tuple(bool(e and next(flags)) for e in self._function.inexact)

    def _is_loss(self, wanted: Flags, specs: Sequence[Spec]) -> bool:
        """Whether it has one result with gradients, a number.

        In 16 bits gradients could vanish before JAX multiplies them by the cotangent,
        which scales the loss.
        """
        results = self._function.results(*specs)
        pairs = zip(results, self._function.inexact, strict=True)
        inexact = [result for result, is_inexact in pairs if is_inexact]
        if len(inexact) != 1 or inexact[0].shape:
            return False
        dtypes = [s.dtype for s, wants in zip(specs, wanted, strict=True) if wants]
        dtypes.append(inexact[0].dtype)
        return all(d in (np.float32, np.float64) for d in dtypes)

    def of(self, cls: Any, *options: Any) -> "TorchHostFunction":
        """What is derived from this, made once: `of(Cotangents, wanted, given)`."""
        derive = lambda: TorchHostFunction(
            self._operation, self._function.derived(cls, *options)
        )
        return self.derived((cls, options), derive)
