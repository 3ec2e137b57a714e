"""The rows of the benchmark of `autojit` that train a whole model of classes."""

import dataclasses
import importlib.util
import types
from collections.abc import Callable, Iterator
from typing import Any

import equinox
import jax
import jax.numpy as jnp
from autojit_rows import EQUINOX, Row

import jfi


LAYERS, SIZE = 24, 8


@jfi.pytree
class Linear:
    def __init__(self, rows: int, columns: int, dtype: Any) -> None:
        self.w = jnp.full((rows, columns), 0.01, dtype)
        self.b = jnp.zeros(columns, dtype)

    def __call__(self, x: Any) -> Any:
        return x @ self.w + self.b


@jfi.pytree
class Block:
    def __init__(self, dtype: Any) -> None:
        self.up = Linear(SIZE, 2 * SIZE, dtype)
        self.down = Linear(2 * SIZE, SIZE, dtype)
        self.scale, self.share = jnp.ones(SIZE, dtype), 0.5

    def __call__(self, x: Any) -> Any:
        return x + self.share * self.down(jnp.tanh(self.up(x * self.scale)))


@jfi.pytree
class Net:
    def __init__(self, dtype: Any) -> None:
        self.blocks = [Block(dtype) for _ in range(LAYERS)]

    def __call__(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return x


def loss(net: Any, x: Any) -> Any:
    return (net(x) ** 2).sum()


def update(optimizer: Any, net: Any, state: Any, x: Any) -> tuple[Any, Any, Any]:
    value, slope = jax.value_and_grad(loss)(net, x)
    changes, state = optimizer.update(slope, state)
    return value, jax.tree.map(lambda p, change: p + change, net, changes), state


class Trainer:
    """A model and the state of its optimizer, as attributes."""

    def __init__(self, optimizer: Any, dtype: Any) -> None:
        self.net, self.optimizer = Net(dtype), optimizer
        self.state = optimizer.init(self.net)

    @jfi.autojit
    def step(self, x: Any) -> Any:
        value, self.net, self.state = update(self.optimizer, self.net, self.state, x)
        return value


def by_arguments(
    jit: Callable[..., Any], optimizer: Any, net: Any, x: Any
) -> Callable[[], Any]:
    """The same training with the model and the state as arguments and results."""
    step = jit(lambda net, state, x: update(optimizer, net, state, x))
    net_and_state = [net, optimizer.init(net)]

    def run() -> Any:
        value, *net_and_state[:] = step(*net_and_state, x)
        return value

    return run


def copied(net: Net, make: Callable[[str, type, dict[str, Any]], Any]) -> Any:
    """A model of classes that `make` makes of a name, a class and its fields."""

    def of(x: Any) -> Any:
        if isinstance(x, list):
            return [of(part) for part in x]
        if isinstance(x, Linear | Block | Net):
            cls, fields = type(x), {name: of(value) for name, value in vars(x).items()}
            if cls.__name__ not in classes:
                classes[cls.__name__] = make(cls.__name__, cls, fields)
            return classes[cls.__name__](**fields)
        return x

    classes: dict[str, Any] = {}
    return of(net)


def dataclass_of(name: str, cls: type, fields: dict[str, Any]) -> Any:
    call = {"__call__": vars(cls)["__call__"]}
    made = dataclasses.make_dataclass(name, list(fields), namespace=call)
    static = [name for name, value in fields.items() if isinstance(value, float)]
    data = [name for name in fields if name not in static]
    return jax.tree_util.register_dataclass(made, data, static)


def module_of(name: str, cls: type, fields: dict[str, Any]) -> Any:
    static = equinox.field(static=True)
    defaults = {n: static for n, value in fields.items() if isinstance(value, float)}
    body = {"__annotations__": dict.fromkeys(fields, Any), **defaults}
    body["__call__"] = vars(cls)["__call__"]
    return types.new_class(
        name, (equinox.Module,), exec_body=lambda ns: ns.update(body)
    )


def training() -> Iterator[Row]:
    """A step of Adam that writes a whole model, and the state, to `self`."""
    if not importlib.util.find_spec("optax"):
        return
    optimizer: Any = importlib.import_module("optax").adam(1e-3)
    for dtype in ("float32", "bfloat16"):
        x, net = jnp.ones(SIZE, dtype), Net(dtype)
        trainer = Trainer(optimizer, dtype)
        dataclass, module = (copied(net, make) for make in (dataclass_of, module_of))
        yield Row(
            f"a step of Adam, {LAYERS} layers of classes in self, {dtype} / registered "
            "dataclasses as arguments",
            lambda trainer=trainer, x=x: trainer.step(x),
            by_arguments(jax.jit, optimizer, dataclass, x),
            1.3,
            {EQUINOX: by_arguments(equinox.filter_jit, optimizer, module, x)},
            calls=5,
            value=lambda loss: jnp.round(loss, 2),
            asks_more=False,
        )
