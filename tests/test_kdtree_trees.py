"""Trees as data: arguments, batches and results of compiled functions, derivatives."""

import copy
import pickle

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.spatial

import jfi
from jfi import KDTree, KDTreeError
from jfi.scipy.spatial._kdtree import _host_trees


RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(40, 3)).astype(np.float32)
X = RNG.normal(size=(5, 3)).astype(np.float32)
BATCH = np.stack([DATA, DATA[::-1] * 2, DATA + 1])
BACKENDS = ["scipy", "jax"]
JIT_ERRORS = (jax.errors.JaxRuntimeError, ValueError)


def expected(data, x=X, k=2):
    return scipy.spatial.KDTree(np.asarray(data, np.float64)).query(x, k)


def check(found, data, x=X):
    distances, indices = expected(data, x)
    np.testing.assert_array_equal(found[1], indices)
    np.testing.assert_allclose(found[0], distances, rtol=3e-7)


def native(data, x):
    """The sum of the two smallest squared distances, in plain JAX."""
    squares = ((x[:, None] - data) ** 2).sum(-1)
    return jnp.sort(squares)[:, :2].sum()


# --------------------------------------------------------------- arguments, batches


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_tree_is_an_argument(backend):
    traces = []

    @jax.jit
    def find(tree, x):
        traces.append(tree)
        return tree.query(x, 2, backend=backend)

    for data in (DATA, DATA[::-1], DATA):
        check(find(KDTree(data), X), data)
    assert len(traces) == 1  # other data are no other program


def test_the_host_tree_is_found_again(monkeypatch):
    tree, other = KDTree(DATA), KDTree(DATA * 3)
    built = []
    build = _host_trees.HostTree.__init__
    monkeypatch.setattr(
        _host_trees.HostTree,
        "__init__",
        lambda self, *args: (built.append(1), build(self, *args))[1],
    )
    find = jax.jit(lambda tree, x: tree.query(x, 2, backend="scipy"))
    for one in (tree, other, tree):
        check(find(one, X), one.data)
    copied = jax.tree.map(jnp.copy, tree)  # other memory, the same content
    check(find(copied, X), DATA)
    assert not built
    for _ in range(3):
        check(find(jax.tree.map(lambda a: a * 7, tree), X), DATA * np.float32(7))
    assert len(built) == 1


def test_float64_data_keep_their_digits_as_an_argument():
    data = 1e6 + DATA.astype(np.float64) * 1e-3
    tree, same_in_float32 = KDTree(data), KDTree(data.astype(np.float32))
    x = data[:5].astype(np.float32)
    with jax.enable_x64(False):
        find = jax.jit(lambda tree, x: tree.query(x, 2, backend="scipy"))
        for one in (tree, same_in_float32, tree):
            jax.tree.map(np.testing.assert_array_equal, find(one, x), one.query(x, 2))
        assert not np.array_equal(find(tree, x)[0], find(same_in_float32, x)[0])
        with pytest.raises(KDTreeError, match="Close over the tree"):
            jax.jit(lambda tree: tree.query(x, backend="jax"))(tree)
        closed = jax.jit(lambda x: tree.query(x, 2, backend="jax"))(x)
        jax.tree.map(np.testing.assert_array_equal, closed, tree.query(x, 2))
        # Changed leaves are what they are: the number alone is not believed.
        moved = jax.tree.map(lambda a: a + 1, tree)
        np.testing.assert_allclose(moved.query(moved.data[:1])[0], 0)


def test_donated_memory_is_not_believed():
    tree = jax.tree.map(jnp.copy, KDTree(DATA))
    tree.query(X)
    double = jax.jit(lambda tree: jax.tree.map(lambda a: a * 2, tree), donate_argnums=0)
    check(jax.jit(lambda t, x: t.query(x, 2))(double(tree), X), DATA * 2)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
def test_batches_of_trees(backend, jit):
    compiled = jax.jit if jit else lambda f: f
    trees = jax.vmap(KDTree)(BATCH)
    assert repr(trees) == "KDTree(n=40, m=3, batch=(3,))"
    query = lambda tree, x: tree.query(x, 2, backend=backend)
    shared = compiled(jax.vmap(query, (0, None)))(trees, X)
    own = compiled(jax.vmap(query))(trees, X[:3, None])
    table = compiled(jax.vmap(jax.vmap(query, (None, 0)), (0, None)))(trees, X)
    for k, data in enumerate(BATCH):
        check([part[k] for part in shared], data)
        check([part[k] for part in own], data, X[k : k + 1])
        check([part[k] for part in table], data)
    with pytest.raises(KDTreeError, match=r"trees in a batch.*jax.vmap\(lambda tree"):
        trees.query(X)


