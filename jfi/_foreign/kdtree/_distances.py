"""Distances between points, with finite derivatives where points coincide."""

import functools

import jax
import jax.numpy as jnp
import numpy as np


@functools.partial(jax.jit, static_argnames="order")
def norms_of_differences(
    points: jax.Array, differences: jax.Array, missing: jax.Array, order: float
) -> jax.Array:
    """The p-norms of differences that were taken elsewhere, as functions of the points.

    Values are the norms of the differences as given; derivatives are those with
    respect to the points, zero where all of a difference is. Norms are taken of
    numbers up to 1, so that powers don't overflow.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jfi._foreign.kdtree._distances import norms_of_differences
        >>> differences, missing = jnp.array([[3.0, 4.0]]), jnp.array([False])
        >>> norm = lambda x: norms_of_differences(x, differences, missing, 2.0)[0]
        >>> point = jnp.zeros(2)
        >>> float(norm(point)), jax.grad(norm)(point).tolist()
        (5.0, [0.6, 0.8])

    Args:
        points: `(..., m)` floats.
        differences: `(..., k, m)` floats of the same dtype, the points minus k others.
        missing: `(..., k)` booleans, True where there is no other point.
        order: The norm: 1, 2, any other number from 1 on, or infinity.

    Returns:
        `(..., k)` floats, infinite where missing.
    """
    derivative_only = (points - jax.lax.stop_gradient(points))[..., None, :]
    differences = differences + derivative_only
    # Not `abs`, of which JAX's derivative at 0 is 1.
    sizes = differences * jax.lax.stop_gradient(jnp.sign(differences))
    largest = sizes.max(-1)
    if order == np.inf:
        return jnp.where(missing, np.inf, largest)
    if order == 1:
        return jnp.where(missing, np.inf, sizes.sum(-1))
    smallest = float(jnp.finfo(largest.dtype).tiny)  # type: ignore[no-untyped-call]
    coincide = largest < smallest
    normal = jnp.isfinite(largest) & ~coincide
    scale = jax.lax.stop_gradient(jnp.where(normal, largest, 1))
    if order == 2:
        # Not of `sizes`: the second derivative of size**2 would be lost at x = 0.
        powers = jnp.square(differences / scale[..., None])
    else:
        positive = sizes > 0
        ratios = jnp.where(positive, sizes / scale[..., None], 1)
        powers = jnp.where(positive, ratios**order, 0)
    # A root at 0 has an infinite derivative: take it of 1, and drop it after.
    total = jnp.where(coincide, 1, powers.sum(-1))
    root = jnp.sqrt(total) if order == 2 else total ** (1 / order)
    return jnp.where(missing, np.inf, jnp.where(coincide, 0, scale * root))
