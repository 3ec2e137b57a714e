"""`apply_updates`: a step along a gradient."""

from typing import Any, TypeVar

import jax
import numpy as np
from jax.core import Tracer

from .._errors import TangentError
from .._values import has_dtype, is_data, is_differentiable
from .._values.trees import are_buffers, pytree_line
from ._matching import given_by_leaf, leaf_name
from ._messages import described
from ._zeros import is_zero


T = TypeVar("T")


def apply_updates(params: T, updates: Any, scale: Any = 1.0) -> T:
    """Add updates to parameters, leaf by leaf.

    >>> import jfi as jnp
    >>> params = {"w": jnp.ones(2), "n": 3, "act": "tanh"}
    >>> slope = jnp.grad(lambda p: (p["w"] ** p["n"]).sum())(params)
    >>> jnp.apply_updates(params, slope, scale=-0.1)
    {'act': 'tanh', 'n': 3, 'w': Array([0.7, 0.7], dtype=float32)}

    Args:
        params: A tree with any leaves.
        updates: A tree like it, such as a gradient. Leaves or subtrees that are None,
            and keys that are missing, leave the parameters there as they are; buffers
            of a `pytree` class stay in any case.
        scale: What to multiply the updates by.

    Returns:
        `params + scale * updates`, in the dtypes of `params`; weak types and Python
        floats as in that sum.

    Raises:
        TangentError: The trees don't fit, or a leaf that is no float has an update; the
            text names the place.
    """
    if np.shape(scale) != ():
        raise TangentError(f"scale has shape {np.shape(scale)}. Write one number.")
    leaves, structure = jax.tree.flatten(params)
    given: Any
    changes, given = jax.tree.flatten(updates)
    if given != structure:
        changes = given_by_leaf(updates, structure, "updates", "params")
    stays = are_buffers(params)
    new = [
        x
        if stays[i] or _is_no_change(change)
        else _updated_leaf(x, change, scale, structure, i)
        for i, (x, change) in enumerate(zip(leaves, changes, strict=True))
    ]
    updated: T = jax.tree.unflatten(structure, new)
    return updated


def _is_no_change(change: Any) -> bool:
    return is_zero(change) or getattr(change, "dtype", None) == jax.dtypes.float0


def _updated_leaf(x: Any, change: Any, scale: Any, structure: Any, i: int) -> Any:
    refused = f"updates{leaf_name('', structure, i)} is {described(change)}, params has"
    if not (is_data(change) and is_data(x)):
        instead = pytree_line(change) or "Write None."
        raise TangentError(f"{refused} {described(x)} there. {instead}")
    if is_differentiable(x):
        if np.iscomplexobj(change) and not np.iscomplexobj(x):
            raise TangentError(f"{refused} {described(x)} there. Take its .real.")
        if np.shape(change) != np.shape(x):
            raise TangentError(f"{refused} {described(x)} there.")
        moved = x + scale * change
        kept = jax.dtypes.canonicalize_dtype(x.dtype) if has_dtype(x) else None
        if kept is not None and moved.dtype != kept:
            return moved.astype(kept)
        return moved  # weakly typed, or a Python float, where this sum is
    if not isinstance(change, Tracer) and not np.any(change):
        return x
    message = f"{refused} {described(x)} there, which no gradient changes. Write None."
    raise TangentError(message)
