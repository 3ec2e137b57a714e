"""What PyTorch-style functions are given: numbers, and no key in their place."""

from typing import Any, cast

import jax.numpy as jnp
import numpy as np

from ..._arrays._config import DTypeLike
from ..._arrays._placement import dtype_of_data
from ..._arrays._torch_words import explains_words
from ..._docstrings import Function
from ..._errors import RandomError
from ..._values import is_key
from .._documented import documented
from .._drawing import parameter


def in_torch_style(function: Function) -> Function:
    """Complete the docstring of a function that has the arguments of PyTorch's."""
    return cast("Function", explains_words(documented(function)))


def numbers(caller: str, name: str, given: Any) -> Any:
    """A parameter as a number or an array; a key in its place is refused."""
    if is_key(given):
        own = f"jnp.{caller}(..., key=key)"
        raise RandomError(f"{caller}() got a random key for {name}. Write {own}.")
    if given is None or isinstance(given, (str, bytes)):
        raise TypeError(f"{caller}() got {name}={given!r}, which is no number.")
    return parameter(given, caller)


def dtype_like(input: Any, dtype: DTypeLike) -> Any:
    """The dtype asked for, or that of the array to take after."""
    if dtype is not None:
        return dtype
    return dtype_of_data(None, input, "array") or np.dtype(jnp.result_type(input))
