"""How a neighbor of some rank is found: one pass over the image for all of them."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._borders import extended
from ._networks import selecting
from ._windows import Window, cast, working


def _compared(x: jax.Array, cval: Any, windows: tuple[Window, ...]) -> jax.Array:
    """The image in the dtype in which elements are compared."""
    constant = any(w.mode == "constant" for w in windows)
    if x.dtype == jnp.bool_:
        x = x.astype(jnp.uint8)
    if constant and (isinstance(cval, jax.Array) or cval != np.asarray(cval, x.dtype)):
        return x.astype(working(x))
    return x


@functools.partial(jax.jit, static_argnums=(2, 3, 4, 5))
def extreme(
    x: jax.Array,
    cval: Any,
    windows: tuple[Window, ...],
    places: tuple[tuple[int, ...], ...],
    smallest: bool,
    dtype: Any,
) -> jax.Array:
    """The smallest or the largest neighbor; one axis after the other where it can."""
    pick = jnp.minimum if smallest else jnp.maximum
    if not x.size:
        return x.astype(dtype)
    found = _compared(x, cval, windows)
    if len(places) < np.prod([w.size for w in windows]):
        parts = moved(found, cval, windows, places)
        return cast(functools.reduce(pick, parts), dtype)
    for w in windows:
        whole = extended(found, w.axis, w.before, w.size - 1 - w.before, w.mode, cval)
        # Windows of 1, 2, 4 ... neighbors, each made of two of those before it.
        width = 1
        while width < w.size:
            step = min(width, w.size - width)
            size = whole.shape[w.axis]
            first = jax.lax.slice_in_dim(whole, 0, size - step, axis=w.axis)
            second = jax.lax.slice_in_dim(whole, step, size, axis=w.axis)
            whole = pick(first, second)
            width += step
        found = whole
    return cast(found, dtype)


_MAX_COMPARED = 49  # neighbors: more are sorted, which compiles faster


@functools.partial(jax.jit, static_argnums=(2, 3, 4, 5))
def selected(
    x: jax.Array,
    cval: Any,
    windows: tuple[Window, ...],
    places: tuple[tuple[int, ...], ...],
    place: int,
    dtype: Any,
) -> jax.Array:
    """The neighbor at a place of the sorted ones."""
    if not x.size:
        return x.astype(dtype)
    parts = moved(_compared(x, cval, windows), cval, windows, places)
    if len(parts) > _MAX_COMPARED:
        return cast(jnp.sort(jnp.stack(parts), axis=0)[place], dtype)
    for low, high in selecting(len(parts), place):
        pair = parts[low], parts[high]
        parts[low], parts[high] = jnp.minimum(*pair), jnp.maximum(*pair)
    return cast(parts[place], dtype)


def moved(
    x: jax.Array,
    cval: Any,
    windows: tuple[Window, ...],
    places: tuple[tuple[int, ...], ...],
) -> list[jax.Array]:
    """The image moved to each place of the windows."""
    whole = x
    for w in windows:
        whole = extended(whole, w.axis, w.before, w.size - 1 - w.before, w.mode, cval)
    parts = []
    for place in places:
        starts = [0] * x.ndim
        for w, start in zip(windows, place, strict=True):
            starts[w.axis] = start
        ends = [start + n for start, n in zip(starts, x.shape, strict=True)]
        parts.append(jax.lax.slice(whole, starts, ends))
    return parts
