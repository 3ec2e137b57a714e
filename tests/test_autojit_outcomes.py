"""Results of a function under `autojit`, and its place in other transformations."""

import dataclasses
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from autojitting import Box, Colour, Counted, Model, Pair, same

from jfi import AutoJitError, UncompiledWarning, autojit


pytestmark = pytest.mark.usefixtures("way")


def test_in_place_writes_to_numpy_run_uncompiled():
    @autojit
    def f(x):
        x[0] = 1
        return x

    x = np.zeros(2)
    with pytest.warns(UncompiledWarning, match="immutable"):
        f(x)
    assert x[0] == 1


def test_objects_made_inside_may_change():
    @autojit
    def f(x):
        box, items = Box(x), []
        box.value = box.value + 1
        items.append(box.value)
        return items

    assert same(f(1.0), [2.0])


# ---------------------------------------------------------------------- results


def test_results_keep_their_types():
    @autojit
    def f(x, n):
        return {
            "array": x,
            "int": n + 1,
            "text": "a",
            "none": None,
            "float": 0.5,
            "flag": n > 2,
            "pair": Pair(x, [n]),
            "enum": Colour.RED,
            "set": {n},
            "function": jnp.sin,
            "class": Box,
            "numpy": np.arange(3),
        }

    out = f(jnp.ones(2), 3)
    assert same(out, f.__wrapped__(jnp.ones(2), 3) | {"numpy": np.arange(3)})
    assert type(out["numpy"]) is np.ndarray
    out["numpy"][0] = 9  # every call gives its own
    out["pair"].b.append(1)
    assert same(f(jnp.ones(2), 3)["numpy"], np.arange(3))
    assert f(jnp.ones(2), 3)["pair"].b == [3]
    assert list(out) == list(f.__wrapped__(jnp.ones(2), 3))


def test_traced_numbers_come_back_as_arrays():
    out = autojit(lambda x: x)(2.0)
    assert isinstance(out, jax.Array)
    assert out.weak_type


def test_results_that_depend_on_shapes():
    f = autojit(lambda x: (x.shape, str(x.dtype), x.ndim))
    for _ in range(2):
        assert f(jnp.ones(2, "float32")) == ((2,), "float32", 1)
        assert f(jnp.ones((2, 3), "int32")) == ((2, 3), "int32", 2)


def test_arguments_come_back_as_themselves():
    f = Counted(lambda a, x: (a, [a], x))
    for make in (lambda: Box(1.0), lambda: {"w": np.ones(2)}, list, set):
        for _ in range(2):
            value = make()
            out, (again,), _ = f(value, 1.0)
            assert out is value
            assert again is value
    box = Box([1.0])
    assert autojit(lambda b: b.value)(box) is box.value
    fn = lambda: box
    assert autojit(lambda: fn)() is fn


def test_objects_and_functions_made_inside():
    @autojit
    def f(x, box):
        made = Box(x * 2)
        made.owner = box
        return made, lambda y: x + y + box.value

    box = Box(5.0)
    for x in (1.0, 2.0):
        made, fn = f(x, box)
        assert made.value == 2 * x
        assert made.owner is box
        assert fn(1.0) == x + 6


def test_results_that_share_and_cycle():
    @autojit
    def f(x):
        a = [x]
        a.append(a)
        return a, a

    a, b = f(1.0)
    assert a is b
    assert a[1] is a


last, notes = "", []


class Told:
    last, notes = "", []

    def tells(self, x):
        Told.last = f"x = {x}"
        return x

    def notes_down(self, x):
        self.notes.append(f"x = {x}")
        return x

    def notes_down_outside(self, x):
        notes.append(f"x = {x}")
        return x


def tells(x):
    global last
    last = f"x = {x}"
    return x


def notes_down(x):
    notes.append(f"x = {x}")
    return x


@pytest.mark.parametrize(
    "f",
    [
        lambda x: {"note": [f"x = {x}"]},
        tells,
        notes_down,
        Told().tells,
        Told().notes_down,
        Told().notes_down_outside,
    ],
)
@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_data_written_as_text_is_that_of_plain_python(f, monkeypatch):
    for owner in (Told, sys.modules[__name__]):
        monkeypatch.setattr(owner, "last", "")
        monkeypatch.setattr(owner, "notes", [])
    compiled = autojit(f)
    left = lambda: (last, [*notes], Told.last, [*Told.notes])
    found = compiled(jnp.ones(2)), left()
    compiled(jnp.ones(2))
    notes.clear(), Told.notes.clear()
    assert str(found) == str((f(jnp.ones(2)), left()))


def test_refused_results():
    @autojit
    def f(x):
        return {"it": iter([x])}

    with pytest.warns(UncompiledWarning, match=r"f\(\) returned .* result\['it'\]"):
        assert list(f(1.0)["it"]) == [1.0]
    assert list(f(2.0)["it"]) == [2.0]
    with pytest.raises(AutoJitError, match=r"f\(\) returned .* result\['it'\]"):
        autojit(f, uncompiled=False)(1.0)


# ------------------------------------------------------- under other transformations


