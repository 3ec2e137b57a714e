"""PyTorch's names for norms and limits.

Signatures and results are those of PyTorch 2.13 (https://docs.pytorch.org/docs/2.13).
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike, DTypeLike

from .._arrays._config import named_dtype
from .._values import is_tracer
from ._arguments import (
    as_array,
    dimensions,
    floats,
    integer_range,
    is_integer,
    numpy_spellings,
)


@numpy_spellings(ord="p", axis="dim", keepdims="keepdim")
def norm(
    input: ArrayLike,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    *,
    ord: float | str | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> jax.Array:
    """Norm of the elements along some dimensions, by default of all elements.

    Where all elements are zero the derivative is zero, and not NaN.

    >>> import jfi as jnp
    >>> jnp.norm(jnp.array([[3.0, 4.0], [6.0, 8.0]]), dim=-1).tolist()
    [5.0, 10.0]
    >>> jnp.grad(jnp.norm)(jnp.zeros(2)).tolist()
    [0.0, 0.0]

    Args:
        input: A float or complex array.
        p: A number for `sum(abs(x) ** p) ** (1 / p)`, with `inf`, `-inf` and `0` as
            its limits; `"fro"` or None for 2; `"nuc"` for the sum of the singular
            values. A number treats a matrix as a long vector: for the matrix norms
            that NumPy returns there write `jnp.linalg.norm(x, ord)`.
        dim: The dimension or dimensions to go over; None or `()` for all.
        keepdim: Whether these stay as dimensions of size one.
        dtype: The dtype to compute in, not narrower than that of `input`.
        ord: NumPy's word for `p`; refused where NumPy would return a matrix norm.
        axis: NumPy's word for `dim`.
        keepdims: NumPy's word for `keepdim`.

    Returns:
        A real array.

    Raises:
        IndexError: The array has no dimension `dim`.
        TypeError: `input` holds integers or bools, `dtype` is narrower than the
            array's, or `p` is not a number that is known when JAX traces.
        ValueError: The norm does not exist: `"fro"` of more than two dimensions,
            `"nuc"` of other than two, `inf` or a negative `p` of no elements.
    """
    x = _in_dtype(floats(input, "norm", takes_complex=True), dtype)
    given = (dim,) if dim is not None and not isinstance(dim, (list, tuple)) else dim
    dims = dimensions(given, x.ndim, "norm") if given else tuple(range(x.ndim))
    if x.ndim == 0:
        dims = ()  # it may be asked for dimension 0, and has none
    if isinstance(p, str):
        _check_named_norm(p, dims, everything=not given)
        if p == "nuc":
            nuclear = jnp.linalg.norm(
                x, "nuc", axis=cast("Any", dims), keepdims=keepdim
            )
            return cast("jax.Array", nuclear)
    order = 2.0 if p is None or isinstance(p, str) else as_order(p, "norm")
    if ord is not None and not isinstance(ord, str) and len(dims) > 1:
        raise ValueError(
            f"norm() got ord={ord} for {len(dims)} dimensions, where NumPy and PyTorch "
            f"mean different norms. Write jnp.linalg.norm(x, {ord}) for NumPy's norm "
            f"of a matrix, or jnp.norm(x, p={ord}) for the norm of all elements."
        )
    if (order < 0 or order == math.inf) and any(x.shape[d] == 0 for d in dims):
        raise ValueError(
            f"norm() got an array of shape {x.shape}: the norm with p={p} of no "
            f"elements does not exist. Use p=2, or leave such arrays out."
        )
    return cast("jax.Array", vector_norm(x, order, dims, bool(keepdim)))


def _in_dtype(x: jax.Array, dtype: DTypeLike | None) -> jax.Array:
    """The array in the dtype that its norm is computed in."""
    if dtype is None:
        return x
    wanted = named_dtype(dtype, "norm")
    if not jnp.can_cast(x.dtype, wanted):
        raise TypeError(
            f"norm() got dtype={wanted} for an array of {x.dtype}, which does not fit "
            f"into it. Convert the array itself: x.astype({wanted})."
        )
    return x.astype(wanted)


def as_order(p: object, function: str) -> float:
    """The Python float of a numeric `p`."""
    if is_tracer(p) or isinstance(p, complex):
        seen = "a traced array" if is_tracer(p) else f"the complex number {p}"
        raise TypeError(
            f"{function}() got {seen} for p; it must be a Python float, which is the "
            f"same at every call of a compiled function."
        )
    return float(cast("Any", p))


def _check_named_norm(p: str, dims: tuple[int, ...], *, everything: bool) -> None:
    """Refuse names that PyTorch lacks and dimensions that a named norm lacks."""
    if p not in ("fro", "nuc"):
        raise ValueError(f"norm() got p={p!r}; it takes a number, 'fro' or 'nuc'.")
    if p == "fro" and not everything and len(dims) > 2:
        raise ValueError(
            f"norm() got p='fro' for the {len(dims)} dimensions {dims}; it goes over "
            f"one or two. For any number of dimensions write p=2."
        )
    if p == "nuc" and len(dims) != 2:
        raise ValueError(
            f"norm() got p='nuc' for the {len(dims)} dimensions {dims}; it goes over "
            f"two. Name them: jnp.norm(x, 'nuc', dim=(-2, -1))."
        )


@jax.jit(static_argnames=("p", "dims", "keepdim"))
def vector_norm(
    x: jax.Array, p: float, dims: tuple[int, ...], keepdim: bool
) -> jax.Array:
    real = x.real.dtype
    # Squares of half-precision numbers overflow early: compute in float32, as PyTorch.
    if real.itemsize < 4:
        x = x.astype(jnp.float32)
    total = partial(jnp.sum, axis=dims, keepdims=keepdim)
    size = _magnitude(x)
    if p == 0:
        result = total(size != 0)
    elif p == 1:
        result = total(size)
    elif p == math.inf:
        result = jnp.max(size, axis=dims, keepdims=keepdim)
    elif p == -math.inf:
        result = jnp.min(size, axis=dims, keepdims=keepdim)
    elif p == 2:
        result = _power(total(jnp.square(x.real) + jnp.square(x.imag)), 0.5)
    else:
        result = _power(total(_power(size, p)), 1 / p)
    return result.astype(real)


def _magnitude(x: jax.Array) -> jax.Array:
    """`abs(x)` with derivative 0 at 0, where JAX has 1 or, of complex numbers, NaN."""
    is_zero = x == 0
    return jnp.where(is_zero, 0, jnp.abs(jnp.where(is_zero, 1, x)))


def _power(base: jax.Array, exponent: float) -> jax.Array:
    """`base ** exponent` for `base >= 0`, with derivative 0 where `base` is 0."""
    is_zero = base == 0
    # The inner `where` keeps an infinite derivative from ever being computed: outside,
    # it would be multiplied by zero and give NaN.
    safe = jnp.where(is_zero, 1, base)
    power = jnp.sqrt(safe) if exponent == 0.5 else safe**exponent
    return jnp.where(is_zero, 0 if exponent > 0 else math.inf, power)


def clamp(
    input: ArrayLike, min: ArrayLike | None = None, max: ArrayLike | None = None
) -> jax.Array:
    """Limit each element from below, from above or both.

    Where `min` is larger than `max` the result is `max`; NaN in the array or in a
    limit gives NaN. A number or a 0-d array as a limit widens the dtype of an array
    only if it is of a higher kind (a float for integers). An element that equals a
    limit takes the derivative.

    >>> import jfi as jnp
    >>> jnp.clamp(jnp.array([-2.0, 0.5, 3.0]), min=0.0, max=1.0).tolist()
    [0.0, 0.5, 1.0]

    Args:
        input: An array of real numbers.
        min: The lowest value: a number, or an array that broadcasts with `input`.
        max: The highest value.

    Raises:
        OverflowError: A limit is an int that the dtype of `input` can't hold.
        TypeError: A complex number is among the arguments.
        ValueError: There is no limit, or the shapes do not fit.
    """
    if min is None and max is None:
        raise ValueError(
            "clamp() got neither min nor max. Pass one of them: jnp.clamp(x, min=0.0)."
        )
    x, limits = as_array(input, "clamp"), {"min": min, "max": max}
    lower, upper = (
        None if limit is None else as_array(limit, "clamp", name)
        for name, limit in limits.items()
    )
    arrays = [array for array in (x, lower, upper) if array is not None]
    if any(jnp.iscomplexobj(array) for array in arrays):
        raise TypeError(
            "clamp() got complex numbers, which have no order. "
            "Clamp the parts: x.real and x.imag."
        )
    dtype = _common_dtype(arrays)
    for name, limit in limits.items():
        _check_limit(name, limit, dtype)
    converted = (None if a is None else _convert(a, dtype) for a in (x, lower, upper))
    return cast("jax.Array", _clamp(*converted))


def _common_dtype(arrays: list[jax.Array]) -> np.dtype[Any] | None:
    """The dtype that PyTorch computes in; None where JAX's numbers have no fixed one.

    Within a kind (bool, integer, float) an array with dimensions decides alone.
    """
    strong = [array for array in arrays if not jax.typeof(array).weak_type]
    dtype = None
    for group in ([a for a in strong if a.ndim], [a for a in strong if not a.ndim]):
        if group:
            found = jnp.result_type(*group)
            dtype = (
                found
                if dtype is None or _rank_of_dtype(found) > _rank_of_dtype(dtype)
                else dtype
            )
    return dtype


def _rank_of_dtype(dtype: np.dtype[Any]) -> int:
    """Rank of a dtype among bools, integers and floats."""
    return jnp.issubdtype(dtype, jnp.number) + jnp.issubdtype(dtype, jnp.floating)


def _check_limit(name: str, limit: object, dtype: np.dtype[Any] | None) -> None:
    """Refuse a Python int that the dtype of the result can't hold."""
    if dtype is None or not isinstance(limit, int) or not is_integer(dtype):
        return
    low, high = integer_range(dtype)
    if not low <= limit <= high:
        raise OverflowError(
            f"clamp() got {name}={limit}, which {dtype} can't hold. Leave the limit "
            f"out, or convert the array first: x.astype(int)."
        )


def _convert(array: jax.Array, dtype: np.dtype[Any] | None) -> jax.Array:
    """The array in the dtype that the result is computed in."""
    if dtype is None or array.dtype == dtype:
        return array
    if is_integer(array.dtype) and is_integer(dtype):
        # A wider integer must not wrap around: a limit of 300 does not limit int8.
        source, target = integer_range(array.dtype), integer_range(dtype)
        low, high = max(source[0], target[0]), min(source[1], target[1])
        return jnp.clip(array, low, high).astype(dtype)
    return array if jax.typeof(array).weak_type else array.astype(dtype)


@jax.jit
def _clamp(x: jax.Array, lower: jax.Array | None, upper: jax.Array | None) -> jax.Array:
    # Not jnp.minimum and jnp.maximum: their derivative is one half at a limit.
    if lower is not None:
        x = jnp.where((x < lower) | (lower != lower), lower, x)
    if upper is not None:
        x = jnp.where((x > upper) | (upper != upper), upper, x)
    return x
