"""What changes after calls were learnt by heart is seen (`jfi._autojit._layouts`)."""

import collections
import dataclasses
import enum
import functools
import gc
import importlib
import sys
import weakref

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from subprocesses import output_of

import jfi
from jfi import autojit
from jfi._autojit import _calls


def same(a, b):
    return jnp.allclose(jnp.asarray(a), jnp.asarray(b)).item()


def learnt(f, *args):
    """A function under autojit that knows the form of a call by heart."""
    g = autojit(f)
    for _ in range(4):
        assert same(g(*args), f(*args))
    return g


class Scaled:
    def __init__(self):
        self.w, self.name = jnp.ones(2), "scaled"

    def __call__(self, x):
        return x * self.w if self.name else x

    @autojit
    def run(self, x):
        return self(x)


LEARNT = {
    "a callable object": (Scaled(), 1.0),
    "a method": (Scaled.run, Scaled(), 1.0),
    "an object and a function": (lambda o, f, x: f(o(x)), Scaled(), jnp.sin, 1.0),
    "a dict": (lambda d: d["a"] * d["k"], {"a": 1.0, "k": 3}),
    "numbers and text": (lambda x, n, s: x * n + len(s), 1.0, 2, "a"),
}


@pytest.mark.parametrize("call", LEARNT.values(), ids=LEARNT)
def test_calls_that_were_learnt_are_not_opened_again(call, monkeypatch):
    g = learnt(*call)
    expected = g(*call[1:])
    monkeypatch.setattr(jfi._autojit._calls, "open_values", None)
    assert same(g(*call[1:]), expected)


def test_an_object_held_several_times():
    def run(fs, x):
        return fs[2](fs[1](fs[0](x)))

    g = learnt(run, [jnp.sin] * 3, 1.0)
    for fs in ([jnp.sin, jnp.cos, jnp.sin], [jnp.cos, jnp.sin, jnp.sin]):
        assert same(g(fs, 1.0), run(fs, 1.0))

    class Colour(enum.Enum):
        RED = 1
        BLUE = 2

    box = Plain()
    box.a = box.b = box.c = Colour.RED
    f = lambda o, x: x * (o.a.value + 10 * o.b.value + 100 * o.c.value)
    g = learnt(f, box, 1.0)
    for name in "abc":
        setattr(box, name, Colour.BLUE)
        assert same(g(box, 1.0), f(box, 1.0))

    one, other = [1.0], [1.0]
    f = lambda b, pair: jnp.where(pair[0] is b, 1, 0) + 2 * (pair[1] is b)
    g = learnt(f, one, [one, one])
    for pair in ([other, one], [one, other], [other, other]):
        assert same(g(one, pair), f(one, pair))


class Plain:
    pass


class Policy:
    k = 2


POLICY = Policy()  # without contents, named: told by `is`


def test_classes_of_values_without_attributes(monkeypatch):
    f = lambda p, x: x * p.k
    g = learnt(f, POLICY, 1.0)
    monkeypatch.setattr(Policy, "k", 3)
    assert g(POLICY, 1.0) == 3

    for base, value in ((tuple, (1.0,)), (int, 1), (str, "1"), (float, 1.0)):
        cls = type("Value", (base,), {"k": 2, "__slots__": ()})
        f = lambda v, x: x * v.k
        g = learnt(f, cls(value), 1.0)
        cls.k = 3
        assert g(cls(value), 1.0) == 3


def test_bases_that_are_replaced():
    class Two:
        def k(self):
            return 2

    class Three:
        def k(self):
            return 3

    class Model(Two):
        def __init__(self):
            self.w = 1.0

    model = Model()
    g = learnt(lambda m: m.w * m.k(), model)
    Model.__bases__ = (Three,)
    assert g(model) == 3


def test_what_a_setter_captured():
    scale = 2

    class Model:
        def __init__(self):
            self._x = 1.0

        @property
        def x(self):
            return self._x

        @x.setter
        def x(self, value):
            self._x = value * scale

    def f(model, value):
        model.x = value
        return model.x

    g = learnt(f, Model(), 1.0)
    scale = 3
    assert g(Model(), 1.0) == 3


def test_class_attributes_with_underscores_and_of_metaclasses():
    class Meta(type):
        k = 2

    class Model(metaclass=Meta):
        __scale__ = 2

        def __init__(self):
            self.w = 1.0

    model = Model()
    g = learnt(lambda m: m.w * m.__scale__ + type(m).k, model)
    Model.__scale__ = 3
    assert g(model) == 5
    Meta.k = 5
    assert g(model) == 8


