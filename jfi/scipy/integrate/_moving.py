"""Which constants of a function a derivative is asked for, as one vector."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..._jax_internals import is_zero_tangent


def moving(tangents: Sequence[Any]) -> tuple[int, ...]:
    """The places of tangents that are not known to be zero."""
    return tuple(k for k, t in enumerate(tangents) if not is_zero_tangent(t))


def as_vector(arrays: Sequence[Any], dtype: Any) -> jax.Array:
    """All elements of some arrays, one after the other."""
    return jnp.concatenate([jnp.ravel(a).astype(dtype) for a in arrays])


def replaced(
    consts: Sequence[Any], places: tuple[int, ...], vector: jax.Array
) -> list[Any]:
    """The constants, those of some places taken from a vector."""
    new, start = list(consts), 0
    for place in places:
        old = consts[place]
        size, shape = jnp.size(old), jnp.shape(old)  # JAX hands on numbers, too
        part = vector[start : start + size]
        new[place] = part.reshape(shape).astype(old.dtype)
        start += size
    return new
