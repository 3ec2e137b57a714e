"""`scan_while`: a loop that stops when it is done and keeps its history."""

import functools
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._errors import LoopError
from ._carry import names_in
from ._traced_loop import run


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
    names = names_in("scan_while", body)
    carry, ys, length, _ = run(names, cond, body, init, max_steps)
    return ScanWhileResult(carry, ys, length)


def bounded_while_loop(
    cond_fun: Callable[[CarryT], Any],
    body_fun: Callable[[CarryT], CarryT],
    init_val: CarryT,
    max_steps: int,
) -> CarryT:
    """Repeat `body_fun` while `cond_fun` holds, with derivatives of every mode.

    A loop that is not done after `max_steps` has no result, and says so: its floats are
    NaN, and so are their derivatives; its integers are the smallest of their dtype (the
    largest, if unsigned). That is what `jnp.take` gives for an index out of range.

    >>> import jfi as jnp
    >>> from jfi._loops import bounded_while_loop
    >>> def double(x, max_steps):
    ...     return bounded_while_loop(lambda x: x < 50, lambda x: 2 * x, x, max_steps)
    >>> double(jnp.array(3.0), max_steps=8), double(jnp.array(3.0), max_steps=4)
    (Array(96., dtype=float32), Array(nan, dtype=float32))

    Args:
        cond_fun: Takes the carry, returns a bool scalar: whether to take another step.
        body_fun: Takes the carry, returns the next, of the same structure and types.
        init_val: The first carry: any tree of arrays and numbers.
        max_steps: The largest number of steps, a Python int; where a derivative is
            taken, as many carries are stored.

    Returns:
        The carry for which `cond_fun` does not hold.

    Raises:
        LoopError: The functions do not fit the carry, or `max_steps` is not a Python
            int from 0 to 2**31 - 1, or the carry has neither floats nor integers.
    """
    names = names_in("while_loop", body_fun, start="init_val")

    @functools.wraps(body_fun)
    def body(carry: CarryT) -> tuple[CarryT, None]:
        return body_fun(carry), None

    carry, _, _, cut = run(names, cond_fun, body, init_val, max_steps)
    if not any(map(_can_tell, jax.tree.leaves(carry))):
        message = (
            "while_loop(..., max_steps=) can't tell by its result that it was cut off: "
            f"{names.carry} has no floats and no integers.\nAdd one, such as the "
            "number of steps; or write scan_while, which returns it as length."
        )
        raise LoopError(message)
    whole: CarryT = jax.tree.map(lambda x: _spoilt(x, cut), carry)
    return whole


def _can_tell(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.number)


def _spoilt(x: Any, cut: Any) -> Any:
    """A value that can't be taken for a result, nor its derivative, where `cut`."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return lax.complex(_spoilt(x.real, cut), _spoilt(x.imag, cut))
    if jnp.issubdtype(x.dtype, jnp.floating):
        # A factor, and not a choice, whose derivative would be 0.
        return x * jnp.where(cut, jnp.nan, 1).astype(x.dtype)
    if jnp.issubdtype(x.dtype, jnp.integer):
        limits: Any = np.iinfo(x.dtype)
        return jnp.where(cut, x.dtype.type(limits.min or limits.max), x)
    return x
