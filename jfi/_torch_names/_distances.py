"""PyTorch's name for the distances between points.

Signatures and results are those of PyTorch 2.13 (https://docs.pytorch.org/docs/2.13).
"""

from typing import cast

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from ._arguments import floats
from ._numeric import as_order, vector_norm


def cdist(x1: ArrayLike, x2: ArrayLike, p: float = 2.0) -> jax.Array:
    """Distances between all pairs of rows of two matrices.

    Where two points coincide the derivative is zero, and not NaN.

    >>> import jfi as jnp
    >>> jnp.cdist(jnp.zeros((1, 2)), jnp.array([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [[5.0, 1.0]]

    Args:
        x1: A `(..., n, features)` float array.
        x2: A `(..., m, features)` float array; leading dimensions are broadcast.
        p: Which norm the distance is, from 0 to `inf`.

    Returns:
        A `(..., n, m)` array.

    Raises:
        TypeError: The arrays do not hold floats.
        ValueError: `p` is negative, or the shapes do not fit.
    """
    first, second = floats(x1, "cdist", "x1"), floats(x2, "cdist", "x2")
    order = as_order(p, "cdist")
    if order < 0:
        raise ValueError(f"cdist() got p={p}; it takes a number from 0 to inf.")
    shapes = first.shape, second.shape
    if min(first.ndim, second.ndim) < 2 or shapes[0][-1] != shapes[1][-1]:
        raise ValueError(
            f"cdist() got arrays of shapes {shapes[0]} and {shapes[1]}; it takes "
            f"(..., n, features) and (..., m, features). A single point is x[None]."
        )
    return cast("jax.Array", _cdist(first, second, order))


@jax.jit(static_argnames="p")
def _cdist(x1: jax.Array, x2: jax.Array, p: float) -> jax.Array:
    # Compiled as a whole, the differences of all pairs are never in memory.
    between = x1[..., :, None, :] - x2[..., None, :, :]
    if between.shape[-1] == 0:
        return jnp.zeros(between.shape[:-1], between.dtype)
    distances = vector_norm(between, p, (between.ndim - 1,), False)
    return cast("jax.Array", distances)
