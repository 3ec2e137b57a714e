"""The k-d tree: SciPy's answers under every transformation, and their derivatives."""

import copy
import pickle
import threading

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.spatial
from hypothesis import given, settings, strategies as st

import jfi
from jfi import KDTree, KDTreeError, Neighbors

from .subprocesses import output_of


# The second is what a program raises that ran in the background.
JIT_ERRORS = (jax.errors.JaxRuntimeError, ValueError)

DATA = np.random.default_rng(0).normal(size=(50, 3))
TREE = KDTree(DATA)
SCIPY = scipy.spatial.KDTree(DATA)
NORMS = [1, 2, np.inf, 3.5]


def queries(*shape, dtype=np.float64):
    return (np.random.default_rng(1).normal(size=(*shape, 3)) * 2).astype(dtype)


def brute_force(x, k, p=2):
    """The nearest k distances in plain JAX."""
    difference = x[..., None, :] - jnp.asarray(DATA, x.dtype)
    if p == 2:
        distances = jnp.sqrt((difference**2).sum(-1))
    elif p == np.inf:
        distances = jnp.abs(difference).max(-1)
    else:
        distances = (jnp.abs(difference) ** p).sum(-1) ** (1 / p)
    return jnp.sort(distances)[..., :k]


class Counted:
    """A SciPy tree that counts its queries."""

    def __init__(self, tree):
        self.tree, self.calls = tree, 0

    def query(self, *args, **kwargs):
        self.calls += 1
        return self.tree.query(*args, **kwargs)

    def query_ball_point(self, *args, **kwargs):
        self.calls += 1
        return self.tree.query_ball_point(*args, **kwargs)


@pytest.fixture
def counted():
    tree = KDTree(DATA)
    tree._host.search = Counted(tree._host.search)
    return tree


# ------------------------------------------------------------------------ values


def check_query(k, p, dtype, shape, tolerance):
    x = jnp.asarray(queries(*shape, dtype=dtype))
    expected, expected_indices = SCIPY.query(np.asarray(x, np.float64), k=k, p=p)
    find = lambda x: TREE.query(x, k, p=p)
    for run in (find, jax.jit(find)):
        distances, indices = run(x)
        np.testing.assert_array_equal(indices, expected_indices)
        np.testing.assert_allclose(distances, expected, rtol=tolerance)
        assert distances.shape == np.shape(expected)
    return distances.dtype, indices.dtype


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize(
    ("k", "p"),
    [(1, 2), ([1], 2), ([2, 4], 2), (60, 2), (2, 1), (2, 2), (2, np.inf), (2, 3.5)],
)
def test_query_is_scipys(k, p):
    for shape in [(), (4,), (2, 5), (0,)]:
        check_query(k, p, np.float64, shape, 1e-14)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_dtypes_of_query(dtype, x64):
    default = np.float64 if x64 else np.float32
    floats = {np.int32: default, np.float64: default}.get(dtype, dtype)
    tolerance = {np.float16: 2e-3, np.float32: 3e-7, np.float64: 1e-14}[floats]
    dtypes = check_query(2, 2, dtype, (3,), tolerance)
    assert dtypes == (floats, np.int64 if x64 else np.int32)


@pytest.mark.parametrize(("point", "expected"), [(1e-42, 1e-42), (1e300, np.inf)])
def test_distances_at_the_ends_of_float32(point, expected, x64):
    query = np.zeros(1, np.float32)
    for k in (1, 2):
        distances, indices = KDTree([[point]] * 2).query(query, k, backend="scipy")
        assert (np.asarray(distances) == np.float32(expected)).all()
        assert (distances.dtype, distances.weak_type) == (np.float32, False)
        assert (indices.dtype, indices.weak_type) == (
            np.int64 if x64 else np.int32,
            False,
        )


