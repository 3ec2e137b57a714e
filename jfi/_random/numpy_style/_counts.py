"""Distributions of counts and other integers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .. import _distributions
from .._distributions import widest_float
from .._documented import documented
from .._drawing import (
    Key,
    Size,
    check_bounds,
    draw,
    drawn_shape,
    float_for,
    integer_for,
)
from ..torch_style import draw_between, numbers, randint as draw_randint
from . import _samplers
from ._declaring import (
    CHANCE,
    COUNT,
    POSITIVE,
    PROBABILITY,
    RATE,
    ParameterBound,
    drawn,
    draws_integers,
    given,
)
from ._key_first import key_by_name, key_first


@key_first(jax.random.poisson)
@draws_integers(_distributions.poisson, lam=RATE)
def poisson(
    lam: ArrayLike = 1.0, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw how many events happen: Poisson distributions.

    >>> import jfi as jnp
    >>> jnp.random.poisson(0.0, 2)
    Array([0, 0], dtype=int32)

    Args:
        lam: Means, a non-negative number or array.
    """
    return drawn(poisson, (lam,), size, key, dtype, device)


@key_first(jax.random.geometric)
@draws_integers(_samplers.geometric, p=CHANCE)
def geometric(
    p: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw how many trials the first success takes, itself included.

    >>> import jfi as jnp
    >>> jnp.random.geometric(1.0, 2)
    Array([1, 1], dtype=int32)

    Args:
        p: Probabilities of success, above 0.
    """
    return drawn(geometric, (p,), size, key, dtype, device)


@key_first(jax.random.binomial)
@draws_integers(_samplers.binomial, n=COUNT, p=PROBABILITY)
def binomial(
    n: ArrayLike, p: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw how many of n trials succeed.

    >>> import jfi as jnp
    >>> jnp.random.binomial(10, [0.0, 1.0])
    Array([ 0, 10], dtype=int32)

    Args:
        n: Numbers of trials, a whole number or an array.
        p: Probabilities of success, a number or an array.
    """
    _few_trials("random.binomial", n, dtype)
    return drawn(binomial, (n, p), size, key, dtype, device)


@key_by_name
@draws_integers(_samplers.negative_binomial, n=POSITIVE, p=CHANCE)
def negative_binomial(
    n: ArrayLike, p: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw how many trials fail before n succeed.

    >>> import jfi as jnp
    >>> jnp.random.negative_binomial(10, 1.0)
    Array(0, dtype=int32)

    Args:
        n: Numbers of successes, a positive number or array.
        p: Probabilities of success, above 0.
    """
    return drawn(negative_binomial, (n, p), size, key, dtype, device)


@key_first(jax.random.multinomial)
@documented
def multinomial(
    n: ArrayLike, pvals: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw how often each of k outcomes comes in n trials.

    >>> import jfi as jnp
    >>> int(jnp.random.multinomial(20, [0.5, 0.25, 0.25]).sum())
    20

    Args:
        n: Numbers of trials, a whole number or an array.
        pvals: The probability of each outcome, `(..., k)`. The last one has what the
            others leave, as in NumPy.
        size: The shape without k; that of n and `pvals` together if not given.
        dtype: An integer dtype; int64 if not given, int32 without 64-bit types.

    Returns:
        Numbers whose sum is n, `(*size, k)`.

    Raises:
        ValueError: The probabilities are negative or sum to more than 1, or a parameter
            does not fit the size.
    """
    caller = "random.multinomial"
    _few_trials(caller, n, dtype)
    n = given(caller, "n", n, COUNT)
    pvals = given(caller, "pvals", pvals, PROBABILITY)
    if not np.ndim(pvals) or not np.shape(pvals)[-1]:
        raise ValueError(
            f"{caller}() got pvals of shape {np.shape(pvals)}; write one probability "
            "for each outcome: pvals=[0.5, 0.5]."
        )
    float_for(None, caller, n, pvals)  # refuses complex numbers
    near = 1e-12 if jnp.result_type(pvals).itemsize > 4 else 1e-5
    few = lambda p: p[..., :-1].astype(np.float64).sum(-1) <= 1 + near
    check_bounds(pvals, few, caller, "pvals", "of sum 1 at most")
    shape = drawn_shape(caller, size, n, np.empty(np.shape(pvals)[:-1], bool))
    static = (shape, integer_for(dtype, caller))
    return draw(caller, _samplers.multinomial, static, (n, pvals), key, device)


def _few_trials(caller: str, n: ArrayLike, dtype: DTypeLike) -> None:
    """Refuse numbers that floats, in which JAX counts, or the dtype can't hold."""
    exact = 2 ** (53 if widest_float() == np.float64 else 24)
    most = min(exact, np.iinfo(integer_for(dtype, caller)).max)
    given(caller, "n", n, ParameterBound(lambda x: x <= most, f"at most {most}"))


@key_by_name
@documented
def integers(
    low: ArrayLike,
    high: Any = None,
    size: Size = None,
    dtype: DTypeLike = None,
    endpoint: bool = False,
    *,
    key: Key | None = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw integers from [low, high), or from [0, low) if there is no high.

    >>> import jfi as jnp
    >>> sorted(set(jnp.random.integers(1, 6, 200, endpoint=True).tolist()))
    [1, 2, 3, 4, 5, 6]

    Args:
        low: Least integers; the upper ends if `high` is left out.
        high: Upper ends, themselves not drawn unless `endpoint`.
        dtype: An integer dtype; int64 if not given, int32 without 64-bit types.
        endpoint: Whether `high` is drawn too.

    Raises:
        ValueError: No integer is in the interval, or the dtype can't hold its ends.
    """
    low = numbers("random.integers", "low", low)
    if high is None:
        low, high = 0, low
    return draw_between(
        "random.integers", low, high, size, dtype, key, device, endpoint=endpoint
    )


@key_first(jax.random.randint)
@documented
def randint(
    low: ArrayLike, high: Any = None, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw integers from [low, high), or from [0, low) if there is no high.

    >>> import jfi as jnp
    >>> sorted(set(jnp.random.randint(0, 3, 100).tolist()))
    [0, 1, 2]

    Args:
        low: Least integers; the upper ends if `high` is left out.
        high: Upper ends, themselves not drawn.
        dtype: An integer dtype; int64 if not given, int32 without 64-bit types.

    Raises:
        ValueError: No integer is in the interval, or the dtype can't hold its ends.
    """
    return draw_randint(low, high, size, key=key, dtype=dtype, device=device)
