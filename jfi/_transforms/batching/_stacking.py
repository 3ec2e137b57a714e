"""Lists of trees to one tree with a batch dimension, and back."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import BatchError
from ..._values import is_array, is_array_data, number_key, path_name
from ..._values.trees import pytree_line
from ._marks import is_mark, ordered_as


T = TypeVar("T")


def stack_trees(trees: Iterable[T]) -> T:
    """Make one tree of many: arrays get a leading batch dimension, settings stay.

    >>> import jfi as jnp
    >>> problems = [{"x": jnp.full(2, k), "mode": "fast"} for k in range(3)]
    >>> batch = jnp.stack_trees(problems)
    >>> batch["x"].shape, batch["mode"]
    ((3, 2), 'fast')

    Args:
        trees: Trees of the same structure. What is no array and no NumPy number
            (Python numbers, strings, functions ...) is a setting, and must be the same
            in all of them.

    Returns:
        The tree for `vmap_automatically` and the like: NumPy arrays are stacked to
        NumPy arrays, all others to JAX arrays.

    Raises:
        BatchError: There is no tree, or they disagree.
    """
    found = list(trees)
    if not found:
        message = "stack_trees() got no tree."
        raise BatchError(f"{message}\nPass one tree or more: stack_trees([problem])")
    _refuse_marks("stack_trees", found)
    first = found[0]
    structure: Any = jax.tree.structure(first)
    for n, tree in enumerate(found):
        if jax.tree.structure(tree) != structure:
            raise BatchError(_other_structure(first, tree, n))
    paths, columns = _values_by_leaf(found)
    leaves = [_stacked_leaf(path, xs) for path, xs in zip(paths, columns, strict=True)]
    return cast("T", ordered_as(first, jax.tree.unflatten(structure, leaves)))


def unstack_tree(tree: T, batch_size: int | None = None) -> list[T]:
    """Make a list of trees of one with a batch dimension, as `stack_trees` made it.

    >>> import jfi as jnp, numpy as np
    >>> jnp.unstack_tree({"x": np.array([0.5, 2.0]), "mode": "fast"})
    [{'x': np.float64(0.5), 'mode': 'fast'}, {'x': np.float64(2.0), 'mode': 'fast'}]

    Args:
        tree: A tree whose arrays have one leading size. What is no array, and what has
            no dimension, goes into each result as it is.
        batch_size: The leading size of the batched arrays, if others are shared, which
            go into each result as they are.

    Returns:
        One tree for each row.

    Raises:
        BatchError: The leading sizes differ, or no array has the one that was given.
    """
    _refuse_marks("unstack_tree", [tree])
    leaves, structure = jax.tree.flatten(tree)
    paths = _paths(tree)
    sizes = {
        path: leaf.shape[0]
        for path, leaf in zip(paths, leaves, strict=True)
        if is_array(leaf) and leaf.ndim
    }
    size = _size_of(sizes, batch_size)
    rows: list[T] = []
    for n in range(size):
        chosen = [
            leaf[n] if sizes.get(path) == size else leaf
            for path, leaf in zip(paths, leaves, strict=True)
        ]
        rows.append(ordered_as(tree, jax.tree.unflatten(structure, chosen)))
    return rows


def _refuse_marks(tool: str, trees: Sequence[Any]) -> None:
    """Marks are for `auto_vmap`: here they say nothing."""
    for tree in trees:
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree, is_leaf=is_mark):
            if is_mark(leaf):
                name = path_name("tree", path)
                message = (
                    f"{tool}() got {name} marked as {str(leaf).partition('(')[0]}.\n"
                    "Remove the mark, and write it where the batch is computed: "
                    "vmap_automatically(fn, problem, shared=...)"
                )
                raise BatchError(message)


def _values_by_leaf(trees: list[Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The path of each leaf, and its values in all trees."""
    rows = [jax.tree.leaves(tree) for tree in trees]
    return _paths(trees[0], "tree"), list(zip(*rows, strict=True))


def _paths(tree: Any, root: str = "tree") -> list[str]:
    return [
        path_name(root, path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)
    ]


