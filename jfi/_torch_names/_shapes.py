"""PyTorch's names for shaping, multiplying and reading arrays.

Signatures and results are those of PyTorch 2.13 (https://docs.pytorch.org/docs/2.13).
"""

import math
from collections.abc import Sequence
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from ._arguments import (
    as_array,
    as_integer,
    concrete,
    dimension,
    dimensions,
    numpy_spellings,
)


T = TypeVar("T")


@numpy_spellings(axis="dim")
def cat(tensors: Sequence[ArrayLike], dim: int = 0, *, axis: int = 0) -> jax.Array:
    """Join arrays along a dimension that they have.

    >>> import jfi as jnp
    >>> jnp.cat([jnp.zeros((1, 2)), jnp.ones((1, 2))], dim=0)
    Array([[0., 0.],
           [1., 1.]], dtype=float32)

    Args:
        tensors: A list or tuple of arrays whose shapes agree outside `dim`. An
            empty array of shape `(0,)` fits all of them, as in PyTorch.
        dim: The dimension to join along.
        axis: NumPy's word for `dim`.

    Raises:
        IndexError: The arrays have no dimension `dim`.
        TypeError: `tensors` is not a list or tuple of arrays.
        ValueError: There is no array, or the shapes do not agree.
    """
    if not isinstance(cast("Any", tensors), (list, tuple)):
        raise TypeError(
            f"cat() got a {type(tensors).__name__}; it takes a list or tuple of "
            f"arrays. Write jnp.cat(list(tensors), dim)."
        )
    arrays = [as_array(x, "cat", f"tensors[{i}]") for i, x in enumerate(tensors)]
    if not arrays:
        raise ValueError("cat() got no arrays. Pass at least one: jnp.cat([x]).")
    for i, array in enumerate(arrays):
        if array.ndim == 0:
            raise ValueError(
                f"cat() got tensors[{i}] without dimensions, which can't be joined. "
                f"Write jnp.stack(tensors), or give it one: jnp.unsqueeze(x, 0)."
            )
    dtype = jnp.result_type(*arrays)
    shaped = [array for array in arrays if array.shape != (0,)] or arrays[:1]
    first = shaped[0]
    if first.shape == (0,):
        return first.astype(dtype)
    where = dimension(dim, first.ndim, "cat")
    for array in shaped:
        _check_joins(first, array, where)
    return jnp.concatenate(shaped, axis=where, dtype=dtype)


def _check_joins(first: jax.Array, other: jax.Array, dim: int) -> None:
    """Refuse arrays whose shapes differ outside the joined dimension."""
    same_rank = first.ndim == other.ndim
    rest = [
        (a, b)
        for i, (a, b) in enumerate(zip(first.shape, other.shape, strict=False))
        if i != dim
    ]
    if not same_rank or any(a != b for a, b in rest):
        raise ValueError(
            f"cat() got arrays of shapes {first.shape} and {other.shape} for "
            f"dim={dim}. All dimensions but that one must agree."
        )


