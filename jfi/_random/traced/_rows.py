"""The rows of a batch: each draws by its number, and some are computed at a time."""

import functools
from typing import Any, Literal, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from ..._errors import BatchError, RandomError
from ..._optional._progress import MOST_REPORTS, ProgressBar
from ._draws import Keys
from ._own_stream import Function, on_keys, varied


Randomness: TypeAlias = Literal["different", "same", "error"]


class RowDraws(NamedTuple):
    """How the rows of a batch draw: by their number, whatever the others do.

    Attributes:
        tool: The public name of what maps the rows, for messages.
        randomness: Whether rows draw each its own, all the same, or may not draw.
    """

    tool: str
    randomness: Randomness = "different"

    def by_number(self, one: Function, keys: Keys | None) -> Function:
        """The function of one row as a function of the row's number and the row.

        Args:
            one: The function of one row.
            keys: Those of the batch; None if nothing is drawn.
        """
        if keys is None:
            return lambda number, *args, **kwargs: one(*args, **kwargs)
        if self.randomness == "error":
            message = (
                f"A random number was drawn inside {self.tool}(..., "
                "randomness='error'). Write randomness='different' (each row draws its "
                "own) or 'same'."
            )
            raise RandomError(message)

        def row(number: jax.Array, *args: Any, **kwargs: Any) -> Any:
            own = keys if self.randomness == "same" else varied(keys, number)
            return on_keys(one, own, *args, **kwargs)

        return row

    def at_once(
        self,
        one: Function,
        keys: Keys | None,
        in_axes: Any,
        out_axes: Any,
        **options: Any,
    ) -> Function:
        """`jax.vmap` of the function of one row."""
        if keys is None:
            return jax.vmap(one, in_axes, out_axes, **options)
        options["axis_name"] = options.get("axis_name") or _ROWS
        number = functools.partial(jax.lax.axis_index, options["axis_name"])
        row = self.by_number(one, keys)
        return jax.vmap(
            lambda *args, **kwargs: row(number(), *args, **kwargs),
            in_axes,
            out_axes,
            **options,
        )


_ROWS = "jfi.vmap"  # the name of an axis without one


def row_draws(tool: str, randomness: Any) -> RowDraws:
    """How rows draw, as the user said it.

    Raises:
        BatchError: It can't be.
    """
    if randomness not in ("different", "same", "error"):
        message = (
            f"{tool}() got randomness={randomness!r}.\n"
            "Write 'different', 'same' or 'error'."
        )
        raise BatchError(message)
    return RowDraws(tool, randomness)


def in_chunks(
    block: Function,
    chunk_size: int,
    bar: ProgressBar | None,
    numbers: jax.Array,
    *rows: Any,
) -> Any:
    """Compute a function of rows some at a time; the last chunk may be smaller.

    Args:
        block: The function of the numbers of some rows, and of these.
        chunk_size: How many rows at a time.
        bar: What shows how many whole chunks are done.
        numbers: The number of each row.
        rows: Trees of arrays; the first axis is that of the rows.
    """
    if len(numbers) <= chunk_size:
        return block(numbers, *rows)
    # The backward pass computes each chunk anew: its memory is that of one chunk, too.
    body = jax.checkpoint(lambda part: block(*part), prevent_cse=False)
    n, chunks, rest = split_rows((numbers, *rows), len(numbers), chunk_size)

    def step(done: Any, part: Any) -> tuple[Any, Any]:
        out = body(part)
        if bar is None:
            return None, out
        _report(bar, done + 1, n, numbers)
        return done + 1, out

    _, out = jax.lax.scan(step, None if bar is None else jnp.asarray(0), chunks)
    return joined(out, None if rest is None else body(rest))


def split_rows(rows: Any, total: int, size: int) -> tuple[int, Any, Any]:
    """Rows in parts of one size: how many, the parts, and the rows left or None."""
    n, rest = divmod(total, size)
    whole = n * size
    parts = jax.tree.map(lambda x: x[:whole].reshape(n, size, *x.shape[1:]), rows)
    return n, parts, jax.tree.map(lambda x: x[whole:], rows) if rest else None


def joined(parts: Any, rest: Any) -> Any:
    """The rows of parts, and those left or None, one after the other."""
    rows = jax.tree.map(lambda x: jax.lax.collapse(x, 0, 2), parts)
    if rest is None:
        return rows
    return jax.tree.map(lambda x, y: jnp.concatenate([x, y]), rows, rest)


def _report(bar: ProgressBar, done: jax.Array, total: int, numbers: jax.Array) -> None:
    """Move the bar now and then; of several devices, the one with the first row."""
    often = -(-total // MOST_REPORTS)
    due = ((done % often == 0) | (done == total)) & (numbers[0] == 0)
    jax.lax.cond(due, lambda: bar.report(done, total), lambda: None)
