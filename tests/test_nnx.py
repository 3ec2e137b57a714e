"""Models of flax's nnx under jfi's tools are read and written as in plain Python."""

import copy
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jfi
from jfi import AutoJitError, autojit


pytest.importorskip("flax")
optax = pytest.importorskip("optax")
from flax import nnx  # noqa: E402


X = np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3)
Y = np.linspace(0, 1, 16, dtype="float32").reshape(8, 2)


class Net(nnx.Module):
    def __init__(self, seed=0):
        rngs = nnx.Rngs(seed)
        self.first = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.last = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.last(self.drop(nnx.relu(self.norm(self.first(x)))))


def loss(model, x, y):
    return ((model(x) - y) ** 2).mean()


def numbers(tree):
    """All arrays in a tree, those of nnx's objects too, keys as numbers."""
    is_nnx = functools.partial(lambda cls, x: isinstance(x, cls), nnx.Pytree)
    tree = jax.tree.map(
        lambda x: nnx.state(x) if is_nnx(x) else x, tree, is_leaf=is_nnx
    )
    for x in jax.tree.leaves(tree):
        assert not isinstance(x, jax.core.Tracer)
        is_key = jnp.issubdtype(getattr(x, "dtype", float), jax.dtypes.prng_key)
        yield jax.random.key_data(x) if is_key else x


def close(a, b):
    for one, other in zip(numbers(a), numbers(b), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def same_as_plain(fn, make, *args, traces=1):
    """Calls of the plain and of the compiled function, on a model each."""
    one, two, compiled = make(), make(), autojit(fn)
    for _ in range(3):
        close(fn(one, *args), compiled(two, *args))
        close(one, two)
    if traces:
        assert compiled.cache_info().traces == traces
    close(fn(one, *args), fn(two, *args))  # nnx lets plain Python write as before
    close(one, two)
    return compiled


def test_statistics_and_streams_advance():
    same_as_plain(lambda model, x: model(x), Net, X)


def test_evaluation_and_training_are_two_programs():
    def both(model, x):
        model.eval()
        fixed = model(x)
        model.train()
        return fixed, model(x)

    same_as_plain(both, Net, X)


class Written(nnx.Module):
    def __init__(self):
        self.count, self.w = nnx.Variable(jnp.zeros(3)), nnx.Param(jnp.ones(3))

    def __call__(self, x):
        self.count[...] = self.count[...] + jnp.sum(x)
        self.count[0] = 5.0
        self.w.set_value(self.w.get_value() * 2)
        self.w[...] += 1
        return self.count * self.w


def test_variables_are_assigned():
    same_as_plain(lambda model, x: model(x), Written, X[0])


@pytest.mark.filterwarnings("ignore:.*value.* access is now deprecated")
@pytest.mark.filterwarnings("ignore:.*value.* setter is now deprecated")
def test_variables_are_assigned_by_value():
    def write(model, x):
        model.w.value = model.w.value * 2 + x
        return model.w.value

    same_as_plain(write, Written, X[0])


def train(model, optimizer, x, y):
    value, slope = nnx.value_and_grad(loss)(model, x, y)
    optimizer.update(model, slope)
    return value


def momentum(model):
    return nnx.Optimizer(model, optax.sgd(1e-2, momentum=0.9), wrt=nnx.Param)


def test_an_optimizer_updates_a_model():
    def make():
        model = Net()
        return model, momentum(model)

    compiled = same_as_plain(lambda pair, x, y: train(*pair, x, y), make, X, Y)
    # nnx writes the attributes in another order; that compiles nothing.
    pair = make()
    nnx.jit(train)(*pair, X, Y)
    compiled(pair, X, Y)
    assert compiled.cache_info().traces == 1


def test_a_model_in_self():
    class Trainer:
        def __init__(self):
            self.model = Net()
            self.optimizer = momentum(self.model)
            self.metric = nnx.metrics.Average("loss")

        def step(self, x, y):
            value = train(self.model, self.optimizer, x, y)
            self.metric.update(loss=value)
            return value

    class Compiled(Trainer):
        step = autojit(Trainer.step)

    one, two = Trainer(), Compiled()
    for _ in range(3):
        close(one.step(X, Y), two.step(X, Y))
        close((one.model, one.optimizer), (two.model, two.optimizer))
        close(one.metric.compute(), two.metric.compute())
    assert Compiled.step.cache_info().traces == 1


def test_a_compiled_method_of_a_model():
    class Compiled(Net):
        @autojit
        def __call__(self, x):
            return super().__call__(x)

    one, two = Net(), Compiled()
    optimizers = momentum(one), momentum(two)
    for _ in range(3):
        close(one(X), two(X))
        close(train(one, optimizers[0], X, Y), train(two, optimizers[1], X, Y))
        close(one, two)
    assert Compiled.__call__.cache_info().traces <= 2


def test_a_captured_model():
    def capture(tool, model):
        return tool(lambda x: model(x))

    one, two = Net(), Net()
    plain, compiled = capture(lambda fn: fn, one), capture(autojit, two)
    for _ in range(3):
        close(plain(X), compiled(X))
        close(one, two)
    assert compiled.cache_info().traces == 1


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: m.__call__, functools.partial])
def test_a_model_as_the_function(wrap):
    one, two = Net(), Net()
    compiled = autojit(wrap(two))
    for _ in range(3):
        close(one(X), compiled(X))
        close(one, two)