def test_methods_that_become_static():
    z = [1]

    def count(*args):
        return len(args) + 0 * len(z)

    class Model:
        m = staticmethod(count)

        def __init__(self):
            self.w = 1.0

    model = Model()
    g = learnt(lambda m: m.w * m.m(1), model)
    Model.m = count
    assert g(model) == 2
    Model.m = classmethod(count)
    assert g(model) == 2


@pytest.mark.parametrize("n", [1, 6])
def test_keys_that_are_equal_to_text(n):
    class Key(str, enum.Enum):  # noqa: UP042
        A = "k0"

    f = lambda d: jnp.ones(()) * (1 if type(next(iter(d))) is str else 2)
    d = {f"k{j}": float(j) for j in range(n)}
    g = learnt(f, d)
    assert g({Key.A: 0.0, **{k: d[k] for k in list(d)[1:]}}) == 2
    assert g(d) == 1

    box = Plain()
    box.b = 1.0
    setattr(box, Key.A, 2.0)
    learnt(lambda o: o.k0 + o.b, box)
    grow = autojit(lambda o: setattr(o, Key.A, o.b + 1))
    for _ in range(3):
        grow(box)
    assert box.k0 == 2


def test_partials():
    class Named(functools.partial):
        pass

    def grow(p):
        p.keywords["k"] = p.keywords["k"] + 1
        return p(1.0)

    for cls in (functools.partial, Named):
        p = cls(lambda x, k: x * k, k=2.0)
        g = autojit(grow)
        assert [float(g(p)) for _ in range(4)] == [3, 4, 5, 6]
        assert p.keywords["k"] == 6
        p.tag = 3
        g = learnt(lambda p: p(1.0) * p.tag, p)
        p.tag = 4
        assert g(p) == 24


def test_attributes_of_local_functions_under_autojit():
    @autojit
    def inner(x):
        return x * 2

    inner.n = 3
    g = learnt(lambda x: inner.__wrapped__(x) * inner.n, 1.0)
    inner.n = 4
    assert g(1.0) == 8


def test_equal_sets_of_other_types_are_written():
    box = Plain()
    box.s = frozenset({1})
    autojit(lambda o: setattr(o, "s", frozenset({True})))(box)
    assert [type(e) for e in box.s] == [bool]


@jax.tree_util.register_pytree_node_class
class Params:
    """Makes a new dict whenever it is put together."""

    def __init__(self, p):
        self.p = dict(p)

    def tree_flatten(self):
        return tuple(self.p.values()), tuple(self.p)

    @classmethod
    def tree_unflatten(cls, keys, values):
        return cls(zip(keys, values, strict=True))


@jax.tree_util.register_pytree_node_class
class Items(list):
    def tree_flatten(self):
        return tuple(self), None

    @classmethod
    def tree_unflatten(cls, _, values):
        return cls(values)


@jax.tree_util.register_pytree_node_class
class SlottedNode:
    __slots__ = ("w",)

    def __init__(self, w):
        self.w = w

    def tree_flatten(self):
        return (self.w,), None

    @classmethod
    def tree_unflatten(cls, _, values):
        return cls(*values)


def test_registered_classes_are_written_like_others():
    params = Params({"w": 1.0})
    params.tag = "x"

    @autojit
    def grow(p):
        p.p["w"] = p.p["w"] + 1

    for k in range(3):
        grow(params)
        assert params.p["w"] == k + 2
    assert params.tag == "x"

    items = Items([1.0])
    add = autojit(lambda p: p.append(p[-1] + 1))
    for _ in range(3):
        add(items)
    assert [float(x) for x in items] == [1, 2, 3, 4]

    node = SlottedNode(1.0)
    step = autojit(lambda n: setattr(n, "w", n.w * 2))
    for _ in range(3):
        step(node)
    assert node.w == 8


class Pair(collections.namedtuple("Pair", "a b")):
    __slots__ = ()
    scale = 2

    def total(self):
        return (self.a + self.b) * self.scale


def test_methods_of_named_tuples(monkeypatch):
    g = learnt(lambda p: p.total(), Pair(1.0, 2.0))
    monkeypatch.setattr(Pair, "scale", 3)
    assert g(Pair(1.0, 2.0)) == 9
    monkeypatch.setattr(Pair, "total", lambda self: self.a)
    assert g(Pair(1.0, 2.0)) == 1


