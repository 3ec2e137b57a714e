"""Zeros: `ZERO` of any structure, and `zero_cotangent` of that of a tree."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.custom_derivatives import SymbolicZero

from .._jax_internals import is_zero_of_type
from .._values import is_data


@jax.tree_util.register_static
class Zero:
    """The type of `jfi.ZERO`.

    `jfi.ZERO` is the zero of every type and structure, for cotangents, tangents and
    updates. It does what None does there, and can't be taken for a forgotten value.

    >>> import jfi as jnp
    >>> (value, big), pull = jnp.vjp(lambda x: (x**2, jnp.ones(9) * x), 3.0)
    >>> float(pull((1.0, jnp.ZERO))[0])
    6.0
    """

    def __repr__(self) -> str:
        return "jfi.ZERO"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Zero)

    def __hash__(self) -> int:
        return hash(Zero)

    def __reduce__(self) -> str:
        return "ZERO"


ZERO = Zero()


def is_zero(x: object) -> bool:
    """Whether a value stands for a zero, whatever its place."""
    return x is None or isinstance(x, (Zero, SymbolicZero)) or is_zero_of_type(x)


def zero_cotangent(tree: Any, symbolic: bool = False) -> Any:
    """The zero cotangent of a tree: of each leaf the zero that JAX takes for it.

    >>> import jfi as jnp
    >>> zero = jnp.zero_cotangent({"w": jnp.ones(2), "n": 3, "act": "tanh"})
    >>> zero["w"], zero["n"].dtype == jnp.jax.dtypes.float0, zero["act"]
    (Array([0., 0.], dtype=float32), True, None)

    Args:
        tree: Arrays, numbers, `jax.ShapeDtypeStruct`, and leaves that are no data.
        symbolic: Whether floats get a zero that takes no memory, as the rules of
            `jax.custom_vjp` may return it.

    Returns:
        A tree like it: of floats zeros of their shape and dtype, of ints, bools and
        random keys float0, of other leaves None.
    """

    def zero(x: Any) -> Any:
        if not (is_data(x) or isinstance(x, jax.ShapeDtypeStruct)):
            return None
        dtype: Any = getattr(x, "dtype", None) or jax.typeof(x).dtype
        if not jnp.issubdtype(dtype, np.inexact):
            return np.zeros(np.shape(x), jax.dtypes.float0)
        if symbolic:
            return SymbolicZero(ShapedArray(np.shape(x), dtype))
        return jnp.zeros(np.shape(x), dtype)

    return jax.tree.map(zero, tree)
