"""Powers of exponential numbers, and other distributions with a form."""

from typing import Any

import jax
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from . import _samplers
from ._drawing import NON_NEGATIVE, POSITIVE, Options, draw_floats
from ._key_first import key_by_name, key_first


@key_first(jax.random.generalized_normal)
def generalized_normal(
    p: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from the distributions with the density exp(-|x|**p).

    >>> import jfi as jnp
    >>> jnp.random.generalized_normal(2.0, size=3).shape
    (3,)

    Args:
        p: The exponent, a positive number or array. 1 gives Laplace, 2 normal.
        size: The shape; that of p if not given.
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
        "generalized_normal", _samplers.generalized_normal, options, p=(p, POSITIVE)
    )


@key_first(jax.random.pareto)
def pareto(
    a: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from Pareto distributions of the second kind, which begin at 0.

    As in NumPy: add 1 for the classical one, which `jax.random.pareto(key, b)` draws.

    >>> import jfi as jnp
    >>> jnp.random.pareto(2.0, size=3).shape
    (3,)

    Args:
        a: The exponent, a positive number or array.
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
    return draw_floats("pareto", _samplers.pareto, options, a=(a, POSITIVE))


@key_by_name
def power(
    a: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from the distributions on [0, 1] with the density a * x**(a - 1).

    >>> import jfi as jnp
    >>> jnp.random.power(2.0, size=3).shape
    (3,)

    Args:
        a: The exponent of the density plus 1, a positive number or array.
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
    return draw_floats("power", _samplers.power, options, a=(a, POSITIVE))


@key_first(jax.random.wald)
def wald(
    mean: ArrayLike,
    scale: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from inverse Gaussian distributions.

    >>> import jfi as jnp
    >>> jnp.random.wald(1.0, 2.0, size=3).shape
    (3,)

    Args:
        mean: Means, a positive number or array.
        scale: The form, often named lambda, a positive number or array.
        size: The shape; that of mean and scale together if not given.
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
        "wald", _samplers.wald, options, mean=(mean, POSITIVE), scale=(scale, POSITIVE)
    )


@key_by_name
def weibull(
    a: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from Weibull distributions of scale 1.

    >>> import jfi as jnp
    >>> jnp.random.weibull(2.0, size=3).shape
    (3,)

    Args:
        a: The form, a non-negative number or array.
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
    return draw_floats("weibull", _samplers.weibull, options, a=(a, NON_NEGATIVE))


@key_first(jax.random.weibull_min)
def weibull_min(
    scale: ArrayLike,
    concentration: ArrayLike,
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from Weibull distributions.

    >>> import jfi as jnp
    >>> jnp.random.weibull_min(1.0, 2.0, size=3).shape
    (3,)

    Args:
        scale: The width, a non-negative number or array.
        concentration: The form, a positive number or array.
        size: The shape; that of scale and concentration together if not given.
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
        "weibull_min",
        _samplers.weibull_min,
        options,
        scale=(scale, NON_NEGATIVE),
        concentration=(concentration, POSITIVE),
    )
