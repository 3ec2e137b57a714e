"""What the tests of random draws share."""

import jax
import numpy as np
import pytest
from cheap_keys import SEED

import jfi
from jfi._random._streams import current


@pytest.fixture
def cheap_keys():
    """The test begins with a stream of keys that are quickly compiled."""
    jfi.manual_seed(SEED)


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


def assert_same_draws(a, b):
    """The same draws in the same order; XLA rounds some otherwise in other programs."""
    np.testing.assert_array_max_ulp(numbers(a), numbers(b), 4)


def eager_stream(n, seed=0):
    """The first numbers of the stream of a seed, which stands after them then."""
    jfi.manual_seed(seed)
    return np.array([jfi.randn() for _ in range(n)])


def count():
    """How many draws were made since the seed."""
    return current().position()[1]  # `get_rng_state` has no name for cheap keys
