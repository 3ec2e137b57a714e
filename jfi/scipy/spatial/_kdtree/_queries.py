"""Neighbors of query points: at once, staged for the host, or in XLA."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from ...._errors import KDTreeError
from ...._host import to_jax
from . import _brute_force as brute_force, _checks as checks, _searches as searches
from ._calls import (
    GivenTree,
    host_search,
    index_dtype,
    is_at_hand,
    is_traced,
    rows_of,
    with_derivatives,
    zero_or_error,
)


class Question(NamedTuple):
    """What a query asks, known before tracing.

    Attributes:
        name: What the user calls.
        ranks: Which neighbors; the nearest is 1.
        has_axis: Whether the results have an axis for the ranks.
        order: The norm.
        eps: How far from exact the answer may be.
        workers: How many threads search.
        ball: Whether all points within a radius are asked for, in `ranks` places.
    """

    name: str
    ranks: tuple[int, ...]
    has_axis: bool
    order: float
    eps: float
    workers: int
    ball: bool = False

    @staticmethod
    def of(name: str, k: Any, p: Any, eps: Any, workers: Any) -> "Question":
        """The question for the k nearest, from what a user passes."""
        try:
            return _question(name, k, p, eps, workers)
        except TypeError:  # a list of ranks has no hash
            return _question.__wrapped__(name, k, p, eps, workers)


@functools.lru_cache(1000, typed=True)  # checks take as long as a small search
def _question(name: str, k: Any, p: Any, eps: Any, workers: Any) -> Question:
    ranks, has_axis = checks.neighbor_ranks(k, name)
    return Question(
        name,
        ranks,
        has_axis,
        checks.norm_order(p, name),
        checks.approximation(eps, name),
        checks.thread_count(workers, name),
    )


Search = Callable[..., Sequence[Any]]


def neighbors(
    tree: GivenTree,
    question: Question,
    x: Any,
    limit: Any,
    backend: str,
    *,
    checks_values: bool,
) -> tuple[jax.Array, jax.Array]:
    """Distances and indices of neighbors.

    Args:
        tree: Where they are searched.
        question: Which.
        x: `(..., m)` floats.
        limit: The largest distance: a number, or an array that broadcasts to `(...)`.
        backend: "scipy" or "jax".
        checks_values: Whether a compiled search in XLA raises the errors of SciPy for
            values that are none, by a call of the host.
    """
    now = is_at_hand((*tree.arrays, x, limit))
    if backend == "scipy" and now:
        return _at_once(tree, question, x, limit)
    if now:
        _refuse_wrong_values(question, x, limit)
    given = () if not is_traced((limit,)) else (limit,)
    fixed = None if given else checks.fixed_number(limit)
    make = _on_host if backend == "scipy" else _on_device
    plain, full = (
        make(tree, question, x, fixed, with_offsets) for with_offsets in (False, True)
    )

    def offsets(indices: Any, *arrays: Any) -> Any:
        points = arrays[len(tree.arrays)]
        total = points[..., None, :] if question.has_axis else points
        if tree.arrays:
            total = total - rows_of(arrays[0], indices).astype(points.dtype)
        return total

    if now:
        found = plain(*tree.arrays, x)
    else:
        arrays = (*tree.arrays, jnp.asarray(x), *map(lax.stop_gradient, given))
        found = with_derivatives(plain, full, offsets, question.order)(*arrays)
    distances, indices = found
    if backend == "jax" and checks_values and not now:
        check = functools.partial(_refuse_wrong_values, question)
        wrong = jnp.isnan(distances).any()
        values = [x, limit]
        if tree.arrays:  # a search that skips NaN would find the others in silence
            values.append(tree.arrays[0])
            wrong |= ~jnp.isfinite(tree.arrays[0]).all()
        indices = indices + zero_or_error(question.name, wrong, check, *values)
    if question.ball and backend == "jax":
        return _without_last_place(tree, question, distances, indices)
    return distances, indices


def _at_once(
    tree: GivenTree, question: Question, x: Any, limit: Any
) -> tuple[jax.Array, jax.Array]:
    points = np.asarray(x)
    dtype = points.dtype
    distances, indices = _asked(question)(tree.host, points, checks.fixed_number(limit))
    made = to_jax([searches.cast(distances, dtype), np.asarray(indices)], [x])
    return made[0], made[1]


@functools.lru_cache(1000)
def _asked(question: Question) -> Search:
    """The search of `_searches` that answers a question."""
    common: dict[str, Any] = {
        "order": question.order,
        "eps": question.eps,
        "workers": question.workers,
    }
    if question.ball:
        places = len(question.ranks)
        return functools.partial(searches.within, places=places, **common)
    return functools.partial(
        searches.nearest, ranks=question.ranks, has_axis=question.has_axis, **common
    )


def _on_host(
    tree: GivenTree, question: Question, x: Any, fixed: Any, with_offsets: bool
) -> Search:
    shape, dtype = x.shape[:-1], x.dtype
    if question.has_axis:
        shape = (*shape, len(question.ranks))
    specs = [
        jax.ShapeDtypeStruct(shape, dtype),
        jax.ShapeDtypeStruct(shape, index_dtype()),
        jax.ShapeDtypeStruct(shape, np.bool_),
        jax.ShapeDtypeStruct((*shape, x.shape[-1]), dtype),
    ]
    asked = _asked(question)

    def search(host: Any, points: NDArray[Any], *limit: NDArray[Any]) -> Any:
        found = asked(host, points, limit[0].astype(np.float64) if limit else fixed)
        if with_offsets:
            indices = np.asarray(found[1])
            queries = points.astype(np.float64)
            if question.has_axis:
                offsets = host.offsets(queries, indices)
            else:
                offsets = host.offsets(queries, indices[..., None])[..., 0, :]
            found = [*found, indices == host.n, offsets]
        return found

    count = 4 if with_offsets else 2
    return host_search(question.name, [tree], search, specs[:count])


def _on_device(
    tree: GivenTree, question: Question, x: Any, fixed: Any, with_offsets: bool
) -> Search:
    run = brute_force.program(
        _ranks_on_device(question, tree.shape[0]),
        question.order,
        tree.settings.boxsize,
        np.dtype(x.dtype),
        index_dtype(),
        with_offsets=with_offsets,
        inclusive=question.ball,
    )
    if len(tree.arrays) > 1:
        message = (
            f"{question.name} got backend='jax' and a tree of float64 data, of which "
            "JAX has only float32 where the tree is an argument. Close over the tree, "
            "build it of float32 data, or use backend='scipy'."
        )
        raise KDTreeError(message)
    own: tuple[Any, ...] = ()
    if tree.host is not None:
        data, number = tree.host.arrays()
        own = (data if number is None else tree.host.points[:-1],)

    def search(*arrays: Any) -> Sequence[Any]:
        data, points, *limit = (*own, *arrays)
        found: Sequence[Any] = run(data, points, limit[0] if limit else fixed)
        if not question.has_axis:
            axis = points.ndim - 1
            found = [jnp.squeeze(part, axis) for part in found]
        return found

    return search


def _ranks_on_device(question: Question, n: int) -> tuple[int, ...]:
    """The ranks; of a ball one more, which shows whether there are too few places."""
    places = len(question.ranks)
    if question.ball and places < n:
        return (*question.ranks, places + 1)
    return question.ranks


def _without_last_place(
    tree: GivenTree, question: Question, distances: Any, indices: Any
) -> tuple[jax.Array, jax.Array]:
    """Refuse results with more neighbors than places."""
    places = len(question.ranks)
    if distances.shape[-1] == places:
        return distances, indices

    def check() -> None:
        message = (
            f"{question.name} found more points within the radius than "
            f"max_results={places}. Write a larger max_results."
        )
        raise KDTreeError(message)

    over = (indices[..., -1] < tree.shape[0]).any()
    zero = zero_or_error(question.name, over, check)
    return distances[..., :-1], indices[..., :-1] + zero


def _refuse_wrong_values(
    question: Question, x: Any, limit: Any, data: Any = 0.0
) -> None:
    """The errors that SciPy's tree and search have, and a device can't raise."""
    if not np.isfinite(np.asarray(data).astype(np.float64)).all():
        message = "data must be finite, check for nan or inf values"
        raise ValueError(message)  # as SciPy does where the tree is built
    if not np.isfinite(np.asarray(x).astype(np.float64)).all():
        message = "'x' must be finite, check for nan or inf values"
        raise ValueError(message)  # as SciPy does
    parameter = "r" if question.ball else "distance_upper_bound"
    values = np.asarray(limit, np.float64)
    checks.refuse_negative(values, parameter, question.name)
