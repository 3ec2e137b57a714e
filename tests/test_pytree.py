"""`pytree`: ordinary classes that JAX's transformations and libraries take."""

import copy
import dataclasses
import enum
import functools
import pickle
import types
from typing import NamedTuple

import hypothesis.strategies as st
import jax
import numpy as np
import pytest
from hypothesis import given, settings

import jfi as jnp


@jnp.pytree
class Layer:
    def __init__(self, n):
        self.w, self.b = jnp.full((n, n), 0.1), jnp.zeros(n)

    def __call__(self, x):
        return jnp.tanh(self.w @ x + self.b)


@jnp.pytree(data="options")
class Model:
    def __init__(self, n=2):
        self.layers = [Layer(n), Layer(n)]
        self.options = {"scale": 0.5, "name": "net", "repeat": 2}
        self.steps, self.act = 0, jnp.tanh

    def __call__(self, x):
        for layer in self.layers * self.options["repeat"]:
            x = layer(x)
        return self.act(x) * self.options["scale"]


class Larger(Model):
    pass


@jnp.pytree
@dataclasses.dataclass(frozen=True)
class Point:
    x: object
    n: int = 3


@jnp.pytree
class Slotted:
    __slots__ = ("name", "x")

    def __init__(self, x):
        self.x, self.name = x, "s"


X = jnp.ones(2)


def loss(model, x):
    return jnp.sum((model(x) - 1) ** 2)


def by_hand(model, x):
    """The gradient of the loss, with respect to the data in one list."""
    first, second = model.layers
    scale = model.options["scale"]

    def run(w1, b1, w2, b2, scale):
        y = x
        for w, b in [(w1, b1), (w2, b2)] * 2:
            y = jnp.tanh(w @ y + b)
        return jnp.sum((jnp.tanh(y) * scale - 1) ** 2)

    arguments = first.w, first.b, second.w, second.b, scale
    return jax.grad(run, argnums=range(5))(*arguments)


@pytest.mark.parametrize("grad", [jnp.grad, jax.grad])
@pytest.mark.parametrize("cls", [Model, Larger])
def test_a_model_of_gradients(grad, cls):
    model = cls()
    gradient = grad(loss)(model, X)
    assert type(gradient) is cls
    w1, b1, w2, b2, scale = by_hand(model, X)
    first, second = gradient.layers
    found = [first.w, first.b, second.w, second.b, gradient.options["scale"]]
    for value, expected in zip(found, [w1, b1, w2, b2, scale], strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-5)
    assert (gradient.options["name"], gradient.options["repeat"]) == ("net", 2)
    assert (gradient.steps, gradient.act) == (0, jnp.tanh)
    assert vars(gradient).keys() == vars(model).keys()


def test_optimizers_update_models():
    optax = pytest.importorskip("optax")
    optimizer, model = optax.sgd(0.1), Model()
    updates, _ = optimizer.update(jnp.grad(loss)(model, X), optimizer.init(model))
    new = jnp.apply_updates(model, updates)
    assert type(new) is Model
    assert loss(new, X) < loss(model, X)
    assert bool(
        (optax.apply_updates(model, updates).layers[0].w == new.layers[0].w).all()
    )


def test_batches_of_models():
    model = Model()
    models = jnp.vmap(lambda k: jax.tree.map(lambda a: a * k, model))(jnp.arange(3.0))
    assert models.layers[0].b.shape == (3, 2)
    losses = jnp.vmap(loss, in_axes=(0, None))(models, X)
    axes = jax.tree.map(lambda _: 0, models)  # integers where the data are
    assert bool((jnp.vmap(loss, in_axes=(axes, None))(models, X) == losses).all())
    assert losses[0] == 2


def test_loops_carry_models():
    model = Model()

    def step(model, x):
        return jax.tree.map(lambda a: a + x, model), model.layers[0].b[0]

    last, seen = jnp.scan(step, model, jnp.arange(3.0))
    assert last.layers[1].b.tolist() == [3, 3]
    assert seen.tolist() == [0, 0, 1]
    assert last.options["name"] == "net"


