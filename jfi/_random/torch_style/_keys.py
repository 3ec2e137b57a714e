"""Random keys from the generator."""

import jax

from ..._arrays._devices import DeviceLike
from .. import _samplers as _distributions
from .._drawing import count_from, draw


def make_random_key(
    *, key: jax.Array | None = None, device: DeviceLike | None = None
) -> jax.Array:
    """Draw a fresh random key for the functions of `jax.random`.

    >>> import jfi as jnp
    >>> x = jnp.random.normal(jnp.make_random_key(), (3,))

    Args:
        key: A random key to use in place of the global generator.
        device: Where to create the key; see `resolve_device`.

    Returns:
        A typed key, shape `()`.

    Raises:
        RandomError: No fresh key can be given here, or `key` is no key.
    """
    return draw("make_random_key", _distributions.one_key, (), (), key, device)


def make_random_keys(
    n: int, *, key: jax.Array | None = None, device: DeviceLike | None = None
) -> jax.Array:
    """Draw fresh random keys, one for each row of a batch.

    >>> import jfi as jnp
    >>> jnp.make_random_keys(3).shape
    (3,)

    Args:
        n: How many.
        key: A random key to use in place of the global generator.
        device: Where to create the keys; see `resolve_device`.

    Returns:
        An `(n,)` array of typed keys.

    Raises:
        RandomError: No fresh key can be given here, or `key` is no key.
    """
    static = (count_from("make_random_keys", n),)
    return draw("make_random_keys", jax.random.split, static, (), key, device)


def next_key(
    n: int | None = None,
    *,
    key: jax.Array | None = None,
    device: DeviceLike | None = None,
) -> jax.Array:
    """Draw a fresh random key, or n of them.

    The same as `make_random_key` and `make_random_keys`.

    >>> import jfi as jnp
    >>> jnp.next_key().shape, jnp.next_key(3).shape
    ((), (3,))

    Args:
        n: How many; one, without a dimension for it, if not given.
        key: A random key to use in place of the global generator.
        device: Where to create the keys; see `resolve_device`.

    Returns:
        A typed key, or an `(n,)` array of them.

    Raises:
        RandomError: No fresh key can be given here, or `key` is no key.
    """
    if n is None:
        return make_random_key(key=key, device=device)
    return make_random_keys(n, key=key, device=device)
