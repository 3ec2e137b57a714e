"""Distributions without parameters."""

from __future__ import annotations

import jax
import numpy as np

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .._documented import documented
from .._drawing import Key, Size, draw, drawn_shape, integer_for
from ._declaring import drawn, draws_floats, draws_integers
from ._key_first import key_by_name, key_first


@key_by_name
@draws_floats(jax.random.uniform)
def random(
    size: Size = None, dtype: DTypeLike = None, *,
    key: Key | None = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw uniformly from [0, 1).

    >>> import jfi as jnp
    >>> x = jnp.random.random(size=3)
    >>> bool(((0 <= x) & (x < 1)).all())
    True
    """
    return drawn(random, (), size, key, dtype, device)


@key_by_name
@draws_floats(jax.random.normal)
def standard_normal(
    size: Size = None, dtype: DTypeLike = None, *,
    key: Key | None = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from the standard normal distribution.

    >>> import jfi as jnp
    >>> jnp.manual_seed(0)
    >>> jnp.random.standard_normal(size=3)
    Array([ 1.0040, -0.9063, -0.7482], dtype=float32)
    """
    return drawn(standard_normal, (), size, key, dtype, device)


@key_by_name
@draws_floats(jax.random.exponential)
def standard_exponential(
    size: Size = None, dtype: DTypeLike = None, *,
    key: Key | None = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from the exponential distribution of mean 1.

    >>> import jfi as jnp
    >>> bool((jnp.random.standard_exponential(size=3) >= 0).all())
    True
    """
    return drawn(standard_exponential, (), size, key, dtype, device)


@key_by_name
@draws_floats(jax.random.cauchy)
def standard_cauchy(
    size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from the standard Cauchy distribution.

    >>> import jfi as jnp
    >>> jnp.manual_seed(0)
    >>> jnp.random.standard_cauchy(size=3)
    Array([ 1.8507, -1.5500, -1.1548], dtype=float32)
    """
    return drawn(standard_cauchy, (), size, key, dtype, device)


@key_first(jax.random.cauchy, takes_arrays=False)
@draws_floats(jax.random.cauchy)
def cauchy(
    size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from the standard Cauchy distribution, as `standard_cauchy` does.

    >>> import jfi as jnp
    >>> jnp.manual_seed(0)
    >>> jnp.random.cauchy(size=3)
    Array([ 1.8507, -1.5500, -1.1548], dtype=float32)
    """
    return drawn(cauchy, (), size, key, dtype, device)


@key_first(jax.random.maxwell, takes_arrays=False)
@draws_floats(jax.random.maxwell)
def maxwell(
    size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from the Maxwell distribution, that of the length of a normal 3-vector.

    >>> import jfi as jnp
    >>> bool((jnp.random.maxwell(size=3) >= 0).all())
    True
    """
    return drawn(maxwell, (), size, key, dtype, device)


@key_first(jax.random.rademacher, takes_arrays=False)
@draws_integers(jax.random.rademacher)
def rademacher(
    size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw -1 or 1.

    >>> import jfi as jnp
    >>> sorted(set(jnp.random.rademacher(size=100).tolist()))
    [-1, 1]
    """
    return drawn(rademacher, (), size, key, dtype, device)


@key_first(jax.random.bits, takes_arrays=False)
@documented
def bits(
    size: Size = None, dtype: DTypeLike = None, *,
    key: Key | None = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw unsigned integers whose bits are all random.

    >>> import jfi as jnp
    >>> jnp.manual_seed(0)
    >>> jnp.random.bits(3, "uint8")
    Array([225,  92, 236], dtype=uint8)

    Args:
        dtype: An unsigned dtype; uint64 if not given, uint32 without 64-bit types.

    Raises:
        TypeError: The dtype is not unsigned.
    """
    widest = jax.dtypes.canonicalize_dtype(np.uint64)
    kind = integer_for(widest if dtype is None else dtype, "random.bits")
    if not np.issubdtype(kind, np.unsignedinteger):
        raise TypeError(
            f"random.bits() got dtype={kind.name}; it draws an unsigned dtype. "
            "Write jnp.random.integers for others."
        )
    static = (drawn_shape("random.bits", size), kind)
    return draw("random.bits", jax.random.bits, static, (), key, device)
