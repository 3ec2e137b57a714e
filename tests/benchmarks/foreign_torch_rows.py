"""Rows of `bench_foreign.py`: functions and modules of PyTorch inside JAX.

Small calls are compared with an empty callback of JAX, which takes 10 us where nothing
else runs, so that the limits of 30 and 80 us hold on any machine.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from harness import BY_HAND, Case
from jax.experimental.buffer_callback import buffer_callback
from sklearn.datasets import load_digits

import jfi


F = torch.nn.functional


def rows() -> Iterator[tuple[Case, int]]:
    """Each case, and how many calls make one measurement."""
    torch.set_num_threads(1)
    yield from _small_calls()
    yield from _large_calls()
    yield from _networks()
    yield _batch()
    yield _digits()


def _ready(f: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return lambda: jax.block_until_ready(f(*args))


def _small_calls() -> Iterator[tuple[Case, int]]:
    x = jnp.ones(3)
    spec = jax.ShapeDtypeStruct((3,), np.float32)
    empty = jax.jit(buffer_callback(lambda context, out, *args: None, spec))
    pure = jax.jit(lambda x: jax.pure_callback(lambda x: np.add(x, x), spec, x))
    by_hand = jax.jit(buffer_callback(_on_tensors(torch.add), spec))
    add = jfi.from_torch(torch.add)
    others = {
        BY_HAND: _ready(by_hand, x, x),
        "pure_callback": _ready(pure, x),
        "JAX": _ready(jax.jit(jnp.add), x, x),
    }
    # 30 us where an empty callback takes 10, 80 us.
    base, jitted = _ready(empty, x, x), _ready(jax.jit(add), x, x)
    yield Case("add, jit / empty callback", jitted, base, 3.0, others), 300
    eager_by_hand = {BY_HAND: _ready(_eager_by_hand, x, x)}
    eager = _ready(add, x, x)
    yield Case("add, eager / empty callback", eager, base, 8.0, eager_by_hand), 300


def _eager_by_hand(x: jax.Array, y: jax.Array) -> jax.Array:
    tensors = (torch.from_numpy(np.array(argument)) for argument in (x, y))
    return jnp.asarray(torch.add(*tensors).numpy())


def _on_tensors(function: Callable[..., Any]) -> Callable[..., None]:
    """A function of tensors for `buffer_callback`: what a careful user writes."""

    def run(_: object, out: Any, *arguments: Any) -> None:
        tensors = [torch.from_numpy(np.asarray(argument)) for argument in arguments]
        result = function(*tensors)
        outs = [out] if isinstance(result, torch.Tensor) else out
        results = [result] if isinstance(result, torch.Tensor) else result
        for part, buffer in zip(results, outs, strict=True):
            torch.from_numpy(np.asarray(buffer)).copy_(part.detach())

    return run


def _large_calls() -> Iterator[tuple[Case, int]]:
    x, tensor = jnp.ones(25_000_000), torch.ones(25_000_000)
    add = jfi.from_torch(torch.add)
    base = lambda: torch.add(tensor, tensor)
    yield Case("add of 100 MB, eager", _ready(add, x, x), base, 1.15), 1
    yield Case("add of 100 MB, jit", _ready(jax.jit(add), x, x), base, 2.1), 1


class Loss(torch.nn.Module):
    """The cross-entropy of a small network."""

    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        layers = [
            part
            for n, m in itertools.pairwise(sizes)
            for part in (torch.nn.Linear(n, m), torch.nn.ReLU())
        ]
        self.net = torch.nn.Sequential(*layers[:-1])

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The loss."""
        loss: torch.Tensor = F.cross_entropy(self.net(x), labels)
        return loss


def _networks() -> Iterator[tuple[Case, int]]:
    """A value and its gradients, in one call of PyTorch.

    A network of half a millisecond finds its code and its numbers gone from the
    processor's caches after JAX's part of the call, and JAX finds its own gone: code by
    hand has the same price, and is shown beside.
    """
    for name, sizes, calls in [
        ("value_and_grad of a small network", [64, 256, 256, 10], 20),
        ("value_and_grad of a network of 3 ms", [256, 512, 512, 10], 5),
    ]:
        ours, theirs, by_hand = _value_and_grad(sizes)
        yield Case(name, ours, theirs, 1.3, {BY_HAND: by_hand}), calls


