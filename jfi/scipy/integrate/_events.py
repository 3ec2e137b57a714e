"""Events of differential equations: when a function of time and state is zero.

The derivative of the time of an event is that of the root of `event(t, y(t))`; that of
the state there follows from it and the path.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import SolverError
from ..._jax_internals import is_zero_tangent
from .._solving._driving import Asked, drive
from .._solving._hoisting import HoistedFunction, hoisted
from .._solving._implicit import no_tangent
from ._paths import Ivp, Jacobian, Path, PathInputs, states_of, value_of


class EventAttributes(NamedTuple):
    """What SciPy reads from the attributes of an event, and how many have a place."""

    terminal: int
    direction: float
    places: int


class Events(NamedTuple):
    """The events of an equation, traced."""

    functions: tuple[HoistedFunction, ...]
    consts: list[list[Any]]
    kinds: tuple[EventAttributes, ...]


class EventsOnPath(NamedTuple):
    """A path and its events.

    Attributes:
        states: `(times, n)` states; NaN after the end.
        times: `(places,)` times of the events, one kind after the other, NaN behind.
        at: `(places, n)` states at these times.
        success: Boolean.
        status: SciPy's; 1 where an event has ended the path.
        nfev: How often the right-hand side was asked for.
    """

    states: Any
    times: Any
    at: Any
    success: Any
    status: Any
    nfev: Any


def traced_events(
    events: Any, called: Callable[..., Any], shape: tuple[int, ...], dtype: Any,
    most: int,
) -> Events:  # fmt: skip
    """The events that a user passed.

    Args:
        events: One function or several, with SciPy's attributes.
        called: Binds `args=`: `called(event)(t, y)`.
        shape: That of the state.
        dtype: That of the state.
        most: How many events of each kind have a place.
    """
    functions, consts, kinds = [], [], []
    size = int(np.prod(shape))
    point = jax.ShapeDtypeStruct((1 + size,), dtype)
    for event in [events] if callable(events) else list(events):
        bound = called(event)

        def value(point: jax.Array, bound: Any = bound) -> jax.Array:
            number = jnp.asarray(bound(point[0], point[1:].reshape(shape)))
            if number.size != 1:
                message = (
                    "solve_ivp() got an event that returns shape "
                    f"{number.shape}. Return one number, which is zero at the event."
                )
                raise SolverError(message)
            return number.reshape(1).astype(dtype)

        traced = hoisted(value, point)
        functions.append(traced.function)
        consts.append(traced.consts)
        terminal = int(getattr(event, "terminal", False) or 0)
        direction = float(getattr(event, "direction", 0.0))
        kinds.append(EventAttributes(terminal, direction, terminal or most))
    return Events(tuple(functions), consts, tuple(kinds))


@dataclass(frozen=True)
class PathWithEvents:
    """A path, and when its events happen."""

    solver: Ivp
    function: HoistedFunction
    events: tuple[HoistedFunction, ...]
    kinds: tuple[EventAttributes, ...]

    def __call__(self, given: PathInputs, consts: list[list[Any]]) -> EventsOnPath:
        """Solve it; `consts` are what the events captured."""
        solved = jax.custom_jvp(self._solved)
        solved.defjvp(self._rule, symbolic_zeros=True)
        found: EventsOnPath = solved(given, consts)
        return found

    def plain(self) -> Path:
        """The path alone, at times in any order."""
        solver = dataclasses.replace(self.solver, any_times=True)
        return Path(solver, value_of, self.function)

    def _solved(self, given: PathInputs, consts: list[list[Any]]) -> EventsOnPath:
        size, dtype = given.state.size, given.state.dtype
        count = sum(kind.places for kind in self.kinds)

        def real(*shape: int) -> jax.ShapeDtypeStruct:
            return jax.ShapeDtypeStruct(shape, dtype)

        integer = jax.ShapeDtypeStruct((), jnp.int32)
        asked = [
            Asked(value_of, self.function),
            Asked(Jacobian(value_of), self.function),
            *(Asked(value_of, event) for event in self.events),
        ]
        specs = [
            real(given.times.size, size), real(count), real(count, size),
            jax.ShapeDtypeStruct((), jnp.bool_), integer, integer,
        ]  # fmt: skip
        captured = [given.consts, given.consts, *consts]
        solver = _WithEvents(self.solver, self.kinds)
        return EventsOnPath(
            *drive(solver, asked, captured, real(1 + size), given[1:], specs)
        )

    def _rule(self, primals: Any, tangents: Any) -> Any:
        given, consts = PathInputs(*primals[0]), primals[1]
        found = self(given, consts)
        leaves, tree = jax.tree.flatten((given, consts))
        leaves = [jnp.asarray(leaf) for leaf in leaves]  # JAX passes Python's floats on
        moved = jax.tree.leaves(tuple(tangents))
        places = [k for k, tangent in enumerate(moved) if not is_zero_tangent(tangent)]
        happened = jnp.isfinite(found.times)
        ended = found.status == 1
        far = jnp.argmax(jnp.where(happened, jnp.abs(found.times - given.start), -1))
        reached = jnp.isfinite(found.states).all(1)

        def everything(*values: Any) -> tuple[Any, Any]:
            """The states at fixed times, and what the events are there."""
            new = list(leaves)
            for place, value in zip(places, values, strict=True):
                new[place] = value
            given, consts = jax.tree.unflatten(tree, new)
            start = jax.lax.stop_gradient(given.start)
            given = given._replace(
                stop=jnp.where(ended, found.times[far], given.stop),
                times=jnp.concatenate(
                    [
                        jnp.where(reached, given.times, start),
                        jnp.where(happened, found.times, start),
                    ]
                ),
            )
            states = self.plain()(given)[0]
            at = states[given.times.size - found.times.size :]
            return states, self._values(given, consts, found.times, at, happened)

        _, (states, events) = jax.jvp(
            everything,
            tuple(leaves[k] for k in places),
            tuple(moved[k] for k in places),
        )
        slope = jnp.where(happened[:, None], self._slopes(given, found), 0)
        _, rate = jax.jvp(
            lambda t, y: self._values(given, consts, t, y, happened),
            (found.times, found.at),
            (jnp.ones_like(found.times), slope),
        )
        later = jnp.where(happened, -events / jnp.where(happened, rate, 1), 0)
        count = given.times.size
        change = jnp.where(reached[:, None], states[:count], 0)
        at = jnp.where(happened[:, None], states[count:], 0) + slope * later[:, None]
        rest = [no_tangent(value) for value in found[3:]]
        return found, EventsOnPath(change, later, at, *rest)

    def _values(
        self, given: PathInputs, consts: Any, times: Any, at: Any, happened: Any
    ) -> jax.Array:
        """What each event is at its own times."""
        points = jnp.concatenate([times[:, None], at], axis=1)
        first = jnp.concatenate([given.start[None], given.state])
        points = jnp.where(happened[:, None], points, first)
        parts, begin = [], 0
        for event, captured, kind in zip(self.events, consts, self.kinds, strict=True):
            rows = points[begin : begin + kind.places]
            begin += kind.places
            of_row = functools.partial(value_of, event, captured)
            parts.append(jax.vmap(of_row)(rows)[:, 0])
        return jnp.concatenate(parts)

    def _slopes(self, given: PathInputs, found: EventsOnPath) -> jax.Array:
        points = jnp.concatenate([found.times[:, None], found.at], axis=1)
        slopes: jax.Array = jax.vmap(
            lambda p: value_of(self.function, given.consts, p)
        )(points)
        return slopes


@dataclass(frozen=True)
class _WithEvents:
    """`scipy.integrate.solve_ivp` with events, as a solver to drive."""

    solver: Ivp
    kinds: tuple[EventAttributes, ...]

    def __call__(
        self, ask: Callable[..., Any], start: Any, stop: Any, state: Any, times: Any
    ) -> Sequence[Any]:
        events = [_Event(ask, 2 + k, kind) for k, kind in enumerate(self.kinds)]
        found = self.solver.solved(ask, start, stop, state, times, events=events)
        states = states_of(found, times.size, state.size)
        when, at = [], []
        for k, kind in enumerate(self.kinds):
            seen = found.t_events[k]
            if len(seen) > kind.places:
                message = (
                    f"solve_ivp() found {len(seen)} events of events[{k}], more than "
                    f"max_events={kind.places}. Write max_events={len(seen)} or more."
                )
                raise SolverError(message)
            missing = kind.places - len(seen)
            when.append(np.pad(seen, (0, missing), constant_values=np.nan))
            there = np.reshape(found.y_events[k], (len(seen), state.size))
            at.append(np.pad(there, ((0, missing), (0, 0)), constant_values=np.nan))
        all_of = [np.concatenate(when), np.concatenate(at)]
        return [states, *all_of, found.success, found.status, found.nfev]


class _Event:
    """One event as SciPy takes it."""

    def __init__(
        self, ask: Callable[..., Any], which: int, kind: EventAttributes
    ) -> None:
        self._ask, self._which = ask, which
        self.terminal, self.direction = kind.terminal, kind.direction

    def __call__(self, t: Any, y: Any) -> float:
        return float(self._ask(self._which, [t, *y])[0])
