"""Streams are independent and uniform; draws made in advance are those made singly."""

import contextlib
import itertools
import random
import threading

import jax
import numpy as np
import pytest
from drawing import plain_jit_is_ok  # noqa: F401
from jax import lax
from scipy import stats

import jfi


pytestmark = pytest.mark.usefixtures("plain_jit_is_ok")
ROWS, SIZE = 200, 100
ONES = np.ones(ROWS, "float32")


def row(_=None):
    return jfi.rand(SIZE)


def scan():
    return lax.scan(lambda c, _: (c, row()), 0, length=ROWS)[1]


def rows_of_scans(vmap):
    steps = lambda _: lax.scan(lambda c, _: (c, row()), 0, length=10)[1]
    return vmap(steps)(ONES[:20])


def repeated(jit):
    compiled = jit(row)
    return [compiled() for _ in range(ROWS)]


# Each gives 200 rows of 100 numbers from 0 to 1.
STREAMS = {
    "eager": lambda: [row() for _ in range(ROWS)],
    "jax.vmap": lambda: jax.vmap(row)(ONES),
    "jfi.vmap": lambda: jfi.vmap(row)(ONES),
    "jax.vmap of jax.vmap": lambda: jax.vmap(jax.vmap(row))(ONES.reshape(20, 10)),
    "jfi.vmap of jfi.vmap": lambda: jfi.vmap(jfi.vmap(row))(ONES.reshape(20, 10)),
    "jax.jit again and again": lambda: repeated(jax.jit),
    "jfi.jit again and again": lambda: repeated(jfi.jit),
    "plain scan": scan,
    "jfi.jit of scan": lambda: jfi.jit(scan)(),
    "jax.vmap of scan": lambda: rows_of_scans(jax.vmap),
    "jfi.vmap of scan": lambda: rows_of_scans(jfi.vmap),
}
# The chance of a false alarm is small; with a fixed seed it never comes later.
SANE = 1e-3


@pytest.fixture(scope="module")
def drawn():
    """All of these, one after the other from one seed."""
    jfi.set_plain_jit_policy("ok")
    with jfi.seed(12):
        return {
            name: np.asarray(draw(), float).reshape(ROWS, SIZE)
            for name, draw in STREAMS.items()
        }


@pytest.mark.parametrize("name", STREAMS)
def test_numbers_are_uniform(drawn, name):
    assert stats.kstest(drawn[name].ravel(), "uniform").pvalue > SANE
    each = [stats.kstest(row, "uniform").pvalue for row in drawn[name]]
    assert stats.kstest(each, "uniform").pvalue > SANE  # nor too good to be true
    columns = [stats.kstest(column, "uniform").pvalue for column in drawn[name].T]
    assert stats.kstest(columns, "uniform").pvalue > SANE


@pytest.mark.parametrize("name", STREAMS)
def test_rows_are_independent(drawn, name):
    correlation = np.corrcoef(drawn[name])[np.triu_indices(ROWS, 1)]
    # Of independent rows: normal, with this deviation.
    z = correlation * np.sqrt(SIZE - 1)
    assert stats.kstest(z[::7], "norm").pvalue > SANE
    assert abs(z).max() < 6
    for lag in (1, 2, 3, SIZE):
        x = drawn[name].ravel()
        assert abs(stats.pearsonr(x[:-lag], x[lag:]).statistic) < 4.5 / np.sqrt(x.size)


def test_no_stream_comes_twice(drawn):
    # Two rows of one key are equal; rows of different keys never begin so.
    rows = np.concatenate(list(drawn.values()))
    pairs = {tuple(pair) for pair in rows[:, :2].tolist()}
    assert len(pairs) == len(rows)


def test_collisions_are_as_many_as_chance_has():
    jfi.manual_seed(3)
    draw = jfi.jit(jfi.vmap(lambda x: jfi.rand(50)))
    values = np.concatenate([np.ravel(draw(ONES)) for _ in range(8)])
    twice = values.size - len(np.unique(values))
    expected = values.size**2 / 2 / 2**23
    assert abs(twice - expected) < 5 * np.sqrt(expected)


normal_rows = jfi.jit(jfi.vmap(lambda x: jfi.randn(50)))


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_normal_numbers_are_normal(seed):
    jfi.manual_seed(seed)
    eager = np.ravel([jfi.randn(50) for _ in range(100)])
    batched = np.ravel(normal_rows(ONES))
    for values in (eager, batched):
        assert stats.kstest(values, "norm").pvalue > SANE


def test_rows_of_successive_calls_are_independent():
    f = jfi.jit(jfi.vmap(lambda x: jfi.rand(20)))
    one, two = np.ravel(f(ONES)), np.ravel(f(ONES))
    assert abs(stats.pearsonr(one, two).statistic) < 4.5 / np.sqrt(one.size)
    assert not np.isin(one[:100], two).all()


# ---------------------------------------------------------------- draws in advance

