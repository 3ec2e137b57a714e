"""A user's function as a function of its argument and of all that it captures."""

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import eval_jaxpr

from ..._jax_internals import code_key, compares_code, has_rules
from .._host_calls import runs_now


class HoistedFunction:
    """A traced function; equal code is one object, so that what is compiled is found.

    `function(consts, *arguments)` returns its results as a flat list.
    """

    def __init__(self, jaxpr: Any) -> None:
        self._jaxpr = jaxpr

    def __call__(self, consts: Sequence[Any], *arguments: Any) -> list[Any]:
        """Evaluate it; derivatives and batches go through."""
        return list(eval_jaxpr(self._jaxpr, consts, *arguments))


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
        >>> from jfi._foreign.solvers._hoisting import hoisted
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
    key = code_key(closed.jaxpr) if comparable else None
    # Equal code has equal values, and equal derivatives only without rules of its own.
    if has_rules(closed.jaxpr):
        key = None
    # NumPy arrays come as they were captured, float64 ones with x64 off too.
    consts = [jnp.asarray(c) if isinstance(c, np.ndarray) else c for c in closed.consts]
    return Hoisted(_interned(key, closed.jaxpr), consts, shape)


Derived = Callable[..., Any]  # of a HoistedFunction, its consts and its arguments


def evaluated(
    derive: Derived, function: HoistedFunction, consts: Sequence[Any], *arguments: Any
) -> Any:
    """`derive(function, consts, *arguments)`, compiled where the values are at hand."""
    if runs_now([*consts, *arguments]):
        return _compiled(derive, function)(consts, *arguments)
    return derive(function, consts, *arguments)


@functools.lru_cache(maxsize=256)
def _compiled(derive: Derived, function: HoistedFunction) -> Callable[..., Any]:
    return jax.jit(functools.partial(derive, function))


_MAX_FUNCTIONS = 256
_functions: OrderedDict[Hashable, HoistedFunction] = OrderedDict()
_lock = threading.Lock()


def _interned(key: Hashable | None, jaxpr: Any) -> HoistedFunction:
    if key is None:
        return HoistedFunction(jaxpr)
    with _lock:
        function = _functions.setdefault(key, HoistedFunction(jaxpr))
        _functions.move_to_end(key)
        if len(_functions) > _MAX_FUNCTIONS:
            _functions.popitem(last=False)
    return function
