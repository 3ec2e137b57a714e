"""Roots of systems of equations: `scipy.optimize.root`, `fsolve`."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..._advice import hiding_frames
from ..._errors import SolverError
from .._solving._driving import Asked, drive
from .._solving._hoisting import Hoisted, HoistedFunction, evaluated, hoisted, value_of
from .._solving._implicit import implicit
from .._solving._options import (
    Options,
    bound,
    frozen,
    real_array,
    refuse_method,
    tolerance,
)


WITH_JACOBIAN = ("hybr", "lm")
METHODS = (
    *WITH_JACOBIAN,
    *"broyden1 broyden2 anderson linearmixing diagbroyden excitingmixing".split(),
    *"krylov df-sane".split(),
)


class RootResult(NamedTuple):
    """What `root` returns: an `OptimizeResult` of SciPy with fields of fixed shape.

    Attributes:
        x: The root, of the shape of `x0`; it has derivatives.
        fun: The function there.
        success: Boolean: the solver converged. Only then derivatives mean something.
        status: SciPy's status as an integer.
        nfev: How often the solver asked for the function.
    """

    x: jax.Array
    fun: jax.Array
    success: jax.Array
    status: jax.Array
    nfev: jax.Array


@hiding_frames
def root(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    *,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> RootResult:
    """Find a root of a vector function: `scipy.optimize.root` for JAX functions.

    SciPy searches, JAX computes the function and its jacobian. Derivatives with respect
    to all that `fun` reads, arguments or captured, come from the implicit function
    theorem, forward and reverse and of every order. Under jit and vmap SciPy and JAX
    take turns; a batch asks JAX for all rows at once.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> def equations(x, a):
        ...     return jnp.stack([x[0] ** 2 + x[1] - a, x[0] - x[1]])
        >>> def first(a):
        ...     return jnp.scipy.optimize.root(equations, jnp.ones(2), (a,)).x[0]
        >>> first(6.0), float(jax.jit(jax.grad(first))(6.0))
        (Array(2., dtype=float32), 0.2)

    Args:
        fun: `fun(x, *args)` of an array like `x0`, returns as many numbers.
        x0: Real array of any shape, where the search begins.
        args: More arguments of `fun`, of any type that JAX takes.
        method: As in SciPy: "hybr", "lm", "broyden1", "krylov", ...
        tol: As in SciPy. None: 1.5e-8 for float64 and 3.5e-4 for float32 with "hybr"
            and "lm", which mostly end far closer; SciPy's own for others.
        options: As in SciPy.

    Returns:
        `RootResult`.

    Raises:
        SolverError: An unknown method, or a function that returns another number of
            values than it takes.
    """
    refuse_method(method, METHODS, "root")
    start = real_array(x0, "x0 of root()")
    called = bound(fun, args)
    flat = lambda x: _float_vector(called(x.reshape(start.shape)), start.dtype)
    point = jax.ShapeDtypeStruct((start.size,), start.dtype)
    traced = hoisted(flat, point)
    _refuse_other_size(traced, start)
    if tol is None and method in WITH_JACOBIAN:
        tol = tolerance(start.dtype)
    solver = _Root(method, tol, frozen(options))
    x, (success, status, nfev) = _solved(solver, traced, start.ravel())
    value = evaluated(value_of, traced.function, traced.consts, x)
    shape = start.shape
    return RootResult(x.reshape(shape), value.reshape(shape), success, status, nfev)


def _solved(solver: "_Root", traced: Hoisted, start: jax.Array) -> tuple[Any, Any]:
    point = jax.ShapeDtypeStruct(start.shape, start.dtype)
    integer = jax.ShapeDtypeStruct((), jnp.int32)
    flag = jax.ShapeDtypeStruct((), jnp.bool_)
    # A function without derivatives has roots, too.
    derived = (value_of, _jacobian) if solver.method in WITH_JACOBIAN else (value_of,)
    asked = [Asked(derive, traced.function) for derive in derived]

    def solve(parameters: Any) -> tuple[jax.Array, Any]:
        consts, start = parameters
        specs = [point, flag, integer, integer]
        captured = [consts] * len(asked)
        x, *rest = drive(solver, asked, captured, point, [start], specs)
        return x, tuple(rest)

    def residual(parameters: Any, x: jax.Array) -> jax.Array:
        return value_of(traced.function, parameters[0], x)

    return implicit(solve, residual, (traced.consts, jax.lax.stop_gradient(start)))


@dataclass(frozen=True)
class _Root:
    """`scipy.optimize.root` with these settings, as a solver to drive."""

    method: str
    tol: float | None
    options: Options

    def __call__(self, ask: Callable[..., Any], start: Any) -> Sequence[Any]:
        from scipy import optimize

        size = start.size
        jacobian = lambda x: ask(1, x).reshape(size, size)
        found = optimize.root(
            functools.partial(ask, 0),
            start,
            method=self.method,
            jac=jacobian if self.method in WITH_JACOBIAN else None,
            tol=self.tol,
            options=dict(self.options),
        )
        status = found.get("status", int(not found.success))
        return found.x, found.success, status, found.get("nfev", found.get("nit", -1))


def _jacobian(function: HoistedFunction, consts: Any, x: jax.Array) -> jax.Array:
    jacobian: jax.Array = jax.jacfwd(lambda x: value_of(function, consts, x))(x)
    return jacobian


def _float_vector(value: Any, dtype: Any) -> jax.Array:
    if isinstance(value, (tuple, list)):
        value = jnp.stack([jnp.asarray(v) for v in value])
    return jnp.ravel(jnp.asarray(value)).astype(dtype)


def _refuse_other_size(traced: Hoisted, start: jax.Array) -> None:
    if traced.shape.size != start.size:
        message = (
            f"root() needs as many equations as unknowns: fun returned "
            f"{traced.shape.size} numbers for an x of {start.size}. For more equations "
            "than unknowns use jfi.scipy.optimize.least_squares(fun, x0)."
        )
        raise SolverError(message)
