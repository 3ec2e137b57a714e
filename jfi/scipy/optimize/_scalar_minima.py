"""Minima of functions of one number: `scipy.optimize.minimize_scalar`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._advice import hiding_frames
from ..._errors import SolverError
from .._solving._driving import Asked, drive
from .._solving._hoisting import evaluated, hoisted, value_of
from .._solving._implicit import implicit
from .._solving._options import Options, bound, frozen, real_array, refuse_method


class MinimizeScalarResult(NamedTuple):
    """What `minimize_scalar` returns: an `OptimizeResult` of SciPy.

    Attributes:
        x: The minimum, a float without axes; it has derivatives.
        fun: The function there.
        success: Boolean: the solver converged. Only then derivatives mean something.
        nfev: How often the solver asked for the function.
        nit: Its iterations.
    """

    x: jax.Array
    fun: jax.Array
    success: jax.Array
    nfev: jax.Array
    nit: jax.Array


@hiding_frames
def minimize_scalar(
    fun: Callable[..., Any],
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: str | None = None,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> MinimizeScalarResult:
    """Minimise a function of one number: `scipy.optimize.minimize_scalar`.

    SciPy searches, JAX computes the function. The derivative of the minimum with
    respect to all that `fun` and the bounds read comes from the second derivative of
    `fun`; where a bound holds the minimum, it is at that bound.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> def lowest(a):
        ...     cost = lambda x: (x - a) ** 2 + x
        ...     return jnp.scipy.optimize.minimize_scalar(cost).x
        >>> float(lowest(3.0)), float(jax.jit(jax.grad(lowest))(3.0))
        (2.5, 1.0)

    Args:
        fun: `fun(x, *args)` of a number, returns a number.
        bracket: As in SciPy: two or three numbers to begin with.
        bounds: `(low, high)`, for the method "bounded".
        args: More arguments of `fun`, of any type that JAX takes.
        method: "brent", "golden" or "bounded". None: "bounded" with bounds, else
            "brent".
        tol: As in SciPy.
        options: As in SciPy.

    Returns:
        `MinimizeScalarResult`.

    Raises:
        SolverError: An unknown method, one with bounds that takes none, "bounded"
            without bounds, or a function that returns more than a number.
    """
    chosen = method or ("brent" if bounds is None else "bounded")
    chosen = chosen.lower()
    refuse_method(chosen, ("brent", "golden", "bounded"), "minimize_scalar")
    if (bounds is None) is (chosen == "bounded"):
        message = (
            f"minimize_scalar() got method={chosen!r} and bounds={bounds}. Pass "
            "bounds=(low, high) with 'bounded', and no bounds with others."
        )
        raise SolverError(message)
    numbers = bounds if bounds is not None else () if bracket is None else bracket
    if len(numbers) not in ((2,) if bounds is not None else (0, 2, 3)):
        message = (
            f"minimize_scalar() got {len(numbers)} numbers to begin with. Pass "
            "bounds=(low, high), or a bracket of two or three numbers."
        )
        raise SolverError(message)
    parts = [real_array(n, "bounds of minimize_scalar()").reshape(()) for n in numbers]
    given = jnp.stack(parts) if parts else real_array(np.zeros(0), "the bracket")
    dtype = given.dtype
    point = jax.ShapeDtypeStruct((1,), dtype)
    called = bound(fun, args)
    traced = hoisted(lambda x: _number(called(x[0]), dtype), point)
    integer = jax.ShapeDtypeStruct((), jnp.int32)
    specs = [point, jax.ShapeDtypeStruct((), jnp.bool_), integer, integer]
    solver = _MinimizeScalar(chosen, tol, frozen(options))

    def solve(parameters: Any) -> tuple[jax.Array, Any]:
        consts, given = parameters
        asked = [Asked(value_of, traced.function)]
        x, *rest = drive(solver, asked, [consts], point, [given], specs)
        return x, tuple(rest)

    def residual(parameters: Any, x: jax.Array) -> jax.Array:
        consts, given = parameters
        slope = jax.grad(lambda x: value_of(traced.function, consts, x)[0])
        if chosen != "bounded":
            value: jax.Array = slope(x)
            return value
        return _at_bounds(slope, x, given[0], given[1])

    if chosen != "bounded":
        given = jax.lax.stop_gradient(given)
    x, (success, nfev, nit) = implicit(solve, residual, (traced.consts, given))
    value = evaluated(value_of, traced.function, traced.consts, x)[0]
    return MinimizeScalarResult(x[0], value, success, nfev, nit)


def _number(value: Any, dtype: Any) -> jax.Array:
    array = jnp.asarray(value)
    if array.size != 1:
        message = (
            f"minimize_scalar() got a fun that returns shape {array.shape}. Return one "
            "number, for example jnp.sum(...)."
        )
        raise SolverError(message)
    return array.reshape(1).astype(dtype)


def _at_bounds(
    slope: Callable[[jax.Array], jax.Array], x: jax.Array, low: Any, high: Any
) -> jax.Array:
    """Zero at a minimum between bounds.

    The solver ends some way before a bound that holds the minimum. So it is not asked
    how near it is, but where Newton's next step would lead.
    """
    fixed = jax.lax.stop_gradient(x)
    first, second = jax.jvp(slope, (fixed,), (jnp.ones_like(fixed),))
    first, second = jax.lax.stop_gradient((first, second))
    curved = second > 0
    step = jnp.where(curved, first / jnp.where(curved, second, 1), first * jnp.inf)
    at_low = (fixed - step <= low) & (first > 0)
    at_high = (fixed - step >= high) & (first < 0)
    return jnp.where(at_low, x - low, jnp.where(at_high, x - high, slope(x)))


@dataclass(frozen=True)
class _MinimizeScalar:
    """`scipy.optimize.minimize_scalar` with these settings, as a solver to drive."""

    method: str
    tol: float | None
    options: Options

    def __call__(self, ask: Callable[..., Any], given: Any) -> Sequence[Any]:
        from scipy import optimize

        numbers = tuple(map(float, given)) or None
        begin = {"bounds" if self.method == "bounded" else "bracket": numbers}
        found: Any = optimize.minimize_scalar(
            lambda x: float(ask(0, [x])[0]),
            method=self.method,
            tol=self.tol,
            options=dict(self.options),
            **begin,
        )
        return np.reshape(found.x, 1), found.success, found.nfev, found.nit
