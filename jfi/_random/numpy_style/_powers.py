"""Powers of exponential numbers, and other distributions with a form."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .._drawing import Key, Size
from . import _samplers
from ._declaring import NON_NEGATIVE, POSITIVE, drawn, draws_floats
from ._key_first import key_by_name, key_first


@key_first(jax.random.generalized_normal)
@draws_floats(_samplers.generalized_normal, p=POSITIVE)
def generalized_normal(
    p: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from the distributions with the density exp(-|x|**p).

    >>> import jfi as jnp
    >>> bool(abs(jnp.random.generalized_normal(2.0)) < 10)
    True

    Args:
        p: The exponent, a positive number or array. 1 gives Laplace, 2 normal.
    """
    return drawn(generalized_normal, (p,), size, key, dtype, device)


@key_first(jax.random.pareto)
@draws_floats(_samplers.pareto, a=POSITIVE)
def pareto(
    a: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from Pareto distributions of the second kind, which begin at 0.

    As in NumPy: add 1 for the classical one, which `jax.random.pareto(key, b)` draws.

    >>> import jfi as jnp
    >>> bool((jnp.random.pareto(2.0, size=3) >= 0).all())
    True

    Args:
        a: The exponent, a positive number or array.
    """
    return drawn(pareto, (a,), size, key, dtype, device)


@key_by_name
@draws_floats(_samplers.power, a=POSITIVE)
def power(
    a: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from the distributions on [0, 1] with the density a * x**(a - 1).

    >>> import jfi as jnp
    >>> x = jnp.random.power(2.0, size=3)
    >>> bool(((0 <= x) & (x <= 1)).all())
    True

    Args:
        a: The exponent of the density plus 1, a positive number or array.
    """
    return drawn(power, (a,), size, key, dtype, device)


@key_first(jax.random.wald)
@draws_floats(_samplers.wald, mean=POSITIVE, scale=POSITIVE)
def wald(
    mean: ArrayLike, scale: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from inverse Gaussian distributions.

    >>> import jfi as jnp
    >>> jnp.random.wald(3.0, 1e8).round(1)
    Array(3., dtype=float32)

    Args:
        mean: Means, a positive number or array.
        scale: The form, often named lambda, a positive number or array.
    """
    return drawn(wald, (mean, scale), size, key, dtype, device)


@key_by_name
@draws_floats(_samplers.weibull, a=NON_NEGATIVE)
def weibull(
    a: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from Weibull distributions of scale 1.

    >>> import jfi as jnp
    >>> bool((jnp.random.weibull(2.0, size=3) >= 0).all())
    True

    Args:
        a: The form, a non-negative number or array.
    """
    return drawn(weibull, (a,), size, key, dtype, device)


@key_first(jax.random.weibull_min)
@draws_floats(_samplers.weibull_min, scale=NON_NEGATIVE, concentration=POSITIVE)
def weibull_min(
    scale: ArrayLike, concentration: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw from Weibull distributions.

    >>> import jfi as jnp
    >>> jnp.random.weibull_min(5.0, 1e6).round(1)
    Array(5., dtype=float32)

    Args:
        scale: The width, a non-negative number or array.
        concentration: The form, a positive number or array.
    """
    return drawn(weibull_min, (scale, concentration), size, key, dtype, device)
