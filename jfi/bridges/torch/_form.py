"""Tensors in the memory of JAX arrays, and JAX arrays in the memory of tensors."""

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from numpy.typing import NDArray

from ..._host import (
    SHARED_BYTES,
    Form,
    Result,
    describe,
    from_numpy,
    is_numpys,
    mismatch,
    narrowed,
)
from ..._jax_internals import uncommitted
from ._tensors import numpy_dtype


if TYPE_CHECKING:
    import torch


class TorchForm(Form):
    """Tensors of the CPU. JAX's int32 crosses as int64, PyTorch's index type."""

    def viewer(self, dtype: np.dtype[Any]) -> "Callable[[NDArray[Any]], torch.Tensor]":
        """See `Form.viewer`."""
        return _viewer(dtype)

    def copy(self, view: "torch.Tensor") -> "torch.Tensor":
        """See `Form.copy`."""
        return view.clone()

    def write(
        self,
        values: Sequence[Any],
        out: Sequence[NDArray[Any]],
        results: Sequence[Result],
        name: str,
    ) -> None:
        """See `Form.write`."""
        check(values, results, name)
        for value, memory in zip(values, out, strict=True):
            if memory.size:  # an empty array has no memory
                given = value.detach() if value.requires_grad else value
                in_memory_of(memory).copy_(given)

    def to_jax(
        self, values: Sequence[Any], results: Sequence[Result], device: Any, name: str
    ) -> list[jax.Array]:
        """See `Form.to_jax`. A list is emptied."""
        check(values, results, name)
        waiting = values if isinstance(values, list) else list(values)
        waiting.reverse()
        tensors = [waiting.pop().detach() for _ in results]
        return to_jax(tensors, [result.dtype for result in results], device)


@functools.cache
def _viewer(dtype: np.dtype[Any]) -> "Callable[[NDArray[Any]], torch.Tensor]":
    if not is_numpys(dtype):
        return in_memory_of
    from_numpy = _from_numpy()
    return (lambda x: from_numpy(x).long()) if dtype == _INT32 else from_numpy


TORCH = TorchForm()
_INT32 = np.dtype(np.int32)


def to_jax(
    tensors: "list[torch.Tensor]", dtypes: Sequence[np.dtype[Any]], device: Any
) -> list[jax.Array]:
    """Tensors as JAX arrays, which take over memory that nobody else can reach.

    The list is emptied. Each tensor must have been detached by the caller: then one
    that the function has kept is another user of the memory, and can be told.
    """
    tensors.reverse()
    return [_to_jax(tensors.pop(), dtype, device) for dtype in dtypes]


def _to_jax(tensor: "torch.Tensor", dtype: np.dtype[Any], device: Any) -> jax.Array:
    same = _same_dtype(dtype)
    if tensor.dtype != same:
        tensor = tensor.to(same)
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    # JAX takes NumPy's memory as it is if it is aligned; PyTorch's always is.
    tensor = tensor.contiguous() if _is_owned(tensor) else _fresh(tensor)
    if tensor.nbytes < SHARED_BYTES:
        return from_numpy(_as_numpy(tensor, dtype), dtype, device)
    array = jax.dlpack.from_dlpack(tensor)
    return uncommitted(array) if device is None else jax.device_put(array, device)


def _is_owned(tensor: "torch.Tensor") -> bool:
    """Whether nobody else can reach the memory of a tensor, and PyTorch frees it.

    Memory that PyTorch got from elsewhere, a NumPy array's, can't change its size.
    """
    alone = _users_alone()
    return alone is not None and _users(tensor) == alone and _frees(tensor)


def _frees(tensor: "torch.Tensor") -> bool:
    return bool(tensor.untyped_storage().resizable())


def _users(tensor: "torch.Tensor") -> int:
    import torch

    storage: Any = tensor.untyped_storage()
    count: Any = vars(torch)["_C"]._storage_Use_Count  # noqa: SLF001
    return int(count(storage._cdata))  # noqa: SLF001


@functools.cache
def _users_alone() -> int | None:
    """How many users memory has that one tensor uses; None: PyTorch can't tell.

    It does so by a function that is not documented, so that is tried first. Without
    it large results are copied.
    """
    import torch

    tensor = torch.empty(1)
    try:
        alone = _users(tensor)
    except (AttributeError, KeyError, TypeError):  # another PyTorch: other names
        return None
    other = tensor.detach()
    shared = _users(other)
    del tensor
    return alone if shared > alone == _users(other) else None


def _fresh(tensor: "torch.Tensor") -> "torch.Tensor":
    import torch

    return torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor)


def in_memory_of(array: NDArray[Any]) -> "torch.Tensor":
    """A tensor in the memory of an array, which is not empty."""
    if is_numpys(array.dtype):
        return _from_numpy()(array)
    # bfloat16 and its like are no dtypes of NumPy's: they cross as integers.
    bits = array.view(f"int{8 * array.dtype.itemsize}")
    return _from_numpy()(bits).view(_same_dtype(array.dtype))


def _as_numpy(tensor: "torch.Tensor", dtype: np.dtype[Any]) -> NDArray[Any]:
    import torch

    if is_numpys(dtype):
        array: NDArray[Any] = tensor.numpy()
        return array
    bits = getattr(torch, f"int{8 * dtype.itemsize}")
    return tensor.contiguous().view(bits).numpy().view(dtype)


@functools.cache
def _from_numpy() -> "Callable[[NDArray[Any]], torch.Tensor]":
    """`torch.from_numpy`, silent from here on.

    It warns once in a process of memory that must not be written: JAX's is such.
    """
    import torch

    read_only = np.zeros(1)
    read_only.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.from_numpy(read_only)
    return torch.from_numpy


@functools.cache
def _same_dtype(dtype: np.dtype[Any]) -> "torch.dtype":
    import torch

    same: torch.dtype = getattr(torch, dtype.name)
    return same


def check(values: Sequence[Any], specs: Sequence[Result], name: str) -> None:
    """Refuse tensors that are not as declared.

    Raises:
        CallbackError: They are not, or an integer does not fit into JAX's dtype.
    """
    fits = len(values) == len(specs)
    for value, spec in zip(values, specs, strict=False):
        if value.dtype is _same_dtype(spec.dtype) and value.shape == spec.shape:
            continue  # most often
        dtype = numpy_dtype(value.dtype, name)
        if value.shape != spec.shape or dtype not in (spec.dtype, spec.declared):
            fits = False
        elif dtype != spec.dtype and dtype.kind in "iu":
            narrowed(value.numpy(), name)  # refuses to cut
    if not fits:
        got = [describe(tuple(v.shape), numpy_dtype(v.dtype, name)) for v in values]
        mismatch(name, got, specs)