def test_trees_made_by_compiled_functions():
    tree = jax.jit(lambda data: KDTree(data, boxsize=100.0))(abs(DATA))
    assert tree.boxsize == (100.0,) * 3
    assert tree == KDTree(abs(DATA), boxsize=100.0)
    check(tree.query(X[:1] * 0, 2), abs(DATA), X[:1] * 0)
    bad = jax.jit(lambda data: KDTree(data).query(data, backend="scipy")[0])
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match="finite"):
        jax.block_until_ready(bad(DATA * np.nan))


def test_trees_in_loops_and_branches():
    tree = KDTree(DATA)
    other = KDTree(DATA[::-1])
    rows = jax.jit(lambda tree, x: jax.lax.map(lambda x: tree.query(x, 2), x))
    check(rows(tree, X), DATA)
    found = jax.lax.cond(False, lambda: tree, lambda: other)
    check(found.query(X, 2), DATA[::-1])


# ----------------------------------------------------------------------- derivatives


@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives_of_data_are_those_of_plain_jax(backend):
    def loss(data, x):
        return (KDTree(data).query(x, 2, backend=backend)[0] ** 2).sum()

    def every(f):
        transforms = jax.grad, jax.jacfwd, jax.hessian
        return jax.jit(lambda *args: [t(f, (0, 1))(*args) for t in transforms])

    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4),
        *(every(f)(DATA[:6], X[:2]) for f in (loss, native)),
    )
    rows = jax.vmap(jax.grad(loss), (0, None))(BATCH, X)
    plain = jax.jit(jax.grad(native))
    each = [plain(jnp.asarray(data), X) for data in BATCH]
    np.testing.assert_allclose(rows, np.stack(each), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
def test_derivatives_with_respect_to_one_after_the_other(jit):
    """The inner one varies the queries or nothing, the outer one the data."""
    ours = lambda data, x: KDTree(data).query(x)[0].sum()
    away = lambda data, x: jnp.linalg.norm(x[:, None] - data, axis=-1)
    plain = lambda data, x: away(data, x).min(-1).sum()
    still = lambda f: (
        lambda data, x: jax.grad(
            lambda z: z.sum() * f(data + jax.lax.stop_gradient(z).sum() * 0, x)
        )(jnp.ones(2))
    )
    mixed = [
        lambda f: jax.jacfwd(jax.grad(f, 1), 0),
        lambda f: jax.jacrev(jax.grad(f, 0), 1),
        lambda f: jax.jacfwd(still(f)),
        lambda f: jax.jacrev(still(f), 1),
    ]
    args = DATA[:6], X[:2]
    every = lambda f: lambda *args: [transform(f)(*args) for transform in mixed]
    found = (jax.jit(every(ours)) if jit else every(ours))(*args)
    for derivative, wanted in zip(found, jax.jit(every(plain))(*args), strict=True):
        np.testing.assert_allclose(derivative, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("p", [1, 2, 3.5, np.inf])
@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives_in_a_periodic_box(p, backend, x64):
    data, x = np.array([[0.1, 0.5], [0.9, 0.2]]), np.array([[0.95, 0.45]])

    def lengths(data, x):
        return KDTree(data, boxsize=1.0).query(x, 3, p=p, backend=backend)[0][0, :2]

    def plain(data, x):
        away = x - data
        away = away - jnp.round(away)
        if p == np.inf:
            return jnp.sort(jnp.abs(away).max(-1))
        return jnp.sort((jnp.abs(away) ** p).sum(-1) ** (1 / p))

    def both(f):
        modes = jax.jacrev, jax.jacfwd
        return jax.jit(lambda *args: [mode(f, (0, 1))(*args) for mode in modes])

    args = jnp.asarray(data), jnp.asarray(x)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5),
        *(both(f)(*args) for f in (lengths, plain)),
    )


