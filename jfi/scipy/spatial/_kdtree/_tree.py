"""The k-d tree that users hold: its points, and what it can be asked."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from numpy.typing import ArrayLike

from ...._errors import KDTreeError
from . import _checks as checks, _queries as queries, _relations as relations
from ._choice import backend_of_query
from ._points import TreeOfPoints
from ._results import Neighbors, Pairs


if TYPE_CHECKING:
    from jax.experimental.sparse import BCOO


class KDTree(TreeOfPoints):
    """Search for nearest neighbors, also under jit, vmap and grad.

    The tree is SciPy's, built once from the values of `data`, which are copied. Under
    jit it is built when the program runs. A call is one call of SciPy, also for a whole
    batch under `vmap`. Neighbors are found in float64; distances have derivatives of
    every order with respect to the queries and the data, and those of neighbors that
    coincide with the query or that are missing are zero.

    A tree is a pytree with its data as the leaf: it may be an argument of compiled
    functions, and made or queried in batches. Trees are equal if their data and
    settings are.

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
        >>> jax.grad(lambda tree: tree.query(query)[0])(tree).data
        Array([[-1., -0.],
               [ 0.,  0.]], dtype=float32)

    Args:
        data: `(n, m)` real numbers: n points of m coordinates.
        leafsize: How many points a leaf of the tree holds at most.
        compact_nodes: Shrink the boxes of the tree to the points in them.
        balanced_tree: Split at the median and not in the middle of a box.
        boxsize: The period of the space: a number, or one for each coordinate, where 0
            is no period. Data are in `[0, boxsize)`.

    Raises:
        KDTreeError: The data are not a table of real numbers, or a setting is not as
            above.
        ValueError: The data have NaN or infinite numbers, or are not in the box
            (SciPy's errors; those of traced data come when the program runs).

    References:
        `scipy.spatial.KDTree`; S. Maneewongvatana, D. Mount, *Analysis of approximate
        nearest neighbor searching with clustered point sets*, 1999.
    """

    def query(
        self,
        x: ArrayLike | jax.Array,
        k: int | Sequence[int] = 1,
        *,
        eps: float = 0.0,
        p: float = 2.0,
        distance_upper_bound: float | jax.Array = np.inf,
        workers: int = 1,
        backend: str = "auto",
    ) -> tuple[jax.Array, jax.Array]:
        """Find the k nearest points, as `scipy.spatial.KDTree.query`.

        Of points at one distance that with the lowest index comes first, up to a norm
        of another order than 1, 2 and infinity, a periodic box, and 16 coordinates.

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
            eps: The k-th distance returned may be up to `1 + eps` times the right one.
            p: The norm: 1, 2, any other number from 1 on, or infinity.
            distance_upper_bound: Only neighbors nearer than this number count.
            workers: How many threads SciPy uses; -1 for as many as there are cores.
            backend: "scipy" searches its tree on the CPU. "jax" computes all distances
                in float64 on the device, and calls no host. "auto" takes the faster.

        Returns:
            Distances, in the dtype of `x` (integers become floats), and indices of
            rows of `data`, both `(..., k)`. A missing neighbor has an infinite
            distance and the index `n`, which is no row: test `indices < n` before
            using it, because JAX would read the last row.

        Raises:
            KDTreeError: An argument is not as above.
            ValueError: `x` has NaN or infinite numbers (SciPy's error). A compiled
                search of the backend "jax" returns NaN distances instead.
        """
        name = "KDTree.query()"
        tree = self._given(name)
        points = checks.query_points(x, tree.shape[1], name)
        checks.check_number(distance_upper_bound, "distance_upper_bound", name)
        question = queries.Question.of(name, k, p, eps, workers)
        checks.checked_backend(backend, name)
        chosen = backend
        if backend == "auto":
            chosen = backend_of_query(tree, question, np.shape(points))
        return queries.neighbors(
            tree,
            question,
            points,
            distance_upper_bound,
            chosen,
            checks_values=backend == "auto",
        )

    def query_ball_point(
        self,
        x: ArrayLike | jax.Array,
        r: ArrayLike | jax.Array,
        *,
        max_results: int,
        p: float = 2.0,
        eps: float = 0.0,
        workers: int = 1,
        backend: str = "auto",
    ) -> Neighbors:
        """Find all points within a radius, nearest first, in a fixed number of places.

        Of points at one distance that with the lowest index comes first.

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
            eps: Points between `r / (1 + eps)` and `r` may be left out.
            workers: How many threads SciPy uses; -1 for as many as there are cores.
            backend: "scipy" or "jax", see `query`. "auto" is SciPy's here.

        Returns:
            The indices, distances and mask of the neighbors, see `Neighbors`.

        Raises:
            KDTreeError: A query has more than `max_results` neighbors (the message
                says how many), or an argument is not as above. Under jit the
                text is that of JAX's own error.
            ValueError: `x` has NaN or infinite numbers (SciPy's error).
        """
        name = "KDTree.query_ball_point()"
        tree = self._given(name)
        points = checks.query_points(x, tree.shape[1], name)
        checks.check_radii(r, points.shape[:-1], name)
        places = checks.count(max_results, "max_results", name)
        question = queries.Question(
            name,
            tuple(range(1, places + 1)),
            True,
            checks.norm_order(p, name),
            checks.approximation(eps, name),
            checks.thread_count(workers, name),
            ball=True,
        )
        backend = checks.checked_backend(backend, name)
        if isinstance(r, Tracer):
            r = jnp.broadcast_to(r, points.shape[:-1])
        distances, indices = queries.neighbors(
            tree,
            question,
            points,
            r,
            "jax" if backend == "jax" else "scipy",
            checks_values=True,
        )
        return Neighbors(indices, distances, indices < tree.shape[0])

    def query_pairs(
        self,
        r: float | jax.Array,
        *,
        max_pairs: int,
        p: float = 2.0,
        eps: float = 0.0,
    ) -> Pairs:
        """Find all pairs of points within a distance, in a fixed number of places.

        Example:
            >>> import jfi as jnp
            >>> pairs = jnp.KDTree([[0.0], [1.0], [5.0]]).query_pairs(2.0, max_pairs=2)
            >>> pairs.indices.tolist(), pairs.distances.tolist()
            ([[0, 1], [3, 3]], [1.0, inf])

        Args:
            r: The distance, included.
            max_pairs: How many places the results have.
            p: The norm: 1, 2, any other number from 1 on, or infinity.
            eps: Pairs within `r * (1 + eps)` may be in, those between `r / (1 + eps)`
                and `r` may be left out.

        Returns:
            The indices, distances and mask of the pairs, see `Pairs`.

        Raises:
            KDTreeError: There are more than `max_pairs` pairs, or an argument is not
                as above.
        """
        name = "KDTree.query_pairs()"
        tree = self._given(name)
        checks.check_number(r, "r", name)
        distances, indices = relations.pairs(
            tree,
            r,
            places=checks.count(max_pairs, "max_pairs", name),
            eps=checks.approximation(eps, name),
            order=checks.norm_order(p, name),
        )
        return Pairs(indices, distances, indices[..., 0] < tree.shape[0])

    def count_neighbors(
        self,
        other: "KDTree",
        r: ArrayLike | jax.Array,
        *,
        p: float = 2.0,
        weights: Any = None,
        cumulative: bool = True,
    ) -> jax.Array:
        """Count the pairs of points of two trees within distances.

        Example:
            >>> import jfi as jnp
            >>> tree = jnp.KDTree([[0.0], [1.0], [5.0]])
            >>> tree.count_neighbors(jnp.KDTree([[0.5]]), [0.5, 5.0]).tolist()
            [2, 3]

        Args:
            other: The tree of the second points.
            r: The distances, included: a number, or an array of one axis. They are
                sorted if `cumulative` is False.
            p: The norm: 1, 2, any other number from 1 on, or infinity.
            weights: `(n,)` numbers for the points of this and of the other tree, as a
                tuple, of which one may be None; one array is for both. A pair then
                counts as the product of its weights.
            cumulative: Whether pairs nearer than the distance before count, too.

        Returns:
            Integers in the shape of `r`; floats with weights. They are constant where
            JAX takes derivatives with respect to data.

        Raises:
            KDTreeError: The trees have different numbers of coordinates or periods, or
                an argument is not as above.
            CallbackError: There are more pairs than an int32 counts; not where 64-bit
                types are allowed.
        """
        name = "KDTree.count_neighbors()"
        tree, second = self._given(name), self._other(other, name)
        if np.ndim(r) > 1:
            message = f"{name} got radii of shape {np.shape(r)}. Pass one axis at most."
            raise KDTreeError(message)
        both = weights if isinstance(weights, tuple) else (weights, weights)
        if other is self:
            second = tree
        for given, own in zip(both, (tree, second), strict=True):
            if given is not None and np.shape(given) != own.shape[:1]:
                message = (
                    f"{name} got weights of shape {np.shape(given)} for a tree of "
                    f"{own.shape[0]} points. Pass one number for each point."
                )
                raise KDTreeError(message)
        order = checks.norm_order(p, name)
        return relations.counts(
            tree, second, r, (both[0], both[1]), order=order, cumulative=cumulative
        )

    def sparse_distance_matrix(
        self,
        other: "KDTree",
        max_distance: float | jax.Array,
        *,
        max_entries: int,
        p: float = 2.0,
    ) -> "BCOO":
        """Compute the distances between two trees, leaving out the large ones.

        Example:
            >>> import jfi as jnp
            >>> tree = jnp.KDTree([[0.0], [1.0], [5.0]])
            >>> near = tree.sparse_distance_matrix(tree, 2.0, max_entries=5)
            >>> near.todense().tolist()
            [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]

        Args:
            other: The tree of the second points, the columns.
            max_distance: The largest distance, included.
            max_entries: How many places the matrix has for entries.
            p: The norm: 1, 2, any other number from 1 on, or infinity.

        Returns:
            A sparse `(n, other.n)` matrix of JAX, `jax.experimental.sparse.BCOO`, with
            `max_entries` entries sorted by row and column. Unused ones have the
            indices `(n, other.n)`, out of the matrix, as JAX has it.

        Raises:
            KDTreeError: There are more than `max_entries` distances up to the largest,
                or an argument is not as above.
        """
        from jax.experimental.sparse import BCOO

        name = "KDTree.sparse_distance_matrix()"
        tree, second = self._given(name), self._other(other, name)
        checks.check_number(max_distance, "max_distance", name)
        distances, indices = relations.near_entries(
            tree,
            tree if other is self else second,
            max_distance,
            places=checks.count(max_entries, "max_entries", name),
            order=checks.norm_order(p, name),
        )
        shape = (tree.shape[0], second.shape[0])
        return BCOO(
            (distances, indices), shape=shape, indices_sorted=True, unique_indices=True
        )
