"""What all solvers take, made hashable: settings of compiled programs."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import SolverError
from ..._values import NEEDS_VALUE


P = ParamSpec("P")
R = TypeVar("R")
Options = tuple[tuple[str, Any], ...]


def frozen(options: Mapping[str, Any] | None) -> Options:
    """Options of SciPy as pairs, in order."""
    return tuple(sorted((options or {}).items()))


def made_once(make: Callable[P, R]) -> Callable[P, R]:
    """What is made of settings, once for equal ones: by it programs are found again.

    It is made anew of an array among them, which is not compared.
    """
    cached: Any = functools.lru_cache(make)

    @functools.wraps(make)
    def get(*settings: P.args, **named: P.kwargs) -> R:
        try:
            hash((settings, *named.items()))
        except TypeError:
            return make(*settings, **named)
        result: R = cached(*settings, **named)
        return result

    return get


def bound(function: Callable[..., Any], args: Any) -> Callable[..., Any]:
    """`function(x, *args)` as a function of `x`; SciPy takes one argument bare.

    Python's floats among them become arrays: other values are the same program then.
    Where Python code of the function asks for their values they stay what they are.
    """
    if not isinstance(args, tuple):
        args = (args,)
    values = jax.tree.map(lambda x: jnp.asarray(x) if type(x) is float else x, args)

    def call(*x: Any) -> Any:
        try:
            return function(*x, *values)
        except NEEDS_VALUE:
            return function(*x, *args)

    return call


def real_array(value: Any, name: str) -> jax.Array:
    """An array of float32 or float64, which SciPy can search in.

    Args:
        value: What the user passed.
        name: What the user calls it, for messages.
    """
    array = jnp.asarray(value)
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        message = (
            f"{name} has dtype {array.dtype}, and SciPy's solvers take real numbers. "
            "Pass real and imaginary parts one after the other: "
            "jnp.concatenate([z.real, z.imag])."
        )
        raise SolverError(message)
    if array.dtype in (jnp.float32, jnp.float64):
        return array
    return array.astype(precise_dtype(array))


def precise_dtype(*arrays: Any) -> Any:
    """The dtype of all, of at least 32 bits; for integers the float that JAX creates.

    Under JAX's strict promotion the arrays must agree, and nothing else.
    """
    common = jnp.result_type(*arrays)
    if not jnp.issubdtype(common, jnp.inexact):
        return jnp.result_type(float)
    return common if common.itemsize >= 4 else np.dtype(np.float32)


def tolerance(dtype: Any) -> float:
    """The square root of the precision: what MINPACK stops at."""
    return float(np.sqrt(np.finfo(dtype).eps))


def refuse_method(method: Any, methods: tuple[str, ...], name: str) -> None:
    """Raise if this is no method."""
    if method not in methods:
        message = (
            f"{name}() got method={method!r}. It has the methods "
            f"{', '.join(map(repr, methods))}."
        )
        raise SolverError(message)