@numpy_spellings(axis="dim")
def chunk(
    input: ArrayLike, chunks: int, dim: int = 0, *, axis: int = 0
) -> tuple[jax.Array, ...]:
    """Cut an array into parts of equal size, the last of which may be smaller.

    As in PyTorch there are fewer parts where fewer suffice: 5 elements in 4 chunks are
    3 parts. NumPy's `array_split` always makes as many parts as asked for.

    >>> import jfi as jnp
    >>> first, second = jnp.chunk(jnp.arange(5), 2)
    >>> first.tolist(), second.tolist()
    ([0, 1, 2], [3, 4])

    Args:
        input: An array with at least one dimension.
        chunks: The largest number of parts.
        dim: The dimension to cut.
        axis: NumPy's word for `dim`.

    Raises:
        IndexError: The array has no dimension `dim`.
        ValueError: `chunks` is not positive, or there is no dimension to cut.
    """
    x, count = as_array(input, "chunk"), as_integer(chunks, "chunk", "chunks")
    if count < 1 or x.ndim == 0:
        raise ValueError(
            f"chunk() got chunks={count} and an array of shape {x.shape}; it takes a "
            f"positive number and an array with dimensions."
        )
    where = dimension(dim, x.ndim, "chunk")
    size = x.shape[where]
    if size == 0:
        return (x,) * count
    step = -(-size // count)
    return tuple(
        jax.lax.slice_in_dim(x, start, min(start + step, size), axis=where)
        for start in range(0, size, step)
    )


def t(input: ArrayLike) -> jax.Array:
    """Transpose a matrix, or each of a batch; vectors and numbers stay as they are.

    >>> import jfi as jnp
    >>> jnp.t(jnp.zeros((2, 3))).shape
    (3, 2)

    Args:
        input: An array. Of more than two dimensions, which PyTorch refuses, the last
            two are swapped.
    """
    x = as_array(input, "t")
    return x if x.ndim < 2 else x.mT


@numpy_spellings(axis="dim")
def unsqueeze(
    input: ArrayLike, dim: int | None = None, *, axis: int | None = None
) -> jax.Array:
    """Insert a dimension of size one.

    >>> import jfi as jnp
    >>> jnp.unsqueeze(jnp.zeros(3), -1).shape
    (3, 1)

    Args:
        input: Any array.
        dim: Where the new dimension stands in the result; required.
        axis: NumPy's word for `dim`.

    Raises:
        IndexError: The result has no dimension `dim`.
        TypeError: `dim` is not an int.
    """
    x = as_array(input, "unsqueeze")
    where = dimension(dim, x.ndim + 1, "unsqueeze")
    return jnp.expand_dims(x, where)


def permute(input: ArrayLike, dims: Sequence[int]) -> jax.Array:
    """Reorder the dimensions.

    >>> import jfi as jnp
    >>> jnp.permute(jnp.zeros((2, 3, 4)), (2, 0, -2)).shape
    (4, 2, 3)

    Args:
        input: Any array.
        dims: Each dimension of `input` once, in the new order.

    Raises:
        IndexError: The array has no such dimension.
        TypeError: `dims` is not a list or tuple of ints.
        ValueError: A dimension is missing or comes twice.
    """
    x = as_array(input, "permute")
    if not isinstance(cast("Any", dims), (list, tuple)):
        raise TypeError(
            f"permute() got dims={dims!r}; it takes a tuple with each dimension once, "
            f"as in jnp.permute(x, {tuple(reversed(range(x.ndim)))})."
        )
    order = dimensions(dims, x.ndim, "permute")
    if len(order) != x.ndim:
        raise ValueError(
            f"permute() got dims={tuple(dims)} for an array of {x.ndim} dimensions. "
            f"Name each of them once."
        )
    return jnp.transpose(x, order)


def flatten(input: ArrayLike, start_dim: int = 0, end_dim: int = -1) -> jax.Array:
    """Merge a run of neighbouring dimensions into one.

    >>> import jfi as jnp
    >>> jnp.flatten(jnp.zeros((2, 3, 4)), start_dim=1).shape
    (2, 12)

    Args:
        input: Any array; a 0-d array becomes one of shape `(1,)`.
        start_dim: The first dimension to merge.
        end_dim: The last dimension to merge.

    Raises:
        IndexError: The array has no such dimension.
        ValueError: `start_dim` comes after `end_dim`.
    """
    x = as_array(input, "flatten")
    start = dimension(start_dim, x.ndim, "flatten", "start_dim")
    end = dimension(end_dim, x.ndim, "flatten", "end_dim")
    if start > end:
        raise ValueError(
            f"flatten() got start_dim={start_dim} after end_dim={end_dim} for an array "
            f"of shape {x.shape}. Swap them."
        )
    merged = math.prod(x.shape[start : end + 1])
    return x.reshape(*x.shape[:start], merged, *x.shape[end + 1 :])


def bmm(input: ArrayLike, mat2: ArrayLike) -> jax.Array:
    """Multiply two batches of matrices, pair by pair.

    >>> import jfi as jnp
    >>> jnp.bmm(jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))).shape
    (5, 2, 4)

    Args:
        input: A `(batch, n, m)` array of numbers.
        mat2: A `(batch, m, p)` array of the same dtype.

    Raises:
        TypeError: The dtypes differ or are bool.
        ValueError: The shapes do not fit; nothing is broadcast.
    """
    left, right = as_array(input, "bmm"), as_array(mat2, "bmm", "mat2")
    shapes = f"bmm() got arrays of shapes {left.shape} and {right.shape}"
    if left.ndim != 3 or right.ndim != 3:
        raise ValueError(f"{shapes}; both must have three dimensions. Write x @ y.")
    if left.shape[0] != right.shape[0] or left.shape[2] != right.shape[1]:
        raise ValueError(
            f"{shapes}; they must be (batch, n, m) and (batch, m, p). To broadcast the "
            f"batch write x @ y."
        )
    if left.dtype != right.dtype or left.dtype == jnp.bool_:
        raise TypeError(
            f"bmm() got arrays of {left.dtype} and {right.dtype}; it takes numbers of "
            f"one dtype. Convert one: x.astype(y.dtype)."
        )
    return jnp.matmul(left, right)


def detach(tree: T) -> T:
    """Stop derivatives: the values stay, and count as constants.

    >>> import jfi as jnp
    >>> float(jnp.grad(lambda x: x * jnp.detach(x))(3.0))
    3.0

    Args:
        tree: An array or any tree of arrays. JAX arrays are detached; NumPy arrays
            and other leaves carry no derivative and stay as they are.
    """
    return cast("T", jax.tree.map(_detach_leaf, tree))


def _detach_leaf(leaf: Any) -> Any:
    if isinstance(leaf, jax.Array):
        return jax.lax.stop_gradient(leaf)
    if hasattr(leaf, "__jax_array__"):
        return jax.lax.stop_gradient(jnp.asarray(leaf))
    return leaf


def item(input: ArrayLike) -> Any:
    """Read the one number of an array as a Python bool, int, float or complex.

    >>> import jfi as jnp
    >>> jnp.item(jnp.array([[2.5]]))
    2.5

    Args:
        input: An array with one element, of any number of dimensions.

    Raises:
        jax.errors.ConcretizationTypeError: The number is unknown: JAX is tracing.
        ValueError: The array has no element or more than one.
    """
    x = as_array(input, "item")
    if x.size != 1:
        raise ValueError(
            f"item() got an array of shape {x.shape}, which has {x.size} elements and "
            f"not one. For all of them write x.tolist()."
        )
    return concrete(x, "item", "Go on with the array, or call item() outside.").item()


def to_numpy(input: ArrayLike) -> np.ndarray[Any, np.dtype[Any]]:
    """Copy an array into a NumPy array that may be written to.

    It is PyTorch's `x.numpy()`; `jnp.numpy` is the module `jax.numpy`.

    >>> import jfi as jnp
    >>> jnp.to_numpy(jnp.arange(3))
    array([0, 1, 2]...)

    Args:
        input: Any array. The dtype stays.

    Raises:
        jax.errors.ConcretizationTypeError: The numbers are unknown: JAX is tracing.
    """
    if isinstance(input, (np.ndarray, np.generic)):
        return np.array(input)
    x = as_array(input, "to_numpy")
    instead = "Go on with the array, or call to_numpy() outside."
    return np.array(concrete(x, "to_numpy", instead))
