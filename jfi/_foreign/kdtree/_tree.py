"""Nearest neighbors with SciPy's k-d tree, under every transformation of JAX."""

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from numpy.typing import ArrayLike, NDArray

from ..._errors import KDTreeError
from .._host_calls import host_call
from ._distances import norms_of_differences


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


class KDTree:
    """Search for nearest neighbors among fixed points, also under jit, vmap and grad.

    The tree is `scipy.spatial.KDTree`, built once from the values of `data`, which are
    copied. A call is one call of SciPy, also for a whole batch under `vmap`.
    Neighbors are found in float64; distances have derivatives of every order with
    respect to the query points, and those of neighbors that coincide with the query
    or that are missing are zero.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> tree = jnp.KDTree([[0.0, 0.0], [3.0, 4.0]])
        >>> tree
        KDTree(n=2, m=2)
        >>> query = jax.numpy.array([3.0, 0.0], "float32")
        >>> distance, index = jax.jit(tree.query)(query)
        >>> distance, int(index)
        (Array(3., dtype=float32), 0)
        >>> jax.grad(lambda x: tree.query(x)[0])(query)
        Array([1., 0.], dtype=float32)

    Args:
        data: `(n, m)` real numbers: n points of m coordinates.

    Raises:
        KDTreeError: The data are traced, or not a table of real numbers.
    """

    __jfi_static__: bool = True  # `autojit` does not open it

    def __init__(self, data: ArrayLike | jax.Array) -> None:
        if isinstance(data, Tracer):
            message = (
                "KDTree() got traced data, and its tree needs values. Build it outside "
                "jit, vmap and grad, and close over it."
            )
            raise KDTreeError(message)
        values = np.array(data)
        is_real = jnp.issubdtype(values.dtype, jnp.number) and values.dtype.kind != "c"
        if values.ndim != 2 or values.shape[1] == 0 or not is_real:
            message = (
                f"KDTree() got data of shape {values.shape} and dtype {values.dtype}. "
                "Pass real numbers of shape (n, m), n points of m >= 1 coordinates: "
                "data.reshape(-1, 1) for points on a line."
            )
            raise KDTreeError(message)
        import scipy.spatial

        self._values = values
        # The last row stands for missing neighbors, whose index is n.
        self._points = np.zeros((len(values) + 1, values.shape[1]))
        self._points[:-1] = values
        self._tree: Any = scipy.spatial.KDTree(self._points[:-1])
        self.n: int = values.shape[0]
        self.m: int = values.shape[1]

    @functools.cached_property
    def data(self) -> jax.Array:
        """The `(n, m)` points of the tree as a JAX array."""
        with jax.ensure_compile_time_eval():  # an array and no tracer, under jit too
            return jnp.asarray(self._values)

    def query(
        self,
        x: ArrayLike | jax.Array,
        k: int | Sequence[int] = 1,
        *,
        p: float = 2.0,
        distance_upper_bound: float | jax.Array = np.inf,
    ) -> tuple[jax.Array, jax.Array]:
        """Find the k nearest points, as `scipy.spatial.KDTree.query`.

        Example:
            >>> import jfi as jnp
            >>> tree = jnp.KDTree([[0.0], [1.0], [5.0]])
            >>> distances, indices = tree.query([[4.0]], k=2)
            >>> distances.tolist(), indices.tolist()
            ([[1.0, 3.0]], [[2, 1]])

        Args:
            x: `(..., m)` real numbers, the query points.
            k: How many neighbors, or a list of which: `[1, 3]` is the first and the
                third. With the number 1 the results have no axis for k.
            p: The norm: 1, 2, any other number from 1 on, or infinity.
            distance_upper_bound: Only neighbors nearer than this number count.

        Returns:
            Distances, in the dtype of `x` (integers become floats), and indices of
            rows of `data`, both `(..., k)`. A missing neighbor has an infinite
            distance and the index `n`, which is no row: test `indices < n` before
            using it, because JAX would read the last row.

        Raises:
            KDTreeError: `x`, `k` or `p` are not as above.
            ValueError: `x` has NaN or infinite numbers (SciPy's error).
        """
        name = "KDTree.query()"
        points, order = self._query_points(x, name), _norm_order(p, name)
        ranks, has_axis = _neighbor_ranks(k, name)
        bounds: tuple[jax.Array, ...] = ()
        _check_bound(distance_upper_bound, name)
        if isinstance(distance_upper_bound, Tracer):
            bounds = (jax.lax.stop_gradient(distance_upper_bound),)
        # A bound in hand keeps all its digits, also where JAX has no float64.
        fixed = None if bounds else float(distance_upper_bound)

        def on_host(
            points: NDArray[Any], *bounds: NDArray[Any]
        ) -> Sequence[NDArray[Any]]:
            bound = np.asarray(bounds[0] if bounds else fixed, np.float64)
            return self._nearest(points, ranks, order, bound)

        indices, differences = host_call(
            on_host,
            self._specs(points, len(ranks)),
            *(jax.lax.stop_gradient(points), *bounds),
            name=name,
            vectorized=True,
        )
        distances = norms_of_differences(points, differences, indices == self.n, order)
        if has_axis:
            return distances, indices
        return distances[..., 0], indices[..., 0]

    def query_ball_point(
        self,
        x: ArrayLike | jax.Array,
        r: ArrayLike | jax.Array,
        *,
        max_results: int,
        p: float = 2.0,
    ) -> Neighbors:
        """Find all points within a radius, nearest first, in a fixed number of places.

        Example:
            >>> import jfi as jnp
            >>> tree = jnp.KDTree([[0.0], [1.0], [5.0]])
            >>> near = tree.query_ball_point([0.0], 2.0, max_results=3)
            >>> near.indices.tolist(), near.mask.tolist()
            ([0, 1, 3], [True, True, False])

        Args:
            x: `(..., m)` real numbers, the query points.
            r: The radius, included: a number, or an array that broadcasts to the
                shape of `x` without its last axis.
            max_results: How many places each query has in the results.
            p: The norm: 1, 2, any other number from 1 on, or infinity.

        Returns:
            The indices, distances and mask of the neighbors, see `Neighbors`.

        Raises:
            KDTreeError: A query has more than `max_results` neighbors (the message
                says how many), or `x`, `r` or `p` are not as above. Under jit the
                text is that of JAX's own error.
            ValueError: `x` has NaN or infinite numbers (SciPy's error).
        """
        name = "KDTree.query_ball_point()"
        points, order = self._query_points(x, name), _norm_order(p, name)
        places = _count(max_results, "max_results", name)
        shape = points.shape[:-1]
        radii: tuple[jax.Array, ...] = ()
        _check_radius(r, shape, name)
        if isinstance(r, Tracer):
            radii = (jax.lax.stop_gradient(jnp.broadcast_to(r, shape)),)
        fixed = None if radii else np.asarray(r, np.float64)

        def on_host(
            points: NDArray[Any], *radii: NDArray[Any]
        ) -> Sequence[NDArray[Any]]:
            radius = np.asarray(radii[0] if radii else fixed, np.float64)
            return self._within(points, radius, order, places)

        indices, differences = host_call(
            on_host,
            self._specs(points, places),
            *(jax.lax.stop_gradient(points), *radii),
            name=name,
            vectorized=True,
        )
        missing = indices == self.n
        distances = norms_of_differences(points, differences, missing, order)
        return Neighbors(indices, distances, ~missing)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._values,)

    def __repr__(self) -> str:
        return f"KDTree(n={self.n}, m={self.m})"

    def _query_points(self, x: ArrayLike | jax.Array, name: str) -> jax.Array:
        points = jnp.asarray(x)
        is_real = jnp.issubdtype(points.dtype, jnp.number) and not jnp.iscomplexobj(
            points
        )
        if points.ndim == 0 or points.shape[-1] != self.m or not is_real:
            message = (
                f"{name} got points of shape {points.shape} and dtype {points.dtype}. "
                f"Pass real numbers of shape (..., {self.m}): the last axis holds the "
                f"{self.m} coordinates of each point of this tree."
            )
            raise KDTreeError(message)
        if jnp.issubdtype(points.dtype, jnp.floating):
            return points
        return points.astype(jnp.result_type(points, float))

    def _specs(self, points: jax.Array, places: int) -> list[jax.ShapeDtypeStruct]:
        """Indices of the neighbors, and the queries minus the neighbors."""
        shape = (*points.shape[:-1], places)
        return [
            jax.ShapeDtypeStruct(shape, np.int64),
            jax.ShapeDtypeStruct((*shape, self.m), points.dtype),
        ]

    def _nearest(
        self,
        points: NDArray[Any],
        ranks: Sequence[int],
        order: float,
        bound: NDArray[Any],
    ) -> Sequence[NDArray[Any]]:
        queries = points.astype(np.float64)
        _refuse_negative(bound, "distance_upper_bound", "KDTree.query()")
        largest = float(bound.max(initial=0))
        distances, indices = self._tree.query(
            queries, k=list(ranks), p=order, distance_upper_bound=largest
        )
        if bound.size > 1:  # under vmap each row has its own, and SciPy takes one
            axes = (1,) * (distances.ndim - bound.ndim)
            near = distances < bound.reshape(*bound.shape, *axes)
            indices = np.where(near, indices, self.n)
        return indices, self._differences(queries, indices, points.dtype)

    def _differences(
        self, queries: NDArray[Any], indices: NDArray[Any], dtype: np.dtype[Any]
    ) -> NDArray[Any]:
        """Queries minus neighbors, in float64 first; zero where there is none."""
        differences: NDArray[Any] = queries[..., None, :] - self._points[indices]
        differences[indices == self.n] = 0
        with np.errstate(over="ignore"):  # beyond float32 the distance is infinite
            return differences.astype(dtype)

    def _within(
        self, points: NDArray[Any], radius: NDArray[Any], order: float, places: int
    ) -> Sequence[NDArray[Any]]:
        shape = np.broadcast_shapes(points.shape[:-1], radius.shape)
        queries = np.broadcast_to(points, (*shape, self.m)).reshape(-1, self.m)
        queries = queries.astype(np.float64)
        radii = np.broadcast_to(radius, shape).reshape(-1)
        _refuse_negative(radii, "r", "KDTree.query_ball_point()")
        lists = self._tree.query_ball_point(queries, radii, p=order)
        counts = np.array([len(found) for found in lists], np.int64)
        if counts.size and counts.max() > places:
            fullest = int(counts.argmax())
            message = (
                f"KDTree.query_ball_point() found {counts[fullest]} points within "
                f"{radii[fullest]:g} of the query {queries[fullest].tolist()}, more "
                f"than max_results={places}. Write max_results={counts[fullest]} "
                "or more."
            )
            raise KDTreeError(message)
        rows = np.repeat(np.arange(len(queries)), counts)
        found = np.fromiter(itertools.chain.from_iterable(lists), np.int64, len(rows))
        offsets = queries[rows] - self._points[found]
        nearest = np.lexsort((found, np.linalg.norm(offsets, order, axis=-1), rows))
        place = np.arange(len(rows)) - np.repeat(counts.cumsum() - counts, counts)
        indices = np.full((len(queries), places), self.n)
        indices[rows, place] = found[nearest]
        differences = self._differences(queries, indices, points.dtype)
        return (
            indices.reshape(*shape, places),
            differences.reshape(*shape, places, self.m),
        )


