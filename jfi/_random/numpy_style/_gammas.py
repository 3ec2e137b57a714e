"""Gamma distributions, and what is made of gamma numbers."""

from typing import Any

import jax
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from . import _samplers
from ._drawing import NON_NEGATIVE, POSITIVE, Options, draw_floats
from ._key_first import key_by_name, key_first


@key_first(jax.random.beta)
def beta(
    a: ArrayLike,
    b: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from beta distributions, which lie between 0 and 1.

    >>> import jfi as jnp
    >>> jnp.random.beta(2.0, 2.0, size=3).shape
    (3,)

    Args:
        a: The first exponent plus 1, a positive number or array.
        b: The second exponent plus 1, a positive number or array.
        size: The shape; that of a and b together if not given.
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
        "beta", _samplers.beta, options, a=(a, POSITIVE), b=(b, POSITIVE)
    )


@key_first(jax.random.chisquare)
def chisquare(
    df: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from chi-squared distributions.

    >>> import jfi as jnp
    >>> jnp.random.chisquare(2.0, size=3).shape
    (3,)

    Args:
        df: Degrees of freedom, a positive number or array.
        size: The shape; that of df if not given.
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
    return draw_floats("chisquare", _samplers.chisquare, options, df=(df, POSITIVE))


@key_first(jax.random.f)
def f(
    dfnum: ArrayLike,
    dfden: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from Fisher's F distributions.

    >>> import jfi as jnp
    >>> jnp.random.f(2.0, 2.0, size=3).shape
    (3,)

    Args:
        dfnum: Degrees of freedom above, a positive number or array.
        dfden: Degrees of freedom below, a positive number or array.
        size: The shape; that of dfnum and dfden together if not given.
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
        "f", _samplers.f, options, dfnum=(dfnum, POSITIVE), dfden=(dfden, POSITIVE)
    )


@key_first(jax.random.gamma)
def gamma(
    shape: ArrayLike,
    scale: ArrayLike = 1.0,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from gamma distributions.

    Of `jax.random.gamma(key, a, shape)` the name `shape` means the size; with `key=` it
    does so if `a=` is named too.

    >>> import jfi as jnp
    >>> jnp.random.gamma(2.0, 1.0, size=3).shape
    (3,)

    Args:
        shape: The form, often named a or k, a non-negative number or array.
        scale: The width, a non-negative number or array.
        size: The shape; that of shape and scale together if not given.
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
        "gamma",
        _samplers.gamma,
        options,
        shape=(shape, NON_NEGATIVE),
        scale=(scale, NON_NEGATIVE),
    )


@key_first(jax.random.loggamma)
def loggamma(
    a: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw logarithms of gamma numbers, also where those round to 0.

    >>> import jfi as jnp
    >>> jnp.random.loggamma(2.0, size=3).shape
    (3,)

    Args:
        a: The form of the gamma distribution, a positive number or array.
        size: The shape; that of a if not given.
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
    return draw_floats("loggamma", _samplers.loggamma, options, a=(a, POSITIVE))


@key_by_name
def noncentral_chisquare(
    df: ArrayLike,
    nonc: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw sums of squares of normal numbers whose means are not 0.

    Derivatives by `nonc` exist where `df` is above 1; elsewhere it chooses among
    distributions, which has none.

    >>> import jfi as jnp
    >>> jnp.random.noncentral_chisquare(2.0, 2.0, size=3).shape
    (3,)

    Args:
        df: Degrees of freedom, a positive number or array.
        nonc: The sum of the squared means, a non-negative number or array.
        size: The shape; that of df and nonc together if not given.
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
        "noncentral_chisquare",
        _samplers.noncentral_chisquare,
        options,
        df=(df, POSITIVE),
        nonc=(nonc, NON_NEGATIVE),
    )


@key_by_name
def noncentral_f(
    dfnum: ArrayLike,
    dfden: ArrayLike,
    nonc: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from Fisher's F distributions whose upper part is noncentral.

    >>> import jfi as jnp
    >>> jnp.random.noncentral_f(2.0, 2.0, 2.0, size=3).shape
    (3,)

    Args:
        dfnum: Degrees of freedom above, a positive number or array.
        dfden: Degrees of freedom below, a positive number or array.
        nonc: The sum of the squared means, not negative.
        size: The shape; that of dfnum, dfden and nonc together if not given.
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
        "noncentral_f",
        _samplers.noncentral_f,
        options,
        dfnum=(dfnum, POSITIVE),
        dfden=(dfden, POSITIVE),
        nonc=(nonc, NON_NEGATIVE),
    )


@key_by_name
def standard_gamma(
    shape: ArrayLike,
    size: Any = None,
    dtype: DTypeLike = None,
    *,
    key: jax.Array | None = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from gamma distributions of scale 1.

    >>> import jfi as jnp
    >>> jnp.random.standard_gamma(2.0, size=3).shape
    (3,)

    Args:
        shape: The form, a non-negative number or array.
        size: The shape; that of shape if not given.
        dtype: A float dtype; if not given that of float arrays among the parameters,
            else the default one.
        key: A random key to use in place of the global generator.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A parameter is out of bounds, or does not fit the size.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats(
        "standard_gamma", _samplers.standard_gamma, options, shape=(shape, NON_NEGATIVE)
    )


@key_by_name
def standard_t(
    df: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from Student's t distributions.

    >>> import jfi as jnp
    >>> jnp.random.standard_t(2.0, size=3).shape
    (3,)

    Args:
        df: Degrees of freedom, a positive number or array.
        size: The shape; that of df if not given.
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
    return draw_floats("standard_t", _samplers.t, options, df=(df, POSITIVE))


@key_first(jax.random.t)
def t(
    df: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from Student's t distributions, as `standard_t` does.

    >>> import jfi as jnp
    >>> jnp.random.t(2.0, size=3).shape
    (3,)

    Args:
        df: Degrees of freedom, a positive number or array.
        size: The shape; that of df if not given.
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
    return draw_floats("t", _samplers.t, options, df=(df, POSITIVE))
