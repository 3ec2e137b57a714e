"""Roots of one equation in one unknown: `scipy.optimize.root_scalar`, `brentq`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._advice import hiding_frames
from ..._errors import SolverError
from .._solving._driving import Asked, drive
from .._solving._hoisting import HoistedFunction, hoisted
from .._solving._implicit import implicit
from .._solving._options import Options, bound, frozen, real_array, refuse_method


BRACKETING = ("brentq", "brenth", "bisect", "ridder", "toms748")
METHODS = (*BRACKETING, "newton", "halley", "secant")


class RootScalarResult(NamedTuple):
    """What `root_scalar` returns: SciPy's `RootResults` with fields of fixed shape.

    Attributes:
        root: The root, a float without axes; it has derivatives.
        converged: Boolean. Only if it is True derivatives mean something.
        iterations: Iterations of the solver.
        function_calls: How often the solver asked for the function.
    """

    root: jax.Array
    converged: jax.Array
    iterations: jax.Array
    function_calls: jax.Array


@hiding_frames
def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    *,
    x0: Any = None,
    x1: Any = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> RootScalarResult:
    """Find a root of a function of one number: `scipy.optimize.root_scalar`.

    SciPy searches, JAX computes the function and its derivatives. The derivative of the
    root with respect to all that `f` reads comes from the implicit function theorem.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> def cube_root(a):
        ...     equation = lambda x: x**3 - a
        ...     return jnp.scipy.optimize.root_scalar(equation, bracket=(0.0, 9.0)).root
        >>> cube_root(8.0), float(jax.grad(cube_root)(8.0))
        (Array(2., dtype=float32), 0.08333)

    Args:
        f: `f(x, *args)` of a number, returns a number.
        args: More arguments of `f`, of any type that JAX takes.
        method: As in SciPy: "brentq", "brenth", "bisect", "ridder", "toms748" with a
            bracket; "newton", "halley", "secant" from `x0`. None: "brentq" with a
            bracket, "newton" without.
        bracket: Two numbers between which `f` changes its sign.
        x0: Where the search begins.
        x1: A second guess for "secant".
        xtol: As in SciPy.
        rtol: As in SciPy.
        maxiter: As in SciPy.
        options: As in SciPy.

    Returns:
        `RootScalarResult`.

    Raises:
        SolverError: An unknown method, or one without the start that it needs.
        ValueError: SciPy's: `f` has the same sign at both ends of the bracket. Under
            jit an error of JAX has its text.
    """
    settings = (("xtol", xtol), ("rtol", rtol), ("maxiter", maxiter))
    return found_root(f, args, method, bracket, (x0, x1), settings, options)


def found_root(
    f: Callable[..., Any],
    args: Any,
    method: str | None,
    bracket: Any,
    near: tuple[Any, Any],
    settings: Options,
    options: Mapping[str, Any] | None = None,
    *,
    must_converge: bool = False,
) -> RootScalarResult:
    """`root_scalar`; with `must_converge` it raises as SciPy's single methods do."""
    method = method or ("newton" if bracket is None else "brentq")
    x0, x1 = near
    refuse_method(method, METHODS, "root_scalar")
    guesses = bracket if method in BRACKETING else (x0,) if x1 is None else (x0, x1)
    if guesses is None or any(guess is None for guess in guesses):
        needed = "bracket=(a, b)" if method in BRACKETING else "x0="
        raise SolverError(f"root_scalar(method={method!r}) needs {needed}.")
    parts = [real_array(guess, "the start of root_scalar()") for guess in guesses]
    if any(part.size != 1 for part in parts):
        shapes = " and ".join(str(part.shape) for part in parts)
        names = "a, b" if method in BRACKETING else "x0"
        given = f"bracket=({names})" if method in BRACKETING else "x0=x0"
        message = (
            f"root_scalar() got a start of shape {shapes}, and searches one root. "
            f"Write: jnp.vmap(lambda {names}: "
            f"jnp.scipy.optimize.root_scalar(f, {given}))({names})"
        )
        raise SolverError(message)
    start = jnp.stack([p.reshape(()) for p in jnp.broadcast_arrays(*parts)])
    point = jax.ShapeDtypeStruct((1,), start.dtype)
    called = bound(f, args)

    def equation(x: jax.Array) -> jax.Array:
        value: jax.Array = jnp.asarray(called(x[0])).reshape(1).astype(start.dtype)
        return value

    traced = hoisted(equation, point)
    asked = [Asked(_derivatives, traced.function)]
    integer = jax.ShapeDtypeStruct((), jnp.int32)
    specs = [point, jax.ShapeDtypeStruct((), jnp.bool_), integer, integer]
    solver = _RootScalar(method, settings, frozen(options), must_converge)

    def solve(parameters: Any) -> tuple[jax.Array, Any]:
        consts, start = parameters
        x, *rest = drive(
            solver, asked, [consts], point, [start], specs, may_fail=must_converge
        )
        return x, tuple(rest)

    def residual(parameters: Any, x: jax.Array) -> jax.Array:
        value: jax.Array = traced.function(parameters[0], x)[0]
        return value

    parameters = (traced.consts, jax.lax.stop_gradient(start))
    x, rest = implicit(solve, residual, parameters)
    return RootScalarResult(x[0], *rest)


@dataclass(frozen=True)
class _RootScalar:
    """`scipy.optimize.root_scalar` with these settings, as a solver to drive."""

    method: str
    settings: Options
    options: Options
    must_converge: bool

    def __call__(self, ask: Callable[..., Any], start: Any) -> Sequence[Any]:
        from scipy import optimize

        if self.must_converge:
            return self._single(ask, start)
        order = {"newton": 1, "halley": 2}.get(self.method, 0)
        if self.method in BRACKETING:
            begin: dict[str, Any] = {"bracket": start}
        else:
            begin = {"x0": start[0], "x1": start[1] if start.size > 1 else None}

        found = optimize.root_scalar(
            (lambda x: float(ask(0, [x])[0]))
            if order == 0
            else (lambda x: tuple(ask(0, [x])[: 1 + order])),
            method=self.method,
            fprime=True if order else None,
            fprime2=True if order == 2 else None,
            options=dict(self.options),
            **begin,
            **dict(self.settings),
        )
        return (
            np.reshape(found.root, 1),
            found.converged,
            np.nan_to_num(found.iterations),  # NaN where a value was NaN
            found.function_calls,
        )

    def _single(self, ask: Callable[..., Any], start: Any) -> Sequence[Any]:
        """By SciPy's function for this method alone: only these raise."""
        from scipy import optimize

        settings = {name: v for name, v in self.settings if v is not None}
        settings.update(dict(self.options), full_output=True)
        value = lambda x: float(ask(0, [x])[0])
        if self.method in BRACKETING:
            found = getattr(optimize, self.method)(value, *start, **settings)[1]
        else:
            settings["tol"] = settings.pop("xtol")
            if start.size > 1:
                settings["x1"] = start[1]
            else:
                settings["fprime"] = lambda x: ask(0, [x])[1]
            find: Any = optimize.newton
            found = find(value, start[0], **settings)[1]
        return [np.reshape(found.root, 1), True, found.iterations, found.function_calls]


def _derivatives(function: HoistedFunction, consts: Any, x: jax.Array) -> jax.Array:
    """The function with its first and second derivative."""

    def value(x: jax.Array) -> Any:
        return function(consts, x[None])[0][0]

    first = jax.grad(value)
    return jnp.stack([value(x[0]), first(x[0]), jax.grad(first)(x[0])])