def test_containers_of_models():
    def in_list(models, x):
        return [model(x) for model in [*models, models[0]]]

    same_as_plain(in_list, lambda: [Net(0), Net(1)], X)
    same_as_plain(lambda d, x: d["a"](x), lambda: {"a": Net(), "n": 3}, X)

    class Layers(nnx.Module):
        def __init__(self):
            self.layers = nnx.List([nnx.Linear(3, 3, rngs=nnx.Rngs(k)) for k in (0, 1)])
            self.more = nnx.Dict(scale=nnx.Param(jnp.ones(3)), power=2)

        def __call__(self, x):
            for layer in self.layers:
                layer.bias[...] += 1
                x = layer(x)
            self.more["scale"][...] *= 2
            return x * self.more.scale**self.more.power

    same_as_plain(lambda model, x: model(x), Layers, X)


class Tied(nnx.Module):
    def __init__(self):
        self.a = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
        self.b, self.c = self.a, nnx.Linear(3, 3, rngs=nnx.Rngs(1))
        self.c.kernel = self.a.kernel

    def __call__(self, x):
        self.a.bias[...] += 1
        self.b.bias[...] *= 2
        self.a.kernel[...] += 0.1
        return self.c(self.b(self.a(x)))


def test_shared_parts_stay_shared():
    compiled = same_as_plain(lambda model, x: model(x), Tied, X)
    model = Tied()
    compiled(model, X)
    assert model.a is model.b
    assert model.a.kernel is model.c.kernel


def test_streams():
    def draw(rngs, x):
        return nnx.Linear(3, 2, rngs=rngs)(x), jax.random.normal(rngs.noise(), (2,))

    same_as_plain(draw, lambda: nnx.Rngs(0, noise=1), X)


def test_what_is_made_inside_can_be_written_outside():
    made = autojit(lambda seed: Net(seed))(0)
    close(made, Net())
    close(made(X), Net()(X))
    made.first.bias[...] = 3.0
    made.name = "made inside"

    class Holder:
        pass

    def store(holder, x):
        holder.model, holder.w = Net(), nnx.Param(x)
        return holder.model(x)

    one, two, compiled = Holder(), Holder(), autojit(store)
    for _ in range(2):
        close(store(one, X), compiled(two, X))
        close((one.model(X), one.model, one.w), (two.model(X), two.model, two.w))
    two.w[...] = 0.0


def test_attributes_come_and_go():
    def change(model, x):
        model.extra, model.name = nnx.Param(jnp.asarray(x[0]) * 2), "new"
        del model.drop
        return model.first(x)

    one, two = Net(), Net()
    close(change(one, X), autojit(change)(two, X))
    close(one, two)
    assert two.name == "new"
    assert not hasattr(two, "drop")
    two.extra[...] = 0.0


def test_after_an_error_all_is_as_plain_python_leaves_it():
    def fail(model, x):
        model(x)
        model.last.bias[...] = 3.0
        raise KeyError("on purpose")

    model = Net()
    with pytest.raises(KeyError, match="on purpose"):
        autojit(fail)(model, X)
    plain = Net()
    with pytest.raises(KeyError, match="on purpose"):
        fail(plain, X)
    close(model, plain)


def in_parts(model, x):
    definition, state = nnx.split(model)
    nnx.update(model, jax.tree.map(lambda a: a * 2, nnx.state(model, nnx.Param)))
    return nnx.merge(definition, state)(x), model(x), nnx.clone(model)


def in_a_scan(model, x):
    @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))
    def run(model, row):
        return model, model(row)

    return run(model, x)[1]


