"""`timeit`: how long a call takes, without the traps of JAX."""

import math
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from .._advice import hiding_frames
from .._jax_internals import on_compiled
from .._random._seeding import fork_rng
from .._values import function_name, is_tracer
from ._rounds import one_round, wall_clock
from ._waiting import refuse_what_does_not_run, waiting


_ROUND = 2e-3  # seconds that one way takes in a round: the clock is exact enough
_LEAST = 5  # rounds, however long they take
_LATE = 3  # rounds that are left out since something was compiled in them


class Timing(NamedTuple):
    """How long a call takes, and how long another one.

    Attributes:
        name: The function.
        seconds: Of one call, for each round.
        versus: The function to compare with; None if there is none.
        versus_seconds: Of one call of it, for each round.
    """

    name: str
    seconds: tuple[float, ...]
    versus: str | None = None
    versus_seconds: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        """Seconds of one call: half of the rounds took longer."""
        return statistics.median(self.seconds)

    @property
    def ratio(self) -> float | None:
        """Its time by that of the other: the median of the ratios of the rounds."""
        if self.versus is None:
            return None
        pairs = zip(self.seconds, self.versus_seconds, strict=True)
        return statistics.median(one / other for one, other in pairs)

    def __repr__(self) -> str:
        text = _line(self.name, self.seconds)
        if self.versus is None:
            return text
        other = _line(self.versus, self.versus_seconds)
        return f"{text}\n{other}\n{self.name} / {self.versus}: {self.ratio:.2f}"


@hiding_frames
def timeit(
    fn: Callable[..., object],
    *args: Any,
    versus: Callable[..., object] | None = None,
    seconds: float = 1.0,
    **kwargs: Any,
) -> Timing:
    """Print how long a call takes, compiling left out and results waited for.

    The function is called a few times first, which compiles it. Each timed call waits
    until its results are there: JAX returns before that. A second function is timed
    side by side with the first, in random order, so that a noisy machine is fair to
    both. A round in which something is compiled is left out, up to the third. Draws
    from jfi's stream do not count: it stays where it is. A generator that is an object
    of your own goes on, as all else does that the calls change.

    Example:
        >>> import jfi as jnp
        >>> x = jnp.arange(1000.0)
        >>> timing = jnp.timeit(jnp.jit(jnp.sort), x, seconds=0.01)
        sort: ... us (... to ...), ... rounds
        >>> timing = jnp.timeit(jnp.sort, x, versus=jnp.flip, seconds=0.01)
        sort: ... us (... to ...), ... rounds
        flip: ... us (... to ...), ... rounds
        sort / flip: ...

    Args:
        fn: The function.
        *args: Its arguments.
        versus: Another function of the same arguments.
        seconds: How long to measure, about.
        **kwargs: Keyword arguments of the functions.

    Returns:
        The measured times, in seconds.

    Raises:
        TypeError: It is called inside a JAX transformation, where nothing runs; or a
            function is none, or asynchronous or a generator function, whose calls run
            nothing; or it donates an argument, which is gone after one call.
    """
    if any(map(is_tracer, jax.tree.leaves((args, kwargs)))):
        raise TypeError(
            "timeit() got a traced array: inside jit, vmap or grad nothing runs that "
            "could be timed. Call it outside, with the arrays themselves."
        )
    functions = [fn] if versus is None else [fn, versus]
    for function in functions:
        refuse_what_does_not_run(function)

    def way(function: Callable[..., object]) -> Callable[[], object]:
        result = _first_call(function, args, kwargs)
        wait = waiting(function, (args, kwargs), result)
        return lambda: wait(function(*args, **kwargs))

    with fork_rng():
        ways = {str(k): way(function) for k, function in enumerate(functions)}
        rounds = _measured(ways, seconds)
    names = list(map(function_name, functions))
    if len(set(names)) < len(names):
        names = ["first", "second"]
    timing = Timing(names[0], tuple(found["0"] for found in rounds))
    if versus is not None:
        other = tuple(found["1"] for found in rounds)
        timing = timing._replace(versus=names[1], versus_seconds=other)
    print(timing)  # noqa: T201 - what it is for
    return timing


def _first_call(
    function: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> object:
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        if args and callable(args[0]):
            other = function_name(args[0])
            error.add_note(f"To time {other}() beside the first: timeit(f, versus=g)")
        raise
    leaves = jax.tree.leaves((args, kwargs))
    if any(isinstance(leaf, jax.Array) and leaf.is_deleted() for leaf in leaves):
        raise TypeError(
            f"timeit() calls {function_name(function)}() many times, and it donates an "
            "argument, which is gone after the first call. Leave donate out to time it."
        )
    return result


class _Compiled:
    """How many programs were compiled in this process since somebody asked."""

    programs = 0

    @classmethod
    def count(cls, _seconds: float) -> None:
        cls.programs += 1


def _measured(
    ways: dict[str, Callable[[], object]], seconds: float
) -> list[dict[str, float]]:
    on_compiled(_Compiled.count)
    for _ in range(
        2
    ):  # autojit compiles its fast way at the second call: one was before
        for run in ways.values():
            run()
    slowest = max(wall_clock(run, 1) for run in ways.values())
    calls = math.ceil(_ROUND / max(slowest, 1e-9))
    end = time.perf_counter() + seconds
    found: list[dict[str, float]] = []
    late = 0
    while len(found) < _LEAST or time.perf_counter() < end:
        before = _Compiled.programs
        measured = one_round(ways, calls)
        # Draws of one kind are compiled once more after some, many at once.
        if _Compiled.programs > before and late < _LATE:
            late += 1
            continue
        found.append(measured)
    return found


def _line(name: str, seconds: tuple[float, ...]) -> str:
    low, _, high = statistics.quantiles(seconds, n=4)
    middle = statistics.median(seconds)
    factor, unit = next(
        (f, u) for f, u in ((1e9, "ns"), (1e6, "us"), (1e3, "ms"), (1, "s"))
        if middle * f < 1000 or u == "s"
    )  # fmt: skip
    scaled = (x * factor for x in (middle, low, high))
    shown = [f"{x:.3g}" if x < 999 else f"{x:.0f}" for x in scaled]
    return (
        f"{name}: {shown[0]} {unit} ({shown[1]} to {shown[2]}), {len(seconds)} rounds"
    )
