"""Trees taken apart into some of their leaves and the rest, and put together again."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax


def partition(
    tree: Any,
    takes: Callable[[Any], bool],
    is_leaf: Callable[[Any], bool] | None = None,
) -> tuple[list[Any], "Rest"]:
    """Take some leaves out of a tree.

    >>> floats, rest = partition({"w": 2.0, "act": "tanh"}, lambda x: x == 2.0)
    >>> floats, rest.filled([5.0])
    ([2.0], {'act': 'tanh', 'w': 5.0})

    Args:
        tree: Any pytree.
        takes: Whether to take a leaf.
        is_leaf: What is a leaf besides.

    Returns:
        The leaves that were taken, in order, and the tree without them.
    """
    leaves, structure = jax.tree.flatten(tree, is_leaf=is_leaf)
    is_taken = tuple(map(takes, leaves))
    pairs = list(zip(leaves, is_taken, strict=True))
    others = tuple(leaf for leaf, taken in pairs if not taken)
    return [leaf for leaf, taken in pairs if taken], Rest(structure, is_taken, others)


@dataclass(slots=True, eq=False)
class Rest:
    """A tree without some of its leaves.

    Attributes:
        structure: That of the whole tree.
        is_taken: Whether each leaf was taken out.
        others: The leaves that were not.
    """

    structure: Any
    is_taken: tuple[bool, ...]
    others: tuple[Any, ...]

    def filled(self, taken: Iterable[Any]) -> Any:
        """The tree with these leaves in the places of those that were taken."""
        new, old = iter(taken), iter(self.others)
        leaves = [next(new) if taken else next(old) for taken in self.is_taken]
        return jax.tree.unflatten(self.structure, leaves)

    def replaced(self, new: Callable[[Any], Any]) -> "Rest":
        """This with other leaves in the places of those that were not taken."""
        return Rest(self.structure, self.is_taken, tuple(map(new, self.others)))

    def with_more(self, taken: Iterable[Any], goes_back: Iterable[bool]) -> "Rest":
        """This with some of the leaves that were taken back in their places."""
        pairs, old = iter(zip(taken, goes_back, strict=True)), iter(self.others)
        is_taken: list[bool] = []
        others: list[Any] = []
        for was_taken in self.is_taken:
            leaf, is_other = next(pairs) if was_taken else (next(old), True)
            is_taken.append(not is_other)
            if is_other:
                others.append(leaf)
        return Rest(self.structure, tuple(is_taken), tuple(others))