@pytest.mark.usefixtures("mixed_world")
@settings(max_examples=25, deadline=None)
@given(
    n=st.sampled_from([0, 1, 9]),  # few shapes: each is compiled once
    m=st.sampled_from([1, 3]),
    k=st.sampled_from([1, 4]),
    bound=st.sampled_from([np.inf, 0.0, 0.5, 1.0, 2.0]),
    seed=st.integers(0, 99),
)
def test_query_on_a_grid(n, m, k, bound, seed):
    """Coordinates on a grid: ties, equal points, points on the very bound."""
    rng = np.random.default_rng(seed)
    data, x = (rng.integers(0, 3, (rows, m)) * 0.5 for rows in (n, 4))
    tree, reference = KDTree(data), scipy.spatial.KDTree(data)
    find = lambda x: tree.query(x, k, distance_upper_bound=bound)
    distances, indices = find(x)
    expected, where = reference.query(x, k, distance_upper_bound=bound)
    np.testing.assert_allclose(distances, expected, rtol=1e-14)
    # Of points at one distance the first: SciPy leaves open which.
    order = np.argsort(((x[:, None] - data) ** 2).sum(-1), -1, kind="stable")
    first = np.pad(order, ((0, 0), (0, k)), constant_values=n)[:, :k].reshape(
        where.shape
    )
    np.testing.assert_array_equal(indices, np.where(where == n, n, first))
    gradient = jax.grad(lambda x: jnp.where(indices < n, find(x)[0], 0).sum())(x)
    assert np.isfinite(gradient).all()
    near = tree.query_ball_point(x, bound, max_results=max(n, 1))
    near = jax.tree.map(np.asarray, near)
    lists = reference.query_ball_point(x, bound)
    assert near.mask.sum(-1).tolist() == [len(found) for found in lists]
    for row in range(4):
        found = near.indices[row][near.mask[row]]
        assert sorted(found.tolist()) == sorted(lists[row])
        assert np.all(np.diff(near.distances[row][near.mask[row]]) >= 0)


def test_float32_queries_far_from_the_origin():
    """The difference is taken in float64, before it is rounded."""
    data = 1e6 + DATA * 1e-3
    x = data.astype(np.float32)
    distances, _ = KDTree(data).query(jnp.asarray(x), 3)
    expected, _ = scipy.spatial.KDTree(data).query(x.astype(np.float64), 3)
    assert distances.dtype == np.float32
    np.testing.assert_allclose(distances, expected, rtol=1e-6)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_powers_don_t_overflow(scale, p):
    tree = KDTree(DATA * scale)
    x = queries(4, dtype=np.float32) * np.float32(scale)
    expected, _ = scipy.spatial.KDTree(DATA).query(x.astype(np.float64) / scale, p=p)
    np.testing.assert_allclose(tree.query(x, p=p)[0] / scale, expected, rtol=1e-5)
    gradient = jax.grad(lambda x: tree.query(x, p=p)[0].sum())(jnp.asarray(x))
    near = jax.grad(lambda x: TREE.query(x, p=p)[0].sum())(jnp.asarray(x / scale))
    np.testing.assert_allclose(gradient, near, rtol=1e-3, atol=1e-4)


def test_distance_upper_bound():
    x = queries(6)
    for bound in (0.4, np.float32(0.5), np.array(0.7), jnp.array(1.0), 0, np.inf):
        expected = SCIPY.query(x, 3, distance_upper_bound=float(bound))
        find = lambda x, bound: TREE.query(x, 3, distance_upper_bound=bound)
        for run in (find, jax.jit(find)):
            for result, value in zip(run(x, bound), expected, strict=True):
                np.testing.assert_allclose(result, value, rtol=3e-7)


def test_one_bound_per_query_under_vmap(counted):
    x, bounds = queries(6), np.linspace(0.1, 1.5, 6)
    find = lambda x, bound: counted.query(
        x, 3, backend="scipy", distance_upper_bound=bound
    )
    for run in (jax.vmap(find), jax.jit(jax.vmap(find))):
        counted._host.search.calls = 0
        distances, indices = run(x, bounds)
        assert counted._host.search.calls == 1
        for i in range(6):
            expected = SCIPY.query(x[i], 3, distance_upper_bound=bounds[i])
            np.testing.assert_allclose(distances[i], expected[0], rtol=3e-7)
            np.testing.assert_array_equal(indices[i], expected[1])
    table = jax.vmap(jax.vmap(find, (None, 0)), (0, None))(x, bounds)
    other = jax.vmap(jax.vmap(find, (0, None)), (None, 0))(x, bounds)
    for a, b in zip(table, other, strict=True):
        np.testing.assert_array_equal(a, b.swapaxes(0, 1))
    assert table[1].shape == (6, 6, 3)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
