"""Scripts in which jfi is one library among others, in both worlds of dtypes."""

import dataclasses
import functools
import sys
import warnings

import blackjax
import diffrax
import equinox as eqx
import haiku as hk
import jax
import numpy as np
import numpyro
import optax
import pandas as pd
import pytest
from flax import linen, nnx
from jaxtyping import PyTree

import jfi as jnp


@pytest.fixture(params=["float32", "float64"])
def world(request):
    """The float dtype that jfi and all others create."""
    with jnp.default_dtype(request.param):
        yield np.dtype(request.param)


def floats(tree):
    """The dtypes of all floats in a tree."""
    leaves = [x for x in jax.tree.leaves(tree) if hasattr(x, "dtype")]
    return {x.dtype for x in leaves if jnp.issubdtype(x.dtype, np.inexact)}


def train(loss, params, steps=3):
    """A training as users write it; all floats in it have one dtype."""
    optimizer = optax.adam(optax.cosine_decay_schedule(1e-2, 10))
    state = optimizer.init(params)

    @jnp.autojit
    def step(params, state):
        value, grads = jnp.value_and_grad(loss)(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    values = []
    for _ in range(steps):
        params, state, value = step(params, state)
        values.append(value)
    assert values[-1] < values[0]
    return floats((params, state, values))


def test_an_mlp_of_equinox(world):
    model = eqx.nn.MLP(2, 1, 8, 2, key=jnp.random.key(0))
    x, y = jnp.randn(16, 2), jnp.rand(16, 1)
    params, static = eqx.partition(model, eqx.is_array)

    def loss(params):
        model = eqx.combine(params, static)
        return jnp.mean((jax.vmap(model)(x) - y) ** 2)

    assert train(loss, params) == {world}


def test_a_convolution_of_equinox(world):
    layer = eqx.nn.Conv2d(1, 2, 3, key=jnp.random.key(0))
    out = jnp.autojit(lambda layer, x: layer(x))(layer, jnp.ones((1, 6, 6)))
    assert out.shape == (2, 4, 4)
    assert out.dtype == world


def test_a_gru_of_equinox_in_a_scan(world):
    cell = eqx.nn.GRUCell(2, 3, key=jnp.random.key(0))

    def run(cell, xs):
        body = lambda h, x: (cell(x, h), jnp.sum(h))
        return jnp.scan(body, jnp.zeros(3), xs)

    assert floats(run(cell, jnp.randn(5, 2))) == {world}
    assert floats(jnp.autojit(run)(cell, jnp.randn(5, 2))) == {world}


def test_an_integration_of_diffrax(world):

    def integrate(y, rate):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, rate: -rate * y),
            diffrax.Tsit5(),
            t0=0.0,
            t1=1.0,
            dt0=0.1,
            y0=y,
            args=rate,
            saveat=diffrax.SaveAt(ts=jnp.linspace(0, 1, 5)),
            stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6),
        ).ys

    y, rate = jnp.array([1.0, 2.0]), jnp.array(0.5)
    ys = jnp.autojit(integrate)(y, rate)
    np.testing.assert_allclose(ys[-1], y * np.exp(-0.5), rtol=1e-4)
    grad = jnp.grad(lambda rate: integrate(y, rate).sum())(rate)
    assert floats((ys, grad)) == {world}


def test_a_sampler_of_blackjax(world):
    data = jnp.array([0.5, 1.5, 1.0])

    def density(x):
        return -jnp.sum((x - data) ** 2) - 0.1 * jnp.sum(x**2)

    nuts = blackjax.nuts(density, 0.3, jnp.ones(3))
    state = nuts.init(jnp.zeros(3))
    keys = jnp.random.split(jnp.random.key(0), 20)
    _, states = jnp.scan(lambda s, k: (nuts.step(k, s)[0],) * 2, state, keys)
    assert floats(states) == {world}
    assert jnp.all(jnp.isfinite(states.position))


def test_a_model_of_numpyro(world):
    x = jnp.linspace(0, 1, 10)

    def model(x, y):
        slope = numpyro.sample("slope", numpyro.distributions.Normal(0.0, 1.0))
        numpyro.sample("y", numpyro.distributions.Normal(slope * x, 0.1), obs=y)

    kernel = numpyro.infer.NUTS(model)
    mcmc = numpyro.infer.MCMC(kernel, num_warmup=50, num_samples=50, progress_bar=False)
    mcmc.run(jax.random.key(0), x, 2 * x)
    samples = mcmc.get_samples()
    assert floats(samples) == {world}
    assert abs(jnp.mean(samples["slope"]) - 2) < 0.3


