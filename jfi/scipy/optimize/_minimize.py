"""Minimisation: `scipy.optimize.minimize`."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.optimize import minimize as jax_minimize

from ..._advice import hiding_frames
from ..._errors import SolverError
from ..._host import runs_now
from .._solving._driving import Asked, drive
from .._solving._hoisting import Hoisted, HoistedFunction, evaluated, hoisted, value_of
from .._solving._implicit import implicit
from .._solving._options import (
    Options,
    bound,
    frozen,
    made_once,
    real_array,
    refuse_method,
)
from ._bounds import bounds_of_pairs
from ._constraints import conditions_of
from ._optimality import (
    Bounds,
    Constraints,
    bounded_residual,
    constrained_residual,
    multipliers,
)


OF_JAX = ("bfgs", "l-bfgs-experimental-do-not-rely-on-this")
WITH_BOUNDS = "nelder-mead powell l-bfgs-b tnc slsqp trust-constr cobyla cobyqa".split()
WITH_CONSTRAINTS = ("slsqp", "trust-constr", "cobyla", "cobyqa")
WITH_HESSIAN = (
    "newton-cg dogleg trust-ncg trust-krylov trust-exact trust-constr".split()
)
WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")
METHODS = (*WITH_BOUNDS, "cg", *WITH_HESSIAN[:-1], "scipy-bfgs")


class MinimizeResult(NamedTuple):
    """What `minimize` returns: an `OptimizeResult` of SciPy with fields of fixed shape.

    Attributes:
        x: The minimum, of the shape of `x0`; it has derivatives.
        fun: The function there.
        jac: Its gradient there; NaN with methods that do without it.
        success: Boolean: the solver converged. Only then derivatives mean something.
        status: SciPy's status as an integer.
        nfev: How often the solver asked for the function.
        nit: Its iterations.
    """

    x: jax.Array
    fun: jax.Array
    jac: jax.Array
    success: jax.Array
    status: jax.Array
    nfev: jax.Array
    nit: jax.Array


@hiding_frames
def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str | None = None,
    *,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Minimise a function: `scipy.optimize.minimize` for JAX functions.

    SciPy searches, JAX computes the function, its gradient and, where a method wants
    it, its hessian. Derivatives of the minimum with respect to all that `fun`, the
    bounds and the constraints read come from the conditions of optimality, of every
    order.

    The methods "BFGS" and "l-bfgs-experimental-do-not-rely-on-this" are JAX's own,
    `jax.scipy.optimize.minimize`, with what that takes and returns.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> def ridge(w, strength):
        ...     return jnp.sum((w - 3.0) ** 2) + strength * jnp.sum(w**2)
        >>> def weights(strength):
        ...     return jnp.scipy.optimize.minimize(ridge, jnp.zeros(2), strength).x
        >>> weights(0.5), jax.jit(jax.jacobian(weights))(0.5).tolist()
        (Array([2., 2.], dtype=float32), [-1.333, -1.333])

    Args:
        fun: `fun(x, *args)` of an array like `x0`, returns one number.
        x0: Real array of any shape, where the search begins.
        args: More arguments of `fun`, of any type that JAX takes.
        method: None: SciPy's BFGS; "L-BFGS-B" with bounds, "SLSQP" with constraints. Or
            a method of SciPy: "Nelder-Mead", "trust-exact", ... ("scipy-BFGS" for BFGS)
        bounds: `(low, high)` for each variable, None where there is none; or
            `scipy.optimize.Bounds`. The bounds may be traced.
        constraints: As in SciPy, one or several of
            `{"type": "eq" or "ineq", "fun": f, "args": ()}`, with `f(x, *args)` zero,
            or not negative; `scipy.optimize.LinearConstraint`, `NonlinearConstraint`.
            Those that hold the minimum must be independent.
        tol: As in SciPy. In float32 the default is coarser where SciPy's can't be had.
        options: As in SciPy.

    Returns:
        `MinimizeResult`; for JAX's methods `jax.scipy.optimize.OptimizeResults`.

    Raises:
        SolverError: An unknown method, one that does not take bounds or constraints, or
            a function that returns more than a number.
    """
    if method is not None and method.lower() in OF_JAX:
        _refuse_for_jax(method, bounds, constraints)
        return _by_jax(fun, x0, args, method, tol, options or {})
    start = real_array(x0, "x0 of minimize()")
    conditions = conditions_of(constraints)
    chosen = _method(method, bounds is not None, bool(conditions))
    point = jax.ShapeDtypeStruct((start.size,), start.dtype)
    called = bound(fun, args)
    traced = hoisted(
        lambda x: _number(called(x.reshape(start.shape)), start.dtype), point
    )
    limits = bounds_of_pairs(bounds, start)
    problem = _Problem(traced, [_condition(c, start) for c in conditions], limits)
    solver = _Minimize(
        chosen, tol, _with_defaults(chosen, tol, start.dtype, options),
        bounds is not None, tuple(c.equal for c in problem.conditions),
    )  # fmt: skip
    x, (success, status, nfev, nit) = _solved(solver, problem, start.ravel())
    if chosen in WITHOUT_GRADIENT:
        value = evaluated(value_of, traced.function, traced.consts, x)
        slope = jnp.full_like(x, jnp.nan)
    else:
        both = evaluated(_value_and_gradient, traced.function, traced.consts, x)
        value, slope = both[0], both[1:]
    shape = start.shape
    return MinimizeResult(
        x.reshape(shape), value, slope.reshape(shape), success, status, nfev, nit
    )