def test_query_ball_point_is_scipys(p, jit, x64):
    find = lambda x: TREE.query_ball_point(x, 1.2, max_results=50, p=p)
    for shape in [(), (2, 3), (0,)]:
        x = queries(*shape, dtype=np.float32)
        near = jax.tree.map(np.asarray, (jax.jit(find) if jit else find)(x))
        assert isinstance(near, Neighbors)
        assert near.indices.shape == (*shape, 50)
        assert near.distances.dtype == np.float32
        for index in np.ndindex(*shape):
            expected = SCIPY.query_ball_point(x[index].astype(np.float64), 1.2, p=p)
            mask, found = near.mask[index], near.indices[index]
            assert sorted(found[mask].tolist()) == sorted(expected)
            assert np.all(found[~mask] == 50)
            assert np.all(np.isinf(near.distances[index][~mask]))
            order = np.linalg.norm(x[index] - DATA[found[mask]], p, axis=-1)
            np.testing.assert_allclose(near.distances[index][mask], order, rtol=1e-6)


def test_radii(counted):
    x, radii = queries(6), np.linspace(0.3, 2.0, 6)
    find = lambda x, r: counted.query_ball_point(x, r, max_results=40)
    expected = [len(found) for found in SCIPY.query_ball_point(x, radii)]
    runs = [find, jax.jit(find), jax.vmap(find), jax.jit(jax.vmap(find))]
    for run in runs:
        counted._host.search.calls = 0
        assert run(x, radii).mask.sum(-1).tolist() == expected
        assert counted._host.search.calls == 1
    table = jax.vmap(jax.vmap(find, (None, 0)), (0, None))(x, radii)
    assert np.diagonal(table.mask.sum(-1)).tolist() == expected
    assert (
        find(x, 0.5).mask.sum(-1).tolist()
        == jax.jit(find)(x, 0.5).mask.sum(-1).tolist()
    )


def test_a_radius_in_hand_keeps_its_digits():
    """0.1 + 0.2 is more than 0.3 in float64, and not so in float32."""
    tree = KDTree([[0.1 + 0.2]])
    with jax.enable_x64(False):
        for r, expected in [(0.3, 0), (0.1 + 0.2, 1)]:
            find = lambda x, r=r: tree.query_ball_point(x, r, max_results=1)
            for run in (find, jax.jit(find)):
                assert run([0.0]).mask.sum() == expected


# --------------------------------------------------------------------- one call


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
def test_one_call_for_any_batch(counted, jit):
    x = queries(2, 3, 4)
    query = lambda x: counted.query(x, 2, backend="scipy")
    ball = lambda x: counted.query_ball_point(x, 1.0, max_results=50)
    for find in (query, ball):
        expected = find(x)
        nested = find
        for _ in range(3):
            nested = jax.vmap(nested)
            counted._host.search.calls = 0
            result = (jax.jit(nested) if jit else nested)(x)
            assert counted._host.search.calls == 1
            jax.tree.map(np.testing.assert_array_equal, result, expected)


def test_a_gradient_takes_one_call(counted):
    x = jnp.asarray(queries(5))
    jax.block_until_ready(
        jax.jit(jax.vmap(jax.grad(lambda x: counted.query(x, backend="scipy")[0])))(x)
    )
    assert counted._host.search.calls == 1


def test_inside_of_scan():
    def step(x, _):
        distance, index = TREE.query(x)
        return x - 0.1 * jax.grad(lambda x: TREE.query(x)[0])(x), (distance, index)

    _, (distances, indices) = jax.jit(lambda x: jax.lax.scan(step, x, length=5))(
        jnp.full(3, 3.0)
    )
    assert np.all(np.diff(distances) < 0)
    assert indices[0] == SCIPY.query(np.full(3, 3.0))[1]


# ------------------------------------------------------------------- derivatives