def test_a_network_of_linen(world):
    class Net(linen.Module):
        @linen.compact
        def __call__(self, x):
            x = linen.relu(linen.Dense(8)(x))
            return linen.Dense(1)(linen.LayerNorm()(x))

    net, x = Net(), jnp.randn(16, 2)
    params = net.init(jnp.random.key(0), x)
    # Its layers say float32 where nothing else is asked for.
    if world == np.float64:
        params = jnp.to(params, "float64")
    assert train(lambda p: jnp.mean((net.apply(p, x) - 1.0) ** 2), params) == {world}


def test_a_network_of_nnx(world):
    net = nnx.Linear(2, 1, rngs=nnx.Rngs(0), param_dtype=jnp.get_default_dtype())
    graph, params = nnx.split(net)
    x = jnp.randn(16, 2)

    def loss(params):
        return jnp.mean((nnx.merge(graph, params)(x) - 1.0) ** 2)

    assert train(loss, params) == {world}


def test_a_network_of_haiku(world):
    net = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([8, 1])(x)))
    x = jnp.randn(16, 2)
    params = net.init(jax.random.PRNGKey(0), x)
    assert train(lambda p: jnp.mean((net.apply(p, x) - 1.0) ** 2), params) == {world}


def test_a_table_of_pandas(world):
    table = pd.DataFrame({"x": np.linspace(0, 1, 20), "y": np.arange(20)})
    x, y = jnp.array(table["x"]), jnp.array(table["y"].to_numpy())
    assert x.dtype == world

    def loss(w):
        return jnp.mean((w[0] * x + w[1] - y / 19) ** 2)

    assert train(loss, jnp.zeros(2)) == {world}


def test_numbers_of_numpy_in_a_training(world):
    rates = np.logspace(-3, -1, 3)
    w = jnp.ones(3)
    for rate in rates:
        w = w - rate * jnp.grad(lambda w: jnp.sum(w**2))(w)
    counts = jax.nn.one_hot(jnp.arange(4), 4), jnp.arange(4) / 2
    assert floats((w, counts, jnp.mean(jnp.arange(3)))) == {world}


def test_patterns_of_einops_in_every_tool():
    einops = pytest.importorskip("einops")
    x = jnp.randn(4, 3, 2)

    def means(row, w):
        return einops.einsum(einops.reduce(row, "n c -> n", "mean"), w, "n, n ->")

    expected = np.mean(x, axis=2).sum(axis=1)
    for batched in (jnp.vmap(means, in_axes=(0, None)), jnp.auto_vmap(means)):
        np.testing.assert_allclose(batched(x, jnp.ones(3)), expected, rtol=1e-5)
    body = lambda c, row: (c + einops.reduce(row, "n c -> c", "sum"), None)
    np.testing.assert_allclose(
        jnp.scan(body, jnp.zeros(2), x)[0], np.sum(x, axis=(0, 1)), rtol=1e-5
    )
    with pytest.raises(einops.EinopsError, match=r"expected 2 dims. Received 3-dim"):
        jnp.autojit(einops.rearrange)(x, "b n -> n b")


def test_annotations_of_jaxtyping_on_trees_and_rows():
    beartype = pytest.importorskip("beartype").beartype
    from jaxtyping import Float, jaxtyped

    checked = jaxtyped(typechecker=beartype)

    @jnp.pytree
    @checked
    @dataclasses.dataclass
    class Point:
        p: Float[jnp.Array, "n"]  # noqa: F821 - an axis
        k: int

    @checked
    def row(w: Float[jnp.Array, "out inp"], x: Float[jnp.Array, "inp"]):  # noqa: F722, F821
        return w @ x

    batch = jnp.vmap(lambda x: Point(row(jnp.ones((2, 3)), x), 1))(jnp.ones((4, 3)))
    assert (batch.p.shape, batch.k) == ((4, 2), 1)
    step = lambda c, x: (dataclasses.replace(c, p=c.p + x), None)
    last, _ = jnp.scan(step, Point(jnp.ones(2), 1), jnp.ones((3, 2)))
    np.testing.assert_array_equal(last.p, [4.0, 4.0])
    with pytest.raises(TypeError, match="inp=3"):
        jnp.autojit(row)(jnp.ones((2, 3)), jnp.ones(2))


def test_trees_of_jaxtyping_in_a_body():
    # jaxtyping remembers its `PyTree[...]`.
    class Loss:
        @jnp.autojit
        def known(self, x):
            return isinstance(x, PyTree[jnp.Array]) and x["w"] * 2

    loss = Loss()
    assert loss.known({"w": jnp.ones(())}) == 2
    assert loss.known({"w": jnp.ones(())}) == 2
    assert Loss.known.cache_info().traces == 1


def test_a_model_of_scikit_learn_on_the_host():
    from sklearn.linear_model import Ridge

    x = np.random.default_rng(0).normal(size=(20, 3))
    model = Ridge().fit(x, x @ [1.0, 2.0, 3.0])
    predict = jnp.from_numpy(model.predict)
    rows = jnp.vmap(lambda row: predict(row[None])[0])(jnp.asarray(x))
    np.testing.assert_allclose(rows, model.predict(x), rtol=1e-4)
    with pytest.raises(TypeError, match=r"jnp.from_numpy\(f\)\(x\)"):
        jnp.jit(lambda row: model.predict(row[None]))(jnp.ones(3))


