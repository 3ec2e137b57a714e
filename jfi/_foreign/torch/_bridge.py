"""Functions of PyTorch inside JAX, with reverse-mode gradients of any order."""

from collections.abc import Callable
from typing import Any

from ..._optional._packages import require
from ._calls import TorchFunction
from ._modules import TorchModule


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
    torch = require("torch", extra="torch", needed_by="from_torch")
    if isinstance(function, torch.nn.Module):
        return TorchModule(function)
    return TorchFunction(function)