def derived(of, x, *, eagerly):
    """What `of` derives: eagerly in one case, as one program in each of the others."""
    return (of if eagerly else jax.jit(of))(x)


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize("p", NORMS)
def test_derivatives_are_those_of_plain_jax(p):
    x = jnp.asarray(queries(4))
    ours = lambda x: TREE.query(x, 3, p=p)[0]
    native = lambda x: brute_force(x, 3, p)
    # Plain JAX has NaN in second derivatives of the other norms.
    transforms = [jax.jacrev, jax.jacfwd, lambda f: jax.jit(jax.jacrev(f))]
    if p == 2:
        transforms += [jax.hessian, lambda f: jax.jacrev(jax.jacrev(f))]
    # One program: what plain JAX computes is right in any.
    expected = jax.jit(lambda x: [jax.vmap(t(native))(x) for t in transforms])(x)
    rows = lambda x: [jax.vmap(t(ours))(x) for t in transforms]
    found = derived(rows, x, eagerly=p == 2)
    for derivative, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(derivative, wanted, atol=1e-10)
    second = derived(jax.hessian(lambda x: ours(x).sum()), x, eagerly=p == 2)
    assert np.isfinite(second).all()


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize("p", [2, 3.5, 3])
def test_second_derivatives_on_an_axis(p):
    """Components that are zero must not lose their curvature."""
    tree = KDTree([[0.0, 0.0]])
    x = jnp.array([2.0, 0.0])
    hessian = derived(jax.hessian(lambda x: tree.query(x, p=p)[0]), x, eagerly=p == 2)
    np.testing.assert_allclose(hessian, [[0, 0], [0, 0.5 if p == 2 else 0]], atol=1e-12)


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coincident_and_missing_neighbors_have_zero_derivatives(p, dtype):
    tree = KDTree(np.array([[1, 2], [4, 6]], dtype))
    x = jnp.array([1, 2], dtype)
    find = lambda x: tree.query(x, 3, p=p)[0]
    assert find(x)[0] == 0
    assert np.isinf(find(x)[2])
    ball = lambda x: tree.query_ball_point(x, 1.0, max_results=2, p=p).distances
    transforms = jax.jacrev, jax.jacfwd, jax.hessian
    every = lambda x: [*(t(find)(x) for t in transforms), jax.jacrev(ball)(x)]
    eagerly = p == 2 and dtype is np.float64
    *jacobians, hessian, of_ball = derived(every, x, eagerly=eagerly)
    for jacobian in jacobians:
        assert jacobian[0].tolist() == [0, 0]
        assert jacobian[2].tolist() == [0, 0]
        assert np.isfinite(jacobian).all()
    assert np.isfinite(hessian).all()
    assert not hessian[0].any()
    assert not np.any(of_ball)


@pytest.mark.usefixtures("mixed_world")
def test_gradients_of_a_ball():
    x = jnp.asarray(queries(3)) / 4

    def energy(x, r):
        near = TREE.query_ball_point(x, r, max_results=50)
        return jnp.where(near.mask, near.distances**2, 0).sum()

    def native(x, r):
        squares = ((x[:, None] - DATA) ** 2).sum(-1)
        return jnp.where(squares <= r**2, squares, 0).sum()

    for ours, other in [(energy, native), (jax.jit(energy), native)]:
        np.testing.assert_allclose(ours(x, 1.0), other(x, 1.0))
        np.testing.assert_allclose(jax.grad(ours)(x, 1.0), jax.grad(other)(x, 1.0))
    assert jax.grad(energy, 1)(x, 1.0) == 0


def test_integers_have_no_derivative():
    gradient = jax.grad(lambda x: TREE.query(x)[0], allow_int=True)(jnp.arange(3))
    assert gradient.dtype == jax.dtypes.float0


# --------------------------------------------------------------------- refusals

