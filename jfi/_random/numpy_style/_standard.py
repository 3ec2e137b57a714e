"""Distributions without parameters."""

from typing import Any

import jax
import numpy as np

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .._drawing import draw, integer_for, shape_of
from ._drawing import Options, draw_floats, draw_integers
from ._key_first import key_by_name, key_first


@key_by_name
def random(
    size: Any = None,
    dtype: DTypeLike = None,
    *,
    key: jax.Array | None = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw uniformly from [0, 1).

    >>> import jfi as jnp
    >>> jnp.random.random(size=3).shape
    (3,)

    Args:
        size: The shape; one number if not given.
        dtype: A float dtype; the default one if not given.
        key: A random key to use in place of the global generator.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A size is negative.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats("random", jax.random.uniform, options)


@key_by_name
def standard_normal(
    size: Any = None,
    dtype: DTypeLike = None,
    *,
    key: jax.Array | None = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from the standard normal distribution.

    >>> import jfi as jnp
    >>> jnp.random.standard_normal(size=3).shape
    (3,)

    Args:
        size: The shape; one number if not given.
        dtype: A float dtype; the default one if not given.
        key: A random key to use in place of the global generator.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A size is negative.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats("standard_normal", jax.random.normal, options)


@key_by_name
def standard_exponential(
    size: Any = None,
    dtype: DTypeLike = None,
    *,
    key: jax.Array | None = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from the exponential distribution of mean 1.

    >>> import jfi as jnp
    >>> jnp.random.standard_exponential(size=3).shape
    (3,)

    Args:
        size: The shape; one number if not given.
        dtype: A float dtype; the default one if not given.
        key: A random key to use in place of the global generator.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A size is negative.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats("standard_exponential", jax.random.exponential, options)


@key_by_name
def standard_cauchy(
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from the standard Cauchy distribution.

    >>> import jfi as jnp
    >>> jnp.random.standard_cauchy(size=3).shape
    (3,)

    Args:
        size: The shape; one number if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; the default one if not given.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A size is negative.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats("standard_cauchy", jax.random.cauchy, options)


@key_first(jax.random.cauchy, takes_arrays=False)
def cauchy(
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from the standard Cauchy distribution, as `standard_cauchy` does.

    >>> import jfi as jnp
    >>> jnp.random.cauchy(size=3).shape
    (3,)

    Args:
        size: The shape; one number if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; the default one if not given.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A size is negative.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats("cauchy", jax.random.cauchy, options)


@key_first(jax.random.maxwell, takes_arrays=False)
def maxwell(
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw from the Maxwell distribution, that of the length of a normal 3-vector.

    >>> import jfi as jnp
    >>> jnp.random.maxwell(size=3).shape
    (3,)

    Args:
        size: The shape; one number if not given.
        key: A random key to use in place of the global generator.
        dtype: A float dtype; the default one if not given.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A size is negative.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_floats("maxwell", jax.random.maxwell, options)


@key_first(jax.random.rademacher, takes_arrays=False)
def rademacher(
    size: Any = None,
    *,
    key: jax.Array | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw -1 or 1.

    >>> import jfi as jnp
    >>> jnp.random.rademacher(size=3).shape
    (3,)

    Args:
        size: The shape; one number if not given.
        key: A random key to use in place of the global generator.
        dtype: An integer dtype; int64 if not given, int32 without 64-bit types. Numbers
            beyond it become its last one.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        ValueError: A size is negative.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    options = Options(size, dtype, key, device)
    return draw_integers("rademacher", jax.random.rademacher, options)


@key_first(jax.random.bits, takes_arrays=False)
def bits(
    size: Any = None,
    dtype: DTypeLike = None,
    *,
    key: jax.Array | None = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw unsigned integers whose bits are all random.

    >>> import jfi as jnp
    >>> jnp.random.bits(3, "uint8").dtype
    dtype('uint8')

    Args:
        size: The shape; one number if not given.
        dtype: An unsigned dtype; uint64 if not given, uint32 without 64-bit types.
        key: A random key to use in place of the global generator.
        device: Where to create the array; see `resolve_device`.

    Returns:
        An array of the given shape.

    Raises:
        TypeError: The dtype is not unsigned.
        RandomError: No fresh number can be given here, or `key` is no key.
    """
    widest = jax.dtypes.canonicalize_dtype(np.uint64)
    kind = integer_for(widest if dtype is None else dtype, "random.bits")
    if not np.issubdtype(kind, np.unsignedinteger):
        raise TypeError(
            f"random.bits() got dtype={kind.name}; it draws an unsigned dtype. "
            "Write jnp.random.integers for others."
        )
    static = (shape_of("random.bits", size), kind)
    return draw("random.bits", jax.random.bits, static, (), key, device)
