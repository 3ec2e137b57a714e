"""Equinox's modules and states give under jfi's tools what plain Python gives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import jfi
from jfi import autojit


KEY = jax.random.key(0)
X = np.linspace(-1, 1, 15, dtype="float32").reshape(5, 3)
Y = np.linspace(0, 1, 10, dtype="float32").reshape(5, 2)


def close(a, b):
    a, b = (jax.tree.leaves(eqx.filter(t, eqx.is_inexact_array_like)) for t in (a, b))
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=3e-5)


def plain(fn):
    return fn


class Normed(eqx.Module):
    first: eqx.nn.BatchNorm
    linear: eqx.nn.Linear
    second: eqx.nn.BatchNorm

    def __init__(self):
        self.first = eqx.nn.BatchNorm(3, axis_name="batch", mode="batch")
        self.linear = eqx.nn.Linear(3, 3, key=KEY)
        self.second = eqx.nn.BatchNorm(3, axis_name="batch", mode="batch")

    def __call__(self, x, state):
        x, state = self.first(x, state)
        return self.second(self.linear(x), state)


class Counter(eqx.nn.StatefulLayer):
    count: eqx.nn.StateIndex
    inner: eqx.nn.StateIndex

    def __init__(self):
        self.count = eqx.nn.StateIndex(jnp.asarray(0.0))
        self.inner = eqx.nn.StateIndex({"n": jnp.asarray(0)})

    def __call__(self, x, state, *, key=None):
        count, n = state.get(self.count), state.get(self.inner)["n"]
        state = state.set(self.inner, {"n": n + 1})
        return x * count + n, state.set(self.count, count + 2.0)


def over_batch(net, state, x):
    axes = {"in_axes": (0, None), "out_axes": (0, None)}
    return jax.vmap(net, axis_name="batch", **axes)(x, state)


def direct(make):
    """A model and its state, whose keys are `object()`s: JAX can't sort them."""
    net = make()
    return net, eqx.nn.State(net)


@pytest.mark.parametrize("made", [direct, lambda make: eqx.nn.make_with_state(make)()])
def test_a_state_is_passed_on_from_call_to_call(made):
    net, given = made(Normed)
    ends = []
    for tool in (plain, autojit):
        run, state = tool(over_batch), given
        for k in range(4):
            y, state = run(net, state, X + k)
        ends.append((y, state))
    close(*ends)
    assert run.cache_info().traces == 1


def test_a_state_in_self_is_replaced_in_the_body():
    class Model:
        def __init__(self):
            self.net, self.state = direct(Counter)

        def step(self, x):
            y, self.state = self.net(x, self.state)
            return y

    class Compiled(Model):
        step = autojit(Model.step)

    one, two = Model(), Compiled()
    for k in range(4):
        close(one.step(X + k), two.step(X + k))
    close(one.state, two.state)
    assert Compiled.step.cache_info().traces == 1


def test_an_old_state_is_refused_by_equinox_as_in_plain_python():
    net, state = direct(Counter)
    run = autojit(lambda net, state, x: net(x, state))
    run(net, state, X)
    with pytest.raises(ValueError, match="Attempted to use old state"):
        run(net, state, X)


def test_an_old_state_that_is_not_used_does_no_harm():
    net, old = direct(Counter)
    net(X, old)

    class Holder:
        pass

    class State(eqx.nn.State):  # a class that was not met before
        pass

    holder = Holder()
    holder.old, holder.x = object.__new__(State), X
    holder.old._state = old._state
    jax.tree_util.register_pytree_node_class(State)
    np.testing.assert_array_equal(autojit(lambda h: h.x + 1)(holder), X + 1)


@pytest.mark.parametrize("tool", [autojit, jfi.jit])
def test_a_state_goes_through_a_loop(tool):
    def run(state, xs):
        def body(state, x):
            y, state = net(x, state)
            return state, y

        return jfi.scan(body, state, xs)

    net, state = direct(Counter)
    for x in X:
        y, state = net(x, state)
    state2, ys = tool(run)(eqx.nn.State(net), X)
    close((state, y), (state2, ys[-1]))


