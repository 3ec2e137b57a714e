"""What functions of PyTorch return: leaves, and the structure that held them."""

import collections
import functools
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..._errors import CallbackError


if TYPE_CHECKING:
    import torch


LEAF: Any = jax.tree.structure(0)


def is_plain(result: Any) -> bool:
    """Whether a result is one tensor of the usual kind, and needs no other look."""
    usual, layout = _usual_tensor()
    return type(result) is usual and result.layout is layout


@functools.cache  # `import` on the way of every small call takes a microsecond
def _usual_tensor() -> tuple[Any, Any]:
    import torch

    return torch.Tensor, torch.strided


def flat_result(result: Any) -> tuple[list[Any], Any]:
    """The leaves of a result and its structure, a `torch.topk` as a named tuple."""
    if is_plain(result):
        return [result], LEAF
    leaves, tree = jax.tree.flatten(result)
    if any(isinstance(leaf, tuple) for leaf in leaves):
        leaves, tree = jax.tree.flatten(jax.tree.map(_named, result))
    # The very same object, for quick looks: what is not plain in the run without values
    # may be so in all others.
    return leaves, LEAF if tree == LEAF else tree


def _named(leaf: Any) -> Any:
    fields = getattr(type(leaf), "__match_args__", ())
    if not isinstance(leaf, tuple) or not fields:
        return leaf
    return _named_tuple(type(leaf).__name__, fields)(*leaf)


@functools.cache
def _named_tuple(name: str, fields: tuple[str, ...]) -> Any:
    # The fields are known at run time only.
    return collections.namedtuple(name, fields)  # pyright: ignore[reportUntypedNamedTuple]


def checked_leaf(leaf: Any, name: str) -> "torch.Tensor":
    """A leaf of a result as a tensor that JAX can have, or an error."""
    import torch

    if not isinstance(leaf, torch.Tensor):
        if isinstance(leaf, (np.ndarray, np.generic)):
            return torch.as_tensor(leaf)
        message = (
            f"{name} returned {leaf!r} ({type(leaf).__name__}), which JAX can't hand "
            "on from a run of PyTorch. Return tensors and containers of tensors: "
            "tuples, lists, dicts, None; a number as torch.as_tensor(number)."
        )
        raise CallbackError(message)
    if leaf.layout is not torch.strided:
        message = (
            f"{name} returned a tensor of layout {leaf.layout}. "
            "Return tensor.to_dense() instead."
        )
        raise CallbackError(message)
    return leaf
