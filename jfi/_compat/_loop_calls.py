"""What loops ask of JAX: calls with rules; the axes and the Refs that a jaxpr uses.

The calls are in modules of their own, which are imported and proved at first use.
"""

import contextlib
import functools
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np


@functools.cache
def linear_calls() -> Callable[..., Any] | None:
    """`linear_call` of `_linear_call`, if it works in this release; else None."""
    try:
        from ._linear_call import linear_call
    except (ImportError, AttributeError):
        return None
    return linear_call if _proves(lambda: _transposes(linear_call)) else None


@functools.cache
def ruled_calls() -> Callable[..., Any] | None:
    """`ruled_call` of `_ruled_call`, if it works in this release; else None."""
    try:
        from ._ruled_call import ruled_call
    except (ImportError, AttributeError):
        return None
    return ruled_call if _proves(lambda: _follows_rules(ruled_call)) else None


def _proves(test: Callable[[], bool]) -> bool:
    """Whether a test passes outside of every transformation: in a new thread."""
    passed: list[bool] = []

    def prove() -> None:
        with contextlib.suppress(Exception):  # whatever another JAX says
            passed.append(test())

    thread = threading.Thread(target=prove)
    thread.start()
    thread.join()
    return passed == [True]


def _follows_rules(ruled_call: Callable[..., Any]) -> bool:
    """Whether a call has the derivative and the batched form that it is given."""

    def rows(size: Any, options: Any, is_batched: Any, x: Any) -> Any:
        return x * 10, True

    def derivative(primals: Any, tangents: Any) -> Any:
        return primals[0], tangents[0] * 3

    call = ruled_call(lambda x: x, rows, derivative, frozenset())
    found = jax.jit(
        lambda x: (call(x), jax.vmap(call)(x), jax.grad(lambda x: call(x).sum())(x))
    )(np.ones(1, np.float32))
    return [x.tolist() for x in found] == [[1], [10], [3]]


def _transposes(linear_call: Callable[..., Any]) -> bool:
    """Whether a product that is declared linear has all its derivatives."""

    def times(a: Any, x: Any) -> Any:
        return a * x

    @jax.custom_jvp
    def product(a: Any, x: Any) -> Any:
        return a * x

    @product.defjvp
    def _derivative(primals: Any, tangents: Any) -> Any:
        (a, x), (_, dx) = primals, tangents
        return a * x, linear_call(times, times, a, dx, like=x)

    def derivatives(a: Any) -> Any:
        return (
            jax.jvp(jax.vmap(product), (a, a), (a, a))[1],
            jax.grad(lambda x: jax.vmap(product)(a, x).sum())(a),
            jax.vmap(jax.jacfwd(jax.grad(lambda a: product(a, a) * a)))(a),
        )

    found = jax.jit(derivatives)(np.arange(1, 4, dtype=np.float32))
    return [x.tolist() for x in found] == [[1, 4, 9], [1, 2, 3], [4, 8, 12]]


def is_ref(x: Any) -> bool:
    """Whether a captured value is a `jax.Ref`, which code may change.

    The name of its type (checked in 0.10.2 and 0.12.0).
    """
    return type(jax.typeof(x)).__name__ == "AbstractRef"


def names_of_axes(traced: Any) -> frozenset[Any]:
    """The axes that a jaxpr names: for `psum`, `axis_index` ...

    The effects of a jaxpr (checked in 0.10.2 and 0.12.0). Without them none; a batch of
    loops that names its axis is then refused by JAX.
    """
    effects: Any = getattr(traced.jaxpr, "effects", ())
    named = (e for e in effects if type(e).__name__ == "NamedAxisEffect")
    return frozenset(effect.name for effect in named)


def exchanging_axes(traced: Any) -> frozenset[Any]:
    """The axes over which a jaxpr exchanges values: `psum`, not `axis_index`.

    The effects of equations (checked in 0.10.2 and 0.12.0). Without them none.
    """
    found: set[Any] = set()
    for equation in traced.eqns:
        inner = [
            getattr(x, "jaxpr", x)
            for value in equation.params.values()
            for x in (value if isinstance(value, (tuple, list)) else [value])
        ]
        jaxprs = [x for x in inner if hasattr(x, "eqns")]
        if jaxprs:
            found.update(*map(exchanging_axes, jaxprs))
        elif equation.primitive.name != "axis_index":
            effects: Any = getattr(equation, "effects", ())
            named = (e for e in effects if type(e).__name__ == "NamedAxisEffect")
            found.update(effect.name for effect in named)
    return frozenset(found)
