"""What each NumPy-style draw compiles, where `jax.random` has no such function."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._distributions import (
    at_least_single,
    for_each_draw,
    poisson,
    whole,
    widest_float,
)


Shape = tuple[int, ...]
Standard = Callable[[jax.Array, Shape, Any], jax.Array]
Sampler = Callable[..., jax.Array]


def located(standard: Standard) -> Sampler:
    """`loc + scale * standard`."""

    def sample(key: jax.Array, shape: Shape, dtype: Any, loc: Any, scale: Any) -> Any:
        drawn = standard(key, shape, dtype)
        return (
            for_each_draw(loc, dtype, shape)
            + for_each_draw(scale, dtype, shape) * drawn
        )

    return sample


def scaled(standard: Standard) -> Sampler:
    """`scale * standard`."""

    def sample(key: jax.Array, shape: Shape, dtype: Any, scale: Any) -> jax.Array:
        return for_each_draw(scale, dtype, shape) * standard(key, shape, dtype)

    return sample


def as_in_jax(theirs: Callable[..., Any]) -> Sampler:
    """A function of `jax.random` that takes its parameters before the shape."""

    def sample(key: jax.Array, shape: Shape, dtype: Any, *parameters: Any) -> Any:
        given = [for_each_draw(x, dtype, shape) for x in parameters]
        return theirs(key, *given, shape, dtype)

    return sample


def _signed(key: jax.Array, shape: Shape, dtype: Any, size: Any) -> jax.Array:
    """Numbers with a sign drawn for each."""
    return jnp.where(jax.random.bernoulli(key, 0.5, shape), size, -size).astype(dtype)


def sided_maxwell(key: jax.Array, shape: Shape, dtype: Any) -> jax.Array:
    first, second = jax.random.split(key)
    return _signed(first, shape, dtype, jax.random.maxwell(second, shape, dtype))


def rayleigh(key: jax.Array, shape: Shape, dtype: Any) -> jax.Array:
    return jnp.sqrt(2 * jax.random.exponential(key, shape, dtype))


def standard_logistic(key: jax.Array, shape: Shape, dtype: Any) -> jax.Array:
    u = jax.random.uniform(key, shape, dtype, minval=_tiny(dtype))
    # JAX takes the logarithm of the smallest float, -87, once in 8 million draws.
    u = jnp.maximum(u, jnp.finfo(dtype).eps / 2)  # type: ignore[no-untyped-call]
    return jnp.log(u) - jnp.log1p(-u)


standard_gamma = as_in_jax(jax.random.gamma)
t = as_in_jax(jax.random.t)


def gamma(key: jax.Array, size: Shape, dtype: Any, shape: Any, scale: Any) -> jax.Array:
    return for_each_draw(scale, dtype, size) * standard_gamma(key, size, dtype, shape)


def lognormal(
    key: jax.Array, shape: Shape, dtype: Any, mean: Any, sigma: Any
) -> jax.Array:
    noise = jax.random.normal(key, shape, dtype)
    return jnp.exp(
        for_each_draw(mean, dtype, shape) + for_each_draw(sigma, dtype, shape) * noise
    )


def pareto(key: jax.Array, shape: Shape, dtype: Any, a: Any) -> jax.Array:
    return jnp.expm1(
        jax.random.exponential(key, shape, dtype) / for_each_draw(a, dtype, shape)
    )


def power(key: jax.Array, shape: Shape, dtype: Any, a: Any) -> jax.Array:
    below = -jnp.expm1(-jax.random.exponential(key, shape, dtype))
    return below ** (1 / for_each_draw(a, dtype, shape))


def weibull_min(
    key: jax.Array, shape: Shape, dtype: Any, scale: Any, concentration: Any
) -> jax.Array:
    return for_each_draw(scale, dtype, shape) * weibull(
        key, shape, dtype, concentration
    )


def weibull(key: jax.Array, shape: Shape, dtype: Any, a: Any) -> jax.Array:
    a = for_each_draw(a, dtype, shape)
    drawn = jax.random.exponential(key, shape, dtype) ** (1 / jnp.where(a == 0, 1, a))
    return jnp.where(a == 0, 0, drawn)  # as NumPy has it


def triangular(
    key: jax.Array, shape: Shape, dtype: Any, left: Any, mode: Any, right: Any
) -> jax.Array:
    left, right = for_each_draw(left, dtype, shape), for_each_draw(right, dtype, shape)
    mode = for_each_draw(mode, dtype, shape)
    middle = (mode - left) / (right - left)
    u = jax.random.uniform(key, shape, dtype, minval=_tiny(dtype))
    rising = u < middle
    # One root of the half that is taken: the other's may have an infinite derivative.
    root = jnp.sqrt(jnp.where(rising, u * middle, (1 - u) * (1 - middle)))
    drawn: jax.Array = left + (right - left) * jnp.where(rising, root, 1 - root)
    return drawn


def wald(key: jax.Array, shape: Shape, dtype: Any, mean: Any, scale: Any) -> jax.Array:
    """Inverse Gaussian numbers, without the cancellation of the textbook formula.

    J. R. Michael, W. R. Schucany, R. W. Haas, Generating Random Variates Using
    Transformations with Multiple Roots (1976).
    """
    first, second = jax.random.split(key)
    mean, scale = (for_each_draw(x, dtype, shape) for x in (mean, scale))
    y = jnp.maximum(jax.random.normal(first, shape, dtype) ** 2, _tiny(dtype))
    w = mean * y / (2 * scale)
    ratio = 1 + w + jnp.sqrt(w) * jnp.sqrt(w + 2)  # of the larger root to the mean
    small = jax.random.uniform(second, shape, dtype) * (1 + 1 / ratio) <= 1
    return jnp.where(small, mean / ratio, mean * ratio)


def noncentral_chisquare(
    key: jax.Array, shape: Shape, dtype: Any, df: Any, nonc: Any
) -> jax.Array:
    df, nonc = for_each_draw(df, dtype, shape), for_each_draw(nonc, dtype, shape)
    kept, mixed, rest = jax.random.split(key, 3)
    above = df > 1
    shift = jnp.sqrt(jnp.where(nonc > 0, nonc, 1)) * (nonc > 0)
    moved = (jax.random.normal(kept, shape, dtype) + shift) ** 2
    # Up to one degree of freedom there is none to move: their number is drawn.
    more = 2 * poisson(mixed, shape, dtype, nonc / 2)
    freedom = jnp.where(above, df - 1, df + more)
    others = jax.random.chisquare(rest, freedom, shape, dtype)
    drawn: jax.Array = jnp.where(above, moved, 0) + others
    return drawn


def noncentral_f(
    key: jax.Array, shape: Shape, dtype: Any, dfnum: Any, dfden: Any, nonc: Any
) -> jax.Array:
    above, below = jax.random.split(key)
    dfnum, dfden = (
        for_each_draw(dfnum, dtype, shape),
        for_each_draw(dfden, dtype, shape),
    )
    top = noncentral_chisquare(above, shape, dtype, dfnum, nonc) / dfnum
    bottom = jax.random.chisquare(below, dfden, shape, dtype) / dfden
    drawn: jax.Array = top / bottom
    return drawn


def generalized_normal(key: jax.Array, shape: Shape, dtype: Any, p: Any) -> jax.Array:
    first, second = jax.random.split(key)
    p = for_each_draw(p, dtype, shape)
    # Through the logarithm: the gamma numbers of a large p are too small for a float.
    logs = jax.random.loggamma(first, 1 / p, shape, dtype)
    return _signed(second, shape, dtype, jnp.exp(logs / p))


def truncated_normal(
    key: jax.Array, shape: Shape, dtype: Any, lower: Any, upper: Any
) -> jax.Array:
    kind = at_least_single(dtype)  # that JAX has quantiles for
    a, b = for_each_draw(lower, kind, shape), for_each_draw(upper, kind, shape)
    # Where the left tail is: in the right one the probabilities round to 1.
    flip = a + b > 0
    a, b = jnp.where(flip, -b, a), jnp.where(flip, -a, b)
    u = jax.random.uniform(key, shape, kind, minval=_tiny(kind))
    from jax.scipy.special import ndtr, ndtri  # slow to import, and rarely needed

    x = ndtri(ndtr(a) + u * (ndtr(b) - ndtr(a)))
    x = jnp.clip(x, *jax.lax.stop_gradient((a, b)))
    return jnp.where(flip, -x, x).astype(dtype)


def binomial(key: jax.Array, shape: Shape, dtype: Any, n: Any, p: Any) -> jax.Array:
    kind = widest_float()
    n, p = for_each_draw(n, kind, shape), for_each_draw(p, kind, shape)
    return whole(jax.random.binomial(key, n, p, shape, kind), dtype)


def negative_binomial(
    key: jax.Array, shape: Shape, dtype: Any, n: Any, p: Any
) -> jax.Array:
    kind = widest_float()
    first, second = jax.random.split(key)
    n, p = for_each_draw(n, kind, shape), for_each_draw(p, kind, shape)
    rate = jax.random.gamma(first, n, shape, kind) * (1 - p) / p
    return poisson(second, shape, dtype, rate)


def geometric(key: jax.Array, shape: Shape, dtype: Any, p: Any) -> jax.Array:
    kind = widest_float()
    waited = jax.random.exponential(key, shape, kind)
    return whole(
        jnp.floor(waited / -jnp.log1p(-for_each_draw(p, kind, shape))) + 1, dtype
    )


def multinomial(
    key: jax.Array, shape: Shape, dtype: Any, n: Any, pvals: Any
) -> jax.Array:
    kind = widest_float()
    pvals = jnp.asarray(pvals, kind)
    # As in NumPy the last one has what the others leave.
    rest = jnp.clip(1 - pvals[..., :-1].sum(-1, keepdims=True), 0)
    pvals = jnp.concatenate([pvals[..., :-1], rest], -1)
    n = for_each_draw(n, kind, shape)
    # Spread here: with `shape=` JAX 0.10 takes that of the result, 0.12 of the draws.
    pvals = for_each_draw(pvals, kind, (*shape, pvals.shape[-1]))
    drawn = jax.random.multinomial(key, n, pvals, dtype=kind)
    return whole(drawn, dtype)


def dirichlet(key: jax.Array, shape: Shape, dtype: Any, alpha: Any) -> jax.Array:
    kind = at_least_single(dtype)
    alpha = jnp.asarray(alpha, kind)
    alpha = for_each_draw(alpha, kind, (*shape, alpha.shape[-1]))
    return jax.random.dirichlet(key, alpha, shape, kind).astype(dtype)


def multivariate_normal(
    key: jax.Array, shape: Shape, dtype: Any, mean: Any, cov: Any
) -> jax.Array:
    kind = at_least_single(dtype)  # that JAX has factorizations for
    mean, cov = jnp.asarray(mean, kind), jnp.asarray(cov, kind)
    noise = jax.random.normal(key, (*shape, mean.shape[-1]), kind)
    factor = for_each_draw(_root(cov), kind, (*shape, *cov.shape[-2:]))
    moved = jnp.einsum("...ij,...j->...i", factor, noise)
    return (for_each_draw(mean, kind, noise.shape) + moved).astype(dtype)


def _root(cov: jax.Array) -> jax.Array:
    """A matrix L with `L @ L.T == cov`, also where the covariance is singular."""
    lower = jnp.linalg.cholesky(jax.lax.stop_gradient(cov))
    regular = jnp.isfinite(lower).all((-2, -1), keepdims=True)
    plain = jnp.eye(cov.shape[-1], dtype=cov.dtype)
    # Different eigenvalues: those of the identity would have no derivative.
    stairs = jnp.diag(jnp.arange(1, cov.shape[-1] + 1).astype(cov.dtype))

    def with_singular(cov: jax.Array) -> jax.Array:
        values, vectors = jnp.linalg.eigh(jnp.where(regular, stairs, cov))
        positive = values > 0
        roots = jnp.where(positive, jnp.sqrt(jnp.where(positive, values, 1)), 0)
        by_cholesky = jnp.linalg.cholesky(jnp.where(regular, cov, plain))
        return jnp.where(regular, by_cholesky, vectors * roots[..., None, :])

    root: jax.Array = jax.lax.cond(
        regular.all(), jnp.linalg.cholesky, with_singular, cov
    )
    return root


def categorical(
    key: jax.Array, shape: Shape, axis: int, replace: bool, dtype: Any, logits: Any
) -> jax.Array:
    logits = jnp.asarray(logits, jnp.promote_types(jnp.result_type(logits), np.float32))
    return jax.random.categorical(key, logits, axis, shape, replace).astype(dtype)


def permutation(key: jax.Array, axis: int, x: Any) -> jax.Array:
    x = jnp.asarray(x)
    if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):  # which JAX can't sort along
        order = jax.random.permutation(key, x.shape[axis])
        return jnp.take(x, order, axis)
    return jax.random.permutation(key, x, axis)


def permuted(key: jax.Array, axis: int | None, x: Any) -> jax.Array:
    x = jnp.asarray(x)
    if axis is None:
        return jax.random.permutation(key, x.ravel()).reshape(x.shape)
    return jax.random.permutation(key, x, axis, independent=True)


def ball(key: jax.Array, d: int, shape: Shape, dtype: Any, p: Any) -> jax.Array:
    first, second = jax.random.split(key)
    kind = at_least_single(dtype)
    p = jnp.asarray(p, kind)
    g = generalized_normal(first, (*shape, d), kind, p)
    e = jax.random.exponential(second, shape, kind)
    drawn: jax.Array = g / ((jnp.abs(g) ** p).sum(-1) + e)[..., None] ** (1 / p)
    return drawn.astype(dtype)


def _tiny(dtype: Any) -> Any:
    return jnp.finfo(dtype).tiny  # type: ignore[no-untyped-call]


def orthogonal(key: jax.Array, n: int, m: int, shape: Shape, dtype: Any) -> jax.Array:
    kind = at_least_single(dtype)  # that JAX has factorizations for
    return jax.random.orthogonal(key, n, shape, kind, m).astype(dtype)
