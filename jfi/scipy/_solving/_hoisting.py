"""A user's function as a function of its argument and of all that it captures."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import eval_jaxpr

from ..._errors import SolverError
from ..._host import runs_now
from ..._jax_internals import (
    code_key,
    compares_code,
    consts_as_arguments,
    has_rules,
    is_ref,
)
from ..._values import Recent


_MAX_FUNCTIONS = 256


class HoistedFunction:
    """A traced function; equal code is one object, so that what is compiled is found.

    `function(consts, *arguments)` returns its results as a flat list.
    """

    def __init__(self, jaxpr: Any, *, shared: bool) -> None:
        self._jaxpr = jaxpr
        self.shared = shared

    def __call__(self, consts: Sequence[Any], *arguments: Any) -> list[Any]:
        """Evaluate it; derivatives and batches go through."""
        return list(eval_jaxpr(self._jaxpr, (), *consts, *arguments))


class Hoisted(NamedTuple):
    """What `hoisted` returns.

    Attributes:
        function: The traced function.
        consts: The values that it captured, tracers among them.
        shape: The structure of its result, of `jax.ShapeDtypeStruct`.
    """

    function: HoistedFunction
    consts: list[Any]
    shape: Any


def hoisted(function: Callable[..., Any], *arguments: Any) -> Hoisted:
    """Trace a function; the values that it captures become arguments.

    Example:
        >>> import jax
        >>> from jfi.scipy._solving._hoisting import hoisted
        >>> scale = jax.numpy.float32(3.0)
        >>> f = hoisted(lambda x: scale * x, jax.ShapeDtypeStruct((), "float32"))
        >>> f.function(f.consts, 2.0)
        [Array(6., dtype=float32)]

    Args:
        function: A JAX function.
        *arguments: Arrays, or their shapes and dtypes.
    """
    comparable = compares_code()  # before anything is traced
    closed, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
    if any(map(is_ref, closed.consts)):
        message = (
            "A solver got a function that draws random numbers or has other state. "
            "Its value must depend on its arguments alone: draw once, before the call, "
            "and use these numbers in the function."
        )
        raise SolverError(message)
    # NumPy arrays come as they were captured, float64 ones with x64 off too.
    consts = [jnp.asarray(c) if isinstance(c, np.ndarray) else c for c in closed.consts]
    jaxpr = _without_values(closed, consts, arguments)
    key = code_key(jaxpr) if comparable else None
    # Equal code has equal values, and equal derivatives only without rules of its own.
    if has_rules(jaxpr):
        key = None
    new = HoistedFunction(jaxpr, shared=key is not None)
    known = new if key is None else _functions.add(key, new)
    return Hoisted(known, consts, shape)


def _without_values(closed: Any, consts: list[Any], arguments: tuple[Any, ...]) -> Any:
    """A jaxpr that takes the captured values as its first arguments, and holds none."""
    convert = consts_as_arguments()
    if convert:
        return convert(closed.jaxpr)

    def taking(consts: list[Any], *arguments: Any) -> list[Any]:
        return list(eval_jaxpr(closed.jaxpr, consts, *arguments))

    if not consts:
        return closed.jaxpr
    types = [
        jax.ShapeDtypeStruct(c.shape, c.dtype, weak_type=jax.typeof(c).weak_type)
        for c in consts
    ]
    return jax.make_jaxpr(taking)(types, *arguments).jaxpr


Derived = Callable[..., Any]  # of a HoistedFunction, its consts and its arguments


def evaluated(
    derive: Derived, function: HoistedFunction, consts: Sequence[Any], *arguments: Any
) -> Any:
    """`derive(function, consts, *arguments)`, compiled where the values are at hand."""
    if runs_now([*consts, *arguments]):
        return _compiled(derive, function)(consts, *arguments)
    return derive(function, consts, *arguments)


def value_of(function: HoistedFunction, consts: Any, x: jax.Array) -> jax.Array:
    """The value at a point of a function that has one result."""
    value: jax.Array = function(consts, x)[0]
    return value


@functools.lru_cache(maxsize=256)
def _compiled(derive: Derived, function: HoistedFunction) -> Callable[..., Any]:
    derived = functools.partial(derive, function)
    return jax.jit(derived) if function.shared else _SharedByCode(derived)


class _SharedByCode:
    """A derived function with rules of its own, such as `jax.nn.relu` has.

    Nothing is derived from it any more, so that equal code is equal here.
    """

    _programs: ClassVar[Recent[Any]] = Recent(_MAX_FUNCTIONS)

    def __init__(self, derived: Callable[..., Any]) -> None:
        self._derived = derived
        self._program: Any = None

    def __call__(self, consts: Sequence[Any], *arguments: Any) -> Any:
        if self._program is None:
            traced: Any = jax.make_jaxpr(self._derived)(consts, *arguments)
            key = code_key(traced) if compares_code() else None
            program = jax.jit(self._derived)
            self._program = program if key is None else self._programs.add(key, program)
        return self._program(consts, *arguments)


_functions: Recent[HoistedFunction] = Recent(_MAX_FUNCTIONS)