def test_a_state_beside_a_derivative():
    def loss(net, state, x):
        y, state = over_batch(net, state, x)
        return (y**3).sum(), state

    by_hand = eqx.filter_value_and_grad(loss, has_aux=True)
    net, state = direct(Normed)
    expected = by_hand(net, state, X)
    for tool in (jfi.value_and_grad(loss, has_aux=True), by_hand):
        close(tool(net, eqx.nn.State(net), X), expected)
        close(autojit(tool)(net, eqx.nn.State(net), X), expected)


def adam_step(net, state, x, y):
    def loss(net):
        return ((jax.vmap(net)(x) - y) ** 2).mean()

    value, slope = eqx.filter_value_and_grad(loss)(net)
    updates, state = optax.adam(1e-2).update(slope, state, net)
    return eqx.apply_updates(net, updates), state, value


def test_training_compiles_once():
    """JAX makes modules again with their attributes in another order."""
    ends = []
    for step in (adam_step, autojit(adam_step)):
        net = eqx.nn.MLP(3, 2, 8, 2, key=KEY)
        state = optax.adam(1e-2).init(eqx.filter(net, eqx.is_array))
        for _ in range(4):
            net, state, value = step(net, state, X, Y)
        ends.append((net, state, value))
    close(*ends)
    assert step.cache_info().traces == 1
    assert jax.tree.structure(ends[0][0]) == jax.tree.structure(net)


def test_training_a_module_in_self_compiles_once():
    class Trainer:
        def __init__(self):
            self.net = eqx.nn.MLP(3, 2, 8, 2, key=KEY)
            self.state = optax.adam(1e-2).init(eqx.filter(self.net, eqx.is_array))

        def step(self, x, y):
            self.net, self.state, value = adam_step(self.net, self.state, x, y)
            return value

    class Compiled(Trainer):
        step = autojit(Trainer.step)

    one, two = Trainer(), Compiled()
    for _ in range(4):
        close(one.step(X, Y), two.step(X, Y))
    close((one.net, one.state), (two.net, two.state))
    assert Compiled.step.cache_info().traces == 1


class Layer(eqx.Module):
    w: jax.Array = eqx.field(converter=jnp.asarray)
    scale: float = eqx.field(converter=float, default=2.0)
    power: int = eqx.field(static=True, default=2)
    act: object = jax.nn.tanh

    def run(self, x):
        return self.scale * self.act(x @ self.w) ** self.power

    def doubled(self):
        return eqx.tree_at(lambda m: m.w, self, replace_fn=lambda w: 2 * w)


class Base(eqx.Module):
    w: eqx.AbstractVar[jax.Array]

    def run(self, x):
        return self.act(x) @ self.w


class Derived(Base):
    half: jax.Array

    @property
    def w(self):
        return 2 * self.half

    def act(self, x):
        return x + 1


class Tied(eqx.Module):
    shared: eqx.nn.Shared

    def __init__(self):
        pair = eqx.nn.Embedding(6, 3, key=KEY), eqx.nn.Linear(3, 6, key=KEY)
        self.shared = eqx.nn.Shared(pair, lambda p: p[1].weight, lambda p: p[0].weight)

    def run(self, x):
        embedding, linear = self.shared()
        return jax.vmap(linear)(x + embedding(1))


def partitioned(net, x):
    arrays, rest = eqx.partition(net, eqx.is_array)
    arrays = jax.tree.map(lambda a: 2 * a, arrays)
    return jax.vmap(eqx.combine(arrays, rest))(x)


def dropped(net, x):
    net = eqx.nn.Sequential([net, eqx.nn.Lambda(jax.nn.relu), eqx.nn.Dropout(0.5)])
    keys = jax.random.split(KEY, len(x))
    noisy = jax.vmap(lambda x, key: net(x, key=key))(x, keys)
    return noisy, jax.vmap(eqx.nn.inference_mode(net))(x)


