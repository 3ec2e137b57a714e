"""Functions of PyTorch inside JAX, with reverse-mode gradients of any order."""

import enum
import functools
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..._optional._packages import require
from ..._values import Constant, Rest, number_key, partition
from .._host_calls import canonical, host_call, runs_now, to_jax
from ._runs import flat_result, run, run_without_values
from ._tensors import becomes_tensor, to_array, to_numpy, to_tensor


if TYPE_CHECKING:
    import torch

Spec = jax.ShapeDtypeStruct


def from_torch(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn a function of PyTorch tensors into a function of JAX arrays.

    The result works eagerly and under `jit`, `vmap`, `scan`, `grad` and gradients
    of gradients; PyTorch itself runs, on the CPU, once for each call (once for each
    row under `vmap`). A gradient runs the function once more. Forward-mode
    derivatives (`jax.jvp`, `jax.jacfwd`, `jax.hessian`) are JAX's TypeError: write
    `jax.jacrev`, and `jax.jacrev(jax.jacrev(f))` for a Hessian.

    Example:
        >>> import jax, torch
        >>> import jfi as jnp
        >>> cross_entropy = jnp.from_torch(torch.nn.functional.cross_entropy)
        >>> logits, labels = jnp.zeros((2, 4)), jnp.array([1, 3])
        >>> cross_entropy(logits, labels)
        Array(1.3862944, dtype=float32)
        >>> jax.jit(jax.grad(cross_entropy))(logits, labels)[0]
        Array([ 0.125, -0.375,  0.125,  0.125], dtype=float32)

    Args:
        function: Takes and returns tensors, in any pytree. Shapes and dtypes of what
            it returns may depend on those of its arguments only. Tensors that it
            closes over (the parameters of a module) are constants of it. It must
            not call JAX, draw random numbers, or write into tensors other than
            its arguments, and it may be called from several threads.

    Returns:
        A function of the same arguments. Arrays (JAX, NumPy, tensors) become CPU
        tensors of the same dtype, int32 becomes int64, PyTorch's index type;
        everything else (numbers, strings, None, dtypes, modules) is passed on as it
        is. Tensors and NumPy arrays in the result become JAX arrays.

    Raises:
        MissingDependencyError: PyTorch is not installed.
        CallbackError: The function does what it must not, or an array has a dtype
            that the other library lacks. Exceptions of the function itself pass
            through; under jit an error of JAX (`jax.errors.JaxRuntimeError` or
            ValueError) has their type and message in its text.
    """
    require("torch", extra="torch", needed_by="from_torch")
    return _TorchFunction(function)


class _TorchFunction:
    """What `from_torch` returns: one `_Operation` for each form of the arguments."""

    __jfi_static__ = True  # `autojit` does not open it: it reads values when it runs

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._name = f"{getattr(function, '__name__', type(function).__name__)}()"
        self._cached_operation = functools.lru_cache(maxsize=256)(
            lambda constant: self._operation(constant.value)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, rest = partition((args, kwargs), becomes_tensor)
        arrays = [to_array(leaf, self._name) for leaf in leaves]
        # Objects may change, and equal ones may differ: no operation outlives a call.
        if not all(map(_is_value, rest.others)):
            return self._operation(rest)(*arrays)
        key = (rest.structure, rest.is_taken, tuple(map(_key_of, rest.others)))
        return self._cached_operation(Constant(key, rest))(*arrays)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> tuple[Any, ...]:
        return from_torch, (self._function,)

    def __repr__(self) -> str:
        return f"from_torch({self._function!r})"

    def _operation(self, rest: Rest) -> "_Operation":
        def on_tensors(*tensors: "torch.Tensor") -> Any:
            args, kwargs = rest.filled(tensors)
            return self._function(*args, **kwargs)

        return _Operation(self._name, on_tensors)


_NUMBERS = (int, float, complex, np.number, np.bool_)


def _is_value(argument: object) -> bool:
    """Whether an argument that is no array is what it is for ever."""
    plain = isinstance(argument, (*_NUMBERS, str, bytes, enum.Enum, type, type(None)))
    return plain or type(argument).__module__ == "torch"  # torch.float32 ...


def _key_of(argument: Any) -> object:
    if isinstance(argument, _NUMBERS):
        return number_key(argument)
    return type(argument), argument


@jax.tree_util.register_static
@dataclass(frozen=True)
class _Wanted:
    """Which arguments need a gradient: what the forward pass tells the backward."""

    arguments: tuple[bool, ...]


class _Operation:
    """A function of tensors only, as a JAX function of as many arrays."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        infer: Callable[..., tuple[list[Spec], Any]] | None = None,
    ) -> None:
        self._name, self._function = name, function
        found = functools.partial(run_without_values, function, name)
        self._infer = functools.lru_cache(maxsize=256)(infer or found)
        self._gradient = functools.cache(self._make_gradient)
        self._differentiable = jax.custom_vjp(self._evaluate)
        self._differentiable.defvjp(self._forward, self._backward, symbolic_zeros=True)

    def __call__(self, *arrays: jax.Array) -> Any:
        if runs_now(arrays):
            return self._evaluate(*arrays)
        return self._differentiable(*arrays)

    def _evaluate(self, *arrays: jax.Array) -> Any:
        if runs_now(arrays):
            # Eager grad hands on NumPy arrays as they came, with x64 off float64 too.
            copies = (np.array(array, canonical(array.dtype)) for array in arrays)
            values, tree = self._run(*copies)
            return jax.tree.unflatten(tree, to_jax(values, arrays))
        specs, tree = self._infer(*(Spec(a.shape, a.dtype) for a in arrays))
        results = host_call(
            lambda *copies: self._run(*copies)[0], specs, *arrays, name=self._name
        )
        return jax.tree.unflatten(tree, results)

    def _run(self, *copies: NDArray[Any]) -> tuple[list[NDArray[Any]], Any]:
        tensors = [to_tensor(copy, self._name) for copy in copies]
        leaves, tree = run(self._function, tensors, self._name)
        return [to_numpy(leaf, self._name) for leaf in leaves], tree

    def _forward(self, *primals: Any) -> tuple[Any, Any]:
        values = tuple(primal.value for primal in primals)
        wanted = tuple(
            bool(primal.perturbed) and jnp.issubdtype(primal.value.dtype, jnp.inexact)
            for primal in primals
        )
        return self(*values), (values, _Wanted(wanted))

    def _backward(self, saved: tuple[Any, _Wanted], result: Any) -> tuple[Any, ...]:
        values, wanted = saved
        leaves = jax.tree.leaves(result)
        given = tuple(
            not isinstance(leaf, jax.custom_derivatives.SymbolicZero)
            and leaf.dtype != jax.dtypes.float0
            for leaf in leaves
        )
        if not any(given) or not any(wanted.arguments):
            return (None,) * len(values)
        cotangents = [
            leaf for leaf, is_given in zip(leaves, given, strict=True) if is_given
        ]
        gradient = self._gradient(wanted.arguments, given)
        found = iter(gradient(*values, *cotangents))
        return tuple(next(found) if wants else None for wants in wanted.arguments)

    def _make_gradient(
        self, wanted: tuple[bool, ...], given: tuple[bool, ...]
    ) -> "_Operation":
        """The function (*arguments, *given cotangents) -> wanted gradients."""

        def on_tensors(*tensors: "torch.Tensor") -> tuple["torch.Tensor", ...]:
            arguments, cotangents = tensors[: len(wanted)], tensors[len(wanted) :]
            return _torch_gradient(self._function, arguments, cotangents, wanted, given)

        def infer(*specs: Spec) -> tuple[list[Spec], Any]:
            pairs = zip(specs, wanted, strict=False)  # cotangents come after these
            found = tuple(spec for spec, is_wanted in pairs if is_wanted)
            return list(found), jax.tree.structure(found)

        return _Operation(f"grad({self._name})", on_tensors, infer)


