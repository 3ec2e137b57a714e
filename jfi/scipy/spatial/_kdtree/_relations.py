"""Relations between the points of trees: pairs, counts, matrices of distances."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from ...._errors import KDTreeError
from ...._host import narrowed, to_jax
from . import _searches as searches
from ._calls import (
    GivenTree,
    host_search,
    index_dtype,
    is_at_hand,
    is_traced,
    rows_of,
    with_derivatives,
    without_derivatives,
)


def pairs(
    tree: GivenTree, radius: Any, *, places: int, eps: float, order: float
) -> tuple[jax.Array, jax.Array]:
    """The distances and indices of pairs of points."""
    asked = functools.partial(searches.pairs, places=places, eps=eps, order=order)
    return _entries("KDTree.query_pairs()", [tree, tree], asked, radius, places, order)


def near_entries(
    tree: GivenTree, other: GivenTree, limit: Any, *, places: int, order: float
) -> tuple[jax.Array, jax.Array]:
    """The distances between two trees up to a limit, and their places in a matrix."""
    asked = functools.partial(searches.near_entries, places=places, order=order)
    name = "KDTree.sparse_distance_matrix()"
    return _entries(name, [tree, other], asked, limit, places, order)


def _entries(
    name: str, sides: list[GivenTree], asked: Any, limit: Any, places: int, order: float
) -> tuple[jax.Array, jax.Array]:
    """Distances between rows i of one tree and rows j of another.

    `sides` are the trees of i and j; the same one twice is passed on once.
    """
    tree, other = sides
    trees = [tree] if other is tree else sides
    given = () if not is_traced((limit,)) else (limit,)
    fixed = None if given else np.asarray(limit, np.float64)
    dtype = _dtype_of(tree, other)

    def search(*values: Any, with_offsets: bool) -> list[NDArray[Any]]:
        hosts, limits = values[: len(trees)], values[len(trees) :]
        limit = np.asarray(limits[0] if limits else fixed, np.float64)
        found = asked(hosts[0], hosts[-1], limit)
        if with_offsets:
            indices = found[1]
            missing = indices[..., 0] == hosts[0].n
            rows = np.where(missing, hosts[-1].n, indices[..., 1])[..., None]
            queries = hosts[0].points[indices[..., 0]]
            found += [missing, hosts[-1].offsets(queries, rows)[..., 0, :]]
        return list(found)

    specs = [
        jax.ShapeDtypeStruct((places,), dtype),
        jax.ShapeDtypeStruct((places, 2), index_dtype()),
        jax.ShapeDtypeStruct((places,), np.bool_),
        jax.ShapeDtypeStruct((places, tree.shape[1]), dtype),
    ]
    plain, full = (
        host_search(
            name,
            trees,
            functools.partial(search, with_offsets=with_offsets),
            specs[: 4 if with_offsets else 2],
        )
        for with_offsets in (False, True)
    )

    def offsets(indices: Any, *arrays: Any) -> Any:
        total = jnp.zeros((places, 1), dtype)
        if tree.arrays:
            total = total + rows_of(arrays[0], indices[..., 0]).astype(dtype)
        if other.arrays:
            second = arrays[0 if other is tree else len(tree.arrays)]
            total = total - rows_of(second, indices[..., 1]).astype(dtype)
        return total

    arrays = [array for one in trees for array in one.arrays]
    if is_at_hand((*arrays, *given)):
        hosts = [one.find_now() for one in trees]
        distances, indices = search(*hosts, with_offsets=False)
        values = [
            searches.cast(distances, dtype),
            searches.cast(indices, index_dtype()),
        ]
        made = to_jax(values, [])
        return made[0], made[1]
    found = with_derivatives(plain, full, offsets, order)(
        *arrays, *map(lax.stop_gradient, given)
    )
    return found[0], found[1]


def counts(
    tree: GivenTree,
    other: GivenTree,
    radii: Any,
    weights: tuple[Any, Any],
    *,
    order: float,
    cumulative: bool,
) -> jax.Array:
    """How many pairs are within radii; with weights, sums of their products."""
    trees = [tree] if other is tree else [tree, other]
    weighted = any(w is not None for w in weights)
    if is_traced((radii,)):
        radii = lax.stop_gradient(radii)
        passed, fixed = [radii], None
    else:
        passed, fixed = [], np.asarray(radii, np.float64)
    here = [w is not None for w in weights]
    passed += [jnp.asarray(w) for w in weights if w is not None]
    dtype = index_dtype()
    if weighted:
        dtype = np.dtype(jnp.result_type(*passed[-sum(here) :], float))

    def search(*values: Any) -> list[NDArray[Any]]:
        hosts, rest = values[: len(trees)], list(values[len(trees) :])
        batch = 0
        if fixed is None:
            batch = rest[0].ndim - len(np.shape(radii))
            limits = rest.pop(0).astype(np.float64)
        elif rest:
            batch = rest[0].ndim - 1
            limits = fixed.reshape((1,) * batch + fixed.shape)
        else:
            limits = fixed
        given = [rest.pop(0) if is_in else None for is_in in here]
        (found,) = searches.counts(
            hosts[0],
            hosts[-1],
            limits,
            *given,
            order=order,
            cumulative=cumulative,
            batch=batch,
        )
        # More than 2**31 pairs are not cut where JAX has 32-bit integers only.
        return [found if weighted else narrowed(found, name, dtype, "found")]

    name = "KDTree.count_neighbors()"
    specs = [jax.ShapeDtypeStruct(np.shape(radii), dtype)]
    run = host_search(name, trees, search, specs)
    arrays = [array for one in trees for array in one.arrays]
    if is_at_hand((*arrays, *passed)):
        hosts = [one.find_now() for one in trees]
        (found,) = search(*hosts, *map(np.asarray, passed))
        made: jax.Array = to_jax([searches.cast(found, dtype)], [])[0]
        return made
    call = without_derivatives(run)
    if weighted:
        call = _refusing(call, len(arrays) + len(passed) - sum(here))
    counted: jax.Array = call(*arrays, *passed)[0]
    return counted


def _refusing(call: Any, first: int) -> Any:
    """The call, which refuses derivatives with respect to weights."""

    def checked(*arrays: Any) -> Any:
        return call(*arrays[:first], *(_without_derivative(w) for w in arrays[first:]))

    return checked


@jax.custom_jvp
def _without_derivative(weights: jax.Array) -> jax.Array:
    return weights


@_without_derivative.defjvp
def _refuse_derivative(primals: Any, tangents: Any) -> Any:
    message = (
        "KDTree.count_neighbors() has no derivative with respect to weights. Write "
        "jax.lax.stop_gradient(weights), or sum over the pairs of "
        "KDTree.sparse_distance_matrix()."
    )
    raise KDTreeError(message)


def _dtype_of(*trees: GivenTree) -> np.dtype[Any]:
    """The dtype of distances between points of trees."""
    kinds = [jax.dtypes.canonicalize_dtype(tree.dtype) for tree in trees]
    return np.dtype(jnp.result_type(*kinds, float))
