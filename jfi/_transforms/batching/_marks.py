"""`shared` and `batched`: saying in the data itself what is batched."""

import operator
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import jax
from jax.tree_util import GetAttrKey

from ..._errors import BatchError


T = TypeVar("T")
Path: TypeAlias = tuple[Any, ...]  # of a leaf, with JAX's entries


def shared(tree: T) -> T:
    """Mark an array, or a tree of arrays, as the same for the whole batch.

    The function that is batched gets the plain value.

    >>> import jfi as jnp
    >>> problem = {"x": jnp.ones((2, 2)), "Q": jnp.shared(2 * jnp.eye(2))}
    >>> jnp.vmap_automatically(lambda p: p["Q"] @ p["x"], problem, batch_size=2)
    Array([[2., 2.],
           [2., 2.]], dtype=float32)

    Args:
        tree: An array, or a tree with arrays, among the arguments of `auto_vmap` or in
            the problem of `vmap_automatically`.

    Returns:
        The marked value, to put in its place.
    """
    return cast("T", Mark(tree, None))


def batched(tree: T, axis: int = 0) -> T:
    """Mark an array, or each array of a tree, as batched along an axis.

    The function that is batched gets the plain value of one row.

    >>> import jfi as jnp
    >>> problem = {"x": jnp.batched(jnp.ones((3, 5)), axis=1), "y": jnp.ones(3)}
    >>> jnp.vmap_automatically(lambda p: p["x"] @ p["y"], problem)
    Array([3., 3., 3., 3., 3.], dtype=float32)

    Args:
        tree: An array, or a tree of arrays, among the arguments of `auto_vmap` or in
            the problem of `vmap_automatically`.
        axis: The axis of the batch; negative ones count from the end.

    Returns:
        The marked value, to put in its place.

    Raises:
        BatchError: `axis` is no int.
    """
    return cast("T", Mark(tree, checked_axis(axis, "batched() got axis=")))


def checked_axis(axis: Any, seen: str) -> int:
    """An axis, if it is an int; `seen` begins the sentence that refuses it."""
    try:
        if not isinstance(axis, bool):
            return operator.index(axis)
    except TypeError:
        pass
    message = f"{seen}{axis!r}.\nWrite the axis of the batch, an int: 0, 1, -1 ..."
    raise BatchError(message)


@jax.tree_util.register_pytree_with_keys_class
class Mark:
    """A tree whose arrays are batched along one axis, or shared if it is None."""

    __slots__ = ("axis", "tree")

    def __init__(self, tree: Any, axis: int | None) -> None:
        self.tree, self.axis = tree, axis

    def __repr__(self) -> str:
        if self.axis is None:
            return f"shared({self.tree!r})"
        return f"batched({self.tree!r}, axis={self.axis})"

    def tree_flatten_with_keys(self) -> tuple[Any, int | None]:
        return ((GetAttrKey("tree"), self.tree),), self.axis

    @classmethod
    def tree_unflatten(cls, axis: int | None, children: Sequence[Any]) -> "Mark":
        return cls(children[0], axis)


def is_mark(x: object) -> bool:
    return isinstance(x, Mark)


def unmarked(tree: Any) -> Any:
    """A tree without marks."""
    plain = jax.tree.map(
        lambda x: unmarked(x.tree) if isinstance(x, Mark) else x, tree, is_leaf=is_mark
    )
    return ordered_as(tree, plain)


def ordered_as(original: Any, tree: Any) -> Any:
    """A tree with its dicts in the order of the original's; JAX sorts their keys."""
    while isinstance(original, Mark):
        original = original.tree
    if type(tree) is dict and type(original) is dict:
        return {k: ordered_as(x, tree[k]) for k, x in original.items()}
    if type(tree) in (list, tuple) and type(original) is type(tree):
        pairs = zip(original, tree, strict=True)
        return type(tree)(ordered_as(x, y) for x, y in pairs)
    return tree


def outline(tree: Any) -> Any:
    """The dicts, lists and tuples of a tree without their leaves, for `ordered_as`."""
    if isinstance(tree, Mark):
        return outline(tree.tree)
    if type(tree) is dict:
        return {k: outline(x) for k, x in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(map(outline, tree))
    return None


def marked_leaves(
    tree: Any, path: Path = (), mark: Mark | None = None
) -> Iterator[tuple[Path, Any, Mark | None]]:
    """Each leaf with its path, as if there were no marks, and its innermost mark."""
    # JAX 0.10 warns of an iterator that it takes for a leaf.
    found = jax.tree_util.tree_leaves_with_path(
        tree, is_leaf=lambda x: isinstance(x, (Mark, Iterator))
    )
    for below, leaf in found:
        if isinstance(leaf, Mark):
            yield from marked_leaves(leaf.tree, (*path, *below), leaf)
        else:
            yield (*path, *below), leaf, mark