@pytest.mark.parametrize("base", [list, dict, set])
def test_items_of_containers_that_were_empty(base):
    cls = type("Items", (base,), {})
    items = cls()
    items.w = 1.0
    g = learnt(lambda s: s.w * len(s), items)
    if base is list:
        items.append(5.0)
    elif base is dict:
        items["k"] = 5.0
    else:
        items.add(5)
    for _ in range(4):
        assert g(items) == 1
    clear = autojit(lambda s: s.clear())
    clear(cls())
    for _ in range(3):
        clear(items)
        assert len(items) == 0


def test_keywords_of_a_partial_that_change():
    p = functools.partial(lambda a, b=2: a * b, b=3.0)
    g = learnt(p, 1.0)
    p.keywords["b"] = 8.0
    assert g(1.0) == 8
    assert g(1.0, b=2.0) == 2


def test_durations_and_exceptions_are_settings():
    second = np.timedelta64(1, "s")
    g = learnt(lambda d, x: x * (d / second), np.timedelta64(3, "s"), 1.0)
    assert g(np.timedelta64(4, "s"), 1.0) == 4
    g = learnt(lambda d, x: x * float(d[0] / second), np.array([3], "m8[s]"), 1.0)
    assert g(np.array([4], "m8[s]"), 1.0) == 4

    error = ValueError("held")

    @autojit
    def f(x, fails):
        if fails:
            raise error
        return x

    assert f(1.0, False) == 1
    with pytest.raises(ValueError, match="held"):
        f(1.0, True)


def test_donated_arrays_that_stay_in_use():
    model = Plain()
    model.w, model.b, model.last = jnp.zeros(4), jnp.ones(3), None

    @autojit(donate="model")
    def step(model, x):
        model.last = model.w
        model.w = model.w + x

    @autojit(donate="items")
    def add(items, x):
        items.append(items[-1] + x)

    @autojit(donate="model")
    def twice(model):
        model.w = model.w + 1
        return model.items[0]

    held = Plain()
    held.w = jnp.zeros(4)
    held.items = [held.w]
    for k in range(3):
        assert twice(held)[0] == 0
        assert (held.w[0], held.items[0][0]) == (k + 1, 0)

    items = [jnp.zeros(2)]
    for k in range(4):
        step(model, 1.0)
        add(items, 1.0)
        assert (model.last[0], model.w[0], model.b[0]) == (k, k + 1, 1)
        assert [float(x[0]) for x in items] == list(range(k + 2))


def test_functions_and_what_they_captured_are_freed():
    class Model:
        def __init__(self):
            self.w = jnp.ones(3)
            self.step = autojit(self._step)

        def _step(self, x):
            return self.w * x

    def by_instance(cls):
        model = cls()
        model.step(1.0)
        return model

    def by_closure(cls):
        model = cls()
        f = autojit(lambda x: x + model.w)
        return f, [f(1.0) for _ in range(4)], model

    for make in (by_instance, by_closure):
        held = make(Model)
        alive = weakref.ref(held if make is by_instance else held[-1])
        del held
        gc.collect()
        assert alive() is None


class Layer(eqx.Module):
    w: jax.Array
    scale: float = eqx.field(static=True)


def test_static_data_of_registered_classes_stay_as_they_are():
    f = autojit(lambda m: eqx.tree_at(lambda m: m.w, m, m.w * 2))
    layer = Layer(jnp.ones(2), 0.1)
    for _ in range(3):
        assert f(layer).scale is layer.scale
    out = jax.lax.scan(lambda c, _: (f(c), None), layer, None, 2)[0]
    assert out.w.tolist() == [4, 4]
    assert jax.jit(f)(layer).w.tolist() == [2, 2]
    g = learnt(lambda m: m.w.sum() * m.scale, layer)
    assert same(g(Layer(jnp.ones(2), 0.5)), 1.0)


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["w", "loss"], meta_fields=["rate"]
)
@dataclasses.dataclass
class Fields:
    w: object
    loss: object = None
    rate: float = 0.5


def test_data_fields_that_were_empty_or_equal_to_static_ones():
    f = autojit(lambda d: jax.tree.map(lambda a: a * 2, d))
    f(Fields(0.5, None, 0.5))
    start = Fields(jnp.ones(2), None, 0.25)
    out = jax.lax.scan(lambda c, _: (f(c), None), start, None, 2)[0]
    assert out.w.tolist() == [4, 4]
    g = autojit(lambda d: d.w if d.loss is None else d.w * d.loss)
    g(start)
    for k in range(6):
        assert same(g(Fields(jnp.ones(2), k + 0.5)), jnp.full(2, k + 0.5))
    assert g.cache_info().traces == 2


