"""Draws in code that plain JAX traces: whether this release has what they need."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._pieces import outside_of_tracing, piece


@piece(
    uses="Refs and the tables of rules for them: _jax_internals/_hidden_state.py",
    without="no random draws in code that JAX traces, but with `key=`",
    refuses=True,
)
def hidden_state() -> Any:
    from . import _hidden_state

    return _hidden_state if _works(_hidden_state) else None


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

    def run() -> tuple[Any, Any, Any]:
        state = jnp.zeros(4, np.uint32), jnp.zeros((), np.uint32)
        staged = module.Staged(draws, [root])
        again = staged({source: state}, [root])[0]
        return jax.jit(draws)(root), again, staged.draws(source)

    first, second, n = outside_of_tracing(run)
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