def test_derivatives_of_coincident_and_missing_neighbors_are_zero():
    x = jnp.array([1.0, 2.0])
    for p in (1, 2, 3.5, np.inf):
        find = lambda data, p=p: KDTree(data).query(x, 2, p=p)[0]
        both = lambda data, f=find: (jax.jacrev(f)(data), jax.jacfwd(f)(data))
        for found in (both if p == 2 else jax.jit(both))(x[None]):
            assert not np.any(found)


def test_a_gradient_is_a_tree():
    gradient = jax.grad(lambda tree: tree.query(X)[0].sum())(KDTree(DATA))
    assert isinstance(gradient, KDTree)
    plain = jax.grad(lambda d: jnp.linalg.norm(X[:, None] - d, axis=-1).min(-1).sum())
    np.testing.assert_allclose(gradient.data, plain(DATA), rtol=1e-5)


# ----------------------------------------------------------- equality, autojit, copies


def test_equality_is_that_of_the_content():
    tree = KDTree(DATA)
    assert tree == KDTree(jnp.asarray(DATA)) == jax.jit(KDTree)(DATA)
    assert hash(tree) == hash(jax.jit(KDTree)(DATA))
    others = [
        KDTree(DATA[::-1]),
        KDTree(DATA, leafsize=5),
        KDTree(DATA.astype(np.float64)),
        jax.vmap(KDTree)(BATCH),
    ]
    assert all(tree != other for other in others)
    assert tree != DATA.tolist()


@pytest.mark.parametrize(
    "duplicate",
    [
        lambda tree: pickle.loads(pickle.dumps(tree)),
        lambda tree: cloudpickle.loads(cloudpickle.dumps(tree)),
        copy.deepcopy,
    ],
)
def test_copies(duplicate):
    tree = KDTree(abs(DATA), leafsize=3, boxsize=[9.0, 0, 0])
    assert duplicate(tree) == tree
    trees = duplicate(jax.vmap(KDTree)(BATCH))
    check([part[1] for part in jax.vmap(lambda t: t.query(X, 2))(trees)], BATCH[1])


def test_autojit_traces_data_and_knows_settings():
    @jfi.autojit
    def find(tree, x):
        return tree.query(x, 2)

    trees = [KDTree(DATA * k) for k in (1, 2, 3)]
    for tree in trees:
        check(find(tree, X), tree.data)
    assert len(str(find.explain()).splitlines()) == 2  # its head, and one program
    box = KDTree(abs(DATA), boxsize=10.0)
    jax.tree.map(np.testing.assert_array_equal, find(box, abs(X)), box.query(abs(X), 2))


RANKS = np.array([1, 3])


def test_settings_in_global_variables_are_known_under_autojit():
    def run(points, size):
        tree = KDTree(points, boxsize=size)
        near = tree.query(points, RANKS, eps=size / 100, p=size / 4)
        return *near, tree.query_ball_point(points, 0.1, p=size / 4, max_results=9)

    points, compiled = jnp.asarray(abs(DATA)) % 8.0, jfi.autojit(run)
    for size in (8.0, 9.0):
        expected = jax.tree.leaves(run(points, size))
        jax.tree.map(
            np.testing.assert_allclose,
            jax.tree.leaves(compiled(points, size)),
            expected,
        )


def test_autojit_keeps_trees_of_objects():
    class Map:
        def __init__(self):
            self.tree = KDTree(DATA)

        @jfi.autojit
        def move(self, step):
            self.tree = KDTree(self.tree.data + step)
            return self.tree.query(X, 2)

    places = Map()
    for k in (1, 2, 3):
        check(places.move(np.float32(1)), DATA + np.float32(k))
    assert places.tree.n == 40


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_tree_of_values_that_are_no_numbers_is_refused_under_jit_too(value):
    search = jfi.jit(lambda points: jfi.KDTree(points).query(jnp.zeros(2)))
    search(jnp.ones((3, 2)))
    with pytest.raises(ValueError, match="data must be finite"):
        search(jnp.ones((3, 2)).at[0, 1].set(value))


class Limited(KDTree):
    """As in scripts: a tree with a setting, and an array, of its own."""

    def __init__(self, data, n_return, weights=None):
        super().__init__(data)
        self.n_return, self.weights = n_return, weights

    def nearest(self, x):
        distances, indices = self.query(x, k=self.n_return)
        weight = 1.0 if self.weights is None else self.weights[indices]
        return (distances * weight).sum()


