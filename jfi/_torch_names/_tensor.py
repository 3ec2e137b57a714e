"""PyTorch's name for an array made of data."""

from typing import Any

import jax

from .._arrays._config import DTypeLike
from .._arrays._conversion import array
from .._arrays._devices import DeviceLike


def tensor(
    data: Any,
    *,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> jax.Array:
    """Create an array from data: PyTorch's name for `array`.

    >>> import jfi as jnp
    >>> jnp.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]

    Args:
        data: A number, an array, or nested lists or tuples of them.
        dtype: As in `array`: the default float dtype for Python floats.
        device: Where to create it; see `resolve_device`.
        requires_grad: False; derivatives are taken of functions.

    Raises:
        DefaultsError: There is no such device or dtype here.
        TypeError: `requires_grad` is True.
    """
    if requires_grad:
        raise TypeError(
            "tensor() got requires_grad=True. Arrays here don't record what is done "
            "with them: take the derivative of a function, jnp.grad(loss)(x)."
        )
    return array(data, dtype=dtype, device=device)
