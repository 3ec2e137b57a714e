"""`scan` and `fori_loop` in a few long parts, after each of which a bar moves.

A report in each step, or a test in each step whether to report, would cost more than
most bodies; between the parts it costs the loop nothing.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._optional._progress import MOST_REPORTS, ProgressBar
from .._random.traced._rows import joined, split_rows


def scan_with_progress(
    loop: Any, f: Any, init: Any, xs: Any, length: Any, reverse: bool, title: str
) -> Any:
    """`loop`, which is `lax.scan` with its settings, with a progress bar."""
    sizes = [jnp.shape(x)[0] for x in jax.tree.leaves(xs) if jnp.ndim(x)]
    steps = length if length is not None else sizes[0] if sizes else 0
    if not steps or any(size != steps for size in sizes):  # or JAX's error
        return loop(f, init, xs, length)
    bar = ProgressBar(title, "scan(progress=True)")
    size = -(-steps // MOST_REPORTS)
    parts, even, tail = split_rows(jax.tree.map(jnp.asarray, xs), steps, size)
    rest = steps % size
    # A report waits for no data, or a batch would make many of it: what it says after
    # the loop could come before. So the last part stands for the rest, too.
    done = np.append(size * np.arange(1, parts), steps)

    def part(carry: Any, numbered: Any) -> Any:
        number, rows = numbered
        out = loop(f, carry, rows, size)
        bar.report(number, steps)
        return out

    def the_rest(carry: Any) -> Any:
        return loop(f, carry, tail, rest)

    carry, last = init, None
    if rest and reverse:
        carry, last = the_rest(carry)
    order = done[::-1] if reverse else done
    carry, ys = lax.scan(part, carry, (order, even), reverse=reverse)
    if rest and not reverse:
        carry, last = the_rest(carry)
    return carry, joined(ys, last)


def fori_with_progress(
    lower: Any, upper: Any, body_fun: Any, init_val: Any, unroll: Any, title: str
) -> Any:
    """`lax.fori_loop`, with a progress bar."""
    if isinstance(lower, int) and isinstance(upper, int):
        return _known_steps(lower, upper, body_fun, init_val, unroll, title)
    bar = ProgressBar(title, "fori_loop(progress=True)")
    lower, total = _first_and_steps(lower, upper)
    # No sums of a bool and an int, which strict promotion of dtypes refuses.
    size = jnp.maximum(total // MOST_REPORTS + jnp.sign(total % MOST_REPORTS), 1)
    parts = total // size + jnp.sign(total % size)
    none = jnp.zeros_like(total)

    def step(_: Any, state: Any) -> Any:
        i, carry = state
        return i + 1, body_fun(i, carry)

    def part(number: Any, state: Any) -> Any:
        done = number * size
        here = jnp.minimum(total - done, size)
        state = lax.fori_loop(none, here, step, state, unroll=unroll)
        bar.report(done + here, total)
        return state

    _, carry = lax.fori_loop(none, parts, part, (lower, init_val))
    return carry


def _first_and_steps(lower: Any, upper: Any) -> tuple[jax.Array, jax.Array]:
    """The first i, of JAX's type, and how many there are.

    The number may be larger than their type holds: there are 200 from -100 to 99. So it
    is unsigned, where the difference of two wrapped numbers is right.
    """
    lower, upper = jnp.asarray(lower), jnp.asarray(upper)
    kind = jnp.result_type(lower, upper)
    if lower.dtype != kind:  # a cast to its own dtype would take a weak type away
        lower = lower.astype(kind)
    if jnp.issubdtype(kind, jnp.integer):
        steps = _unsigned(upper) - _unsigned(lower)
    else:  # JAX takes floats
        steps = _unsigned(jnp.ceil(upper - lower))
    return lower, jnp.where(upper > lower, steps, 0)


def _unsigned(x: jax.Array) -> jax.Array:
    return x.astype("uint64" if x.dtype.itemsize == 8 else "uint32")


def _known_steps(
    lower: int, upper: int, body_fun: Any, init_val: Any, unroll: Any, title: str
) -> Any:
    """A scan that carries the number of the step, as JAX does it: differentiable."""

    def step(state: Any, _: None) -> Any:
        i, carry = state
        return (i + 1, body_fun(i, carry)), None

    steps = max(upper - lower, 0)
    loop = functools.partial(lax.scan, unroll=1 if unroll is None else unroll)
    out, _ = scan_with_progress(
        loop, step, (lower, init_val), None, steps, False, title
    )
    return out[1]