def test_under_transformations():
    @autojit
    def f(x, mode="sin", p=None):
        y = jnp.sin(x) if mode == "sin" else jnp.cos(x)
        return y * (p["k"] if p else 1.0)

    x = jnp.arange(3.0)
    assert same(jax.vmap(f)(x), jnp.sin(x))
    assert same(jax.vmap(lambda x: f(x, "cos", {"k": x}))(x), jnp.cos(x) * x)
    assert same(jax.grad(f)(1.0), jnp.cos(1.0))
    assert same(jax.grad(jax.grad(f))(1.0), -jnp.sin(1.0))
    assert same(jax.hessian(f)(1.0), -jnp.sin(1.0))
    assert same(jax.jvp(f, (1.0,), (1.0,))[1], jnp.cos(1.0))
    assert same(jax.jit(lambda x: f(x, mode="cos"))(x), jnp.cos(x))
    assert same(jax.checkpoint(f)(1.0), jnp.sin(1.0))
    scanned = jax.lax.scan(lambda c, x: (c + f(x), f(c)), 0.0, x)[0]
    assert same(scanned, jnp.sin(x).sum())
    assert same(autojit(lambda x: f(x) + f(x, "cos"))(x), jnp.sin(x) + jnp.cos(x))
    assert same(autojit(jax.grad(f))(1.0), jnp.cos(1.0))
    assert same(autojit(jax.vmap(f))(x), jnp.sin(x))
    assert same(jax.eval_shape(f, x).shape, (3,))
    assert same(f(x), jnp.sin(x))


def test_gradients_reach_attributes_and_captured_values():
    def loss(w):
        model = Model()
        model.w = w
        return model.step(1.0).sum()

    assert same(jax.grad(loss)(jnp.ones(2)), jnp.full(2, 3.0))

    def captured(w):
        return autojit(lambda x: (w * x).sum())(2.0)

    assert same(jax.grad(captured)(jnp.ones(2)), jnp.full(2, 2.0))


def test_returning_an_argument_under_grad():
    f = autojit(lambda p: (p, p["w"].sum()))
    g = jax.grad(lambda p: f(p)[0]["w"].sum() + f(p)[1])({"w": jnp.ones(2)})
    assert same(g["w"], jnp.full(2, 2.0))


def test_in_control_flow_and_on_a_mesh():
    add, less = autojit(lambda c: c + 1), autojit(lambda c: c < 3)
    assert jax.lax.while_loop(less, add, 0.0) == 3
    both = autojit(lambda x: (x, 2)), autojit(lambda x: (-x, 2))
    assert [float(v) for v in jax.lax.cond(False, *both, 1.0)] == [-1, 2]
    assert jax.lax.fori_loop(0, 3, autojit(lambda i, c: c + i), 0) == 3
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("a",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("a"))
    place = autojit(lambda x, s, m: jax.lax.with_sharding_constraint(x * 2, s))
    assert same(place(jnp.ones(2), sharding, mesh), jnp.full(2, 2.0))


def test_disable_jit_runs_the_plain_function():
    f = autojit(lambda x: x if x > 0 else -x)
    with jax.disable_jit():
        assert f(jnp.array(-1.0)) == 1
    assert f.cache_info() == (0, 0)


def test_no_tracer_leaks():
    with jax.checking_leaks():
        model = Model()
        model.step(1.0)
        autojit(lambda b, x: setattr(b, "value", x))(Box(1), 1.0)


class Layer:
    def __init__(self, w, name="layer", share=0.5):
        self.w, self.name, self.share = w, name, share

    def moved(self):
        return Layer(self.w + 1, self.name)


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: object
    inside: object = None

    def moved(self):
        return Frozen(self.w * 2, self.inside and self.inside.moved())


class Slots:
    __slots__ = ("w",)

    def __init__(self, w):
        self.w = w

    def moved(self):
        return Slots(self.w - 1)


class Guarded(Layer):
    def __setattr__(self, name, value):
        if name in vars(self):
            raise AttributeError(name)
        super().__setattr__(name, value)

    def moved(self):
        return Guarded(self.w / 2)


def described(x):
    """What an object is: its class, and what its attributes are, in their order."""
    if isinstance(x, list | tuple):
        return type(x), [described(part) for part in x]
    if isinstance(x, Slots):
        return Slots, described(x.w)
    if hasattr(x, "__dict__") and not isinstance(x, jnp.ndarray):
        return type(x), [(name, described(value)) for name, value in vars(x).items()]
    return np.asarray(x).tolist()


def test_new_objects_are_made_as_in_plain_python_at_each_call():
    class Trainer:
        def __init__(self):
            a, b, c, d, e = jnp.arange(10.0).reshape(5, 2)
            self.layers = [Layer(a), Frozen(b, Layer(c, "in")), Guarded(d), Slots(e)]

        def step(self, x):
            self.layers = [layer.moved() for layer in self.layers]
            shared = Layer(x)
            return {"new": Frozen(x, shared), "pair": (shared, shared)}

        compiled = autojit(step)

    ours, plain = Trainer(), Trainer()
    made = []
    for k in range(4):
        x = jnp.full(2, float(k))
        result, expected = ours.compiled(x), plain.step(x)
        assert described(list(result.values())) == described(list(expected.values()))
        assert described(ours.layers) == described(plain.layers)
        assert result["pair"][0] is result["pair"][1] is result["new"].inside
        made += ours.layers
    assert len(set(map(id, made))) == len(made)
    assert Trainer.compiled.cache_info().traces == 1
    assert not vars(Layer(1)).keys() ^ vars(ours.layers[0]).keys()
