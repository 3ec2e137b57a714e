"""Functions that get a stream of random draws of their own.

JAX's `vmap`, `jacfwd`, `shard_map` and conditionals under `vmap` can't take mutable
state. A function traced once more, with its state as an argument, they can.

The rules of a draw can't help there (JAX 0.10.2). `jacfwd` is a `vmap` whose primal
result must not be batched, which a draw in it is. A conditional with state in a batch
is a NotImplementedError (jax-ml/jax#39290), and `shard_map` fails on a captured Ref.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

import jax
import numpy as np

from ..._jax_internals import (
    RefusedEffectsError,
    at_top_level,
    forget_traces,
    is_derived,
    is_staged,
    setting,
)
from .._streams import MANY, Root, Stream, current, drawing_instead, folded_in
from . import (
    FoundDraws,
    Keys,
    any_draws_traced,
    functionalize,
    is_refusing,
    is_under_vmap,
    next_keys,
    source_of,
    trace_call,
    tracing,
)


T = TypeVar("T")
Function: TypeAlias = Callable[..., Any]


def with_own_stream(run: Callable[[Keys | None], T], *, finds_draws: bool = False) -> T:
    """Run something without random state; if it draws, once more with keys for it.

    Args:
        run: Gets None, or the keys that `on_keys` is to be given.
        finds_draws: Whether `run` itself raises `FoundDraws` for what JAX has traced
            before.
    """
    if is_refusing():  # draws will be found by who refuses them
        return run(None)
    try:
        return _without_draws(run, finds_draws)
    except FoundDraws as found:
        keys = next_keys(found.sources)
    while True:
        try:
            return run(keys)
        except FoundDraws as found:
            forget_traces(found)
            new = [source for source in found.sources if source not in keys]
            keys = {**keys, **next_keys(new)}


def _without_draws(run: Callable[[Keys | None], T], finds_draws: bool) -> T:
    """Run something, or say by `FoundDraws` that it draws."""
    try:
        if is_staged() and any_draws_traced() and not finds_draws:
            # JAX may have traced parts of it before, whose draws raise nothing.
            function = functionalize(lambda: run(None), (), refuses=True)
            if function.sources:
                raise FoundDraws(function.sources)
        with tracing(refuses=True):
            return run(None)
    except RefusedEffectsError:
        if not any_draws_traced():
            raise
    # What JAX says to a conditional under `vmap` that draws and was traced before
    # (jax-ml/jax#39290). Which source it draws from is not said: the current one is
    # tried, and `with_keys` names those that are missing.
    raise FoundDraws([source_of(current())])


def on_keys(fun: Function, keys: Keys, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function on streams that begin with these keys (their data)."""
    function, values = trace_call(fun, args, kwargs)
    return function.with_keys(keys, values)


class OwnStreams:
    """Streams of their own for steps that Python runs: those of `with_own_stream`.

    The first draw from a stream takes a key from it, of which all are made.
    """

    def __init__(self) -> None:
        self._keys: dict[Stream, jax.Array] = {}

    @contextmanager
    def of_step(self, *numbers: int) -> Generator[None]:
        """A block that draws as a step does whose keys are varied by these numbers."""
        made: dict[Stream, Stream] = {}

        def own(stream: Stream) -> Stream:
            if stream not in made:
                new = self._stream(stream, numbers, around)
                made[stream] = made[new] = new
            return made[stream]

        with drawing_instead(own) as around:
            yield

    def _stream(
        self, stream: Stream, numbers: Sequence[int], around: Callable[[Stream], Stream]
    ) -> Stream:
        with drawing_instead(around), jax.ensure_compile_time_eval():
            if stream not in self._keys:
                self._keys[stream] = stream.next_key()
            key = self._keys[stream]
            for number in numbers:
                key = folded_in(stream.impl, key, number)
            return Stream(Root(np.asarray(key), stream.impl))


def varied(keys: Keys, number: jax.Array | int) -> Keys:
    """Other keys for each number: of a row, a shard, a step."""
    return {s: folded_in(s.impl, key, number) for s, key in keys.items()}


def while_loop(cond_fun: Any, body_fun: Function, init_val: Any) -> Any:
    """`jax.lax.while_loop`, whose condition may draw beside the body."""
    if not callable(cond_fun) or not _draws(cond_fun, init_val):
        return in_stream(lambda: jax.lax.while_loop(cond_fun, body_fun, init_val))

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        carry = body_fun(state[1])
        return cond_fun(carry), carry

    def loop() -> Any:
        first = cond_fun(init_val), init_val
        return jax.lax.while_loop(lambda state: state[0], step, first)[1]

    return in_stream(loop, draws=True)


def _draws(fun: Function, *args: Any) -> bool:
    leaves, structure = jax.tree.flatten(args)

    def flat(*leaves: Any) -> Any:
        return fun(*jax.tree.unflatten(structure, leaves))

    try:
        if any_draws_traced():
            return bool(functionalize(flat, leaves, refuses=True).sources)
        with tracing(refuses=True):
            jax.eval_shape(flat, *leaves)
        return False
    except FoundDraws:
        if is_refusing():
            raise
        return True


def in_stream(call: Callable[[], T], *, draws: bool = False) -> T:
    """Make a call of JAX's control flow so that its draws are those of plain Python.

    Under `vmap` each row gets a stream of its own.

    Args:
        call: Makes the call.
        draws: Whether it draws for sure; else that is tried out.
    """
    if is_refusing() or setting("jax_disable_jit"):
        return call()
    if is_under_vmap(until=functionalize):
        return with_own_stream(lambda keys: on_keys(call, keys) if keys else call())
    # Eager code that is differentiated draws as it goes, as plain Python does.
    if not (at_top_level() or is_derived()):
        return call()
    try:
        if not draws:
            with tracing(refuses=True):
                return call()
    except FoundDraws:
        pass
    function = functionalize(call, ())
    taken = {s: (s.stream(), *s.stream().reserve(MANY)) for s in function.sources}
    ends = {s: start for s, (_, _, start) in taken.items()}
    try:
        states = {s: origin.state(start) for s, (_, origin, start) in taken.items()}
        out: T
        out, counts = function(states, ())
        for s, (_, _, start) in taken.items():
            n = function.draws(s)
            ends[s] = start + ((int(counts[s]) - start) % 2**32 if n is None else n)
        return out
    finally:
        for s, (stream, _, start) in taken.items():
            stream.release(start + MANY, ends[s])
