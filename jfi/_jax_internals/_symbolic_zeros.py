"""A cotangent that is zero for sure, of which JAX computes nothing.

The function that `jax.vjp` returns takes it in place of an array.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ._pieces import outside_of_tracing, piece


def zero_of_type(kind: Any) -> Any:
    """A zero cotangent for an output of a type (as of `jax.typeof`); else an array."""
    make: Callable[[Any], Any] = symbolic_zeros() or _zeros
    return make(kind)


def is_zero_of_type(x: object) -> bool:
    """Whether a value is such a zero."""
    return isinstance(x, _classes())


@functools.cache
def _classes() -> tuple[type, ...]:
    try:
        from jax.experimental.hijax import Zero
    except ImportError:
        return ()
    return (Zero,)


@piece(
    uses="jax.experimental.hijax.Zero, which JAX lists without documentation",
    without="a None cotangent of jfi.vjp costs what an array of zeros costs",
)
def symbolic_zeros() -> Callable[[Any], Any] | None:
    (cls,) = _classes()

    def make(kind: Any) -> Any:
        return cls(kind.to_tangent_aval())

    return make if outside_of_tracing(lambda: _costs_nothing(make)) else None


def _zeros(kind: Any) -> Any:
    return jnp.zeros(kind.shape, kind.dtype)


def _costs_nothing(make: Callable[[Any], Any]) -> bool:
    """Whether a zero is pulled back without the products of its output."""

    def both(x: Any) -> Any:
        return [2 * x, x @ x]

    def slope(x: Any) -> Any:
        outs, pull = jax.vjp(both, x)
        return pull([jnp.ones_like(outs[0]), make(jax.typeof(outs[1]))])[0]

    square = jax.ShapeDtypeStruct((2, 2), "float32")
    jaxpr = jax.make_jaxpr(slope)(square)
    products = str(jaxpr).count("dot_general[")
    return products <= 1 and jaxpr.out_avals[0].shape == square.shape
