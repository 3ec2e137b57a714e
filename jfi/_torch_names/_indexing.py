"""PyTorch's names for picking, masking and ranking elements.

Signatures and results are those of PyTorch 2.13 (https://docs.pytorch.org/docs/2.13).
"""

import cmath
import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from .._values import is_tracer
from ._arguments import (
    as_array,
    as_integer,
    dimension,
    integer_range,
    is_arraylike,
    is_integer,
    largest_float,
    numpy_spellings,
)


@numpy_spellings(axis="dim")
def gather(
    input: ArrayLike,
    dim: int | None = None,
    index: ArrayLike | None = None,
    *,
    axis: int | None = None,
) -> jax.Array:
    """Pick one element for each element of an index array.

    `result[i, j] = input[index[i, j], j]` for `dim=0`, `input[i, index[i, j]]` for
    `dim=1`, and so on. Indices are counted from the start; negative ones are refused.
    Where they can't be looked at, under `jit` or `vmap`, one that is out of range
    gives NaN (of an integer dtype: the smallest number, unsigned: the largest; of
    bool: True) and takes no gradient.

    >>> import jfi as jnp
    >>> jnp.gather(jnp.arange(6).reshape(2, 3), 1, jnp.array([[0, 2], [1, 1]])).tolist()
    [[0, 2], [4, 4]]

    Args:
        input: Any array.
        dim: The dimension to pick along; required.
        index: An integer array with as many dimensions as `input`, in no dimension but
            `dim` longer than it. The result has its shape.
        axis: NumPy's word for `dim`.

    Raises:
        IndexError: An index is out of range, or there is no dimension `dim`.
        TypeError: `index` does not hold integers.
        ValueError: The shapes do not fit.
    """
    x, picks = as_array(input, "gather"), as_array(index, "gather", "index")
    where = dimension(dim, x.ndim, "gather")
    if not is_integer(picks.dtype):
        raise TypeError(
            f"gather() got an index array of {picks.dtype}; it takes integers. "
            f"Convert it: index.astype(int)."
        )
    if picks.size == 0:
        return jnp.zeros(picks.shape, x.dtype)
    if max(x.ndim, 1) != max(picks.ndim, 1) or any(
        picks.shape[i] > x.shape[i] for i in range(x.ndim) if i != where
    ):
        raise ValueError(
            f"gather() got an index array of shape {picks.shape} for an array of shape "
            f"{x.shape} and dim={where}. Both must have as many dimensions, and the "
            f"index array may be longer than the other in that dimension only."
        )
    size = x.shape[where] if x.ndim else 1
    if size == 0 or not is_tracer(picks):
        check_in_range(picks, size, where, "gather")
    picked: jax.Array = _pick(jnp.atleast_1d(x), where, jnp.atleast_1d(picks))
    return picked.reshape(picks.shape)


def check_in_range(picks: jax.Array, size: int, dim: int, function: str) -> None:
    """Refuse indices outside `range(size)`."""
    if size == 0:
        raise IndexError(
            f"{function}() can't pick from dimension {dim}, which is empty."
        )
    known = np.asarray(picks)
    wrong = known[(known < 0) | (known >= size)]
    if wrong.size:
        raise IndexError(
            f"{function}() got the index {wrong.flat[0]} for dimension {dim} of size "
            f"{size}; indices must lie between 0 and {size - 1}."
        )


@jax.jit(static_argnames="dim")
def _pick(x: jax.Array, dim: int, picks: jax.Array) -> jax.Array:
    within = tuple(
        slice(None) if i == dim else slice(size) for i, size in enumerate(picks.shape)
    )
    # Not take_along_axis(mode="fill"): it counts negative indices from the end, and
    # cuts 64-bit ones to 32 bits before it compares them.
    in_range = (picks >= 0) & (picks < x.shape[dim])
    picked = jnp.take_along_axis(x[within], jnp.where(in_range, picks, 0), axis=dim)
    return jnp.where(in_range, picked, missing_element(x.dtype))


def missing_element(dtype: np.dtype[Any]) -> complex:
    """What stands for an element that does not exist."""
    if is_integer(dtype):
        low, high = integer_range(dtype)
        return low or high
    return math.nan if jnp.issubdtype(dtype, jnp.inexact) else True


def masked_fill(input: ArrayLike, mask: ArrayLike, value: ArrayLike) -> jax.Array:
    """Put one number wherever a mask is True.

    The result has the dtype of `input`: a float put into an integer array loses its
    fraction, as in PyTorch.

    >>> import jfi as jnp
    >>> x = jnp.array([1.0, -2.0, 3.0])
    >>> jnp.masked_fill(x, x < 0, 0.0).tolist()
    [1.0, 0.0, 3.0]

    Args:
        input: Any array.
        mask: A bool array; both shapes are broadcast against each other.
        value: A number or an array without dimensions.

    Raises:
        OverflowError: The dtype of `input` can't hold `value`. (Not seen under a
            trace, where the number is unknown.)
        TypeError: The mask is not bool, or `value` is complex and `input` is not.
        ValueError: `value` has dimensions, or the shapes do not fit.
    """
    x, where = as_array(input, "masked_fill"), as_array(mask, "masked_fill", "mask")
    if where.dtype != jnp.bool_:
        raise TypeError(
            f"masked_fill() got a mask of {where.dtype}; it takes bool. "
            f"Compare first: mask != 0."
        )
    if not is_arraylike(value) or np.ndim(value):
        seen = (
            f"shape {np.shape(value)}" if is_arraylike(value) else type(value).__name__
        )
        raise ValueError(
            f"masked_fill() got a value of {seen}; it takes one number. "
            f"For one number per element write jnp.where(mask, value, x)."
        )
    return jnp.where(where, _fill(value, x.dtype), x)


