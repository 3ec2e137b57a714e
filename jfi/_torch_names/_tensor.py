"""PyTorch's name for an array made of data."""

from typing import Any

import jax

from .._arrays._config import DTypeLike
from .._arrays._conversion import array
from .._arrays._devices import DeviceLike
from .._arrays._torch_words import refused_word


def tensor(
    data: Any,
    *,
    dtype: DTypeLike = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
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
        pin_memory: False; arrays are copied to a GPU from any memory.

    Raises:
        DefaultsError: There is no such device or dtype here.
        TypeError: `requires_grad` or `pin_memory` is True.
    """
    words = {"requires_grad": requires_grad, "pin_memory": pin_memory}
    for word, value in words.items():
        if value:
            raise refused_word("tensor", word, value)
    return array(data, dtype=dtype, device=device)
