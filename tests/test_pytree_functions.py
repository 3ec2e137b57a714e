"""Functions that objects of a `pytree` class make for themselves."""

import functools

import jax
import numpy as np
import pytest

import jfi as jnp


X = np.ones(2, "float32")


@jnp.pytree
class Layer:
    def __init__(self, act):
        self.w, self.act = jnp.asarray(X), act


def twice():
    return lambda x: 2 * x


def times(k):
    return lambda x: k * x


def by_default(k):
    return lambda x, k=k: k * x


def with_list():
    return lambda x, found=[]: x


def are_alike(one, other):
    of_one, of_other = (jax.tree.structure(Layer(act)) for act in (one, other))
    return of_one == of_other


@pytest.mark.parametrize(
    "make",
    [
        twice,
        functools.partial(by_default, 2),
        lambda: [twice(), twice()],
        lambda: functools.partial(twice(), k=2),
    ],
)
def test_functions_of_equal_code_are_alike(make):
    assert are_alike(make(), make())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (twice(), lambda x: 2 * x),
        (times(2), times(2)),  # what is captured may be written to later
        (by_default(2), by_default(2.0)),
        (by_default(0.0), by_default(-0.0)),
        (with_list(), with_list()),
        (functools.partial(twice(), 1), functools.partial(twice(), True)),
        (functools.partial(twice(), k=1), functools.partial(twice(), j=1)),
        (functools.partial(twice(), [1]), functools.partial(twice(), [1])),
    ],
)
def test_other_functions_are_not(one, other):
    assert are_alike(one, one)
    assert not are_alike(one, other)


@jnp.pytree
class Doubling:
    def __init__(self):
        self.w, self.act = jnp.asarray(X), lambda x: 2 * x


def test_objects_that_make_a_lambda_each_go_through_all_tools():
    traced = []

    @jnp.jit
    def applied(layer):
        traced.append(layer)
        return layer.act(layer.w)

    for _ in range(3):
        np.testing.assert_array_equal(applied(Doubling()), 2 * X)
    assert len(traced) == 1
    total = jax.tree.map(jnp.add, Doubling(), Doubling())
    np.testing.assert_array_equal(total.act(total.w), 4 * X)
    last, _ = jnp.scan(lambda c, _: (Doubling(), None), Doubling(), None, 2)
    np.testing.assert_array_equal(last.w, X)
