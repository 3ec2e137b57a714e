"""Which leaves of a tree have a derivative, and trees without these leaves."""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from .._errors import DerivativeError
from .._values import NUMPY_ARRAYS


Nondiff: TypeAlias = Literal["none", "float0", "zeros"]


def is_differentiable(x: Any) -> bool:
    """Whether a leaf is a float or complex number or array.

    >>> [is_differentiable(x) for x in (1.0, np.ones(3), 3, True, "tanh", len)]
    [True, True, False, False, False, False]
    """
    dtype = getattr(x, "dtype", None)
    if dtype is None or not is_array(x):
        return isinstance(x, (float, complex))
    return _is_inexact(dtype)


def is_array(x: Any) -> bool:
    """Whether a leaf has a shape and a dtype, of JAX's or NumPy's."""
    cls: Any = type(x)
    return _is_array_class(cls)


@functools.lru_cache(maxsize=1000)
def _is_array_class(cls: type) -> bool:
    """Whether the values of a class are arrays, or stand for some while JAX traces.

    `isinstance(x, jax.Array)` asks each value, which takes five times as long.
    """
    known = issubclass(cls, (jax.Array, Tracer, np.generic))
    return known or cls in NUMPY_ARRAYS


@functools.cache
def _is_inexact(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, np.inexact))


def all_differentiable(tree: object) -> bool:
    """Whether each leaf has a derivative, also where there is no leaf."""
    return all(map(is_differentiable, jax.tree.leaves(tree)))


def is_data(x: Any) -> bool:
    """Whether JAX can trace a leaf: numbers, and arrays of numbers and of keys."""
    if isinstance(x, (bool, int, float, complex)):
        return True
    return is_array(x) and _is_known(x.dtype)


@functools.cache
def _is_known(dtype: Any) -> bool:
    kinds = (np.number, np.bool_, jax.dtypes.extended)
    return dtype == jax.dtypes.float0 or any(
        jnp.issubdtype(dtype, kind) for kind in kinds
    )


@dataclass(slots=True, eq=False)
class Rest:
    """A tree without some of its leaves."""

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


def derivative_of(rest: Rest | None, values: Any, how: Nondiff) -> Any:
    """The tree of derivatives from those of float leaves; None where all are."""
    if rest is None:
        return values
    return rest.replaced(lambda leaf: stand_in(leaf, how)).filled(values)


def divide(
    tree: Any, takes: Callable[[Any], bool] = is_differentiable
) -> tuple[list[Any], Rest]:
    """The leaves that have a derivative, and the tree without them.

    >>> floats, rest = divide({"w": 2.0, "act": "tanh"})
    >>> floats, rest.filled([5.0])
    ([2.0], {'act': 'tanh', 'w': 5.0})
    """
    leaves, structure = jax.tree.flatten(tree)
    is_taken = tuple(map(takes, leaves))
    pairs = list(zip(leaves, is_taken, strict=True))
    others = tuple(leaf for leaf, taken in pairs if not taken)
    return [leaf for leaf, taken in pairs if taken], Rest(structure, is_taken, others)


def check_nondiff(nondiff: Any) -> Nondiff:
    """What stands for the derivative of a leaf that has none."""
    if nondiff not in ("none", "float0", "zeros"):
        message = (
            f"nondiff={nondiff!r} is unknown. Write 'none', 'float0' (as JAX does) "
            "or 'zeros'."
        )
        raise DerivativeError(message)
    how: Nondiff = nondiff
    return how


def placed_as(x: jax.Array, kind: Any) -> jax.Array:
    """An array with the sharding of a type (as of `jax.typeof`), if that has one."""
    if all(axis is None for axis in kind.sharding.spec):
        return x
    placed: jax.Array = jax.sharding.reshard(x, kind.sharding)
    return placed


def blank(leaf: Any) -> Any:
    """The shape and dtype of a leaf; None if it is no data."""
    if not is_data(leaf):
        return None
    if isinstance(leaf, (bool, int)):
        return type(leaf)()
    return jax.ShapeDtypeStruct(np.shape(leaf), jax.typeof(leaf).dtype)


def stand_in(leaf: Any, how: Nondiff, shape: tuple[int, ...] | None = None) -> Any:
    """The derivative of a leaf, or of its `blank`, that has none.

    Args:
        leaf: The leaf.
        how: "none", "float0", or "zeros" of its own dtype (a random key has none).
        shape: The shape of the derivative, if not that of the leaf.
    """
    known = isinstance(leaf, jax.ShapeDtypeStruct) or is_data(leaf)
    if how == "none" or not known:
        return None
    if how == "zeros" and shape is None and isinstance(leaf, (bool, int)):
        return type(leaf)()
    dtype: Any = getattr(leaf, "dtype", None) or jax.typeof(leaf).dtype
    shape = np.shape(leaf) if shape is None else shape
    if how == "float0" or jnp.issubdtype(dtype, jax.dtypes.extended):
        return np.zeros(shape, jax.dtypes.float0)
    if dtype == jax.dtypes.float0:
        return np.zeros(shape, dtype)
    return jnp.zeros(shape, dtype)
