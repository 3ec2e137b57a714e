"""The programs that `autojit` keeps: exceptions, bounds, threads, random calls."""

import sys
import threading

import hypothesis.strategies as st
import jax.numpy as jnp
import numpy as np
import pytest
from autojitting import Box, Colour, Pair, describe, same
from hypothesis import given, settings

from jfi import autojit
from jfi._autojit import _layouts, _programs


pytestmark = pytest.mark.usefixtures("way")


# --------------------------------------------------------------- errors and caches


def test_exceptions_pass_unchanged_and_poison_nothing():
    class OwnError(Exception):
        pass

    fail = True

    @autojit
    def f(x, dt):
        if fail:
            raise OwnError("text")
        return x * dt

    with pytest.raises(OwnError, match="text") as info:
        f(1.0, 2.0)
    assert str(info.value) == "text"
    assert type(info.value) is OwnError
    fail = False
    assert f(1.0, 2.0) == 2

    g = autojit(lambda d, t: d["missing"] * t)
    for _ in range(2):
        with pytest.raises(KeyError, match="missing") as info:
            g({}, 1.0)
        assert info.value.__context__ is None


def test_an_error_of_the_second_try_stands_alone():
    @autojit
    def f(x):
        if x < 0:
            raise ValueError(f"negative: {x}")
        return x

    assert f(1.0) == 1
    for _ in range(2):
        with pytest.raises(ValueError, match=r"negative: -1\.0") as info:
            f(-1.0)
        assert info.value.__context__ is None


def test_cache_is_counted_and_cleared():
    f = autojit(lambda x, n: x * n)
    for n in (1, 2, 1):
        f(jnp.ones(2), n)
    f(jnp.ones(3), 1)
    assert f.cache_info() == (3, 2)
    f.clear_cache()
    assert f.cache_info() == (0, 0)
    assert same(f(jnp.ones(2), 2), jnp.full(2, 2.0))


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(_programs, "MAX_PROGRAMS", 3)
    f = autojit(lambda x, n: x * n)
    for _ in range(2):
        assert [f(2.0, n) for n in range(6)] == [0, 2, 4, 6, 8, 10]
        assert f.cache_info().signatures == 3

    monkeypatch.setattr(_layouts, "MAX_LAYOUTS", 0)  # they don't tell what was used
    f = autojit(lambda x, n: x * n)
    for n in (1, 2, 3, 1, 4):
        assert f(2.0, n) == 2 * n
    assert f.cache_info() == (4, 3)
    f(2.0, 1)  # used lately: kept
    assert f.cache_info() == (4, 3)
    f(2.0, 2)  # the oldest: gone
    assert f.cache_info() == (5, 3)


def test_threads():
    f = autojit(lambda x, n: [x * n, n])
    start = threading.Barrier(4)
    right = []

    def work():
        start.wait()
        right.extend(same(f(2.0, n % 5), [2.0 * (n % 5), n % 5]) for n in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 80


def test_two_functions_calling_each_other_in_threads_do_not_wait_for_ever():
    def make():
        inner = autojit(lambda x: x + 1)
        return autojit(lambda x: inner(x) * 2), inner

    f, g = make()
    threads = [threading.Thread(target=fn, args=(1.0,), daemon=True) for fn in (f, g)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


# ---------------------------------------------------------------------- at random


numbers = st.floats(-5, 5, width=32) | st.builds(np.float32, st.floats(-5, 5, width=32))


arrays = st.builds(
    lambda n, k, lib: lib.arange(n) * k + 1.0,
    st.integers(0, 3),
    st.integers(-2, 2),
    st.sampled_from([np, jnp]),
)


plain = st.integers(-2, 2) | st.booleans() | st.text(max_size=2) | st.none()


leaves = numbers | arrays | plain | st.sampled_from([Colour.RED, ...])


values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(plain, inner, max_size=3)
        | st.builds(Pair, inner, inner)
        | st.builds(Box, inner)
        | inner.map(lambda v: [v, v])
    ),
    max_leaves=6,
)


# Of any form, as often as hypothesis likes.
described = autojit(lambda *args: describe(args), warn_after=10**6)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(values, max_size=2), min_size=1, max_size=4))
def test_any_arguments_in_any_order(calls):
    for args in calls:
        assert same(described(*args), describe(tuple(args)))


@settings(max_examples=40, deadline=None)
@given(values)
def test_any_argument_comes_back(value):
    expected = describe(value)
    out = autojit(lambda v: [v])(value)[0]
    assert same(describe(out), expected)


def test_what_is_written_into_an_argument_after_the_call_does_not_count():
    multiply = autojit(lambda x: (x @ x @ x).sum())
    zeros = np.zeros((600, 600), np.float32)
    multiply(zeros)
    for _ in range(20):
        x = zeros + 1
        result = multiply(x)
        x[:] = 0  # while the program may still run
        np.testing.assert_allclose(result, 600.0**4, rtol=1e-5)


def python_calls(function):
    """How many Python functions a call runs."""
    counted = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, arg: event == "call" and counted.append(frame))
    try:
        function()
    finally:
        sys.setprofile(before)
    return len(counted)


def test_each_dtype_and_shape_is_called_without_jax_code_in_python():
    step = autojit(lambda tree: {key: 2 * x for key, x in tree.items()})
    some = lambda *shape: {str(k): jnp.ones(*shape) for k in range(20)}
    trees = [some(3), some(4), some(3, "bfloat16"), some((2, 2))]
    for tree in trees * 2:  # a new kind may make JAX find the quick ways of all again
        for _ in range(4):
            step(tree)
    counts = [  # at the best of three: the collector may run in one of them
        min(python_calls(lambda tree=tree: step(tree)) for _ in range(3))
        for tree in trees
    ]
    assert max(counts) <= min(counts) + 2
    assert step.cache_info().traces == len(trees)
