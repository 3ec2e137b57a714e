"""Reading the arguments of the functions that PyTorch named."""

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np

from .._arrays._config import get_default_dtype
from .._arrays._placement import narrowed
from .._errors import DefaultsError
from .._values import is_tracer, numbers_of


P = ParamSpec("P")
R = TypeVar("R")


def numpy_spellings(**torch_names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take NumPy's keywords beside PyTorch's: `axis="dim"`.

    The function names both in its signature, so that editors and type checkers know
    them, and reads PyTorch's alone: the value is passed on under that name too.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        position = {
            name: i for i, name in enumerate(inspect.signature(function).parameters)
        }

        @functools.wraps(function)
        def with_both(*args: P.args, **kwargs: P.kwargs) -> R:
            for numpy_name in torch_names.keys() & kwargs.keys():
                name = torch_names[numpy_name]
                if name in kwargs or len(args) > position[name]:
                    raise TypeError(
                        f"{function.__name__}() got both {name} and {numpy_name}, "
                        f"which mean the same. Pass one of them."
                    )
                kwargs[name] = kwargs[numpy_name]
            return function(*args, **kwargs)

        # Custom arrays' rules get PyTorch's word alone, as the function does.
        vars(with_both)["numpy_spellings"] = torch_names
        return with_both

    return decorate


def is_arraylike(value: object) -> bool:
    """Whether a value is an array or a number that JAX takes as one."""
    kinds = (jax.Array, np.ndarray, np.generic, bool, int, float, complex)
    return isinstance(value, kinds) or hasattr(type(value), "__jax_array__")


def as_array(value: object, function: str, argument: str = "input") -> jax.Array:
    """The JAX array of an argument: arrays and numbers pass, lists do not.

    Raises:
        TypeError: The value is neither an array nor a number.
    """
    if isinstance(value, jax.Array):
        return value
    if not is_arraylike(value):
        raise TypeError(
            f"{function}() got a {type(value).__name__} for {argument}; it takes an "
            f"array. Convert it first: jnp.asarray({argument})."
        )
    try:
        return jnp.asarray(narrowed(value, None, function))
    except DefaultsError:  # a TypeError, in words of its own
        raise
    except TypeError as error:
        dtype = getattr(value, "dtype", type(value).__name__)
        known = dtype if isinstance(dtype, np.dtype) else np.dtype(object)
        raise TypeError(
            f"{function}() got an array of {dtype} for {argument}, which JAX does not "
            f"have. Convert it to numbers first: {numbers_of(known, argument)}."
        ) from error


def floats(
    value: object, function: str, argument: str = "input", takes_complex: bool = False
) -> jax.Array:
    """As `as_array`, of floats alone.

    Raises:
        TypeError: The array holds integers or bools, or complex numbers that the
            function does not take.
    """
    x = as_array(value, function, argument)
    if not jnp.issubdtype(x.dtype, jnp.inexact if takes_complex else jnp.floating):
        taken = "floats or complex numbers" if takes_complex else "floats"
        raise TypeError(
            f"{function}() got an array of {x.dtype} for {argument}; it takes {taken}. "
            f"Convert it: {argument}.astype(float)."
        )
    return x


def as_floats(value: object, function: str, argument: str = "input") -> jax.Array:
    """As `as_array`; integers become the default float dtype."""
    x = as_array(value, function, argument)
    inexact = jnp.issubdtype(x.dtype, jnp.inexact)
    return x if inexact else x.astype(get_default_dtype())


def concrete(value: jax.Array, function: str, instead: str) -> jax.Array:
    """The array itself, if its numbers are known.

    Raises:
        jax.errors.ConcretizationTypeError: JAX is tracing (`jit`, `grad`, `vmap`, ...).
    """
    if is_tracer(value):
        raise jax.errors.ConcretizationTypeError(
            cast("Any", value),
            f"{function}() needs the numbers themselves, and a function under jit, "
            f"grad or vmap is traced before they are known. {instead}\n",
        )
    return value


def as_integer(value: object, function: str, argument: str) -> int:
    """The Python int of an argument that must be known when JAX traces.

    Raises:
        TypeError: The value is not an integer, or is traced.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if is_tracer(value) or isinstance(value, (bool, np.bool_)):
        seen = "a traced array" if is_tracer(value) else f"the bool {value}"
        raise TypeError(
            f"{function}() got {seen} for {argument}; it must be a Python int, which "
            f"is the same at every call of a compiled function."
        )
    try:
        return operator.index(cast("Any", value))
    except TypeError:
        raise TypeError(
            f"{function}() got {argument}={value!r} ({type(value).__name__}); "
            f"{argument} must be an int."
        ) from None


def dimension(dim: object, ndim: int, function: str, argument: str = "dim") -> int:
    """The non-negative number of a dimension; a 0-d array counts as having one.

    Raises:
        IndexError: The array has no such dimension.
        TypeError: `dim` is not an int.
    """
    number, size = as_integer(dim, function, argument), max(ndim, 1)
    if not -size <= number < size:
        raise IndexError(
            f"{function}() got {argument}={number} for an array of {ndim} dimensions; "
            f"{argument} must lie between {-size} and {size - 1}."
        )
    return number % size


def dimensions(dims: Sequence[object], ndim: int, function: str) -> tuple[int, ...]:
    """The non-negative numbers of several dimensions, each of which comes once.

    Raises:
        IndexError: The array has no such dimension.
        TypeError: One of `dims` is not an int.
        ValueError: A dimension comes twice.
    """
    numbers = tuple(dimension(dim, ndim, function) for dim in dims)
    if len(set(numbers)) < len(numbers):
        raise ValueError(
            f"{function}() got dim={tuple(dims)!r}, which names a dimension twice. "
            f"Name each one once."
        )
    return numbers


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of the integers (bool is not)."""
    return jnp.issubdtype(dtype, jnp.integer)


def integer_range(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The smallest and the largest number of an integer dtype."""
    info = jnp.iinfo(dtype)  # type: ignore[no-untyped-call]
    return int(info.min), int(info.max)


def largest_float(dtype: np.dtype[Any]) -> float:
    """The largest finite number of a float or complex dtype."""
    return float(jnp.finfo(dtype).max)  # type: ignore[no-untyped-call]
