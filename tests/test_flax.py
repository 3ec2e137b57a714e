"""Linen's modules, train states and optax's optimizers compile once under autojit."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax.training.train_state import TrainState

import jfi
from jfi import autojit


KEY = jax.random.key(0)
X = np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3)
Y = np.linspace(0, 1, 16, dtype="float32").reshape(8, 2)


class Net(nn.Module):
    width: int = 4

    @nn.compact
    def __call__(self, x, train=True):
        x = nn.BatchNorm(use_running_average=not train)(nn.Dense(self.width)(x))
        return nn.Dense(2)(nn.Dropout(0.5, deterministic=not train)(nn.tanh(x)))


class Line(nn.Module):
    def setup(self):
        self.dense = nn.Dense(2)
        self.scale = self.param("scale", nn.initializers.ones, (2,), jnp.float32)

    def __call__(self, x):
        return self.dense(x) * self.scale


def sorted_dicts(tree):
    """JAX puts the keys of a dict in order; linen does not."""
    return jax.tree.map(lambda x: x, tree)


PARAMS = sorted_dicts(Line().init(KEY, X))
VARIABLES = sorted_dicts(Net().init({"params": KEY, "dropout": KEY}, X))


def close(a, b):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for one, other in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def train_mode(net, variables, x):
    rngs = {"dropout": KEY}
    return net.apply(variables, x, mutable=["batch_stats"], rngs=rngs)


CALLS = {
    "train": (train_mode, lambda: (Net(), VARIABLES, X)),
    "test": (
        lambda net, variables, x: net.apply(variables, x, train=False),
        lambda: (Net(width=4), VARIABLES, X),
    ),
    "setup": (lambda net, p, x: net.apply(p, x), lambda: (Line(), PARAMS, X)),
    "method": (lambda apply, p, x: apply(p, x), lambda: (Line().apply, PARAMS, X)),
    "bound": (lambda net, x: net(x), lambda: (Line().bind(PARAMS), X)),
    "init": (lambda net, x: net.init(KEY, x), lambda: (Line(), X)),
}


@pytest.mark.parametrize("name", CALLS)
def test_modules_of_linen(name):
    fn, make = CALLS[name]
    compiled = autojit(fn)
    for _ in range(3):  # modules made anew, with numbers of their own
        close(fn(*make()), compiled(*make()))
    assert compiled.cache_info().traces == 1


def step_of_state(state, x, y):
    def loss(params):
        return ((state.apply_fn({"params": params}, x) - y) ** 2).mean()

    value, slope = jax.value_and_grad(loss)(state.params)
    return state.apply_gradients(grads=slope), value


def test_a_train_state_compiles_once():
    compiled, ends = autojit(step_of_state), []
    for step in (step_of_state, compiled):
        state = TrainState.create(
            apply_fn=Line().apply, params=PARAMS["params"], tx=optax.adam(1e-2)
        )
        for _ in range(4):
            state, value = step(state, X, Y)
        ends.append((state.params, state.opt_state, state.step, value))
    close(*ends)
    assert compiled.cache_info().traces == 1


def adam(rate=1e-2):
    return optax.adam(rate)


LABELS = {"params": {"dense": {"kernel": "a", "bias": "b"}, "scale": "none"}}
OPTIMIZERS = {
    "adam": adam,
    "chain": lambda: optax.chain(
        optax.clip_by_global_norm(1.0), optax.add_decayed_weights(1e-3), adam()
    ),
    "schedule": lambda: adam(optax.exponential_decay(1e-2, 2, 0.9)),
    "several": lambda: optax.multi_transform(
        {"a": adam(), "b": optax.sgd(0.1), "none": optax.set_to_zero()}, LABELS
    ),
    "hyperparameters": lambda: optax.inject_hyperparams(optax.sgd)(learning_rate=0.1),
    "masked": lambda: optax.masked(
        adam(), jax.tree.map(lambda label: label == "a", LABELS)
    ),
    "every second step": lambda: optax.MultiSteps(adam(), 2),
    "noise": lambda: optax.chain(optax.add_noise(0.1, 0.5, 0), optax.sgd(0.1)),
}


class Trainer:
    def __init__(self, tx):
        self.tx, self.params, self.state = tx, PARAMS, tx.init(PARAMS)

    def step(self, x, y):
        self.params, self.state, value = updated(self.tx, self.params, self.state, x, y)
        return value


def updated(tx, params, state, x, y):
    def loss(params):
        return ((Line().apply(params, x) - y) ** 2).mean()

    value, slope = jax.value_and_grad(loss)(params)
    updates, state = tx.update(slope, state, params)
    return optax.apply_updates(params, updates), state, value


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_in_self_and_passed(name):
    class Compiled(Trainer):
        step = autojit(Trainer.step)

    tx, passed = OPTIMIZERS[name](), autojit(updated)
    one, two = Trainer(tx), Compiled(tx)
    params, state = PARAMS, tx.init(PARAMS)
    for _ in range(3):
        value = one.step(X, Y)
        close(value, two.step(X, Y))
        params, state, again = passed(tx, params, state, X, Y)
        close(value, again)
    close(one.params, two.params)
    close(one.params, params)
    assert Compiled.step.cache_info().traces == passed.cache_info().traces == 1


def test_training_in_a_loop():
    tx = adam()

    def body(carry, row):
        params, state, value = updated(tx, *carry, *row)
        return (params, state), value

    carry = start = PARAMS, tx.init(PARAMS)
    for row in zip(X, Y, strict=True):
        carry, value = body(carry, row)
    for run in (jfi.scan, autojit(jfi.scan)):
        end, values = run(body, start, (X, Y))
        close((carry[0], value), (end[0], values[-1]))
    apply = Line().apply
    close(jfi.vmap_automatically(lambda x: apply(PARAMS, x), X), apply(PARAMS, X))
    close(
        jfi.grad(lambda p: jnp.sum(apply(p, X)))(PARAMS),
        jax.grad(lambda p: jnp.sum(apply(p, X)))(PARAMS),
    )
