"""What stands for the derivative of a leaf that has none."""

import sys
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from .._errors import DerivativeError
from .._values import Rest, is_data, is_differentiable, partition
from .._values.trees import is_array_of_tree


Nondiff: TypeAlias = Literal["none", "float0", "zeros"]


def all_differentiable(tree: object) -> bool:
    """Whether each leaf has a derivative, also where there is no leaf."""
    return all(map(is_differentiable, jax.tree.leaves(tree)))


def to_be_differentiated(tree: Any) -> list[bool]:
    """Which leaves of an argument `grad` differentiates: floats, and arrays of floats.

    In a module of equinox a float of Python is a setting, to `eqx.filter_grad` as here.
    """
    module = getattr(sys.modules.get("equinox"), "Module", None)
    if module is None:  # asked at each call
        return [is_differentiable(x) for x in jax.tree.leaves(tree)]
    found: list[bool] = []
    for part in jax.tree.leaves(tree, is_leaf=lambda x: isinstance(x, module)):
        if isinstance(part, module):
            leaves = jax.tree.leaves(part)
            found += [is_differentiable(x) and is_array_of_tree(x) for x in leaves]
        else:
            found.append(is_differentiable(part))
    return found


def divided_floats(tree: Any) -> tuple[list[Any], Rest]:
    """The leaves that `grad` differentiates, and the tree without them."""
    chosen = iter(to_be_differentiated(tree))
    return partition(tree, lambda _: next(chosen))


def derivative_of(rest: Rest | None, values: Any, how: Nondiff) -> Any:
    """The tree of derivatives from those of float leaves; None where all are."""
    if rest is None:
        return values
    return rest.replaced(lambda leaf: no_derivative(leaf, how)).filled(values)


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
        return False if isinstance(leaf, bool) else 0
    return jax.ShapeDtypeStruct(np.shape(leaf), jax.typeof(leaf).dtype)


def no_derivative(leaf: Any, how: Nondiff, shape: tuple[int, ...] | None = None) -> Any:
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
        return False if isinstance(leaf, bool) else 0
    dtype: Any = getattr(leaf, "dtype", None) or jax.typeof(leaf).dtype
    shape = np.shape(leaf) if shape is None else shape
    if how == "float0" or jnp.issubdtype(dtype, jax.dtypes.extended):
        return np.zeros(shape, jax.dtypes.float0)
    if dtype == jax.dtypes.float0:
        return np.zeros(shape, dtype)
    return jnp.zeros(shape, dtype)
