"""Random integers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike, named_dtype
from ..._arrays._devices import DeviceLike
from .. import _distributions
from .._drawing import (
    Key,
    Size,
    check_bounds,
    check_order,
    count_from,
    draw,
    drawn_shape,
    float_for,
    integer_for,
)
from ._parameters import dtype_like, in_torch_style, numbers


@in_torch_style
def randint(
    low: ArrayLike, high: Any = None, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw integers from [low, high), or from [0, low) if there is no high.

    >>> import jfi as jnp
    >>> sorted(set(jnp.randint(0, 3, (100,)).tolist()))
    [0, 1, 2]

    Args:
        low: Least integer; the upper end if `high` is left out.
        high: Upper end, itself not drawn. A tuple here is the size, as in PyTorch.
        dtype: An integer or float dtype; int64 if not given, int32 without 64-bit
            types.

    Raises:
        ValueError: No integer is in the interval, or the dtype can't hold its ends.
    """
    if size is None and isinstance(high, (tuple, list)):
        size, high = tuple(high), None
    low = numbers("randint", "low", low)
    if high is None:
        low, high = 0, low
    if not _is_float(dtype, "randint"):
        return draw_between("randint", low, high, size, dtype, key, device)
    high = numbers("randint", "high", high)
    shape = drawn_shape("randint", size, low, high)
    return _draw_as_floats("randint", low, high, shape, dtype, key, device)


@in_torch_style
def randint_like(
    input: ArrayLike, low: int, high: int | None = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw integers from [low, high), in the shape and dtype of another array.

    >>> import jfi as jnp
    >>> jnp.randint_like(jnp.zeros(3), 5, 6)
    Array([5., 5., 5.], dtype=float32)

    Args:
        input: The array to take after.
        low: Least integer; the upper end if `high` is left out.
        high: Upper end, itself not drawn.
        dtype: Any dtype but bool and complex, if not that of `input`.

    Returns:
        An array of the shape of `input`.

    Raises:
        ValueError: No integer is in the interval, or the dtype can't hold its ends.
    """
    caller = "randint_like"
    input = numbers(caller, "input", input)
    kind = jnp.dtype(named_dtype(dtype_like(input, dtype), caller))
    if high is None:
        low, high = 0, low
    if not _is_float(kind, caller):
        return draw_between(caller, low, high, np.shape(input), kind, key, device)
    return _draw_as_floats(caller, low, high, np.shape(input), kind, key, device)


def _is_float(dtype: DTypeLike, caller: str) -> bool:
    """Whether integers are asked for in a float dtype, as PyTorch has them."""
    return dtype is not None and jnp.issubdtype(named_dtype(dtype, caller), np.floating)


def _exact(kind: np.dtype[Any]) -> int:
    """Up to where a float dtype holds each integer."""
    return int(2 ** (jnp.finfo(kind).nmant + 1))  # type: ignore[no-untyped-call]


def _draw_as_floats(
    caller: str,
    low: Any,
    high: Any,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    key: jax.Array | None,
    device: DeviceLike | None,
) -> jax.Array:
    kind = named_dtype(dtype, caller)
    exact = _exact(kind)
    check_bounds(low, lambda x: x >= -exact, caller, "low", f"{-exact} or more")
    check_bounds(high, lambda x: x <= exact + 1, caller, "high", f"{exact + 1} or less")
    check_interval(caller, low, high)
    static = (shape, kind)
    return draw(caller, _distributions.randint_as, static, (low, high), key, device)


@in_torch_style
def randperm(
    n: int, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw a random order of the integers from 0 to n - 1.

    >>> import jfi as jnp
    >>> sorted(jnp.randperm(4).tolist())
    [0, 1, 2, 3]

    Args:
        n: How many integers.
        dtype: An integer or float dtype; int64 if not given, int32 without 64-bit
            types.

    Returns:
        An `(n,)` array.

    Raises:
        ValueError: `n` is negative, or too large for the dtype.
    """
    count = count_from("randperm", n)
    if _is_float(dtype, "randperm"):
        kind = named_dtype(dtype, "randperm")
        most = _exact(kind)
    else:
        kind = integer_for(dtype, "randperm")
        most = int(np.iinfo(kind).max)
    if count > most + 1:
        raise ValueError(
            f"randperm() got n={count}, but {kind.name} holds integers up to {most}."
        )
    return draw("randperm", _distributions.randperm, (count, kind), (), key, device)


@in_torch_style
def poisson(
    rate: ArrayLike, *,
    key: Key | None = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw a Poisson number for each rate, in the dtype of the rates.

    For integers write `jnp.random.poisson(rate)`, NumPy's.

    >>> import jfi as jnp
    >>> jnp.poisson(jnp.array([0.0, 0.0]))
    Array([0., 0.], dtype=float32)

    Args:
        rate: Means, a non-negative number or float array.

    Returns:
        A float array of whole numbers, of the shape of `rate`.

    Raises:
        ValueError: A rate is negative.
    """
    rate = numbers("poisson", "rate", rate)
    valid = lambda r: (r >= 0) & (r < np.inf)
    check_bounds(rate, valid, "poisson", "rate", "0 or more and finite")
    static = (np.shape(rate), float_for(None, "poisson", rate))
    return draw("poisson", _distributions.poisson, static, (rate,), key, device)


def draw_between(
    caller: str,
    low: Any,
    high: Any,
    size: Any,
    dtype: DTypeLike,
    key: jax.Array | None,
    device: DeviceLike | None,
    *,
    endpoint: bool = False,
) -> jax.Array:
    """Draw integers from [low, high), or from [low, high] with the endpoint."""
    low, high = numbers(caller, "low", low), numbers(caller, "high", high)
    check_interval(caller, low, high, endpoint=endpoint)
    integer = integer_for(dtype, caller)
    # `high` itself is not drawn: it may lie just beyond the dtype, if there is a wider
    # one to hold it.
    widest = integer.itemsize == integer_for(None, caller).itemsize
    least, most = np.iinfo(integer).min, np.iinfo(integer).max + (not widest)
    most -= endpoint
    check_bounds(low, lambda x: x >= least, caller, "low", f"{least} or more")
    check_bounds(high, lambda x: x <= most, caller, "high", f"{most} or less")
    static = (drawn_shape(caller, size, low, high), integer)
    if endpoint:
        high = high + 1 if isinstance(high, int) else jnp.asarray(high, _wide(high)) + 1
    if widest:  # JAX would take the ints of unsigned dtypes for signed ones
        low, high = (
            np.asarray(x, integer) if isinstance(x, int) else x for x in (low, high)
        )
    return draw(caller, _distributions.randint, static, (low, high), key, device)


def check_interval(caller: str, low: Any, high: Any, *, endpoint: bool = False) -> None:
    """Refuse an interval that has no integers, or whose ends are none."""
    check_order(low, high, strict=not endpoint, caller=caller)
    for name, end in (("low", low), ("high", high)):
        check_bounds(end, lambda x: np.mod(x, 1) == 0, caller, name, "an integer")


def _wide(x: Any) -> np.dtype[Any]:
    """A dtype that holds one more than an integer of a narrow one."""
    own = jnp.result_type(x)
    return own if own.itemsize >= 4 else np.dtype(np.int32)
