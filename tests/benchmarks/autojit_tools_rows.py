"""The rows of the benchmark of `autojit` with a model or an optimizer in `self`."""

import importlib.util
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from autojit_rows import Row

import jfi


X = jnp.arange(4.0)


class Holder:
    """An object with arrays, and something large beside them that a method uses."""

    def __init__(self, tool: Any, **attributes: Any) -> None:
        self.tool = tool
        self.__dict__.update(attributes)

    @jfi.autojit
    def apply(self, x: Any) -> Any:
        return self.tool.apply(self.params, x)

    @jfi.autojit
    def update(self, x: Any) -> Any:
        return self.tool.update({"w": x}, self.state)

    @jfi.autojit
    def scale(self, x: Any) -> Any:
        return x * sum(self.tool)

    @jfi.autojit
    def ignore(self, x: Any) -> Any:
        return x * self.w


def tools() -> Iterator[Row]:
    """What a careful user has outside of the compiled function, or as arguments."""
    floats = [float(k) for k in range(100)]
    scaling, ignoring = Holder(floats), Holder(floats, w=X + 1)
    w, multiply = ignoring.w, jax.jit(lambda w, x: x * w)
    scaled = jax.jit(lambda floats, x: x * sum(floats))
    yield Row(
        "method that reads a list of 100 floats in self / the list as argument",
        lambda: scaling.scale(X),
        lambda: scaled(floats, X),
        1.5,
    )
    yield Row(
        "method that leaves a list of 100 floats in self alone / without the list",
        lambda: ignoring.ignore(X),
        lambda: multiply(w, X),
        1.5,
    )
    if importlib.util.find_spec("flax") is None:
        return
    linen: Any = importlib.import_module("flax.linen")
    model = linen.Sequential([linen.Dense(4), linen.relu, linen.Dense(4)])
    params = model.init(jax.random.key(0), X)
    holder = Holder(model, params=params)
    apply = jax.jit(model.apply)
    yield Row(
        "method that applies a linen module in self / the module outside",
        lambda: holder.apply(X),
        lambda: apply(params, X),
        1.5,
    )
    optimizer: Any = importlib.import_module("optax").adam(1e-3)
    state = optimizer.init({"w": X})
    training = Holder(optimizer, state=state)
    update = jax.jit(lambda state, x: optimizer.update({"w": x}, state))
    yield Row(
        "method that uses optax.adam in self / the optimizer outside",
        lambda: training.update(X),
        lambda: update(state, X),
        1.5,
        value=lambda out: out[0]["w"],
    )
