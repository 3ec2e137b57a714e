"""Shapes in PyTorch's spelling: sizes one by one, `zeros(2, 3)`."""

import functools
from typing import Any, Protocol, SupportsIndex, cast, overload

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from ._config import DTypeLike
from ._devices import DeviceLike


class Creation(Protocol):
    """A function that creates an array, of a shape in NumPy's or PyTorch's spelling."""

    @overload
    def __call__(
        self,
        shape: Any,
        dtype: DTypeLike = None,
        *,
        device: DeviceLike | None = None,
        out_sharding: NamedSharding | PartitionSpec | None = None,
    ) -> jax.Array: ...
    @overload
    def __call__(
        self,
        *shape: SupportsIndex,
        dtype: DTypeLike = None,
        device: DeviceLike | None = None,
        out_sharding: NamedSharding | PartitionSpec | None = None,
    ) -> jax.Array: ...


def takes_sizes(create: Any) -> Creation:
    """Let a function of a shape also take its sizes one by one, as PyTorch's do.

    An int in the place of the dtype is a size: no dtype is an int.
    """

    @functools.wraps(create)
    def with_sizes(*args: Any, **kwargs: Any) -> jax.Array:
        if len(args) > 1 and isinstance(args[1], (int, np.integer)):
            args = (_all_sizes(create.__name__, args),)
        return cast("jax.Array", create(*args, **kwargs))

    return with_sizes


def _all_sizes(function: str, sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sizes of a shape, if there is nothing else among them."""
    wrong = [
        s for s in sizes if isinstance(s, bool) or not hasattr(type(s), "__index__")
    ]
    if wrong:
        raise TypeError(
            f"{function}() got {wrong[0]!r} among the sizes of a shape, all ints. "
            f"Write a tuple and the dtype: jnp.{function}((2, 3), dtype=float)."
        )
    return sizes