def _by_jax(
    fun: Callable[..., Any],
    x0: Any,
    args: Any,
    method: str,
    tol: float | None,
    options: Mapping[str, Any],
) -> Any:
    """JAX's own search, compiled once for functions of equal code.

    JAX itself compiles its loops anew for each function object, which takes longer than
    most searches.
    """
    start = real_array(x0, "x0 of minimize()")
    if isinstance(args, tuple) and start.ndim == 1 and runs_now([start]):
        point = jax.ShapeDtypeStruct(start.shape, start.dtype)
        traced = hoisted(lambda x: fun(x, *args), point)
        if runs_now(traced.consts):
            run = _search_of_jax(method, tol, frozen(options))
            return evaluated(run, traced.function, traced.consts, start)
    return jax_minimize(fun, x0, args, method=method, tol=tol, options=options)


@made_once
def _search_of_jax(
    method: str, tol: float | None, options: tuple[tuple[str, Any], ...]
) -> Callable[..., Any]:
    """JAX's search with these settings."""

    def search(function: HoistedFunction, consts: Any, start: jax.Array) -> Any:
        def value(x: jax.Array) -> jax.Array:
            result: jax.Array = function(consts, x)[0]
            return result

        return jax_minimize(value, start, method=method, tol=tol, options=dict(options))

    return search


class _Condition(NamedTuple):
    equal: bool
    traced: Hoisted


class _Problem(NamedTuple):
    traced: Hoisted
    conditions: list[_Condition]
    bounds: Bounds


def _solved(solver: "_Minimize", problem: _Problem, start: jax.Array) -> Any:
    traced, conditions = problem.traced, problem.conditions
    size = start.size
    point = jax.ShapeDtypeStruct((size,), start.dtype)
    integer = jax.ShapeDtypeStruct((), jnp.int32)
    flag = jax.ShapeDtypeStruct((), jnp.bool_)
    with_gradient = solver.method not in WITHOUT_GRADIENT
    derived = [_value_and_gradient if with_gradient else value_of]
    if solver.method in WITH_HESSIAN:
        derived.append(_hessian)
    of_condition = _values_and_jacobian if with_gradient else value_of
    asked = [
        *(Asked(derive, traced.function) for derive in derived),
        *(Asked(of_condition, c.traced.function) for c in conditions),
    ]

    def constraints_of(consts: Any) -> Constraints:
        def values(x: jax.Array) -> jax.Array:
            pairs = zip(conditions, consts, strict=True)
            return jnp.concatenate([c.traced.function(k, x)[0] for c, k in pairs])

        equal = [jnp.full(c.traced.shape.shape, c.equal) for c in conditions]
        return Constraints(values, jnp.concatenate(equal))

    def gradient(consts: Any, x: jax.Array) -> jax.Array:
        return _value_and_gradient(traced.function, consts, x)[1:]

    def solve(parameters: Any) -> tuple[jax.Array, Any]:
        consts, of_conditions, bounds, start = parameters
        specs = [point, flag, integer, integer, integer]
        captured = [*[consts] * len(derived), *of_conditions]
        x, *rest = drive(solver, asked, captured, point, [start, *bounds], specs)
        if conditions:
            slope = gradient(consts, x)
            weights = multipliers(x, slope, bounds, constraints_of(of_conditions))
            x = jnp.concatenate([x, weights])
        return x, tuple(rest)

    def residual(parameters: Any, unknowns: jax.Array) -> jax.Array:
        consts, of_conditions, bounds, _ = parameters
        slope = gradient(consts, unknowns[:size])
        if not conditions:
            return bounded_residual(unknowns, slope, bounds)
        return constrained_residual(
            unknowns, slope, bounds, constraints_of(of_conditions)
        )

    parameters = (
        traced.consts,
        [c.traced.consts for c in conditions],
        problem.bounds,
        jax.lax.stop_gradient(start),
    )
    unknowns, rest = implicit(solve, residual, parameters)
    return unknowns[:size], rest


