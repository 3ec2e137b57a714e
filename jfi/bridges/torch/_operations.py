"""A function of the user's, for arguments of known shapes, and its checked runs."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import jax.numpy as jnp

from ..._errors import CallbackError
from ..._host import Spec
from ._drawing import seeded, unchanged
from ._functions import TensorFunction, Tensors
from ._inference import Findings, recording, watched
from ._results import LEAF, checked_leaf, flat_result, is_plain


if TYPE_CHECKING:
    import torch

Result = TypeVar("Result")


class DrawsNowError(CallbackError):
    """A function draws random numbers that was not known to."""


class TorchOperation(TensorFunction):
    """The user's function. One that draws takes a random key, as data, before all else.

    Attributes:
        draws: It takes a key.
        tree: The structure of its results.
        proven: It does the same for all values, so that its runs are not watched.
        takes_out: It is PyTorch's own, and writes its one result into `out=`.

    Args:
        name: What the user calls it, for messages.
        function: Takes tensors, returns any tree of them.
        findings: What is known of it.
        n: How many tensors it takes.
        is_same: Whether it still does what the findings say; None: nobody knows.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        findings: Findings,
        n: int,
        *,
        is_same: Callable[[], bool] | None = None,
    ) -> None:
        inexact = tuple(jnp.issubdtype(r.dtype, jnp.inexact) for r in findings.results)
        super().__init__(name, inexact, stops_gradients=findings.stops_gradients)
        self._function, self._outside = function, findings.outside
        self._results = findings.results
        self.draws, self.tree = findings.draws, findings.tree
        self.proven = findings.proven
        self._is_same = is_same
        self.takes_out = findings.takes_out and not self.draws and is_same is not None
        # A function that is not proven is given copies of all, whatever it does.
        self._copied = findings.written if self.proven else range(n)

    @property
    def reads_only_torch(self) -> bool:
        """Whether it runs no code of the user's that reads anything but PyTorch."""
        return self._is_same is not None

    def results(self, *specs: Spec) -> Sequence[Spec]:
        return self._results

    def call(self, *tensors: "torch.Tensor") -> Any:
        """Call the user's function."""
        if not self.draws:
            if not self._copied:
                return self._function(*tensors)
            return self._function(*self._safe(tensors))
        with seeded(tensors[0]):
            return self._function(*self._safe(tensors[1:]))

    def outer(self, *tensors: "torch.Tensor") -> Tensors:
        result = self.call(*tensors)
        if self.tree is LEAF and is_plain(result):
            return (result,)
        leaves, tree = flat_result(result)
        if tree != self.tree:
            message = (
                f"{self.name} returned {tree}, where {self.tree} was expected from "
                "its first run for such arguments. What it returns must not depend "
                "on values, or on what changes from call to call."
            )
            raise CallbackError(message)
        return tuple(checked_leaf(leaf, self.name) for leaf in leaves)

    inner = outer

    def fill(self, memory: "torch.Tensor", tensors: Sequence["torch.Tensor"]) -> None:
        """Call a function that `takes_out`, and have its result written there."""
        self._function(*tensors, out=memory)

    def _safe(self, tensors: Sequence["torch.Tensor"]) -> Sequence["torch.Tensor"]:
        if not self._copied:
            return tensors
        return [t.clone() if k in self._copied else t for k, t in enumerate(tensors)]

    def checked(
        self,
        run: Callable[..., Result],
        tensors: Sequence["torch.Tensor"],
        *,
        copied: bool = False,
    ) -> Result:
        """Run this operation, or what is derived from it, and look at what it did.

        Args:
            run: What to run.
            tensors: Its arguments.
            copied: Whether they are copies, into which it may write.
        """
        if not self.proven:
            return self._watched(run, tensors)
        # What is proven may still read Python's variables: a module that is back in
        # training draws, or writes its statistics. This look costs two microseconds.
        if self._is_same is not None and self._is_same():
            return _with_graphs(run, tensors)
        state = None if self.draws else _random_state()
        versions = self._versions()
        if not copied:
            run = functools.partial(self._without_writes, run)
        results = _with_graphs(run, tensors)
        drawn = state is not None and state != _random_state()
        if drawn or versions != self._versions():
            # It may have been another thread: watched, it is told for sure.
            try:
                return self._watched(run, tensors)
            except DrawsNowError:
                _set_random_state(state)
                raise
        return results

    def _without_writes(
        self, run: Callable[..., Result], *tensors: "torch.Tensor"
    ) -> Result:
        versions = [tensor._version for tensor in tensors]  # noqa: SLF001
        results = run(*tensors)
        if versions != [tensor._version for tensor in tensors]:  # noqa: SLF001
            message = (
                f"{self.name} has written into an argument, and wrote into none when "
                "jfi first looked at it: an array of JAX is changed. Let it write into "
                "a copy: x = x.clone()."
            )
            raise CallbackError(message)
        return results

    def _versions(self) -> list[int]:
        if not self._outside:
            return []
        tensors = (reference() for reference in self._outside)
        return [tensor._version for tensor in tensors if tensor is not None]  # noqa: SLF001

    def _watched(
        self, run: Callable[..., Result], tensors: Sequence["torch.Tensor"]
    ) -> Result:
        with unchanged():
            results, watch = watched(run, tensors, self.name)
        if watch.draws and not self.draws:
            message = (
                f"{self.name} draws random numbers now, and drew none when jfi first "
                "looked at it: it was in evaluation mode then, or draws for some "
                "values only. Wrap and compile it again, or draw in JAX and pass the "
                "draw as an argument (a mask, or noise)."
            )
            raise DrawsNowError(message)
        found: Result = results
        return found


def _with_graphs(
    run: Callable[..., Result], tensors: Sequence["torch.Tensor"]
) -> Result:
    if _makes_graphs()():  # as it does in XLA's threads
        return run(*tensors)
    with recording():
        # Those from inference mode, if the caller is in it, have no graph.
        return run(*(t.clone() if t.is_inference() else t for t in tensors))


@functools.cache
def _makes_graphs() -> Callable[[], bool]:
    import torch

    return torch.is_grad_enabled


def _random_state() -> bytes:
    # As bytes: to compare tensors takes four times as long.
    return _read_state()().numpy().tobytes()


@functools.cache
def _read_state() -> "Callable[[], torch.Tensor]":
    import torch

    return torch.default_generator.get_state


def _set_random_state(state: bytes | None) -> None:
    import torch

    if state is not None:
        tensor = torch.frombuffer(bytearray(state), dtype=torch.uint8)
        torch.default_generator.set_state(tensor)
