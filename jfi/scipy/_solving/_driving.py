"""SciPy's solvers and JAX's functions take turns.

With values in hand SciPy runs in this thread and calls compiled functions. Under jit
and other transformations the roles are swapped, known as reverse communication:

    while not done:                               # a loop of JAX
        value = functions[which](point)           # computed by JAX
        which, point, done, results = turn(value)   # a host call

so that no host call ever calls JAX. The solver itself runs in a thread, which waits
between two host calls (`_sessions`). A batch is one such loop: each row has a run of
its own, and the functions are computed for all rows at once.

Things that don't work, and why:

- A solver that calls a compiled function from its host call. With one core and arrays
  of some megabytes it waits for the thread that waits for it (see `host`).
- A host call that begins a run, in front of the loop. It does not depend on the loop
  around it, so XLA moves it out of that, and all rounds share one run.
- A state of the loop that is what the host call returns, in the same order. XLA takes
  the call for the tuple of the state then, and dies compiling a loop around this one:
  "Check failed: while_body_root->opcode() == HloOpcode::kTuple" (JAX 0.10.2, 0.12.0).
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..._errors import SolverError
from ..._host import host_call, runs_now
from ..._jax_internals import carried
from ..._values import why_unknown
from . import _sessions
from ._hoisting import Derived, HoistedFunction, evaluated
from ._sessions import Request, Solver


MAX_RUNS = 64  # of one batch at a time: each has a thread


class Asked(NamedTuple):
    """What a solver may ask for: `derive(function, consts, point)`, any array."""

    derive: Derived
    function: HoistedFunction


def drive(
    solver: Solver,
    asked: Sequence[Asked],
    consts: Sequence[Sequence[Any]],
    point: jax.ShapeDtypeStruct,
    inputs: Sequence[Any],
    results: Sequence[jax.ShapeDtypeStruct],
    *,
    may_fail: bool = False,
) -> list[jax.Array]:
    """Run a solver on the values of JAX functions.

    Args:
        solver: `solver(ask, *inputs)` with NumPy arrays returns one array per result.
            `ask(which, point)` returns a value as NumPy array, without its shape.
        asked: The functions of the point.
        consts: What each of them captured.
        point: Shape and dtype of the point.
        inputs: Arrays that the solver begins with.
        results: Shapes and dtypes of the results.
        may_fail: The solver raises RuntimeError where it does not converge. In programs
            that only JAX knows its results are NaN then: JAX would raise an error of
            its own, for all rows of a batch.

    Returns:
        The results.

    Raises:
        SolverError: A setting of the solver is traced.
    """
    for name, setting in _settings(solver):
        if (why := why_unknown(setting)) is not None:
            message = (
                f"SciPy needs the value of {name}, which is traced. Pass a Python "
                "number, in jax.jit by static_argnames."
            )
            raise SolverError(message) from why
    if runs_now(jax.tree.leaves((consts, inputs))):
        return _driven_now(solver, asked, consts, point, inputs, results)
    if may_fail and not carried():
        solver = _NaNWhereItFails(solver, tuple(results))
    plan = _Plan(solver, tuple(asked), point, tuple(results))
    try:
        run = _staged(plan)
    except TypeError:  # an option that can't be hashed: compiled at each call
        run = _staged.__wrapped__(plan)
    found: list[jax.Array] = run(consts, inputs)
    return found


def _settings(value: Any, name: str = "a setting") -> Iterator[tuple[str, Any]]:
    """What is in a solver, in its options, and in the solver inside it, by name."""
    if is_dataclass(value):
        value = tuple(vars(value).items())
    if not isinstance(value, (tuple, list)):
        yield name, value
    elif len(value) == 2 and isinstance(value[0], str):
        yield from _settings(value[1], value[0])
    else:
        for part in value:
            yield from _settings(part, name)


@dataclass(frozen=True)
class _NaNWhereItFails:
    """A solver that returns NaN, False and 0 where it raises RuntimeError."""

    solver: Solver
    results: tuple[jax.ShapeDtypeStruct, ...]

    def __call__(self, *arguments: Any) -> Sequence[Any]:
        try:
            return self.solver(*arguments)
        except RuntimeError:
            return [
                np.full(r.shape, np.nan if np.issubdtype(r.dtype, np.inexact) else 0)
                for r in self.results
            ]


class _Plan(NamedTuple):
    solver: Solver
    asked: tuple[Asked, ...]
    point: jax.ShapeDtypeStruct
    results: tuple[jax.ShapeDtypeStruct, ...]


def _driven_now(
    solver: Solver,
    asked: Sequence[Asked],
    consts: Sequence[Sequence[Any]],
    point: jax.ShapeDtypeStruct,
    inputs: Sequence[Any],
    results: Sequence[jax.ShapeDtypeStruct],
) -> list[jax.Array]:
    def ask(which: int, x: Any) -> NDArray[np.float64]:
        derive, function = asked[which]
        # As NumPy has it: `jnp.asarray` takes longer than the compiled function.
        values = np.asarray(x, point.dtype).reshape(point.shape)
        value = evaluated(derive, function, consts[which], values)
        return np.array(value, np.float64).ravel()

    found = solver(ask, *(np.array(i, np.float64) for i in inputs))
    pairs = zip(found, results, strict=True)
    return [jnp.asarray(np.asarray(value, r.dtype)) for value, r in pairs]


class _State(NamedTuple):
    done: Any  # not where the host call has it: see above
    session: Any
    which: Any
    point: Any
    results: list[Any]


@functools.lru_cache(maxsize=128)
def _staged(plan: _Plan) -> Any:
    """The loop of JAX, compiled once for equal plans."""
    return jax.jit(functools.partial(_loop, plan))


def _loop(plan: _Plan, consts: Any, inputs: Any) -> list[jax.Array]:
    kind = jax.ShapeDtypeStruct((), jnp.int32)
    flag = jax.ShapeDtypeStruct((), jnp.bool_)
    replies = [kind, kind, plan.point, flag, *plan.results]
    branches = [
        functools.partial(asked.derive, asked.function, captured)
        for asked, captured in zip(plan.asked, consts, strict=True)
    ]
    sizes = [jax.eval_shape(branch, plan.point).size for branch in branches]
    dtype = plan.point.dtype

    def padded(branch: Any, point: Any) -> jax.Array:
        value = jnp.ravel(branch(point)).astype(dtype)
        return jnp.pad(value, (0, max(sizes) - value.size))

    computed = [functools.partial(padded, branch) for branch in branches]
    turn = _Turn(plan.solver, tuple(sizes), len(plan.results))

    def body(state: _State) -> _State:
        value = jax.lax.switch(state.which, computed, state.point)
        given = [state.session, state.which, state.point, state.done, value]
        said = host_call(
            turn,
            replies,
            *given,
            *state.results,
            *inputs,
            name="the solver",
            vectorized=True,
        )
        session, which, point, done, *found = said
        return _State(done, session, which, point, found)

    empty = [jnp.zeros(r.shape, r.dtype) for r in replies]
    session, which, start, done, *found = empty
    first = _State(done, session, which, start, found)
    return jax.lax.while_loop(lambda state: ~state.done, body, first).results


@dataclass(frozen=True)
class _Turn:
    """One turn of the solvers of a batch: values in, next requests and results out."""

    solver: Solver
    sizes: tuple[int, ...]  # of the values of each function
    results: int

    def __call__(self, numbers: Any, *arrays: Any) -> list[NDArray[Any]]:
        axes = numbers.ndim
        batch = np.broadcast_shapes(*(a.shape[:axes] for a in (numbers, *arrays)))
        numbers, which, points, done, values, *rest = (
            np.broadcast_to(a, (*batch, *a.shape[axes:])) for a in (numbers, *arrays)
        )
        results, inputs = rest[: self.results], rest[self.results :]
        out = [np.array(a) for a in (numbers, which, points, done, *results)]
        unfinished = [row for row in np.ndindex(*batch) if not done[row]]
        running = [row for row in unfinished if numbers[row]]
        for row in running:
            value = values[row][: self.sizes[which[row]]]
            _sessions.session(numbers[row]).answer(np.array(value, np.float64))
        new = [row for row in unfinished if not numbers[row]]
        for row in new[: max(0, MAX_RUNS - len(running))]:
            row_inputs = [np.array(a[row], np.float64) for a in inputs]
            out[0][row] = _sessions.begin(self.solver, row_inputs)
            running.append(row)
        try:
            for row in running:
                self._listen(row, out)
        except BaseException:
            for row in running:
                _sessions.end(int(out[0][row]))
            raise
        return out

    def _listen(self, row: tuple[int, ...], out: list[NDArray[Any]]) -> None:
        numbers, which, points, done, *results = out
        said = _sessions.session(numbers[row]).listen()
        if isinstance(said, Request):
            which[row] = said.which
            points[row] = said.point.reshape(points[row].shape)
            return
        _sessions.end(int(numbers[row]))
        done[row] = True
        for result, value in zip(results, said, strict=True):
            result[row] = value
