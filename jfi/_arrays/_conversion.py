"""Arrays made from data, and moved: dtype and device follow the data or the user."""

from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding
from jax.typing import ArrayLike

from .._errors import DefaultsError
from .._jax_internals import Device
from .._values import is_array_data, is_key
from ._config import DTypeLike, dtype_of_jax, named_dtype
from ._devices import DeviceLike
from ._placement import (
    is_narrowed,
    narrowed,
    place,
    put,
    refuse_wide_fill,
    refuse_wide_integers,
)
from ._shared_arguments import LIKE_DATA, OutSharding, creates, plain


Tree = TypeVar("Tree")


@creates(LIKE_DATA, "object")
def array(
    object: Any,
    dtype: DTypeLike = None,
    *args: Any,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: DeviceLike | None = None,
    out_sharding: OutSharding = None,
) -> jax.Array:
    """Create an array from numbers, nested lists, or another array.

    Python floats have no dtype of their own: they get the default one. Arrays and NumPy
    scalars keep theirs; in the 32-bit world those of 64 bits become 32-bit, as in JAX.

    >>> import jfi as jnp, numpy as np
    >>> jnp.array([1.0, 2.0]).dtype, jnp.array(np.array([1, 2], "int8")).dtype
    (dtype('float32'), dtype('int8'))

    Args:
        object: The data.
        args: `copy`, `order` and `ndmin`, where JAX still takes them by position.
        copy: Whether to copy an array that could be used as it is.
        order: Memory order; JAX takes "K" and "C" and has only one.
        ndmin: Least number of dimensions of the result.
    """
    return plain.array(
        narrowed(object, dtype, "array"),
        dtype,
        *args,
        copy=copy,
        order=order,
        ndmin=ndmin,
        device=device,
        out_sharding=out_sharding,
    )


@creates(LIKE_DATA, "a")
def asarray(
    a: Any,
    dtype: DTypeLike = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: DeviceLike | None = None,
    out_sharding: OutSharding = None,
) -> jax.Array:
    """Turn data into an array, without a copy where none is needed.

    >>> import jfi as jnp
    >>> jnp.asarray([2.5])
    Array([2.5], dtype=float32)

    Args:
        a: The data; the dtype rules are those of `array`.
        order: Memory order; JAX takes "K" and "C" and has only one.
        copy: True copies always, False refuses to.
    """
    if copy is False:
        refuse_wide_integers(a, "asarray")
    return plain.asarray(
        a if copy is False else narrowed(a, dtype, "asarray"),
        dtype,
        order,
        copy=copy,
        device=device,
        out_sharding=out_sharding,
    )


@creates(LIKE_DATA, "a")
def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: OutSharding = None,
) -> jax.Array:
    """Create zeros with the shape and dtype of another array.

    >>> import jfi as jnp
    >>> jnp.zeros_like(jnp.arange(3))
    Array([0, 0, 0], dtype=int32)

    Args:
        a: The array to take after.
        shape: Of the result, if not that of `a`.
    """
    return plain.zeros_like(a, dtype, shape, device=device, out_sharding=out_sharding)


@creates(LIKE_DATA, "a")
def ones_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: OutSharding = None,
) -> jax.Array:
    """Create ones with the shape and dtype of another array.

    >>> import jfi as jnp
    >>> jnp.ones_like(jnp.zeros(2))
    Array([1., 1.], dtype=float32)

    Args:
        a: The array to take after.
        shape: Of the result, if not that of `a`.
    """
    return plain.ones_like(a, dtype, shape, device=device, out_sharding=out_sharding)


@creates(LIKE_DATA, "a")
def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: OutSharding = None,
) -> jax.Array:
    """Create an array of one value with the shape and dtype of another array.

    >>> import jfi as jnp
    >>> jnp.full_like(jnp.zeros(2), 3)
    Array([3., 3.], dtype=float32)

    Args:
        a: The array to take after.
        fill_value: A number or an array that broadcasts to the shape.
        shape: Of the result, if not that of `a`.
    """
    of_result = dtype or getattr(a, "dtype", None)
    if of_result is None or jnp.issubdtype(of_result, np.integer):
        refuse_wide_integers(fill_value, "full_like", of_result)
        refuse_wide_fill(fill_value, of_result, "full_like")
    if is_narrowed(fill_value):
        fill_value = narrowed(fill_value, of_result, "full_like")
    return plain.full_like(
        a, fill_value, dtype, shape, device=device, out_sharding=out_sharding
    )


@creates(LIKE_DATA, "prototype")
def empty_like(
    prototype: ArrayLike,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Create an array of no particular values, with the shape and dtype of another.

    >>> import jfi as jnp
    >>> jnp.empty_like(jnp.zeros(3)).shape
    (3,)

    Args:
        prototype: The array to take after.
        shape: Of the result, if not that of `prototype`.
    """
    return plain.empty_like(prototype, dtype, shape, device=device)


def to(
    tree: Tree,
    target: DeviceLike | DTypeLike = None,
    dtype: DTypeLike = None,
    *,
    device: DeviceLike | None = None,
) -> Tree:
    """Move or convert every array in a tree; leave all other leaves as they are.

    >>> import jfi as jnp
    >>> model = {"w": jnp.ones(2), "name": "linear"}
    >>> jnp.to(model, "bfloat16")["w"].dtype
    dtype(bfloat16)
    >>> jnp.to(model, "cpu")["name"]
    'linear'

    Args:
        tree: Any tree of JAX and NumPy arrays and other things.
        target: A device or a dtype, whichever it names.
        dtype: What to convert them to, integers too. Random keys are only moved.
        device: Where to put the arrays; see `resolve_device`. Under a transformation
            the device is left to JAX.

    Returns:
        The tree with JAX arrays in place of JAX and NumPy arrays.

    Raises:
        DefaultsError: There is no such device or dtype here, or it is given twice.
    """
    if target is not None:
        device, dtype = _told_apart(target, device, dtype)
    converted = None if dtype is None else named_dtype(dtype, "to")

    def move(leaf: Any) -> Any:
        # NumPy keeps words, dates, records and masks in arrays, JAX does not.
        if not is_array_data(leaf):
            return leaf
        kind = None if is_key(leaf) else converted
        moved = jnp.asarray(narrowed(leaf, kind, "to"), kind)
        return put(moved, device, "to")

    return cast("Tree", jax.tree.map(move, tree))


def _told_apart(
    target: Any, device: DeviceLike | None, dtype: DTypeLike
) -> tuple[DeviceLike | None, DTypeLike]:
    """`to(tree, target)`: target as a device or as a dtype."""
    try:
        dtype_of_jax(target, "to")
        found: tuple[Any, Any] = (None, target)
    except DefaultsError as not_a_dtype:
        if not isinstance(target, (str, Device, Sharding)):
            raise
        try:
            found = (place(target, "to"), None)
        except DefaultsError as not_a_device:
            raise DefaultsError(f"{not_a_device} {not_a_dtype}") from None
    for new, old, name in zip(found, (device, dtype), ("device", "dtype"), strict=True):
        if new is not None and old is not None:
            raise DefaultsError(
                f"to() got two {name}s, {target!r} and {name}={old!r}. Write one."
            )
    return found[0] or device, found[1] or dtype