def test_subclasses_keep_what_they_add():
    points, x = np.arange(10.0).reshape(5, 2), jnp.zeros(2)
    one, two = Limited(points, 1), Limited(points, 2)
    assert (one == two, one == Limited(points, 1)) == (False, True)
    assert one != KDTree(points)
    expected = [float(tree.nearest(x)) for tree in (one, two)]
    runs = (
        jax.jit(lambda tree: tree.nearest(x)),
        jax.jit(lambda tree: tree.nearest(x), static_argnums=0),
        jfi.autojit(lambda tree: tree.nearest(x)),
    )
    for run in runs:
        assert [float(run(tree)) for tree in (one, two)] == pytest.approx(expected)
    for again in (pickle.loads(pickle.dumps(two)), copy.copy(two), copy.deepcopy(two)):
        assert (type(again), again.n_return, again == two) == (Limited, 2, True)
    weighted = Limited(points, 2, jnp.ones(5))
    slope = jax.grad(lambda tree: tree.nearest(x))(weighted)
    assert (type(slope), slope.n_return) == (Limited, 2)
    assert float(slope.weights.sum()) == pytest.approx(expected[1], rel=1e-5)
    assert weighted != Limited(points, 2, jnp.zeros(5))


# ------------------------------------------- trees of nodes that a program computes


def grow(nodes, samples, loop=jax.lax.scan):
    """An RRT: each step adds a node, and asks for the nearest one."""

    def step(nodes, numbered):
        number, sample = numbered
        distance, near = KDTree(nodes).query(sample)
        return nodes.at[number].set((nodes[near] + sample) / 2), (distance, near)

    return loop(step, nodes, (jnp.arange(len(samples)), samples))


def by_hand(step, carry, rows):
    results = []
    for row in zip(*rows, strict=True):
        carry, result = step(carry, row)
        results.append(result)
    return carry, tuple(np.stack(part) for part in zip(*results, strict=True))


def test_a_tree_of_computed_nodes_is_not_built_on_the_host(monkeypatch):
    nodes = jnp.asarray(RNG.normal(size=(500, 2)), np.float32)
    samples = jnp.asarray(RNG.normal(size=(6, 2)), np.float32)
    expected = grow(nodes, samples, by_hand)
    built = []
    monkeypatch.setattr(_host_trees, "HostTree", built.append)
    found = jax.jit(grow)(nodes, samples)
    jax.tree.map(np.testing.assert_array_equal, found, expected)
    assert not built
    with pytest.raises(JIT_ERRORS, match="must be finite"):
        jax.block_until_ready(jax.jit(grow)(nodes, samples.at[3].set(np.nan)))


@pytest.mark.parametrize("m", [2, 7])
@pytest.mark.parametrize("p", [1, 2, np.inf])
@pytest.mark.parametrize("k", [1, [1, 3], 5])
def test_of_points_at_one_distance_the_first_is_found_by_all_ways(k, p, m):
    """Multiples of 0.1: distances are equal, or differ in the last bit."""
    rng = np.random.default_rng(m)
    data, x = (rng.integers(0, 3, (n, m)).astype(np.float32) * 0.1 for n in (300, 5))
    powers = np.zeros((len(x), len(data)))
    for j in range(m):
        away = np.abs(x[:, j, None].astype(np.float64) - data[:, j])
        away = away**2 if p == 2 else away
        powers = np.maximum(powers, away) if p == np.inf else powers + away
    ranks = np.arange(k) if isinstance(k, int) else np.array(k) - 1
    first = np.argsort(powers, -1, kind="stable")[:, ranks]
    first = first[:, 0] if k == 1 else first
    find = lambda data, x: KDTree(data).query(x, k, p=p)[1]
    np.testing.assert_array_equal(find(data, x), first)
    np.testing.assert_array_equal(jax.jit(find)(data, x), first)
    rows = jax.jit(jax.vmap(find, in_axes=(None, 0)))(data, x)
    np.testing.assert_array_equal(rows, first)
    for backend in BACKENDS:
        one = KDTree(data).query(x, k, p=p, backend=backend)[1]
        np.testing.assert_array_equal(one, first)
