"""The rows of a batch: the arrays that are batched, and the function of one row."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._values import own_copy
from ._choosing import Choice
from ._leaves import Arguments


class Rows:
    """A function of arguments, as a function of the row of each batched array.

    Args:
        fn: The function.
        arguments: All arguments.
        choice: Which of them are batched.
        finish: Gets what the function returns for a row.

    Attributes:
        batched: The arrays that are batched.
        axes: The axis of the batch in each of them.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        arguments: Arguments,
        choice: Choice,
        finish: Callable[[Any], Any],
    ) -> None:
        self._fn, self._arguments, self._finish = fn, arguments, finish
        self._size = choice.size
        self._axis_of = {i: a for i, a in enumerate(choice.axes) if a is not None}
        # JAX arrays: under jit, JAX 0.10 fails on a NumPy array that is batched over a
        # function with custom_vjp ("non-canonical constant of type ndarray").
        values = arguments.values
        self.batched = [jnp.asarray(own_copy(values[i])) for i in self._axis_of]
        self.axes = list(self._axis_of.values())

    def one(self, row: Sequence[Any]) -> Any:
        """Call the function for one row."""
        values = list(self._arguments.values)
        for i, x in zip(self._axis_of, row, strict=True):
            values[i] = x
        args, kwargs = self._arguments.around(values)
        return self._finish(self._fn(*args, **kwargs))

    def numbers(self) -> jax.Array:
        """The number of each row."""
        return jnp.arange(self._size, dtype=np.uint32)

    def leading(self) -> list[jax.Array]:
        """The batched arrays with the batch first."""
        pairs = zip(self.batched, self.axes, strict=True)
        return [jnp.moveaxis(x, axis, 0) for x, axis in pairs]