def test_debugging_of_nans():
    output = output_of("""
import jax
import jax.numpy as jnp
from jfi import autojit
from jfi._autojit import _calls

f = autojit(lambda x: jnp.log(x))
for _ in range(4):
    f(1.0)
jax.config.update("jax_debug_nans", True)
for _ in range(3):
    try:
        f(-1.0)
    except FloatingPointError as error:
        print("nan" in str(error), f(1.0))
""")
    assert output.splitlines().count("True 0.0") == 3


def test_deep_and_huge_values_are_written_and_returned():
    def nested(x, depth):
        for _ in range(depth):
            x = [x]
        return x

    @autojit
    def f(box, x):
        box.deep = nested(x, 250)
        box.big = 10**5000
        return nested(x, 1000), 10**5000

    box = Plain()
    for _ in range(3):
        result, big = f(box, 2.0)
        assert box.big == big == 10**5000
        deep = box.deep
        for _ in range(250):
            (deep,) = deep
        for _ in range(1000):
            (result,) = result
        assert deep == result == 2


def test_cached_functions_made_at_run_time():
    scale = 2

    @functools.lru_cache(maxsize=3)
    def table(n):
        return n * scale

    g = learnt(lambda x: x * table(3), 1.0)
    scale = 3
    table.cache_clear()
    assert g(1.0) == 9


class Scaled:
    def __init__(self):
        self.w = jnp.arange(3.0)

    @autojit
    def __call__(self, x):
        return self.w * x

    def plain(self, x):
        return self.w + x


def opened_by(monkeypatch, call):
    """How many calls are opened, of those after the first few."""
    opened = []
    original = _calls.open_values
    monkeypatch.setattr(
        _calls, "open_values", lambda *a, **k: opened.append(1) or original(*a, **k)
    )
    for _ in range(4):
        call()
    opened.clear()
    for _ in range(10):
        call()
    return len(opened)


def test_methods_are_recognised(monkeypatch):
    scaled = Scaled()
    assert opened_by(monkeypatch, lambda: scaled(2.0)) == 0
    assert opened_by(monkeypatch, lambda: autojit(scaled.plain)(2.0)) == 0
    assert opened_by(monkeypatch, lambda: autojit(Scaled.plain)(scaled, 2.0)) == 0


def test_a_captured_function_whose_rule_calls_it_is_recognised(monkeypatch):
    """It is in a cell that it captured: the part of the call leads back to itself."""
    scale = 2.0

    @jax.custom_jvp
    def scaled(x):
        return x * scale

    scaled.defjvp(lambda p, t: (scaled(*p), t[0] * scale))
    f = autojit(lambda x: scaled(x))
    assert opened_by(monkeypatch, lambda: f(3.0)) == 0
    scale = 5.0
    assert [float(f(3.0)) for _ in range(3)] == [15.0] * 3


@pytest.mark.parametrize("first", ["module", "function"])
def test_a_module_of_a_project_beside_its_functions_is_recognised(
    first, monkeypatch, tmp_path
):
    """As with a package of one's own that makes functions: `lib.make` and `lib.k`."""
    (tmp_path / "own_package.py").write_text("k = 2.0\ndef scaled(x): return x * k")
    monkeypatch.syspath_prepend(str(tmp_path))
    own_package = importlib.import_module("own_package")
    scaled = own_package.scaled
    held = (own_package, scaled) if first == "module" else (scaled, own_package)

    @autojit
    def step(x):
        module, fn = held if first == "module" else held[::-1]
        return fn(x) + module.k

    try:
        assert opened_by(monkeypatch, lambda: step(3.0)) == 0
        own_package.k = 5.0
        assert [float(step(3.0)) for _ in range(3)] == [20.0] * 3
    finally:
        del sys.modules["own_package"]


def test_forms_that_come_no_more_make_room(monkeypatch):
    """Such as those of functions that a notebook defines again and again."""

    def redefined(k):
        cls = type("Model", (), {f"attribute{k}": 1.0, "w": float(k)})
        return cls()

    g = autojit(lambda o, x: o.w * x, warn_after=1000)
    kept = Scaled()
    for k in range(60):
        model = redefined(k)
        for _ in range(8):
            assert same(g(model, 2.0), 2.0 * k)
            assert same(g(kept, 2.0), kept.w * 2.0)
    monkeypatch.setattr(jfi._autojit._calls, "open_values", None)
    assert same(g(model, 3.0), 3.0 * k)
    assert same(g(kept, 2.0), kept.w * 2.0)


