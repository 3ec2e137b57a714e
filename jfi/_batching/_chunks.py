"""Rows computed some at a time, one after the other."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from .._optional._progress import MOST_REPORTS, ProgressBar


def in_chunks(
    block: Callable[..., Any],
    chunk_size: int,
    bar: ProgressBar | None,
    numbers: jax.Array,
    rows: Sequence[jax.Array],
) -> Any:
    """Compute a function of rows some at a time; the last chunk may be smaller.

    Args:
        block: The function of the numbers of some rows, and of these.
        chunk_size: How many rows at a time.
        bar: What shows how many whole chunks are done.
        numbers: The number of each row.
        rows: All arrays that are batched; the batch comes first.
    """
    n, rest = divmod(len(numbers), chunk_size)
    if n == 0 or (n == 1 and rest == 0):
        return block(numbers, rows)
    whole = n * chunk_size
    all_rows = (numbers, list(rows))
    # The backward pass computes each chunk anew: its memory is that of one chunk, too.
    body = jax.checkpoint(lambda part: block(*part), prevent_cse=False)
    chunks = jax.tree.map(
        lambda x: x[:whole].reshape(n, chunk_size, *x.shape[1:]), all_rows
    )

    def step(done: jax.Array, part: Any) -> tuple[jax.Array, Any]:
        out = body(part)
        if bar is not None:
            _report(bar, done + 1, n, numbers)
        return done + 1, out

    _, out = jax.lax.scan(step, jnp.asarray(0), chunks)
    out = jax.tree.map(lambda x: x.reshape(whole, *x.shape[2:]), out)
    if not rest:
        return out
    last = body(jax.tree.map(lambda x: x[whole:], all_rows))
    return jax.tree.map(lambda x, y: jnp.concatenate([x, y]), out, last)


def _report(bar: ProgressBar, done: jax.Array, total: int, numbers: jax.Array) -> None:
    """Move the bar now and then; of several devices, the one with the first row."""
    often = -(-total // MOST_REPORTS)
    due = ((done % often == 0) | (done == total)) & (numbers[0] == 0)
    jax.lax.cond(due, lambda: bar.report(done, total), lambda: None)
