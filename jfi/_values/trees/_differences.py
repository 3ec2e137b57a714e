"""Where two trees of different structure differ, in the words of the user's code."""

from typing import Any

import jax

from .. import array_label, path_name
from ._settings import divided


def first_difference(path: str, one: Any, other: Any) -> tuple[str, str, str]:
    """The first place at which two trees have different structures.

    Args:
        path: What the user calls the trees.
        one: A tree whose leaves are what has a shape and a dtype.
        other: Another such tree.

    Returns:
        The place, and what stands there in each tree.
    """
    below, also_below = _children_by_name(one), _children_by_name(other)
    if type(one) is not type(other) or below.keys() != also_below.keys():
        return path, _seen(one, below), _seen(other, also_below)
    for name, part in below.items():
        structures: list[Any] = [
            jax.tree.structure(tree) for tree in (part, also_below[name])
        ]
        if structures[0] != structures[1]:
            return first_difference(path + name, part, also_below[name])
    return _other_settings(path, one, other)


def _children_by_name(x: Any) -> dict[str, Any]:
    """The children of a tree's topmost node by name; none for a leaf."""
    found, _ = jax.tree_util.tree_flatten_with_path(x, is_leaf=lambda y: y is not x)
    return {path_name("", path): part for path, part in found if path}


def _seen(x: Any, parts: dict[str, Any]) -> str:
    if x is None:
        return "None"
    if isinstance(x, jax.ShapeDtypeStruct):
        return array_label(x.shape, x.dtype)
    cls = type(x).__name__
    return f"{cls} with {', '.join(parts)}" if parts else f"{cls} without data"


def _other_settings(path: str, one: Any, other: Any) -> tuple[str, str, str]:
    """Two objects of one class whose data have the same names."""
    cls = type(one).__name__
    # The arrays of a class that JAX knows stand in for settings in this tree.
    data = {id(leaf) for tree in (one, other) for leaf in jax.tree.leaves(tree)}
    rests, others = (dict(divided(x)[1].rests) for x in (one, other))
    for name, rest in rests.items():
        values = getattr(one, name, None), getattr(other, name, None)
        if name in others and rest != others[name] and not data & set(map(id, values)):
            return f"{path}.{name}", f"{values[0]!r:.60}", f"{values[1]!r:.60}"
    return path, cls, f"{cls} with other settings"