KINDS = {
    "randn": lambda: jfi.randn(3),
    "randn of nothing": lambda: jfi.randn(0),
    "a number": lambda: jfi.randn(),
    "randn 2x2": lambda: jfi.randn(2, 2),
    "randn float64": lambda: jfi.randn(3, dtype="float64"),
    "randn bfloat16": lambda: jfi.randn(2, dtype="bfloat16"),
    "randn complex": lambda: jfi.randn(2, dtype="complex64"),
    "randn 128": lambda: jfi.randn(128),
    "randn 129": lambda: jfi.randn(129),
    "rand": lambda: jfi.rand(3),
    "rand 1x5x1 float64": lambda: jfi.rand(1, 5, 1, dtype="float64"),
    "randint": lambda: jfi.randint(0, 100, (3,)),
    "randperm": lambda: jfi.randperm(7),
    "bernoulli": lambda: jfi.bernoulli(size=9),
    "uniform": lambda: jfi.uniform(2.0, 3.0, size=3),
    "normal": lambda: jfi.normal(size=4),
    "key": lambda: jax.random.key_data(jfi.make_random_key()),
    "keys": lambda: jax.random.key_data(jfi.make_random_keys(3)),
}


def singly(draw, number):
    """A draw of the stream of seed 0, after others of no kind at all."""
    state = {**at_zero(), "count": number}
    with jfi.seed(0):
        jfi.set_rng_state(state)
        return draw()


def at_zero():
    with jfi.seed(0):
        return jfi.get_rng_state()


def assert_equal(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype
    assert a.tobytes() == b.tobytes()


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize("kind", KINDS)
def test_draws_in_advance_are_single_draws(kind):
    draws = [KINDS[kind]() for _ in range(150)]
    per_draw, rest = divmod(jfi.get_rng_state()["count"], 150)
    assert rest == 0
    for i in (0, 1, 15, 16, 17, 40, 79, 80, 81, 100, 144, 149):
        assert_equal(draws[i], singly(KINDS[kind], i * per_draw))


@pytest.mark.parametrize("order", [2, 3, 5, "random"])
def test_interleaved_kinds(order):
    kinds = ["randn", "rand", "randperm", "bernoulli", "key"]
    if order == "random":
        names = random.Random(0).choices(kinds, [8, 2, 1, 1, 1], k=300)
    else:
        names = list(itertools.islice(itertools.cycle(kinds[:order]), 300))
    draws = [KINDS[name]() for name in names]
    assert jfi.get_rng_state()["count"] == 300
    for i in [*range(0, 300, 23), *range(60, 70)]:
        assert_equal(draws[i], singly(KINDS[names[i]], i))


def test_a_new_seed_or_state_in_between():
    first = [jfi.randn(3) for _ in range(60)]
    state = jfi.get_rng_state()
    ahead = [jfi.randn(3) for _ in range(60)]
    jfi.manual_seed(5)
    other = [jfi.randn(3) for _ in range(60)]
    jfi.set_rng_state(state)
    for a, b in zip(ahead, [jfi.randn(3) for _ in range(60)], strict=True):
        assert_equal(a, b)
    jfi.manual_seed(0)
    with jfi.fork_rng(), jfi.seed(5):
        for a in other:
            assert_equal(a, jfi.randn(3))
    for a in first:
        assert_equal(a, jfi.randn(3))


def test_other_draws_take_their_numbers_out():
    compiled, compiled_scan = jfi.jit(lambda: jfi.randn(3)), jfi.jit(scan_of_5)
    for _ in range(40):
        jfi.randn(3)
    for i in range(30):
        start = jfi.get_rng_state()["count"]
        draw = (KINDS["randn"], compiled, lambda: compiled_scan()[0])[i % 3]
        assert_equal(draw(), singly(KINDS["randn"], start))


def scan_of_5():
    return lax.scan(lambda c, _: (c, jfi.randn(3)), 0, length=5)[1]


def test_in_threads():
    start = threading.Barrier(4)
    seen = [[] for _ in range(4)]

    def work(i):
        start.wait()
        seen[i] = [jfi.randn(3) for _ in range(300)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {np.asarray(x).tobytes() for draws in seen for x in draws}
    assert len(found) == 1200
    jfi.manual_seed(0)
    assert found == {np.asarray(jfi.randn(3)).tobytes() for _ in range(1200)}


@contextlib.contextmanager
def default_dtype(dtype):
    before = jfi.get_default_dtype()
    jfi.set_default_dtype(dtype)
    try:
        yield
    finally:
        jfi.set_default_dtype(before)


CHANGES = {
    "32 bits": lambda: jax.enable_x64(False),
    "64 bits": lambda: jax.enable_x64(True),
    "dtype": lambda: default_dtype("float64"),
    "device": lambda: jax.default_device(jax.devices("cpu")[0]),
    "matmul": lambda: jax.default_matmul_precision("float32"),
    "disable_jit": lambda: jax.disable_jit(),
    "partitionable": lambda: jax.threefry_partitionable(False),
}


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        *(("randn", change) for change in CHANGES),
        *((kind, "32 bits") for kind in ("rand", "randperm", "randint", "keys")),
        ("rand", "dtype"),
        ("randperm", "partitionable"),
    ],
)
def test_settings_change_in_between(change, kind):
    draw = KINDS[kind]
    for _ in range(30):
        draw()
    start = jfi.get_rng_state()["count"]
    with CHANGES[change]():
        inside = draw()
        alone = singly(draw, start)
    assert np.asarray(inside).dtype == np.asarray(alone).dtype
    np.testing.assert_array_equal(inside, alone)
    start = jfi.get_rng_state()["count"]
    assert_equal(draw(), singly(draw, start))
