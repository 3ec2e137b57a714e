"""Nonlinear least squares: `scipy.optimize.least_squares`."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._advice import hiding_frames
from ..._errors import SolverError
from .._solving._driving import Asked, drive
from .._solving._hoisting import Hoisted, HoistedFunction, evaluated, hoisted
from .._solving._implicit import implicit
from .._solving._options import (
    Options,
    bound,
    frozen,
    made_once,
    real_array,
    refuse_method,
)
from ._bounds import bounds_of_ends
from ._optimality import Bounds, bounded_residual


# rho(z) of z = residual²; the same as in SciPy.
LOSSES: dict[str, Callable[[jax.Array], jax.Array]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (jnp.sqrt(1 + z) - 1),
    "huber": lambda z: jnp.where(z <= 1, z, 2 * jnp.sqrt(jnp.maximum(z, 1)) - 1),
    "cauchy": jnp.log1p,
    "arctan": jnp.arctan,
}


class LeastSquaresResult(NamedTuple):
    """What `least_squares` returns: an `OptimizeResult` of SciPy.

    Attributes:
        x: The minimum, of the shape of `x0`; it has derivatives.
        cost: Half the sum of the squares there, or of their losses.
        fun: The residuals there, a vector.
        grad: The gradient of the cost there.
        success: Boolean: the solver converged. Only then derivatives mean something.
        status: SciPy's status as an integer.
        nfev: How often the solver asked for the residuals.
    """

    x: jax.Array
    cost: jax.Array
    fun: jax.Array
    grad: jax.Array
    success: jax.Array
    status: jax.Array
    nfev: jax.Array


@hiding_frames
def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    *,
    args: Any = (),
    bounds: Any = None,
    method: str = "trf",
    ftol: float | None = None,
    xtol: float | None = None,
    gtol: float | None = None,
    loss: str = "linear",
    f_scale: float = 1.0,
    max_nfev: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> LeastSquaresResult:
    """Minimise a sum of squares: `scipy.optimize.least_squares` for JAX functions.

    SciPy searches, JAX computes the residuals and their jacobian. Derivatives of the
    minimum with respect to all that `fun` and the bounds read come from the conditions
    of optimality, with the second derivatives of the residuals, forward and reverse.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> t = jnp.array([0.0, 1.0, 2.0, 3.0])
        >>> def misfit(p, data):
        ...     return p[0] * jnp.exp(-p[1] * t) - data
        >>> def fit(data):
        ...     start = jnp.ones(2)
        ...     return jnp.scipy.optimize.least_squares(misfit, start, args=data).x
        >>> data = 2.0 * jnp.exp(-0.5 * t)
        >>> fit(data)
        Array([2. , 0.5], dtype=float32)
        >>> jax.jit(jax.jacobian(fit))(data)[0].tolist()
        [0.913, 0.232, -0.054, -0.151]

    Args:
        fun: `fun(x, *args)` of an array like `x0`, returns the residuals: any array.
        x0: Real array of any shape, where the search begins.
        args: More arguments of `fun`, of any type that JAX takes.
        bounds: None, or `(lower, upper)`, each a number or an array like `x0`.
        method: "trf", "dogbox" or "lm", as in SciPy.
        ftol: As in SciPy. None: 1e-8 for float64, 1e-6 for float32.
        xtol: As in SciPy. None: as of `ftol`.
        gtol: As in SciPy. None: as of `ftol`.
        loss: "linear", "soft_l1", "huber", "cauchy" or "arctan", as in SciPy.
        f_scale: As in SciPy: residuals up to here count in full.
        max_nfev: As in SciPy.
        options: More options of `scipy.optimize.least_squares`: `x_scale`, ...

    Returns:
        `LeastSquaresResult`.

    Raises:
        SolverError: An unknown method or loss, or bounds of another shape.
    """
    start = real_array(x0, "x0 of least_squares()")
    solver = search_of(
        start.dtype,
        method,
        bounds,
        ftol=ftol,
        xtol=xtol,
        gtol=gtol,
        loss=loss,
        f_scale=f_scale,
        max_nfev=max_nfev,
        options=options,
    )
    return fitted(solver, bound(fun, args), start, bounds)


SEARCH_OPTIONS = frozenset(
    "ftol xtol gtol loss f_scale max_nfev options x_scale tr_solver".split()
)


def search_of(
    dtype: Any,
    method: str,
    bounds: Any,
    *,
    ftol: float | None = None,
    xtol: float | None = None,
    gtol: float | None = None,
    loss: str = "linear",
    f_scale: float = 1.0,
    options: Mapping[str, Any] | None = None,
    must_converge: bool = False,
    **more: Any,
) -> "Search":
    """The search with these settings; `more` are options of SciPy, too."""
    finest = 1e-8 if dtype == jnp.float64 else 1e-6
    given = {"ftol": ftol, "xtol": xtol, "gtol": gtol}
    stops = frozen({k: finest if t is None else t for k, t in given.items()})
    settings = frozen({**(options or {}), **more})
    bounded = bounds is not None
    return Search(method, stops, loss, f_scale, settings, bounded, must_converge)


def fitted(
    solver: "Search", fun: Callable[..., Any], start: jax.Array, bounds: Any
) -> LeastSquaresResult:
    """Minimise with these settings."""
    method, loss = solver.method, solver.loss
    refuse_method(method, ("trf", "dogbox", "lm"), "least_squares")
    if loss not in LOSSES:
        message = (
            f"least_squares() got loss={loss!r}. It has {', '.join(map(repr, LOSSES))}."
        )
        raise SolverError(message)
    point = jax.ShapeDtypeStruct((start.size,), start.dtype)

    def residuals(x: jax.Array) -> jax.Array:
        value = jnp.asarray(fun(x.reshape(start.shape)))
        return jnp.ravel(value).astype(start.dtype)

    traced = hoisted(residuals, point)
    limits = bounds_of_ends(bounds, start, "least_squares")
    cost = _cost(loss, solver.f_scale)
    x, rest = _solved(solver, cost, traced, limits, start.ravel())
    values = evaluated(_residuals, traced.function, traced.consts, x)
    both = evaluated(cost, traced.function, traced.consts, x)
    success, status, nfev = rest
    shape = start.shape
    return LeastSquaresResult(
        x.reshape(shape),
        both[0],
        values,
        both[1:].reshape(shape),
        success,
        status,
        nfev,
    )


def _solved(
    solver: "Search",
    cost: Callable[..., jax.Array],
    traced: Hoisted,
    bounds: Bounds,
    start: jax.Array,
) -> Any:
    point = jax.ShapeDtypeStruct(start.shape, start.dtype)
    integer = jax.ShapeDtypeStruct((), jnp.int32)
    flag = jax.ShapeDtypeStruct((), jnp.bool_)
    asked = [Asked(_residuals, traced.function), Asked(_jacobian, traced.function)]

    def solve(parameters: Any) -> tuple[jax.Array, Any]:
        consts, bounds, start = parameters
        inputs = [start, *bounds]
        specs = [point, flag, integer, integer]
        captured = [consts, consts]
        failing = solver.must_converge
        x, *rest = drive(
            solver, asked, captured, point, inputs, specs, may_fail=failing
        )
        return x, tuple(rest)

    def residual(parameters: Any, x: jax.Array) -> jax.Array:
        consts, bounds, _ = parameters
        gradient = cost(traced.function, consts, x)[1:]
        return bounded_residual(x, gradient, bounds)

    start = jax.lax.stop_gradient(start)
    return implicit(solve, residual, (traced.consts, bounds, start))


@dataclass(frozen=True)
class Search:
    """`scipy.optimize.least_squares` with these settings, as a solver to drive."""

    method: str
    stops: Options
    loss: str
    f_scale: float
    options: Options
    bounded: bool
    must_converge: bool = False

    def __call__(
        self, ask: Callable[..., Any], start: Any, lower: Any, upper: Any
    ) -> Sequence[Any]:
        from scipy import optimize

        size = start.size
        solve: Any = optimize.least_squares
        found = solve(
            functools.partial(ask, 0),
            start,
            jac=lambda x: ask(1, x).reshape(-1, size),
            bounds=(lower, upper) if self.bounded else (-np.inf, np.inf),
            method=self.method,
            loss=self.loss,
            f_scale=self.f_scale,
            **dict(self.stops),
            **dict(self.options),
        )
        if self.must_converge and not found.success:
            why = found.message
            if self.method == "lm" and found.status == 0:  # as MINPACK says it
                most = dict(self.options).get("max_nfev") or 100 * size
                why = f"Number of calls to function has reached maxfev = {most}."
            raise RuntimeError(f"Optimal parameters not found: {why}")
        return found.x, found.success, found.status, found.nfev


def _residuals(function: HoistedFunction, consts: Any, x: jax.Array) -> jax.Array:
    value: jax.Array = function(consts, x)[0]
    return value


def _jacobian(function: HoistedFunction, consts: Any, x: jax.Array) -> jax.Array:
    jacobian: jax.Array = jax.jacfwd(lambda x: function(consts, x)[0])(x)
    return jacobian


@made_once
def _cost(loss: str, scale: float) -> Callable[..., jax.Array]:
    """The cost and its gradient with these settings."""
    return functools.partial(_cost_and_gradient, loss, scale)


def _cost_and_gradient(
    loss: str, scale: float, function: HoistedFunction, consts: Any, x: jax.Array
) -> jax.Array:
    def cost(x: jax.Array) -> jax.Array:
        squares = (function(consts, x)[0] / scale) ** 2
        return scale**2 * LOSSES[loss](squares).sum() / 2

    value, gradient = jax.value_and_grad(cost)(x)
    return jnp.concatenate([value[None], gradient])
