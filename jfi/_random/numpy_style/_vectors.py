"""Random vectors and matrices."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike

from ..._arrays._config import DTypeLike
from ..._arrays._devices import DeviceLike
from .._documented import documented
from .._drawing import Key, Size, count_from, draw, drawn_shape, float_for
from . import _samplers
from ._declaring import ANY, POSITIVE, ParameterBound, given
from ._key_first import key_first


@key_first(jax.random.dirichlet)
@documented
def dirichlet(
    alpha: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw probabilities of k outcomes: Dirichlet distributions.

    >>> import jfi as jnp
    >>> jnp.random.dirichlet([1.0, 2.0, 3.0], 2).sum(-1).round(3)
    Array([1., 1.], dtype=float32)

    Args:
        alpha: Positive weights, `(..., k)`.
        size: The shape without k; that of `alpha` without its last dimension if not
            given.

    Returns:
        Non-negative numbers whose sum is 1, `(*size, k)`.

    Raises:
        ValueError: A weight is not positive, or `alpha` does not fit the size.
    """
    caller = "random.dirichlet"
    alpha = given(caller, "alpha", alpha, POSITIVE)
    if not np.ndim(alpha) or not np.shape(alpha)[-1]:
        raise ValueError(
            f"{caller}() got alpha of shape {np.shape(alpha)}; write one weight for "
            "each outcome: alpha=[1.0, 1.0]."
        )
    kind = float_for(dtype, caller, alpha)
    static = (drawn_shape(caller, size, np.empty(np.shape(alpha)[:-1], bool)), kind)
    return draw(caller, _samplers.dirichlet, static, (alpha,), key, device)


@key_first(jax.random.multivariate_normal)
@documented
def multivariate_normal(
    mean: ArrayLike, cov: ArrayLike, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw vectors from normal distributions.

    >>> import jfi as jnp
    >>> x, y = jnp.random.multivariate_normal([0.0, 5.0], [[1.0, 1.0], [1.0, 1.0]])
    >>> (y - x).round(2)
    Array(5., dtype=float32)

    Args:
        mean: Means, `(..., n)`.
        cov: Covariances, `(..., n, n)`: symmetric, with no negative eigenvalue.
            Singular ones are fine.
        size: The shape without n; that of mean and cov together if not given.

    Returns:
        Vectors, `(*size, n)`.

    Raises:
        ValueError: The shapes don't fit, or a covariance is none.
    """
    caller = "random.multivariate_normal"
    mean, cov = given(caller, "mean", mean, ANY), given(caller, "cov", cov, ANY)
    rows, n = np.shape(mean), np.shape(mean)[-1:]
    if not n or np.shape(cov)[-2:] != (*n, *n):
        raise ValueError(
            f"{caller}() got mean of shape {rows} and cov of shape {np.shape(cov)}. "
            "Write mean of shape (n,) and cov of shape (n, n)."
        )
    kind = float_for(dtype, caller, mean, cov)
    if not isinstance(cov, Tracer):
        _check_covariance(cov, kind, caller)
    batches = (np.empty(rows[:-1], bool), np.empty(np.shape(cov)[:-2], bool))
    static = (drawn_shape(caller, size, *batches), kind)
    return draw(caller, _samplers.multivariate_normal, static, (mean, cov), key, device)


def _check_covariance(given: Any, kind: np.dtype[Any], caller: str) -> None:
    """Refuse a matrix that is no covariance, up to what rounding makes of one."""
    cov = np.asarray(given, np.float64)
    if not cov.size:
        return
    # A covariance is known to the precision in which it was computed or is used.
    own = [x for x in (jnp.result_type(given), kind) if jnp.issubdtype(x, np.floating)]
    eps = max(float(jnp.finfo(x).eps) for x in own)  # type: ignore[no-untyped-call]
    near = 10 * cov.shape[-1] * eps * np.abs(cov).max((-2, -1), keepdims=True)
    flipped = np.swapaxes(cov, -1, -2)
    if not np.all(abs(cov - flipped) <= near):
        raise ValueError(
            f"{caller}() got cov={cov}, which is not symmetric. "
            "Write (cov + cov.T) / 2 if it is so but for rounding."
        )
    least = np.linalg.eigvalsh(cov).min(-1)
    if not np.all(least >= -near[..., 0, 0]):
        raise ValueError(
            f"{caller}() got cov={cov}, which has the negative eigenvalue "
            f"{least.min():.3g}: no random vector has it for its covariance."
        )


@key_first(jax.random.ball, takes_arrays=False)
@documented
def ball(
    d: int, p: ArrayLike = 2.0, size: Size = None, *,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw points of the unit ball, each part of it as likely as its volume.

    >>> import jfi as jnp
    >>> bool(jnp.norm(jnp.random.ball(3)) < 1.001)
    True

    Args:
        d: The number of dimensions.
        p: The norm in which the ball is round, a positive number.
        size: The shape without d; one point if not given.
        dtype: A float dtype; the default one if not given.

    Returns:
        Points, `(*size, d)`.

    Raises:
        ValueError: `d` is negative, or `p` is not positive and finite.
    """
    caller = "random.ball"
    finite = ParameterBound(lambda x: (x > 0) & (x < np.inf), "above 0 and finite")
    norm = given(caller, "p", p, finite)
    if np.ndim(norm):
        raise ValueError(f"{caller}() got p of shape {np.shape(norm)}; it takes one.")
    kind = float_for(dtype, caller, norm)
    static = (count_from(caller, d), drawn_shape(caller, size), kind)
    return draw(caller, _samplers.ball, static, (norm,), key, device)


@key_first(jax.random.orthogonal, takes_arrays=False)
@documented
def orthogonal(
    n: int, size: Size = None, *, m: int | None = None,
    key: Key | None = None, dtype: DTypeLike = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw orthogonal matrices, uniformly.

    >>> import jfi as jnp
    >>> q = jnp.random.orthogonal(3)
    >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-5))
    True

    Args:
        n: The number of rows.
        size: The shape without the matrices; one matrix if not given.
        m: The number of columns; n if not given.
        dtype: A float dtype; the default one if not given.

    Returns:
        Matrices, `(*size, n, m)`, whose rows or columns, whichever are fewer, are
        orthonormal.

    Raises:
        ValueError: A number is negative.
    """
    caller = "random.orthogonal"
    columns = count_from(caller, n if m is None else m)
    shape, kind = drawn_shape(caller, size), float_for(dtype, caller)
    static = (count_from(caller, n), columns, shape, kind)
    return draw(caller, _samplers.orthogonal, static, (), key, device)
