"""Runs of a PyTorch function, with values and without, and what it returns."""

import collections
import contextlib
import functools
import gc
import logging
import weakref
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..._errors import CallbackError
from ._guard import guard_class
from ._tensors import spec_of, to_tensor, torch_dtype


if TYPE_CHECKING:
    import torch

Spec = jax.ShapeDtypeStruct


def run(
    function: Callable[..., Any],
    tensors: Sequence["torch.Tensor"],
    name: str,
    made: list[Any] | None = None,
) -> tuple[list["torch.Tensor"], Any]:
    """Call a function on tensors and refuse what it must not do or return.

    Args:
        function: What to call.
        tensors: Its arguments.
        name: What the user calls the function, for messages.
        made: Gets weak references to the tensors that the function makes.

    Returns:
        The tensors of the result, and the structure that held them.
    """
    import torch

    with torch.enable_grad(), guard_class()(name, tensors, made) as guard:
        result = function(*tensors)
    if guard.refusal is not None:  # the function may have caught it
        raise guard.refusal
    leaves, tree = flat_result(result)
    return [_checked_leaf(leaf, name) for leaf in leaves], tree


def run_without_values(
    function: Callable[..., Any], name: str, *specs: Spec
) -> tuple[list[Spec], Any]:
    """Find shapes, dtypes and structure of a result: with fake tensors, else zeros."""
    made: list[weakref.ref[torch.Tensor]] = []
    try:
        found = _run_on_fakes(function, name, specs, made)
    except CallbackError:
        raise
    except Exception:  # it looks at values, or is wrong: zeros will tell
        found = None
    _refuse_kept_tensors(made, name)
    return found or _run_on_zeros(function, name, specs)


def flat_result(result: Any) -> tuple[list[Any], Any]:
    """The leaves of a result and its structure, a `torch.topk` as a named tuple."""
    leaves, tree = jax.tree.flatten(result)
    if any(isinstance(leaf, tuple) for leaf in leaves):
        return jax.tree.flatten(jax.tree.map(_named, result))
    return leaves, tree


def _run_on_fakes(
    function: Callable[..., Any], name: str, specs: Sequence[Spec], made: list[Any]
) -> tuple[list[Spec], Any]:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with _silent_logs(), FakeTensorMode(allow_non_fake_inputs=True):
        tensors = [
            torch.empty(spec.shape, dtype=torch_dtype(spec.dtype, name))
            for spec in specs
        ]
        made.extend(map(weakref.ref, tensors))
        leaves, tree = run(function, tensors, name, made)
    return [spec_of(leaf, name) for leaf in leaves], tree


@contextlib.contextmanager
def _silent_logs() -> Generator[None]:
    """PyTorch logs what fails without values; zeros will then tell what is wrong."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    silent = lambda record: False
    logger.addFilter(silent)
    try:
        yield
    finally:
        logger.removeFilter(silent)


def _refuse_kept_tensors(made: Sequence[Any], name: str) -> None:
    if any(tensor() is not None for tensor in made):
        gc.collect()
    if any(tensor() is not None for tensor in made):
        message = (
            f"{name} keeps a tensor of its call in an attribute, a list or a cache. "
            "jfi learns the shapes of results from tensors without values, and one "
            "of these is kept there now. Build the object again and call it once "
            "with PyTorch alone before its first use under jit, vmap or grad, or "
            "return the tensor instead."
        )
        raise CallbackError(message)


def _run_on_zeros(
    function: Callable[..., Any], name: str, specs: Sequence[Spec]
) -> tuple[list[Spec], Any]:
    zeros = (np.zeros(spec.shape, spec.dtype) for spec in specs)
    tensors = [to_tensor(array, name) for array in zeros]
    try:
        leaves, tree = run(function, tensors, name)
    except Exception as error:
        error.add_note(f"jfi ran {name} on zeros to learn the shapes of its results.")
        raise
    for leaf in leaves:
        if leaf.numel() == 0:  # XLA runs nothing for it: no check would follow
            message = (
                f"{name} looks at values, and returned an empty tensor of shape "
                f"{tuple(leaf.shape)} for zeros. A shape must not depend on values "
                "under jit and vmap: return a mask in place of a selection."
            )
            raise CallbackError(message)
    return [spec_of(leaf, name) for leaf in leaves], tree


def _named(leaf: Any) -> Any:
    fields = getattr(type(leaf), "__match_args__", ())
    if not isinstance(leaf, tuple) or not fields:
        return leaf
    return _named_tuple(type(leaf).__name__, fields)(*leaf)


@functools.cache
def _named_tuple(name: str, fields: tuple[str, ...]) -> Any:
    # The fields are known at run time only.
    return collections.namedtuple(name, fields)  # pyright: ignore[reportUntypedNamedTuple]


def _checked_leaf(leaf: Any, name: str) -> "torch.Tensor":
    import torch

    if isinstance(leaf, (np.ndarray, np.generic)):
        return torch.as_tensor(leaf)
    if not isinstance(leaf, torch.Tensor):
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
