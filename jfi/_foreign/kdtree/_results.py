"""What searches return: results of one shape, with places that may be empty."""

from typing import NamedTuple

import jax


class Neighbors(NamedTuple):
    """The points within a radius: `max_results` places for each query, nearest first.

    Attributes:
        indices: `(..., max_results)` integers, rows of the tree's data. Unused
            places hold `n`, which is no row: JAX would read the last one for it.
        distances: `(..., max_results)` floats, infinite in unused places.
        mask: `(..., max_results)` booleans, True where there is a neighbor. Their
            number is `mask.sum(-1)`.
    """

    indices: jax.Array
    distances: jax.Array
    mask: jax.Array


class Pairs(NamedTuple):
    """The pairs of points within a distance: `max_pairs` places, sorted by index.

    Attributes:
        indices: `(max_pairs, 2)` integers, rows i < j of the tree's data. Unused
            places hold `n`, which is no row.
        distances: `(max_pairs,)` floats, infinite in unused places.
        mask: `(max_pairs,)` booleans, True where there is a pair.
    """

    indices: jax.Array
    distances: jax.Array
    mask: jax.Array
