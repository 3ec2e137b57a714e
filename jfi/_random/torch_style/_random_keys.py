"""Random keys from the generator."""

from __future__ import annotations

import jax

from ..._arrays._devices import DeviceLike
from .. import _distributions
from .._drawing import Key, count_from, draw
from ._parameters import in_torch_style


@in_torch_style
def make_random_key(
    *, key: Key | None = None, device: DeviceLike | None = None
) -> jax.Array:
    """Draw a fresh random key for the functions of `jax.random`.

    >>> import jfi as jnp
    >>> jnp.manual_seed(0)
    >>> jnp.random.normal(jnp.make_random_key(), (3,))
    Array([ 1.0040, -0.9063, -0.7482], dtype=float32)

    Args:
        device: Where to create the key; see `resolve_device`.

    Returns:
        A typed key, shape `()`.

    Raises:
        RandomError: No fresh key can be given here, or `key` is no key.
    """
    return draw("make_random_key", _distributions.one_key, (), (), key, device)


@in_torch_style
def make_random_keys(
    n: int, *,
    key: Key | None = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw fresh random keys, one for each row of a batch.

    >>> import jfi as jnp
    >>> first, second = jnp.make_random_keys(2)
    >>> bool(jnp.random.normal(first) == jnp.random.normal(second))
    False

    Args:
        n: How many.
        device: Where to create the keys; see `resolve_device`.

    Returns:
        An `(n,)` array of typed keys.

    Raises:
        RandomError: No fresh key can be given here, or `key` is no key.
    """
    return _keys("make_random_keys", n, key, device)


@in_torch_style
def next_key(
    n: int | None = None, *,
    key: Key | None = None, device: DeviceLike | None = None,
) -> jax.Array:  # fmt: skip
    """Draw a fresh random key, or n of them.

    The same as `make_random_key` and `make_random_keys`.

    >>> import jfi as jnp
    >>> jnp.manual_seed(0)
    >>> bool(jnp.next_key() == jnp.random.fold_in(jnp.key(0), 0))
    True
    >>> len(jnp.next_key(3))
    3

    Args:
        n: How many; one, without a dimension for it, if not given.
        device: Where to create the keys; see `resolve_device`.

    Returns:
        A typed key, or an `(n,)` array of them.

    Raises:
        RandomError: No fresh key can be given here, or `key` is no key.
    """
    if n is None:
        return make_random_key(key=key, device=device)
    return _keys("next_key", n, key, device)


def _keys(caller: str, n: int, key: Key | None, device: DeviceLike | None) -> jax.Array:
    static = (count_from(caller, n),)
    return draw(caller, jax.random.split, static, (), key, device)
