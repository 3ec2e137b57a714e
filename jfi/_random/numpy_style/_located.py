"""Distributions with a place and a width."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .. import _distributions
from .._drawing import Key, Size
from . import _samplers
from ._declaring import NON_NEGATIVE, drawn, draws_floats
from ._key_first import key_first
from ._samplers import located, scaled


@key_first(jax.random.normal)
@draws_floats(_distributions.normal, scale=NON_NEGATIVE)
def normal(
    loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from normal distributions.

    >>> import jfi as jnp
    >>> jnp.random.normal([100.0, 200.0], 1.0).round(-2)
    Array([100., 200.], dtype=float32)

    Args:
        loc: Means, a number or an array.
        scale: Standard deviations, a non-negative number or array.
    """
    return drawn(normal, (loc, scale), size, key, dtype, device)


@key_first(jax.random.lognormal)
@draws_floats(_samplers.lognormal, sigma=NON_NEGATIVE)
def lognormal(
    mean: ArrayLike = 0.0, sigma: ArrayLike = 1.0, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw numbers whose logarithm is normal.

    >>> import jfi as jnp
    >>> jnp.random.lognormal(5.0, 0.0)
    Array(148.4132, dtype=float32)

    Args:
        mean: Means of the logarithm, a number or an array.
        sigma: Standard deviations of the logarithm, not negative.
    """
    return drawn(lognormal, (mean, sigma), size, key, dtype, device)


@key_first(jax.random.gumbel)
@draws_floats(located(jax.random.gumbel), scale=NON_NEGATIVE)
def gumbel(
    loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from Gumbel distributions, those of maxima.

    >>> import jfi as jnp
    >>> jnp.random.gumbel([100.0, 200.0], 1.0).round(-2)
    Array([100., 200.], dtype=float32)

    Args:
        loc: Where the centre is, a number or an array.
        scale: How wide it is, a non-negative number or array.
    """
    return drawn(gumbel, (loc, scale), size, key, dtype, device)


@key_first(jax.random.laplace)
@draws_floats(located(jax.random.laplace), scale=NON_NEGATIVE)
def laplace(
    loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from Laplace distributions, exponential on both sides.

    >>> import jfi as jnp
    >>> jnp.random.laplace([100.0, 200.0], 1.0).round(-2)
    Array([100., 200.], dtype=float32)

    Args:
        loc: Where the centre is, a number or an array.
        scale: How wide it is, a non-negative number or array.
    """
    return drawn(laplace, (loc, scale), size, key, dtype, device)


@key_first(jax.random.logistic)
@draws_floats(located(_samplers.standard_logistic), scale=NON_NEGATIVE)
def logistic(
    loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from logistic distributions.

    >>> import jfi as jnp
    >>> jnp.random.logistic([100.0, 200.0], 1.0).round(-2)
    Array([100., 200.], dtype=float32)

    Args:
        loc: Where the centre is, a number or an array.
        scale: How wide it is, a non-negative number or array.
    """
    return drawn(logistic, (loc, scale), size, key, dtype, device)


@key_first(jax.random.double_sided_maxwell)
@draws_floats(located(_samplers.sided_maxwell), scale=NON_NEGATIVE)
def double_sided_maxwell(
    loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from Maxwell distributions with a random sign.

    >>> import jfi as jnp
    >>> jnp.random.double_sided_maxwell([100.0, 200.0], 1.0).round(-2)
    Array([100., 200.], dtype=float32)

    Args:
        loc: Where the centre is, a number or an array.
        scale: How wide it is, a non-negative number or array.
    """
    return drawn(double_sided_maxwell, (loc, scale), size, key, dtype, device)


@key_first(jax.random.exponential)
@draws_floats(scaled(jax.random.exponential), scale=NON_NEGATIVE)
def exponential(
    scale: ArrayLike = 1.0, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from exponential distributions.

    >>> import jfi as jnp
    >>> bool((jnp.random.exponential(2.0, size=3) >= 0).all())
    True

    Args:
        scale: Means, that is 1 / rate, a non-negative number or array.
    """
    return drawn(exponential, (scale,), size, key, dtype, device)


@key_first(jax.random.rayleigh)
@draws_floats(scaled(_samplers.rayleigh), scale=NON_NEGATIVE)
def rayleigh(
    scale: ArrayLike = 1.0, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from Rayleigh distributions, those of the length of a normal 2-vector.

    >>> import jfi as jnp
    >>> bool((jnp.random.rayleigh(2.0, size=3) >= 0).all())
    True

    Args:
        scale: Modes, a non-negative number or array.
    """
    return drawn(rayleigh, (scale,), size, key, dtype, device)
