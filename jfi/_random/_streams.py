"""Streams of random draws: a seed, a counter, and a key for each draw.

Draw number c uses the key `fold_in(key(seed), c)`. Seed and counter live on the host,
so that a draw is one dispatch and nothing is left behind when it fails.
"""

import functools
import os
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from .._jax_internals import jit_key_state, setting


Words: TypeAlias = np.ndarray[Any, np.dtype[np.uint32]]

# More draws than one run of a program makes. Runs set aside so many, and give back the
# rest, so that no other thread gets the same.
MANY = 2**31
_EPOCH = np.uint32(0xFFFFFFFE)  # separates the keys of later epochs from those of draws


class Root(NamedTuple):
    """The key that a stream begins with: its data, and the name of its algorithm."""

    words: Words
    impl: Any


Seed: TypeAlias = int | jax.Array | Root


def key_of_state(impl: Any, state: jax.Array) -> jax.Array:
    """The data of the key for the draw that a state stands at.

    A state holds the data of the key of this epoch, then of the next, then a counter.
    An epoch is 2**32 draws. A program may run into the next one: so the first half of
    an epoch is always made of the second key.
    """
    size = (state.size - 1) // 2
    now, after, count = state[:size], state[size:-1], state[-1]
    key = jnp.where(count < np.uint32(2**31), after, now)
    return folded_in(impl, key, count)


def folded_in(impl: Any, key: jax.Array, data: Any) -> jax.Array:
    """`jax.random.fold_in` for the data of a key."""
    typed = jax.random.wrap_key_data(key, impl=impl)
    return jax.random.key_data(jax.random.fold_in(typed, data))


class StreamOrigin:
    """Where a stream begins: a key, from which the key of each draw is made.

    Attributes:
        impl: The name of the algorithm of the keys.
    """

    def __init__(self, seed: Seed, forks: int = 0) -> None:
        self._seed, self._forks = seed, forks
        self.impl = impl_of(seed)
        # Which half of an epoch, and the state for it.
        self._cached: tuple[int, Words] = (-1, np.zeros(0, np.uint32))

    @functools.cached_property  # made at the first draw: it starts JAX
    def root(self) -> Root:
        """The key itself."""
        return _root_of(self._seed, self.impl, self._forks)

    def state(self, count: int) -> Words:
        """The state that stands at a draw: see `key_of_state`."""
        half, state = self._cached
        if half != count >> 31:
            half = count >> 31
            state = _state_of(self.root, half)
            self._cached = half, state
        state = state.copy()
        state[-1] = count & 0xFFFFFFFF
        return state

    def in_child_process(self) -> "StreamOrigin":
        """One with other numbers, for the child of a fork."""
        return StreamOrigin(self._seed, os.getpid())


class Stream:
    """A stream of random draws; threads may share it.

    Attributes:
        is_bound: True: traced code keeps drawing from this stream. False: from
            whichever stream is current when it runs.
        cells: Of a bound stream, once traced code draws from it.
    """

    is_bound = False
    cells: Any = None

    def __init__(self, seed: Seed | None = None, count: int = 0) -> None:
        self._lock = threading.Lock()
        # Without a seed: fresh numbers in each process, as NumPy and PyTorch have it.
        self._origin = StreamOrigin(_from_system() if seed is None else seed)
        self._count = count
        _streams.add(self)

    @property
    def impl(self) -> Any:
        """The name of the algorithm of its keys."""
        return self._origin.impl

    def restart(self, seed: Seed, count: int = 0) -> None:
        """Begin anew from a seed, at a draw."""
        with self._lock:
            self._origin, self._count = StreamOrigin(seed), count

    def position(self) -> tuple[Root, int]:
        """The key that the stream begins with, and how many draws were made."""
        with self._lock:
            return self._origin.root, self._count

    def copy(self) -> "Stream":
        """Another stream that goes on from here."""
        return Stream(*self.position())

    def reserve(self, size: int) -> tuple[StreamOrigin, int]:
        """Set draws aside; no two callers get the same.

        Returns:
            Where they come from, and the number of the first.
        """
        refuse_out_of_order()
        instead = _instead.of(self)
        if instead is not self:
            return instead.reserve(size)
        with self._lock:
            start = self._count
            self._count = start + size
            return self._origin, start

    def release(self, end: int, used: int) -> None:
        """Give back draws that were not used, unless others drew since.

        Args:
            end: The number after the last that was set aside.
            used: The number after the last that was used.
        """
        instead = _instead.of(self)
        if instead is not self:
            instead.release(end, used)
            return
        with self._lock:
            if self._count == end:
                self._count = used

    def next_key(self) -> jax.Array:
        """The data of the key for the next draw."""
        origin, start = self.reserve(1)
        key: jax.Array = _jitted_key_of_state(origin.impl, origin.state(start))
        return key

    def leave_parent(self) -> None:
        """After a fork: draw other numbers than the parent process."""
        self._lock = threading.Lock()  # another thread of the parent may have held it
        self._origin = self._origin.in_child_process()


def _itself(stream: Stream) -> Stream:
    return stream


class _Instead(threading.local):
    """Which stream this thread draws from where code draws from another."""

    of: Callable[[Stream], Stream] = staticmethod(_itself)


_instead = _Instead()


@contextmanager
def drawing_instead(
    of: Callable[[Stream], Stream],
) -> Generator[Callable[[Stream], Stream]]:
    """A block of this thread in which other streams stand for those drawn from.

    Args:
        of: Which for which; each of them for itself.

    Yields:
        What held around the block.
    """
    around, _instead.of = _instead.of, of
    try:
        yield around
    finally:
        _instead.of = around


