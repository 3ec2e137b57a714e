"""Paths of differential equations, as JAX functions of all that they depend on.

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

from ..._jax_internals import is_zero_tangent
from .._solving._driving import Asked, drive
from .._solving._hoisting import Derived, HoistedFunction
from .._solving._implicit import no_tangent
from .._solving._options import Options
from ._moving import as_vector, moving, replaced


EXPLICIT = ("RK45", "RK23", "DOP853")


class PathInputs(NamedTuple):
    """All that a path depends on; `state` is that of the time `start`."""

    consts: list[Any]
    start: Any
    stop: Any
    state: Any
    times: Any


@dataclass(frozen=True)
class Path:
    """The solution of `dy/dt = derive(function, consts, (t, y))`."""

    solver: "Ivp"
    derive: Derived
    function: HoistedFunction

    def __call__(self, given: PathInputs) -> list[jax.Array]:
        """`(times, n)` states, success, status and the number of calls."""
        solved = jax.custom_jvp(self._solved)
        solved.defjvp(self._rule, symbolic_zeros=True)
        path: list[jax.Array] = solved(given)
        return path

    def _solved(self, given: PathInputs) -> list[jax.Array]:
        size, dtype = given.state.size, given.state.dtype
        point = jax.ShapeDtypeStruct((1 + size,), dtype)
        integer = jax.ShapeDtypeStruct((), jnp.int32)
        states = jax.ShapeDtypeStruct((given.times.size, size), dtype)
        specs = [states, jax.ShapeDtypeStruct((), jnp.bool_), integer, integer]
        asked = [
            Asked(self.derive, self.function),
            Asked(Jacobian(self.derive), self.function),
        ]
        captured = [given.consts, given.consts]
        return drive(self.solver, asked, captured, point, list(given[1:]), specs)

    def _rule(self, primals: Any, tangents: Any) -> Any:
        given, moved = PathInputs(*primals[0]), PathInputs(*tangents[0])
        states, *rest = self(given)
        dtype, size = states.dtype, given.state.size
        change = jnp.zeros_like(states)

        def slope(time: jax.Array, state: jax.Array) -> jax.Array:
            point = jnp.concatenate([time[None], state])
            value: jax.Array = self.derive(self.function, given.consts, point)
            return value

        places = moving(moved.consts)
        starts, directions = [], []
        if not is_zero_tangent(moved.state):
            starts.append(jnp.eye(size, dtype=dtype))
            directions.append(moved.state)
        # A later start at this state leaves out a part.
        if not is_zero_tangent(moved.start):
            starts.append(-slope(given.start, given.state)[None])
            directions.append(moved.start[None])
        if places:
            directions.append(as_vector([moved.consts[k] for k in places], dtype))
            starts.append(jnp.zeros((directions[-1].size, size), dtype))
        if starts:
            first = jnp.concatenate(starts)
            count = first.shape[0]
            along = Along(self.derive, places, size, count)
            begin = jnp.concatenate([given.state, first.ravel()])
            whole = Path(self.solver, along, self.function)
            extended = whole(given._replace(state=begin))[0][:, size:]
            slopes = extended.reshape(-1, count, size)
            change += jnp.einsum("tks,k->ts", slopes, jnp.concatenate(directions))
        if not is_zero_tangent(moved.times):
            change += jax.vmap(slope)(given.times, states) * moved.times[:, None]
        return [states, *rest], [change, *map(no_tangent, rest)]


@dataclass(frozen=True)
class Along:
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
class Jacobian:
    """The derivative of a right-hand side with respect to the state."""

    derive: Derived

    def __call__(
        self, function: HoistedFunction, consts: Any, point: jax.Array
    ) -> jax.Array:
        slope = lambda y: self.derive(function, consts, jnp.concatenate([point[:1], y]))
        jacobian: jax.Array = jax.jacfwd(slope)(point[1:])
        return jacobian


@dataclass(frozen=True)
class Ivp:
    """`scipy.integrate.solve_ivp` with these settings, as a solver to drive."""

    method: str
    rtol: float
    atol: float
    options: Options
    any_times: bool = False  # in any order; NaN where a path does not come

    def __call__(
        self, ask: Callable[..., Any], start: Any, stop: Any, state: Any, times: Any
    ) -> Sequence[Any]:
        if not self.any_times:
            found = self.solved(ask, start, stop, state, times)
            states = states_of(found, times.size, state.size)
            return states, found.success, found.status, found.nfev
        low, high = sorted((float(start), float(stop)))
        inside = (times >= low) & (times <= high)
        chosen, places = np.unique(times[inside], return_inverse=True)
        order = slice(None, None, 1 if start <= stop else -1)
        found = self.solved(ask, start, stop, state, chosen[order])
        states = np.full((times.size, state.size), np.nan)
        found_there = states_of(found, chosen.size, state.size)
        states[inside] = found_there[order][places]
        return states, found.success, found.status, found.nfev

    def solved(
        self, ask: Callable[..., Any], start: Any, stop: Any, state: Any, times: Any,
        **more: Any,
    ) -> Any:  # fmt: skip
        """What SciPy returns."""
        from scipy import integrate

        size = state.size
        options = dict(self.options) | more
        if self.method not in EXPLICIT:
            options["jac"] = lambda t, y: ask(1, [t, *y]).reshape(size, size)
        return integrate.solve_ivp(
            lambda t, y: ask(0, [t, *y]),
            (float(start), float(stop)),
            state,
            method=self.method,
            t_eval=times,
            rtol=self.rtol,
            atol=self.atol,
            **options,
        )


def states_of(found: Any, count: int, size: int) -> Any:
    """`(times, n)` states that SciPy found; NaN after the time at which it stopped."""
    states = np.full((count, size), np.nan)
    if found.y is not None and len(found.t):
        states[: len(found.t)] = np.asarray(found.y).T
    return states


def value_of(function: HoistedFunction, consts: Any, point: jax.Array) -> jax.Array:
    """The value of a traced function at `(t, *y)`."""
    value: jax.Array = function(consts, point)[0]
    return value
