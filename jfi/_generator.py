"""The global random generator: a seed, a counter, and a key for each draw.

Draw number c uses the key `fold_in(key(seed), c)`. Seed and counter live on the host,
so that a draw is one dispatch and nothing is left behind when it fails.
"""

import os
import threading
import weakref
from collections.abc import Generator as ContextGenerator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from ._compat import at_top_level
from ._errors import RandomError


Seed: TypeAlias = int | jax.Array
Words: TypeAlias = np.ndarray[Any, np.dtype[np.uint32]]

_SEEDS = range(-(2**63), 2**64)
_EPOCH = np.uint32(0xFFFFFFFE)  # separates the keys of later epochs from those of draws


class Ticket(NamedTuple):
    """What identifies one draw, ready for a compiled sampler.

    Attributes:
        words: uint32 array: the data of the generator's key, then the draw's number.
        impl: The name of the random number algorithm of JAX.
    """

    words: Words
    impl: Any

    def key(self) -> jax.Array:
        """The typed key of this draw."""
        base = jax.random.wrap_key_data(jnp.asarray(self.words[:-1]), impl=self.impl)
        return jax.random.fold_in(base, self.words[-1])


class Generator:
    """A stream of random draws; threads may share it."""

    def __init__(self, seed: Seed | None = None) -> None:
        # Without a seed: fresh numbers in each process, as NumPy and PyTorch have it.
        self._seed = int.from_bytes(os.urandom(8), "little") if seed is None else seed
        self._lock = threading.Lock()
        self._root: Ticket | None = None  # made at the first draw: it starts JAX
        self._epoch: Ticket | None = None
        self._count = 0
        self._forks = 0
        _generators.add(self)

    def reseed(self, seed: Seed) -> None:
        """Start the stream anew."""
        fresh = Generator(seed)
        with self._lock:
            self._seed, self._root = fresh._seed, None
            self._count = self._forks = 0

    def take(self) -> Ticket:
        """Hand out the next draw; no two callers get the same."""
        with self._lock:
            count, self._count = self._count, self._count + 1
            low = count % 2**32
            if self._root is None or self._epoch is None or low == 0:
                self._root = self._root or _root_of(self._seed, self._forks)
                self._epoch = _epoch_of(self._root, count // 2**32)
            words = self._epoch.words.copy()
            words[-1] = low
            return Ticket(words, self._epoch.impl)

    def give_back(self, ticket: Ticket) -> None:
        """Undo the last `take`, for a refused draw, unless others drew since."""
        with self._lock:
            if (self._count - 1) % 2**32 == ticket.words[-1]:
                self._count -= 1

    def leave_parent(self) -> None:
        """After a fork: draw other numbers than the parent process."""
        self._lock = threading.Lock()  # another thread of the parent may have held it
        self._forks = os.getpid()
        self._root = None


def _root_of(seed: Seed, forks: int) -> Ticket:
    """The key of a seed, the same with 64-bit types on and off."""
    is_key = isinstance(seed, jax.Array)
    key = seed if is_key else jax.random.key(seed % 2**32)
    words = np.asarray(jax.random.key_data(key), np.uint32)
    # JAX reads only 32 bits of a seed where 64-bit types are off. Whatever has more is
    # hashed, the sign too, so that no two seeds give the same stream.
    high = 0 if is_key else seed >> 32
    if high or forks:
        entropy = [*words.tolist(), high % 2**64, forks]
        hashed = np.random.SeedSequence(entropy).generate_state(words.size)
        words = hashed.astype(np.uint32)
    return _ticket(words, jax.random.key_impl(key))


def _ticket(words: Words, impl: Any) -> Ticket:
    return Ticket(np.append(words, np.uint32(0)), impl)


def _epoch_of(root: Ticket, epoch: int) -> Ticket:
    """The key for the draws from epoch * 2**32 on: a key counts with 32 bits."""
    if epoch == 0:
        return root
    words = root.words.copy()
    words[-1] = _EPOCH
    key = jax.random.fold_in(Ticket(words, root.impl).key(), np.uint32(epoch % 2**32))
    return _ticket(np.asarray(jax.random.key_data(key), np.uint32), root.impl)


# Those of outer `with seed(...)` blocks too, which a forked child may come back to.
_generators: weakref.WeakSet[Generator] = weakref.WeakSet()
_default = Generator()
# The open `with seed(...)` blocks of this thread or asyncio task, the innermost last.
_blocks: ContextVar[tuple[Generator, ...]] = ContextVar("jfi_seeds", default=())


def current() -> Generator:
    """The generator of this thread: that of the innermost `with seed(...)`."""
    return (_default, *_blocks.get())[-1]


def manual_seed(seed: Seed) -> None:
    """Start the global stream of random numbers anew, from a seed.

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
        RandomError: Called inside of a JAX transformation, or not a seed.
    """
    current().reseed(_checked(seed, "manual_seed"))


@contextmanager
def seed(seed: Seed) -> ContextGenerator[None]:
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
        RandomError: Called inside of a JAX transformation, or not a seed.
    """
    own = Generator(_checked(seed, "seed"))
    _blocks.set((*_blocks.get(), own))
    try:
        yield
    finally:
        # Not always the innermost: those in Python's generators close in any order.
        _blocks.set(tuple(block for block in _blocks.get() if block is not own))


def _checked(seed: Any, caller: str) -> Seed:
    if not at_top_level():
        raise RandomError(
            f"{caller}() was called inside of a JAX transformation, where it would run "
            "once, while tracing, and not at each call. Call it outside."
        )
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


def _after_fork() -> None:
    for generator in _generators:
        generator.leave_parent()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_after_fork)