BAD_QUERIES = {
    "k zero": (lambda x: TREE.query(x, 0), r"query\(\) got k=0"),
    "k float": (lambda x: TREE.query(x, 2.0), r"query\(\) got k=2.0.*Python integer"),
    "k empty": (lambda x: TREE.query(x, []), r"query\(\) got k=\[\]"),
    "k list": (lambda x: TREE.query(x, [1, -2]), r"query\(\) got k=-2"),
    "p small": (lambda x: TREE.query(x, p=0.5), r"got p=0.5.*from 1 on"),
    "p nan": (lambda x: TREE.query(x, p=np.nan), r"got p=nan"),
    "columns": (lambda x: TREE.query(x[:, :2]), r"shape \(4, 2\).*\(..., 3\)"),
    "scalar": (lambda x: TREE.query(x[0, 0]), r"shape \(\).*\(..., 3\)"),
    "complex": (lambda x: TREE.query(x + 0j), r"dtype complex64.*real numbers"),
    "bool": (lambda x: TREE.query(x > 0), r"dtype bool.*real numbers"),
    "bounds": (
        lambda x: TREE.query(x, distance_upper_bound=x[:, 0]),
        r"distance_upper_bound of shape \(4,\).*jax.vmap",
    ),
    "radii": (
        lambda x: TREE.query_ball_point(x, np.ones(3), max_results=2),
        r"radii of shape \(3,\) for queries of shape \(4,\)",
    ),
    "many radii": (
        lambda x: TREE.query_ball_point(x, np.ones((2, 4)), max_results=2),
        r"radii of shape \(2, 4\) for queries of shape \(4,\)",
    ),
    "places": (
        lambda x: TREE.query_ball_point(x, 1.0, max_results=0),
        r"got max_results=0.*max_results=3",
    ),
}


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("case", BAD_QUERIES)
def test_bad_queries_are_refused(case, jit):
    run, message = BAD_QUERIES[case]
    with pytest.raises(KDTreeError, match=message):
        (jax.jit(run) if jit else run)(jnp.asarray(queries(4)))


def test_traced_k_and_p_are_refused():
    with pytest.raises(KDTreeError, match=r"got k=.*sets the shape"):
        jax.jit(TREE.query)(queries(4), 2)
    with pytest.raises(KDTreeError, match=r"got p=.*Python number"):
        jax.jit(lambda x, p: TREE.query(x, p=p))(queries(4), 2)


def test_too_many_neighbors_are_refused():
    x = queries(4) / 4
    most = max(len(found) for found in SCIPY.query_ball_point(x, 1.5))
    find = lambda x: TREE.query_ball_point(x, 1.5, max_results=5)
    message = (
        rf"found {most} points within 1.5 of .*max_results=5. Write max_results={most}"
    )
    with pytest.raises(KDTreeError, match=message):
        find(x)
    with pytest.raises(KDTreeError, match=message):
        jax.vmap(find)(x)
    with pytest.raises(JIT_ERRORS, match=f"KDTreeError: .*{message}"):
        jax.block_until_ready(jax.jit(find)(x))
    assert TREE.query_ball_point(x, 1.5, max_results=most).mask.sum(-1).max() == most


def test_what_is_no_number_is_refused():
    x = queries(2)
    x[1, 2] = np.nan
    with pytest.raises(ValueError, match="'x' must be finite"):
        TREE.query(x)
    with pytest.raises(JIT_ERRORS, match="ValueError: 'x' must be finite"):
        jax.block_until_ready(jax.jit(TREE.query)(x))


@pytest.mark.parametrize("number", [-1.0, np.nan])
def test_radii_and_bounds_below_zero_are_refused(number):
    x = queries(2)
    query = lambda x, r: TREE.query(x, distance_upper_bound=r)
    ball = lambda x, r: TREE.query_ball_point(x, r, max_results=3)
    for run, parameter in [(query, "distance_upper_bound"), (ball, "r")]:
        message = rf"got {parameter}={number}. Pass a number from 0 on"
        with pytest.raises(KDTreeError, match=message):
            run(x, number)
        with pytest.raises(JIT_ERRORS, match=message):
            jax.block_until_ready(jax.jit(run)(x, number))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.ones(3), r"shape \(3,\).*data.reshape\(-1, 1\)"),
        (np.ones((2, 0)), r"shape \(2, 0\)"),
        (np.ones((2, 2), complex), "dtype complex128"),
        (np.ones((2, 2), bool), "dtype bool"),
        ([["a"]], "dtype <U1"),
    ],
)
def test_bad_data_is_refused(data, message):
    with pytest.raises(KDTreeError, match=message):
        KDTree(data)