def test_shapes_in_place_of_arrays():
    model = Model()
    shapes = jax.eval_shape(lambda model: model, model)
    assert shapes.layers[0].w.shape == (2, 2)
    sizes = jax.tree.map(lambda spec: spec.ndim, shapes)
    assert sizes.layers[0].w == 2
    assert len(jax.tree.leaves(sizes)) == len(jax.tree.leaves(model))
    assert jax.tree.structure(shapes) == jax.tree.structure(model)


def test_settings_compile_again_and_data_do_not():
    model, traces = Model(), []

    @jnp.jit
    def run(model):
        traces.append(model.steps)
        return model.layers[0].b + model.steps + model.options["repeat"]

    assert run(model)[0] == 2
    model.layers[0].b += 1
    assert run(model)[0] == 3
    assert len(traces) == 1
    model.options["repeat"] = 5
    assert run(model)[0] == 6
    model.steps = 1
    assert run(model)[0] == 7
    assert len(traces) == 3


class Knobs:
    def __init__(self):
        self.sizes = {1}


def test_settings_that_change_inside_are_seen():
    model = Point(jnp.ones(2), Knobs())

    @jax.jit
    def run(point):
        return point.x * len(point.n.sizes)

    assert run(model)[0] == 1
    model.n.sizes.add(2)
    assert run(model)[0] == 2


def test_containers_of_a_copy_are_its_own():
    model = Model()
    other = jax.tree.map(lambda x: x, model)
    other.options["name"] = "other"
    other.layers.append(None)
    assert (model.options["name"], len(model.layers)) == ("net", 2)


@pytest.mark.parametrize("value", [Point(jnp.ones(2)), Slotted(jnp.ones(2))])
def test_frozen_and_slotted_classes(value):
    doubled = jax.tree.map(lambda x: 2 * x, value)
    assert type(doubled) is type(value)
    assert doubled.x.tolist() == [2, 2]
    assert jnp.grad(lambda v: jnp.sum(v.x**2))(value).x.tolist() == [2, 2]


@jnp.pytree
@dataclasses.dataclass(slots=True)
class Mask:
    x: object
    order: object
    parts: object = None


def test_slots_keep_axes_masks_and_none():
    optax = pytest.importorskip("optax")
    value = Mask(jnp.ones(2), jnp.arange(2), [jnp.ones(2), 3])
    slope = jnp.grad(lambda v: jnp.sum(v.x**2) + jnp.sum(v.parts[0]))(value)
    assert (slope.order, slope.parts[1]) == (None, 3)
    optimizer = optax.sgd(0.5)
    updates, _ = optimizer.update(slope, optimizer.init(slope))
    for step in (updates, jax.tree.map(lambda g: -0.5 * g, slope)):
        moved = jnp.apply_updates(value, step)
        assert (moved.x.tolist(), moved.parts[0].tolist()) == ([0, 0], [0.5, 0.5])
    assert jnp.jvp(lambda v: jnp.sum(v.x**2), (value,), (slope,))[1] == 8
    rows = jnp.stack_trees([value, value, value])
    axes = jax.tree.map(lambda _: 0, value)
    assert str(axes.x) == "0"
    assert jnp.vmap(lambda v: v.x.sum(), (axes,))(rows).tolist() == [2, 2, 2]
    masked = optax.masked(
        optimizer, jax.tree.map(lambda x: x.dtype == "float32", value)
    )
    masked.init(value)
    for made in (axes, copy.deepcopy(axes), pickle.loads(pickle.dumps(axes))):
        assert jax.tree.structure(made) == jax.tree.structure(value)
        assert jax.tree.leaves(made) == [0, 0, 0]


