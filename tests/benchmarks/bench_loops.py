"""What loops with a history, with derivatives and in batches cost.

python tests/benchmarks/bench_loops.py

What stands for 1 in a row (B is a batch of 64, whose rows stop after 5 to 100 steps):

    value            lax.while_loop, which has no history and no gradient
    gradient         lax.scan of exactly the steps taken
    value of B       vmap of lax.while_loop
    gradient of B    lax.scan of all steps, with a mask

    a history        lax.while_loop with a history written by hand

Two ways more are shown: the usual advice, a `lax.scan` of all steps with `lax.cond`
inside, and equinox's checkpointed while loop.
"""

import functools
import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from harness import Case, ratios, report
from jax import lax

import jfi


try:
    import equinox.internal as eqxi
except ImportError:
    eqxi = None

Way = Callable[[], object]
Loop = Callable[..., Any]  # of (matrix, start, stop): the last state and the history
MAX = 1000
BATCH = 64


def matrix_and_starts(dim: int, *batch: int) -> tuple[Any, Any]:
    random = np.random.RandomState(0)
    matrix = random.randn(dim, dim) / np.sqrt(dim)
    starts = random.randn(*batch, dim)
    return jnp.asarray(matrix, "float32"), jnp.asarray(starts, "float32")


def step(a: Any, x: Any) -> Any:
    return jnp.tanh(a @ x)


# ---- the ways; each takes (matrix, start, stop) ----


def with_scan_while(max_steps: int, a: Any, x: Any, stop: Any) -> Any:
    carry, ys, _ = jfi.scan_while(
        lambda c: c[1] < stop, lambda c: ((step(a, c[0]), c[1] + 1), c[0]), (x, 0),
        max_steps,
    )  # fmt: skip
    return carry[0], ys


def with_bounded_while(max_steps: int, a: Any, x: Any, stop: Any) -> Any:
    return jfi.while_loop(
        lambda c: c[1] < stop,
        lambda c: (step(a, c[0]), c[1] + 1),
        (x, 0),
        max_steps=max_steps,
    )[0]


def with_lax_while(max_steps: int, a: Any, x: Any, stop: Any) -> Any:
    """Without history."""
    return lax.while_loop(
        lambda c: (c[1] < stop) & (c[1] < max_steps),
        lambda c: (step(a, c[0]), c[1] + 1),
        (x, 0),
    )[0]


def with_history_by_hand(max_steps: int, a: Any, x: Any, stop: Any) -> Any:
    """With history, without gradient."""

    def advance(c: Any) -> Any:
        x, i, ys = c
        return step(a, x), i + 1, lax.dynamic_update_index_in_dim(ys, x, i, 0)

    start = x, jnp.int32(0), jnp.zeros((max_steps, *x.shape), x.dtype)
    x, _, ys = lax.while_loop(
        lambda c: (c[1] < stop) & (c[1] < max_steps), advance, start
    )
    return x, ys


def with_exact_scan(length: int, a: Any, x: Any, stop: Any) -> Any:
    """For who knows the number of steps when compiling."""
    return lax.scan(lambda x, _: (step(a, x), x), x, None, length=length)


def with_masked_scan(max_steps: int, a: Any, x: Any, stop: Any) -> Any:
    def advance(x: Any, i: Any) -> Any:
        return jnp.where(i < stop, step(a, x), x), jnp.where(i < stop, x, 0)

    return lax.scan(advance, x, jnp.arange(max_steps))


def with_cond_in_scan(max_steps: int, a: Any, x: Any, stop: Any) -> Any:
    def advance(x: Any, i: Any) -> Any:
        return lax.cond(
            i < stop, lambda x: (step(a, x), x), lambda x: (x, jnp.zeros_like(x)), x
        )

    return lax.scan(advance, x, jnp.arange(max_steps))


def with_equinox(max_steps: int, a: Any, x: Any, stop: Any) -> Any:
    def advance(c: Any) -> Any:
        x, i, ys = c
        return step(a, x), i + 1, ys.at[i].set(x)

    start = x, jnp.int32(0), jnp.zeros((max_steps, *x.shape), x.dtype)
    x, _, ys = eqxi.while_loop(
        lambda c: c[1] < stop, advance, start,
        max_steps=max_steps, buffers=lambda c: c[2], kind="checkpointed",
    )  # fmt: skip
    return x, ys


def loss(out: Any) -> Any:
    """Of the last state and one row of the history.

    A sum over all rows takes longer for more rows, however they were made.
    """
    last, ys = out if isinstance(out, tuple) else (out, None)
    return jnp.sum(last**2) + (0 if ys is None else jnp.sum(ys[3] ** 2))


# ---- the rows ----


def forward(loop: Loop, a: Any, x: Any, stop: Any) -> Way:
    compiled = jax.jit(loop)
    return lambda: jax.block_until_ready(compiled(a, x, stop))


