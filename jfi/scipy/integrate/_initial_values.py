"""Ordinary differential equations: `scipy.integrate.solve_ivp`, and `odeint`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..._advice import hiding_frames
from ..._errors import SolverError
from .._solving._hoisting import HoistedFunction, hoisted
from .._solving._options import bound, frozen, real_array, refuse_method
from ._events import Events, PathWithEvents, traced_events
from ._paths import EXPLICIT, Ivp, Path, PathInputs, value_of


METHODS = (*EXPLICIT, "Radau", "BDF", "LSODA")


@jax.tree_util.register_pytree_node_class
class IvpSolution:
    """The state at any time: what `solve_ivp(..., dense_output=True).sol` is.

    Each call solves the equation again, up to the times asked for. It is a pytree, and
    so an argument and a result of compiled functions.
    """

    def __init__(self, given: PathInputs, path: Path, shape: tuple[int, ...]) -> None:
        self._given, self._path, self._shape = given, path, shape

    def __call__(self, t: Any) -> jax.Array:
        """The state at some times.

        Args:
            t: Times, in any shape and order.

        Returns:
            `(*y0.shape, *t.shape)` states, with derivatives; NaN outside `t_span`
            and after an event that ended the path.
        """
        times = jnp.asarray(t, self._given.state.dtype)
        states = self._path(self._given._replace(times=times.ravel()))[0]
        return states.T.reshape(*self._shape, *times.shape)

    def tree_flatten(self) -> tuple[tuple[PathInputs], tuple[Path, tuple[int, ...]]]:
        """Its numbers, and what is static."""
        return (self._given,), (self._path, self._shape)

    @classmethod
    def tree_unflatten(cls, static: Any, given: Any) -> "IvpSolution":
        """The opposite of `tree_flatten`."""
        return cls(*given, *static)


class IvpResult(NamedTuple):
    """What `solve_ivp` returns: SciPy's result with fields of fixed shape.

    Attributes:
        t: `(times,)`, the times asked for.
        y: `(*y0.shape, times)`, the state at these times; it has derivatives. NaN after
            the time at which the solver gave up.
        success: Boolean: the solver reached the end.
        status: SciPy's status as an integer.
        nfev: How often the solver asked for the right-hand side.
        t_events: For each event the `(places,)` times at which it happened, NaN behind;
            None without events. They have derivatives.
        y_events: For each event the `(places, *y0.shape)` states then.
        sol: `IvpSolution`, the state at any time, with `dense_output=True`.
    """

    t: jax.Array
    y: jax.Array
    success: jax.Array
    status: jax.Array
    nfev: jax.Array
    t_events: tuple[jax.Array, ...] | None = None
    y_events: tuple[jax.Array, ...] | None = None
    sol: IvpSolution | None = None


@hiding_frames
def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    *,
    max_events: int = 16,
    args: Any = (),
    rtol: float = 1e-3,
    atol: float = 1e-6,
    first_step: float | None = None,
    max_step: float | None = None,
    min_step: float | None = None,
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
        dense_output: Whether the result has `sol`, a function of time.
        events: `event(t, y, *args)` or several, each of which returns a number that is
            zero when it happens. As in SciPy, `event.terminal = True` ends the path,
            `event.direction = -1` counts falling zeros only.
        max_events: How many times there is a place for in `t_events`, for each event
            that does not end the path. More are an error.
        args: More arguments of `fun`, of any type that JAX takes.
        rtol: As in SciPy.
        atol: As in SciPy, a number.
        first_step: As in SciPy.
        max_step: As in SciPy.
        min_step: As in SciPy, for "LSODA" alone.

    Returns:
        `IvpResult`.

    Raises:
        SolverError: No `t_eval`, an unknown method, or a right-hand side of another
            shape than the state; more events than `max_events`.
        ValueError: SciPy's, on times outside `t_span`.
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
    function, consts = _traced(bound(fun, args), state)
    given = PathInputs(consts, start, stop, state.ravel(), times)
    steps = {"first_step": first_step, "max_step": max_step, "min_step": min_step}
    options = frozen({k: v for k, v in steps.items() if v is not None})
    solver = Ivp(method, rtol, atol, options)
    if events is not None:
        called = lambda event: bound(event, args)
        seen = traced_events(events, called, state.shape, state.dtype, max_events)
        return _with_events(solver, function, given, seen, state.shape, dense_output)
    path = Path(solver, value_of, function)
    y, success, status, nfev = path(given)
    y = y.T.reshape(*state.shape, times.size)
    result = IvpResult(times, y, success, status, nfev)
    return (
        result._replace(sol=_solution(path, given, state)) if dense_output else result
    )


@hiding_frames
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    *,
    rtol: float | None = None,
    atol: float | None = None,
    tfirst: bool = False,
) -> jax.Array:
    """Integrate `dy/dt = func(y, t)`: `scipy.integrate.odeint` for JAX functions.

    It is `solve_ivp` with the method "LSODA", and has its derivatives.

    Example:
        >>> import jfi as jnp
        >>> decay = lambda y, t, rate: -rate * y
        >>> times = jnp.array([0.0, 1.0, 2.0])
        >>> jnp.scipy.integrate.odeint(decay, 1.0, times, args=(0.5,))[:, 0].tolist()
        [1.0, 0.6065, 0.3679]

    Args:
        func: `func(y, t, *args)` of a `(n,)` array and a number, returns an array like
            `y`, or a list of numbers.
        y0: `(n,)` real array: the state at the first time.
        t: `(times,)` times; the first one is that of `y0`.
        args: More arguments of `func`, of any type that JAX takes.
        rtol: As in SciPy. None: 1.49e-8 for float64, 1e-6 for float32.
        atol: As in SciPy. None: as of `rtol`.
        tfirst: Whether it is `func(t, y, *args)`.

    Returns:
        `(times, n)` states. NaN after the time at which the solver gave up.

    Raises:
        SolverError: A right-hand side of another shape than the state.
    """
    state = jnp.atleast_1d(real_array(y0, "y0 of odeint()"))
    times = jnp.asarray(t, state.dtype)
    called = bound((lambda y, t, *more: func(t, y, *more)) if tfirst else func, args)
    function, consts = _traced(lambda t, y: called(y, t), state)
    finest = 1.49e-8 if state.dtype == jnp.float64 else 1e-6
    rtol, atol = (finest if tol is None else tol for tol in (rtol, atol))
    solver = Ivp("LSODA", rtol, atol, (), any_times=True)
    given = PathInputs(consts, times[0], times[-1], state, times)
    return Path(solver, value_of, function)(given)[0]


def _traced(
    called: Callable[..., Any], state: jax.Array
) -> tuple[HoistedFunction, list[Any]]:
    """The right-hand side as a function of `(t, *y)`, and what it captured."""

    def slope(point: jax.Array) -> jax.Array:
        y = point[1:].reshape(state.shape)
        value = called(point[0], y)
        if isinstance(value, (list, tuple)):
            value = jnp.stack([jnp.asarray(v) for v in value])
        value = jnp.asarray(value)
        if value.size != state.size:
            message = (
                f"the solver got a fun that returns shape {value.shape} for a state "
                f"of shape {state.shape}. Return the derivative of each number in it."
            )
            raise SolverError(message)
        return jnp.ravel(value).astype(state.dtype)

    traced = hoisted(slope, jax.ShapeDtypeStruct((1 + state.size,), state.dtype))
    return traced.function, traced.consts


def _solution(path: Path, given: PathInputs, state: jax.Array) -> IvpSolution:
    import dataclasses

    solver = dataclasses.replace(path.solver, any_times=True)
    return IvpSolution(given, dataclasses.replace(path, solver=solver), state.shape)


def _with_events(
    solver: Ivp,
    function: HoistedFunction,
    given: PathInputs,
    events: Events,
    shape: tuple[int, ...],
    dense_output: bool,
) -> IvpResult:
    path = PathWithEvents(solver, function, events.functions, events.kinds)
    found = path(given, events.consts)
    t_events, y_events, begin = [], [], 0
    for kind in events.kinds:
        rows = slice(begin, begin + kind.places)
        t_events.append(found.times[rows])
        y_events.append(found.at[rows].reshape(kind.places, *shape))
        begin += kind.places
    y = found.states.T.reshape(*shape, given.times.size)
    result = IvpResult(
        given.times, y, found.success, found.status, found.nfev, tuple(t_events),
        tuple(y_events),
    )  # fmt: skip
    if not dense_output:
        return result
    far = jnp.nanmax(jnp.abs(found.times - given.start))
    end = given.start + jnp.sign(given.stop - given.start) * far
    until = given._replace(stop=jnp.where(found.status == 1, end, given.stop))
    return result._replace(sol=IvpSolution(until, path.plain(), shape))
