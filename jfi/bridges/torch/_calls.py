"""Functions of tensors as functions of JAX arrays, for arguments of every form."""

import functools
import types
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._advice import hide_frames
from ..._host import NUMBERS, Spec, constant_of, is_setting
from ..._values import Rest, partition, references
from ._signatures import Signature
from ._tensors import becomes_tensor, to_array


if TYPE_CHECKING:
    import torch


Form = tuple[tuple[int, ...], np.dtype[Any]]  # a shape and a dtype


class TorchFunction:
    """What `from_torch` returns for a function: a `Signature` for each form of a call.

    Args:
        function: What to call.
        name: What the user calls it, for messages.
        on_trial: Makes a copy of it to run without values and throw away. None: there
            is only the one function.
        on_written: Is told the positions of the arrays that it writes into.
    """

    __jfi_static__ = True  # `autojit` does not open it: it reads values when it runs

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        *,
        on_trial: Callable[[], Callable[..., Any]] | None = None,
        on_written: Callable[[Collection[int]], None] | None = None,
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function, self._on_trial = function, on_trial
        self._on_written = on_written
        self._is_torchs = _is_torchs(function)
        of_class = type(function).__name__
        self._name = name or f"{getattr(function, '__name__', of_class)}()"
        self._cached_signature = functools.lru_cache(maxsize=256)(
            lambda constant, forms: self._signature(
                constant.value, forms, same_as_now=lambda: _reading_only_torch(function)
            )
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._call_or_explain(args, kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    def _call_or_explain(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return self._call(args, kwargs)
        except (TypeError, AttributeError) as error:
            numbers = [x for x in args if isinstance(x, NUMBERS)]
            if not numbers:
                raise
            if not self._runs_only_torch(args, kwargs):
                # Not again: code of the user's would do twice what it does.
                note = _PASSED_ON.format(name=self._name, number=numbers[0])
                error.add_note(note)
                raise
            # torch.exp(1.0) takes no number, and F.dropout(x, 0.5) no tensor. Under jit
            # a number is a tensor anyway.
            tensors = tuple(
                jnp.asarray(x) if isinstance(x, NUMBERS) else x for x in args
            )
            try:
                return self._call(tensors, kwargs)
            except Exception:
                raise error from None

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves, rest = partition((args, kwargs), becomes_tensor)
        arrays = [to_array(leaf, self._name) for leaf in leaves]
        forms = tuple([(array.shape, array.dtype) for array in arrays])
        if not all(map(_is_setting, rest.others)):
            return self._signature(rest, forms, same_as_now=None)(arrays)
        return self._cached_signature(constant_of(rest), forms)(arrays)

    def _runs_only_torch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        _, rest = partition((args, kwargs), becomes_tensor)
        return self._is_torchs and all(map(_is_setting, rest.others))

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchFunction, (self._function,)

    def __repr__(self) -> str:
        return f"from_torch({self._function!r})"

    def _signature(
        self,
        rest: Rest,
        forms: Sequence[Form],
        *,
        same_as_now: Callable[[], Callable[[], bool] | None] | None,
    ) -> Signature:
        tensors_alone = jax.tree.structure((rest.is_taken, {}))

        def of_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
            if all(rest.is_taken) and rest.structure == tensors_alone:
                return function

            def on_tensors(*tensors: "torch.Tensor") -> Any:
                args, kwargs = rest.filled(tensors)
                return function(*args, **kwargs)

            return on_tensors

        make = self._on_trial
        on_trial = None if make is None else lambda: of_tensors(make())
        function = of_tensors(self._function)
        specs = [Spec(*form) for form in forms]
        given = (self._name, function, specs, on_trial, self._on_written)
        return Signature(*given, same_as_now=same_as_now)


_PASSED_ON = (
    "jfi passes a number on as it is, here {number!r} to {name}. "
    "If the function takes no number, pass jnp.asarray({number!r})."
)


def _is_torchs(function: object) -> bool:
    """Whether a function is PyTorch's own: of no closure, and bound to no object.

    Given tensors and numbers it runs no code of the user's, and reads no variables.
    """
    if isinstance(function, types.BuiltinFunctionType):
        module = function.__module__ or ""
    elif isinstance(function, types.FunctionType) and function.__closure__ is None:
        # Not `__module__`, which `functools.wraps(torch.add)` copies.
        module = function.__globals__.get("__name__", "")
    else:
        return False
    return module.partition(".")[0] == "torch"


def _always() -> bool:
    return True


def _reading_only_torch(function: object) -> Callable[[], bool] | None:
    """Whether a function still does what it does now, asked at each later call.

    `lambda x: torch.sin(x).sum()` does, as long as all that it reads outside are the
    same functions of PyTorch. None: it reads another variable, and may draw later, or
    write.
    """
    if _is_torchs(function):
        return _always
    if not isinstance(function, types.FunctionType) or function.__closure__:
        return None
    code, defaults = function.__code__, function.__defaults__
    read = references(code)
    if read.imports or read.written or function.__kwdefaults__:
        return None
    names = function.__globals__
    found = [(first, rest, _found(names, first, rest)) for first, *rest in read.chains]
    if not all(map(is_setting, defaults or ())):
        return None
    if not all(_is_torchs(value) for _, _, value in found):
        return None

    def is_same() -> bool:
        if function.__code__ is not code or function.__defaults__ is not defaults:
            return False
        for first, rest, value in found:
            if _found(names, first, rest) is not value:
                return False
        return not function.__kwdefaults__

    return is_same


def _found(names: dict[str, Any], first: str, rest: Sequence[str]) -> object:
    """What `torch.nn.ReLU` stands for; None if it is not there."""
    found: object = names.get(first)
    for name in rest:
        found = getattr(found, name, None)
    return found


def _is_setting(argument: object) -> bool:
    return is_setting(argument) or type(argument).__module__ == "torch"  # torch.float32