def _stacked_leaf(path: str, values: tuple[Any, ...]) -> Any:
    """One leaf for all trees."""
    first = values[0]
    for n, value in enumerate(values):
        if is_array_data(first) and is_array_data(value):
            if _shape_and_dtype(first) != _shape_and_dtype(value):
                raise BatchError(_other_array(path, first, value, n))
        elif not _same_setting(first, value):
            raise BatchError(_other_setting(path, first, value, n))
    if not is_array_data(first):
        return first
    if all(isinstance(value, (np.ndarray, np.generic)) for value in values):
        return np.stack(values)
    return jnp.stack(values)


def _same_setting(first: Any, value: Any) -> bool:
    """Whether two settings are the same, by type and value."""
    if first is value:
        return True
    if type(first) is not type(value):
        return False
    if isinstance(first, (int, float, complex)):
        return bool(number_key(first) == number_key(value))
    if isinstance(first, np.ndarray):  # of text ...
        same = (first.shape, first.dtype) == (value.shape, value.dtype)
        return (
            same
            and bool(np.array_equal(first, value))
            and _looks(first) == _looks(value)
        )
    try:
        # What is equal may differ in the types inside: {1} and {True}.
        return bool(first == value) and _looks(first) == _looks(value)
    except Exception:  # of the user's class: what can't be compared is not the same
        return False


def _looks(x: Any) -> str:
    """What a value looks like, but for its place in memory."""
    return re.sub("0x[0-9a-fA-F]+", "", repr(x))


def _shape_and_dtype(x: Any) -> tuple[Any, Any]:
    return x.shape, x.dtype


def _other_structure(first: Any, tree: Any, n: int) -> str:
    ours, theirs = set(_paths(first)), set(_paths(tree))
    found = (
        "".join(
            f"\n  {path.removeprefix('tree') or 'the tree itself'} is only in {place}"
            for paths, place in (
                (ours - theirs, "trees[0]"),
                (theirs - ours, f"trees[{n}]"),
            )
            for path in sorted(paths)[:10]
        )
        or f":\n  {jax.tree.structure(first)}\n  {jax.tree.structure(tree)}"
    )
    return (
        f"stack_trees() got trees of different structures, trees[0] and trees[{n}]"
        f"{found}\nAll must have the same keys, lengths, classes "
        "and settings. Floats of an object are settings: @jnp.pytree(data='rate') "
        "above its class makes one data."
    )


def _other_setting(path: str, first: Any, value: Any, n: int) -> str:
    place = path.removeprefix("tree")
    remedy = pytree_line(value) or (
        "A batch has one value for each setting. If it is a number that may differ, "
        f"make it an array in each tree: jnp.asarray(trees[{n}]{place})"
    )
    return (
        f"stack_trees() got two settings for one place: trees[0]{place} is {first!r}, "
        f"trees[{n}]{place} is {value!r}.\n{remedy}"
    )


def _other_array(path: str, first: Any, value: Any, n: int) -> str:
    place = path.removeprefix("tree")
    return (
        f"stack_trees() got arrays that don't fit: trees[0]{place} is {first.dtype} "
        f"{first.shape}, trees[{n}]{place} is {value.dtype} {value.shape}.\n"
        "All must have the same shape and dtype; pad the short ones, or convert: "
        "jnp.pad, x.astype(...)."
    )


def _size_of(sizes: dict[str, int], batch_size: int | None) -> int:
    if batch_size is not None:
        if batch_size not in sizes.values():
            message = (
                f"unstack_tree() got batch_size={batch_size!r}, and no array has that "
                "leading size.\nPass the leading size of the batched arrays."
            )
            raise BatchError(message)
        return batch_size
    if len(set(sizes.values())) != 1:
        found = ", ".join(f"{n} rows in {path}" for path, n in sizes.items())
        message = (
            "unstack_tree() needs one leading size and found "
            f"{found or 'no array with a dimension'}.\n"
            "Pass the batch size; all other arrays go into each result unchanged: "
            "unstack_tree(tree, batch_size=32)"
        )
        raise BatchError(message)
    return next(iter(sizes.values()))
