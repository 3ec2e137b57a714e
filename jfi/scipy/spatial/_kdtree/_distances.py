"""Distances between points, with finite derivatives where points coincide."""

import functools

import jax
import jax.numpy as jnp
import numpy as np


def moved(
    values: jax.Array, offsets: jax.Array, missing: jax.Array, order: float
) -> jax.Array:
    """Distances that were computed elsewhere, with the derivatives of their offsets.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jfi.scipy.spatial._kdtree._distances import moved
        >>> length = lambda x: moved(jnp.float32(5.0), x, jnp.array(False), 2.0)
        >>> jax.value_and_grad(length)(jnp.array([3.0, 4.0]))
        (Array(5., dtype=float32), Array([0.6, 0.8], dtype=float32))

    Args:
        values: `(...)` floats, the distances.
        offsets: `(..., m)` floats, one point minus the other.
        missing: `(...)` booleans, True where there is no other point.
        order: The norm: 1, 2, any other number from 1 on, or infinity.

    Returns:
        The values, with the derivatives of the norms of the offsets. They are zero
        where points coincide or are missing.
    """
    norms = norms_of(offsets, order)
    change = jnp.where(missing, 0, norms - jax.lax.stop_gradient(norms))
    # Zero, also where a norm is beyond the largest number.
    change = jnp.where(jnp.isfinite(norms), change, 0)
    return jax.lax.stop_gradient(values) + change


@functools.partial(jax.jit, static_argnames="order")
def norms_of(offsets: jax.Array, order: float) -> jax.Array:
    """The p-norms along the last axis, with derivatives that are zero at zero.

    Norms are taken of numbers up to 1, so that powers don't overflow.
    """
    # Not `abs`, of which JAX's derivative at 0 is 1.
    sizes = offsets * jax.lax.stop_gradient(jnp.sign(offsets))
    largest = sizes.max(-1)
    if order == np.inf:
        return largest
    if order == 1:
        return sizes.sum(-1)
    smallest = float(jnp.finfo(largest.dtype).tiny)  # type: ignore[no-untyped-call]
    coincide = largest < smallest
    normal = jnp.isfinite(largest) & ~coincide
    scale = jax.lax.stop_gradient(jnp.where(normal, largest, 1))
    if order == 2:
        # Not of `sizes`: the second derivative of size**2 would be lost at x = 0.
        powers = jnp.square(offsets / scale[..., None])
    else:
        positive = sizes > 0
        ratios = jnp.where(positive, sizes / scale[..., None], 1)
        powers = jnp.where(positive, ratios**order, 0)
    # A root at 0 has an infinite derivative: take it of 1, and drop it after.
    total = jnp.where(coincide, 1, powers.sum(-1))
    root = jnp.sqrt(total) if order == 2 else total ** (1 / order)
    return jnp.where(coincide, 0, scale * root)
