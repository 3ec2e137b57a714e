"""Random numbers without keys: PyTorch's and NumPy's names on the global generator.

A draw is one compiled call: it makes its key from the generator's state and samples.
"""

import math
from typing import Any

import jax
import numpy as np
from jax.typing import ArrayLike

from . import _distributions
from ._config import DTypeLike, named_dtype
from ._devices import DeviceLike
from ._sampling import (
    check,
    check_order,
    check_probabilities,
    check_width,
    count_from,
    draw,
    float_for,
    inexact_for,
    integer_for,
    number_from,
    parameter,
    shape_from,
    shape_of,
)


def randn(
    *size: Any,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from the standard normal distribution.

    >>> import jfi as jnp
    >>> jnp.randn(2, 3).shape, jnp.randn((4,)).shape, jnp.randn().shape
    ((2, 3), (4,), ())

    Args:
        size: The shape, as ints or as one tuple.
        key: A random key to use in place of the global generator.
        dtype: A float or complex dtype; the default float dtype if not given.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        RandomError: Called under a JAX transformation without `key=`.
    """
    static = (shape_from("randn", *size), inexact_for(dtype, "randn"))
    return draw("randn", jax.random.normal, static, (), key, device)


def rand(
    *size: Any,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw uniformly from the half-open interval [0, 1).

    >>> import jfi as jnp
    >>> jnp.rand(3).dtype
    dtype('float32')

    Args:
        size: The shape, as ints or as one tuple.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; the default one if not given.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        RandomError: Called under a JAX transformation without `key=`.
    """
    static = (shape_from("rand", *size), float_for(dtype, "rand"))
    return draw("rand", jax.random.uniform, static, (), key, device)


def normal(
    mean: ArrayLike = 0.0,
    std: ArrayLike = 1.0,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from normal distributions.

    >>> import jfi as jnp
    >>> jnp.normal(10.0, 0.1, (2, 2)).shape
    (2, 2)

    Args:
        mean: A number or an array.
        std: A non-negative number or array.
        size: The shape; that of mean and std together if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of a float array among mean and std,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A standard deviation is negative.
        RandomError: Called under a JAX transformation without `key=`.
    """
    mean, std = parameter(mean, "normal"), parameter(std, "normal")
    check(std, lambda s: s >= 0, "normal", "std", "0 or more")
    shape = shape_of("normal", size, mean, std)
    static = (shape, float_for(dtype, "normal", mean, std))
    return draw("normal", _distributions.normal, static, (mean, std), key, device)


def uniform(
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw uniformly from half-open intervals [low, high).

    >>> import jfi as jnp
    >>> x = jnp.uniform(-1.0, 1.0, size=5)
    >>> bool(((-1 <= x) & (x < 1)).all())
    True

    Args:
        low: Lower ends, a number or an array.
        high: Upper ends, a number or an array.
        size: The shape; that of low and high together if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of a float array among low and high,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: `low` is above `high`, or the dtype can't hold the width.
        RandomError: Called under a JAX transformation without `key=`.
    """
    low, high = parameter(low, "uniform"), parameter(high, "uniform")
    kind = float_for(dtype, "uniform", low, high)
    check_order(low, high, strict=False, caller="uniform")
    check_width(low, high, kind, "uniform")
    static = (shape_of("uniform", size, low, high), kind)
    return draw("uniform", _distributions.uniform, static, (low, high), key, device)


def randint(
    low: ArrayLike,
    high: Any = None,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw integers from [low, high), or from [0, low) if there is no high.

    >>> import jfi as jnp
    >>> jnp.randint(0, 10, (3,)).shape, jnp.randint(10, (3,)).shape
    ((3,), (3,))

    Args:
        low: Least integer; the upper end if `high` is left out.
        high: Upper end, itself not drawn. A tuple here is the size, as in PyTorch.
        size: The shape; that of low and high together if not given.
        key: A random key to use in place of the global generator.
        dtype: An integer dtype; int64 if not given, int32 without 64-bit types.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: No integer is in the interval, or the dtype can't hold its ends.
        RandomError: Called under a JAX transformation without `key=`.
    """
    if size is None and isinstance(high, (tuple, list)):
        size, high = tuple(high), None
    if high is None:
        low, high = 0, low
    low, high = parameter(low, "randint"), parameter(high, "randint")
    check_order(low, high, strict=True, caller="randint")
    integer = integer_for(dtype, "randint")
    # `high` itself is not drawn: it may lie just beyond the dtype, if there is a wider
    # one to hold it.
    widest = integer.itemsize == integer_for(None, "randint").itemsize
    least, most = np.iinfo(integer).min, np.iinfo(integer).max + (not widest)
    check(low, lambda x: x >= least, "randint", "low", f"{least} or more")
    check(high, lambda x: x <= most, "randint", "high", f"{most} or less")
    for name, end in (("low", low), ("high", high)):
        check(end, lambda x: np.mod(x, 1) == 0, "randint", name, "an integer")
    static = (shape_of("randint", size, low, high), integer)
    if widest:  # JAX would take the ints of unsigned dtypes for signed ones
        low, high = (
            np.asarray(x, integer) if isinstance(x, int) else x for x in (low, high)
        )
    return draw("randint", _distributions.randint, static, (low, high), key, device)


def randperm(
    n: int,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw a random order of the integers from 0 to n - 1.

    >>> import jfi as jnp
    >>> sorted(jnp.randperm(4).tolist())
    [0, 1, 2, 3]

    Args:
        n: How many integers.
        key: A random key to use in place of the global generator.
        dtype: An integer dtype; int64 if not given, int32 without 64-bit types.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An `(n,)` array.

    Raises:
        ValueError: `n` is negative, or too large for the dtype.
        RandomError: Called under a JAX transformation without `key=`.
    """
    count, integer = count_from("randperm", n), integer_for(dtype, "randperm")
    most = np.iinfo(integer).max
    if count > most + 1:
        raise ValueError(
            f"randperm() got n={count}, but {integer.name} holds integers up to {most}."
        )
    return draw("randperm", _distributions.randperm, (count, integer), (), key, device)


def choice(
    a: ArrayLike,
    size: Any = None,
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw elements of an array, or integers below a number.

    >>> import jfi as jnp
    >>> jnp.choice(jnp.array([2, 4, 8]), (5,)).shape
    (5,)

    Args:
        a: The array to draw from, or an int n for the integers from 0 to n - 1.
        size: How many, as a shape; one if not given.
        replace: Whether an element can be drawn more than once.
        p: The probability of each element, `(n,)`, sum 1; equal if not given.
        axis: The dimension of `a` whose elements are drawn.
        key: A random key to use in place of the global generator.
        dtype: Of the result; that of `a` if not given.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape, with the other dimensions of `a` in it.

    Raises:
        ValueError: The probabilities are negative or don't sum to 1, or there are too
            few elements to draw without replacement.
        RandomError: Called under a JAX transformation without `key=`.
    """
    a, p = parameter(a, "choice"), parameter(p, "choice")
    shape = shape_of("choice", size)
    if p is not None:
        check_probabilities(p, None if replace else math.prod(shape), "choice")
    kind = None if dtype is None else named_dtype(dtype, "choice")
    n = number_from(a)
    static = (shape, bool(replace), axis, n, kind)
    dynamic = (a if n is None else None, p)
    return draw("choice", _distributions.choice, static, dynamic, key, device)


def bernoulli(
    p: ArrayLike = 0.5,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw ones with probability p and zeros otherwise.

    >>> import jfi as jnp
    >>> jnp.bernoulli(1.0, 3)
    Array([1., 1., 1.], dtype=float32)

    Args:
        p: Probabilities, a number or an array.
        size: The shape; that of `p` if not given.
        key: A random key to use in place of the global generator.
        dtype: Of the result, `bool` for a mask; the float dtype of `p` if not given.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A probability is not between 0 and 1.
        RandomError: Called under a JAX transformation without `key=`.
    """
    p = parameter(p, "bernoulli")
    check(p, lambda q: (q >= 0) & (q <= 1), "bernoulli", "p", "between 0 and 1")
    given = float_for(None, "bernoulli", p)
    kind = given if dtype is None else named_dtype(dtype, "bernoulli")
    static = (shape_of("bernoulli", size, p), given, kind)
    return draw("bernoulli", _distributions.bernoulli, static, (p,), key, device)


def make_random_key(
    *, key: jax.Array | None = None, device: DeviceLike | None = None
) -> jax.Array:
    """Draw a fresh random key for the functions of `jax.random`.

    >>> import jfi as jnp
    >>> x = jnp.random.normal(jnp.make_random_key(), (3,))

    Args:
        key: A random key to use in place of the global generator.
        device: Where to create the key; see `resolve_device`.

    Returns:
        A typed key, shape `()`.

    Raises:
        RandomError: Called under a JAX transformation without `key=`.
    """
    return draw("make_random_key", _distributions.one_key, (), (), key, device)


def make_random_keys(
    n: int, *, key: jax.Array | None = None, device: DeviceLike | None = None
) -> jax.Array:
    """Draw fresh random keys, one for each row of a batch.

    >>> import jfi as jnp
    >>> jnp.make_random_keys(3).shape
    (3,)

    Args:
        n: How many.
        key: A random key to use in place of the global generator.
        device: Where to create the keys; see `resolve_device`.

    Returns:
        An `(n,)` array of typed keys.

    Raises:
        RandomError: Called under a JAX transformation without `key=`.
    """
    static = (count_from("make_random_keys", n),)
    return draw("make_random_keys", jax.random.split, static, (), key, device)
