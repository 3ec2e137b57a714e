"""Where traced code takes its keys."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..._errors import RandomError
from .._streams import Stream, current
from ._finding import found_draw, is_refusing
from ._policy import apply_policy


class StreamSource(NamedTuple):
    """Where traced code takes its keys: a stream, or the one current at each run."""

    impl: Any
    bound: Stream | None

    def stream(self) -> Stream:
        """The stream to draw from now."""
        stream = self.bound or current()
        if stream.impl != self.impl:
            raise RandomError(
                f"This program was compiled for keys of {self.impl}, and the stream "
                f"has keys of {stream.impl}. Write jfi.jit in the place of jax.jit, or "
                "compile it again: jax.clear_caches()."
            )
        return stream

    def next_key(self) -> jax.Array:
        """The key for one draw of eager code."""
        self._found_if_refused()
        return self.stream().next_key()

    def program_words(self) -> jax.Array:
        """One fresh key, written twice: as this epoch's key and the next's."""
        self._found_if_refused()
        apply_policy()
        return jnp.tile(self.stream().next_key(), 2)

    def _found_if_refused(self) -> None:
        if is_refusing():  # a program that JAX traced before
            found_draw(self)


def source_of(stream: Stream) -> StreamSource:
    """The source for draws from the stream that is current while tracing."""
    return StreamSource(stream.impl, stream if stream.is_bound else None)


@functools.cache
def key_size(impl: Any) -> int:
    """How many words the keys of an algorithm have."""
    with jax.ensure_compile_time_eval():
        return int(jax.random.key_data(jax.random.key(0, impl=impl)).size)