# ------------------------------------------ parts that stay as they are are remembered


class Trained:
    def __init__(self, rate):
        self.tx = optax.adam(rate)
        self.params = {"w": jnp.ones(3)}
        self.state = self.tx.init(self.params)

    @autojit
    def step(self, x):
        updates, self.state = self.tx.update({"w": x}, self.state)
        self.params = optax.apply_updates(self.params, updates)


def test_an_optimizer_in_self_is_told_from_others(monkeypatch):
    plain = Trained.step.__wrapped__
    ours, theirs = [[Trained(rate) for rate in (0.1, 0.5)] for _ in range(2)]
    for k in range(8):
        for one, other in zip(ours, theirs, strict=True):
            one.step(jnp.arange(3.0))
            plain(other, jnp.arange(3.0))
            w, expected = one.params["w"], other.params["w"]
            np.testing.assert_allclose(w, expected, rtol=1e-5, atol=1e-5)
        if k == 5:
            ours[0].tx = theirs[0].tx = optax.adam(0.9)
    assert Trained.step.cache_info().traces == 1
    assert opened_by(monkeypatch, lambda: ours[0].step(jnp.arange(3.0))) == 0


class Net(nn.Module):
    features: int
    act: object = nn.relu

    @nn.compact
    def __call__(self, x):
        return self.act(nn.Dense(self.features)(x)) * self.gain

    gain = 1.0


class Holder:
    def __init__(self, module):
        self.module, self.params = module, module.init(jax.random.key(0), jnp.ones(2))

    @autojit
    def __call__(self, x):
        return self.module.apply(self.params, x)


def test_a_linen_module_in_self_is_seen_when_it_changes(monkeypatch):
    holder, x = Holder(Net(3)), jnp.ones(2)
    check = lambda: same(holder(x), Holder.__call__.__wrapped__(holder, x))
    assert all(check() for _ in range(5))
    assert opened_by(monkeypatch, lambda: holder(x)) == 0
    object.__setattr__(holder.module, "act", jnp.cos)  # frozen as it is
    assert all(check() for _ in range(5))
    holder.module = Net(3, jnp.tanh)
    assert all(check() for _ in range(5))
    monkeypatch.setattr(Net, "gain", 2.0)
    assert all(check() for _ in range(5))
    monkeypatch.setattr(Net, "gain", 3.0)
    assert all(check() for _ in range(5))


class Scales:
    def __init__(self, scales):
        self.scales = scales

    @autojit
    def __call__(self, x):
        return x * sum((k + 1) * float_ for k, float_ in enumerate(self.scales))


def test_a_list_of_floats_is_seen_when_it_changes():
    numbers = [float(k) for k in range(20)]
    scales = Scales(numbers)
    check = lambda: same(scales(2.0), Scales.__call__.__wrapped__(scales, 2.0))
    for change in (
        lambda: None,
        lambda: numbers.__setitem__(0, 5.0),
        numbers.reverse,
        lambda: numbers.append(1.0),
        numbers.pop,
        lambda: numbers.__setitem__(3, -0.0),
        lambda: setattr(scales, "scales", [2.0] * 20),
    ):
        change()
        assert all(check() for _ in range(4))


def test_a_variable_that_a_library_rebinds_is_seen():
    # As a library would have it: its functions are not looked at, its variables are.
    names = {"__name__": "optax.made_here"}
    source = """
def make():
    n = 1.0
    def get(x):
        return x * n
    def put(value):
        nonlocal n
        n = value
    return get, put, (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
"""
    exec(compile(source, optax.__file__, "exec"), names)
    get, put, rest = names["make"]()
    f = autojit(lambda fns, x: fns[0](x) + len(fns[2]))
    for n in (1.0, 2.0, 3.0):
        put(n)
        for _ in range(4):
            assert f((get, put, rest), 2.0) == 2 * n + 7


def test_objects_of_users_are_not_kept_alive():
    class Config:
        def __init__(self):
            self.a = self.b = self.c = self.d = 1

    def one():
        config = [Config() for _ in range(8)]
        for _ in range(5):
            f(config, 1.0)
        return weakref.ref(config[0])

    f = autojit(lambda config, x: x * sum(c.a for c in config))
    gone = one()
    gc.collect()
    assert gone() is None
