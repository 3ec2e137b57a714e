"""Products of B-splines in several dimensions."""

import functools
import itertools

import jax
import jax.numpy as jnp

from ._basis import basis_at
from ._intervals import fitting


_SINGLE_TERMS = 16  # cubic splines in two dimensions


@functools.partial(jax.jit, static_argnums=(3, 4))
def tensor_values(
    knots: tuple[jax.Array, ...],
    c: jax.Array,
    points: tuple[jax.Array, ...],
    degrees: tuple[int, ...],
    orders: tuple[int, ...],
) -> jax.Array:
    """The values of a sum of products of B-splines, or a derivative of it.

    Args:
        knots: Those of each dimension.
        c: Coefficients, one axis for each dimension, and more for several values.
        points: The coordinates, arrays of one shape.
        degrees: That of each dimension.
        orders: Which derivative in each dimension.

    Returns:
        The values, in the shape of the points and the further axes of c.
    """
    dtype = jnp.result_type(*points)
    bases = [
        basis_at(t.astype(dtype), degree, x, nu)
        for t, degree, x, nu in zip(knots, degrees, points, orders, strict=True)
    ]
    shape = points[0].shape + c.shape[len(knots) :]
    values = jnp.zeros(shape, jnp.result_type(c, dtype))
    every = list(itertools.product(*(range(len(weights)) for _, weights in bases)))
    if len(every) <= _SINGLE_TERMS:  # one pass over the points, without tables
        for term in every:
            at = tuple(first + j for (first, _), j in zip(bases, term, strict=True))
            factors = [w[j] for (_, w), j in zip(bases, term, strict=True)]
            weight = functools.reduce(jnp.multiply, factors)
            values = values + fitting(weight, values) * c[at]
        return values
    *outer, (first, weights) = bases
    # The innermost dimension in one gather: the whole sum in single terms is a program
    # of hundreds of operations for quintic splines in three dimensions.
    columns = first[..., None] + jnp.arange(len(weights))
    inner = jnp.stack(weights, axis=-1)
    for term in itertools.product(*(range(len(w)) for _, w in outer)):
        pairs = zip(outer, term, strict=True)
        rows = [start[..., None] + j for (start, _), j in pairs]
        line = c[(*rows, columns)]
        summed = jnp.sum(fitting(inner, line) * line, axis=points[0].ndim)
        for (_, w), j in zip(outer, term, strict=True):
            summed = fitting(w[j], summed) * summed
        values = values + summed
    return values