def _fill(value: ArrayLike, dtype: np.dtype[Any]) -> jax.Array:
    """A number in the dtype of the array that it goes into."""
    if jnp.iscomplexobj(value) and not jnp.issubdtype(dtype, jnp.complexfloating):
        raise TypeError(
            f"masked_fill() got a complex value for an array of {dtype}. "
            f"Pass its real part: value.real."
        )
    if is_tracer(value):
        return jnp.asarray(value, dtype)
    numeric = isinstance(value, (int, float, complex))
    number: Any = value if numeric else np.asarray(value).item()
    fits = True
    if is_integer(dtype):
        low, high = integer_range(dtype)
        # A fraction is cut off, as PyTorch does; infinities and NaN are no integers.
        fits = math.isfinite(number) and low <= int(number) <= high
        number = int(number) if fits else number
    elif jnp.issubdtype(dtype, jnp.inexact):
        fits = not cmath.isfinite(number) or abs(number) <= largest_float(dtype)
    if not fits:
        raise OverflowError(
            f"masked_fill() got the value {number}, which {dtype} can't hold. "
            f"Convert the array first: x.astype(...)."
        )
    return jnp.asarray(number, dtype)


class TopK(NamedTuple):
    """The elements that `topk` found and where they stand."""

    values: jax.Array
    indices: jax.Array


@numpy_spellings(axis="dim")
def topk(
    input: ArrayLike,
    k: int,
    dim: int | None = None,
    largest: bool = True,
    sorted: bool = True,
    *,
    axis: int | None = None,
) -> TopK:
    """The `k` largest (or smallest) elements along a dimension, and their indices.

    NaN counts as larger than every number. Of equal elements the first come first.

    >>> import jfi as jnp
    >>> values, indices = jnp.topk(jnp.array([3.0, 1.0, 2.0]), k=2)
    >>> values.tolist(), indices.tolist()
    ([3.0, 2.0], [0, 2])

    Args:
        input: An array of integers or floats.
        k: How many, from 0 to the size of the dimension.
        dim: The dimension to look along; None for the last.
        largest: Whether to take the largest or the smallest ones.
        sorted: Whether the result must be sorted, the most extreme element first.
            It is in either case.
        axis: NumPy's word for `dim`.

    Returns:
        `values` with the dtype of `input`, and `indices`: int64 where JAX has 64-bit
        types switched on, else int32. Both have `k` elements along `dim`.

    Raises:
        IndexError: The array has no dimension `dim`.
        TypeError: The array is bool or complex, or `k` is not an int.
        ValueError: There are fewer than `k` elements.
    """
    x, count = as_array(input, "topk"), as_integer(k, "topk", "k")
    where = dimension(-1 if dim is None else dim, x.ndim, "topk")
    if not (is_integer(x.dtype) or jnp.issubdtype(x.dtype, jnp.floating)):
        raise TypeError(
            f"topk() got an array of {x.dtype}; it takes integers or floats. "
            f"Convert it first, or take its absolute value."
        )
    size = x.shape[where] if x.ndim else 1
    if not 0 <= count <= size or (count == 0 and x.ndim == 0):
        raise ValueError(
            f"topk() got k={count} for an array of shape {x.shape}; along dimension "
            f"{where} it has {size} elements. "
            f"Pass a k from {int(x.ndim == 0)} to {size}."
        )
    found = _topk(jnp.atleast_1d(x), count, where, bool(largest))
    return found if x.ndim else TopK(*(array.reshape(()) for array in found))


@jax.jit(static_argnames=("k", "dim", "largest"))
def _topk(x: jax.Array, k: int, dim: int, largest: bool) -> TopK:
    order = partial(_order_with_nan, k=k, dim=dim, largest=largest)
    fast = partial(_order_without_nan, k=k, dim=dim, largest=largest)
    fixed = jax.lax.stop_gradient(x)
    if is_integer(x.dtype):
        indices = fast(fixed)
    else:
        # Where lax.top_k puts NaN depends on its sign bit and on the device
        # (https://github.com/openxla/xla/issues/48119); sorting is right, and slow.
        indices = jax.lax.cond(jnp.any(jnp.isnan(fixed)), order, fast, fixed)
    values = jnp.take_along_axis(x, indices, axis=dim)
    return TopK(values, indices.astype(jnp.result_type(int)))


def _order_with_nan(x: jax.Array, *, k: int, dim: int, largest: bool) -> jax.Array:
    order = jnp.argsort(x, axis=dim, descending=largest, stable=True)
    return jax.lax.slice_in_dim(order, 0, k, axis=dim).astype(jnp.int32)


def _order_without_nan(x: jax.Array, *, k: int, dim: int, largest: bool) -> jax.Array:
    # Negation overflows for the smallest integer; flipping every bit also reverses.
    reverse = jnp.bitwise_invert if is_integer(x.dtype) else jnp.negative
    _, indices = jax.lax.top_k(x if largest else reverse(x), k, axis=dim)
    return indices
