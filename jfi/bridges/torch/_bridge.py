"""Functions and modules of PyTorch inside JAX."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from ..._optional._packages import require
from ._calls import TorchFunction
from ._modules import TorchModule


if TYPE_CHECKING:
    import torch


@overload
def from_torch(function: "torch.nn.Module") -> TorchModule: ...
@overload
def from_torch(function: Callable[..., Any]) -> Callable[..., Any]: ...
def from_torch(function: Any) -> Any:
    """Turn a function or a module of PyTorch into one of JAX arrays.

    It works eagerly and under `jit`, `vmap`, `scan` and derivatives of every mode and
    order. PyTorch itself runs, on the CPU: once for each call, once for a batch, and
    once for a value and its gradient. Random numbers that it draws come from jfi's
    generator; a gradient sees the same ones.

    Example:
        >>> import jax, torch
        >>> import jfi as jnp
        >>> cross_entropy = jnp.from_torch(torch.nn.functional.cross_entropy)
        >>> logits, labels = jnp.zeros((2, 4)), jnp.array([1, 3])
        >>> cross_entropy(logits, labels)
        Array(1.3862944, dtype=float32)
        >>> jax.jit(jax.grad(cross_entropy))(logits, labels)[0]
        Array([ 0.125, -0.375,  0.125,  0.125], dtype=float32)

        A module is a tree of JAX arrays, its parameters and buffers:

        >>> net = jnp.from_torch(torch.nn.Linear(2, 1))
        >>> zero = jax.tree.map(jnp.zeros_like, net)
        >>> gradient = jax.grad(lambda net: net(jnp.array([3.0, 5.0]))[0])(zero)
        >>> gradient.params["weight"]
        Array([[3., 5.]], dtype=float32)

    Args:
        function: A module, which is copied; or a function that takes and returns
            tensors, in any pytree. Shapes and dtypes of what it returns may depend on
            those of its arguments only. Tensors that it closes over are constants of
            it. It must not call JAX, or write into tensors other than its arguments,
            and it may be called from several threads.

    Returns:
        A function of the same arguments; for a module a tree that can be called.
        Arrays (JAX, NumPy, tensors) become CPU tensors of the same dtype, int32
        becomes int64, PyTorch's index type. A number is passed on as it is, or as a
        tensor where a function of PyTorch's own takes no number. Everything else
        (strings, None, dtypes, modules) is passed on as it is. Tensors and NumPy
        arrays in the result become JAX arrays.

    Raises:
        MissingDependencyError: PyTorch is not installed.
        CallbackError: The function does what it must not, or an array has a dtype
            that the other library lacks. Exceptions of the function itself pass
            through; under plain `jax.jit` an error of JAX
            (`jax.errors.JaxRuntimeError` or ValueError) has their type and message in
            its text.
    """
    torch = require("torch", extra="torch", needed_by="from_torch")
    if isinstance(function, torch.nn.Module):
        return TorchModule(function)
    return TorchFunction(function)