MLP = eqx.nn.MLP(3, 2, 8, 2, key=KEY)
COMPILED = eqx.filter_jit(lambda m, x: jax.vmap(m)(x))
IDIOMS = {
    "method": (Layer.run, Layer(np.ones((3, 2)))),
    "converter": (
        lambda m, x: type(m)(m.w + 1, scale=3).run(x),
        Layer([[1], [2], [3]]),
    ),
    "tree_at": (lambda m, x: m.doubled().run(x), Layer(np.ones((3, 2)))),
    "module made inside": (lambda m, x: m.doubled(), Layer(np.ones((3, 2)))),
    "abstract": (Derived.run, Derived(jnp.ones((3, 2)))),
    "shared": (Tied.run, Tied()),
    "slope of shared": (
        lambda m, x: eqx.filter_grad(lambda m: (m.run(x) ** 2).sum())(m),
        Tied(),
    ),
    "partition": (partitioned, MLP),
    "dropout": (dropped, MLP),
    "filter_jit": (lambda m, x: COMPILED(m, x), MLP),
    "filter_vmap": (lambda m, x: eqx.filter_vmap(m)(x), MLP),
    "filter_grad": (
        lambda m, x: eqx.filter_grad(lambda m: jax.vmap(m)(x).sum())(m),
        MLP,
    ),
    "jfi.grad": (lambda m, x: jfi.grad(lambda m: jax.vmap(m)(x).sum())(m), MLP),
    "batch": (lambda m, x: jfi.vmap_automatically(m, x), MLP),
}


@pytest.mark.parametrize("name", IDIOMS)
def test_idioms_of_equinox(name):
    fn, net = IDIOMS[name]
    run = autojit(fn)
    for _ in range(3):
        close(run(net, X), fn(net, X))
    assert run.cache_info().traces == 1


def test_a_method_under_autojit_of_a_module():
    class Net(Layer):
        run = autojit(Layer.run)

    net = Net(np.ones((3, 2)))
    close(net.run(X), Layer.run(net, X))
    close(eqx.filter_jit(net.run)(X), Layer.run(net, X))
    by_hand = eqx.filter_grad(lambda m: Layer.run(m, X).sum())(net)
    close(eqx.filter_grad(lambda m: m.run(X).sum())(net), by_hand)
    close(jfi.grad(lambda m: m.run(X).sum())(net).w, by_hand.w)


def test_a_frozen_module_stays_frozen():
    class Net(Layer):
        @autojit
        def write(self, w):
            self.w = w

    with pytest.raises(AttributeError, match="cannot assign to field 'w'"):
        Net(np.ones((3, 2))).write(X)


class Scaled(eqx.Module):
    w: jax.Array
    gain: float

    def __call__(self, x):
        return (self.w * x).sum() * self.gain


def partitioned_step(model, x):
    params, rest = eqx.partition(model, eqx.is_inexact_array)
    slope = jax.grad(lambda params: eqx.combine(params, rest)(x))(params)
    return eqx.apply_updates(model, slope)


@eqx.filter_grad
def slope_of(model, x):
    return model(x)


@pytest.mark.parametrize(
    "step",
    [
        partitioned_step,
        lambda model, x: eqx.apply_updates(model, slope_of(model, x)),
        lambda model, x: eqx.apply_updates(
            model, eqx.filter_grad(Scaled.__call__)(model, x)
        ),
        lambda model, x: eqx.filter({"w": x, "rate": model.gain}, eqx.is_array),
        lambda model, x: {"is data": eqx.is_array(model.gain), "x": x},
    ],
)
def test_a_float_of_a_module_is_no_array(step):
    fn = autojit(step)
    x = jnp.ones(2)
    for gain in (0.5, 0.75, 0.5):
        model = Scaled(jnp.ones(2), gain)
        ours, theirs = fn(model, x), step(model, x)
        assert jax.tree.structure(ours) == jax.tree.structure(theirs)
        for one, other in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True):
            assert type(one) is type(other)
            close(one, other)


def test_a_float_that_is_not_filtered_is_data():
    fn = autojit(Scaled.__call__)
    for gain in (0.5, 0.75, 0.5):
        model = Scaled(jnp.ones(2), gain)
        close(fn(model, jnp.ones(2)), model(jnp.ones(2)))
    assert fn.cache_info().traces == 1


@pytest.mark.parametrize("tool", [jfi.jit, autojit])
def test_errors_of_error_if_are_those_of_plain_python(tool):
    def halve(x):
        return eqx.error_if(x / 2, x < 0, "x must not be negative")

    compiled = tool(halve)
    for _ in range(2):
        assert compiled(jnp.asarray(2.0)) == 1
        for fn in (halve, compiled):
            with pytest.raises(eqx.EquinoxRuntimeError, match="x must not be negative"):
                fn(jnp.asarray(-1.0))
    with pytest.raises(eqx.EquinoxRuntimeError) as info:
        compiled(jnp.asarray(-1.0))
    assert "filter_jit" not in str(info.value)  # which is not what to write here