def test_columns_of_pandas_of_other_kinds():
    missing = pd.Series([1, None], dtype="Int64")
    np.testing.assert_array_equal(jnp.asarray(missing), [1, np.nan])
    table = pd.DataFrame({"a": jnp.arange(3), "b": jnp.ones(3)})
    assert [str(t) for t in table.dtypes] == ["int32", "float32"]
    with pytest.raises(TypeError, match=r"x = jnp.asarray"):
        jnp.autojit(lambda x: x)(table["a"])


def test_a_model_of_an_ordinary_class_in_a_checkpoint_of_orbax(tmp_path):
    import orbax.checkpoint as ocp

    @jnp.pytree
    class Model:
        def __init__(self, scale):
            self.layers = [{"w": scale * jnp.ones(2)}, {"w": jnp.zeros(2)}]
            self.act = "tanh"

    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "model", Model(3.0))
        checkpointer.wait_until_finished()
        shapes = jax.eval_shape(lambda: Model(1.0))
        for like in (Model(1.0), shapes):
            model = checkpointer.restore(tmp_path / "model", like)
            np.testing.assert_array_equal(model.layers[0]["w"], [3.0, 3.0])
            assert model.act == "tanh"


DENSE = {"kernel": np.eye(2), "bias": np.zeros(2)}


@pytest.mark.parametrize(
    "make",
    [
        lambda: nnx.Linear(2, 2, rngs=nnx.Rngs(0)),
        lambda: eqx.nn.Linear(2, 2, key=jax.random.key(0)),
        lambda: functools.partial(linen.Dense(2).apply, {"params": DENSE}),
        lambda: numpyro.distributions.Normal(np.zeros(2), 1.0).log_prob,
    ],
    ids=["nnx", "equinox", "linen", "numpyro"],
)
def test_a_list_that_grows_beside_a_module_of_a_library_compiles_nothing(make):
    class Trainer:
        def __init__(self):
            self.model, self.losses = make(), []

        def step(self, x):
            return self.model(x).sum()

    trainer, step = Trainer(), jnp.autojit(Trainer.step)
    for k in (1.0, 2.0, 3.0):
        x = k * jnp.ones(2)
        trainer.losses.append(float(step(trainer, x)))
        assert trainer.losses[-1] == pytest.approx(float(trainer.step(x)), rel=1e-5)
    assert step.cache_info().traces == 1


def test_a_cosine_schedule_of_optax_compiles_a_step_once():
    """Its first call makes a float of the number of steps that it holds."""
    schedule = optax.cosine_decay_schedule(1e-2, 10)
    own = 3
    step = jnp.autojit(lambda x, count: x - schedule(count) * x)

    @jnp.autojit
    def mine(x):
        nonlocal own
        own = float(own)
        return x * own

    for count in range(3):
        plain = 1 - optax.cosine_decay_schedule(1e-2, 10)(count)
        assert np.allclose(step(jnp.ones(2), jnp.int32(count)), plain)
        assert mine(2.0) == 6.0
    assert step.cache_info().traces == 1
    assert type(own) is float  # of one's own it is written back


WIDTH = 1.0


class FromZero(numpyro.distributions.Distribution):
    """A distribution of one's own, whose support depends on its parameters."""

    reparametrized_params = ("high",)
    arg_constraints = {"high": numpyro.distributions.constraints.dependent}  # noqa: RUF012

    def __init__(self, high):
        self.high = high
        super().__init__(batch_shape=(), event_shape=())

    @numpyro.distributions.constraints.dependent_property
    def support(self):
        return numpyro.distributions.constraints.interval(0.0, self.high * WIDTH)

    def log_prob(self, value):
        return value - self.support.upper_bound


@pytest.mark.parametrize(
    "tool",
    [
        jnp.autojit,
        jnp.jit,
        lambda f: lambda x: jnp.map(f, x[None])[0],
        lambda f: lambda x: jnp.scan(lambda c, x: (c + f(x), None), 0.0, x[None])[0],
        lambda f: lambda x: jnp.auto_vmap(f)(x[None])[0],
    ],
    ids=["autojit", "jit", "map", "scan", "auto_vmap"],
)
def test_a_distribution_of_ones_own_for_numpyro(tool, monkeypatch):
    distribution = FromZero(2.0)
    log_prob = tool(lambda x: distribution.log_prob(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for width in 1.0, 3.0:
            monkeypatch.setattr(sys.modules[__name__], "WIDTH", width)
            if tool is jnp.jit:
                log_prob = tool(lambda x: distribution.log_prob(x))
            assert log_prob(jnp.float32(0.5)) == 0.5 - 2.0 * width