INSIDE = {
    "parts": in_parts,
    "scan": in_a_scan,
    "jit": lambda m, x: nnx.jit(lambda m, x: m(x))(m, x),
    "cond": lambda m, x: nnx.cond(x.sum() > 9, lambda m: m(x), lambda m: m(2 * x), m),
    "remat": lambda m, x: nnx.remat(lambda m, x: m(x))(m, x),
    "autojit": lambda m, x: autojit(lambda m, x: m(x))(m, x) + m(x),
    "deepcopy": lambda m, x: copy.deepcopy(m)(x) + m(x),
}


@pytest.mark.parametrize("name", INSIDE)
def test_tools_of_nnx_inside(name):
    same_as_plain(INSIDE[name], Written, X)


def test_tools_of_nnx_outside():
    compiled = autojit(lambda model, x: model(x))
    one, two = Written(), Written()
    tools = [nnx.jit, lambda f: nnx.value_and_grad(lambda m, x: f(m, x).sum())]
    for tool in tools:
        close(tool(lambda m, x: m(x))(one, X), tool(compiled)(two, X))
        close(one, two)


def test_one_model_in_two_places():
    def write(a, b, x):
        a.last.bias[...] += 1
        b.last.bias[...] *= 2
        return a.last(b.first(x))

    one, two, compiled = Net(), Net(), autojit(write)
    for _ in range(3):
        close(write(one, one, X), compiled(two, two, X))
        close(one, two)


@pytest.mark.parametrize("tool", [jax.grad, jax.jit, jfi.grad, jfi.jit])
def test_a_model_of_an_outer_trace_can_be_read_alone(tool):
    """As in plain Python: a tracer would stay in the model."""
    model = Net()
    compiled = autojit(lambda model, x: model(x).sum())
    with pytest.raises(Exception, match="different trace level"):
        tool(lambda x: compiled(model, x))(X)
    close(model, Net())
    model.eval()
    close(tool(lambda x: compiled(model, x))(X), tool(lambda x: model(x).sum())(X))


def test_derivatives_and_batches():
    model = Net()
    model.eval()
    expected = nnx.grad(loss)(model, X, Y)
    close(nnx.state(jfi.grad(loss)(model, X, Y), nnx.Param), expected)
    of_model = autojit(lambda model: nnx.state(jfi.grad(loss)(model, X, Y), nnx.Param))
    close(of_model(model), expected)
    close(jfi.vmap_automatically(model, X), jax.vmap(model)(X))


SCRIPT = """
import jfi
from flax import nnx
model = nnx.BatchNorm(3, rngs=nnx.Rngs(0))

@jfi.autojit
def predict(x):
    return model(x)
"""


def test_a_global_model_is_written():
    names = {}
    exec(SCRIPT, names)
    expected = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
    for _ in range(3):
        close(names["predict"](X), expected(X))
        close(names["model"], expected)


def test_hijax_variables_are_refused():
    with nnx.var_defaults(hijax=True):
        model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    with pytest.raises(AutoJitError, match=r"(?s)model\.\w+.*hijax=False"):
        autojit(lambda model, x: model(x))(model, X)


def test_modules_are_saved_as_dicts(tmp_path):
    path = tmp_path / "run.npz"
    model, other = (nnx.Linear(2, 1, rngs=nnx.Rngs(seed)) for seed in (0, 1))
    for state in (model, nnx.state(model)):
        with pytest.raises(jfi.StateError, match=r"is a flax\.nnx\..*to_pure_dict"):
            jfi.save_state(path, state)
    jfi.save_state(path, nnx.to_pure_dict(nnx.state(model)))
    state = nnx.state(other)
    nnx.replace_by_pure_dict(state, jfi.load_state(path))
    nnx.update(other, state)
    assert (other.kernel[...] == model.kernel[...]).all()


def trained(tool, steps=3):
    """The losses of steps under `nnx.jit` that a tool calls, and the model."""
    model = Net()
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer, x, y):
        value, slope = nnx.value_and_grad(loss)(model, x, y)
        optimizer.update(model, slope)
        return value

    run = tool(lambda x: step(model, optimizer, x, Y))
    return [run(X) for _ in range(steps)], model


def test_a_function_of_nnx_jit_is_called_in_compiled_code():
    close(trained(autojit), trained(lambda f: f))


def test_a_function_of_nnx_jit_in_loops_and_batches():
    double = nnx.jit(lambda x: 2 * x)
    assert jfi.fori_loop(0, 3, lambda _, x: double(x), 1.0) == 8
    rows = jfi.vmap_automatically(lambda p: double(p["x"]).sum(), {"x": X})
    np.testing.assert_allclose(rows, 2 * X.sum(1), rtol=1e-6)