def _value_and_grad(sizes: list[int]) -> list[Callable[[], Any]]:
    """The ways to the loss of a batch and its gradients: jfi's, PyTorch's, by hand."""
    loss = Loss(sizes)
    x, labels = torch.randn(128, sizes[0]), torch.randint(0, 10, (128,))
    named = dict(loss.named_parameters())

    def theirs() -> Any:
        value = loss(x, labels)
        return value, torch.autograd.grad(value, list(named.values()))

    def of_tensors(x: torch.Tensor, labels: torch.Tensor, *parameters: Any) -> Any:
        leaves = [parameter.requires_grad_() for parameter in parameters]
        of_names = dict(zip(named, leaves, strict=True))
        value = torch.func.functional_call(loss, of_names, (x, labels.long()))
        return [value, *torch.autograd.grad(value, leaves)]

    ours = jax.jit(jax.value_and_grad(lambda loss, x, labels: loss(x, labels)))
    arrays = jnp.asarray(x.numpy()), jnp.asarray(labels.numpy())
    run = _ready(ours, jfi.from_torch(loss), *arrays)
    parameters = [jnp.asarray(p.detach().numpy()) for p in named.values()]
    shapes = [(), *(parameter.shape for parameter in parameters)]
    specs = [jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]
    by_hand = jax.jit(buffer_callback(_on_tensors(of_tensors), specs))
    return [run, theirs, _ready(by_hand, *arrays, *parameters)]


def _batch() -> tuple[Case, int]:
    f = lambda x: torch.sin(x) * torch.cos(x).cumsum(-1) + torch.softmax(x, -1)
    x = jnp.ones((256, 8))
    tensor, batched = torch.ones(256, 8), torch.vmap(f)
    ours = jax.jit(jax.vmap(jfi.from_torch(f)))
    assert str(jax.make_jaxpr(ours)(x)).count("host_callback[") == 1
    spec = jax.ShapeDtypeStruct(x.shape, x.dtype)
    by_hand = jax.jit(buffer_callback(_on_tensors(batched), spec))
    others = {BY_HAND: _ready(by_hand, x)}
    case = Case("vmap of 256", _ready(ours, x), lambda: batched(tensor), 2.0, others)
    return case, 50


def _digits() -> tuple[Case, int]:
    """A step of training; the network is JAX's, the loss PyTorch's."""
    digits: Any = load_digits()
    x = (digits.data[:128] / 16).astype(np.float32)
    labels = digits.target[:128]
    net = Loss([64, 128, 128, 10]).net
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    tensors = torch.from_numpy(x), torch.from_numpy(labels)

    def theirs() -> None:
        optimizer.zero_grad()
        F.cross_entropy(net(tensors[0]), tensors[1]).backward()
        optimizer.step()

    cross_entropy = jfi.from_torch(F.cross_entropy)
    params = [
        (jnp.asarray(p.weight.detach().numpy().T), jnp.asarray(p.bias.detach().numpy()))
        for p in net
        if isinstance(p, torch.nn.Linear)
    ]

    def scores(params: Any, x: jax.Array) -> jax.Array:
        for weight, bias in params[:-1]:
            x = jax.nn.relu(x @ weight + bias)
        return x @ params[-1][0] + params[-1][1]

    @jax.jit
    def step(params: Any, x: jax.Array, labels: jax.Array) -> Any:
        loss = lambda params: cross_entropy(scores(params, x), labels)
        gradient = jax.grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradient)

    ours = _ready(step, params, jnp.asarray(x), jnp.asarray(labels))
    module = jfi.from_torch(net)

    @jax.jit
    def whole(net: Any, x: jax.Array, labels: jax.Array) -> Any:
        gradient = jax.grad(lambda net: cross_entropy(net(x), labels))(net)
        return jax.tree.map(lambda p, g: p - 0.01 * g, net, gradient)

    others = {
        "all of it PyTorch's": _ready(
            whole, module, jnp.asarray(x), jnp.asarray(labels)
        )
    }
    return Case("step of training the digits", ours, theirs, 1.5, others), 20