def _norm_order(p: Any, name: str) -> float:
    if isinstance(p, Tracer) or not float(p) >= 1:
        message = (
            f"{name} got p={p}. Pass a Python number from 1 on: p=1, p=2, p=3.5, "
            "p=float('inf')."
        )
        raise KDTreeError(message)
    return float(p)


def _count(value: Any, parameter: str, name: str) -> int:
    """A size of the results: a whole number from 1 on, known before tracing."""
    try:
        count = operator.index(value)
    except TypeError:  # JAX's own error for a tracer is a TypeError too
        count = 0
    if count < 1:
        message = (
            f"{name} got {parameter}={value}. It sets the shape of the results: pass "
            f"a Python integer from 1 on, such as {parameter}=3."
        )
        raise KDTreeError(message)
    return count


def _neighbor_ranks(k: Any, name: str) -> tuple[list[int], bool]:
    """Which neighbors (the nearest is 1), and whether the results have an axis of k."""
    if isinstance(k, Tracer) or np.ndim(k) == 0:
        count = _count(k, "k", name)
        return list(range(1, count + 1)), count > 1
    ranks = [_count(rank, "k", name) for rank in k]
    if not ranks:
        message = f"{name} got k=[], no neighbor at all. Pass k=1, or k=[1, 3]."
        raise KDTreeError(message)
    return ranks, True


def _check_bound(bound: Any, name: str) -> None:
    if np.ndim(bound):
        message = (
            f"{name} got a distance_upper_bound of shape {np.shape(bound)}. Pass one "
            "number, and use jax.vmap for one number per query."
        )
        raise KDTreeError(message)


def _check_radius(r: Any, shape: tuple[int, ...], name: str) -> None:
    try:
        fits = np.broadcast_shapes(np.shape(r), shape) == shape
    except ValueError:
        fits = False
    if not fits:
        message = (
            f"{name} got radii of shape {np.shape(r)} for queries of shape {shape}. "
            "Pass one radius, or one for each query."
        )
        raise KDTreeError(message)


def _refuse_negative(values: NDArray[Any], parameter: str, name: str) -> None:
    """SciPy squares them, and would find neighbors."""
    wrong = values[~(values >= 0)]
    if wrong.size:
        message = f"{name} got {parameter}={wrong[0]}. Pass a number from 0 on."
        raise KDTreeError(message)
