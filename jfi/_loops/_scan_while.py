"""`scan_while`: a loop that stops when it is done and keeps its history."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from .._advice import hiding_frames
from .._errors import LoopError
from .._shown import html_values
from . import _bounded
from ._programs import run_loop
from ._traced_loop import checked_max_steps


CarryT = TypeVar("CarryT")
YT = TypeVar("YT")


class ScanWhileResult(NamedTuple, Generic[CarryT, YT]):
    """What `scan_while` returns: the last carry, the history, the number of steps.

    Attributes:
        carry: The carry after the last step, with the structure of `init`.
        ys: What `body` returned beside the carry, stacked: each leaf has a leading
            size of `max_steps`. Rows from `length` on are zero.
        length: The number of steps taken, an integer scalar.
    """

    carry: CarryT
    ys: YT
    length: jax.Array

    def _repr_html_(self) -> str:
        return html_values("ScanWhileResult", self._asdict().items())

    @property
    def mask(self) -> jax.Array:
        """Which rows of `ys` were written: a `(max_steps,)` bool array.

        Under `vmap` results, where `length` is `(batch,)`, it is `(batch, max_steps)`.

        >>> import jfi as jnp
        >>> result = jnp.scan_while(lambda i: i < 2, lambda i: (i + 1, i), 0, 4)
        >>> result.mask
        Array([ True,  True, False, False], dtype=bool)

        Raises:
            LoopError: There is no history, because `body` returned no arrays in `y`.
        """
        leaves = jax.tree.leaves(self.ys)
        if not leaves:
            message = (
                "scan_while() has no rows to mask: body returned no arrays beside the "
                "carry.\nWrite instead: jnp.arange(max_steps) < result.length"
            )
            raise LoopError(message)
        max_steps = leaves[0].shape[jnp.ndim(self.length)]
        rows = jnp.arange(max_steps).reshape((1,) * jnp.ndim(self.length) + (-1,))
        return rows < jnp.expand_dims(self.length, -1)


@hiding_frames
def scan_while(
    cond: Callable[[CarryT], Any],
    body: Callable[[CarryT], tuple[CarryT, YT]],
    init: CarryT,
    max_steps: int,
) -> ScanWhileResult[CarryT, YT]:
    """Repeat `body` while `cond` holds, and keep what it returns at each step.

    It takes the steps of this Python loop, and no more:

        while cond(carry) and steps < max_steps:
            carry, y = body(carry)

    Derivatives of every mode and order go through the carry and through every array
    that `body` captures. They take exactly the steps taken; those of derivatives
    (`jax.hessian`) take `max_steps` of them.

    >>> import jfi as jnp
    >>> halve = lambda x: jnp.scan_while(lambda x: x > 1, lambda x: (x / 2, x), x, 5)
    >>> carry, ys, length = halve(jnp.array(8.0))
    >>> ys
    Array([8., 4., 2., 0., 0.], dtype=float32)
    >>> int(length)
    3
    >>> float(jnp.grad(lambda x: halve(x).carry)(8.0))
    0.125

    Args:
        cond: Takes the carry, returns a bool scalar: whether to take another step.
        body: Takes the carry, returns the pair `(carry, y)`; `y` is any tree of arrays,
            or None. The carry keeps its structure, shapes and dtypes.
        init: The first carry: any tree of arrays and numbers.
        max_steps: The largest number of steps, a Python int. It sets the size of `ys`
            and, where a derivative is taken, of as many stored carries.

    Returns:
        A `ScanWhileResult`, which unpacks as `carry, ys, length`.

    Raises:
        LoopError: `cond` or `body` does not fit the carry, or `max_steps` is not a
            Python int from 0 to 2**31 - 1.
    """
    steps = checked_max_steps("scan_while", max_steps)
    carry, ys, length = run_loop(
        _bounded.scan_while, (cond, body), (init,), (steps,), streams=False
    )
    return ScanWhileResult(carry, ys, length)


def bounded_while_loop(
    functions: tuple[Callable[[CarryT], Any], Callable[[CarryT], CarryT]],
    init_val: CarryT,
    max_steps: int,
) -> CarryT:
    """`while_loop` of a condition and a body, with `max_steps`."""
    steps = checked_max_steps("while_loop", max_steps)
    whole: CarryT = run_loop(
        _bounded.while_loop, functions, (init_val,), (steps,), streams=False
    )
    return whole
