"""Random state that is passed on, as plain values, by jfi's own tools.

What `_draws.py` does where JAX has no `hidden_state`, and nothing but what JAX
documents: a jfi tool that traces a function runs it by `in_scope`, where draws take
their keys from the values of a `DrawScope`. A loop or a branch of jfi carries the
counts of the scope around it. Which scope is around a draw, and whether JAX alone
traces what is in between (where the values would repeat), is seen on the call stack.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import eval_jaxpr

from ..._errors import RandomError
from ..._jax_internals import call_around, communicates
from .._streams import current, key_of_state
from ._finding import FoundDraws, found_draw, is_refusing, tracing
from ._refusals import NOT_IN_THIS_JAX
from ._sources import StreamSource, key_size, source_of


T = TypeVar("T")
Counts = list[Any]  # of the sources of a scope, in order


class DrawScope:
    """The streams that traced code draws from, whose state is made of arrays.

    Args:
        states: The words of the keys, and the count of draws, of each stream.

    Attributes:
        counts: The counts now.
        taken: How many draws were made of each since; None if that depends on data.
        used: Of which streams any were made, also inside loops and branches.
        is_everywhere: Whether it serves code that JAX alone traces, too.
    """

    is_everywhere = False

    def __init__(self, states: Mapping[StreamSource, tuple[Any, Any]]) -> None:
        self._words = {source: words for source, (words, _) in states.items()}
        self.counts = {source: count for source, (_, count) in states.items()}
        self.taken: dict[StreamSource, int | None] = dict.fromkeys(states, 0)
        self.used: set[StreamSource] = set()

    def next_key(self, source: StreamSource) -> jax.Array:
        """The data of the key for the next draw of a source."""
        self._require(source)
        words, count = self._words[source], self.counts[source]
        self.advance(source, 1, None)
        key: jax.Array = _key_from_words(source.impl, words, count)
        return key

    def state(self, source: StreamSource) -> jax.Array:
        """Where a source stands, as `key_of_state` takes it."""
        self._require(source)
        return _state(self._words[source], self.counts[source])

    def advance(self, source: StreamSource, taken: int | None, last: Any) -> None:
        """Go on after so many draws; from the `last` count if that is not known."""
        before = self.taken[source]
        if taken is None:
            self.counts[source], self.taken[source] = last, None
        else:
            self.counts[source] = self.counts[source] + np.uint32(taken)
            self.taken[source] = None if before is None else before + taken

    def inside(self, counts: Counts) -> "DrawScope":
        """The same streams from other counts on: of a loop's body, of a branch."""
        pairs = zip(self._words.items(), counts, strict=True)
        scope = DrawScope({source: (words, count) for (source, words), count in pairs})
        scope.used = self.used
        return scope

    def _require(self, source: StreamSource) -> None:
        if source not in self.counts:  # whoever opened the scope begins again, with it
            found_draw(source)
        self.used.add(source)


class Finding(DrawScope):
    """A scope for code whose draws are to be found, and not made."""

    is_everywhere = True

    def __init__(self) -> None:
        super().__init__({})


class Pretending(Finding):
    """A scope for code that is traced to look at it, and never run."""

    def next_key(self, source: StreamSource) -> jax.Array:
        return jnp.zeros(key_size(source.impl), np.uint32)


