"""Ordinary differential equations: `scipy.integrate.solve_ivp`.

Derivatives are forward sensitivities: the derivative of the state with respect to all
that is asked for is integrated along with the state. It costs the time of as many
copies of the equation as there are numbers to differentiate by, and has every order,
forward and reverse.

References:
    E. Hairer, S. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, I.14.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._advice import hiding_frames
from ..._errors import SolverError
from ._driving import Asked, drive
from ._hoisting import Derived, HoistedFunction, hoisted
from ._implicit import no_tangent
from ._moving import as_vector, is_moving, moving, replaced
from ._options import Options, bound, frozen, real_array, refuse_method


EXPLICIT = ("RK45", "RK23", "DOP853")
METHODS = (*EXPLICIT, "Radau", "BDF", "LSODA")


class IvpResult(NamedTuple):
    """What `solve_ivp` returns: SciPy's result with fields of fixed shape.

    Attributes:
        t: `(times,)`, the times asked for.
        y: `(*y0.shape, times)`, the state at these times; it has derivatives. NaN after
            the time at which the solver gave up.
        success: Boolean: the solver reached the end.
        status: SciPy's status as an integer.
        nfev: How often the solver asked for the right-hand side.
    """

    t: jax.Array
    y: jax.Array
    success: jax.Array
    status: jax.Array
    nfev: jax.Array


@hiding_frames
def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    *,
    args: Any = (),
    rtol: float = 1e-3,
    atol: float = 1e-6,
    **options: Any,
) -> IvpResult:
    """Integrate `dy/dt = fun(t, y)`: `scipy.integrate.solve_ivp` for JAX functions.

    SciPy chooses the steps, JAX computes the right-hand side and, for "Radau", "BDF"
    and "LSODA", its jacobian. Derivatives with respect to the initial state, the times
    and all that `fun` reads are integrated along with the state (forward
    sensitivities).

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> times = jnp.array([0.0, 1.0, 2.0])
        >>> def decay(rate):
        ...     slope = lambda t, y: -rate * y
        ...     return jnp.scipy.integrate.solve_ivp(
        ...         slope, (0.0, 2.0), jnp.ones(1), t_eval=times, rtol=1e-6
        ...     ).y[0]
        >>> decay(0.5).tolist(), jax.jit(jax.jacobian(decay))(0.5).tolist()
        ([1.0, 0.6065, 0.3679], [0.0, -0.6065, -0.7358])

    Args:
        fun: `fun(t, y, *args)` of a number and an array like `y0`, returns an array
            like `y0`.
        t_span: The first and the last time.
        y0: Real array of any shape: the state at the first time.
        method: "RK45", "RK23", "DOP853", "Radau", "BDF" or "LSODA", as in SciPy.
        t_eval: `(times,)` array: the times of which the state is returned. It is
            needed: the number of SciPy's own steps is no shape that JAX could know.
        args: More arguments of `fun`, of any type that JAX takes.
        rtol: As in SciPy.
        atol: As in SciPy, a number.
        **options: As in SciPy: `max_step`, `first_step`, `min_step`.

    Returns:
        `IvpResult`.

    Raises:
        SolverError: No `t_eval`, an unknown method, or a right-hand side of another
            shape than the state.
        ValueError: SciPy's, on times outside of `t_span`.
    """
    refuse_method(method, METHODS, "solve_ivp")
    if t_eval is None:
        message = (
            "solve_ivp() needs the times at which you want the state: "
            "t_eval=jnp.linspace(t0, t1, 100)."
        )
        raise SolverError(message)
    state = real_array(y0, "y0 of solve_ivp()")
    start, stop = (jnp.asarray(t, state.dtype).reshape(()) for t in t_span)
    times = jnp.asarray(t_eval, state.dtype)
    point = jax.ShapeDtypeStruct((1 + state.size,), state.dtype)

    called = bound(fun, args)

    def slope(point: jax.Array) -> jax.Array:
        y = point[1:].reshape(state.shape)
        value = called(point[0], y)
        if isinstance(value, (list, tuple)):
            value = jnp.stack([jnp.asarray(v) for v in value])
        value = jnp.asarray(value)
        if value.size != state.size:
            message = (
                f"solve_ivp() got a fun that returns shape {value.shape} for a state "
                f"of shape {state.shape}. Return the derivative of each number in it."
            )
            raise SolverError(message)
        return jnp.ravel(value).astype(state.dtype)

    traced = hoisted(slope, point)
    solver = _Ivp(method, rtol, atol, frozen(options))
    path = _Path(solver, _value, traced.function)
    given = _Given(traced.consts, start, stop, state.ravel(), times)
    y, success, status, nfev = path(given)
    shape = (*state.shape, times.size)
    return IvpResult(times, y.T.reshape(shape), success, status, nfev)


class _Given(NamedTuple):
    """All that a path depends on; `state` is that of the time `start`."""

    consts: list[Any]
    start: Any
    stop: Any
    state: Any
    times: Any


@dataclass(frozen=True)
class _Path:
    """The solution of `dy/dt = derive(function, consts, (t, y))`."""

    solver: "_Ivp"
    derive: Derived
    function: HoistedFunction

    def __call__(self, given: _Given) -> list[jax.Array]:
        """`(times, n)` states, success, status and the number of calls."""
        solved = jax.custom_jvp(self._solved)
        solved.defjvp(self._rule, symbolic_zeros=True)
        path: list[jax.Array] = solved(given)
        return path

    def _solved(self, given: _Given) -> list[jax.Array]:
        size, dtype = given.state.size, given.state.dtype
        point = jax.ShapeDtypeStruct((1 + size,), dtype)
        integer = jax.ShapeDtypeStruct((), jnp.int32)
        states = jax.ShapeDtypeStruct((given.times.size, size), dtype)
        specs = [states, jax.ShapeDtypeStruct((), jnp.bool_), integer, integer]
        asked = [
            Asked(self.derive, self.function),
            Asked(_Jacobian(self.derive), self.function),
        ]
        captured = [given.consts, given.consts]
        return drive(self.solver, asked, captured, point, list(given[1:]), specs)

    def _rule(self, primals: Any, tangents: Any) -> Any:
        given, moved = _Given(*primals[0]), _Given(*tangents[0])
        states, *rest = self(given)
        dtype, size = states.dtype, given.state.size
        change = jnp.zeros_like(states)

        def slope(time: jax.Array, state: jax.Array) -> jax.Array:
            point = jnp.concatenate([time[None], state])
            value: jax.Array = self.derive(self.function, given.consts, point)
            return value

        places = moving(moved.consts)
        starts, directions = [], []
        if is_moving(moved.state):
            starts.append(jnp.eye(size, dtype=dtype))
            directions.append(moved.state)
        if is_moving(moved.start):  # a later start at this state leaves out a part
            starts.append(-slope(given.start, given.state)[None])
            directions.append(moved.start[None])
        if places:
            directions.append(as_vector([moved.consts[k] for k in places], dtype))
            starts.append(jnp.zeros((directions[-1].size, size), dtype))
        if starts:
            first = jnp.concatenate(starts)
            count = first.shape[0]
            along = _Along(self.derive, places, size, count)
            begin = jnp.concatenate([given.state, first.ravel()])
            whole = _Path(self.solver, along, self.function)
            extended = whole(given._replace(state=begin))[0][:, size:]
            slopes = extended.reshape(-1, count, size)
            change += jnp.einsum("tks,k->ts", slopes, jnp.concatenate(directions))
        if is_moving(moved.times):
            change += jax.vmap(slope)(given.times, states) * moved.times[:, None]
        return [states, *rest], [change, *map(no_tangent, rest)]


@dataclass(frozen=True)
class _Along:
    """The right-hand side of a state and of its derivatives in some directions.

    The last directions are those of the constants at `places`.
    """

    derive: Derived
    places: tuple[int, ...]
    size: int
    directions: int

    def __call__(
        self, function: HoistedFunction, consts: Any, point: jax.Array
    ) -> jax.Array:
        time, state = point[:1], point[1 : 1 + self.size]
        slopes = point[1 + self.size :].reshape(self.directions, self.size)
        moved = as_vector([consts[k] for k in self.places] or [time[:0]], point.dtype)

        def slope(state: jax.Array, moved: jax.Array) -> Any:
            new = replaced(consts, self.places, moved)
            return self.derive(function, new, jnp.concatenate([time, state]))

        value, along = jax.linearize(slope, state, moved)
        of_consts = jnp.eye(self.directions, moved.size, moved.size - self.directions)
        changes = jax.vmap(along)(slopes, of_consts.astype(point.dtype))
        return jnp.concatenate([value, changes.ravel()])


@dataclass(frozen=True)
class _Jacobian:
    """The derivative of a right-hand side with respect to the state."""

    derive: Derived

    def __call__(
        self, function: HoistedFunction, consts: Any, point: jax.Array
    ) -> jax.Array:
        slope = lambda y: self.derive(function, consts, jnp.concatenate([point[:1], y]))
        jacobian: jax.Array = jax.jacfwd(slope)(point[1:])
        return jacobian


@dataclass(frozen=True)
class _Ivp:
    """`scipy.integrate.solve_ivp` with these settings, as a solver to drive."""

    method: str
    rtol: float
    atol: float
    options: Options

    def __call__(
        self, ask: Callable[..., Any], start: Any, stop: Any, state: Any, times: Any
    ) -> Sequence[Any]:
        from scipy import integrate

        size = state.size
        options = dict(self.options)
        if self.method not in EXPLICIT:
            options["jac"] = lambda t, y: ask(1, [t, *y]).reshape(size, size)
        found = integrate.solve_ivp(
            lambda t, y: ask(0, [t, *y]),
            (float(start), float(stop)),
            state,
            method=self.method,
            t_eval=times,
            rtol=self.rtol,
            atol=self.atol,
            **options,
        )
        states = np.full((times.size, size), np.nan)
        if found.y is not None and len(found.t):
            states[: len(found.t)] = np.asarray(found.y).T
        return states, found.success, found.status, found.nfev


def _value(function: HoistedFunction, consts: Any, point: jax.Array) -> jax.Array:
    value: jax.Array = function(consts, point)[0]
    return value
