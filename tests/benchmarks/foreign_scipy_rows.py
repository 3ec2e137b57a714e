"""SciPy's tools in JAX, against SciPy itself: rows of `bench_foreign`."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.interpolate
import scipy.spatial
from harness import BY_HAND, Case
from jax.experimental.buffer_callback import buffer_callback

import jfi


def rows() -> list[tuple[Case, int]]:
    """The rows, each with the number of calls to average over."""
    return [*_kdtree_rows(), *_spline_rows()]


def _kdtree_rows() -> list[tuple[Case, int]]:
    found = []
    for n, queries, k, calls in [
        (1_000, 1, 1, 100),
        (100_000, 1, 1, 100),
        (100_000, 1, 8, 100),
        (1_000, 1_000, 1, 10),
        (1_000, 1_000, 8, 5),
        (100_000, 1_000, 1, 5),
        (100_000, 1_000, 8, 3),
        (100_000, 100_000, 1, 1),
    ]:
        limit = 3.0 if queries == 1 else 1.3
        found += [(case, calls) for case in _query_cases(n, queries, k, limit)]
    for n, queries, radius, places in [
        (1_000, 1_000, 0.35, 16),
        (100_000, 10_000, 0.08, 30),
    ]:
        found.append((_ball_case(n, queries, radius, places), 1))
    return found


def _spline_rows() -> list[tuple[Case, int]]:
    """SciPy's objects and the same ones in JAX, compiled, in the 32-bit world."""
    random = np.random.default_rng(0)
    x = np.sort(random.uniform(size=200))
    y = np.sin(9 * x)
    scattered = random.uniform(x[0], x[-1], 1_000_000)
    interpolate = scipy.interpolate
    grid = np.linspace(0, 1, 50)
    values = np.sin(grid[:, None] + grid)
    plane = random.uniform(size=(1_000_000, 2))
    made = {
        "CubicSpline": (interpolate.CubicSpline(x, y), scattered, 1.0),
        "CubicSpline, sorted points": (
            # SciPy begins at the interval of the point before: its best case.
            interpolate.CubicSpline(x, y), np.sort(scattered), 1.0,
        ),
        "PchipInterpolator": (interpolate.PchipInterpolator(x, y), scattered, 1.0),
        "BSpline": (interpolate.make_interp_spline(x, y), scattered, 1.0),
        "interp1d": (interpolate.interp1d(x, y), scattered, 1.0),
        "RegularGridInterpolator": (
            interpolate.RegularGridInterpolator((grid, grid), values), plane, 1.0,
        ),
        "RegularGridInterpolator, cubic": (
            interpolate.RegularGridInterpolator((grid, grid), values, "cubic"),
            plane[:100_000],
            1.0,
        ),
    }  # fmt: skip
    found = []
    for name, (theirs, points, limit) in made.items():
        ours, at = jax.jit(jfi.jaxify(theirs)), jnp.asarray(points)
        np.testing.assert_allclose(ours(at), theirs(points), rtol=1e-3, atol=1e-3)
        case = Case(
            f"{name}, {len(points):,} points: jit",
            lambda ours=ours, at=at: ours(at).block_until_ready(),
            lambda theirs=theirs, points=points: theirs(points),
            limit,
        )
        found.append((case, 1))
    return found


def _query_cases(n: int, queries: int, k: int, limit: float) -> list[Case]:
    data, x = _points(n), _points(queries, 1)[0 if queries == 1 else slice(None)]
    tree, reference = jfi.KDTree(data), scipy.spatial.KDTree(data)
    points, on_host = jnp.asarray(x, np.float32), np.asarray(x)
    compiled = {
        backend: jax.jit(functools.partial(tree.query, k=k, backend=backend))
        for backend in ("auto", "jax")
    }
    base = lambda: reference.query(on_host, k)

    def by_hand() -> Any:
        distances, indices = reference.query(np.asarray(points), k)
        return _done([jnp.asarray(distances, jnp.float32), jnp.asarray(indices)])

    def on_buffers(_: object, out: Any, x: Any) -> None:
        for found, buffer in zip(reference.query(np.asarray(x), k), out, strict=True):
            np.asarray(buffer)[...] = found

    specs = jax.eval_shape(compiled["auto"], points)
    staged_by_hand = jax.jit(buffer_callback(on_buffers, list(specs)))
    others = {BY_HAND: lambda: _done(staged_by_hand(points))}
    if n * queries <= 1_000_000:
        others["backend jax"] = lambda: _done(compiled["jax"](points))
    name = f"KDTree, {n:,} points, {queries:,} queries, k={k}"
    ours = lambda: _done(tree.query(points, k))
    eager = Case(f"{name}: eager", ours, base, limit, {BY_HAND: by_hand})
    staged = lambda: _done(compiled["auto"](points))
    return [eager, Case(f"{name}: jit", staged, base, limit, others)]


def _ball_case(n: int, queries: int, radius: float, places: int) -> Case:
    data, x = _points(n), _points(queries, 1)
    tree, reference = jfi.KDTree(data), scipy.spatial.KDTree(data)
    points = jnp.asarray(x, np.float32)
    find = jax.jit(lambda x: tree.query_ball_point(x, radius, max_results=places))
    return Case(
        f"KDTree, {n:,} points, {queries:,} balls of up to {places}: jit",
        lambda: _done(find(points)),
        lambda: reference.query_ball_point(x, radius),
        1.05,
    )


def _points(n: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=(n, 3))


def _done(results: Any) -> Any:
    results[0].block_until_ready()  # all results of a program are there with the first
    return results
