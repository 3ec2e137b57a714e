"""Gamma distributions, and what is made of gamma numbers."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .._drawing import Key, Size
from . import _samplers
from ._declaring import NON_NEGATIVE, POSITIVE, drawn, draws_floats
from ._key_first import key_by_name, key_first
from ._samplers import as_in_jax


@key_first(jax.random.beta)
@draws_floats(as_in_jax(jax.random.beta), a=POSITIVE, b=POSITIVE)
def beta(
    a: ArrayLike, b: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from beta distributions, which lie between 0 and 1.

    >>> import jfi as jnp
    >>> jnp.random.beta(1e6, 3e6).round(2)
    Array(0.25, dtype=float32)

    Args:
        a: The first exponent plus 1, a positive number or array.
        b: The second exponent plus 1, a positive number or array.
    """
    return drawn(beta, (a, b), size, key, dtype, device)


@key_first(jax.random.chisquare)
@draws_floats(as_in_jax(jax.random.chisquare), df=POSITIVE)
def chisquare(
    df: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from chi-squared distributions.

    >>> import jfi as jnp
    >>> jnp.random.chisquare(1e6).round(-5)
    Array(1000000., dtype=float32)

    Args:
        df: Degrees of freedom, a positive number or array.
    """
    return drawn(chisquare, (df,), size, key, dtype, device)


@key_first(jax.random.f)
@draws_floats(as_in_jax(jax.random.f), dfnum=POSITIVE, dfden=POSITIVE)
def f(
    dfnum: ArrayLike, dfden: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from Fisher's F distributions.

    >>> import jfi as jnp
    >>> jnp.random.f(1e6, 1e6).round(1)
    Array(1., dtype=float32)

    Args:
        dfnum: Degrees of freedom above, a positive number or array.
        dfden: Degrees of freedom below, a positive number or array.
    """
    return drawn(f, (dfnum, dfden), size, key, dtype, device)


@key_first(jax.random.gamma)
@draws_floats(_samplers.gamma, shape=NON_NEGATIVE, scale=NON_NEGATIVE)
def gamma(
    shape: ArrayLike, scale: ArrayLike = 1.0, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from gamma distributions.

    Of `jax.random.gamma(key, a, shape)` the name `shape` means the size; with `key=` it
    does so if `a=` is named too.

    >>> import jfi as jnp
    >>> jnp.random.gamma(1e6, 2.0).round(-5)
    Array(2000000., dtype=float32)

    Args:
        shape: The form, often named a or k, a non-negative number or array.
        scale: The width, a non-negative number or array.
    """
    return drawn(gamma, (shape, scale), size, key, dtype, device)


@key_first(jax.random.loggamma)
@draws_floats(as_in_jax(jax.random.loggamma), a=POSITIVE)
def loggamma(
    a: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw logarithms of gamma numbers, also where those round to 0.

    >>> import jfi as jnp
    >>> jnp.random.loggamma(1e6).round(1)
    Array(13.8, dtype=float32)

    Args:
        a: The form of the gamma distribution, a positive number or array.
    """
    return drawn(loggamma, (a,), size, key, dtype, device)


@key_by_name
@draws_floats(_samplers.noncentral_chisquare, df=POSITIVE, nonc=NON_NEGATIVE)
def noncentral_chisquare(
    df: ArrayLike, nonc: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw sums of squares of normal numbers whose means are not 0.

    Derivatives by `nonc` exist where `df` is above 1; elsewhere it chooses among
    distributions, which has none.

    >>> import jfi as jnp
    >>> jnp.random.noncentral_chisquare(2.0, 1e6).round(-5)
    Array(1000000., dtype=float32)

    Args:
        df: Degrees of freedom, a positive number or array.
        nonc: The sum of the squared means, a non-negative number or array.
    """
    return drawn(noncentral_chisquare, (df, nonc), size, key, dtype, device)


@key_by_name
@draws_floats(_samplers.noncentral_f, dfnum=POSITIVE, dfden=POSITIVE, nonc=NON_NEGATIVE)
def noncentral_f(
    dfnum: ArrayLike, dfden: ArrayLike, nonc: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from Fisher's F distributions whose upper part is noncentral.

    >>> import jfi as jnp
    >>> jnp.random.noncentral_f(1e6, 1e6, 1e6).round(1)
    Array(2., dtype=float32)

    Args:
        dfnum: Degrees of freedom above, a positive number or array.
        dfden: Degrees of freedom below, a positive number or array.
        nonc: The sum of the squared means, not negative.
    """
    return drawn(noncentral_f, (dfnum, dfden, nonc), size, key, dtype, device)


@key_by_name
@draws_floats(_samplers.standard_gamma, shape=NON_NEGATIVE)
def standard_gamma(
    shape: ArrayLike, size: Size = None, dtype: DTypeLike = None, *,
    key: Key | None = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from gamma distributions of scale 1.

    >>> import jfi as jnp
    >>> jnp.random.standard_gamma(1e6).round(-5)
    Array(1000000., dtype=float32)

    Args:
        shape: The form, a non-negative number or array.
    """
    return drawn(standard_gamma, (shape,), size, key, dtype, device)


@key_by_name
@draws_floats(_samplers.t, df=POSITIVE)
def standard_t(
    df: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from Student's t distributions.

    >>> import jfi as jnp
    >>> bool(abs(jnp.random.standard_t(1e6)) < 10)
    True

    Args:
        df: Degrees of freedom, a positive number or array.
    """
    return drawn(standard_t, (df,), size, key, dtype, device)


@key_first(jax.random.t)
@draws_floats(_samplers.t, df=POSITIVE)
def t(
    df: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from Student's t distributions, as `standard_t` does.

    >>> import jfi as jnp
    >>> bool(abs(jnp.random.t(1e6)) < 10)
    True

    Args:
        df: Degrees of freedom, a positive number or array.
    """
    return drawn(t, (df,), size, key, dtype, device)
