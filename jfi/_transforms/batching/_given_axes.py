"""`vmap(chunk_size=)`: the axes are given, and the rows computed some at a time."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from ..._errors import BatchError
from ..._values import names_to_copy
from ..._values.trees import axes_like
from ._choosing import Choice
from ._leaves import Arguments
from ._plan import make_plan
from ._rows import Rows, as_it_is


def vmap_in_chunks(
    fun: Callable[..., Any],
    in_axes: Any,
    others: Mapping[str, Any],
    **options: Any,
) -> Callable[..., Any]:
    """`jax.vmap` of some rows at a time, one chunk after the other.

    Args:
        fun: The function of one row.
        in_axes: As of `jax.vmap`.
        others: Options of `jax.vmap` that need all rows at once; none may be given.
        options: `out_axes`, `randomness` and `chunk_size`.

    Raises:
        BatchError: An option can't be; at a call: the batch has no one size.
    """
    plan = make_plan("vmap", **options)
    given = [name for name, value in others.items() if value is not None]
    if given:
        message = (
            f"vmap() got chunk_size= and {given[0]}=, which needs all rows at once.\n"
            "Leave out one of them."
        )
        raise BatchError(message)
    axes_of_args = tuple(in_axes) if isinstance(in_axes, list) else in_axes

    @functools.wraps(fun, names_to_copy(fun), updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        call = args, kwargs
        prefix = axes_like(axes_of_args, args), 0
        spread = jax.tree.broadcast(prefix, call, is_leaf=_is_none)
        values, all_axes = (
            jax.tree.leaves(t, is_leaf=_is_none) for t in (call, spread)
        )
        pairs = zip(values, all_axes, strict=True)
        axes = tuple(axis for x, axis in pairs if x is not None)
        arguments = Arguments([], call)
        pairs = zip(arguments.values, axes, strict=True)
        sizes = {_size_of_axis(x, axis) for x, axis in pairs if axis is not None}
        if len(sizes) != 1:
            message = (
                f"vmap() with chunk_size= got mapped arrays of {sorted(sizes)} rows.\n"
                "All must have the same number, and there must be one at least."
            )
            raise BatchError(message)
        rows = Rows(fun, arguments, Choice(axes, sizes.pop()), as_it_is)
        return rows.in_parts(plan, None)

    return mapped


def _size_of_axis(x: Any, axis: int) -> int:
    shape: tuple[int, ...] = np.shape(x)
    if not -len(shape) <= axis < len(shape):
        message = f"vmap() got in_axes= with {axis} for an array of shape {shape}."
        raise BatchError(f"{message}\nWrite one of its axes, or None to share it.")
    return shape[axis]


def _is_none(x: Any) -> bool:
    return x is None