def test_autojit_writes_back_to_models():
    model = Model()

    @jnp.autojit
    def train(model, x):
        gradient = jnp.grad(loss)(model, x)
        new = jax.tree.map(lambda a, b: a - 0.1 * b, model, gradient)
        model.layers, model.steps = new.layers, model.steps + 1
        return loss(model, x)

    plain = Model()
    losses = [train(model, X), train(model, X)]
    np.testing.assert_allclose(
        losses, [train.__wrapped__(plain, X), train.__wrapped__(plain, X)], rtol=1e-5
    )
    assert model.steps == 2
    np.testing.assert_allclose(model.layers[0].w, plain.layers[0].w, rtol=1e-5)


def test_copies_and_pickles():
    for model in (Layer(2), jax.tree.map(np.ndim, Layer(2))):
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(Point(model))).x):
            assert jax.tree.structure(other) == jax.tree.structure(model)


def test_paths_are_those_of_attributes():
    paths, _ = jax.tree_util.tree_flatten_with_path(Model())
    assert [jax.tree_util.keystr(path) for path, _ in paths] == [
        ".layers[0].w", ".layers[0].b", ".layers[1].w", ".layers[1].b", ".options[0]"
    ]  # fmt: skip


class Ordinary:
    def __init__(self):
        self.w = jnp.ones(2)


def test_objects_that_hide_their_attributes_are_settings(tmp_path):
    np.savez(tmp_path / "data.npz", x=np.ones(2))

    @jnp.pytree
    class Reading:
        def __init__(self, file):
            self.w, self.file = jnp.ones(2), file

    with np.load(tmp_path / "data.npz") as file:
        model = Reading(file)
        assert len(jax.tree.leaves(model)) == 1
        double = jax.tree.map(lambda x: 2 * x, model)
        assert (double.w.tolist(), double.file) == ([2, 2], file)


def test_hidden_data_are_refused():
    with pytest.raises(jnp.TreeError, match=r"Point.n holds .* above class Ordinary"):
        jax.tree.leaves(Point(jnp.ones(2), Ordinary()))


@pytest.mark.parametrize(
    "tool",
    [
        lambda x: jnp.grad(lambda m: jnp.sum(m.w))(x),
        lambda x: jnp.scan(lambda m, _: (m, 0), x, jnp.ones(2)),
        lambda x: jnp.vmap(lambda m: m.w)(x),
        lambda x: jnp.jit(lambda m: m.w)(x),
        lambda x: jnp.jvp(lambda m: m.w, (x,), (x,)),
        lambda x: jnp.apply_updates(x, x),
        lambda x: jnp.vjp(lambda m: m.w, x),
        lambda x: jnp.linearize(lambda m: m.w, x),
        lambda x: jnp.checkpoint(lambda m: m.w)(x),
        lambda x: jnp.map(lambda m: m.w, x),
        lambda x: jnp.associative_scan(lambda a, b: a, x),
        lambda x: jnp.eval_shape(lambda m: m.w, x),
        lambda x: jnp.jit(lambda w: x)(x.w),
        lambda x: jnp.vmap(lambda w: x)(x.w),
        lambda x: jnp.stack_trees([x, Ordinary()]),
    ],
)
def test_errors_name_the_line(tool):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of several classes
        tool(Ordinary())
    words = [str(caught.value), *getattr(caught.value, "__notes__", ())]
    said = " ".join(words).replace("Write instead: ", "Write ")
    assert "Write @jnp.pytree above class Ordinary" in said


def test_what_can_be_no_tree():
    with pytest.raises(jnp.TreeError, match=r"Write @jnp.pytree above a class"):
        jnp.pytree(Ordinary())
    with pytest.raises(jnp.TreeError, match="Larger, which is a tree already"):
        jnp.pytree(Larger)


def test_none_in_place_of_all_data_of_an_attribute_keeps_the_structure():
    @jnp.pytree
    class Layers:
        def __init__(self):
            self.weights, self.depth = [jnp.ones(2), {"b": jnp.zeros(2)}], 3

    layers = Layers()
    nothing = jax.tree.map(lambda x: None, layers)  # as orbax makes it of each leaf
    kept = jax.tree.structure(nothing, is_leaf=lambda x: x is None)
    assert kept == jax.tree.structure(layers)
    assert not jax.tree.leaves(nothing)


