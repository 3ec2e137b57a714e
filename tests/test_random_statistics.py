"""Streams are independent and uniform."""

import functools

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


@functools.cache
def chances(n):
    """That n uniform numbers are so far from uniform, for some distances.

    SciPy takes a millisecond for each, and there are thousands of rows.
    """
    distances = np.linspace(0, 1, 500)
    return distances, stats.kstwo.sf(distances, n)


def uniform(rows):
    """The p-values of `stats.kstest(row, "uniform")`, to three digits."""
    n = rows.shape[1]
    steps = np.arange(n + 1) / n
    x = np.sort(rows)
    distances = np.maximum(x - steps[:-1], steps[1:] - x).max(1)
    return np.interp(distances, *chances(n))


@pytest.mark.parametrize("name", STREAMS)
def test_numbers_are_uniform(drawn, name):
    assert stats.kstest(drawn[name].ravel(), "uniform").pvalue > SANE
    row = drawn[name][:1]
    assert abs(uniform(row) - stats.kstest(row[0], "uniform").pvalue) < 1e-3
    for rows in (drawn[name], drawn[name].T):  # nor too good to be true
        assert stats.kstest(uniform(rows), "uniform").pvalue > SANE


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