_jitted_key_of_state = functools.partial(jax.jit, static_argnums=0)(key_of_state)


def _from_system() -> int:
    return int.from_bytes(os.urandom(8), "little")


def impl_of(seed: Seed) -> Any:
    """The name of the algorithm of the keys that a seed makes."""
    if isinstance(seed, Root):
        return seed.impl
    if isinstance(seed, int):
        return setting("jax_default_prng_impl")
    return jax.random.key_impl(seed)


def _root_of(seed: Seed, impl: Any, forks: int) -> Root:
    """The key of a seed, the same with 64-bit types on and off."""
    high = seed >> 32 if isinstance(seed, int) else 0
    with jax.ensure_compile_time_eval():  # the first draw may be in traced code
        if isinstance(seed, int):
            seed = jax.random.key(seed % 2**32, impl=impl)
        words = (
            seed.words
            if isinstance(seed, Root)
            else np.asarray(jax.random.key_data(seed), np.uint32)
        )
    # JAX reads only 32 bits of a seed where 64-bit types are off. Whatever has more is
    # hashed, the sign too, so that no two seeds give the same stream.
    if high or forks:
        entropy = [*words.tolist(), high % 2**64, forks]
        hashed = np.random.SeedSequence(entropy).generate_state(words.size)
        words = hashed.astype(np.uint32)
    return Root(words, impl)


def _state_of(root: Root, half: int) -> Words:
    """The state for half an epoch, with the counter at 0."""
    now = _epoch_key(root, half // 2)
    # Only programs that begin in the second half can run into the next epoch.
    after = _epoch_key(root, half // 2 + 1) if half % 2 else now
    return np.concatenate([now, after, np.zeros(1, np.uint32)])


def _epoch_key(root: Root, epoch: int) -> Words:
    """The data of the key for the draws from epoch * 2**32 on."""
    if epoch == 0:
        return root.words
    with jax.ensure_compile_time_eval():
        key = folded_in(root.impl, jnp.asarray(root.words), _EPOCH)
        return np.asarray(folded_in(root.impl, key, np.uint32(epoch % 2**32)))


# Those of outer `with seed(...)` blocks too, which a forked child may come back to.
_streams: weakref.WeakSet[Stream] = weakref.WeakSet()
_default = Stream()
# The default stream and those of the open `with` blocks of this thread or asyncio task.
_current: ContextVar[tuple[Stream, ...]] = ContextVar("jfi", default=(_default,))
# Compiled code depends on the algorithm: another one is a miss in all of JAX's caches.
_algorithm = jit_key_state("")
_several_algorithms = False  # whether a `with` block has had keys of another one
_followed = threading.local()  # the algorithm that this thread has set, and its context


#: The threads that run code at another time than plain Python would: see
#: `without_draws`. XLA's threads are new to Python at each call, so that a variable of
#: the thread or the context would cost ten times as much.
out_of_order: set[int] = set()


class DrawnOutOfOrder(BaseException):  # not for `except Exception` in users' code
    """A draw in code that `without_draws` runs."""


def refuse_out_of_order() -> None:
    """Refuse a draw in a block of `without_draws`.

    Raises:
        DrawnOutOfOrder: This is one.
    """
    if out_of_order and threading.get_ident() in out_of_order:
        raise DrawnOutOfOrder


@contextmanager
def without_draws() -> Generator[None]:
    """Let no code draw within a `with` block: it runs out of order.

    Raises:
        DrawnOutOfOrder: It draws, and nothing was taken from the stream.
    """
    thread = threading.get_ident()
    is_nested = thread in out_of_order
    out_of_order.add(thread)
    try:
        yield
    finally:
        if not is_nested:
            out_of_order.discard(thread)


def current() -> Stream:
    """The stream of this thread: that of the innermost `with` block."""
    if _several_algorithms:
        _follow()
    return _current.get()[-1]


def _follow() -> None:
    """Show JAX's caches the algorithm of the stream that is current by now.

    JAX has it by thread. asyncio's tasks take turns in one thread, each with a stream
    of its own, and Python's generators end their blocks in any order.
    """
    stream = next(s for s in reversed(_current.get()) if not s.is_bound)
    wanted = None if stream.impl == _default.impl else str(stream.impl)
    if wanted == getattr(_followed, "algorithm", None):
        return
    if getattr(_followed, "context", None) is not None:
        _followed.context.__exit__(None, None, None)
    _followed.algorithm, _followed.context = wanted, None
    if wanted is not None:
        _followed.context = _algorithm(wanted)
        _followed.context.__enter__()


def restart_default(seed: Seed, count: int = 0) -> None:
    """Begin the stream anew that is current outside all `with` blocks."""
    if impl_of(seed) != _default.impl:
        _algorithm.set_global(str(impl_of(seed)))
    _default.restart(seed, count)


def is_default(stream: Stream) -> bool:
    """Whether this is the stream outside all `with` blocks."""
    return stream is _default


@contextmanager
def using(stream: Stream) -> Generator[None]:
    """Draw from a stream within a `with` block, in this thread alone."""
    global _several_algorithms
    _several_algorithms |= not stream.is_bound and stream.impl != current().impl
    _current.set((*_current.get(), stream))
    try:
        current()
        yield
    finally:
        # Not always the innermost: those in Python's generators close in any order.
        _current.set(tuple(s for s in _current.get() if s is not stream))
        current()


def _after_fork() -> None:
    out_of_order.intersection_update({threading.get_ident()})  # the others are gone
    for stream in _streams:
        stream.leave_parent()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_after_fork)
