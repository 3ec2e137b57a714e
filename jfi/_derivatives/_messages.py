"""How values are called in the errors of derivatives, and wrappers of functions."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._errors import DerivativeError
from .._values import (
    array_label,
    function_name,
    has_dtype,
    is_key,
    names_to_copy,
    refuse_no_function,
)


def described(x: Any) -> str:
    """A value in a few words.

    >>> described(3), described(np.zeros(3)), described("tanh"), described((1, 2))
    ('the int 3', 'float64[3]', "the str 'tanh'", 'a tuple of 2')
    """
    if has_dtype(x) or isinstance(x, jax.ShapeDtypeStruct):
        if is_key(x):
            return "a random key" if x.shape == () else f"random keys {list(x.shape)}"
        return array_label(x.shape, x.dtype)
    if x is None:
        return "None"
    if isinstance(x, (bool, int, float, complex, str)):
        return f"the {type(x).__name__} {x!r:.60}"
    if isinstance(x, (tuple, list, dict)):
        return f"a {type(x).__name__} of {len(x)}"
    if callable(x):
        return f"the function {function_name(x)}"
    name = type(x).__name__
    return f"an {name}" if name[0] in "AEIOUaeiou" else f"a {name}"


def described_kind(x: Any) -> str:
    """The type of a leaf, of which there is its `blank`."""
    if isinstance(x, (bool, int)):
        return f"{type(x).__name__}"
    return "no number" if x is None else described(x)


def as_float(x: Any, name: str) -> str | None:
    """What to write for a number that has no derivative, to give it one."""
    if isinstance(x, (bool, int)):
        return f"{float(x)} instead of {x}"
    if has_dtype(x) and any(
        jnp.issubdtype(x.dtype, kind) for kind in (np.integer, np.bool_)
    ):
        return f"{name}.astype(float)"
    return None


def check_function(fun: Any) -> None:
    """Refuse what can't be called."""
    if not callable(fun):
        raise DerivativeError(
            f"Write the function to differentiate, not {described(fun)}."
        )
    refuse_no_function("grad", fun, DerivativeError)


def like(fun: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a wrapper with the name, the documentation and signature of `fun`."""

    def decorate(wrapper: Callable[..., Any]) -> Callable[..., Any]:
        wrapped = functools.wraps(fun, names_to_copy(fun), updated=())(wrapper)
        # Partials and callable objects have no name, which JAX gives to programs.
        wrapped.__name__ = function_name(fun)
        return wrapped

    return decorate


def traced_as(fun: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate what JAX traces in place of `fun`: its messages name `fun` and its line.

    A fifth of the time of `like`, for functions that are made at each call.
    """

    def decorate(wrapper: Any) -> Callable[..., Any]:
        wrapper.__name__ = function_name(fun)
        wrapper.__wrapped__ = fun
        return wrapper  # type: ignore[no-any-return]

    return decorate
