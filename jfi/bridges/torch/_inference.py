"""What a function of tensors returns and does, found out once for some shapes.

It runs on tensors without values. If that works, values have no say in what it does,
and later runs need no watching. Otherwise it runs on zeros, or on ones if it refuses
those, and every run is watched.
"""

import contextlib
import gc
import logging
import types
import weakref
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..._errors import CallbackError
from ..._host import on_trial
from ._drawing import unchanged
from ._guard import Watch, guard_class
from ._results import checked_leaf, flat_result
from ._tensors import spec_of, to_tensor, torch_dtype


if TYPE_CHECKING:
    import torch

Spec = jax.ShapeDtypeStruct


@dataclass(frozen=True)
class Findings:
    """What is known of a function of tensors of some shapes.

    Attributes:
        results: Shapes and dtypes of what it returns.
        tree: The structure that holds them.
        written: The positions of the arguments that it writes into.
        draws: It draws random numbers.
        stops_gradients: Some of it runs under `torch.no_grad()`.
        proven: It does the same for all values.
        outside: Tensors that it reads and that are no arguments.
        takes_out: It is PyTorch's own, and writes its one result into `out=`.
    """

    results: tuple[Spec, ...]
    tree: Any
    written: frozenset[int]
    draws: bool
    stops_gradients: bool
    proven: bool
    outside: tuple["weakref.ref[torch.Tensor]", ...] = ()
    takes_out: bool = False


def look_at(
    function: Callable[..., Any],
    name: str,
    specs: Sequence[Spec],
    *,
    disposable: bool = False,
) -> Findings:
    """Find out what a function does with arguments of these shapes.

    Args:
        function: What to call.
        name: What the user calls it, for messages.
        specs: Shapes and dtypes of its arguments.
        disposable: Nobody uses the function after this: it may keep what it likes,
            as long as it does not use it again.
    """
    made: list[weakref.ref[torch.Tensor]] = []
    found = None
    with unchanged(), on_trial():
        try:
            found = _look_without_values(function, name, specs, made, disposable)
        except CallbackError:
            raise
        except Exception:  # it looks at values, or is wrong: zeros will tell
            pass
        if not disposable:
            _refuse_kept_tensors(made, name)
        return found or _look_at_values(function, name, specs)


@contextlib.contextmanager
def recording() -> Generator[None]:
    """In a block PyTorch makes graphs, also where the caller has switched that off."""
    import torch

    with torch.inference_mode(False), torch.enable_grad():
        yield


def watched(
    function: Callable[..., Any],
    tensors: Sequence["torch.Tensor"],
    name: str,
    made: list[Any] | None = None,
) -> tuple[Any, Watch]:
    """Call a function on tensors and refuse what it must not do.

    Returns:
        What the function returned, and what it did.
    """
    with recording():
        tensors = [t.clone() if t.is_inference() else t for t in tensors]
        watch = Watch(name, tensors, made)
        with guard_class()(watch):
            result = function(*tensors)
    if watch.refusal is not None:  # the function may have caught it
        raise watch.refusal
    return result, watch


def findings_of(result: Any, watch: Watch, name: str, *, proven: bool) -> Findings:
    """What one watched call has shown."""
    leaves, tree = flat_result(result)
    specs = [spec_of(checked_leaf(leaf, name), name) for leaf in leaves]
    return Findings(
        tuple(specs),
        tree,
        watch.written,
        watch.draws,
        watch.stops_gradients,
        proven and not watch.keeps_statistics,
        tuple(ref for ref in watch.outside.values() if _counts(ref())),
    )


def _counts(tensor: "torch.Tensor | None") -> bool:
    """Whether a tensor still exists and counts the writes into it."""
    return tensor is not None and not tensor.is_inference()


def _look_without_values(
    function: Callable[..., Any],
    name: str,
    specs: Sequence[Spec],
    made: list[Any],
    disposable: bool,
) -> Findings:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    def run() -> tuple[Any, Watch]:
        tensors = [
            torch.empty(spec.shape, dtype=torch_dtype(spec.dtype, name))
            for spec in specs
        ]
        made.extend(map(weakref.ref, tensors))
        return watched(function, tensors, name, made)

    with _silent_logs(), FakeTensorMode(allow_non_fake_inputs=True):
        result, watch = run()
        found = findings_of(result, watch, name, proven=True)
        if _takes_out(function, specs, result, name):
            found = replace(found, takes_out=True)
        del result
        if disposable:
            _refuse_state(lambda: run()[1], made, name)
    return found


def _takes_out(
    function: Callable[..., Any], specs: Sequence[Spec], result: Any, name: str
) -> bool:
    import torch

    is_torchs = isinstance(function, types.BuiltinFunctionType)
    if not is_torchs or not isinstance(result, torch.Tensor):
        return False
    tensors = [
        torch.empty(spec.shape, dtype=torch_dtype(spec.dtype, name)) for spec in specs
    ]
    out = torch.empty_like(result)
    try:
        return function(*tensors, out=out) is out
    except Exception:  # most have no `out=`, and say so in many ways
        return False


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


def _kept(made: Sequence[Any]) -> set[int]:
    if any(tensor() is not None for tensor in made):
        gc.collect()
    return {id(tensor()) for tensor in made if tensor() is not None}


def _refuse_kept_tensors(made: Sequence[Any], name: str) -> None:
    if _kept(made):
        message = (
            f"{name} keeps a tensor of its call in an attribute, a list or a cache. "
            "jfi learns the shapes of results from tensors without values, and one "
            "of these is kept there now. Build the object again and call it once "
            "with PyTorch alone before its first use under jit, vmap or grad, or "
            "return the tensor instead."
        )
        raise CallbackError(message)


def _refuse_state(again: Callable[[], Any], made: Sequence[Any], name: str) -> None:
    """Refuse what a call keeps and the next one uses, as weights of an LSTM aren't."""
    kept = _kept(made)
    if kept and not kept.isdisjoint(again().outside):
        message = (
            f"{name} keeps a tensor of one call and uses it in the next one. JAX may "
            "run it at any time and any number of times. If it is a cache, call the "
            "module once with PyTorch before from_torch(module). If it is a state, "
            "make it a buffer, self.register_buffer(name, tensor), or an argument."
        )
        raise CallbackError(message)


def _look_at_values(
    function: Callable[..., Any], name: str, specs: Sequence[Spec]
) -> Findings:
    try:
        result, watch = _run_on(np.zeros, function, name, specs)
    except Exception as error:
        try:  # weights, and what is divided by, must not be zero
            result, watch = _run_on(np.ones, function, name, specs)
        except Exception:
            error.add_note(
                f"jfi ran {name} on zeros to learn the shapes of its results."
            )
            raise error from None
    found = findings_of(result, watch, name, proven=False)
    for spec in found.results:
        if 0 in spec.shape:  # XLA runs nothing for it: no check would follow
            message = (
                f"{name} looks at values, and returned an empty tensor of shape "
                f"{tuple(spec.shape)} for zeros. A shape must not depend on values "
                "under jit and vmap: return a mask in place of a selection."
            )
            raise CallbackError(message)
    return found


def _run_on(
    filled: Callable[..., Any],
    function: Callable[..., Any],
    name: str,
    specs: Sequence[Spec],
) -> tuple[Any, Watch]:
    arrays = (filled(spec.shape, spec.dtype) for spec in specs)
    return watched(function, [to_tensor(array, name) for array in arrays], name)
