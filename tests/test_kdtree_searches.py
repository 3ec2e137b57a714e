"""Searches of the k-d tree beyond the nearest: options, backends, pairs, counts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.spatial
from hypothesis import given, settings, strategies as st

import jfi
from jfi import CallbackError, KDTree, KDTreeError


JIT_ERRORS = (jax.errors.JaxRuntimeError, ValueError)
DATA = np.random.default_rng(0).normal(size=(60, 3))
OTHER = np.random.default_rng(1).normal(size=(20, 3))
X = np.random.default_rng(2).normal(size=(7, 3)).astype(np.float32)
TREE, SCIPY = KDTree(DATA), scipy.spatial.KDTree(DATA)
SECOND, SCIPY_SECOND = KDTree(OTHER), scipy.spatial.KDTree(OTHER)
NORMS = [1, 2, 3.5, np.inf]


def all_distances(x, data, p, box):
    away = x[:, None].astype(np.float64) - data
    if box is not None:
        away -= box * np.round(away / box)
    return np.linalg.norm(away.reshape(-1, data.shape[1]), p, -1).reshape(len(x), -1)


@settings(max_examples=25, deadline=None)
@given(
    n=st.sampled_from([1, 9]),
    m=st.sampled_from([1, 3, 9]),
    k=st.sampled_from([1, (1, 4), 12]),
    p=st.sampled_from(NORMS),
    box=st.sampled_from([None, 2.0]),
    bound=st.sampled_from([np.inf, 0.5, 1.0]),
    on_grid=st.booleans(),
    backend=st.sampled_from(["scipy", "jax", "auto"]),
    leafsize=st.sampled_from([1, 10]),
    seed=st.integers(0, 99),
)
def test_query_with_all_options(
    n, m, k, p, box, bound, on_grid, backend, leafsize, seed
):
    rng = np.random.default_rng(seed)
    make = lambda *s: rng.integers(0, 4, s) * 0.5 if on_grid else rng.random(s)
    data, x = make(n, m), make(4, m).astype(np.float32)
    options = {"leafsize": leafsize, "boxsize": box, "balanced_tree": on_grid}
    ranks = list(k) if isinstance(k, tuple) else k
    found = KDTree(data, **options).query(
        x, ranks, p=p, distance_upper_bound=bound, backend=backend
    )
    distances, indices = scipy.spatial.KDTree(data, **options).query(
        x, ranks, p=p, distance_upper_bound=bound
    )
    np.testing.assert_allclose(found[0], distances, rtol=1e-6)
    # Indices may differ where distances are equal, and nowhere else.
    full = np.pad(all_distances(x, data, p, box), ((0, 0), (0, 1)), constant_values=9)
    lengths = [
        np.take_along_axis(full, np.asarray(i).reshape(4, -1), -1)
        for i in (found[1], indices)
    ]
    np.testing.assert_allclose(*lengths, rtol=1e-12)


def test_float32_does_not_decide_which_is_nearer():
    """Two points whose distances are one number in float32."""
    data = np.array([[1.0 + 2e-9], [-1.0]])
    x = np.zeros((1, 1), np.float32)
    for backend in ("scipy", "jax", "auto"):
        for run in (lambda x: x, jax.jit):
            find = run(lambda x, b=backend: KDTree(data).query(x, 2, backend=b)[1])
            assert find(x).tolist() == [[1, 0]]


def test_the_jax_backend_in_blocks(monkeypatch):
    from jfi.scipy.spatial._kdtree import _brute_force

    monkeypatch.setattr(_brute_force, "BLOCK", 150)  # two queries at a time
    _brute_force.program.cache_clear()
    query = lambda x, bound: TREE.query(x, 3, distance_upper_bound=bound, backend="jax")
    wanted = SCIPY.query(X, 3, distance_upper_bound=1.0)
    bounds = np.full(len(X), 1.0, np.float32)
    for run in (query, jax.jit(query)):
        np.testing.assert_array_equal(run(X, 1.0)[1], wanted[1])
    for run in (jax.vmap(query), jax.jit(jax.vmap(query))):
        np.testing.assert_array_equal(run(X, bounds)[1], wanted[1])
    _brute_force.program.cache_clear()


def test_the_jax_backend_calls_no_host():
    lowered = jax.jit(lambda x: TREE.query(x, 3, backend="jax")).lower(X).as_text()
    assert "callback" not in lowered
    assert "callback" in jax.jit(lambda x: TREE.query(x, 3)).lower(X).as_text()


def test_wrong_values_on_the_device():
    wrong = X.copy()
    wrong[1, 0] = np.nan
    find = jax.jit(lambda x: TREE.query(x, 2, backend="jax"))
    distances, indices = find(wrong)
    assert np.isnan(distances[1]).all()
    assert indices[1].tolist() == [60, 60]
    np.testing.assert_array_equal(distances[0], SCIPY.query(X[0], 2)[0].astype("f4"))
    small = KDTree(DATA[:5])  # "auto" takes the device, and has the errors of SciPy
    for run in (small.query, jax.jit(small.query), jax.vmap(small.query)):
        with pytest.raises(JIT_ERRORS, match="'x' must be finite"):
            jax.block_until_ready(run(wrong))


@pytest.mark.parametrize("backend", ["scipy", "jax"])
def test_balls_of_both_backends(backend):
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 2), -1).reshape(-1, 2)
    tree, reference = KDTree(grid), scipy.spatial.KDTree(grid)
    x = grid[:6].astype(np.float32)
    for r in (0.0, 1.0, 2.0, np.inf):  # many points on the very border
        lists = reference.query_ball_point(x, r)
        most = max(map(len, lists))
        find = lambda x, r=r, most=most: tree.query_ball_point(
            x, r, max_results=most, backend=backend
        )
        for run in (find, jax.jit(find), jax.vmap(find)):
            near = run(x)
            for row, wanted in enumerate(lists):
                order = np.lexsort(
                    (wanted, np.linalg.norm(grid[wanted] - x[row], axis=1))
                )
                found = near.indices[row][near.mask[row]]
                assert found.tolist() == np.array(wanted)[order].tolist()
        if most > 1:
            few = lambda x, r=r, n=most - 1: tree.query_ball_point(
                x, r, max_results=n, backend=backend
            )
            with pytest.raises(KDTreeError, match="max_results"):
                few(x)
            for run in (jax.jit(few), jax.vmap(few)):
                with pytest.raises(JIT_ERRORS, match="max_results"):
                    jax.block_until_ready(run(x))


def test_workers_and_eps():
    for workers in (1, 2, -1):
        found = TREE.query(X, 4, workers=workers)
        np.testing.assert_array_equal(found[1], SCIPY.query(X, 4)[1])
    distances, _ = TREE.query(X, 4, eps=0.5)
    exact, _ = SCIPY.query(X, 4)
    assert np.all(distances <= 1.5 * exact + 1e-6)
    np.testing.assert_array_equal(
        TREE.query(X, 4, eps=0.5)[1], SCIPY.query(X, 4, eps=0.5)[1]
    )
    near = TREE.query_ball_point(X, 1.0, max_results=60, eps=0.5)
    surely = TREE.query_ball_point(X, 1.0 / 1.5, max_results=60)
    assert np.all(near.mask.sum(-1) >= surely.mask.sum(-1))


# ------------------------------------------------------- pairs, counts, sparse matrices


@pytest.mark.parametrize("p", NORMS)
def test_pairs(p):
    wanted = sorted(SCIPY.query_pairs(0.8, p=p))
    find = lambda r: TREE.query_pairs(r, max_pairs=len(wanted) + 2, p=p)
    for run in (find, jax.jit(find)):
        pairs = run(0.8)
        assert pairs.indices[:-2].tolist() == [list(pair) for pair in wanted]
        assert pairs.indices[-2:].tolist() == [[60, 60]] * 2
        assert pairs.mask.tolist() == [True] * len(wanted) + [False] * 2
        i, j = np.array(wanted).T
        lengths = np.linalg.norm(DATA[i] - DATA[j], p, -1)
        np.testing.assert_allclose(pairs.distances[:-2], lengths, rtol=1e-6)
    table = jax.vmap(find)(np.array([0.1, 0.8], np.float32))
    assert table.mask[1].sum() == len(wanted)


def test_gradients_of_pairs_and_matrices():
    def energy(data):
        pairs = KDTree(data).query_pairs(0.8, max_pairs=200)
        return jnp.where(pairs.mask, pairs.distances, 0).sum()

    def native(data):
        i, j = np.array(sorted(SCIPY.query_pairs(0.8))).T
        return jnp.linalg.norm(data[i] - data[j], axis=-1).sum()

    def total(data, other):
        tree, second = KDTree(data), KDTree(other)
        return (
            tree.sparse_distance_matrix(second, 1.0, max_entries=300).data ** 2
        ).sum()

    def plain(data, other):
        squares = ((data[:, None] - other) ** 2).sum(-1)
        return jnp.where(squares <= 1.0, squares, 0).sum()

    data, other = DATA.astype(np.float32), OTHER.astype(np.float32)
    for run in (jax.grad(energy), jax.jit(jax.grad(energy))):
        np.testing.assert_allclose(run(data), jax.grad(native)(data), atol=1e-4)
    found = jax.jit(jax.grad(total, (0, 1)))(data, other)
    wanted = jax.grad(plain, (0, 1))(data, other)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("p", NORMS)
def test_sparse_distance_matrices(p):
    for second, reference in ((SECOND, SCIPY_SECOND), (TREE, SCIPY)):
        wanted = SCIPY.sparse_distance_matrix(reference, 1.0, p=p).toarray()
        find = lambda r, other=second: TREE.sparse_distance_matrix(
            other, r, max_entries=900, p=p
        )
        for run in (find, jax.jit(find)):
            np.testing.assert_allclose(run(1.0).todense(), wanted, rtol=1e-6)


def test_counts_beyond_int32_are_refused_and_not_cut(x64):
    many = KDTree(np.zeros((50_000, 1)))
    count = lambda r: many.count_neighbors(many, r)
    for run in (count, jfi.jit(count)):
        if x64:
            assert run(1.0) == 50_000**2
        else:
            with pytest.raises(CallbackError, match=r"integer 2500000000.*64-bit"):
                run(1.0)


def test_counts():
    radii = [0.3, 0.9, 2.0]
    weights = (np.arange(60) / 7, np.arange(20) / 3)
    for cumulative in (True, False):
        for w in (None, weights, (weights[0], None)):
            wanted = SCIPY.count_neighbors(
                SCIPY_SECOND, radii, weights=w, cumulative=cumulative
            )
            find = lambda tree, w=w, c=cumulative: tree.count_neighbors(
                SECOND, radii, weights=w, cumulative=c
            )
            for run in (find, jax.jit(find)):
                np.testing.assert_allclose(run(TREE), wanted, rtol=1e-6)
    assert TREE.count_neighbors(TREE, 0.5) == SCIPY.count_neighbors(SCIPY, 0.5)
    rows = jax.vmap(lambda r: TREE.count_neighbors(SECOND, r))(jnp.array(radii))
    assert rows.tolist() == SCIPY.count_neighbors(SCIPY_SECOND, radii).tolist()
    with pytest.raises(KDTreeError, match=r"stop_gradient\(weights\)"):
        jax.grad(lambda w: TREE.count_neighbors(SECOND, 1.0, weights=(w, None)))(
            jnp.ones(60)
        )


BAD = {
    "pairs": (lambda: TREE.query_pairs(0.8, max_pairs=1), "pairs.*Write max_pairs="),
    "entries": (
        lambda: TREE.sparse_distance_matrix(SECOND, 1.0, max_entries=2),
        "distances.*Write max_entries=",
    ),
    "radius": (lambda: TREE.query_pairs(-1.0, max_pairs=3), r"got r=-1"),
    "other": (lambda: TREE.count_neighbors(DATA, 1.0), r"Pass a jfi.KDTree"),
    "columns": (
        lambda: TREE.count_neighbors(KDTree(DATA[:, :2]), 1.0),
        "trees of 3 and 2 coordinates",
    ),
    "weights": (
        lambda: TREE.count_neighbors(SECOND, 1.0, weights=np.ones(60)),
        r"weights of shape \(60,\) for a tree of 20",
    ),
    "radii": (lambda: TREE.count_neighbors(SECOND, np.ones((2, 2))), "one axis"),
    "backend": (lambda: TREE.query(X, backend="gpu"), "'auto', 'scipy'"),
    "eps": (lambda: TREE.query(X, eps=-1), "got eps=-1"),
    "workers": (lambda: TREE.query(X, workers=0), "got workers=0"),
    "boxsize": (lambda: KDTree(DATA, boxsize=[1, 2]), r"each of the 3 coordinates"),
    "leafsize": (lambda: KDTree(DATA, leafsize=0), "got leafsize=0"),
}


@pytest.mark.parametrize("case", BAD)
def test_refusals(case):
    run, message = BAD[case]
    with pytest.raises(KDTreeError, match=message):
        run()


def test_data_out_of_the_box_are_scipys_error():
    with pytest.raises(ValueError, match="periodic box"):
        KDTree(abs(DATA) + 1, boxsize=1.0)
