"""Axes of `vmap` that are given as an object: `in_axes=(Model(w=0, b=None), 0)`."""

from typing import Any

import jax

from ..._errors import BatchError
from ._settings import Settings


def axes_like(axes: Any, x: Any) -> Any:
    """Axes as JAX takes them, where objects of a `pytree` class stand for their data.

    In such an object the axes are settings: an int is no data. In what is returned it
    has the settings of the argument, and the axes in the places of its data.

    Args:
        axes: What the user gave for `x`: an int, None, or a tree of these.
        x: The argument, or all of them.
    """
    if axes is None or type(axes) is int:
        return axes
    if isinstance(axes, list) and isinstance(x, tuple):
        axes = tuple(axes)
    if type(axes) is not type(x):
        return axes
    if type(axes) in (list, tuple) and len(axes) == len(x):
        return type(axes)(map(axes_like, axes, x))
    if type(axes) is dict:
        return {k: axes_like(v, x[k]) if k in x else v for k, v in axes.items()}
    structure_of: Any = jax.tree.structure
    if not _is_pytree_object(axes) or structure_of(axes) == structure_of(x):
        return axes  # `jax.tree.map(lambda _: 0, x)`, or what has rules of its own
    children, structure = jax.tree_util.tree_flatten_with_path(
        x, is_leaf=lambda y: y is not x
    )
    names: list[Any] = [path[0] for path, _ in children]
    missing = [key.name for key in names if not hasattr(axes, key.name)]
    if missing:
        message = (
            f"vmap() got an object of {type(x).__name__} in in_axes without the "
            f"attribute {missing[0]}, which the argument has. Give it an int or None."
        )
        raise BatchError(message)
    below = [
        axes_like(getattr(axes, key.name), child)
        for key, (_, child) in zip(names, children, strict=True)
    ]
    return jax.tree.unflatten(structure, below)


def refuse_objects(out_axes: Any) -> None:
    """Refuse objects as `out_axes`, whose axes JAX can't see: they are settings.

    Raises:
        BatchError: There is one.
    """
    for found in jax.tree.leaves(out_axes, is_leaf=_is_pytree_object):
        if _is_pytree_object(found) and not jax.tree.leaves(found):
            cls = type(found).__name__
            message = (
                f"vmap() got an object of {cls} without data in out_axes. Write an int "
                f"for all of it, or jax.tree.map(lambda _: 0, x) with a {cls} x."
            )
            raise BatchError(message)


def _is_pytree_object(x: Any) -> bool:
    structure: Any = jax.tree.structure(x, is_leaf=lambda y: y is not x)
    node = structure.node_data()
    return node is not None and isinstance(node[1], Settings)