class Holding:
    def __init__(self, tool):
        self.w, self.layers = jnp.ones(2), [Layer(2)]
        self.act = tool(self)

    def double(self, x):
        return 2 * self.w * x


@pytest.mark.parametrize(
    "tool",
    [
        lambda model: model.double,
        lambda model: jax.jit(model.double),
        lambda model: lambda x: model.w * x,
        lambda model: functools.partial(jnp.multiply, model.w),
        lambda model: functools.partial(model.layers[0]),
    ],
)
def test_functions_that_hold_the_object_are_refused(tool):
    cls = jnp.pytree(type("Model", (Holding,), {}))
    with pytest.raises(jnp.TreeError, match=r"Model\.act is a function that holds"):
        jnp.grad(lambda model: jnp.sum(model.act(jnp.ones(2))))(cls(tool))


def test_functions_may_hold_constants_and_another_model():
    cls, teacher = jnp.pytree(type("Model", (Holding,), {})), Layer(2)
    model = cls(lambda _: lambda x: 3 * teacher(x))
    gradient = jnp.grad(lambda model: jnp.sum(model.w * model.act(X)))(model)
    assert gradient.w.tolist() == pytest.approx((3 * teacher(X)).tolist())


@pytest.mark.parametrize("base", [enum.Enum, NamedTuple, dict, list, float, Exception])
def test_classes_whose_objects_hold_more_than_attributes_are_refused(base):
    namespace = {"__annotations__": {"x": int}, "__module__": __name__}
    cls = types.new_class("Odd", (base,), exec_body=lambda ns: ns.update(namespace))
    with pytest.raises(jnp.TreeError, match=r"pytree\(\) got the class Odd: "):
        jnp.pytree(cls)


def test_dataclass_with_slots_above_pytree_is_named():
    @dataclasses.dataclass(slots=True)
    @jnp.pytree
    class Slots:
        x: object

    with pytest.raises(jnp.DerivativeError, match=r"Write @jnp\.pytree above @data"):
        jnp.grad(lambda s: jnp.sum(s.x))(Slots(X))


def test_texts_in_numpy_arrays_are_settings_by_contents():
    @jnp.pytree
    class Named:
        def __init__(self):
            self.w, self.names = jnp.ones(1), np.array(["a"])

    model, scale = Named(), jnp.jit(lambda m: m.w * (2 if m.names[0] == "b" else 1))
    assert scale(model) == 1
    model.names[0] = "b"
    assert scale(model) == 2


def test_data_that_a_cached_property_has_computed_are_refused():
    class Computing:
        def __init__(self):
            self.raw, self.n = jnp.ones(2), 3

        @functools.cached_property
        def total(self):
            return self.raw.sum()

        @functools.cached_property
        def size(self):
            return 2 * self.n

        @jnp.autojit
        def compiled(self):
            return self.total * self.size

    class Custom(Computing, jnp.CustomArray):
        def __jax_array__(self):
            return self.raw

    for model in (jnp.pytree(Computing)(), Custom()):
        slope = jnp.grad(lambda m: m.total**2 * m.size)
        assert model.size == 6  # no data
        assert slope(model).raw.tolist() == [24.0, 24.0]
        assert model.total == 2
        for tool in (slope, jnp.jit(lambda m: m.raw), jax.tree.leaves):
            with pytest.raises(
                jnp.TreeError, match=r"@property above total; or .* del"
            ):
                tool(model)
        del model.total
        assert slope(model).raw.tolist() == [24.0, 24.0]
    model = Computing()
    assert model.compiled() == model.compiled() == 12


