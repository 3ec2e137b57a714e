"""Random draws in code that JAX traces.

Each such draw is one operation that reads and advances the state of a stream. JAX knows
rules for it (`_jax_internals/_hidden_state.py`): rows of a `vmap` get different keys,
a backward pass gets the keys of the forward pass. Two things can become of the state:

- `functionalize` makes it an argument and a result. `jfi.jit` passes the stream's own.
- A program that plain JAX compiles takes one draw at each run, as the key of a stream
  for this run alone.

Where a release of JAX has no place for such rules, traced code can't draw: it is
refused. What runs as plain Python draws as ever.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import RandomError
from ..._jax_internals import at_top_level, hidden_state, in_uneven_loop
from ..._values import is_tracer, partition
from .._streams import current, folded_in, key_of_state, refuse_out_of_order
from ._finding import FoundDraws, found_draw, is_refusing, tracing
from ._refusals import LOST_DERIVATIVES, NOT_IN_THIS_JAX, refusal, refuse_around
from ._sources import StreamSource, key_size, source_of


if TYPE_CHECKING:
    from ..._jax_internals import _hidden_state


# ---- what a draw does ----


def next_key_data() -> tuple[jax.Array, Any]:
    """The data of the key for the next draw of a stream, and its algorithm."""
    stream = current()
    if at_top_level():
        return stream.next_key(), stream.impl
    refuse_out_of_order()
    source = source_of(stream)
    _hidden()
    if is_refusing():
        found_draw(source)
    return _traced_key(source), source.impl


def _hidden() -> Any:
    hidden = hidden_state()
    if hidden is None:
        raise RandomError(NOT_IN_THIS_JAX)
    return hidden


def _traced_key(source: StreamSource) -> jax.Array:
    refuse_around(until=functionalize)
    key: jax.Array = _hidden().next_key(_cells(source), _Rules(source.impl))
    return key


@dataclass(frozen=True)
class _Rules:
    """How the keys of one algorithm are made."""

    impl: Any

    def key(self, words: Any, count: Any) -> jax.Array:
        key: jax.Array = _key_from_words(self.impl, words, count)
        return key

    def rows(self, key: Any, size: int) -> jax.Array:
        if in_uneven_loop():
            if is_refusing():
                found_draw(StreamSource(self.impl, None))
            raise RandomError(refusal("while_loop", "vmap"))
        keys: jax.Array = _row_keys(self.impl, key, size)
        return keys


@functools.partial(jax.jit, static_argnums=0)
def _key_from_words(impl: Any, words: jax.Array, count: jax.Array) -> jax.Array:
    return key_of_state(impl, jnp.append(words, count))


@functools.partial(jax.jit, static_argnums=(0, 2))
def _row_keys(impl: Any, key: jax.Array, size: int) -> jax.Array:
    rows = jnp.arange(size, dtype=np.uint32)
    return jax.vmap(functools.partial(folded_in, impl, key))(rows)


# ---- taking the state out ----


def functionalize(
    f: Callable[..., Any], args: Sequence[Any], *, refuses: bool = False
) -> "Functional":
    """Trace a function of arrays, and make its random state explicit.

    With `refuses` the first draw raises `FoundDraws`, unless it was traced before.
    """
    with tracing(refuses=refuses):
        return Functional(_hidden().Staged(f, args))


def trace_call(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple["Functional", list[Any]]:
    """A call, traced: its function of the tracers among the arguments, and these."""
    values, rest = partition((args, kwargs), is_tracer)

    def flat(*values: Any) -> Any:
        args, kwargs = rest.filled(values)
        return fun(*args, **kwargs)

    return functionalize(flat, values), values


class Functional:
    """A traced function whose random state is an argument and a result.

    Attributes:
        sources: Where its draws come from; empty if there are none.
    """

    def __init__(self, staged: "_hidden_state.Staged") -> None:
        self._staged = staged
        self.sources: list[StreamSource] = staged.sources

    @property
    def communicates(self) -> bool:
        """Whether it has a collective operation such as `psum`."""
        return self._staged.communicates

    def draws(self, source: StreamSource) -> int | None:
        """How many draws it makes; None if that depends on the data."""
        return self._staged.draws(source)

    def __call__(
        self, states: Mapping[StreamSource, Any], args: Sequence[Any]
    ) -> tuple[Any, dict[StreamSource, jax.Array]]:
        """Run it from states (see `key_of_state`): the result and the last counters."""
        parts = {source: (state[:-1], state[-1]) for source, state in states.items()}
        out, counts = self._staged(parts, args)
        return out, counts

    def with_keys(self, keys: "Keys", args: Sequence[Any]) -> Any:
        """Run it with streams of its own, which begin with these keys."""
        missing = set(self.sources) - set(keys)
        if missing:
            raise FoundDraws(list(missing))
        zero = jnp.zeros(1, np.uint32)
        states = {s: jnp.concatenate([keys[s], keys[s], zero]) for s in self.sources}
        if not self._staged.loses_derivatives:
            return self(states, args)[0]
        return _without_derivatives(lambda args: self(states, args)[0], args)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _without_derivatives(run: Callable[..., Any], args: Sequence[Any]) -> Any:
    return run(args)


@_without_derivatives.defjvp
def _refuse_derivatives(*_: Any) -> Any:
    raise RandomError(LOST_DERIVATIVES)


Keys: TypeAlias = dict[StreamSource, jax.Array]


def next_keys(sources: Sequence[StreamSource]) -> Keys:
    """The data of a key from each source, a draw of each, for `with_keys`."""
    return {s: s.next_key() if at_top_level() else _traced_key(s) for s in sources}


def traced_sources() -> list[StreamSource]:
    """Where the function that JAX is tracing took keys, also by code traced before."""
    used = hidden_state.if_tried()
    return used.captured_sources() if used else []


def refuse_sources(consts: Sequence[Any]) -> None:
    """Raise `FoundDraws` if these constants of traced code are random state."""
    used = hidden_state.if_tried()
    sources = used.sources_among(consts) if used else []
    if sources:
        raise FoundDraws(sources)


def any_draws_traced() -> bool:
    """Whether JAX has traced any draw so far, and may remember it."""
    return hidden_state.if_tried() is not None


def _cells(source: StreamSource) -> Any:
    """The cells of a source. Compiled programs keep them: there is only one pair."""
    if source.bound is None:
        return _ambient_cells(source)
    if source.bound.cells is None:
        source.bound.cells = _new_cells(source)
    return source.bound.cells


@functools.cache
def _ambient_cells(source: StreamSource) -> Any:
    return _new_cells(source)


def _new_cells(source: StreamSource) -> Any:
    return _hidden().new_cells(source, 2 * key_size(source.impl))
