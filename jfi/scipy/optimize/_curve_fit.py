"""Curves fitted to data: `scipy.optimize.curve_fit`."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._advice import hiding_frames
from ..._errors import SolverError
from .._solving._hoisting import HoistedFunction, evaluated, hoisted
from .._solving._options import real_array
from ._least_squares import SEARCH_OPTIONS, fitted, search_of


class CurveFitResult(NamedTuple):
    """What `curve_fit` returns, in the order of SciPy.

    Attributes:
        popt: `(n,)` parameters; they have derivatives.
        pcov: `(n, n)` their covariances.
    """

    popt: jax.Array
    pcov: jax.Array


@hiding_frames
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    *,
    bounds: Any = None,
    method: str | None = None,
    **options: Any,
) -> CurveFitResult:
    """Fit the parameters of a curve to data: `scipy.optimize.curve_fit`.

    SciPy searches, JAX computes the curve and its jacobian. The parameters have
    derivatives with respect to the data, `sigma`, the bounds and all that `f` reads.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> t = jnp.linspace(0.0, 3.0, 7)
        >>> def decay(t, size, rate):
        ...     return size * jnp.exp(-rate * t)
        >>> data = decay(t, 2.0, 0.5)
        >>> jnp.scipy.optimize.curve_fit(decay, t, data).popt.round(3)
        Array([2. , 0.5], dtype=float32)
        >>> fit = lambda data: jnp.scipy.optimize.curve_fit(decay, t, data).popt
        >>> jax.jacobian(fit)(data)[0, :3].tolist()
        [0.709, 0.374, 0.152]

    Args:
        f: `f(xdata, *parameters)`, returns an array like `ydata`.
        xdata: What `f` takes first; lists and tuples of numbers become arrays.
        ydata: `(m,)` data.
        p0: `(n,)` parameters to begin with. None: ones, or the middle of the bounds.
        sigma: `(m,)` standard deviations of the data, or their `(m, m)` covariances.
        absolute_sigma: Whether `sigma` is in the units of the data. Otherwise the
            covariances are scaled so that the residuals fit.
        bounds: `(lower, upper)`, each a number or `(n,)` array.
        method: "lm", "trf" or "dogbox". None: "lm", with bounds "trf".
        **options: Those of `least_squares`: `ftol`, `xtol`, `gtol`, `max_nfev` (or
            `maxfev`), `loss`.

    Returns:
        `CurveFitResult`: `popt, pcov = curve_fit(...)`. Covariances are infinite
        where the data don't tell parameters apart, and where there
        are no more data than parameters.

    Raises:
        SolverError: The number of parameters is not known, or `sigma` does not fit.
        TypeError: There is no such option.
        RuntimeError: SciPy's: it did not converge. NaN under plain `jax.jit`.
    """
    limits = None if bounds is None or hasattr(bounds, "lb") else tuple(bounds)
    if limits is None and bounds is not None:
        limits = (bounds.lb, bounds.ub)
    start = _start(f, p0, limits)
    method = method or ("lm" if limits is None else "trf")
    data = real_array(ydata, "ydata of curve_fit()")
    dtype = jnp.result_type(start, data)
    start, data = start.astype(dtype), data.astype(dtype)
    if isinstance(xdata, (list, tuple, np.ndarray)):
        xdata = jnp.asarray(xdata)
    weigh = _weighing(sigma, data)

    def misfit(p: jax.Array) -> jax.Array:
        curve = jnp.asarray(f(xdata, *p))
        return weigh((curve - data).ravel().astype(dtype))

    search = search_of(dtype, method, limits, **_known(options), must_converge=True)
    found = fitted(search, misfit, start, limits)
    popt = jnp.where(found.success, found.x, jnp.nan)
    traced = hoisted(misfit, jax.ShapeDtypeStruct(start.shape, dtype))
    pcov = evaluated(_inverse_information, traced.function, traced.consts, popt)
    if not absolute_sigma:
        free = data.size - start.size
        squares = jnp.sum(found.fun**2)
        pcov = pcov * (squares / free) if free > 0 else jnp.full_like(pcov, jnp.inf)
    return CurveFitResult(popt, pcov)


def _known(options: dict[str, Any]) -> dict[str, Any]:
    """SciPy's options as `search_of` calls them; others are refused."""
    known = dict(options)
    if "maxfev" in known:
        known.setdefault("max_nfev", known.pop("maxfev"))
    unknown = sorted(set(known) - SEARCH_OPTIONS)
    if unknown:
        message = (
            f"curve_fit() has no option {unknown[0]!r}. It has "
            f"{', '.join(sorted(SEARCH_OPTIONS | {'maxfev'}))}."
        )
        raise TypeError(message)
    return known


def _start(f: Callable[..., Any], p0: Any, limits: Any) -> jax.Array:
    if p0 is not None:
        return jnp.atleast_1d(real_array(p0, "p0 of curve_fit()"))
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    every = inspect.signature(f).parameters.values()
    count = sum(p.kind in kinds for p in every) - 1
    if count < 1 or any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in every):
        message = (
            f"curve_fit() can't see how many parameters {f} has. Pass where to begin: "
            "p0=jnp.ones(3)."
        )
        raise SolverError(message)
    if limits is None:
        return jnp.ones(count)
    low, high = (
        jnp.broadcast_to(real_array(end, "bounds of curve_fit()"), (count,))
        for end in limits
    )
    has_low, has_high = jnp.isfinite(low), jnp.isfinite(high)
    middle = 0.5 * (jnp.where(has_low, low, 0) + jnp.where(has_high, high, 0))
    one_sided = jnp.where(has_low, low + 1, jnp.where(has_high, high - 1, 1.0))
    return jax.lax.stop_gradient(jnp.where(has_low & has_high, middle, one_sided))


def _weighing(sigma: Any, data: jax.Array) -> Callable[[jax.Array], jax.Array]:
    """Residuals in units of their standard deviation."""
    if sigma is None:
        return lambda r: r
    spread = real_array(sigma, "sigma of curve_fit()").astype(data.dtype)
    if spread.size == 1 or spread.shape == (data.size,):
        return lambda r: r / spread.ravel()
    if spread.shape != (data.size, data.size):
        message = (
            f"curve_fit() got sigma of shape {spread.shape} for {data.size} data. Pass "
            "a standard deviation for each, or the matrix of their covariances."
        )
        raise SolverError(message)
    root = jnp.linalg.cholesky(spread)
    return lambda r: jax.scipy.linalg.solve_triangular(root, r, lower=True)


def _inverse_information(
    function: HoistedFunction, consts: Any, p: jax.Array
) -> jax.Array:
    """The inverse of JᵀJ; infinite where it has none."""
    jacobian: Any = jax.jacfwd(lambda p: function(consts, p)[0])(p)
    count = p.size
    if jacobian.shape[0] < count:
        return jnp.full((count, count), jnp.inf, p.dtype)
    triangle = jnp.linalg.qr(jacobian, mode="r")
    sizes = jnp.abs(jnp.diag(triangle))
    least = jnp.finfo(p.dtype).eps * max(jacobian.shape) * sizes.max()  # type: ignore[no-untyped-call]
    singular = (sizes <= least).any()
    eye = jnp.eye(count, dtype=p.dtype)
    safe = jnp.where(singular, eye, triangle)
    inverse = jax.scipy.linalg.solve_triangular(safe, eye)
    return jnp.where(singular, jnp.inf, inverse @ inverse.T)
