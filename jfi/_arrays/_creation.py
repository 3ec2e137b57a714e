"""Arrays made from nothing: NumPy's creation functions with jfi's defaults.

Signatures and results are `jax.numpy`'s, but for two things: created floats get the
default dtype (`set_default_dtype`), and `device=` takes names such as "cuda:1".
"""

from typing import Any, TypeAlias, cast

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec
from jax.typing import ArrayLike

from ._config import DTypeLike, get_default_dtype
from ._devices import DeviceLike
from ._placement import dtype_of_data, float_dtype, narrowed, place
from ._sizes import takes_sizes


OutSharding: TypeAlias = NamedSharding | PartitionSpec | None


@takes_sizes
def zeros(
    shape: Any,
    dtype: DTypeLike = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: OutSharding = None,
) -> jax.Array:
    """Create an array of zeros.

    >>> import jfi as jnp
    >>> jnp.zeros((2, 3)).dtype
    dtype('float32')

    Args:
        shape: An int, a tuple of ints, or several ints.
        dtype: The default float dtype if not given.
        device: Where to create it; see `resolve_device`.
        out_sharding: As in `jax.numpy.zeros`.

    Returns:
        An array of the given shape.

    Raises:
        DefaultsError: There is no such device or dtype here.
    """
    return jnp.zeros(
        shape,
        float_dtype(dtype, "zeros"),
        device=place(device, "zeros"),
        out_sharding=out_sharding,
    )


@takes_sizes
def ones(
    shape: Any,
    dtype: DTypeLike = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: OutSharding = None,
) -> jax.Array:
    """Create an array of ones.

    >>> import jfi as jnp
    >>> jnp.ones(2)
    Array([1., 1.], dtype=float32)

    Args:
        shape: An int, a tuple of ints, or several ints.
        dtype: The default float dtype if not given.
        device: Where to create it; see `resolve_device`.
        out_sharding: As in `jax.numpy.ones`.

    Returns:
        An array of the given shape.

    Raises:
        DefaultsError: There is no such device or dtype here.
    """
    return jnp.ones(
        shape,
        float_dtype(dtype, "ones"),
        device=place(device, "ones"),
        out_sharding=out_sharding,
    )


@takes_sizes
def empty(
    shape: Any,
    dtype: DTypeLike = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: OutSharding = None,
) -> jax.Array:
    """Create an array whose values are not to be relied upon (JAX makes them zero).

    >>> import jfi as jnp
    >>> jnp.empty(3).shape
    (3,)

    Args:
        shape: An int, a tuple of ints, or several ints.
        dtype: The default float dtype if not given.
        device: Where to create it; see `resolve_device`.
        out_sharding: As in `jax.numpy.empty`.

    Returns:
        An array of the given shape.

    Raises:
        DefaultsError: There is no such device or dtype here.
    """
    return jnp.empty(
        shape,
        float_dtype(dtype, "empty"),
        device=place(device, "empty"),
        out_sharding=out_sharding,
    )


def full(
    shape: Any,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: OutSharding = None,
) -> jax.Array:
    """Create an array filled with one value.

    >>> import jfi as jnp
    >>> jnp.full(2, 3)
    Array([3, 3], dtype=int32, weak_type=True)

    Args:
        shape: An int or a tuple of ints.
        fill_value: A number or an array that broadcasts to the shape.
        dtype: The default float dtype for a Python float, else that of `fill_value`.
        device: Where to create it; see `resolve_device`.
        out_sharding: As in `jax.numpy.full`.

    Returns:
        An array of the given shape.

    Raises:
        DefaultsError: There is no such device or dtype here.
        TypeError: The sizes of the shape came one by one.
    """
    if isinstance(dtype, (int, float, complex)):
        sizes = f"{shape}, {fill_value}"
        raise TypeError(
            f"full() got the number {dtype} for dtype. The shape is a tuple, because "
            f"the value comes after it: jnp.full(({sizes}), {dtype})."
        )
    kind = dtype_of_data(dtype, fill_value, "full")
    return jnp.full(
        shape,
        narrowed(fill_value, kind, "full"),
        kind,
        device=place(device, "full"),
        out_sharding=out_sharding,
    )


def eye(
    N: int,  # noqa: N803 (the names of NumPy)
    M: int | None = None,  # noqa: N803
    k: ArrayLike = 0,
    dtype: DTypeLike = None,
    *,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Create a matrix with ones on a diagonal and zeros elsewhere.

    >>> import jfi as jnp
    >>> jnp.eye(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)

    Args:
        N: Number of rows.
        M: Number of columns, `N` if not given.
        k: Which diagonal: 0 the main one, above it positive.
        dtype: The default float dtype if not given.
        device: Where to create it; see `resolve_device`.

    Returns:
        An `(N, M)` array.

    Raises:
        DefaultsError: There is no such device or dtype here.
    """
    return jnp.eye(
        N, M, cast("int", k), float_dtype(dtype, "eye"), device=place(device, "eye")
    )


def identity(n: int, dtype: DTypeLike = None) -> jax.Array:
    """Create the square identity matrix.

    >>> import jfi as jnp
    >>> jnp.identity(3).dtype
    dtype('float32')

    Args:
        n: Number of rows and columns.
        dtype: The default float dtype if not given.

    Returns:
        An `(n, n)` array.

    Raises:
        DefaultsError: There is no such dtype.
    """
    return eye(n, dtype=dtype)


def tri(
    N: int,  # noqa: N803
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: DTypeLike = None,
) -> jax.Array:
    """Create a matrix with ones at and below a diagonal and zeros above it.

    >>> import jfi as jnp
    >>> jnp.tri(2)
    Array([[1., 0.],
           [1., 1.]], dtype=float32)

    Args:
        N: Number of rows.
        M: Number of columns, `N` if not given.
        k: Which diagonal: 0 the main one, above it positive.
        dtype: The default float dtype if not given.

    Returns:
        An `(N, M)` array.

    Raises:
        DefaultsError: There is no such dtype.
    """
    # JAX by itself gives float32 in both worlds.
    return jnp.tri(N, M, k, float_dtype(dtype, "tri") or get_default_dtype())
