"""PyTorch modules without their values, which are given to them in each call."""

import copy
import functools
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ..._errors import CallbackError
from ._calls import TorchFunction


if TYPE_CHECKING:
    import torch

Flags = tuple[bool, ...]


class Skeleton:
    """A PyTorch module whose parameters and buffers have no values. It never changes.

    Args:
        module: A module; a copy of it is made.
        uid: The name of a skeleton from another process.

    Attributes:
        module: The copy; its tensors are on the device "meta".
        name: That of its class.
        parameters: The names of the parameters.
        buffers: The names of the buffers.
        frozen: The names of the parameters that do not require a gradient.
    """

    def __init__(self, module: "torch.nn.Module", uid: str | None = None) -> None:
        self.module: torch.nn.Module = with_tensors(
            module, lambda name, tensor: tensor.to("meta")
        )
        self.name: str = f"{type(module).__name__}()"
        parameters, buffers = dict(module.named_parameters()), module.named_buffers()
        self.parameters: tuple[str, ...] = tuple(parameters)
        self.buffers: tuple[str, ...] = tuple(name for name, _ in buffers)
        self.frozen: frozenset[str] = frozenset(
            name for name, value in parameters.items() if not value.requires_grad
        )
        self.uid: str = uid or uuid.uuid4().hex
        self._forms: dict[Flags, SkeletonInMode] = {}
        _skeletons[self.uid] = self

    def __reduce__(self) -> tuple[Any, ...]:
        # The same one in the same process: what is compiled for it is found again.
        return _skeleton, (self.uid, self.module)

    def __jfi_portable__(self) -> object:
        # The uid stands for one module in this process; kept programs outlive it.
        return self.module

    def __deepcopy__(self, memo: object) -> "Skeleton":
        return self

    def form(self, training: Flags) -> "SkeletonInMode":
        """The skeleton with these modules in training mode: always the same one."""
        found = self._forms.get(training)
        return found or self._forms.setdefault(training, SkeletonInMode(self, training))


_skeletons: weakref.WeakValueDictionary[str, Skeleton] = weakref.WeakValueDictionary()


def _skeleton(uid: str, module: "torch.nn.Module") -> Skeleton:
    return _skeletons.get(uid) or Skeleton(module, uid)


class SkeletonInMode:
    """A skeleton in a mode: to JAX, the structure of a module.

    Attributes:
        call: (params, buffers, *args, **kwargs) -> the module's result.
        call_and_update: The same, with the result and the new buffers.
    """

    __jfi_static__ = True  # told by identity

    def __init__(self, skeleton: Skeleton, training: Flags) -> None:
        self.skeleton: Skeleton = skeleton
        self.training: Flags = training
        # A call takes a copy and puts it back, so that threads don't meet.
        self._idle: deque[_Copy] = deque()
        self.call: TorchFunction = TorchFunction(
            functools.partial(self._run, False),
            skeleton.name,
            on_trial=lambda: functools.partial(self._run_copy, self._copy(), False),
            on_written=self._refuse_updates,
        )
        self.call_and_update: TorchFunction = TorchFunction(
            functools.partial(self._run, True),
            skeleton.name,
            on_trial=lambda: functools.partial(self._run_copy, self._copy(), True),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Skeleton.form, (self.skeleton, self.training)

    def __deepcopy__(self, memo: object) -> "SkeletonInMode":
        return self

    def __repr__(self) -> str:
        mode = "training" if self.training[0] else "evaluation"
        return f"<{self.skeleton.name} {self.skeleton.uid[:6]} in {mode} mode>"

    def _copy(self) -> "_Copy":
        # In a thread of its own, where nobody watches: to copy a tensor that is an
        # attribute is to write into memory, which `Watch` refuses a function.
        with ThreadPoolExecutor(1) as unwatched:
            copied = unwatched.submit(copy.deepcopy, self.skeleton.module).result()
        return _Copy(copied, self.training)

    def _run(self, updates: bool, *args: Any, **kwargs: Any) -> Any:
        try:
            copied = self._idle.pop()
        except IndexError:
            copied = self._copy()
        try:
            return self._run_copy(copied, updates, *args, **kwargs)
        finally:
            self._idle.append(copied)

    def _run_copy(
        self,
        copied: "_Copy",
        updates: bool,
        params: Mapping[str, "torch.Tensor"],
        buffers: Mapping[str, "torch.Tensor"],
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        result, new = copied.call(params, buffers, args, kwargs)
        if updates:
            return result, new
        replaced = [name for name, buffer in buffers.items() if new[name] is not buffer]
        if replaced:
            self._refuse(replaced)
        return result

    def _refuse_updates(self, written: Collection[int]) -> None:
        # JAX goes through the dicts of params and of buffers in the order of the keys.
        first = len(self.skeleton.parameters)
        names = enumerate(sorted(self.skeleton.buffers), first)
        changed = [name for position, name in names if position in written]
        if changed:
            self._refuse(changed)

    def _refuse(self, names: list[str]) -> None:
        message = (
            f"{self.skeleton.name} changes its buffers in this call: "
            f"{', '.join(names)}. JAX arrays don't change, so write\n"
            "    result, module = module.call_and_update(...)\n"
            "which returns a module with the new ones, or call module.eval() first."
        )
        raise CallbackError(message)


def with_tensors(
    module: "torch.nn.Module", new: "Callable[[str, torch.Tensor], torch.Tensor]"
) -> "torch.nn.Module":
    """A copy of a module with other values; what shares them, shares them again.

    Args:
        module: The module to copy.
        new: Takes the name and the value of each parameter and buffer.
    """
    import torch

    memo: dict[int, Any] = {}
    for name, parameter in module.named_parameters():
        value, needs = new(name, parameter.detach()), parameter.requires_grad
        memo[id(parameter)] = torch.nn.Parameter(value, requires_grad=needs)
    for name, buffer in module.named_buffers():
        memo[id(buffer)] = new(name, buffer.detach())
    for part in module.modules():  # what autograd has made can't be copied
        for value in vars(part).values():
            if isinstance(value, torch.Tensor) and not value.is_leaf:
                memo[id(value)] = value.detach().clone()
    return copy.deepcopy(module, memo)


class _Copy:
    """A copy of a skeleton's module, which one call at a time fills with values.

    `torch.func.functional_call` does the same for a module that others may use: what it
    looks up and puts back takes longer than the call of a small network.
    """

    def __init__(self, module: "torch.nn.Module", training: Flags) -> None:
        self._module = module
        parts: list[torch.nn.Module] = list(module.modules())
        for part, mode in zip(parts, training, strict=True):
            part.training = mode
        named = (*module.named_parameters(), *module.named_buffers())
        name_of = {id(tensor): name for name, tensor in named}  # of what is shared: one
        self._parameters, self._buffers = (
            [
                (values, key, name_of[id(value)])
                for values in dicts
                for key, value in values.items()
                if value is not None
            ]
            for dicts in (
                [vars(part)["_parameters"] for part in parts],
                [vars(part)["_buffers"] for part in parts],
            )
        )

    def call(
        self,
        params: Mapping[str, Any],
        buffers: Mapping[str, Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> tuple[Any, dict[str, Any]]:
        """Call the module with values; the result, and what its buffers are then."""
        try:
            for values, key, name in self._parameters:
                values[key] = params[name]
            for values, key, name in self._buffers:
                values[key] = buffers[name]
            result = self._module(*args, **kwargs)
            return result, {name: values[key] for values, key, name in self._buffers}
        finally:
            for values, key, _ in (*self._parameters, *self._buffers):
                values[key] = None
