"""Distributions of counts and other integers."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .. import _samplers as _distributions
from .._drawing import check, draw, float_for, integer_for, shape_of
from .._samplers import widest_float
from ..torch_style import draw_between, numbers, randint as draw_randint
from . import _samplers
from ._drawing import (
    CHANCE,
    COUNT,
    POSITIVE,
    PROBABILITY,
    RATE,
    Bound,
    Options,
    draw_integers,
    given,
)
from ._key_first import key_by_name, key_first


@key_first(jax.random.poisson)
def poisson(
    lam: ArrayLike = 1.0,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw how many events happen: Poisson distributions.

    >>> import jfi as jnp
    >>> jnp.random.poisson(3.5, size=3).shape
    (3,)

    Args:
        lam: Means, a non-negative number or array.
        size: The shape; that of lam if not given.
        key: A random key to use in place of the global generator.
        dtype: An integer dtype; int64 if not given, int32 without 64-bit types. Numbers
            beyond it become its last one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_integers("poisson", _distributions.poisson, options, lam=(lam, RATE))


@key_first(jax.random.geometric)
def geometric(
    p: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw how many trials the first success takes, itself included.

    >>> import jfi as jnp
    >>> jnp.random.geometric(0.25, size=3).shape
    (3,)

    Args:
        p: Probabilities of success, above 0.
        size: The shape; that of p if not given.
        key: A random key to use in place of the global generator.
        dtype: An integer dtype; int64 if not given, int32 without 64-bit types. Numbers
            beyond it become its last one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_integers("geometric", _samplers.geometric, options, p=(p, CHANCE))


@key_first(jax.random.binomial)
def binomial(
    n: ArrayLike,
    p: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw how many of n trials succeed.

    >>> import jfi as jnp
    >>> jnp.random.binomial(10, 0.25, size=3).shape
    (3,)

    Args:
        n: Numbers of trials, a whole number or an array.
        p: Probabilities of success, a number or an array.
        size: The shape; that of n and p together if not given.
        key: A random key to use in place of the global generator.
        dtype: An integer dtype; int64 if not given, int32 without 64-bit types. Numbers
            beyond it become its last one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    exact = 2 ** (53 if widest_float() == np.float64 else 24)  # as floats
    most = min(exact, np.iinfo(integer_for(dtype, "random.binomial")).max)
    small = Bound(lambda x: x <= most, f"at most {most}")
    given("random.binomial", "n", (n, small))
    options = Options(size, dtype, key, device)
    return draw_integers(
        "binomial", _samplers.binomial, options, n=(n, COUNT), p=(p, PROBABILITY)
    )


@key_by_name
def negative_binomial(
    n: ArrayLike,
    p: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw how many trials fail before n succeed.

    >>> import jfi as jnp
    >>> jnp.random.negative_binomial(10, 0.25, size=3).shape
    (3,)

    Args:
        n: Numbers of successes, a positive number or array.
        p: Probabilities of success, above 0.
        size: The shape; that of n and p together if not given.
        key: A random key to use in place of the global generator.
        dtype: An integer dtype; int64 if not given, int32 without 64-bit types. Numbers
            beyond it become its last one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_integers(
        "negative_binomial",
        _samplers.negative_binomial,
        options,
        n=(n, POSITIVE),
        p=(p, CHANCE),
    )


@key_first(jax.random.multinomial)
def multinomial(
    n: ArrayLike,
    pvals: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw how often each of k outcomes comes in n trials.

    >>> import jfi as jnp
    >>> int(jnp.random.multinomial(20, [0.5, 0.25, 0.25]).sum())
    20

    Args:
        n: Numbers of trials, a whole number or an array.
        pvals: The probability of each outcome, `(..., k)`. The last one has what the
            others leave, as in NumPy.
        size: The shape without k; that of n and `pvals` together if not given.
        key: A random key to use in place of the global generator.
        dtype: An integer dtype; int64 if not given, int32 without 64-bit types.
        device: Where to create the array; see `resolve_device`.

    Returns:
        Numbers whose sum is n, `(*size, k)`.

    Raises:
        ValueError: The probabilities are negative or sum to more than 1, or a parameter
            does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    caller = "random.multinomial"
    n, pvals = (
        given(caller, "n", (n, COUNT)),
        given(caller, "pvals", (pvals, PROBABILITY)),
    )
    if not np.ndim(pvals) or not np.shape(pvals)[-1]:
        raise ValueError(
            f"{caller}() got pvals of shape {np.shape(pvals)}; write one probability "
            "for each outcome: pvals=[0.5, 0.5]."
        )
    float_for(None, caller, n, pvals)  # refuses complex numbers
    near = 1e-12 if jnp.result_type(pvals).itemsize > 4 else 1e-5
    few = lambda p: p[..., :-1].astype(np.float64).sum(-1) <= 1 + near
    check(pvals, few, caller, "pvals", "of sum 1 at most")
    shape = shape_of(caller, size, n, np.empty(np.shape(pvals)[:-1], bool))
    static = (shape, integer_for(dtype, caller))
    return draw(caller, _samplers.multinomial, static, (n, pvals), key, device)


@key_by_name
def integers(
    low: ArrayLike,
    high: Any = None,
    size: Any = None,
    dtype: DTypeLike = None,
    endpoint: bool = False,
    *,
    key: jax.Array | None = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw integers from [low, high), or from [0, low) if there is no high.

    >>> import jfi as jnp
    >>> jnp.random.integers(1, 6, 100, endpoint=True).max()
    Array(6, dtype=int32)

    Args:
        low: Least integers; the upper ends if `high` is left out.
        high: Upper ends, themselves not drawn unless `endpoint`.
        size: The shape; that of low and high together if not given.
        dtype: An integer dtype; int64 if not given, int32 without 64-bit types.
        endpoint: Whether `high` is drawn too.
        key: A random key to use in place of the global generator.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: No integer is in the interval, or the dtype can't hold its ends.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    low = numbers("random.integers", "low", low)
    if high is None:
        low, high = 0, low
    return draw_between(
        "random.integers", low, high, size, dtype, key, device, endpoint=endpoint
    )


@key_first(jax.random.randint)
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
    >>> jnp.random.randint(0, 10, (3,)).shape
    (3,)

    Args:
        low: Least integers; the upper ends if `high` is left out.
        high: Upper ends, themselves not drawn.
        size: The shape; that of low and high together if not given.
        key: A random key to use in place of the global generator.
        dtype: An integer dtype; int64 if not given, int32 without 64-bit types.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: No integer is in the interval, or the dtype can't hold its ends.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    return draw_randint(
        low,
        high,
        size,
        key=key,
        dtype=dtype,
        device=device,
    )
