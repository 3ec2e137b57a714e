"""Rows of bench_autojit.py: what must not be compiled again.

Calls that are traced again, to code that is compiled: what stands for 1 is the trace
alone, `jax.make_jaxpr` of the same body. And functions compiled where they are called:
what stands for 1 is `jax.jit`, written in the same place.
"""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import equinox
import jax
import jax.numpy as jnp
import numpy as np
import optax
from autojit_rows import EQUINOX, Row, Way

import jfi


INLINE = 6.0  # of a wrapper made at each call
LIMIT = 3.0  # compiling takes 10 times as long as tracing, and more
X = jnp.arange(4.0)


def body(params: dict[str, Any], x: Any) -> Any:
    for w in params.values():
        x = jax.nn.gelu(x * w + 0.5) - w
    return x


PARAMS = {name: X + k for k, name in enumerate("abcdef")}


def traced(fn: Callable[..., Any], *args: Any) -> Way:
    """Traces a function at each call, and gives its result."""
    result = fn(*args)

    def call() -> Any:
        jax.make_jaxpr(lambda *args: fn(*args))(*args)
        return result

    return call


def row(name: str, ours: Way, base: Way, theirs: Way | None = None) -> Row:
    others = {EQUINOX: theirs} if theirs else {}
    return Row(
        name, ours, base, LIMIT, others, calls=1, compared=1, value=_to_four_digits
    )


def _to_four_digits(x: Any) -> Any:
    # Eager and compiled code round differently.
    return np.array([f"{value:.4g}" for value in np.ravel(np.asarray(x))])


class Layer(equinox.Module):
    params: dict[str, Any]
    tag: str = equinox.field(static=True)

    def __call__(self, x: Any) -> Any:
        assert self.tag
        return body(self.params, x)


def static_field() -> Row:
    tags = map(str, itertools.count())
    ours, theirs = jfi.autojit(Layer.__call__, warn_after=10**6), equinox.filter_jit
    compiled = theirs(Layer.__call__)
    return row(
        "a static field changes, the numbers don't (JAX 33043)",
        lambda: ours(Layer(PARAMS, next(tags)), X),
        traced(body, PARAMS, X),
        lambda: compiled(Layer(PARAMS, next(tags)), X),
    )


class Model:
    def __init__(self, name: str) -> None:
        self.name, self.params = name, PARAMS

    @functools.partial(jfi.autojit, warn_after=10**6)
    def apply(self, x: Any) -> Any:
        assert self.name
        return body(self.params, x)


def bound_method() -> Row:
    names = map(str, itertools.count())
    return row(
        "a method of a new object (JAX 9672)",
        lambda: Model(next(names)).apply(X),
        traced(body, PARAMS, X),
    )


def step(optimizer: Any, w: Any, state: Any) -> Any:
    grads = jax.grad(lambda w: body({"w": w}, X).sum())(w)
    updates, state = optimizer.update(grads, state, w)
    return optax.apply_updates(w, updates)


def optimizer_anew() -> Row:
    compiled = jfi.autojit(step, warn_after=10**6)
    theirs = equinox.filter_jit(step)
    state = optax.adam(0.1).init(X)
    return row(
        "an optimizer made anew (optax 197)",
        lambda: compiled(optax.adam(0.1), X, state),
        traced(lambda w, state: step(optax.adam(0.1), w, state), X, state),
        lambda: theirs(optax.adam(0.1), X, state),
    )


def order_of_keys() -> Row:
    orders = itertools.cycle(itertools.permutations(PARAMS))

    def shuffled() -> dict[str, Any]:
        return {name: PARAMS[name] for name in next(orders)}

    def total(params: dict[str, Any], x: Any) -> Any:
        return body(dict(sorted(params.items())), x)

    compiled = jfi.autojit(total, warn_after=10**6)
    return row(
        "the keys of a dict in another order",
        lambda: compiled(shuffled(), X),
        traced(total, PARAMS, X),
    )


def inline(jit: Callable[..., Any], name: str) -> Row:
    return Row(
        f"{name}(f)(x) written inline / jax.jit(f)(x)",
        lambda: jit(body)(PARAMS, X),
        lambda: jax.jit(body)(PARAMS, X),
        INLINE,
        calls=30,
    )


def rows() -> Iterator[Row]:
    """The rows."""
    yield static_field()
    yield bound_method()
    yield optimizer_anew()
    yield order_of_keys()
    yield inline(jfi.jit, "jit")
    yield inline(jfi.autojit, "autojit")
