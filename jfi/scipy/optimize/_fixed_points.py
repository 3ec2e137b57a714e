"""Fixed points: `scipy.optimize.fixed_point`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from ..._advice import hiding_frames
from .._solving._driving import Asked, drive
from .._solving._hoisting import hoisted, value_of
from .._solving._implicit import implicit
from .._solving._options import bound, real_array, refuse_method


@hiding_frames
def fixed_point(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    xtol: float | None = None,
    maxiter: int = 500,
    method: str = "del2",
) -> jax.Array:
    """Find where a function returns its argument: `scipy.optimize.fixed_point`.

    SciPy iterates, JAX computes the function. The derivative of the point with respect
    to all that `func` reads comes from `x = func(x)`, not from the iterations.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> def heron(a):
        ...     return jnp.scipy.optimize.fixed_point(lambda x: (x + a / x) / 2, 1.0)
        >>> float(heron(9.0)), float(jax.jit(jax.grad(heron))(9.0))
        (3.0, 0.16667)

    Args:
        func: `func(x, *args)` of an array like `x0`, returns an array like it.
        x0: Real array of any shape, where the iteration begins.
        args: More arguments of `func`, of any type that JAX takes.
        xtol: As in SciPy. None: 1e-8 for float64, 1e-5 for float32.
        maxiter: As in SciPy.
        method: "del2", Steffensen's method, or "iteration".

    Returns:
        The point, of the shape of `x0`.

    Raises:
        SolverError: An unknown method.
        RuntimeError: SciPy's: it did not converge. NaN under plain `jax.jit`.
    """
    refuse_method(method, ("del2", "iteration"), "fixed_point")
    start = real_array(x0, "x0 of fixed_point()")
    point = jax.ShapeDtypeStruct((start.size,), start.dtype)
    called = bound(func, args)

    def moved(x: jax.Array) -> jax.Array:
        value = jnp.asarray(called(x.reshape(start.shape)))
        return jnp.ravel(jnp.broadcast_to(value, start.shape)).astype(start.dtype)

    traced = hoisted(moved, point)
    finest = 1e-8 if start.dtype == jnp.float64 else 1e-5
    solver = _FixedPoint(method, finest if xtol is None else xtol, maxiter)

    def solve(parameters: Any) -> tuple[jax.Array, Any]:
        consts, start = parameters
        asked = [Asked(value_of, traced.function)]
        (x,) = drive(solver, asked, [consts], point, [start], [point], may_fail=True)
        return x, None

    def residual(parameters: Any, x: jax.Array) -> jax.Array:
        return x - value_of(traced.function, parameters[0], x)

    parameters = (traced.consts, jax.lax.stop_gradient(start.ravel()))
    return implicit(solve, residual, parameters)[0].reshape(start.shape)


@dataclass(frozen=True)
class _FixedPoint:
    """`scipy.optimize.fixed_point` with these settings, as a solver to drive."""

    method: str
    xtol: float
    maxiter: int

    def __call__(self, ask: Callable[..., Any], start: Any) -> Sequence[Any]:
        from scipy import optimize

        found: Any = optimize.fixed_point(
            lambda x: ask(0, x), start, (), self.xtol, self.maxiter, self.method
        )
        return [found]
