"""What the tests of random draws share."""

import jax
import numpy as np
import pytest

import jfi


@pytest.fixture
def plain_jit_is_ok():
    """Programs that plain JAX compiled may draw, without a warning."""
    jfi.set_plain_jit_policy("ok")
    yield
    jfi.set_plain_jit_policy("warn")


def numbers(*trees):
    """All numbers in some trees, in order."""
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(trees)])


def assert_all_different(*trees):
    """No number comes twice."""
    values = numbers(*trees)
    assert np.isfinite(values).all()
    assert len(np.unique(values)) == values.size


def assert_same(a, b):
    """Bit for bit, in the same order."""
    np.testing.assert_array_equal(numbers(a), numbers(b))


def eager_stream(n):
    """The first numbers of the stream of seed 0, which stands after them then."""
    jfi.manual_seed(0)
    return np.array([jfi.randn() for _ in range(n)])


def count():
    """How many draws were made since the seed."""
    return jfi.get_rng_state()["count"]
