"""Draws from what the user has: elements, orders, categories, masks."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .._documented import documented
from .._drawing import (
    Key,
    Size,
    check_bounds,
    draw,
    drawn_shape,
    float_for,
    integer_for,
    number_from,
    parameter,
)
from ..torch_style import (
    bernoulli as draw_masks,
    choice as draw_choices,
    numbers,
    randperm as draw_order,
)
from . import _samplers
from ._key_first import key_by_name, key_first


@key_first(jax.random.choice)
@documented
def choice(
    a: ArrayLike,
    size: Size = None,
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    shuffle: bool = True,
    *,
    key: Key | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw elements of an array, or integers below a number.

    >>> import jfi as jnp
    >>> sorted(set(jnp.random.choice([2, 4, 8], 100).tolist()))
    [2, 4, 8]

    Args:
        a: The array to draw from, or an int n for the integers from 0 to n - 1.
        size: How many, as a shape; one if not given.
        replace: Whether an element can be drawn more than once.
        p: The probability of each element, `(n,)`, sum 1; equal if not given.
        axis: The dimension of `a` whose elements are drawn.
        shuffle: Taken because NumPy has it; the order is always random.
        dtype: Of the result; that of `a` if not given.

    Returns:
        An array of the given shape, with the other dimensions of `a` in it.

    Raises:
        ValueError: The probabilities are negative or don't sum to 1, or there are too
            few elements to draw without replacement.
        TypeError: `a` is neither an array, a list nor an int.
    """
    del shuffle
    return draw_choices(a, size, replace, p, axis, key=key, dtype=dtype, device=device)


@key_first(jax.random.bernoulli)
@documented
def bernoulli(
    p: ArrayLike = 0.5, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw True with probability p.

    >>> import jfi as jnp
    >>> jnp.random.bernoulli(1.0, 2)
    Array([ True,  True], dtype=bool)

    Args:
        p: Probabilities, a number or an array.
        dtype: Of the result; bool as in `jax.random` if not given.

    Raises:
        ValueError: A probability is not between 0 and 1.
    """
    kind = bool if dtype is None else dtype
    return draw_masks(p, size, key=key, dtype=kind, device=device)


@key_first(jax.random.categorical)
@documented
def categorical(
    logits: ArrayLike, axis: int = -1, size: Size = None, replace: bool = True, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw positions, as likely as the logarithms of their weights say.

    >>> import jfi as jnp
    >>> jnp.random.categorical(jnp.log(jnp.array([0.0, 1.0])), size=2)
    Array([1, 1], dtype=int32)

    Args:
        logits: Logarithms of weights, which need no particular sum.
        axis: The dimension whose positions are drawn.
        size: The shape; that of `logits` without the axis if not given, and else one
            that ends in it.
        replace: Whether a position can be drawn more than once.
        dtype: An integer dtype; int64 if not given, int32 without 64-bit types.

    Raises:
        ValueError: There is no such axis, the logits are NaN or allow no position, or
            too few to draw without replacement.
    """
    caller = "random.categorical"
    logits = numbers(caller, "logits", logits)
    float_for(None, caller, logits)  # refuses complex numbers
    rank = np.ndim(logits)
    if not -rank <= axis < rank:
        raise ValueError(
            f"{caller}() got axis={axis} and logits of shape {np.shape(logits)}. "
            "Write logits with a dimension for what is drawn: [0.0, 1.0]."
        )
    own = tuple(np.delete(np.shape(logits), axis).tolist())
    shape = drawn_shape(caller, size, np.empty(own, bool))
    many = 1 if replace else math.prod(shape[: len(shape) - len(own)])
    enough = lambda x: np.sum(x > -np.inf, axis) >= many
    check_bounds(
        logits, lambda x: ~np.isnan(x) & (x < np.inf), caller, "logits", "below inf"
    )
    check_bounds(
        logits, enough, caller, "logits", f"above -inf in {many} places or more"
    )
    static = (shape, axis, bool(replace), integer_for(dtype, caller))
    return draw(caller, _samplers.categorical, static, (logits,), key, device)


@key_first(jax.random.permutation)
@documented
def permutation(
    x: ArrayLike, axis: int = 0, *,
    key: Key | None = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Shuffle an array along a dimension, or the integers below a number.

    >>> import jfi as jnp
    >>> sorted(jnp.random.permutation(4).tolist())
    [0, 1, 2, 3]

    Args:
        x: The array, or an int n for the integers from 0 to n - 1.
        axis: The dimension whose slices change places.

    Returns:
        The slices of `x` in random order, or an `(n,)` integer array.

    Raises:
        ValueError: `x` has no such axis.
    """
    x = parameter(x, "random.permutation")
    n = number_from(x)
    if n is not None:
        return draw_order(n, key=key, device=device)
    _check_axis("random.permutation", x, axis)
    return draw("random.permutation", _samplers.permutation, (axis,), (x,), key, device)


@key_by_name
@documented
def permuted(
    x: ArrayLike, axis: int | None = None, *,
    key: Key | None = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Shuffle all elements of an array, or each row along a dimension by itself.

    >>> import jfi as jnp
    >>> jnp.random.permuted(jnp.eye(3), axis=1).sum(1)
    Array([1., 1., 1.], dtype=float32)

    Args:
        x: The array.
        axis: The dimension to shuffle along; all elements change places if not given.

    Returns:
        An array like `x`.

    Raises:
        ValueError: `x` has no such axis.
    """
    x = numbers("random.permuted", "x", x)
    if axis is not None:
        _check_axis("random.permuted", x, axis)
    return draw("random.permuted", _samplers.permuted, (axis,), (x,), key, device)


def _check_axis(caller: str, x: Any, axis: int) -> None:
    rank = np.ndim(x)
    if not -rank <= axis < rank:
        raise ValueError(
            f"{caller}() got axis={axis} and an array of shape {np.shape(x)}, "
            "which has no such dimension."
        )
