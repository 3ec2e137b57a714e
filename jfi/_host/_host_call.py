"""The short way to call a NumPy function: what comes out is given with the call."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from numpy.typing import ArrayLike, NDArray

from ._forms import Spec
from ._functions import Batched, HostFunction
from ._primitives import call_host


def host_call(
    function: Callable[..., Sequence[ArrayLike]],
    results: Sequence[Spec],
    *arguments: jax.Array | NDArray[Any],
    name: str,
    vectorized: bool = False,
    may_write: bool = True,
) -> list[jax.Array]:
    """Call a NumPy function on JAX arrays, also under jit and vmap.

    Example:
        >>> import jax
        >>> import numpy as np
        >>> from jfi._host import host_call
        >>> spec = jax.ShapeDtypeStruct((2,), np.float32)
        >>> x = jax.numpy.array([3, 1], np.float32)
        >>> def sorted_copy(x):
        ...     return host_call(lambda x: [np.sort(x)], [spec], x, name="sort")
        >>> jax.jit(sorted_copy)(x)
        [Array([1., 3.], dtype=float32)]

    Args:
        function: Takes one NumPy array per argument and returns one array per result.
            It must not call JAX, which may be waiting for it.
        results: Shape and dtype of each result for one call without a batch. 64-bit
            dtypes become 32-bit ones where JAX has no others.
        *arguments: Arrays, of any shape and dtype.
        name: What the user calls the function, for messages.
        vectorized: The function takes leading batch dimensions itself: each of its
            arguments then has them (possibly of size 1, where it is the same for
            the whole batch), and so must have its results. Otherwise the rows of a
            batch are passed to it one after the other, within one host call.
        may_write: The function may write into its arguments or keep them, and gets
            copies. Otherwise it gets read-only views, which are valid during the call.

    Returns:
        One array per result, on the device of the arguments.

    Raises:
        CallbackError: The results are not as declared, none is declared, or an
            argument has a dtype that NumPy does not know. Under `jax.jit` an error of
            JAX has this text, and that of exceptions of the function.
    """
    kind = _Vectorized if vectorized else _Declared
    return call_host(kind(name, function, results, may_write), *arguments)


class _Declared(HostFunction):
    """A NumPy function whose results are the same for all arguments."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Sequence[ArrayLike]],
        results: Sequence[Spec],
        may_write: bool,
    ) -> None:
        super().__init__(name)
        self._function, self._results = function, results
        self.may_write = may_write

    def results(self, *specs: Spec) -> Sequence[Spec]:
        return self._results

    def run(self, *arguments: NDArray[Any]) -> Sequence[ArrayLike]:
        return self._function(*arguments)


class _Vectorized(_Declared):
    def batched(self, is_batched: tuple[bool, ...]) -> HostFunction:
        return Broadcast(self, is_batched)


class Broadcast(Batched):
    """A batch of a function that takes leading axes itself: one call of it."""

    def __init__(self, row: HostFunction, is_batched: tuple[bool, ...]) -> None:
        super().__init__(row, is_batched)
        inner = row.axes if isinstance(row, Broadcast) else ((),) * len(is_batched)
        self.function: HostFunction = (
            row.function if isinstance(row, Broadcast) else row
        )
        # For each argument, from the outermost batch on: whether it has its axis.
        self.axes: tuple[tuple[bool, ...], ...] = tuple(
            (outer, *rest) for outer, rest in zip(is_batched, inner, strict=True)
        )

    def batched(self, is_batched: tuple[bool, ...]) -> HostFunction:
        """See `HostFunction.batched`."""
        return type(self)(self, is_batched)

    def expanded(self, arguments: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """The arguments with all axes of batches, of size 1 where they have none."""
        return [
            array[tuple(slice(None) if has else None for has in axes)]
            for array, axes in zip(arguments, self.axes, strict=True)
        ]

    def run(self, *arguments: NDArray[Any]) -> Sequence[ArrayLike]:
        """See `HostFunction.run`."""
        return self.function.run(*self.expanded(arguments))
