"""PyTorch's names for picking rows and for writing elements where an index says.

Signatures and results are those of PyTorch 2.13 (https://docs.pytorch.org/docs/2.13).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from .._values import is_tracer
from ._arguments import as_array, dimension, is_arraylike, is_integer, numpy_spellings
from ._indexing import check_in_range, missing_element


@numpy_spellings(axis="dim")
def index_select(
    input: ArrayLike,
    dim: int | None = None,
    index: ArrayLike | None = None,
    *,
    axis: int | None = None,
) -> jax.Array:
    """Pick whole rows (or columns ...) by their numbers.

    Indices are counted from the start, and one that is out of range is refused. Where
    they can't be looked at, it returns what `gather` returns: NaN for floats.

    >>> import jfi as jnp
    >>> x = jnp.arange(6).reshape(3, 2)
    >>> jnp.index_select(x, 0, jnp.array([2, 0])).tolist()
    [[4, 5], [0, 1]]

    Args:
        input: Any array.
        dim: The dimension to pick along; required.
        index: An integer vector.
        axis: NumPy's word for `dim`.

    Raises:
        IndexError: An index is out of range, or there is no dimension `dim`.
        TypeError: `index` does not hold integers.
        ValueError: `index` has more than one dimension.
    """
    x = as_array(input, "index_select")
    picks = _indices(index, "index_select")
    where = dimension(dim, x.ndim, "index_select")
    if picks.ndim > 1:
        raise ValueError(
            f"index_select() got an index array of shape {picks.shape}; it takes a "
            f"vector. For an index per element write jnp.gather(x, dim, index)."
        )
    rows, numbers = jnp.atleast_1d(x), jnp.atleast_1d(picks)
    size = rows.shape[where]
    if numbers.size and (size == 0 or not is_tracer(numbers)):
        check_in_range(numbers, size, where, "index_select")
    picked: jax.Array = _select(rows, where, numbers)
    return picked if x.ndim else picked.reshape(())


@jax.jit(static_argnames="dim")
def _select(x: jax.Array, dim: int, picks: jax.Array) -> jax.Array:
    if picks.size == 0:
        return jax.lax.slice_in_dim(x, 0, 0, axis=dim)
    in_range = (picks >= 0) & (picks < x.shape[dim])
    picked = jnp.take(x, jnp.where(in_range, picks, 0), axis=dim)
    shape = [-1 if i == dim else 1 for i in range(x.ndim)]
    return jnp.where(in_range.reshape(shape), picked, missing_element(x.dtype))


@numpy_spellings(axis="dim")
def scatter(
    input: ArrayLike,
    dim: int | None = None,
    index: ArrayLike | None = None,
    src: ArrayLike | None = None,
    *,
    reduce: str | None = None,
    axis: int | None = None,
) -> jax.Array:
    """Write elements where an index array says; the array itself stays as it is.

    `result[index[i, j], j] = src[i, j]` for `dim=0`, `result[i, index[i, j]]` for
    `dim=1`, and so on. Where an index comes twice, one of the elements is taken; with
    `reduce` all of them count. An index that is out of range is refused; where it
    can't be looked at, under `jit` or `vmap`, its element is left out.

    >>> import jfi as jnp
    >>> jnp.scatter(jnp.zeros(4), 0, jnp.array([3, 1]), jnp.array([5.0, 6.0])).tolist()
    [0.0, 6.0, 0.0, 5.0]

    Args:
        input: Any array.
        dim: The dimension that the indices are of; required.
        index: An integer array with as many dimensions as `input`, in no dimension but
            `dim` longer than it, and in none longer than `src`.
        src: An array of the dtype of `input`, or one number.
        reduce: `"add"` or `"multiply"` to combine with what is there.
        axis: NumPy's word for `dim`.

    Raises:
        IndexError: An index is out of range, or there is no dimension `dim`.
        TypeError: `index` does not hold integers, or the dtypes differ.
        ValueError: The shapes do not fit, or there is no such `reduce`.
    """
    if reduce not in (None, "add", "multiply"):
        raise ValueError(
            f"scatter() got reduce={reduce!r}; it takes None, 'add' or 'multiply'."
        )
    x, places = as_array(input, "scatter"), _indices(index, "scatter")
    where = dimension(dim, x.ndim, "scatter")
    values = _source(src, x, places)
    _check_shapes(x, places, values, where)
    if places.size == 0:
        return x
    size = x.shape[where] if x.ndim else 1
    if size == 0 or not is_tracer(places):
        check_in_range(places, size, where, "scatter")
    written: jax.Array = _scatter(
        jnp.atleast_1d(x), where, jnp.atleast_1d(places), jnp.atleast_1d(values), reduce
    )
    return written.reshape(x.shape)


@jax.jit(static_argnames=("dim", "reduce"))
def _scatter(
    x: jax.Array, dim: int, places: jax.Array, values: jax.Array, reduce: str | None
) -> jax.Array:
    # A negative number would count from the end: send it out of range, and drop it.
    target = jnp.where(places < 0, x.shape[dim], places)
    grid = jnp.meshgrid(*map(jnp.arange, places.shape), indexing="ij", sparse=True)
    at = x.at[tuple(target if i == dim else g for i, g in enumerate(grid))]
    part = values[tuple(slice(size) for size in places.shape)]
    if reduce == "add":
        return at.add(part, mode="drop")
    if reduce == "multiply":
        return at.multiply(part, mode="drop")
    return at.set(part, mode="drop")


def _indices(index: object, function: str) -> jax.Array:
    """An integer array; an empty one of floats is what `array([])` returns."""
    picks = as_array(index, function, "index")
    if not is_integer(picks.dtype) and picks.size:
        raise TypeError(
            f"{function}() got an index array of {picks.dtype}; it takes integers. "
            f"Convert it: index.astype(int)."
        )
    return picks if is_integer(picks.dtype) else picks.astype(jnp.int32)


def _source(src: object, x: jax.Array, places: jax.Array) -> jax.Array:
    """What is written, in the dtype of the array."""
    values = as_array(src, "scatter", "src")
    is_number = not isinstance(src, (jax.Array, np.ndarray)) and is_arraylike(src)
    if is_number or jax.typeof(values).weak_type:
        return jnp.broadcast_to(values.astype(x.dtype), values.shape or places.shape)
    if values.dtype != x.dtype:
        raise TypeError(
            f"scatter() got elements of {values.dtype} for an array of {x.dtype}. "
            f"Convert them: src.astype(x.dtype)."
        )
    return values


def _check_shapes(x: jax.Array, places: jax.Array, values: jax.Array, dim: int) -> None:
    """Refuse an index array that sticks out of the array or of the elements."""
    ranks = {max(array.ndim, 1) for array in (x, places, values)}
    sizes = zip(places.shape, values.shape, x.shape, strict=False)
    sticks_out = any(
        place > value or (i != dim and place > own)
        for i, (place, value, own) in enumerate(sizes)
    )
    if places.size and (len(ranks) > 1 or sticks_out):
        raise ValueError(
            f"scatter() got an index array of shape {places.shape} and elements of "
            f"shape {values.shape} for an array of shape {x.shape} and dim={dim}. All "
            f"must have as many dimensions; the index array may be longer than the "
            f"array in dimension dim only, and nowhere longer than the elements."
        )
