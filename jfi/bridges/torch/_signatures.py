"""A function for one form of arguments: its eager calls, and those that JAX traces."""

import functools
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import jax
import numpy as np

from ..._host import SHARED_BYTES, Spec, call_host, canonical, device_of, runs_now
from ..._random.torch_style import make_random_key
from ._drawing import unchanged
from ._form import TORCH, to_jax
from ._host_function import TorchHostFunction
from ._inference import Findings, findings_of, look_at, watched
from ._operations import DrawsNowError, TorchOperation
from ._results import checked_leaf, flat_result
from ._tensors import numpy_dtype, refuse_to_cut


class Signature:
    """A function of tensors only, for arguments of known shapes and dtypes.

    Args:
        name: What the user calls it, for messages.
        function: Takes tensors, returns any tree of them.
        specs: Shapes and dtypes of its arguments.
        on_trial: Makes a copy of the function to run without values and throw away.
            None: there is only the one function.
        on_written: Is told the positions of the arrays that it writes into.
        same_as_now: Makes what tells later whether the function still does what it does
            now; None where nobody knows.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        specs: Sequence[Spec],
        on_trial: Callable[[], Callable[..., Any]] | None = None,
        on_written: Callable[[Collection[int]], None] | None = None,
        *,
        same_as_now: Callable[[], Callable[[], bool] | None] | None = None,
    ) -> None:
        self._same_as_now = same_as_now
        self._name, self._function, self._specs = name, function, tuple(specs)
        self._on_trial, self._on_written = on_trial, on_written
        self._seen: TorchOperation | None = None  # what an eager call has shown
        self._small = sum(map(_nbytes, specs)) < SHARED_BYTES

    def __call__(self, arrays: Sequence[jax.Array]) -> Any:
        """Call it on JAX arrays."""
        if runs_now(arrays):
            return self._call_now(arrays)
        results = call_host(self._host, *self._key(self.operation), *arrays)
        return jax.tree.unflatten(self.operation.tree, results)

    @functools.cached_property
    def operation(self) -> TorchOperation:
        """The function, after a run without values."""
        disposable = self._on_trial is not None
        function = self._on_trial() if self._on_trial else self._function
        found = look_at(function, self._name, self._specs, disposable=disposable)
        return self._operation(found)

    @functools.cached_property
    def _host(self) -> TorchHostFunction:
        return TorchHostFunction(self.operation, self.operation)

    def _operation(self, findings: Findings) -> TorchOperation:
        if self._on_written is not None:
            self._on_written(findings.written)
        is_same = self._same_as_now and self._same_as_now()
        n = len(self._specs)
        return TorchOperation(self._name, self._function, findings, n, is_same=is_same)

    def _key(self, operation: TorchOperation) -> list[jax.Array]:
        """The key of an operation that draws, from jfi's stream, as two words."""
        if not operation.draws:
            return []
        words = jax.random.key_data(make_random_key())
        if words.shape[-1] != 2:  # other kinds of keys have four
            words = words[..., :2] ^ words[..., 2:]
        return [words]

    def _call_now(self, arrays: Sequence[jax.Array]) -> Any:
        """Call it at once. Results may be of any shape, and of none.

        The first call has values, so that a function may keep what it makes of them.
        Later ones need no watching if they work on copies: the worst that they can do
        unseen is what they would do in plain Python. Large arrays are not copied if
        the function is proven not to write into them.
        """
        if self._seen is None:
            return self._first_call(arrays)
        operation = self._seen if self._small else self.operation
        try:
            return self._run_now(operation, arrays)
        except DrawsNowError:
            if operation.draws or not operation.proven:
                raise
            return self._first_call(arrays)

    def _first_call(self, arrays: Sequence[jax.Array]) -> Any:
        """A call that is watched, to learn what the function does."""
        tensors = [tensor.clone() for tensor in TORCH.views(arrays)]
        with unchanged():
            result, watch = watched(self._function, tensors, self._name)
        findings = findings_of(result, watch, self._name, proven=True)
        self._seen = self._operation(findings)
        if self._seen.draws:  # it did so without a seed: again
            return self._run_now(self._seen, arrays)
        return self._as_jax(result, arrays)

    def _run_now(self, operation: TorchOperation, arrays: Sequence[jax.Array]) -> Any:
        given = [*self._key(operation), *arrays]
        tensors = TORCH.views(given)
        copied = operation is self._seen
        if copied:
            tensors = [tensor.clone() for tensor in tensors]
        # Without a name here: a result that has one is copied, not taken over.
        return self._as_jax(
            operation.checked(operation.call, tensors, copied=copied), arrays
        )

    def _as_jax(self, result: Any, arrays: Sequence[jax.Array]) -> Any:
        leaves, tree = flat_result(result)
        tensors = [checked_leaf(leaf, self._name).detach() for leaf in leaves]
        dtypes = [_canonical_dtype(tensor, self._name) for tensor in tensors]
        del result, leaves  # they are users of the memory that JAX may take over
        return jax.tree.unflatten(tree, to_jax(tensors, dtypes, device_of(arrays)))


def _nbytes(spec: Spec) -> int:
    size: int = math.prod(spec.shape) * spec.dtype.itemsize
    return size


def _canonical_dtype(tensor: Any, name: str) -> np.dtype[Any]:
    """What JAX makes of a result's dtype; its integers must fit."""
    dtype = numpy_dtype(tensor.dtype, name)
    found = canonical(dtype)
    if found != dtype:
        refuse_to_cut(tensor, name)
    return found
