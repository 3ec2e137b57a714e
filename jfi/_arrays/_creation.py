"""Arrays made from nothing: NumPy's creation functions with jfi's defaults.

Signatures and results are `jax.numpy`'s, but for two things: created floats get the
default dtype (`set_default_dtype`), and `device=` takes names such as "cuda:1".
`_shared_arguments.creates` does both.
"""

from typing import Any

import jax
from jax.typing import ArrayLike

from ._config import DTypeLike, get_default_dtype
from ._devices import DeviceLike
from ._placement import dtype_of_data, narrowed, refuse_wide_fill
from ._shared_arguments import FLOAT, OutSharding, Rule, creates, plain
from ._sizes import takes_sizes


@takes_sizes
@creates(FLOAT)
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

    Returns:
        An array of the given shape.
    """
    return plain.zeros(shape, dtype, device=device, out_sharding=out_sharding)


@takes_sizes
@creates(FLOAT)
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

    Returns:
        An array of the given shape.
    """
    return plain.ones(shape, dtype, device=device, out_sharding=out_sharding)


@takes_sizes
@creates(FLOAT)
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

    Returns:
        An array of the given shape.
    """
    return plain.empty(shape, dtype, device=device, out_sharding=out_sharding)


def _dtype_of_full(dtype: Any, data: Any, caller: str) -> Any:
    shape, fill_value = data
    if isinstance(dtype, (int, float, complex)):
        sizes = f"{shape}, {fill_value}"
        raise TypeError(
            f"{caller}() got the number {dtype} for dtype. The shape is a tuple, "
            f"because the value comes after it: jnp.{caller}(({sizes}), {dtype})."
        )
    return dtype_of_data(dtype, fill_value, caller)


_LIKE_FILL_VALUE = Rule(
    _dtype_of_full,
    "The default float dtype for a Python float, else that of `fill_value`.",
)


@creates(_LIKE_FILL_VALUE, "shape", "fill_value")
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

    Returns:
        An array of the given shape.

    Raises:
        TypeError: The sizes of the shape came one by one.
        OverflowError: The dtype can't hold `fill_value`, a Python int.
    """
    refuse_wide_fill(fill_value, dtype, "full")
    return plain.full(
        shape,
        narrowed(fill_value, dtype, "full"),
        dtype,
        device=device,
        out_sharding=out_sharding,
    )


@creates(FLOAT)
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

    Returns:
        An `(N, M)` array.
    """
    return plain.eye(N, M, k, dtype, device=device)


@creates(FLOAT)
def identity(n: int, dtype: DTypeLike = None) -> jax.Array:
    """Create the square identity matrix.

    >>> import jfi as jnp
    >>> jnp.identity(3).dtype
    dtype('float32')

    Args:
        n: Number of rows and columns.

    Returns:
        An `(n, n)` array.
    """
    return plain.identity(n, dtype)


@creates(FLOAT)
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

    Returns:
        An `(N, M)` array.
    """
    # JAX by itself makes float32 in both worlds.
    return plain.tri(N, M, k, get_default_dtype() if dtype is None else dtype)