@pytest.mark.parametrize(
    ("names", "around"),
    [
        ("child", lambda node: node),
        ("child", lambda node: [{"x": node}]),
        ("child.child", lambda node: type(node)(node)),
    ],
)
def test_an_object_among_its_own_parts_is_refused_by_its_attribute(names, around):
    @jnp.pytree
    class Node:
        def __init__(self, child=None):
            self.w, self.child = jnp.ones(2), child

    node = Node()
    node.child = around(node)
    for use in (jax.tree.leaves, jnp.grad(lambda node: jnp.sum(node.w))):
        with pytest.raises(jnp.TreeError, match=rf"Node\.{names} leads back to the"):
            use(node)
    node.child = None  # nothing is left behind
    assert len(jax.tree.leaves(node)) == 1


@jnp.pytree
class Normed:
    """A layer with what everybody writes beside the weights."""

    def __init__(self):
        self.w, self.eps, self.training = jnp.ones(2), 1e-5, True
        self.momenta, self.options = [0.1, 0.2], {"rate": 0.3, "b": jnp.zeros(2)}

    def __call__(self, x):
        y = self.w * x + self.options["b"] * self.momenta[0]
        return jnp.sum(y) / (1 + self.eps)


class NormedTrainer:
    def __init__(self):
        optax = pytest.importorskip("optax")
        self.model, self.optimizer = Normed(), optax.adamw(0.1)
        self.state = self.optimizer.init(self.model)

    def step(self, x):
        gradient = jnp.grad(lambda model: model(x))(self.model)
        updates, self.state = self.optimizer.update(gradient, self.state, self.model)
        self.model = jnp.apply_updates(self.model, updates)
        return gradient

    compiled_step = jnp.autojit(step)


@pytest.mark.parametrize("name", ["step", "compiled_step"])
def test_floats_of_a_model_are_not_trained(name):
    trainer = NormedTrainer()
    for _ in range(3):
        gradient = getattr(trainer, name)(X)
    for model in (trainer.model, gradient):
        assert (model.eps, model.momenta) == (1e-5, [0.1, 0.2])
        assert (model.options["rate"], model.training) == (0.3, True)
        assert type(model.eps) is float
    np.testing.assert_allclose(trainer.model.w, [0.7, 0.7], atol=1e-3)


def test_a_class_says_which_floats_are_data():
    @jnp.pytree(data=("rate", "pair"), settings="table")
    class Decay:
        def __init__(self):
            self.rate, self.pair, self.eps = 0.5, [2.0, 3.0], 1e-5
            self.table = jnp.arange(2.0)

    class Derived(Decay):
        pass

    def value(m):
        return m.rate * m.pair[0] + m.pair[1] * m.eps + (m.table * m.rate).sum()

    for cls in (Decay, Derived):
        for grad in (jnp.grad, jax.grad, lambda f: jnp.autojit(jnp.grad(f))):
            slope = grad(value)(cls())
            assert [float(slope.rate), *slope.pair] == [3.0, 0.5, np.float32(1e-5)]
            assert (slope.eps, slope.table.tolist()) == (1e-5, [0.0, 1.0])
    run, model = jax.jit(value), Decay()
    assert float(run(model)) == pytest.approx(1.5 + 3e-5)
    model.table = jnp.ones(2)
    assert float(run(model)) == pytest.approx(2.0 + 3e-5)
    with pytest.raises(jnp.TreeError, match="'x' as data and as settings"):
        jnp.pytree(data="x", settings=("x", "y"))


@pytest.mark.parametrize("first", [0.5, np.float32(0.5)], ids=["float", "numpy"])
def test_new_floats_of_an_object_compile_nothing_and_come_back_as_floats(first):
    @jnp.pytree(data="rate")
    class Decay:
        def __init__(self, value, eps):
            self.rate, self.eps, self.layers = value, eps, [jnp.ones(2), eps]

    step = lambda m: jax.tree.map(lambda v: v + 1, m)
    compiled = jnp.autojit(step)
    compiled(Decay(0.5, first))  # whatever the first object of its class has held
    traces = compiled.cache_info().traces
    for value in (0.5, 0.25, 0.125):
        plain, found = step(Decay(value, value)), compiled(Decay(value, value))
        assert (found.rate, found.eps) == (plain.rate, plain.eps)
        assert [type(found.eps), found.layers[1]] == [float, value]
    assert compiled.cache_info().traces <= traces + 1