@dataclass(frozen=True)
class _Minimize:
    """`scipy.optimize.minimize` with these settings, as a solver to drive."""

    method: str
    tol: float | None
    options: Options
    bounded: bool
    equal: tuple[bool, ...]  # for each constraint function

    def __call__(
        self, ask: Callable[..., Any], start: Any, lower: Any, upper: Any
    ) -> Sequence[Any]:
        from scipy import optimize

        size = start.size
        with_gradient = self.method not in WITHOUT_GRADIENT
        with_hessian = self.method in WITH_HESSIAN

        def value(x: Any) -> Any:
            both = ask(0, x)
            return (both[0], both[1:]) if with_gradient else both[0]

        name = "bfgs" if self.method == "scipy-bfgs" else self.method
        found = optimize.minimize(
            value,
            start,
            method=name,
            jac=True if with_gradient else None,
            hess=(lambda x: ask(1, x).reshape(size, size)) if with_hessian else None,
            bounds=optimize.Bounds(lower, upper) if self.bounded else None,
            constraints=[
                self._constraint(functools.partial(ask, k), equal, size)
                for k, equal in enumerate(self.equal, 1 + with_hessian)
            ],
            tol=self.tol,
            options=dict(self.options),
        )
        count = found.get("nit", found.nfev)
        return found.x, found.success, found.status, found.nfev, count

    def _constraint(self, ask: Callable[[Any], Any], equal: bool, size: int) -> Any:
        kind = "eq" if equal else "ineq"
        if self.method in WITHOUT_GRADIENT:
            return {"type": kind, "fun": ask}

        def rows(x: Any) -> Any:  # of each constraint: value, gradient
            return ask(x).reshape(-1, 1 + size)

        return {
            "type": kind,
            "fun": lambda x: rows(x)[:, 0],
            "jac": lambda x: rows(x)[:, 1:],
        }


def _value_and_gradient(
    function: HoistedFunction, consts: Any, x: jax.Array
) -> jax.Array:
    value, gradient = jax.value_and_grad(lambda x: function(consts, x)[0])(x)
    both: jax.Array = jnp.concatenate([value[None], gradient])
    return both


def _hessian(function: HoistedFunction, consts: Any, x: jax.Array) -> jax.Array:
    hessian: jax.Array = jax.hessian(lambda x: function(consts, x)[0])(x)
    return hessian


def _values_and_jacobian(
    function: HoistedFunction, consts: Any, x: jax.Array
) -> jax.Array:
    def values(x: jax.Array) -> Any:
        return function(consts, x)[0]

    both = [values(x)[:, None], jax.jacfwd(values)(x)]
    return jnp.concatenate(both, axis=1)


def _number(value: Any, dtype: Any) -> jax.Array:
    value = jnp.asarray(value)
    if value.size != 1:
        message = (
            f"minimize() needs a function that returns one number; fun returned an "
            f"array of shape {value.shape}. Reduce it, for example by jnp.sum(...)."
        )
        raise SolverError(message)
    number: jax.Array = value.reshape(()).astype(dtype)
    return number


def _condition(given: Any, start: jax.Array) -> _Condition:
    if not isinstance(given, Mapping) or given.get("type") not in ("eq", "ineq"):
        message = (
            f"minimize() got the constraint {given!r}. Write it as "
            '{"type": "eq", "fun": f} for f(x) = 0, or "ineq" for f(x) >= 0.'
        )
        raise SolverError(message)
    function = bound(given["fun"], given.get("args", ()))

    def values(x: jax.Array) -> jax.Array:
        value = jnp.asarray(function(x.reshape(start.shape)))
        return jnp.ravel(value).astype(start.dtype)

    point = jax.ShapeDtypeStruct((start.size,), start.dtype)
    return _Condition(given["type"] == "eq", hoisted(values, point))


def _method(method: str | None, bounded: bool, constrained: bool) -> str:
    if method is None:
        if constrained:
            return "slsqp"
        return "l-bfgs-b" if bounded else "scipy-bfgs"
    chosen = method.lower()
    refuse_method(chosen, (*METHODS, *OF_JAX), "minimize")
    for asked, able, what in (
        (bounded, WITH_BOUNDS, "bounds"),
        (constrained, WITH_CONSTRAINTS, "constraints"),
    ):
        if asked and chosen not in able:
            message = (
                f"minimize(method={method!r}) takes no {what}. Methods that do are "
                f"{', '.join(able)}; with method=None one is chosen."
            )
            raise SolverError(message)
    return chosen


def _refuse_for_jax(method: str, bounds: Any, constraints: Any) -> None:
    if bounds is not None or constraints:
        message = (
            f"minimize(method={method!r}) is JAX's own, which takes no bounds and no "
            "constraints. Leave method out, and one is chosen that does."
        )
        raise SolverError(message)


# What SciPy measures changes of the function by is finer than a float32.
_FINEST = {"l-bfgs-b": ("ftol", 1.0), "scipy-bfgs": ("gtol", 1e3), "cg": ("gtol", 1e3)}


def _with_defaults(
    method: str, tol: float | None, dtype: Any, options: Mapping[str, Any] | None
) -> Options:
    options = dict(options or {})
    if tol is None and dtype == jnp.float32 and method in _FINEST:
        name, multiple = _FINEST[method]
        options.setdefault(name, multiple * float(np.finfo(dtype).eps))
    return frozen(options)
