"""Distributions with a place and a width."""

from typing import Any

import jax
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .. import _samplers as _distributions
from . import _samplers
from ._drawing import ANY, NON_NEGATIVE, Options, draw_floats
from ._key_first import key_first


@key_first(jax.random.normal)
def normal(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from normal distributions.

    >>> import jfi as jnp
    >>> jnp.random.normal(10.0, 0.1, size=3).shape
    (3,)

    Args:
        loc: Means, a number or an array.
        scale: Standard deviations, a non-negative number or array.
        size: The shape; that of loc and scale together if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of float arrays among the parameters,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats(
        "normal",
        _distributions.normal,
        options,
        loc=(loc, ANY),
        scale=(scale, NON_NEGATIVE),
    )


@key_first(jax.random.lognormal)
def lognormal(
    mean: ArrayLike = 0.0,
    sigma: ArrayLike = 1.0,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw numbers whose logarithm is normal.

    >>> import jfi as jnp
    >>> jnp.random.lognormal(0.0, 1.0, size=3).shape
    (3,)

    Args:
        mean: Means of the logarithm, a number or an array.
        sigma: Standard deviations of the logarithm, not negative.
        size: The shape; that of mean and sigma together if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of float arrays among the parameters,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats(
        "lognormal",
        _samplers.lognormal,
        options,
        mean=(mean, ANY),
        sigma=(sigma, NON_NEGATIVE),
    )


@key_first(jax.random.gumbel)
def gumbel(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from Gumbel distributions, those of maxima.

    >>> import jfi as jnp
    >>> jnp.random.gumbel(0.0, 1.0, size=3).shape
    (3,)

    Args:
        loc: Where the centre is, a number or an array.
        scale: How wide it is, a non-negative number or array.
        size: The shape; that of loc and scale together if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of float arrays among the parameters,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats(
        "gumbel", _samplers.gumbel, options, loc=(loc, ANY), scale=(scale, NON_NEGATIVE)
    )


@key_first(jax.random.laplace)
def laplace(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from Laplace distributions, exponential on both sides.

    >>> import jfi as jnp
    >>> jnp.random.laplace(0.0, 1.0, size=3).shape
    (3,)

    Args:
        loc: Where the centre is, a number or an array.
        scale: How wide it is, a non-negative number or array.
        size: The shape; that of loc and scale together if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of float arrays among the parameters,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats(
        "laplace",
        _samplers.laplace,
        options,
        loc=(loc, ANY),
        scale=(scale, NON_NEGATIVE),
    )


@key_first(jax.random.logistic)
def logistic(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from logistic distributions.

    >>> import jfi as jnp
    >>> jnp.random.logistic(0.0, 1.0, size=3).shape
    (3,)

    Args:
        loc: Where the centre is, a number or an array.
        scale: How wide it is, a non-negative number or array.
        size: The shape; that of loc and scale together if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of float arrays among the parameters,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats(
        "logistic",
        _samplers.logistic,
        options,
        loc=(loc, ANY),
        scale=(scale, NON_NEGATIVE),
    )


@key_first(jax.random.double_sided_maxwell)
def double_sided_maxwell(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from Maxwell distributions with a random sign.

    >>> import jfi as jnp
    >>> jnp.random.double_sided_maxwell(0.0, 1.0, size=3).shape
    (3,)

    Args:
        loc: Where the centre is, a number or an array.
        scale: How wide it is, a non-negative number or array.
        size: The shape; that of loc and scale together if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of float arrays among the parameters,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats(
        "double_sided_maxwell",
        _samplers.double_sided_maxwell,
        options,
        loc=(loc, ANY),
        scale=(scale, NON_NEGATIVE),
    )


@key_first(jax.random.exponential)
def exponential(
    scale: ArrayLike = 1.0,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from exponential distributions.

    >>> import jfi as jnp
    >>> jnp.random.exponential(1.0, size=3).shape
    (3,)

    Args:
        scale: Means, that is 1 / rate, a non-negative number or array.
        size: The shape; that of scale if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of float arrays among the parameters,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats(
        "exponential", _samplers.exponential, options, scale=(scale, NON_NEGATIVE)
    )


@key_first(jax.random.rayleigh)
def rayleigh(
    scale: ArrayLike = 1.0,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from Rayleigh distributions, those of the length of a normal 2-vector.

    >>> import jfi as jnp
    >>> jnp.random.rayleigh(1.0, size=3).shape
    (3,)

    Args:
        scale: Modes, a non-negative number or array.
        size: The shape; that of scale if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; if not given that of float arrays among the parameters,
            else the default one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats(
        "rayleigh", _samplers.rayleigh, options, scale=(scale, NON_NEGATIVE)
    )
