"""Where the stream of random draws begins, and how it is saved and restored."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TypedDict

import jax
import jax.numpy as jnp
import numpy as np

from .._errors import RandomError
from .._jax_internals import at_top_level
from ._streams import (
    Root,
    Seed,
    Stream,
    current,
    impl_of,
    is_default,
    restart_default,
    using,
)


_SEEDS = range(-(2**63), 2**64)


class RngState(TypedDict):
    """A point in a stream of random draws, in plain data: JSON and pickle take it."""

    version: int
    impl: str
    key: list[int]
    count: int


def manual_seed(seed: int | jax.Array) -> None:
    """Start the stream of random numbers anew, from a seed.

    >>> import jfi as jnp
    >>> jnp.manual_seed(0)
    >>> first = jnp.randn(3)
    >>> jnp.manual_seed(0)
    >>> bool((jnp.randn(3) == first).all())
    True

    Args:
        seed: An int from -2**63 to 2**64 - 1, or a random key of JAX. Within a
            `with seed(...)` block it restarts the stream of that block.

    Raises:
        RandomError: Called inside a JAX transformation, or not a seed.
    """
    restart(current(), checked_seed(seed, "manual_seed"), 0, "manual_seed")


@contextmanager
def seed(seed: int | jax.Array) -> Generator[None]:
    """Draw from a stream of its own within a `with` block, in this thread alone.

    An asyncio task counts as a thread.
    The stream from before goes on afterwards, also after an exception.

    >>> import jfi as jnp
    >>> with jnp.seed(7):
    ...     a = jnp.rand(2)
    >>> with jnp.seed(7):
    ...     b = jnp.rand(2)
    >>> bool((a == b).all())
    True

    Args:
        seed: As in `manual_seed`.

    Yields:
        Nothing.

    Raises:
        RandomError: Called inside a JAX transformation, or not a seed.
    """
    with using(Stream(checked_seed(seed, "seed"))):
        yield


@contextmanager
def fork_rng() -> Generator[None]:
    """Draw within a `with` block, in this thread, as if it had not happened afterwards.

    >>> import jfi as jnp
    >>> with jnp.fork_rng():
    ...     a = jnp.rand(2)
    >>> bool((jnp.rand(2) == a).all())
    True

    Yields:
        Nothing.

    Raises:
        RandomError: Called inside a JAX transformation.
    """
    refuse_inside("fork_rng")
    with using(current().copy()):
        yield


def get_rng_state() -> RngState:
    """Tell where the stream of random numbers stands.

    >>> import jfi as jnp
    >>> state = jnp.get_rng_state()
    >>> a = jnp.rand(2)
    >>> jnp.set_rng_state(state)
    >>> bool((jnp.rand(2) == a).all())
    True

    Returns:
        A dict of ints, lists and strings, which JSON and pickle take.

    Raises:
        RandomError: Called inside a JAX transformation.
    """
    return state_of(current(), "get_rng_state")


def set_rng_state(state: RngState) -> None:
    """Continue a stream of random numbers, also one of another process.

    >>> import jfi as jnp
    >>> state = jnp.get_rng_state()
    >>> a, b = jnp.rand(2), jnp.rand(2)
    >>> jnp.set_rng_state(state)
    >>> bool((jnp.rand(2) == a).all())
    True

    Args:
        state: What `get_rng_state` returned.

    Raises:
        RandomError: Called inside a JAX transformation, or not such a state.
    """
    set_state(current(), state, "set_rng_state")


def state_of(stream: Stream, caller: str) -> RngState:
    """Where a stream stands."""
    refuse_inside(caller)
    root, count = stream.position()
    return RngState(
        version=1, impl=_name(root.impl), key=root.words.tolist(), count=count
    )


def set_state(stream: Stream, state: RngState, caller: str) -> None:
    """Put a stream where another stood."""
    restart(stream, *position_in(state, caller), caller)


def position_in(state: RngState, caller: str) -> tuple[Root, int]:
    """The key that a stream in a state begins with, and how many draws were made."""
    refuse_inside(caller)
    try:
        impl, words, count = state["impl"], state["key"], state["count"]
        # Proves the name of the algorithm and the size of its keys, too.
        key = jax.random.wrap_key_data(jnp.asarray(words, np.uint32), impl=impl)
        valid = state["version"] == 1 and key.ndim == 0 and int(count) == count >= 0
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _no_state(state, caller) from error
    if not valid:
        raise _no_state(state, caller)
    return Root(np.asarray(words, np.uint32), jax.random.key_impl(key)), int(count)


def restart(stream: Stream, seed: Seed, count: int, caller: str) -> None:
    """Begin a stream anew; only the default one may change its algorithm."""
    if is_default(stream):
        restart_default(seed, count)
        return
    if impl_of(seed) != stream.impl:
        raise RandomError(
            f"{caller}() got a key of {impl_of(seed)} for a stream of {stream.impl}. "
            "Begin another one: `with jnp.seed(key):` or jnp.Generator(key)."
        )
    stream.restart(seed, count)


def checked_seed(seed: Any, caller: str) -> int | jax.Array:
    """An int or a typed key, or a refusal."""
    refuse_inside(caller)
    key = one_key(seed)
    if key is not None:
        return key
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
        number = int(seed)
        if number in _SEEDS:
            return number
    raise RandomError(
        f"{caller}() got {seed!r}. Write an int from -2**63 to 2**64 - 1, "
        "or one random key: jnp.key(0)."
    )


def refuse_inside(caller: str) -> None:
    """Refuse to do at each trace what is meant for each call."""
    if not at_top_level():
        raise RandomError(
            f"{caller}() was called inside a JAX transformation. There it runs once, "
            "while JAX traces, and not at each call. Call it outside."
        )


def one_key(value: Any) -> jax.Array | None:
    """One random key as a typed key; None for anything else."""
    if not isinstance(value, jax.Array):
        return None
    if value.dtype == np.uint32 and value.ndim == 1:
        try:
            value = jax.random.wrap_key_data(value)  # a legacy key
        except TypeError:  # not of the length of a key
            return None
    typed = jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
    return value if typed and value.ndim == 0 else None


def _name(impl: Any) -> str:
    if isinstance(impl, str):
        return impl
    raise RandomError(
        f"The stream uses keys of {impl}, and another process does not know their "
        "name. Begin it with a key of one of JAX's own algorithms: jnp.manual_seed(0)."
    )


def _no_state(state: Any, caller: str) -> RandomError:
    return RandomError(
        f"{caller}() got {state!r}, which is no state of a stream. "
        "Pass what jnp.get_rng_state() returned."
    )
