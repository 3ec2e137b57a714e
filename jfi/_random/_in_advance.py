"""Compiled draws in eager code, one by one or many at once.

Most of the time of a small draw is JAX's for starting a program. A loop that draws the
same kind again and again gets its draws from one run in advance. They are the same
numbers, since draw c depends on nothing but the seed and c.

To the last bit, they are those of the CPU if each is computed by itself, in a loop: of
a batch XLA computes some by other instructions than of a single draw (JAX 0.12: 1 in
1 000 normal numbers, 1 in 100 exponential ones). `_OTHERWISE_IN_LOOPS` are exceptions.
Keys of other implementations than JAX's default give a batch other numbers ("rbg").
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._jax_internals import compilation_context
from ._distributions import in_single
from ._streams import StreamOrigin, key_of_state


_AHEAD = 64  # draws of one run
_MOST_ELEMENTS = 128  # of a draw: to fill larger arrays takes longer than to start
_FAR = 4  # draws of other kinds in between that make the run not worth while
# JAX 0.12: 1 in 3 tangents, by an ulp.
_OTHERWISE_IN_LOOPS = (jax.random.cauchy, in_single(jax.random.cauchy))
_STEADY = 16  # draws in a row before the first run: one more program is compiled


class _Run(NamedTuple):
    """Draws made in advance; each is handed out once."""

    origin: StreamOrigin | None
    context: Any
    start: int
    draws: list[jax.Array | None]


_NONE = _Run(None, None, 0, [])


class KindOfDraw:
    """A distribution with its shape and dtype, compiled.

    Args:
        sampler: Draws, given a key, then `static`, then the other parameters.
        static: Shape, dtype and what else is compiled in.
        impl: The implementation of keys.
    """

    def __init__(
        self, sampler: Callable[..., jax.Array], static: tuple[Any, ...], impl: Any
    ) -> None:
        def with_key(key: jax.Array, *dynamic: Any) -> jax.Array:
            return sampler(jax.random.wrap_key_data(key, impl=impl), *static, *dynamic)

        def one(state: jax.Array, *dynamic: Any) -> jax.Array:
            return with_key(key_of_state(impl, state), *dynamic)

        def many(state: jax.Array) -> list[jax.Array]:
            ahead = jnp.arange(_AHEAD, dtype=np.uint32)
            keys = jax.vmap(lambda i: key_of_state(impl, state.at[-1].add(i)))(ahead)
            in_turn = functools.partial(jax.lax.map, with_key)
            at_once = jax.vmap(with_key)
            drawn = jax.lax.platform_dependent(keys, cpu=in_turn, default=at_once)
            return [drawn[i] for i in range(_AHEAD)]

        self._one: Callable[..., jax.Array] = jax.jit(one)
        self._many: Callable[..., list[jax.Array | None]] = jax.jit(many)
        self._run = _NONE
        is_counted = impl == "threefry2x32"
        self._may_run_ahead = is_counted and sampler not in _OTHERWISE_IN_LOOPS
        # The last draw, and how many came before it in a row: (origin, number, row).
        self._last: tuple[StreamOrigin | None, int, int] = (None, 0, 0)

    def draw(
        self, origin: StreamOrigin, number: int, dynamic: tuple[Any, ...]
    ) -> jax.Array:
        """Make the draw of this number.

        Args:
            origin: Where the stream begins.
            number: Which draw of the stream.
            dynamic: The parameters of the distribution; only draws that have none are
                made in advance.
        """
        run = self._run
        if run.origin is origin and not dynamic:
            i = number - run.start
            if 0 <= i < _AHEAD and run.context == compilation_context():
                drawn, run.draws[i] = run.draws[i], None
                if drawn is not None:
                    return drawn
        ahead = self._may_run_ahead and not dynamic
        if ahead and self._is_steady(origin, number):
            draws = self._many(origin.state(number))
            self._run = _Run(origin, compilation_context(), number, draws)
            self._last = (origin, number + _AHEAD - 1, _STEADY)
            drawn, draws[0] = draws[0], None
            assert drawn is not None
            return drawn
        drawn = self._one(origin.state(number), *dynamic)
        # Numbers of 16 bits are rounded in other places in a loop.
        if drawn.size > _MOST_ELEMENTS or drawn.dtype.itemsize == 2:
            self._last = (None, 0, 0)
        return drawn

    def _is_steady(self, origin: StreamOrigin, number: int) -> bool:
        """Whether draws of this kind have come for a while, and close together."""
        last, before, row = self._last
        near = last is origin and 0 < number - before <= _FAR
        row = row + 1 if near else 0
        self._last = (origin, number, row)
        if row < _STEADY or compilation_context() is None:
            return False
        # Not over the edge of an epoch, where the first key of the state changes.
        return number % 2**31 + _AHEAD < 2**31