def _torch_gradient(
    function: Callable[..., Any],
    arguments: Sequence["torch.Tensor"],
    cotangents: Sequence["torch.Tensor"],
    wanted: Sequence[bool],
    given: Sequence[bool],
) -> tuple["torch.Tensor", ...]:
    """Gradients of a function of tensors, differentiable themselves.

    Plain autograd, not torch.func.vjp: it allows `.numpy()` and old-style
    autograd functions, and has a backward pass for more operators.
    """
    import torch

    needs_graph = any(t.requires_grad for t in (*arguments, *cotangents))
    sources: list[torch.Tensor] = []
    passed: list[torch.Tensor] = []
    for argument, is_wanted in zip(arguments, wanted, strict=True):
        if not is_wanted:
            passed.append(argument)
            continue
        source = argument
        if not argument.requires_grad:
            source = argument.detach().requires_grad_()
        sources.append(source)
        passed.append(source.clone())  # no leaf, so that it may be written into
    leaves = flat_result(function(*passed))[0]
    outputs = [leaf for leaf, is_given in zip(leaves, given, strict=True) if is_given]
    pairs = [
        # JAX's convention for complex numbers is the conjugate of PyTorch's.
        (output, cotangent.conj().to(output.dtype))
        for output, cotangent in zip(outputs, cotangents, strict=True)
        if isinstance(output, torch.Tensor) and output.requires_grad
    ]
    if not pairs:
        return tuple(torch.zeros_like(source) for source in sources)
    found: Any = torch.autograd.grad(  # None where nothing depends on the source
        [output for output, _ in pairs],
        sources,
        [cotangent for _, cotangent in pairs],
        allow_unused=True,
        create_graph=needs_graph,
    )
    return tuple(
        torch.zeros_like(source) if gradient is None else gradient.conj()
        for source, gradient in zip(sources, found, strict=True)
    )
