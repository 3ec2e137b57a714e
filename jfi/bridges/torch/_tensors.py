"""NumPy and JAX arrays as PyTorch tensors, and back."""

import functools
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..._errors import CallbackError
from ..._host import canonical, is_numpys, narrowed


if TYPE_CHECKING:
    import torch


# The dtypes that both libraries compute with, under the names that both give them.
_SHARED = frozenset(
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 "
    "float64 complex64 complex128 float8_e4m3fn float8_e5m2".split()
)


def becomes_tensor(leaf: Any) -> bool:
    """Whether an argument becomes a tensor: JAX and NumPy arrays, and tensors."""
    return isinstance(leaf, (jax.Array, np.ndarray)) or _is_tensor(leaf)


def _is_tensor(leaf: Any) -> bool:
    import torch

    return isinstance(leaf, torch.Tensor)


def to_array(leaf: Any, name: str) -> jax.Array:
    """An argument as a JAX array of a dtype that PyTorch has too."""
    if isinstance(leaf, jax.Array):
        array = leaf
    else:
        values = to_numpy(leaf, name) if _is_tensor(leaf) else leaf
        array = jnp.asarray(narrowed(values, name, verb="got"))
    torch_dtype(array.dtype, name)
    return array


@functools.lru_cache(maxsize=1024)  # the name of a dtype takes NumPy 5 us
def torch_dtype(dtype: Any, name: str) -> "torch.dtype":
    """The dtype in which a function of PyTorch gets an array of this JAX dtype."""
    import torch

    if dtype == np.int32:
        # JAX's integers without x64; PyTorch takes labels and indices as int64.
        return torch.int64
    if dtype.name not in _SHARED:
        message = (
            f"{name} got an array of dtype {dtype.name}, with which PyTorch can't "
            "compute. Convert it: x.astype(jnp.float32), or jax.random.key_data(key)."
        )
        raise CallbackError(message)
    found: torch.dtype = getattr(torch, dtype.name)
    return found


def to_tensor(array: NDArray[Any], name: str) -> "torch.Tensor":
    """A tensor in the memory of the array, or a copy where the dtype changes."""
    import torch

    dtype = torch_dtype(array.dtype, name)
    if not is_numpys(array.dtype):  # bfloat16 and its like cross as integers
        bits = array.view(f"int{8 * array.dtype.itemsize}")
        return torch.from_numpy(bits).view(dtype)
    return torch.from_numpy(array).to(dtype)


def to_numpy(tensor: "torch.Tensor", name: str) -> NDArray[Any]:
    """A copy in memory of its own: a function may return what it also keeps."""
    import torch

    dtype = numpy_dtype(tensor.dtype, name)
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if not is_numpys(dtype):
        bits = getattr(torch, f"int{8 * dtype.itemsize}")
        return np.array(tensor.contiguous().view(bits).numpy()).view(dtype)
    return np.array(tensor.numpy())


@functools.lru_cache(maxsize=1024)
def numpy_dtype(dtype: "torch.dtype", name: str) -> np.dtype[Any]:
    """The same dtype as NumPy and JAX have it."""
    shared = str(dtype).removeprefix("torch.")
    if shared not in _SHARED:
        known = "complex64" if dtype.is_complex else "float32"
        message = (
            f"{name} has a tensor of dtype {dtype}, with which JAX can't compute. "
            f"Convert it: tensor.to(torch.{known})."
        )
        raise CallbackError(message)
    return jnp.dtype(shared)


def spec_of(tensor: "torch.Tensor", name: str) -> jax.ShapeDtypeStruct:
    """The shape of a tensor and the NumPy form of its dtype."""
    return jax.ShapeDtypeStruct(tuple(tensor.shape), numpy_dtype(tensor.dtype, name))


def refuse_to_cut(tensor: "torch.Tensor", name: str) -> None:
    """Refuse integers that don't fit into the dtype that JAX gives them."""
    dtype = numpy_dtype(tensor.dtype, name)
    if dtype.kind in "iu" and dtype != canonical(dtype):
        narrowed(tensor.numpy(), name)
