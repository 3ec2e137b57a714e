"""Tangents and cotangents as users give them, brought to the leaves of a tree.

They may be zeros in the place of whole subtrees, dicts without some keys, other number
types. What does not fit is refused before anything is computed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._errors import TangentError
from .._values import (
    Rest,
    has_dtype,
    is_data,
    is_differentiable,
    is_key,
    is_tracer,
    path_name,
)
from .._values.trees import pytree_line
from ._messages import described, described_kind
from ._zeros import is_zero


@dataclass(slots=True, eq=False)
class Target:
    """What tangents are given for: the leaves of a tree, and what it is called.

    Attributes:
        given: The name of what is given: "cotangent".
        of: What it is for: "the output".
        rest: The tree without its float leaves; `blank` in the places of others.
        types: The types of the float leaves.
    """

    given: str
    of: str
    rest: Rest
    types: tuple[Any, ...]

    @classmethod
    def whole(cls, given: str, of: str, tree: Any) -> "Target":
        """The target of a tree all of whose leaves are floats."""
        leaves, structure = jax.tree.flatten(tree)
        rest = Rest(structure, (True,) * len(leaves), ())
        return cls(given, of, rest, tuple(map(jax.typeof, leaves)))

    def arranged(self, leaves: Sequence[Any]) -> Any:
        """Values of the float leaves as JAX has them: if there are no others a tree."""
        return leaves if self.rest.others else self.rest.filled(leaves)

    def fitted(self, tangents: Any) -> list[Any]:
        """The tangent of each float leaf, None where it is zero.

        Raises:
            TangentError: It does not fit.
        """
        leaves, structure = jax.tree.flatten(tangents)
        if structure != self.rest.structure:
            leaves = given_by_leaf(tangents, self.rest.structure, self.given, self.of)
        types, others = iter(self.types), iter(self.rest.others)
        fitted: list[Any] = []
        for i, (leaf, is_float) in enumerate(
            zip(leaves, self.rest.is_taken, strict=True)
        ):
            if is_float:
                fitted.append(self._of_float(leaf, next(types), i))
            else:
                self._check_other(leaf, next(others), i)
        return fitted

    def _of_float(self, x: Any, kind: Any, i: int) -> Any:
        if has_dtype(x) and x.dtype == kind.dtype and x.shape == kind.shape:
            return x
        if is_zero(x):
            return None
        expected = described(jax.ShapeDtypeStruct(kind.shape, kind.dtype))
        name = self._name(i)
        if not is_data(x) or is_key(x):
            raise TangentError(f"{name} is {described(x)}, {self.of} is {expected}.")
        if np.shape(x) != kind.shape:
            message = f"{name}: shape {np.shape(x)}, {self.of} has {kind.shape}."
            raise TangentError(message)
        dtype = jax.typeof(x).dtype
        if dtype == jax.dtypes.float0:
            return None
        if jnp.iscomplexobj(x) and not jnp.issubdtype(kind.dtype, np.complexfloating):
            message = f"{name} is complex, {self.of} is {expected}. Take its .real."
            raise TangentError(message)
        # A Python number stays one, weakly typed, where JAX takes it as it is.
        return (
            x
            if type(x) is float and dtype == kind.dtype
            else jnp.asarray(x, kind.dtype)
        )

    def _check_other(self, x: Any, leaf: Any, i: int) -> None:
        """Refuse a tangent that is not zero, of what has no derivative."""
        if text := pytree_line(
            x
        ):  # not the same setting again, but data that JAX can't see
            raise TangentError(f"{self._name(i)} is {described(x)}. {text}")
        if is_zero(x) or not (is_data(x) or leaf is not None):
            return
        name = self._name(i)
        if leaf is not None and np.shape(x) != np.shape(leaf):
            message = f"{name}: shape {np.shape(x)}, {self.of} has {np.shape(leaf)}."
            raise TangentError(message)
        # Of outputs, ones in the dtype of each are usual. Of arguments they are not.
        if (
            not is_data(x)
            or is_differentiable(x)
            or (self.given != "cotangent" and _is_nonzero(x))
        ):
            message = (
                f"{name} is {described(x)}, and {self.of} there "
                f"({described_kind(leaf)}) has no derivative. Write None, or make it a "
                "float."
            )
            raise TangentError(message)

    def _name(self, i: int) -> str:
        return leaf_name(self.given, self.rest.structure, i)


def same_arrays(tree: Any, other: Any) -> bool:
    """Whether two trees are alike, with arrays of the same shapes and dtypes."""
    structure: Any
    leaves, structure = jax.tree.flatten(tree)
    others, found = jax.tree.flatten(other)
    same: bool = structure == found and all(
        isinstance(x, jax.Array)
        and isinstance(y, jax.Array)
        and x.dtype == y.dtype
        and x.shape == y.shape
        for x, y in zip(leaves, others, strict=True)
    )
    return same


def leaf_name(root: str, structure: Any, i: int) -> str:
    """Leaf number `i` of a tree as the user would write it."""
    numbered = jax.tree.unflatten(structure, range(structure.num_leaves))
    paths, _ = jax.tree_util.tree_flatten_with_path(numbered)
    return path_name(root, paths[i][0])


def _is_nonzero(x: Any) -> bool:
    if is_key(x) or is_tracer(x):
        return False
    return np.asarray(x).dtype != jax.dtypes.float0 and bool(np.any(np.asarray(x)))


# ---- other structures ----


def given_by_leaf(given: Any, structure: Any, root: str, of: str) -> list[Any]:
    """For each leaf of a structure what is given for it; None where that is zero.

    Args:
        given: A tree like it, in which a zero may stand for a subtree, and dicts may
            lack keys.
        structure: The structure.
        root: What `given` is called in errors.
        of: What has this structure, in errors.
    """
    tree = jax.tree.unflatten(structure, range(structure.num_leaves))
    return list(_spread(given, tree, root, of))


def _spread(given: Any, tree: Any, name: str, of: str) -> Iterator[Any]:
    if is_zero(given):
        yield from [None] * len(jax.tree.leaves(tree))
        return
    parts = _children(tree)
    if parts is None:
        if _children(given) is not None:
            raise TangentError(f"{name} is {described(given)}, {of} is one value.")
        yield given
        return
    for entry, given_part, part in _pairs(given, tree, parts, name, of):
        yield from _spread(given_part, part, path_name(name, [entry]), of)


def _pairs(
    given: Any, tree: Any, parts: Sequence[tuple[Any, Any]], name: str, of: str
) -> Iterator[tuple[Any, Any, Any]]:
    """Key, what is given, and subtree of each part of a container."""
    if isinstance(tree, Mapping):
        if not isinstance(given, Mapping):
            raise TangentError(_unlike(given, tree, parts, name, of))
        keys = [getattr(entry, "key", None) for entry, _ in parts]
        for key in given:
            if key not in keys:
                known = ", ".join(map(repr, keys)) or "none"
                raise TangentError(
                    f"{name} has the key {key!r}, {of} has {known} there."
                )
        for key, (entry, part) in zip(keys, parts, strict=True):
            yield entry, given.get(key), part
        return
    plain = isinstance(tree, (tuple, list)) and isinstance(given, (tuple, list))
    if not plain and type(given) is not type(tree):
        raise TangentError(_unlike(given, tree, parts, name, of))
    given_parts = _parts_of_object(given, parts) or _children(given) or []
    if len(given_parts) != len(parts):
        raise TangentError(
            f"{name} has {len(given_parts)} entries, {of} has {len(parts)} there."
        )
    for (entry, part), (_, own) in zip(parts, given_parts, strict=True):
        yield entry, own, part


def _parts_of_object(
    given: Any, parts: Sequence[tuple[Any, Any]]
) -> list[tuple[Any, Any]] | None:
    """What is given for the attributes of an object; None if the parts are no such.

    By name: a class of `jfi.pytree` takes an attribute that is None for a setting, so
    that a zero there has no place among the data.
    """
    children = _children(given) or []
    entries = [entry for entry, _ in (*parts, *children)]
    if not all(isinstance(entry, jax.tree_util.GetAttrKey) for entry in entries):
        return None
    by_name = {entry.name: child for entry, child in children}
    absent = {entry.name for entry, _ in parts} - by_name.keys()
    if by_name.keys() - {entry.name for entry, _ in parts}:
        return None
    found = {**by_name, **{name: getattr(given, name, None) for name in absent}}
    return [(entry, found[entry.name]) for entry, _ in parts]


def _unlike(
    given: Any, tree: Any, parts: Sequence[tuple[Any, Any]], name: str, of: str
) -> str:
    expected = described(tree)
    if isinstance(tree, Mapping):
        keys = ", ".join(repr(getattr(entry, "key", "?")) for entry, _ in parts)
        expected = f"{expected} with {keys}"
    return f"{name} is {described(given)}, {of} is {expected}."


def _children(x: Any) -> list[tuple[Any, Any]] | None:
    """Key and subtree of each child of a container; None for a leaf."""
    found, _ = jax.tree_util.tree_flatten_with_path(x, is_leaf=lambda y: y is not x)
    if len(found) == 1 and not found[0][0]:
        return None
    return [(path[0], child) for path, child in found]
