"""Integrals of functions of one number: `scipy.integrate.quad`.

The derivative of an integral is the integral of the derivatives, a vector, and the
values of the function at the limits (Leibniz). So derivatives have every order, forward
and reverse, and are as accurate as the integral.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._advice import hiding_frames
from ..._errors import SolverError
from ..._jax_internals import is_zero_tangent
from .._solving._driving import Asked, drive
from .._solving._hoisting import Derived, HoistedFunction, hoisted, value_of
from .._solving._options import bound, real_array
from ._moving import as_vector, moving, replaced


class QuadResult(NamedTuple):
    """What `quad` returns, in the order of SciPy.

    Attributes:
        integral: The integral, a float without axes; it has derivatives.
        error: SciPy's estimate of its absolute error.
    """

    integral: jax.Array
    error: jax.Array


@hiding_frames
def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    *,
    epsabs: float | None = None,
    epsrel: float | None = None,
    limit: int = 50,
    points: Sequence[float] | None = None,
) -> QuadResult:
    """Integrate a function from `a` to `b`: `scipy.integrate.quad` for JAX functions.

    SciPy (QUADPACK) chooses the points, JAX computes the function. Derivatives with
    respect to the limits and to all that `func` reads are integrals as well, which
    `scipy.integrate.quad_vec` computes, all of them at once.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> def bell(width):
        ...     decay = lambda x: jnp.exp(-((x / width) ** 2))
        ...     return jnp.scipy.integrate.quad(decay, -jnp.inf, jnp.inf).integral
        >>> float(bell(2.0)), float(jax.jit(jax.grad(bell))(2.0))
        (3.5449, 1.7725)

    Args:
        func: `func(x, *args)` of a number, returns a number.
        a: The lower limit, a number, also `-inf`.
        b: The upper limit, also `inf`.
        args: More arguments of `func`, of any type that JAX takes.
        epsabs: As in SciPy. None: 1.5e-8 for float64, 1e-5 for float32.
        epsrel: As in SciPy. None: as of `epsabs`.
        limit: As in SciPy: how many intervals there may be.
        points: As in SciPy: where the function is not smooth.

    Returns:
        `QuadResult`: `integral, error = quad(...)`. Where SciPy doubts it, it warns.

    Raises:
        SolverError: The function returns more than one number, or a complex one.
    """
    limits = [real_array(end, "a limit of quad()") for end in (a, b)]
    shape = jax.ShapeDtypeStruct((), jnp.result_type(*limits))
    start, stop = (end.reshape(()).astype(shape.dtype) for end in limits)

    called = bound(func, args)

    def integrand(x: jax.Array) -> jax.Array:
        value = jnp.asarray(called(x))
        if value.size != 1 or jnp.issubdtype(value.dtype, jnp.complexfloating):
            message = (
                f"quad() integrates real numbers, and func returned {value.dtype} of "
                f"shape {value.shape}. Integrate its parts one by one, for example "
                "under vmap."
            )
            raise SolverError(message)
        return value.reshape(1).astype(shape.dtype)

    traced = hoisted(integrand, shape)
    finest = 1.49e-8 if shape.dtype == jnp.float64 else 1e-5
    settings = _Settings(
        finest if epsabs is None else epsabs,
        finest if epsrel is None else epsrel,
        limit,
        None if points is None else tuple(points),
    )
    value, error = _integral(
        value_of, traced.function, settings, traced.consts, start, stop
    )
    return QuadResult(value[0], error)


class _Settings(NamedTuple):
    epsabs: float
    epsrel: float
    limit: int
    points: tuple[float, ...] | None


def _integral(
    derive: Derived,
    function: HoistedFunction,
    settings: _Settings,
    consts: list[Any],
    start: jax.Array,
    stop: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """The integral of a vector `derive(function, consts, x)`, and its error."""

    @jax.custom_jvp
    def solved(consts: list[Any], start: jax.Array, stop: jax.Array) -> Any:
        point = jax.ShapeDtypeStruct((), start.dtype)
        vector = jax.eval_shape(lambda x: derive(function, consts, x), point)
        error = jax.ShapeDtypeStruct((), start.dtype)
        asked = [Asked(derive, function)]
        solver = _Quad(settings, vector.size)
        return drive(solver, asked, [consts], point, [start, stop], [vector, error])

    def rule(primals: Any, tangents: Any) -> Any:
        (consts, start, stop), (of_consts, of_start, of_stop) = primals, tangents
        value, error = solved(consts, start, stop)
        change = jnp.zeros_like(value)
        places = moving(of_consts)
        if places:
            slopes = _Slopes(derive, places)
            flat, _ = _integral(slopes, function, settings, consts, start, stop)
            moved = as_vector([of_consts[k] for k in places], value.dtype)
            change += flat.reshape(value.size, -1) @ moved
        for end, tangent, sign in ((start, of_start, -1), (stop, of_stop, 1)):
            if not is_zero_tangent(tangent):
                finite = jnp.isfinite(end)  # at infinity the function is zero
                there = derive(function, consts, jnp.where(finite, end, 0))
                change += sign * jnp.where(finite, there, 0) * tangent
        return [value, error], [change, jnp.zeros_like(error)]

    solved.defjvp(rule, symbolic_zeros=True)
    value, error = solved(consts, start, stop)
    return value, error


@dataclass(frozen=True)
class _Quad:
    """`scipy.integrate.quad`, or `quad_vec`, as a solver to drive."""

    settings: _Settings
    size: int

    def __call__(self, ask: Callable[..., Any], start: Any, stop: Any) -> Sequence[Any]:
        from scipy import integrate

        settings = self.settings._asdict()
        if self.size == 1:
            number = lambda x: float(ask(0, x)[0])
            value, error = integrate.quad(number, float(start), float(stop), **settings)
            return np.reshape(value, 1), error
        vector = lambda x: ask(0, x)
        value, error = integrate.quad_vec(
            vector, float(start), float(stop), norm="max", **settings
        )
        return value, error


@dataclass(frozen=True)
class _Slopes:
    """The derivatives of a vector with respect to some constants, as one vector."""

    derive: Derived
    places: tuple[int, ...]

    def __call__(
        self, function: HoistedFunction, consts: Any, x: jax.Array
    ) -> jax.Array:
        moved = as_vector([consts[k] for k in self.places], x.dtype)

        def vector(moved: jax.Array) -> Any:
            return self.derive(function, replaced(consts, self.places, moved), x)

        return jnp.ravel(jax.jacrev(vector)(moved))
