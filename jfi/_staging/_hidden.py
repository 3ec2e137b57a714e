"""The undocumented part of JAX that draws in traced code need, if it works here."""

import functools
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


@functools.cache
def hidden() -> Any:
    """The module for hidden state, if it works in this release of JAX; else None."""
    try:
        from .._compat import _hidden_state
    except (ImportError, AttributeError):
        return None
    return _hidden_state if _works(_hidden_state) else None


def hidden_if_used() -> Any:
    """The same, if any code draws that was traced so far."""
    return hidden() if hidden.cache_info().currsize else None


def _works(module: Any) -> bool:
    """Whether traced draws advance, differ between rows, and can be functionalized."""
    root = np.zeros(2, np.uint32)
    source, rules = _Fixed(), _Counting()
    cells = module.new_cells(source, 4)

    def draws(x: Any) -> Any:
        row = jax.vmap(lambda x: x + module.next_key(cells, rules))(jnp.stack([x, x]))
        return jax.lax.scan(
            lambda c, _: (c, module.next_key(cells, rules)), row, length=2
        )

    def run() -> None:
        state = jnp.zeros(4, np.uint32), jnp.zeros((), np.uint32)
        staged = module.Staged(draws, [root])
        results.append(jax.jit(draws)(root))
        results.append(staged({source: state}, [root])[0])
        results.append(staged.draws(source))

    results: list[Any] = []
    thread = threading.Thread(target=run)  # outside of every transformation
    thread.start()
    thread.join()
    if len(results) < 3:
        return False
    first, second, n = results
    keys = {tuple(key) for key in np.concatenate(jax.tree.leaves(first)).tolist()}
    same = all(map(np.array_equal, jax.tree.leaves(first), jax.tree.leaves(second)))
    return n == 3 and len(keys) == 4 and same


class _Fixed:
    """A source for the test."""

    def program_words(self) -> Any:
        return np.zeros(4, np.uint32)


class _Counting:
    """Rules for the test: the key of a draw is its number, then its row."""

    def key(self, words: Any, count: Any) -> Any:
        return words[:2] + jnp.stack([count, np.uint32(0)])

    def rows(self, key: Any, size: int) -> Any:
        return key + jnp.arange(size, dtype=np.uint32)[:, None] * 10


@functools.cache
def key_size(impl: Any) -> int:
    """How many words the keys of an algorithm have."""
    with jax.ensure_compile_time_eval():
        return int(jax.random.key_data(jax.random.key(0, impl=impl)).size)
