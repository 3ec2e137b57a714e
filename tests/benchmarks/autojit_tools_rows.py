"""The rows of the benchmark of `autojit` with a model or an optimizer in `self`."""

import importlib.util
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from autojit_rows import Row

import jfi


X = jnp.arange(4.0)
hk: Any = importlib.util.find_spec("haiku") and importlib.import_module("haiku")


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
    """What a careful user has outside the compiled function, or as arguments."""
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
    if importlib.util.find_spec("flax"):
        yield linen_module()
    yield adam()
    if hk:
        yield from haiku_networks()


class Dense:
    """A layer as users write it."""

    def __init__(self, use_bias: bool = True) -> None:
        self.use_bias = use_bias

    def apply(self, params: Any, x: Any) -> Any:
        y = x @ params["kernel"]
        return y + params["bias"] if self.use_bias else y


class Layers:
    def __init__(self, *layers: Any) -> None:
        self.layers = layers

    def apply(self, params: Any, x: Any) -> Any:
        for k, layer in enumerate(self.layers):
            if isinstance(layer, Dense):
                x = layer.apply(params["params"][f"layers_{k}"], x)
            else:
                x = layer(x)
        return x


class Adam:
    """An optimizer as users write it."""

    def __init__(self, rate: float) -> None:
        self.rate, self.b1, self.b2, self.eps = rate, 0.9, 0.999, 1e-8

    def update(self, grads: Any, state: Any) -> Any:
        def average(decay: float) -> Any:
            return lambda old, new: decay * old + (1 - decay) * new

        n = state["n"] + 1
        m = jax.tree.map(average(self.b1), state["m"], grads)
        squares = jax.tree.map(jnp.square, grads)
        v = jax.tree.map(average(self.b2), state["v"], squares)

        def change(m: Any, v: Any) -> Any:
            m, v = m / (1 - self.b1**n), v / (1 - self.b2**n)
            return -self.rate * m / (jnp.sqrt(v) + self.eps)

        return jax.tree.map(change, m, v), {"m": m, "v": v, "n": n}


def linen_module() -> Row:
    linen: Any = importlib.import_module("flax.linen")
    model = linen.Sequential([linen.Dense(4), linen.relu, linen.Dense(4)])
    params = model.init(jax.random.key(0), X)
    holder = Holder(model, params=params)
    plain = Holder(Layers(Dense(), jax.nn.relu, Dense()), params=params)
    return Row(
        "method that applies a linen module in self / a plain object in self",
        lambda: holder.apply(X),
        lambda: plain.apply(X),
        1.5,
    )


def adam() -> Row:
    optimizer: Any = importlib.import_module("optax").adam(1e-3)
    training = Holder(optimizer, state=optimizer.init({"w": X}))
    state = {"m": {"w": 0 * X}, "v": {"w": 0 * X}, "n": jnp.zeros((), int)}
    plain = Holder(Adam(1e-3), state=state)
    return Row(
        "method that uses optax.adam in self / a plain object in self",
        lambda: training.update(X),
        lambda: plain.update(X),
        1.5,
        value=lambda out: jnp.round(out[0]["w"], 6),
    )


def haiku_networks() -> Iterator[Row]:
    made = hk.transform(_of_haiku)
    network = hk.without_apply_rng(made)
    params = network.init(jax.random.key(0), X)
    yield _applied("the apply of a haiku network", network, params, X)
    larger = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([64, 64, 10])(x)))
    rows = jnp.ones((32, 16))
    name = "the apply of a haiku network of 64, 64 and 10 neurons, for 32 rows"
    yield _applied(name, larger, larger.init(jax.random.key(0), rows), rows)
    holder = Holder(jfi.from_haiku(made), params=params)
    plain = Holder(_Mlp(), params=params)
    yield Row(
        "method that applies a network of from_haiku in self / a plain object in self",
        lambda: holder.apply(X),
        lambda: plain.apply(X),
        1.5,
    )


def _applied(name: str, network: Any, params: Any, x: Any) -> Row:
    ours, theirs = jfi.autojit(network.apply), jax.jit(network.apply)
    return Row(name, lambda: ours(params, x), lambda: theirs(params, x), 1.3)


def _of_haiku(x: Any) -> Any:
    return hk.nets.MLP([4, 4])(x[None])[0]


class _Mlp:
    """The same network as users write it."""

    def apply(self, params: Any, x: Any) -> Any:
        first, second = params["mlp/~/linear_0"], params["mlp/~/linear_1"]
        return jax.nn.relu(x @ first["w"] + first["b"]) @ second["w"] + second["b"]
