"""Random keys for tests of who draws which number, not of the numbers themselves.

A program with a draw is compiled in half the time of one with JAX's own keys.
"""

import jax
import numpy as np
from jax import lax
from jax.extend.random import define_prng_impl  # noqa: TID251 - the tests alone


def _mixed(x):
    """Other 32 bits for each 32 bits."""
    x = (x ^ (x >> 16)) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * np.uint32(0x846CA68B)
    return x ^ (x >> 16)


def _seed(seed):
    return _mixed(seed.astype("uint32") + np.arange(1, 3, dtype="uint32"))


def _fold_in(key, data):
    return _mixed(key * np.uint32(0x9E3779B1) + data.astype("uint32"))


def _counted(shape):
    return lax.iota("uint32", np.prod(shape, dtype=int)).reshape(shape)


def _split(key, shape):
    return _mixed(key + _mixed(_counted((*shape, 1)) + np.uint32(77)))


def _random_bits(key, width, shape):
    bits = _mixed(_mixed(_counted(shape) ^ key[1]) ^ key[0])
    if width == 64:
        return bits.astype("uint64") << 32 | _mixed(bits ^ key[1]).astype("uint64")
    return bits.astype(f"uint{width}")


_CHEAP = define_prng_impl(
    key_shape=(2,), seed=_seed, split=_split, random_bits=_random_bits,
    fold_in=_fold_in, name="cheap", tag="cheap",
)  # fmt: skip
SEED = jax.random.key(0, impl=_CHEAP)
