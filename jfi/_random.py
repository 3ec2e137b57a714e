"""Random numbers without keys: PyTorch's and NumPy's names on the global generator.

A draw is one compiled call: it makes its key from the generator's state and samples.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from ._config import DTypeLike, named_dtype
from ._devices import DeviceLike
from ._sampling import (
    Shape,
    check,
    check_order,
    draw,
    float_for,
    inexact_for,
    integer_for,
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
    check(std, lambda s: s >= 0, "normal", "std", "0 or more")
    shape = shape_of("normal", size, mean, std)
    static = (shape, float_for(dtype, "normal", mean, std))
    return draw("normal", _normal, static, (mean, std), key, device)


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
        ValueError: `low` is above `high`.
        RandomError: Called under a JAX transformation without `key=`.
    """
    check_order(low, high, strict=False, caller="uniform")
    shape = shape_of("uniform", size, low, high)
    static = (shape, float_for(dtype, "uniform", low, high))
    return draw("uniform", _uniform, static, (low, high), key, device)


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
        ValueError: No integer of the dtype is in the interval.
        RandomError: Called under a JAX transformation without `key=`.
    """
    if size is None and isinstance(high, (tuple, list)):
        size, high = tuple(high), None
    if high is None:
        low, high = 0, low
    check_order(low, high, strict=True, caller="randint")
    integer = integer_for(dtype, "randint")
    least, most = np.iinfo(integer).min, np.iinfo(integer).max
    check(low, lambda x: x >= least, "randint", "low", f"{least} or more")
    check(high, lambda x: x <= most + 1, "randint", "high", f"{most + 1} or less")
    static = (shape_of("randint", size, low, high), integer)
    return draw("randint", _randint, static, (low, high), key, device)


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
        ValueError: `n` is negative.
        RandomError: Called under a JAX transformation without `key=`.
    """
    static = (*shape_from("randperm", n), integer_for(dtype, "randperm"))
    return draw("randperm", _randperm, static, (), key, device)


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
    if p is not None:
        check(p, lambda q: q >= 0, "choice", "p", "0 or more")
        check(p, lambda q: abs(q.sum() - 1) < 1e-4, "choice", "p", "of sum 1")
    shape = shape_of("choice", size)
    kind = None if dtype is None else named_dtype(dtype, "choice")
    n = int(a) if isinstance(a, (int, np.integer)) else None
    static = (shape, bool(replace), axis, n, kind)
    dynamic = (a if n is None else None, p)
    return draw("choice", _choice, static, dynamic, key, device)


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
    check(p, lambda q: (q >= 0) & (q <= 1), "bernoulli", "p", "between 0 and 1")
    kind = float_for(None, "bernoulli", p)
    kind = kind if dtype is None else named_dtype(dtype, "bernoulli")
    static = (shape_of("bernoulli", size, p), kind)
    return draw("bernoulli", _bernoulli, static, (p,), key, device)


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
    return draw("make_random_key", _one_key, (), (), key, device)


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
    static = shape_from("make_random_keys", n)
    return draw("make_random_keys", jax.random.split, static, (), key, device)


def _normal(key: jax.Array, shape: Shape, dtype: Any, mean: Any, std: Any) -> jax.Array:
    noise = jax.random.normal(key, shape, dtype)
    return jnp.asarray(mean, dtype) + jnp.asarray(std, dtype) * noise


def _uniform(
    key: jax.Array, shape: Shape, dtype: Any, low: Any, high: Any
) -> jax.Array:
    low, high = jnp.asarray(low, dtype), jnp.asarray(high, dtype)
    return jax.random.uniform(key, shape, dtype, low, high)


def _randint(
    key: jax.Array, shape: Shape, dtype: Any, low: Any, high: Any
) -> jax.Array:
    return jax.random.randint(key, shape, low, high, dtype)


def _randperm(key: jax.Array, n: int, dtype: Any) -> jax.Array:
    return jax.random.permutation(key, jnp.arange(n, dtype=dtype))


def _choice(
    key: jax.Array,
    shape: Shape,
    replace: bool,
    axis: int,
    n: int | None,
    dtype: Any,
    a: Any,
    p: Any,
) -> jax.Array:
    drawn = jax.random.choice(key, a if n is None else n, shape, replace, p, axis)
    return drawn if dtype is None else drawn.astype(dtype)


def _bernoulli(key: jax.Array, shape: Shape, dtype: Any, p: Any) -> jax.Array:
    return jax.random.bernoulli(key, p, shape).astype(dtype)


def _one_key(key: jax.Array) -> jax.Array:
    return key