LOOPS_WITH_SETTINGS = {
    "scan": lambda step, c: jnp.scan(lambda c, _: (step(c), None), c, length=3)[0],
    "fori_loop": lambda step, c: jnp.fori_loop(0, 3, lambda _, c: step(c), c),
    "while_loop": lambda step, c: jnp.while_loop(lambda c: c.p[0] < 9, step, c),
    "cond": lambda step, c: jnp.cond(True, step, step, c),
    "switch": lambda step, c: jnp.switch(0, [step], c),
    "checkpoint": lambda step, c: jnp.checkpoint(step)(c),
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("loop", LOOPS_WITH_SETTINGS)
def test_ints_of_an_object_are_settings_in_a_loop_and_come_back_as_ints(loop, inside):
    @jnp.pytree
    @dataclasses.dataclass
    class State:
        p: object
        k: int
        on: bool = True
        sizes: tuple = (1, [2])

    def step(state):
        assert isinstance(state.k, int)
        assert isinstance(state.sizes[1][0], int)
        return dataclasses.replace(state, p=state.p + state.k)

    run = functools.partial(LOOPS_WITH_SETTINGS[loop], step)
    run = jnp.autojit(run) if inside else run
    for k in (2, 3):
        out = run(State(jnp.ones(2), k))
        assert [type(x) for x in (out.k, out.on, *out.sizes)] == [int, bool, int, list]
        assert (out.k, out.sizes) == (k, (1, [2]))
        assert type(out.sizes[1][0]) is int
        assert out.p[0] > 1


def test_nothing_but_floats_is_nothing_to_differentiate():
    @jnp.pytree
    class Line:
        def __init__(self, slope):
            self.slope, self.name = slope, "line"

    loss = lambda line: line.slope**2
    for derivative in (jnp.grad, jnp.value_and_grad, jnp.jacrev):
        with pytest.raises(jnp.DerivativeError, match=r"self\.slope = jnp\.asarray"):
            derivative(loss)(Line(2.0))
    assert float(jnp.grad(loss)(Line(jnp.asarray(2.0))).slope) == 4
    assert float(jnp.grad(loss)(Line(np.float32(2.0))).slope) == 4
    assert (
        float(
            jnp.grad(lambda p: loss(p["line"]) * p["w"])({"line": Line(2.0), "w": 3.0})[
                "w"
            ]
        )
        == 4
    )


def test_settings_that_differ_in_a_bit_are_others():
    trees = [Normed() for _ in range(3)]
    trees[1].eps, trees[2].eps = 0.0, -0.0
    structures = [jax.tree.structure(tree) for tree in trees]
    assert len(set(structures)) == 3
    nan = Normed()
    nan.eps = float("nan")
    assert jax.tree.structure(nan) == jax.tree.structure(jax.tree.map(abs, nan))


def test_a_config_of_floats_is_a_setting():
    @dataclasses.dataclass(frozen=True)
    class Config:
        rate: float = 0.1

    class Level(enum.Enum):
        LOW = 0.5

    @jnp.pytree
    class Net:
        def __init__(self):
            self.w, self.config, self.level = jnp.ones(2), Config(), Level.LOW

    net = Net()
    slope = jnp.grad(lambda n: jnp.sum(n.w) * n.config.rate * n.level.value)(net)
    assert (slope.config, slope.level) == (net.config, net.level)
    np.testing.assert_allclose(slope.w, [0.05, 0.05])


def test_floats_of_equinox_modules_have_no_gradient():
    eqx = pytest.importorskip("equinox")

    class Module(eqx.Module):
        w: jax.Array
        eps: float

    loss = lambda m, scale: jnp.sum(m.w * m.eps) * scale["k"]
    module = Module(jnp.ones(2), 0.5)
    for wrap in (lambda f: f, jnp.autojit):
        slope = wrap(jnp.grad(loss))(module, {"k": 3.0})
        assert slope.w.tolist() == [1.5, 1.5]
        assert slope.eps is None
        other = wrap(jnp.grad(loss, argnums=1))(module, {"k": 3.0})
        assert float(other["k"]) == 1
    assert jnp.apply_updates(module, jnp.grad(loss)(module, {"k": 1.0})).eps == 0.5


@pytest.mark.parametrize("grad", [jnp.grad, jax.grad])
@pytest.mark.parametrize("wrap", [lambda f: f, jnp.autojit], ids=["plain", "autojit"])
def test_buffers_are_carried_and_not_trained(grad, wrap):
    optax = pytest.importorskip("optax")

    @jnp.pytree(buffers=("mean", "counts"))
    class BatchNorm:
        def __init__(self):
            self.scale, self.mean = jnp.ones(2), jnp.full(2, 0.5)
            self.counts = {"seen": jnp.zeros(())}

        def __call__(self, x):
            self.mean = 0.9 * self.mean + 0.1 * x
            self.counts["seen"] = self.counts["seen"] + 1
            return self.scale * (x - self.mean)

    @jnp.pytree
    class Net:
        def __init__(self):
            self.norms = [BatchNorm(), BatchNorm()]

    def loss(net, x):
        for norm in net.norms:
            x = norm(x)
        return jnp.sum(x**2), net

    optimizer, net = optax.adamw(0.1), Net()

    @wrap
    def step(net, state, x):
        slope, net = grad(loss, has_aux=True)(net, x)
        updates, state = optimizer.update(slope, state, net)
        return jnp.apply_updates(net, updates), state, slope

    state = optimizer.init(net)
    for k in range(1, 4):
        net, state, slope = step(net, state, X * k)
    first = net.norms[0]
    mean = 0.5
    for k in range(1, 4):
        mean = 0.9 * mean + 0.1 * k
    np.testing.assert_allclose(first.mean, [mean] * 2, rtol=1e-5)
    assert float(first.counts["seen"]) == 3
    assert slope.norms[0].mean.tolist() == [0, 0]
    assert not np.allclose(first.scale, 1)
    with pytest.raises(jnp.TreeError, match="'x' as buffers and as settings"):
        jnp.pytree(buffers="x", settings="x")


def test_what_is_written_to_a_copy_is_lost_with_a_warning():
    @jnp.pytree
    class Counting:
        def __init__(self):
            self.w, self.mean = jnp.ones(2), jnp.zeros(2)

        def __call__(self, x):
            self.mean = 0.9 * self.mean + 0.1 * x
            return jnp.sum(self.w * x)

    nets = {"net": [Counting()]}
    loss = lambda nets, x: nets["net"][0](x)
    for tool in (jnp.grad, jnp.value_and_grad):
        with pytest.warns(jnp.LostWriteWarning, match=r"Counting\.mean .*\n.*has_aux"):
            tool(loss, argnames="nets")(nets=nets, x=X)
        assert nets["net"][0].mean.tolist() == [0, 0]
    both = lambda nets, x: (nets["net"][0](x), nets)
    _, new = jnp.grad(both, has_aux=True)(nets, X)
    assert new["net"][0].mean.tolist() == pytest.approx([0.1, 0.1])


@jnp.pytree
class Held:
    """An object that holds anything; its floats are settings."""

    def __init__(self, value):
        self.value = value


@jnp.pytree(data="value")
class Trained(Held):
    """The same; its floats are data."""


def anything():
    leaves = st.one_of(
        st.floats(-2, 2, width=32),
        st.integers(-2, 2),
        st.sampled_from(["text", True]),
        st.builds(lambda k: jnp.full(2, k), st.floats(-2, 2, width=32)),
        st.builds(np.float32, st.floats(-2, 2, width=32)),
    )
    return st.recursive(
        leaves,
        lambda inside: st.one_of(
            st.lists(inside, min_size=1, max_size=3),
            st.dictionaries(st.sampled_from("abc"), inside, min_size=1, max_size=3),
            st.builds(Held, inside),
            st.builds(Trained, inside),
            st.tuples(inside, inside),
        ),
        max_leaves=6,
    )


def expected_gradient(x, weight, *, outside=True, floats=True):
    """What `shown` says of a gradient of `weighted`, by the table of the page."""
    again = functools.partial(expected_gradient, weight=weight)
    if isinstance(x, Held):
        inside = again(x.value, outside=False, floats=type(x) is Trained)
        return type(x).__name__, inside
    if isinstance(x, (list, tuple)):
        return [again(y, outside=outside, floats=floats) for y in x]
    if isinstance(x, dict):
        return {k: again(y, outside=outside, floats=floats) for k, y in x.items()}
    if isinstance(x, (jax.Array, np.generic)) or (type(x) is float and floats):
        return np.full(np.shape(x), weight).tolist()
    return None if outside else x


def shown(gradient):
    if isinstance(gradient, Held):
        return type(gradient).__name__, shown(gradient.value)
    if isinstance(gradient, (list, tuple)):
        return [*map(shown, gradient)]
    if isinstance(gradient, dict):
        return {k: shown(y) for k, y in gradient.items()}
    return gradient.tolist() if isinstance(gradient, jax.Array) else gradient


def weighted(tree, weight):
    arrays = [x for x in jax.tree.leaves(tree) if not isinstance(x, (int, str))]
    return sum((jnp.sum(x) * weight for x in arrays), jnp.zeros(()))


@settings(deadline=None)  # the first example compiles
@given(anything(), st.sampled_from([0.5, -2.0]))
def test_what_is_data_follows_the_table(tree, weight):
    argument = {"tree": tree, "x": jnp.ones(2)}
    expected = expected_gradient(argument, weight)
    gradients = {
        "plain": jnp.grad(weighted)(argument, weight),
        "autojit": jnp.autojit(jnp.grad(weighted))(argument, weight),
        "within": jnp.autojit(lambda a: jnp.grad(weighted)(a, weight))(argument),
    }
    for gradient in gradients.values():
        assert shown(gradient) == expected


# ------------------------------------------------------- what objects print


def test_pytree_objects_print_their_attributes_without_numbers():
    assert repr(Layer(2)) == "Layer(w=float32[2,2], b=float32[2])"
    assert repr(Model()) == (
        "Model(\n"
        "  layers=[Layer(w=float32[2,2], b=float32[2]), "
        "Layer(w=float32[2,2], b=float32[2])],\n"
        "  options={'scale': 0.5, 'name': 'net', 'repeat': 2},\n"
        "  steps=0,\n"
        "  act=tanh\n"
        ")"
    )


def test_pytree_objects_print_the_same_inside_compiled_code():
    seen = []

    def loss(layer):
        seen.append(repr(layer))
        return layer(jnp.ones(2)).sum()

    jax.jit(jax.grad(loss))(Layer(2))
    assert seen == [repr(Layer(2))]


def test_pytree_repr_of_the_class_or_of_a_dataclass_stays():
    @jnp.pytree
    class Named:
        def __repr__(self):
            return "mine"

    @jnp.pytree
    @dataclasses.dataclass
    class Point:
        x: object

    assert repr(Named()) == "mine"
    assert repr(Point(1)).endswith("Point(x=1)")
    assert repr(type("Sub", (Layer,), {})(1)) == "Sub(w=float32[1,1], b=float32[1])"


def test_pytree_objects_print_long_and_recursive_attributes():
    @jnp.pytree
    class Odd:
        pass

    odd = Odd()
    odd.many, odd.text, odd.me, odd.one = list(range(50)), "a" * 200, [odd], (1,)
    text = repr(odd)
    assert "... (30 more)" in text
    assert "me=[...]" in text
    assert "one=(1,)" in text
    assert max(map(len, text.splitlines())) <= 100
