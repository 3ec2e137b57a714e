"""What a search asks SciPy's tree, in NumPy: queries in float64, results for JAX.

Arrays may have leading batch dimensions, of size 1 where rows share them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...._errors import KDTreeError
from ._checks import refuse_negative
from ._host_trees import HostTree


Arrays = list[NDArray[Any]]
SURELY_FINITE = 3e38  # numbers up to this are finite in float32
SOME = 16
NEARLY_ONE = 1 + 1e-13  # distances that differ less may be equal, computed otherwise


def nearest(
    tree: HostTree,
    points: NDArray[Any],
    bound: NDArray[Any] | float,
    *,
    ranks: tuple[int, ...],
    has_axis: bool,
    eps: float,
    order: float,
    workers: int,
) -> Arrays:
    """Distances and indices of the nearest points; no last axis without `has_axis`.

    Of points at one distance that with the lowest index comes first.
    """
    bounds = None if isinstance(bound, float) else np.asarray(bound)
    refuse_negative(bound, "distance_upper_bound", "KDTree.query()")
    largest = float(bound if bounds is None else bounds.max(initial=0))
    queries = points.astype(np.float64)
    most = max(ranks)

    def search(queries: NDArray[Any], count: int) -> tuple[NDArray[Any], NDArray[Any]]:
        found: tuple[NDArray[Any], NDArray[Any]] = tree.search.query(
            queries, count, eps, order, largest, workers
        )
        return found

    # One more than asked for shows whether the last one is at a distance of its own.
    distances, indices = search(queries, most + 1)
    if not eps and _any_close(distances):
        _settle(tree, queries, order, most, search, distances, indices)
    if bounds is not None and bounds.ndim:  # one for each row, and SciPy takes one
        axes = (1,) * (distances.ndim - bounds.ndim)
        near = distances < bounds.reshape(*bounds.shape, *axes)
        indices = np.where(near, indices, tree.n)
        distances = np.where(near, distances, np.inf)
    if not has_axis:
        if points.ndim == 1:  # numbers of Python are written to an array sooner
            return [distances.item(0), indices.item(0)]
        return [distances[..., 0], indices[..., 0]]
    if len(ranks) < most:
        places = np.array(ranks) - 1
        return [distances[..., places], indices[..., places]]
    return [distances[..., :most], indices[..., :most]]


def _any_close(distances: NDArray[Any]) -> bool:
    """Whether some distances of a row may be equal."""
    if distances.shape == (2,):  # one query: NumPy would take as long as the search
        nearest, second = distances.tolist()
        close: bool = second <= nearest * NEARLY_ONE
        return close
    return bool((distances[..., 1:] <= distances[..., :-1] * NEARLY_ONE).any())


def _settle(
    tree: HostTree,
    queries: NDArray[Any],
    order: float,
    most: int,
    search: Callable[..., tuple[NDArray[Any], NDArray[Any]]],
    distances: NDArray[Any],
    indices: NDArray[Any],
) -> None:
    """Sort what is at nearly one distance, in place, as `_brute_force` does.

    SciPy leaves open which of them it finds, and computes the last bit of a distance in
    a way of its own. So more and more are found, until the next one is farther.
    """
    distances, indices = (x.reshape(-1, most + 1) for x in (distances, indices))
    queries = queries.reshape(-1, tree.m)
    close = distances[:, 1:] <= distances[:, :-1] * NEARLY_ONE
    close &= distances[:, 1:] < np.inf
    rows, count = np.flatnonzero(close.any(-1)), most + 1
    while len(rows):
        near, places = search(queries[rows], count)
        is_open = (near[:, -1] <= near[:, most - 1] * NEARLY_ONE) & (count < tree.n)
        is_open &= near[:, -1] < np.inf
        done = rows[~is_open]
        powers = _powers(tree, queries[done], places[~is_open], order)
        ordered = np.lexsort((places[~is_open], powers), -1)[:, : most + 1]
        for whole, part in ((distances, near), (indices, places)):
            sorted_part = np.take_along_axis(part[~is_open], ordered, -1)
            whole[done, : sorted_part.shape[1]] = sorted_part
        rows, count = rows[is_open], min(4 * count, tree.n)


def _powers(
    tree: HostTree, queries: NDArray[Any], indices: NDArray[Any], order: float
) -> NDArray[Any]:
    """Distances to the power of the norm, in the steps of `_brute_force`."""
    offsets = np.abs(tree.offsets(queries, indices))
    total = np.zeros(indices.shape)
    for j in range(tree.m):
        part = offsets[..., j]
        if order == np.inf:
            total = np.maximum(total, part)
        else:
            total = total + (part if order == 1 else part**order)
    return np.where(indices == tree.n, np.inf, total)


def within(
    tree: HostTree,
    points: NDArray[Any],
    radius: NDArray[Any] | float,
    *,
    places: int,
    eps: float,
    order: float,
    workers: int,
) -> Arrays:
    """Distances and indices of all points within a radius, nearest first.

    One query for the nearest of them: SciPy's own search returns lists of Python, which
    take longer to read than to find.
    """
    shape = np.broadcast_shapes(points.shape[:-1], np.shape(radius))
    queries = np.broadcast_to(points, (*shape, tree.m)).reshape(-1, tree.m)
    queries = queries.astype(np.float64)
    radii = np.broadcast_to(radius, shape).reshape(-1)
    refuse_negative(radii, "r", "KDTree.query_ball_point()")
    largest = radii.max(initial=0)
    distances, indices = tree.search.query(
        queries,
        k=range(1, places + 1),
        eps=eps,
        p=order,
        # SciPy finds what is nearer than a bound, and compares powers of the two: the
        # bound is a bit more than the radius, and what is near the border settled.
        distance_upper_bound=_above(largest, order),
        workers=workers,
    )
    if radii.size and (radii != largest).any():
        outside = distances > _above(radii, order)[:, None]
        indices[outside], distances[outside] = tree.n, np.inf
    _refuse_more(tree, queries, radii, order, indices)
    border = (distances >= radii[:, None] * (1 - 1e-14)) & (indices < tree.n)
    for row in np.flatnonzero(border.any(-1)):
        found = tree.search.query_ball_point(queries[row], radii[row], p=order)
        outside = ~np.isin(indices[row], np.array(found, np.intp))
        indices[row, outside], distances[row, outside] = tree.n, np.inf
    _sort_ties(distances, indices)
    return [distances.reshape(*shape, places), indices.reshape(*shape, places)]


def _above(radius: Any, order: float) -> Any:
    """A number above the radius, the power of which is above 0."""
    smallest = 1e-300 ** (1 / order) if order < np.inf else 1e-300
    return np.maximum(radius * (1 + 1e-14), smallest)


def _refuse_more(
    tree: HostTree,
    queries: NDArray[Any],
    radii: NDArray[Any],
    order: float,
    indices: NDArray[Any],
) -> None:
    """Refuse queries with more neighbors than places, asking where all are in use."""
    places = indices.shape[-1]
    full = np.flatnonzero(indices[:, -1] < tree.n)
    if len(full) == 0 or places >= tree.n:
        return
    found = tree.search.query_ball_point(
        queries[full], radii[full], p=order, return_length=True
    )
    if found.max() > places:
        most = int(found.argmax())
        row = full[most]
        message = (
            f"KDTree.query_ball_point() found {found[most]} points within "
            f"{radii[row]:g} of the query {queries[row].tolist()}, more than "
            f"max_results={places}. Write max_results={found[most]} or more."
        )
        raise KDTreeError(message)


def _sort_ties(distances: NDArray[Any], indices: NDArray[Any]) -> None:
    """Of points at one distance that with the lowest index comes first."""
    ties = distances[:, 1:] == distances[:, :-1]
    ties &= indices[:, 1:] < indices[:, :-1]
    rows = np.flatnonzero(ties.any(-1))
    if len(rows):
        places = np.lexsort((indices[rows], distances[rows]), -1)
        indices[rows] = np.take_along_axis(indices[rows], places, -1)
        distances[rows] = np.take_along_axis(distances[rows], places, -1)


def pairs(
    tree: HostTree,
    _: HostTree,
    radius: NDArray[Any],
    *,
    places: int,
    eps: float,
    order: float,
) -> Arrays:
    """All pairs of points of a tree with itself within a radius, sorted by index."""
    refuse_negative(radius, "r", "KDTree.query_pairs()")
    indices = np.full((*radius.shape, places, 2), tree.n)
    for row in np.ndindex(radius.shape):
        r = float(radius[row])
        found = tree.search.query_pairs(r, p=order, eps=eps, output_type="ndarray")
        name = f"KDTree.query_pairs() found {len(found)} pairs of points within {r:g}"
        _refuse_overflow(len(found), places, "max_pairs", name)
        found = found[np.lexsort((found[:, 1], found[:, 0]))]
        indices[(*row, slice(len(found)))] = found
    offsets = tree.offsets(tree.points[indices[..., 0]], indices[..., 1:])[..., 0, :]
    return [norms(offsets, order, indices[..., 0] == tree.n), indices]


def near_entries(
    tree: HostTree,
    other: HostTree,
    limit: NDArray[Any],
    *,
    places: int,
    order: float,
) -> Arrays:
    """The distances up to a limit between two trees, and their places in a matrix."""
    refuse_negative(limit, "max_distance", "KDTree.sparse_distance_matrix()")
    indices = np.empty((*limit.shape, places, 2), np.intp)
    indices[...] = tree.n, other.n
    distances = np.zeros((*limit.shape, places))
    for row in np.ndindex(limit.shape):
        r = float(limit[row])
        found = tree.search.sparse_distance_matrix(
            other.search, r, p=order, output_type="ndarray"
        )
        name = (
            f"KDTree.sparse_distance_matrix() found {len(found)} distances up to {r:g}"
        )
        _refuse_overflow(len(found), places, "max_entries", name)
        found = found[np.lexsort((found["j"], found["i"]))]
        used = slice(len(found))
        indices[(*row, used, 0)], indices[(*row, used, 1)] = found["i"], found["j"]
        distances[(*row, used)] = found["v"]
    return [distances, indices]


def counts(
    tree: HostTree,
    other: HostTree,
    radii: NDArray[Any],
    weights: NDArray[Any] | None,
    other_weights: NDArray[Any] | None,
    *,
    order: float,
    cumulative: bool,
    batch: int,
) -> Arrays:
    """How many pairs are within each radius, or the sum of products of weights."""
    given = [radii, weights, other_weights]
    leading = [a.shape[:batch] for a in given if a is not None]
    shape = np.broadcast_shapes(*leading)
    core = radii.shape[batch:]
    weighted = weights is not None or other_weights is not None
    found = np.zeros((*shape, *core), np.float64 if weighted else np.intp)
    if tree.n == 0 or other.n == 0:  # SciPy reads weights that are not there
        return [found]
    for row in np.ndindex(shape):
        r, own, others = (
            a
            if a is None
            else np.broadcast_to(a, (*shape, *a.shape[batch:]))[row].astype(np.float64)
            for a in given
        )
        found[row] = tree.search.count_neighbors(
            other.search,
            r,
            p=order,
            weights=(own, others) if weighted else None,
            cumulative=cumulative,
        )
    return [found]


def cast(values: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values in a dtype; infinite where they are beyond it, without a warning."""
    array = np.asarray(values)
    if array.dtype == dtype:
        return array
    out = np.empty(array.shape, dtype)
    put(values, out)
    return out


def put(values: Any, out: NDArray[Any]) -> None:
    """Write values into an array, in its dtype; infinite where they are beyond it."""
    is_single = out.dtype.itemsize >= 4
    if out.dtype.kind in "biu" or (is_single and _surely_finite(values)):
        out[...] = values
        return
    with np.errstate(over="ignore"):
        out[...] = values


def _surely_finite(distances: NDArray[Any] | float) -> bool:
    """Whether some distances are finite in float32; to know it of many takes longer.

    To enter `errstate` takes a twentieth of a query.
    """
    if isinstance(distances, np.ndarray):
        known = distances.size <= SOME
        return known and max(distances.flat, default=0.0) < SURELY_FINITE
    return distances < SURELY_FINITE


def norms(offsets: NDArray[Any], order: float, missing: NDArray[Any]) -> NDArray[Any]:
    """The p-norms of offsets, infinite where missing."""
    found: NDArray[Any] = np.linalg.norm(offsets, order, axis=-1)
    return np.where(missing, np.inf, found)


def _refuse_overflow(found: int, places: int, parameter: str, text: str) -> None:
    if found > places:
        message = (
            f"{text}, more than {parameter}={places}. Write {parameter}={found} "
            "or more."
        )
        raise KDTreeError(message)
