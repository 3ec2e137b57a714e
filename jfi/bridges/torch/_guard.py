"""The mode that watches PyTorch functions: what they do, and what they must not do."""

import contextlib
import functools
import importlib
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax

from ..._errors import CallbackError


if TYPE_CHECKING:
    import torch


class Watch:
    """What one call of a function does, operator by operator.

    Attributes:
        refusal: What was refused, which the function may have caught.
        draws: It has drawn random numbers.
        stops_gradients: Some of it ran under `torch.no_grad()`.
        keeps_statistics: It normalises by statistics from outside. PyTorch writes into
            them in training mode, and says so nowhere else.
        outside: Weak references to the tensors from outside that it reads.

    Args:
        name: What the user calls the function, for messages.
        tensors: Its arguments.
        made: Gets weak references to the tensors that it makes.
    """

    def __init__(
        self, name: str, tensors: "Sequence[torch.Tensor]", made: list[Any] | None
    ) -> None:
        self._name, self._made = name, made
        self._arguments = [_storage(tensor) for tensor in tensors]
        self._own = set(self._arguments)
        self._written: set[int] = set()
        self.refusal: CallbackError | None = None
        self.draws = self.stops_gradients = self.keeps_statistics = False
        self.outside: dict[int, weakref.ref[torch.Tensor]] = {}

    @property
    def written(self) -> frozenset[int]:
        """The positions of the arguments that the function has written into."""
        pairs = enumerate(self._arguments)
        return frozenset(k for k, storage in pairs if storage in self._written)

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator, if it may."""
        operator = _operator(func)
        if operator.random and not operator.switched_off(args, kwargs):
            self.draws = True
            if kwargs.get("generator") is not None:
                self._refuse(_GENERATOR.format(name=self._name, operator=func))
        for tensor in operator.written(args, kwargs):
            if not self._has(tensor):
                self._refuse(_WRITES.format(name=self._name, operator=func))
            self._written.add(_storage(tensor))
        tensors = _tensors((args, kwargs))
        self._look_at(tensors, operator.statistics(args, kwargs))
        with _with_conjugates(tensors):
            result = func(*args, **kwargs)
        if operator.fresh:
            self._note(result)
        return result

    def _look_at(self, tensors: Sequence[Any], statistics: Sequence[Any]) -> None:
        import torch

        if not torch.is_grad_enabled():
            self.stops_gradients = True
        for tensor in tensors:
            if not self._has(tensor):
                self.outside[id(tensor)] = weakref.ref(tensor)
        for tensor in statistics:
            self.keeps_statistics |= not self._has(tensor)

    def _note(self, result: Any) -> None:
        for tensor in _tensors(result):
            self._own.add(_storage(tensor))
            if self._made is not None:
                self._made.append(weakref.ref(tensor))

    def _has(self, tensor: "torch.Tensor") -> bool:
        return _storage(tensor) in self._own

    def _refuse(self, message: str) -> None:
        self.refusal = CallbackError(message)
        raise self.refusal


@functools.cache
def guard_class() -> Any:
    """The class of the mode, made once PyTorch is known to be installed.

    An instance takes a `Watch`, and runs every operator by it.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    class Guard(TorchDispatchMode):  # type: ignore[no-untyped-call]
        """Refuses writes into tensors from outside the call, and their generators."""

        def __init__(self, watch: Watch) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self._watch = watch

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return self._watch.run(func, args, kwargs or {})

    return Guard


def _tensors(tree: Any) -> "list[torch.Tensor]":
    import torch

    return [x for x in jax.tree.leaves(tree) if isinstance(x, torch.Tensor)]


def _with_conjugates(tensors: Sequence[Any]) -> contextlib.AbstractContextManager[Any]:
    """A block in which the inside of an operator of complex numbers is right.

    A conjugate is a bit of a tensor. PyTorch 2.13 leaves it out of account in what an
    operator does itself below a mode: `torch.linalg.lstsq` then squares its residuals
    without it.
    """
    import torch

    if not any(map(torch.is_complex, tensors)):
        return contextlib.nullcontext()
    below: Any = importlib.import_module("torch._C")
    left_out = below._dispatch_tls_local_exclude_set()  # noqa: SLF001
    for key in (below.DispatchKey.Conjugate, below.DispatchKey.Negative):
        left_out = left_out.remove(key)
    included = below._dispatch_tls_local_include_set()  # noqa: SLF001
    guard: contextlib.AbstractContextManager[Any] = below._ForceDispatchKeyGuard(  # noqa: SLF001
        included, left_out
    )
    return guard


_GENERATOR = (
    "{name} draws from a torch.Generator of its own ({operator}). JAX may run it any "
    "number of times, and a gradient must see the same numbers again. Leave out "
    "generator=: then its numbers come from jfi's stream (jfi.manual_seed)."
)
_WRITES = (
    "{name} writes into a tensor that is not its argument ({operator}), such as the "
    "running statistics of a BatchNorm in training mode. JAX may run it at any time "
    "and any number of times. Call .eval() on the module, or pass the tensor as an "
    "argument and return its new value."
)


class _Operator:
    """What the schema of a PyTorch operator says about randomness and writes."""

    def __init__(self, func: Any) -> None:
        import torch

        schema = getattr(func, "_schema", None)
        self._arguments = [] if schema is None else list(schema.arguments)
        self.random = torch.Tag.nondeterministic_seeded in getattr(func, "tags", ())
        returns = [] if schema is None else schema.returns
        # torch.tensor(...) is a constant that lift_fresh hands out as a new tensor.
        self.fresh = "lift_fresh" in str(func) or any(
            value.alias_info is None for value in returns
        )
        self._written = [
            argument.name
            for argument in self._arguments
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        # The schemas of batch normalisation don't tell that these are written.
        self._statistics = [
            argument.name
            for argument in self._arguments
            if argument.name in ("running_mean", "running_var")
        ]

    def switched_off(self, args: Any, kwargs: Any) -> bool:
        """Whether this is a dropout that drops nothing, and so no randomness."""
        values = self._values(args, kwargs)
        training = values.get("training", values.get("train", True))
        rates = [
            values[name] for name in ("p", "dropout_p", "dropout") if name in values
        ]
        return training is False or 0 in rates

    def written(self, args: Any, kwargs: Any) -> list[Any]:
        if not self._written and not self._statistics:
            return []
        values = self._values(args, kwargs)
        names = list(self._written)
        if values.get("training", values.get("train", False)):
            names += self._statistics
        return [leaf for name in names for leaf in jax.tree.leaves(values[name])]

    def statistics(self, args: Any, kwargs: Any) -> list[Any]:
        """The running statistics of a normalisation, also where it only reads them."""
        if not self._statistics:
            return []
        values = self._values(args, kwargs)
        return jax.tree.leaves([values[name] for name in self._statistics])

    def _values(self, args: Any, kwargs: Any) -> dict[str, Any]:
        names = [argument.name for argument in self._arguments]
        defaults = {
            argument.name: argument.default_value
            for argument in self._arguments
            if argument.has_default_value()
        }
        return {**defaults, **dict(zip(names, args, strict=False)), **kwargs}


@functools.cache
def _operator(func: Any) -> _Operator:
    return _Operator(func)


def _storage(tensor: "torch.Tensor") -> int:
    """The identity of a tensor's memory, the same for its views."""
    try:
        storage: Any = tensor.untyped_storage()
    except NotImplementedError:  # a sparse tensor has several memories, and no views
        return -id(tensor)
    return int(storage._cdata)  # noqa: SLF001
