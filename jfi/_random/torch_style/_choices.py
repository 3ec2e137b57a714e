"""What is drawn by given probabilities: elements, positions, masks."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike, named_dtype
from ..._arrays._devices import DeviceLike
from .. import _distributions
from .._drawing import (
    Key,
    Size,
    check_bounds,
    check_probabilities,
    count_from,
    draw,
    drawn_shape,
    float_for,
    integer_for,
    number_from,
    parameter,
)
from ._parameters import dtype_like, in_torch_style, numbers


@in_torch_style
def choice(
    a: ArrayLike,
    size: Size = None,
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    *,
    key: Key | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw elements of an array, or integers below a number.

    >>> import jfi as jnp
    >>> sorted(set(jnp.choice(jnp.array([2, 4, 8]), (100,)).tolist()))
    [2, 4, 8]

    Args:
        a: The array to draw from, or an int n for the integers from 0 to n - 1.
        size: How many, as a shape; one if not given.
        replace: Whether an element can be drawn more than once.
        p: The probability of each element, `(n,)`, sum 1; equal if not given.
        axis: The dimension of `a` whose elements are drawn.
        dtype: Of the result; that of `a` if not given.

    Returns:
        An array of the given shape, with the other dimensions of `a` in it.

    Raises:
        ValueError: The probabilities are negative or don't sum to 1, or there are too
            few elements to draw without replacement.
        TypeError: `a` is neither an array, a list nor an int.
    """
    a, p = _elements(a), parameter(p, "choice")
    shape = drawn_shape("choice", size)
    if p is not None:
        check_probabilities(p, None if replace else math.prod(shape), "choice")
    kind = None if dtype is None else named_dtype(dtype, "choice")
    n = number_from(a)
    static = (shape, bool(replace), axis, n, kind)
    dynamic = (a if n is None else None, p)
    return draw("choice", _distributions.choice, static, dynamic, key, device)


def _elements(a: Any) -> Any:
    """What to draw from, as an array or a whole number."""
    a = parameter(list(a) if isinstance(a, range) else a, "choice")
    has_elements = getattr(a, "ndim", 0) > 0 or hasattr(a, "__jax_array__")
    if has_elements or isinstance(a, Tracer) or number_from(a) is not None:
        return a
    raise TypeError(
        f"choice() got a={a!r}; it draws from an array or a list of numbers, or from "
        "0 to n - 1 where a is an int n."
    )


@in_torch_style
def bernoulli(
    p: ArrayLike = 0.5, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw ones with probability p and zeros otherwise.

    >>> import jfi as jnp
    >>> jnp.bernoulli(1.0, 3)
    Array([1., 1., 1.], dtype=float32)

    Args:
        p: Probabilities, a number or an array.
        dtype: Of the result, `bool` for a mask; the float dtype of `p` if not given.

    Raises:
        ValueError: A probability is not between 0 and 1.
    """
    p = numbers("bernoulli", "p", p)
    check_bounds(p, lambda q: (q >= 0) & (q <= 1), "bernoulli", "p", "between 0 and 1")
    given = float_for(None, "bernoulli", p)
    kind = given if dtype is None else named_dtype(dtype, "bernoulli")
    static = (drawn_shape("bernoulli", size, p), given, kind)
    return draw("bernoulli", _distributions.bernoulli, static, (p,), key, device)


@in_torch_style
def multinomial(
    probs: ArrayLike, num_samples: int, replacement: bool = False, *,
    key: Key | None = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw positions, as likely as their weights, from each row.

    For how often each comes write `jnp.random.multinomial`, NumPy's.

    >>> import jfi as jnp
    >>> jnp.multinomial(jnp.array([[0.0, 3.0], [5.0, 0.0]]), 1)
    Array([[1],
           [0]], dtype=int32)

    Args:
        probs: Non-negative floats, `(n,)` or `(m, n)`; rows need no particular sum.
        num_samples: How many to draw from each row.
        replacement: Whether a position can be drawn more than once.

    Returns:
        Integers, `(num_samples,)` or `(m, num_samples)`.

    Raises:
        ValueError: The weights are negative, not finite or all 0, or too few are above
            0 to draw without replacement.
        TypeError: The weights are not floats.
    """
    caller = "multinomial"
    probs, count = numbers(caller, "probs", probs), count_from(caller, num_samples)
    kind, shape = jnp.result_type(probs), np.shape(probs)
    if not jnp.issubdtype(kind, np.floating):
        raise TypeError(
            f"{caller}() got probs of dtype {kind.name}; it takes floats. "
            "Write probs.astype(jnp.float32)."
        )
    if len(shape) not in (1, 2) or not shape[-1]:
        raise ValueError(
            f"{caller}() got probs of shape {shape}. Write one row of weights, "
            "or a matrix of rows."
        )
    if count == 0:
        raise ValueError(f"{caller}() got num_samples=0; it draws 1 or more.")
    if not replacement and count > shape[-1]:
        raise ValueError(
            f"{caller}() got num_samples={count} and rows of {shape[-1]} weights. "
            "Write replacement=True to draw one more than once."
        )
    least = 1 if replacement else count
    valid = lambda p: (p >= 0) & (p < np.inf)
    check_bounds(probs, valid, caller, "probs", "non-negative and finite")
    enough = lambda p: np.count_nonzero(p, axis=-1) >= least
    check_bounds(
        probs, enough, caller, "probs", f"above 0 in {least} places of a row or more"
    )
    static = (count, bool(replacement), integer_for(None, caller))
    return draw(caller, _distributions.multinomial, static, (probs,), key, device)


@in_torch_style
def dropout(
    input: ArrayLike, p: ArrayLike = 0.5, training: bool = True, *,
    key: Key | None = None,
) -> jax.Array:  # fmt: skip
    """Set each element to 0 with probability p, and divide the others by 1 - p.

    >>> import jfi as jnp
    >>> jnp.dropout(jnp.ones(2), p=0.0)
    Array([1., 1.], dtype=float32)

    Args:
        input: A float or complex array.
        p: The probability to be dropped, one number.
        training: False returns the input.

    Returns:
        An array like `input`.

    Raises:
        ValueError: `p` is not between 0 and 1.
        TypeError: The input is not of a float or complex dtype.
    """
    input = numbers("dropout", "input", input)
    p = numbers("dropout", "p", p)
    check_bounds(p, lambda q: (q >= 0) & (q <= 1), "dropout", "p", "between 0 and 1")
    if np.ndim(p):
        raise ValueError(
            f"dropout() got p of shape {np.shape(p)}; it takes one number."
        )
    kind = dtype_like(input, None)
    if not jnp.issubdtype(kind, np.inexact):
        raise TypeError(
            f"dropout() got an input of dtype {kind.name}; it takes floats. "
            "Write x.astype(jnp.float32)."
        )
    if not training:
        return jnp.asarray(input, kind)
    return draw("dropout", _distributions.dropout, (kind,), (input, p), key, None)
