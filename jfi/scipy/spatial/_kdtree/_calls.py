"""Searches as functions of JAX: staged calls of the host, with derivatives.

A search has two forms. The plain one returns distances and indices. Where JAX takes a
derivative, the other one is called, which also returns the offsets between the points;
distances are then functions of these, in JAX. So a search without derivatives
costs what SciPy needs, and the offsets are those of float64 also where JAX has none.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from numpy.typing import NDArray

from ...._host import Broadcast, HostFunction, Spec, call_host, host_call
from ...._jax_internals import at_top_level, with_rules
from ._checks import TreeSettings
from ._distances import moved
from ._host_trees import HostTree, find
from ._searches import cast, put


Arrays = Sequence[Any]


class GivenTree(NamedTuple):
    """A tree in a call: SciPy's tree in hand, or arrays from which it is found.

    Attributes:
        host: The tree, or None if its points are traced.
        arrays: The points and perhaps a number, see `HostTree.arrays`; none with a tree
            in hand.
        settings: How the tree is built.
        shape: `(n, m)`.
        dtype: The dtype of its points in JAX.
        is_of_results: Whether the points are computed by the program that asks.
    """

    host: HostTree | None
    arrays: tuple[jax.Array, ...]
    settings: TreeSettings
    shape: tuple[int, int]
    dtype: Any
    is_of_results: bool = False

    def find_now(self) -> HostTree:
        """The tree, given arrays with values."""
        return self.find([np.asarray(array) for array in self.arrays])

    def find(self, arrays: Sequence[NDArray[Any]]) -> HostTree:
        """The tree, given the arrays when the program runs."""
        if self.host is not None:
            return self.host
        data, *number = arrays
        core = data.reshape(self.shape)
        return find(core, number[0].reshape(()) if number else None, self.settings)


def host_search(
    name: str,
    trees: Sequence[GivenTree],
    search: Callable[..., Sequence[NDArray[Any]]],
    specs: Sequence[jax.ShapeDtypeStruct],
) -> Callable[..., list[jax.Array]]:
    """A search as a function of (arrays of the trees, other arrays), run on the host.

    Args:
        name: What the user calls it.
        trees: The trees it searches in.
        search: Takes their `HostTree`s and the other arrays, which may have leading
            batch dimensions, and returns the results.
        specs: Shapes and dtypes of the results.
    """
    sizes = [len(tree.arrays) for tree in trees]
    ends = np.cumsum([0, *sizes])
    hosts = [tree.host for tree in trees]

    def run(*arrays: Any) -> list[jax.Array]:
        cores = [np.ndim(array) for array in arrays]

        def on_host(*values: NDArray[Any]) -> Sequence[Any]:
            own, others = values[: ends[-1]], values[ends[-1] :]
            leading = [
                value.shape[: value.ndim - core]
                for value, core in zip(own, cores, strict=False)
            ]
            batch = np.broadcast_shapes(*leading)
            if all(size == 1 for size in batch):
                found = [
                    tree.find(own[ends[i] : ends[i + 1]])
                    for i, tree in enumerate(trees)
                ]
                return search(*found, *others)
            return _by_rows(on_host, batch, values, cores, specs)

        in_hand = functools.partial(search, *hosts)
        called = _Search(name, on_host if ends[-1] else in_hand, specs)
        return call_host(called, *arrays)

    return run


class _Search(HostFunction):
    """A search that finds numbers in SciPy's dtypes, and returns them in JAX's.

    Args:
        name: What the user calls it.
        search: Takes arrays, perhaps with leading batch dimensions; returns arrays or
            numbers of Python.
        specs: Shapes and dtypes of the results.
    """

    writes_out = True  # one step less than arrays that are checked and copied
    may_draw = False

    def __init__(
        self,
        name: str,
        search: Callable[..., Sequence[Any]],
        specs: Sequence[jax.ShapeDtypeStruct],
    ) -> None:
        super().__init__(name)
        self._search, self._specs = search, specs

    def results(self, *specs: Spec) -> Sequence[Spec]:
        return self._specs

    def run(self, *arguments: NDArray[Any]) -> list[NDArray[Any]]:
        found = zip(self._search(*arguments), self._specs, strict=True)
        return [cast(value, spec.dtype) for value, spec in found]

    def run_into(self, out: Sequence[NDArray[Any]], *arguments: NDArray[Any]) -> None:
        for value, array in zip(self._search(*arguments), out, strict=True):
            put(value, array)

    def batched(self, is_batched: tuple[bool, ...]) -> HostFunction:
        return Broadcast(self, is_batched)


def _by_rows(
    run: Callable[..., Sequence[NDArray[Any]]],
    batch: tuple[int, ...],
    values: Sequence[NDArray[Any]],
    cores: Sequence[int],
    specs: Sequence[jax.ShapeDtypeStruct],
) -> Sequence[NDArray[Any]]:
    """A search in one tree after the other, where each row has its own."""
    leading = [v.shape[: v.ndim - core] for v, core in zip(values, cores, strict=True)]
    whole = np.broadcast_shapes(*leading)
    results = [np.empty((*whole, *spec.shape), spec.dtype) for spec in specs]
    for row in np.ndindex(batch):
        place = tuple(
            slice(None) if size == 1 else slice(k, k + 1)
            for k, size in zip(row, batch, strict=True)
        )
        one = [
            value[
                tuple(
                    slice(None) if size == 1 else part
                    for part, size in zip(place, sizes, strict=True)
                )
            ]
            for value, sizes in zip(values, leading, strict=True)
        ]
        for result, found in zip(results, run(*one), strict=True):
            put(found, result[place])
    return results


def with_derivatives(
    plain: Callable[..., Sequence[Any]],
    full: Callable[..., Sequence[Any]],
    offsets: Callable[..., Any],
    order: float,
) -> Callable[..., Any]:
    """A search of distances with derivatives.

    Args:
        plain: Takes arrays, and returns distances and indices.
        full: Returns these, whether they are missing, and offsets.
        offsets: Takes indices and the arrays, and returns what of the offsets depends
            on these.
        order: The norm.
    """
    # No derivative is taken of a search: JAX would ask XLA's callbacks for one.
    full = without_derivatives(full)

    def derivative(primals: Any, tangents: Any) -> Any:
        varies = [tangent is not None for tangent in tangents]
        if not any(varies):
            return search(*primals), (None, None)
        distances, indices, missing, found = full(*primals)

        def lengths(*varying: Any) -> Any:
            # Of all arrays, not only of those that vary here: a derivative around this
            # one may be with respect to the others.
            rest = iter(varying)
            pairs = zip(primals, varies, strict=True)
            parts = offsets(
                indices, *(next(rest) if is_in else x for x, is_in in pairs)
            )
            change = parts - jax.lax.stop_gradient(parts)
            return moved(distances, found + change, missing, order)

        distances, tangent = jax.jvp(
            lengths,
            [x for x, is_in in zip(primals, varies, strict=True) if is_in],
            [t for t in tangents if t is not None],
        )
        return (distances, indices), (tangent, None)

    search = _ruled(lambda *arrays: tuple(plain(*arrays)), derivative)
    return search


def without_derivatives(run: Callable[..., Sequence[Any]]) -> Callable[..., Any]:
    """A function of arrays that is constant to JAX."""

    def derivative(primals: Any, tangents: Any) -> Any:
        results = call(*primals)
        return results, (None,) * len(results)

    call = _ruled(lambda *arrays: tuple(run(*arrays)), derivative)
    return call


def zero_or_error(
    name: str, wrong: jax.Array, check: Callable[..., None], *values: Any
) -> Any:
    """The number 0, or the error of a check: only where it fails the host is called.

    Args:
        name: What the user calls.
        wrong: Whether the check fails, one boolean.
        check: Takes values as NumPy arrays, perhaps of a whole batch, and raises.
        *values: The values.
    """
    if is_at_hand((wrong, *values)):
        if wrong:
            check(*map(np.asarray, values))
        return 0

    def on_host(wrong: NDArray[Any], *values: NDArray[Any]) -> list[NDArray[Any]]:
        if wrong.any():
            check(*values)
        return [np.zeros(wrong.shape, np.int32)]

    def run(wrong: Any, *values: Any) -> Any:
        spec = jax.ShapeDtypeStruct((), np.int32)
        return jax.lax.cond(
            wrong,
            lambda *given: host_call(on_host, [spec], *given, name=name)[0],
            lambda *_: jnp.int32(0),
            *(wrong, *values),
        )

    def rows(size: int, options: Any, batched: Any, wrong: Any, *values: Any) -> Any:
        # Not `vmap`, where both branches of a cond run, and the host is called.
        return call(wrong.any(), *values), False

    call = with_rules(run, rows, lambda primals, _: (call(*primals), None), sparse=True)
    return call(wrong, *map(jnp.asarray, values))


def _ruled(
    run: Callable[..., Any], derivative: Callable[..., Any]
) -> Callable[..., Any]:
    """A function with a derivative of its own, also in batches and loops."""

    def rows(size: int, options: Any, batched: Any, *arrays: Any) -> Any:
        axes = tuple(0 if is_batched else None for is_batched in batched)
        options = {**options, "axis_size": size}

        def derivative_of_rows(primals: Any, tangents: Any) -> Any:
            pairs = zip(tangents, axes, strict=True)
            of_tangents = tuple(None if t is None else axis for t, axis in pairs)
            return jax.vmap(derivative, in_axes=(axes, of_tangents), **options)(
                primals, tangents
            )

        again = _ruled(jax.vmap(run, in_axes=axes, **options), derivative_of_rows)
        results = again(*arrays)
        return results, (True,) * len(results)

    ruled = with_rules(run, rows, derivative, sparse=True)

    def call(*arrays: Any) -> Any:
        # Values in hand, in a derivative for example: errors keep their types.
        return run(*arrays) if is_at_hand(arrays) else ruled(*arrays)

    return call


def is_at_hand(values: Sequence[Any]) -> bool:
    """Whether a search can be made at once."""
    return not is_traced(values) and at_top_level()


def is_traced(values: Sequence[Any]) -> bool:
    """Whether any of these is known only when a program runs."""
    for value in values:  # noqa: SIM110 - a generator takes three times as long
        if isinstance(value, Tracer):
            return True
    return False


def index_dtype() -> np.dtype[Any]:
    """The dtype of indices here."""
    return np.dtype(jax.dtypes.canonicalize_dtype(np.int64))


def rows_of(data: jax.Array, indices: jax.Array) -> jax.Array:
    """Rows of data; zero for an index that is no row."""
    if len(data) == 0:
        return jnp.zeros((*indices.shape, data.shape[1]), data.dtype)
    return jnp.take(data, indices, axis=0, mode="fill", fill_value=0)
