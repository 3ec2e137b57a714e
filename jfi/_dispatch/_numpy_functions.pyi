"""The types of jax.numpy's functions with PyTorch's words, as in its own stub.

Those that refuse `dim` have JAX's parameters alone.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from jax import Array
from jax.lax import PrecisionLike
from jax.sharding import NamedSharding, PartitionSpec
from jax.typing import ArrayLike, DTypeLike

_Axis: TypeAlias = int | Sequence[int] | None

def all(
    a: ArrayLike,
    axis: _Axis = ...,
    out: None = ...,
    keepdims: bool = ...,
    *,
    where: ArrayLike | None = ...,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def amax(
    a: ArrayLike,
    axis: _Axis = ...,
    out: None = ...,
    keepdims: bool = ...,
    initial: ArrayLike | None = ...,
    where: ArrayLike | None = ...,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def amin(
    a: ArrayLike,
    axis: _Axis = ...,
    out: None = ...,
    keepdims: bool = ...,
    initial: ArrayLike | None = ...,
    where: ArrayLike | None = ...,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def any(
    a: ArrayLike,
    axis: _Axis = ...,
    out: None = ...,
    keepdims: bool = ...,
    *,
    where: ArrayLike | None = ...,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def argmax(
    a: ArrayLike,
    axis: int | None = ...,
    out: None = ...,
    keepdims: bool | None = ...,
    *,
    dim: int | None = ...,
    keepdim: bool | None = ...,
) -> Array: ...
def argmin(
    a: ArrayLike,
    axis: int | None = ...,
    out: None = ...,
    keepdims: bool | None = ...,
    *,
    dim: int | None = ...,
    keepdim: bool | None = ...,
) -> Array: ...
def argsort(
    a: ArrayLike,
    axis: int | None = ...,
    *,
    stable: bool = ...,
    descending: bool = ...,
    kind: str | None = ...,
    order: None = ...,
    dtype: DTypeLike | None = ...,
    dim: int | None = ...,
) -> Array: ...
def array_split(
    ary: ArrayLike,
    indices_or_sections: int | Sequence[int] | ArrayLike,
    axis: int = ...,
    *,
    dim: int = ...,
) -> list[Array]: ...
@overload
def average(
    a: ArrayLike,
    axis: _Axis = ...,
    weights: ArrayLike | None = ...,
    returned: Literal[False] = False,
    keepdims: bool = False,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
@overload
def average(
    a: ArrayLike,
    axis: _Axis = ...,
    weights: ArrayLike | None = ...,
    *,
    returned: Literal[True],
    keepdims: bool = False,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> tuple[Array, Array]: ...
@overload
def average(
    a: ArrayLike,
    axis: _Axis = ...,
    weights: ArrayLike | None = ...,
    returned: bool = False,
    keepdims: bool = False,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array | tuple[Array, Array]: ...
def concat(
    arrays: Sequence[ArrayLike], /, *, axis: int | None = 0, dim: int | None = ...
) -> Array: ...
def concatenate(
    arrays: np.ndarray[Any, Any] | Array | Sequence[ArrayLike],
    axis: int | None = ...,
    dtype: DTypeLike | None = ...,
    *,
    dim: int | None = ...,
) -> Array: ...
def count_nonzero(
    a: ArrayLike,
    axis: _Axis = ...,
    keepdims: bool = ...,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = ...,
    *,
    dim: int | None = ...,
) -> Array: ...
def cumprod(
    a: ArrayLike,
    axis: int | None = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    *,
    dim: int | None = ...,
) -> Array: ...
def cumsum(
    a: ArrayLike,
    axis: int | None = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    *,
    dim: int | None = ...,
) -> Array: ...
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = ...,
    dtype: DTypeLike | None = ...,
    include_initial: bool = ...,
    dim: int | None = ...,
) -> Array: ...
def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = ...,
    dtype: DTypeLike | None = ...,
    include_initial: bool = ...,
    dim: int | None = ...,
) -> Array: ...
def diff(
    a: ArrayLike,
    n: int = ...,
    axis: int = ...,
    prepend: ArrayLike | None = ...,
    append: ArrayLike | None = ...,
    *,
    dim: int = ...,
) -> Array: ...
def expand_dims(
    a: ArrayLike, axis: int | Sequence[int] = ..., *, dim: int | Sequence[int] = ...
) -> Array: ...
def flip(
    m: ArrayLike, axis: _Axis = ..., *, dim: _Axis = ..., dims: _Axis = ...
) -> Array: ...
def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: _Axis = ..., edge_order: int | None = ...
) -> Array | list[Array]: ...
def max(
    a: ArrayLike,
    axis: _Axis = ...,
    out: None = ...,
    keepdims: bool = ...,
    initial: ArrayLike | None = ...,
    where: ArrayLike | None = ...,
) -> Array: ...
def mean(
    a: ArrayLike,
    axis: _Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    keepdims: bool = ...,
    *,
    where: ArrayLike | None = ...,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def median(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = ...,
    out: None = ...,
    overwrite_input: bool = ...,
    keepdims: bool = ...,
) -> Array: ...
def min(
    a: ArrayLike,
    axis: _Axis = ...,
    out: None = ...,
    keepdims: bool = ...,
    initial: ArrayLike | None = ...,
    where: ArrayLike | None = ...,
) -> Array: ...
def nanargmax(
    a: ArrayLike,
    axis: int | None = ...,
    out: None = ...,
    keepdims: bool | None = ...,
    *,
    dim: int | None = ...,
    keepdim: bool | None = ...,
) -> Array: ...
def nanargmin(
    a: ArrayLike,
    axis: int | None = ...,
    out: None = ...,
    keepdims: bool | None = ...,
    *,
    dim: int | None = ...,
    keepdim: bool | None = ...,
) -> Array: ...
def nancumprod(
    a: ArrayLike,
    axis: int | None = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    *,
    dim: int | None = ...,
) -> Array: ...
def nancumsum(
    a: ArrayLike,
    axis: int | None = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    *,
    dim: int | None = ...,
) -> Array: ...
def nanmax(
    a: ArrayLike,
    axis: _Axis = ...,
    out: None = ...,
    keepdims: bool = ...,
    initial: ArrayLike | None = ...,
    where: ArrayLike | None = ...,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def nanmean(
    a: ArrayLike,
    axis: _Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    keepdims: bool = ...,
    where: ArrayLike | None = ...,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def nanmedian(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = ...,
    out: None = ...,
    overwrite_input: bool = ...,
    keepdims: bool = ...,
) -> Array: ...
def nanmin(
    a: ArrayLike,
    axis: _Axis = ...,
    out: None = ...,
    keepdims: bool = ...,
    initial: ArrayLike | None = ...,
    where: ArrayLike | None = ...,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: int | tuple[int, ...] | None = ...,
    out: None = ...,
    overwrite_input: bool = ...,
    method: str = ...,
    keepdims: bool = ...,
    *,
    interpolation: Any = ...,
    dim: int | tuple[int, ...] | None = ...,
    keepdim: bool = ...,
) -> Array: ...
def nanprod(
    a: ArrayLike,
    axis: _Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    keepdims: bool = ...,
    initial: ArrayLike | None = ...,
    where: ArrayLike | None = ...,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: int | tuple[int, ...] | None = ...,
    out: None = ...,
    overwrite_input: bool = ...,
    method: str = ...,
    keepdims: bool = ...,
    *,
    interpolation: Any = ...,
    dim: int | tuple[int, ...] | None = ...,
    keepdim: bool = ...,
) -> Array: ...
def nanstd(
    a: ArrayLike,
    axis: _Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    ddof: int = ...,
    keepdims: bool = ...,
    where: ArrayLike | None = ...,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def nansum(
    a: ArrayLike,
    axis: _Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    keepdims: bool = ...,
    initial: ArrayLike | None = ...,
    where: ArrayLike | None = ...,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def nanvar(
    a: ArrayLike,
    axis: _Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = ...,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: int | tuple[int, ...] | None = ...,
    out: None = ...,
    overwrite_input: bool = ...,
    method: str = ...,
    keepdims: bool = ...,
    *,
    interpolation: Any = ...,
    dim: int | tuple[int, ...] | None = ...,
    keepdim: bool = ...,
) -> Array: ...
def prod(
    a: ArrayLike,
    axis: _Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    keepdims: bool = ...,
    initial: ArrayLike | None = ...,
    where: ArrayLike | None = ...,
    promote_integers: bool = ...,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def ptp(
    a: ArrayLike,
    axis: _Axis = ...,
    out: None = ...,
    keepdims: bool = ...,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: int | tuple[int, ...] | None = ...,
    out: None = ...,
    overwrite_input: bool = ...,
    method: str = ...,
    keepdims: bool = ...,
    *,
    interpolation: Any = ...,
    dim: int | tuple[int, ...] | None = ...,
    keepdim: bool = ...,
) -> Array: ...
def repeat(
    a: ArrayLike,
    repeats: ArrayLike,
    axis: int | None = ...,
    *,
    total_repeat_length: int | None = ...,
    out_sharding: NamedSharding | PartitionSpec | None = None,
    dim: int | None = ...,
) -> Array: ...
def roll(
    a: ArrayLike,
    shift: ArrayLike | Sequence[int],
    axis: _Axis = ...,
    *,
    dim: _Axis = ...,
    dims: _Axis = ...,
) -> Array: ...
def rot90(
    m: ArrayLike,
    k: int = ...,
    axes: tuple[int, int] = ...,
    *,
    dims: tuple[int, int] = ...,
) -> Array: ...
def size(a: Any, axis: _Axis = None, *, dim: _Axis = ...) -> int: ...
def sort(
    a: ArrayLike,
    axis: int | None = ...,
    *,
    stable: bool = ...,
    descending: bool = ...,
    kind: str | None = ...,
    order: None = ...,
) -> Array: ...
def split(
    ary: ArrayLike,
    indices_or_sections: int | Sequence[int] | ArrayLike,
    axis: int = ...,
) -> list[Array]: ...
def squeeze(a: ArrayLike, axis: _Axis = ..., *, dim: _Axis = ...) -> Array: ...
def stack(
    arrays: np.ndarray[Any, Any] | Array | Sequence[ArrayLike],
    axis: int = ...,
    out: None = ...,
    dtype: DTypeLike | None = ...,
    *,
    dim: int = ...,
) -> Array: ...
def std(
    a: ArrayLike,
    axis: _Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    ddof: int = ...,
    keepdims: bool = ...,
    *,
    where: ArrayLike | None = ...,
    correction: int | float | None = ...,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def sum(
    a: ArrayLike,
    axis: _Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    keepdims: bool = ...,
    initial: ArrayLike | None = ...,
    where: ArrayLike | None = ...,
    promote_integers: bool = ...,
    *,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = ...,
    out: None = ...,
    mode: str | None = ...,
    unique_indices: bool = ...,
    indices_are_sorted: bool = ...,
    fill_value: complex | None = ...,
    *,
    dim: int | None = ...,
) -> Array: ...
def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = ...,
    mode: Any = ...,
    fill_value: complex | None = None,
    *,
    wrap_negative_indices: bool = ...,
    dim: int | None = ...,
) -> Array: ...
def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = ...,
    *,
    precision: PrecisionLike = ...,
    preferred_element_type: DTypeLike | None = ...,
    out_sharding: NamedSharding | PartitionSpec | None = ...,
    dims: int | Sequence[int] | Sequence[Sequence[int]] = ...,
) -> Array: ...
def trapezoid(
    y: ArrayLike,
    x: ArrayLike | None = None,
    dx: ArrayLike = ...,
    axis: int = ...,
    *,
    dim: int = ...,
) -> Array: ...
def unique(
    ar: ArrayLike,
    return_index: bool = ...,
    return_inverse: bool = ...,
    return_counts: bool = ...,
    axis: int | None = ...,
    *,
    equal_nan: bool = ...,
    size: int | None = ...,
    fill_value: ArrayLike | None = ...,
    sorted: bool = ...,
    dim: int | None = ...,
) -> Any: ...
def unstack(
    x: ArrayLike, /, *, axis: int = ..., dim: int = ...
) -> tuple[Array, ...]: ...
def var(
    a: ArrayLike,
    axis: _Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    ddof: int = ...,
    keepdims: bool = ...,
    *,
    where: ArrayLike | None = ...,
    correction: int | float | None = ...,
    dim: _Axis = ...,
    keepdim: bool = ...,
) -> Array: ...
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = ...,
    precision: PrecisionLike = ...,
    preferred_element_type: DTypeLike | None = ...,
    dim: int = ...,
) -> Array: ...
