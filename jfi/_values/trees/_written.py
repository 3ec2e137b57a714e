"""What a function writes to objects of trees that it got copies of."""

from collections.abc import Iterator
from typing import Any

import jax

from .. import attributes_of, is_cached
from ._settings import is_object_of_tree


class Watched:
    """The objects in a tree, with what their attributes are by now."""

    def __init__(self, tree: Any) -> None:
        self._before = [(x, attributes_of(x)) for x in _objects(tree)]

    def written(self) -> str:
        """The first attribute that is another by now, `Model.mean`; "" if none is."""
        for x, before in self._before:
            for name, value in attributes_of(x).items():
                is_new = name not in before and not is_cached(type(x), name)
                if is_new or before.get(name, value) is not value:
                    return f"{type(x).__name__}.{name}"
        return ""


def _objects(tree: Any) -> Iterator[Any]:
    for x in jax.tree.leaves(tree, is_leaf=is_object_of_tree):
        if is_object_of_tree(x):
            yield x
            yield from _objects(list(attributes_of(x).values()))
