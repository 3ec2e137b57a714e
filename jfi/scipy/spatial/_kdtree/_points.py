"""Points with a tree: what a tree holds, and what JAX and Python see of it."""

from collections.abc import Sequence
from typing import Any, Self

import jax
import numpy as np
from jax.core import Tracer
from jax.tree_util import GetAttrKey, register_pytree_with_keys_class
from numpy.typing import ArrayLike

from ...._dispatch._materialising import plain_array
from ...._errors import KDTreeError
from ...._values.trees import Settings, divided, put_together
from . import _checks as checks
from ._calls import GivenTree
from ._checks import TreeSettings
from ._host_trees import HostTree, find


class _Added:
    """The attributes that a subclass has added to those of a tree."""


class TreeOfPoints:
    """A pytree whose leaf is its data, with SciPy's tree of them where it is known.

    Args:
        data: `(n, m)` real numbers.
        leafsize, compact_nodes, balanced_tree, boxsize: See `KDTree`.
    """

    __jfi_pytree__: bool = True  # what is beside the leaves follows from them

    _settings: TreeSettings
    _host: HostTree | None
    _in_hand: GivenTree | None
    _data: Any
    _number: Any
    # Not of a tree that was an argument: SciPy's tree may be known by its memory.
    _is_of_results: bool = False

    def __init__(
        self,
        data: ArrayLike | jax.Array,
        leafsize: int = 10,
        compact_nodes: bool = True,
        balanced_tree: bool = True,
        boxsize: ArrayLike | None = None,
    ) -> None:
        given = plain_array("KDTree", data)
        values: Any = given if isinstance(given, Tracer) else np.array(given)
        checks.check_data(values.shape, values.dtype)
        self._settings = checks.checked_settings(
            values.shape[1], leafsize, compact_nodes, balanced_tree, boxsize
        )
        self._host = self._in_hand = self._data = self._number = None
        if isinstance(values, Tracer):
            self._data, self._is_of_results = values, True
        else:
            self._host = HostTree(values, self._settings)

    @property
    def data(self) -> jax.Array:
        """The `(n, m)` points of the tree as a JAX array."""
        data: jax.Array = self._leaves()[0]
        return data

    @property
    def n(self) -> int:
        """How many points the tree has."""
        return self._shape()[-2]

    @property
    def m(self) -> int:
        """How many coordinates a point has."""
        return self._shape()[-1]

    @property
    def leafsize(self) -> int:
        """How many points a leaf holds at most."""
        return self._settings.leafsize

    @property
    def boxsize(self) -> tuple[float, ...] | None:
        """The period of each coordinate, None for a space without periods."""
        return self._settings.boxsize

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        register_pytree_with_keys_class(cls)

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[TreeSettings, Settings]]:
        """What JAX traces: the data, perhaps a number; and what it does not.

        A subclass may have attributes of its own: arrays, and settings.
        """
        children, own = divided(self._own())
        return (*self._leaves(), *children.values()), (self._settings, own)

    def tree_flatten_with_keys(self) -> tuple[Any, tuple[TreeSettings, Settings]]:
        """The same, with names."""
        leaves, settings = self.tree_flatten()
        names = ("data", "number", *divided(self._own())[0])
        pairs = zip(map(GetAttrKey, names), leaves, strict=True)
        return tuple(pairs), settings

    @classmethod
    def tree_unflatten(
        cls, settings: tuple[TreeSettings, Settings], leaves: Sequence[Any]
    ) -> Self:
        """A tree of JAX's leaves, which may be anything at all."""
        tree = object.__new__(cls)
        tree._settings, tree._host, tree._in_hand = settings[0], None, None
        tree._data, tree._number, *others = leaves
        own = put_together(_Added, settings[1], others)
        vars(tree).update(vars(own))
        return tree

    def _own(self) -> "_Added":
        added = _Added()
        names = vars(self).keys() - TreeOfPoints.__annotations__.keys()
        vars(added).update({name: vars(self)[name] for name in sorted(names)})
        return added

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, TreeOfPoints):
            return self is other if isinstance(other, TreeOfPoints) else NotImplemented
        mine, its = self._host_tree(), other._host_tree()
        if mine is None or its is None:
            return False
        return (
            type(self) is type(other)
            and mine.settings == its.settings
            and mine.values.dtype == its.values.dtype
            and np.array_equal(mine.values, its.values)
            and _same_attributes(self._own(), other._own())
        )

    def __hash__(self) -> int:
        host = self._host_tree()
        if host is None:
            return id(self)
        some = host.points[:: max(1, host.n // 16)] + 0.0  # -0.0 is equal to 0.0
        return hash((host.settings, host.points.shape, some.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        host, own = self._host_tree(), vars(self._own())
        if host is None:
            return _made_again, (type(self), self._settings, self._leaves(), own)
        return _built_again, (type(self), np.array(host.values), self._settings, own)

    def __repr__(self) -> str:
        try:
            shape = self._shape()
        except AttributeError:  # its leaf is none: a structure that JAX looks at
            return f"KDTree({self._data!r})"
        *batch, n, m = shape
        return f"KDTree(n={n}, m={m}" + (f", batch={tuple(batch)})" if batch else ")")

    def _shape(self) -> tuple[int, ...]:
        if self._host is not None:
            return self._host.n, self._host.m
        shape: tuple[int, ...] = self._data.shape
        return shape

    def _leaves(self) -> tuple[Any, Any]:
        """The data in JAX, and the number by which float64 ones are found again."""
        if self._data is None and self._host is not None:
            return self._host.arrays()
        return self._data, self._number

    def _host_tree(self) -> HostTree | None:
        """SciPy's tree, if the data have values: those of one tree."""
        if self._host is None and isinstance(self._data, jax.Array):
            known = not isinstance(self._data, Tracer)
            known &= not isinstance(self._number, Tracer)
            if known and self._data.ndim == 2:
                number = None if self._number is None else np.asarray(self._number)
                self._host = find(np.asarray(self._data), number, self._settings)
        return self._host

    def _given(self, name: str) -> GivenTree:
        """The tree for one call."""
        if self._in_hand is not None:
            return self._in_hand
        host = self._host_tree()
        if host is not None:
            known = (host.n, host.m)
            self._in_hand = GivenTree(
                host, (), self._settings, known, host.values.dtype
            )
            return self._in_hand
        shape = self._shape()
        if len(shape) != 2:
            message = (
                f"{name} got trees in a batch: their data have the shape {shape}. "
                "Take one tree after the other: jax.vmap(lambda tree, x: "
                f"tree.{name.removeprefix('KDTree.').removesuffix('()')}(x, ...))."
            )
            raise KDTreeError(message)
        data, number = self._leaves()
        arrays = (data,) if number is None else (data, number)
        return GivenTree(
            None,
            arrays,
            self._settings,
            (shape[0], shape[1]),
            data.dtype,
            self._is_of_results,
        )

    def _other(self, other: object, name: str) -> GivenTree:
        """The second tree of a call."""
        if not isinstance(other, TreeOfPoints):
            message = f"{name} got {other!r} as the other tree. Pass a jfi.KDTree."
            raise KDTreeError(message)
        given = other._given(name)  # noqa: SLF001 - another of its kind
        if other.m != self.m or other.boxsize != self.boxsize:
            message = (
                f"{name} got trees of {self.m} and {other.m} coordinates, with "
                f"boxsize={self.boxsize} and {other.boxsize}. Both must be the same."
            )
            raise KDTreeError(message)
        return given


# Trees that were pickled or copied; the class of the user's is not called.


def _built_again(cls: Any, data: Any, settings: Any, own: dict[str, Any]) -> Any:
    tree = object.__new__(cls)
    TreeOfPoints.__init__(tree, data, *settings)
    vars(tree).update(own)
    return tree


def _made_again(
    cls: Any, settings: Any, leaves: Sequence[Any], own: dict[str, Any]
) -> Any:
    tree = cls.tree_unflatten((settings, divided(_Added())[1]), leaves)
    vars(tree).update(own)
    return tree


def _same_attributes(one: _Added, two: _Added) -> bool:
    (mine, settings), (its, other_settings) = divided(one), divided(two)
    if settings != other_settings:
        return False
    pairs = zip(jax.tree.leaves(mine), jax.tree.leaves(its), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)