def test_data_that_is_no_number_is_scipys_error():
    with pytest.raises(ValueError, match="must be finite"):
        KDTree([[np.nan]])


# ------------------------------------------------------------------- surroundings


def test_attributes(x64):
    tree = KDTree(DATA)
    assert (tree.n, tree.m) == (50, 3)
    assert repr(tree) == "KDTree(n=50, m=3)"
    data = jax.jit(lambda: tree.data + 0)()  # first used while tracing
    assert isinstance(tree.data, jax.Array)
    assert not isinstance(tree.data, jax.core.Tracer)
    np.testing.assert_allclose(data, DATA, rtol=1e-6)
    assert tree.data.dtype == (np.float64 if x64 else np.float32)
    assert KDTree(DATA.astype(np.float32)).data.dtype == np.float32


@pytest.mark.parametrize(
    "data",
    [
        DATA.tolist(),
        DATA.astype(np.float32),
        jnp.asarray(DATA),
        np.asfortranarray(DATA),
    ],
    ids=["list", "float32", "jax", "fortran"],
)
def test_forms_of_data(data):
    _, indices = KDTree(data).query(queries(9))
    np.testing.assert_array_equal(indices, SCIPY.query(queries(9))[1])


def test_half_precision_data():
    tree = KDTree(jnp.array([[0.0], [2.0]], jnp.bfloat16))
    distance, index = tree.query(jnp.array([1.5], jnp.bfloat16))
    assert (distance, distance.dtype, index) == (0.5, jnp.bfloat16, 1)


@pytest.mark.usefixtures("mixed_world")
def test_the_data_are_copied():
    data = DATA.copy()
    tree = KDTree(data)
    before = tree.query(queries(5))
    data[:] = 0
    jax.tree.map(np.testing.assert_array_equal, before, tree.query(queries(5)))
    np.testing.assert_array_equal(tree.data, DATA)


def test_an_empty_tree():
    tree = KDTree(np.zeros((0, 2)))
    for run in (tree.query, jax.jit(tree.query)):
        distance, index = run(np.zeros(2))
        assert (distance, index) == (np.inf, 0)
    assert not tree.query_ball_point(np.zeros(2), 1.0, max_results=2).mask.any()


@pytest.mark.parametrize(
    "duplicate",
    [
        lambda tree: pickle.loads(pickle.dumps(tree)),
        lambda tree: cloudpickle.loads(cloudpickle.dumps(tree)),
        copy.deepcopy,
        copy.copy,
    ],
)
def test_pickling(duplicate):
    tree = KDTree(DATA)
    expected = tree.query(queries(5), 2)
    again = duplicate(tree)
    assert again is not tree
    jax.tree.map(np.testing.assert_array_equal, again.query(queries(5), 2), expected)
    np.testing.assert_array_equal(again.data, tree.data)


def test_a_tree_is_a_static_argument():
    traces = []

    def find(tree, x):
        traces.append(tree)
        return tree.query(x)[1]

    find = jax.jit(find, static_argnums=0)
    for tree in (TREE, KDTree(DATA[::-1]), KDTree(DATA)):
        assert find(tree, DATA[7]) == (42 if tree == KDTree(DATA[::-1]) else 7)
    assert len(traces) == 2  # equal trees share a program


def test_autojit_passes_trees_on():
    @jfi.autojit
    def find(x, tree, k):
        return tree.query(x, k)

    for tree, k in [(TREE, 2), (KDTree(DATA[::-1]), 2), (TREE, 3), (TREE, 2)]:
        result = find(jnp.asarray(queries(4)), tree, k)
        jax.tree.map(np.testing.assert_array_equal, result, tree.query(queries(4), k))


def test_threads():
    find_eagerly = lambda x: TREE.query(x, 2)
    find = jax.jit(find_eagerly)
    expected = SCIPY.query(queries(20), 2)
    found = []

    def work():
        for _ in range(20):
            found.extend(run(queries(20))[1] for run in (find, find_eagerly))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 * 20 * 2
    assert all(np.array_equal(indices, expected[1]) for indices in found)


def test_scipy_is_imported_on_use():
    code = "import jfi, sys; jfi.KDTree; print('scipy.spatial' in sys.modules)"
    assert output_of(code, fresh=True) == "False"
