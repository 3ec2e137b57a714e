"""Nearest neighbors from all distances, in XLA, on the device of the arrays.

Computed in float64, as SciPy does, also where JAX creates none: in float32 another
point could be the nearest. Only operations are used whose lowering keeps float64 then;
that of `argmin` does not (JAX 0.10.2 and 0.12.0).

Of points at one distance that with the lowest index is nearer, as in a search on the
host (`_searches`). The two agree where distances are equal to the last bit, so both
compute them in the same steps; `orders_alike` says for which questions.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import custom_vmap


# Distances that are there at a time: what fits into the caches of a processor.
BLOCK = 1 << 16
# So many of the nearest are found one after the other; `top_k` sorts all.
ONE_BY_ONE = 64
# More coordinates are one operation, and not one for each.
MANY_COORDINATES = 16

Box = tuple[float, ...] | None


@functools.cache
def program(
    ranks: tuple[int, ...],
    order: float,
    box: Box,
    dtype: np.dtype[Any],
    indices: np.dtype[Any],
    *,
    with_offsets: bool,
    inclusive: bool = False,
) -> Callable[..., tuple[jax.Array, ...]]:
    """A search as a compiled function of (data, points, bound).

    Args:
        ranks: Which neighbors; the nearest is 1.
        order: The norm.
        box: The period of each coordinate.
        dtype: The dtype of distances.
        indices: The dtype of indices.
        with_offsets: Whether queries minus neighbors are returned, too.
        inclusive: Whether points at the very bound are neighbors.

    Returns:
        A function of `(n, m)` data, `(..., m)` points and a bound that broadcasts to
        `(...)`. It returns distances and indices, `(..., len(ranks))`, and perhaps
        whether they are missing and offsets. A query or a bound that is no number has
        distances that are none.
    """

    def search(data: Any, points: Any, bound: Any) -> Any:
        with jax.enable_x64(True):
            data, points = data.astype(np.float64), points.astype(np.float64)
            lead = points.shape[:-1]
            bounds = jnp.broadcast_to(bound.astype(np.float64), lead).reshape(-1)
            flat = points.reshape(-1, points.shape[-1])
            block = functools.partial(_block, data, max(ranks), order, box, inclusive)
            rows = max(1, BLOCK // max(1, len(data)))
            if len(flat) <= rows:
                found = block(flat, bounds)
            else:
                found = _in_blocks(block, rows, flat, bounds)
            distances, where = (
                jnp.stack([x[:, rank - 1] for rank in ranks], -1)
                if max(ranks) > len(ranks)
                else x
                for x in found
            )
            shape = (*lead, len(ranks))
            results = [distances.reshape(shape).astype(dtype), where.reshape(shape)]
            if with_offsets:
                missing = results[1] == len(data)
                offsets = _offsets(data, points, results[1], missing, box)
                results += [missing, offsets.astype(dtype)]
            results[1] = results[1].astype(indices)
            return tuple(results)

    search = _in_batches(search)
    compiled = jax.jit(search)

    def call(*arrays: Any) -> Any:
        with jax.enable_x64(True):
            return compiled(*arrays)

    return call


def orders_alike(m: int, order: float, box: Box) -> bool:
    """Whether points are ordered as on the host, also those at nearly one distance."""
    return m <= MANY_COORDINATES and order in (1, 2, np.inf) and box is None


def _in_batches(search: Callable[..., Any]) -> Callable[..., Any]:
    """Queries of a batch are more queries; trees come one after the other."""
    call = custom_vmap(search)

    @call.def_vmap
    def _(size: int, batched: Any, data: Any, points: Any, bound: Any) -> Any:
        is_data, is_points, is_bound = batched
        if is_data:

            def one(row: Any) -> Any:
                rest = iter(row)
                given = (data, points, bound)
                pairs = zip(given, batched, strict=True)
                return call(*(next(rest) if is_in else x for x, is_in in pairs))

            rows = [
                x
                for x, is_in in zip((data, points, bound), batched, strict=True)
                if is_in
            ]
            results = lax.map(one, tuple(rows))
        else:
            if not is_points:
                points = jnp.broadcast_to(points, (size, *points.shape))
            if is_bound:
                between = (1,) * (points.ndim - 1 - bound.ndim)
                bound = bound.reshape(size, *between, *bound.shape[1:])
            results = call(data, points, bound)
        return results, (True,) * len(results)

    return call


def _in_blocks(block: Any, rows: int, flat: Any, bounds: Any) -> Any:
    blocks = -(-len(flat) // rows)
    more = blocks * rows - len(flat)
    flat = jnp.concatenate([flat, jnp.zeros((more, flat.shape[1]), flat.dtype)])
    bounds = jnp.concatenate([bounds, jnp.zeros(more, bounds.dtype)])
    found = lax.map(
        lambda pair: block(*pair),
        (flat.reshape(blocks, rows, -1), bounds.reshape(blocks, rows)),
    )
    return [x.reshape(blocks * rows, -1)[: blocks * rows - more] for x in found]


def _block(
    data: Any,
    k: int,
    order: float,
    box: Box,
    inclusive: bool,
    points: Any,
    bounds: Any,
) -> tuple[Any, Any]:
    """Distances and indices (int32) of the k nearest of some queries."""
    n = len(data)
    if n == 0 or len(points) == 0:
        shape = (len(points), k)
        found = jnp.full(shape, np.inf, np.float64), jnp.full(shape, n, np.int32)
    else:
        powers = _powers(data, points, order, box)
        limits = _power(bounds, order)[:, None]
        near = powers <= limits if inclusive else powers < limits
        found = _smallest(jnp.where(near, powers, np.inf), k)
    distances, indices = found
    if order == 2:
        distances = jnp.sqrt(distances)
    elif order not in (1, np.inf):
        distances = distances ** (1 / order)
    fine = jnp.isfinite(points).all(-1) & (bounds >= 0)
    return jnp.where(fine[:, None], distances, np.nan), jnp.where(
        fine[:, None], indices, np.int32(n)
    )


def _powers(data: Any, points: Any, order: float, box: Box) -> Any:
    """Distances to the power of the norm, `(queries, n)`."""
    total = jnp.zeros((len(points), len(data)), np.float64)
    m = data.shape[1]
    if m > MANY_COORDINATES:
        away = _wrapped(
            points[:, None] - data[None], None if box is None else np.array(box)
        )
        parts = _power(jnp.abs(away), order)
        return parts.max(-1) if order == np.inf else parts.sum(-1)
    for j in range(m):
        away = points[:, j, None] - data[None, :, j]
        away = _wrapped(away, None if box is None else np.array(box[j]))
        part = _power(jnp.abs(away), order)
        if order == 2:
            # XLA would multiply and add in one instruction, with another last bit. It
            # can't know that the product of an unknown number and 0 is 0.
            part = jnp.maximum(part, away * 0)
        total = jnp.maximum(total, part) if order == np.inf else total + part
    return total


def _power(x: Any, order: float) -> Any:
    if order in (1, np.inf):
        return x
    return x * x if order == 2 else x**order


def _wrapped(away: Any, box: Any) -> Any:
    if box is None:
        return away
    lengths = np.where(box > 0, box, np.inf)
    return away - np.where(box > 0, box, 0) * jnp.round(away / lengths)


def _smallest(values: Any, k: int) -> tuple[Any, Any]:
    """The k smallest of each row and their places; infinite ones have none."""
    n = values.shape[1]
    here = min(k, n)
    if here > ONE_BY_ONE:
        found, places = lax.top_k(-values, here)
        found, places = -found, places.astype(np.int32)
    else:
        numbers = lax.broadcasted_iota(np.int32, values.shape, 1)

        def step(left: Any, _: Any) -> Any:
            least = left.min(-1, keepdims=True)
            place = jnp.where(left == least, numbers, np.int32(n)).min(-1)
            rest = jnp.where(numbers == place[:, None], np.inf, left)
            return rest, (least[:, 0], place)

        if here == 1:
            _, (found, places) = step(values, None)
            found, places = found[:, None], places[:, None]
        else:
            _, (found, places) = lax.scan(step, values, length=here)
            found, places = found.T, places.T
    missing = found == np.inf
    places = jnp.where(missing, np.int32(n), places)
    empty = ((0, 0), (0, k - here))
    return (
        jnp.pad(found, empty, constant_values=np.inf),
        jnp.pad(places, empty, constant_values=np.int32(n)),
    )


def _offsets(data: Any, points: Any, indices: Any, missing: Any, box: Box) -> Any:
    """Queries minus neighbors; zero where there is none."""
    if len(data) == 0:
        return jnp.zeros((*indices.shape, data.shape[1]), data.dtype)
    rows = jnp.where(missing, np.int32(0), indices)
    away = points[..., None, :] - data.at[rows].get(mode="promise_in_bounds")
    away = _wrapped(away, None if box is None else np.array(box))
    return jnp.where(missing[..., None], 0.0, away)
