"""What searches return: results of one shape, with places that may be empty."""

from typing import Any, NamedTuple

import jax

from ...._shown import html_values
from ...._values import is_array, is_tracer


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

    def _repr_html_(self) -> str:
        return html_values(_headline("Neighbors", self), self._asdict().items())


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

    def _repr_html_(self) -> str:
        return html_values(_headline("Pairs", self), self._asdict().items())


def _headline(name: str, found: Any) -> str:
    """How many places of a result are used; some may be missing if all of them are."""
    mask = found.mask
    if not is_array(mask) or is_tracer(mask) or not mask.shape:
        return name
    used, places = int(mask.sum()), mask.shape[-1]
    text = f"{name}: {used} in {mask.size} places"
    if places and bool(mask.all(-1).any()):
        text += "; where all places are used, there may be more"
    return text