def reverse(loop: Loop, a: Any, x: Any, stop: Any) -> Way:
    compiled = jax.jit(jax.grad(lambda a, x, stop: loss(loop(a, x, stop)), (0, 1)))
    return lambda: jax.block_until_ready(compiled(a, x, stop))


def batched(loop: Loop) -> Loop:
    return jax.vmap(loop, (None, 0, 0))


def others(max_steps: int, way: Callable[[Loop], Way]) -> dict[str, Way]:
    ways = {"cond in scan": with_cond_in_scan}
    if eqxi is not None:
        ways["equinox checkpointed"] = with_equinox
    return {name: way(functools.partial(f, max_steps)) for name, f in ways.items()}


def case(
    name: str,
    way: Callable[[Loop], Way],
    ours: Loop,
    base: Loop,
    limit: float | None,
    max_steps: int = MAX,
) -> Case:
    return Case(name, way(ours), way(base), limit, others(max_steps, way))


def forward_limit(dim: int, stop: int) -> float | None:
    """The history has a thousand rows, and zeros for all of them are written first.

    That takes about as long as ten steps of dim 4 or 16, and some times as long as ten
    steps of dim 64, where memory is slow: only shown. The compiled program is the loop
    and one broadcast of zeros, and no row is copied; what stands for 1 in the row "a
    history" pays for these zeros, too.
    """
    if stop > 10:
        return 1.8
    return 2.2 if dim < 64 else None


def single_loops() -> Iterator[tuple[Case, int]]:
    partial = functools.partial
    for dim in (4, 16, 64):
        data = matrix_and_starts(dim)
        for stop in (10, 100, MAX):
            calls = max(1, 300 // stop)
            of = f"dim {dim}, {stop} of {MAX} steps"

            def values(loop: Loop, data: Any = data, stop: int = stop) -> Way:
                return forward(loop, *data, stop)

            def gradients(loop: Loop, data: Any = data, stop: int = stop) -> Way:
                return reverse(loop, *data, stop)

            exact = partial(with_exact_scan, stop)
            yield (
                case(
                    f"scan_while, value: {of}",
                    values, partial(with_scan_while, MAX),
                    partial(with_lax_while, MAX), limit=forward_limit(dim, stop),
                ),
                calls,
            )  # fmt: skip
            yield (
                case(
                    f"scan_while, gradient: {of}",
                    gradients, partial(with_scan_while, MAX), exact, limit=3.5,
                ),
                calls,
            )  # fmt: skip
        yield (
            case(
                f"scan_while, a history: dim {dim}, 10 of {MAX} steps",
                lambda loop, data=data: forward(loop, *data, 10),
                partial(with_scan_while, MAX),
                partial(with_history_by_hand, MAX), limit=1.2,
            ),
            30,
        )  # fmt: skip
        for stop in (10, 100):

            def gradients(loop: Loop, data: Any = data, stop: int = stop) -> Way:
                return reverse(loop, *data, stop)

            last = partial(with_exact_scan, stop)
            yield (
                case(
                    f"while_loop, gradient: dim {dim}, {stop} of {MAX} steps",
                    gradients, partial(with_bounded_while, MAX),
                    lambda *args, last=last: last(*args)[0], limit=3.5,
                ),
                300 // stop,
            )  # fmt: skip


def batches() -> Iterator[tuple[Case, int]]:
    partial = functools.partial
    stops = np.random.RandomState(1).randint(5, 101, BATCH).astype("int32")
    stops[0] = 100
    for dim in (4, 16, 64):
        a, x = matrix_and_starts(dim, BATCH)
        for max_steps in (100, MAX):
            of = f"dim {dim}, max_steps={max_steps}"

            def values(loop: Loop, a: Any = a, x: Any = x) -> Way:
                return forward(batched(loop), a, x, stops)

            def gradients(loop: Loop, a: Any = a, x: Any = x) -> Way:
                return reverse(batched(loop), a, x, stops)

            ours = partial(with_scan_while, max_steps)
            yield (
                case(
                    f"scan_while, value of B: {of}",
                    values, ours, partial(with_lax_while, max_steps), 5, max_steps,
                ),
                1,
            )  # fmt: skip
            yield (
                case(
                    f"scan_while, gradient of B: {of}",
                    gradients, ours, partial(with_masked_scan, max_steps), 3, max_steps,
                ),
                1,
            )  # fmt: skip


def more_rows() -> Iterator[tuple[Case, int]]:
    """Rows of other loops, where a module beside this one has them."""
    if importlib.util.find_spec("eager_loops_rows"):
        yield from importlib.import_module("eager_loops_rows").rows()


if __name__ == "__main__":
    if eqxi is None:
        print("equinox is not installed: no column for its while loop")
    results = []
    for rows in (single_loops(), batches(), more_rows()):
        for row, calls in rows:
            for way in (row.ours, row.base, *row.others.values()):
                for _ in range(2):
                    way()  # compiles
            results.append((row, ratios(row, rounds=15, calls=calls)))
    report("Loops (medians of interleaved ratios)", results)