def in_scope(scope: DrawScope, f: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    """Call a function whose draws are those of a scope."""
    return f(*args, **kwargs)  # that `scope` is a variable of this call is read below


def differentiate(run: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    """Call a transformation that computes as it goes, in one trace, as `jax.grad`."""
    return run(*args, **kwargs)


def as_outside(f: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    """Call the function that `differentiate` transforms: it draws as outside it."""
    return f(*args, **kwargs)


def scope_here() -> DrawScope | None:
    """The scope that the caller draws from; None for the streams themselves.

    Raises:
        RandomError: JAX alone traces the caller.
    """
    scope, is_near = _around()
    if not is_near:
        raise RandomError(NOT_IN_THIS_JAX)
    return scope


def is_in_eager_code() -> bool:
    """Whether the caller computes as it goes: at top level, or being differentiated."""
    return _around() == (None, True)


def _around() -> tuple[DrawScope | None, bool]:
    """The innermost scope, and whether it serves what happens here."""
    frame, in_jax = call_around(in_scope, entry=differentiate, inner=as_outside)
    scope: DrawScope | None = frame and frame.f_locals["scope"]
    return scope, not in_jax or (scope is not None and scope.is_everywhere)


def explicit_key(source: StreamSource) -> jax.Array:
    """The data of the key for the next draw of a source, in code that is traced."""
    scope = scope_here()
    if scope is None:  # in eager code that is being differentiated
        return source.stream().next_key()
    return scope.next_key(source)


# ---- control flow ----


class Carried:
    """The counts of the streams around a loop or a branch, which carries them along.

    Attributes:
        counts: The counts where it begins.
    """

    def __init__(self, scope: DrawScope) -> None:
        self._scope, self.counts = scope, list(scope.counts.values())
        self._draws = False

    def run(
        self, counts: Counts, f: Callable[..., T], /, *args: Any, **kwargs: Any
    ) -> tuple[Counts, T]:
        """Call a function inside it: the counts after that, and its result."""
        inside = self._scope.inside(counts)
        out = in_scope(inside, f, *args, **kwargs)
        self._draws |= any(taken != 0 for taken in inside.taken.values())
        return list(inside.counts.values()), out

    def end(self, counts: Counts) -> None:
        """Go on after it, from the counts where it ends."""
        if not self._draws:  # and the number of draws stays known
            return
        for source, count in zip(self._scope.counts, counts, strict=True):
            self._scope.advance(source, None, count)


def carried_here() -> Carried | None:
    """What control flow must carry here; None if it carries nothing."""
    scope, is_near = _around()
    carries = scope is not None and is_near and not scope.is_everywhere
    return Carried(scope) if scope is not None and carries else None


# ---- the state as an argument and a result ----


class Explicit:
    """A function of arrays, traced, with the random state that it uses taken out.

    It does what `Staged` of `_jax_internals/_hidden_state` does.

    Attributes:
        sources: Where it draws from.
    """

    loses_derivatives = False

    def __init__(self, f: Callable[..., Any], args: Sequence[Any]) -> None:
        self._inputs = [source_of(current())]  # in all but few functions all there is
        while True:
            try:
                with tracing(refuses=is_refusing()):
                    return self._trace(f, args)
            except FoundDraws as found:
                new = [s for s in found.sources if s not in self._inputs]
                if is_refusing() or not new:
                    raise
                self._inputs += new

    def _trace(self, f: Callable[..., Any], args: Sequence[Any]) -> None:
        sources, last = self._inputs, DrawScope({})

        def run(states: Sequence[tuple[Any, Any]], *args: Any) -> tuple[Any, Counts]:
            nonlocal last
            last = DrawScope(dict(zip(sources, states, strict=True)))
            out = in_scope(last, f, *args)
            return out, list(last.counts.values())

        traced: Any = jax.make_jaxpr(run, return_shape=True)
        self._jaxpr, types = traced(list(map(_types, sources)), *args)
        self._out: Any = jax.tree.structure(types)
        self._taken = last.taken
        self.sources = [source for source in sources if source in last.used]

    def draws(self, source: StreamSource) -> int | None:
        """How many keys it takes of a source; None if that depends on the data."""
        return self._taken.get(source, 0)

    @property
    def communicates(self) -> bool:
        """Whether it has a collective operation such as `psum`."""
        return communicates(self._jaxpr.jaxpr)

    def __call__(
        self, states: Mapping[StreamSource, tuple[Any, Any]], args: Sequence[Any]
    ) -> tuple[Any, dict[StreamSource, Any]]:
        """Run it from the states (words and count) given: results and last counts."""
        leaves = [
            x
            for source in self._inputs
            for x in states.get(source) or map(_zeros, _types(source))
        ]
        closed = self._jaxpr
        outs: Any = eval_jaxpr(closed.jaxpr, closed.consts, *leaves, *args)
        out, counts = jax.tree.unflatten(self._out, outs)
        return out, dict(zip(self._inputs, counts, strict=True))


def _types(source: StreamSource) -> tuple[Any, Any]:
    size = 2 * key_size(source.impl)
    words = jax.ShapeDtypeStruct((size,), np.uint32)
    return words, jax.ShapeDtypeStruct((), np.uint32)


def _zeros(kind: Any) -> jax.Array:
    return jnp.zeros(kind.shape, kind.dtype)


@functools.partial(jax.jit, static_argnums=0)
def _key_from_words(impl: Any, words: jax.Array, count: jax.Array) -> jax.Array:
    return key_of_state(impl, _state(words, count))


def _state(words: jax.Array, count: jax.Array) -> jax.Array:
    return jnp.append(words, count)
