"""Objects and containers as arguments of `autojit`: opened, and as they were."""

import collections
import dataclasses
import functools
import logging
import threading
import time
import types
import weakref
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import lineax
import numpy as np
import pytest
from absl.testing import parameterized
from autojitting import Box, Colour, Counted, Pair, Slotted, same

from jfi import AutoJitError, UncompiledWarning, autojit, scan


pytestmark = pytest.mark.usefixtures("way")


# ---------------------------------------------------------------------- opened


@jax.tree_util.register_pytree_node_class
class Registered:
    def __init__(self, w, name, act):
        self.w, self.name, self.act = w, name, act

    def tree_flatten(self):
        return (self.w, self.act), (self.name,)

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(children[0], aux[0], children[1])


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["n"]
)
@dataclasses.dataclass
class RegisteredData:
    w: object
    n: object


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: object
    mode: str = "a"


class Base:
    __slots__ = ("__hidden", "__special__", "w")

    def __init__(self, w):
        self.w, self.__hidden, self.__special__ = w, 3, 2

    def total(self):
        return self.w.sum() * self.__hidden * self.__special__


class Derived(Base):
    __slots__ = ("empty",)


class Attributes(dict):
    """The usual dict with attributes."""

    def __init__(self, **kw):
        super().__init__(**kw)
        self.__dict__ = self


class Stack(list):
    def __init__(self, items, name):
        super().__init__(items)
        self.name = name


@pytest.mark.parametrize(
    ("make", "use"),
    [
        (lambda w: [w, "a"], lambda a: a[0].sum()),
        (lambda w: (w, [w, None]), lambda a: a[1][0].sum()),
        (lambda w: {"w": w, 3: {"k": "text"}}, lambda a: a["w"].sum() + len(a[3]["k"])),
        (lambda w: Pair(w, "b"), lambda a: a.a.sum() * len(a.b)),
        (lambda w: Registered(w, "n", jnp.sin), lambda a: a.act(a.w).sum()),
        (lambda w: RegisteredData({"k": w}, 3), lambda a: a.w["k"].sum() * a.n),
        (Frozen, lambda a: a.w.sum() if a.mode == "a" else 0),
        (Slotted, lambda a: a.w.sum() if a.mode == "a" else 0),
        (lambda w: types.SimpleNamespace(w=w), lambda a: a.w.sum()),
        (Box, lambda a: a.value.sum()),
        (lambda w: Box(Box([w])), lambda a: a.value.value[0].sum()),
        (Derived, lambda a: a.total()),
        (lambda w: functools.partial(jnp.add, w), lambda a: a(1.0).sum()),
        (
            lambda w: functools.partial(lambda u, *, v: u + v, v=w),
            lambda a: a(1.0).sum(),
        ),
        (lambda w: jax.tree_util.Partial(jnp.add, w), lambda a: a(1.0).sum()),
        (lambda w: Base(w).total, lambda a: a()),
        (lambda w: lambda y: w.sum() * y, lambda a: a(2.0)),
        (lambda w: lambda y, v=w: v.sum() * y, lambda a: a(2.0)),
        (lambda w: lambda y, *, v=w: v.sum() * y, lambda a: a(2.0)),
        (lambda w: Attributes(w=w, k=3), lambda a: a.w.sum() * a["k"]),
        (lambda w: Stack([w], "a"), lambda a: a[0].sum() + len(a.name)),
        (lambda w: collections.OrderedDict(b=w, a=1), lambda a: (list(a), a["b"])),
        (
            lambda w: collections.defaultdict(lambda: 5, b=w),
            lambda a: (a.default_factory(), a["b"]),
        ),
        (lambda w: collections.deque([w], 4), lambda a: (a[0], a.maxlen)),
        (lambda w: types.MappingProxyType({"w": w}), lambda a: a["w"]),
        (lambda w: slice(None, None), lambda a: jnp.arange(3)[a]),
    ],
)
def test_opened(make, use):
    f = Counted(lambda a: use(a))
    for k in range(3):
        w = jnp.arange(3.0) + k
        assert same(f(make(w)), use(make(w)))
    assert f.traces == 1


def test_registered_static_data_is_told_apart_by_type():
    f = Counted(lambda a: a.w * (10 if a.n is True else a.n))
    results = [float(f(RegisteredData(1.0, n))) for n in (1, True, 1, 2.0)]
    assert results == [1, 10, 1, 2]


def test_small_arrays_of_numpy_that_jax_takes_for_constants_are_known_to_the_code():
    """A power and a shape, as bijectors and distributions have them."""

    @jax.tree_util.register_pytree_node_class
    class Powers:
        def __init__(self, scale, power, shape):
            # Made again from what it was given, it has attributes made from that.
            self._given = {"scale": scale}
            self._scale = scale
            self._power, self._shape = np.asarray(power), np.asarray(shape)

        def tree_flatten(self):
            scale = getattr(self, "_" + next(iter(self._given)))
            return (scale,), (float(self._power), tuple(self._shape))

        @classmethod
        def tree_unflatten(cls, data, children):
            return cls(*children, *data)

        def __call__(self, x):
            if self._power == 0.0:
                return jnp.broadcast_to(jnp.exp(x * self._scale), tuple(self._shape))
            return jnp.broadcast_to((x * self._scale) ** self._power, self._shape)

    f, x = Counted(lambda p, x: p(x)), jnp.arange(3.0)
    compiled = jax.jit(lambda p, x: p(x))
    for power, shape in (0.0, (3,)), (0.0, (2, 3)), (2.0, (3,)):
        for scale in jnp.array(2.0), jnp.array(3.0):
            made = Powers(scale, power, shape)
            got = f(made, x)
            assert same(got, made(x))
            assert same(got, compiled(made, x))
    assert f.traces == 3


def test_classes_of_registered_objects_and_named_tuples():
    @jax.tree_util.register_pytree_node_class
    class Tree(Registered):
        scale = 2

    class Point(NamedTuple):
        a: object

        def twice(self):
            return self.a * 2

    f = autojit(lambda r: r.w * r.scale)
    assert f(Tree(1.0, "n", None)) == 2
    Tree.scale = 3
    assert f(Tree(1.0, "n", None)) == 3
    g = autojit(lambda p: p.twice())
    assert g(Point(1.0)) == 2
    Point.twice = lambda self: self.a * 5
    assert g(Point(1.0)) == 5


def test_the_same_object_twice_is_one_object_inside():
    f = Counted(lambda a, b: (a is b, a))
    for make in (lambda: [1.0], lambda: {"a": 1}, lambda: Box(2), lambda: jnp.ones(2)):
        x, y = make(), make()
        assert f(x, x)[0] is True
        assert f(x, y)[0] is False
    g = autojit(lambda p: p.a is p.b[0])
    box = Box(1.0)
    assert g(Pair(box, [box])) is True
    assert g(Pair(box, [Box(1.0)])) is False


def test_cycles():
    node = Box(None)
    node.value, node.w = [node], jnp.ones(2)
    assert autojit(lambda n: n.value[0] is n and n.value[0].w.sum() == 2)(node)

    items = [1.0]
    items.append(items)
    assert autojit(lambda a: a[1][1][0] * 2)(items) == 2

    table = {"w": 3.0}
    table["self"] = (table,)
    assert autojit(lambda d: d["self"][0]["w"] * 2)(table) == 6

    around = ([2.0],)
    around[0].append(around)
    assert autojit(lambda t: t[0][1][0][0] * (t[0][1] is t))(around) == 2

    class Parent:
        pass

    parent, child = Parent(), Parent()
    parent.child, child.parent = child, weakref.ref(parent)
    parent.w = jnp.ones(3)
    assert autojit(lambda p: p.child.parent().w.sum())(parent) == 3


def test_what_refers_to_nothing_any_more_shares_a_program():
    """As proxies of modules that linen makes for one call do."""

    class Proxy:
        def __init__(self, k):
            self.k, self.module = k, weakref.ref(Box(1.0))

    f = Counted(lambda p, x: (p.k * x if p.module() is None else x, p.module))
    for proxy in Proxy(2), Proxy(2), Proxy(3):
        value, module = f(proxy, 2.0)
        assert value == proxy.k * 2
        assert module is proxy.module
    assert f.traces == 2
    hashed = Proxy(2)
    assert autojit(lambda p: {p.module: 3.0}[p.module])(hashed_while_alive(hashed)) == 3


def hashed_while_alive(proxy):
    box = Box(1.0)
    proxy.module = weakref.ref(box)
    hash(proxy.module)
    return proxy


def test_a_cycle_through_a_registered_class():
    loop = Registered([1.0], "n", None)
    loop.w.append(loop)
    f = autojit(lambda a: a.w[1].w[0] * (a.w[1] is a))
    assert [float(f(loop)) for _ in range(3)] == [1.0] * 3


class Keys:
    def __init__(self, key):
        self.key, self.drawn = key, []

    def __iter__(self):
        return self

    def __next__(self):
        self.key, key = jax.random.split(self.key)
        self.drawn.append(1)
        return key


def test_an_iterator_of_a_python_class_is_an_object():
    def draw(keys, n):
        return [jax.random.uniform(next(keys)) for _ in range(n)]

    compiled, keys, twin = (
        autojit(draw),
        Keys(jax.random.key(0)),
        Keys(jax.random.key(0)),
    )
    for n in (2, 2, 1):
        assert compiled(keys, n) == draw(twin, n)
    assert len(keys.drawn) == 5


def test_long_chains():
    chain = None
    for k in range(3000):
        chain = Box([float(k), chain])
    assert autojit(lambda c: c.value[1].value[0])(chain) == 2998.0


def test_objects_with_their_own_equality_are_settings_by_contents():
    class Grid:
        def __init__(self, n, spacing):
            self.n, self.spacing = n, spacing

        def __eq__(self, other):
            return self.n == other.n

        def __hash__(self):
            return hash(self.n)

    f = Counted(lambda x, g: x * g.n * {g: float(g.spacing)}[g])
    assert f(1.0, Grid(2, 0.5)) == 1
    assert f(1.0, Grid(2, 0.5)) == 1
    assert f(1.0, Grid(2, 1.5)) == 3  # equal for the class, and not the same
    assert f(1.0, Grid(True, 1.0)) == 1
    grid = Grid(4, 1.0)
    assert f(1.0, grid) == 4
    grid.n = 5
    assert f(1.0, grid) == 5
    assert f.traces == 5


def test_objects_as_keys_and_elements():
    @dataclasses.dataclass(frozen=True)
    class Name:
        text: str

    key = Box("a")
    table = {key: 2.0, Name("b"): 3.0, Colour.RED: 4.0, (1, "x"): 5.0}

    @autojit
    def f(d, k, s):
        return d[k] + d[Name("b")] + d[Colour.RED] + d[1, "x"] + (k in s)

    assert f(table, key, {key, Name("b")}) == 15
    assert f(table, key, frozenset({Name("b")})) == 14


SENTINEL = Box.__new__(Box)


PLAIN = object()


def test_sentinels_keep_their_identity():
    @autojit
    def f(x, y=PLAIN, z=SENTINEL):
        return x * (1 if y is PLAIN else 2) * (1 if z is SENTINEL else 3)

    assert f(1.0) == 1
    assert f(1.0, PLAIN, Box(1)) == 3
    assert f(1.0, object(), SENTINEL) == 2


def test_constants_of_libraries_keep_their_identity(monkeypatch):
    # lineax compares its tags by identity, and they have a text.
    tag = lineax.positive_semidefinite_tag
    asks = Counted(lambda o: (lineax.is_positive_semidefinite(o), tag in o.tags))
    for k in range(3):
        a = jnp.eye(2) * k
        assert asks(lineax.MatrixLinearOperator(a, tag)) == (True, True)
        assert asks(lineax.MatrixLinearOperator(a)) == (False, False)
    assert asks.traces == 2

    @autojit
    def make(a):
        f = lineax.FunctionLinearOperator(lambda x: a @ x, jax.eval_shape(lambda: a[0]))
        return lineax.TaggedLinearOperator(f, tag), {"tag": tag}

    made, settings = make(jnp.eye(2))
    assert lineax.is_positive_semidefinite(made)
    assert settings["tag"] is tag
    shows = Counted(lambda tag, x: x * len(tag.string))
    assert [shows(tag, 1.0), shows(tag, 1.0)] == [25, 25]
    monkeypatch.setattr(tag, "string", "psd")
    assert shows(tag, 1.0) == 3
    assert shows.traces == 2


def fill(x):
    STATE.value = x * 2  # noqa: F821 - see state
    return x


def fill_lazily(x):
    if not hasattr(STATE, "table"):  # noqa: F821 - see state
        STATE.table = jnp.arange(2.0) + x  # noqa: F821
    return x + STATE.table  # noqa: F821


def fill_in_a_method(x):
    class Filling:
        def run(self, x):
            STATE.value = x * 2  # noqa: F821 - see state
            return x

    return Filling().run(x)


def fill_a_property(x):
    return x + STATE.table  # noqa: F821 - see state


def fill_and_empty(x):
    STATE.value = x  # noqa: F821 - see state
    y = STATE.value * 2  # noqa: F821
    del STATE.value  # noqa: F821
    return y


@pytest.fixture
def state(monkeypatch):
    """Makes an empty object of a class of its own, which the module names."""

    def make():
        class Empty:
            @functools.cached_property
            def table(self):
                return jnp.arange(2.0)

        made = Empty()
        monkeypatch.setitem(globals(), "STATE", made)
        return made

    return make


@pytest.mark.parametrize(
    "body", [fill, fill_lazily, fill_in_a_method, fill_a_property, fill_and_empty]
)
def test_an_object_that_is_empty_at_first_is_filled(body, state):
    plain = state()
    expected = [(body(k).tolist(), shown(plain)) for k in np.ones((3, 2), np.float32)]
    filled, f = state(), autojit(body)
    assert [(f(k).tolist(), shown(filled)) for k in np.ones((3, 2), np.float32)] == (
        expected
    )


def test_several_threads_fill_an_object_at_once(state):
    filled, f = state(), autojit(fill)
    threads = [threading.Thread(target=f, args=(float(k),)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert float(filled.value) in {2.0 * k for k in range(8)}


def test_an_argument_that_is_empty_at_first_is_filled(state):
    filled = state()

    @autojit
    def f(model, x):
        model.value = x + 1
        return model.table + x

    assert same(f(filled, 1.0), np.array([1.0, 2.0]))
    assert same(f(filled, 2.0), np.array([2.0, 3.0]))
    assert shown(filled) == {"value": 3.0, "table": [0.0, 1.0]}


class Text(str):
    pass


class PairWithAttributes(Pair):
    pass


@pytest.mark.parametrize(
    "make",
    [
        lambda: functools.partial(abs), lambda: functools.cache(lambda k: 2 * k),
        lambda: Text("a"), lambda: PairWithAttributes(1.0, 2.0),
        lambda: jax.jit(lambda x: x), lambda: logging.getLogger("odd"),
    ],
)  # fmt: skip
def test_attributes_of_what_is_not_opened_are_written_uncompiled(make):
    class Model:
        def __init__(self):
            self.odd = make()

        @autojit
        def run(self, x):
            self.odd.value = x * 2
            return x

    model = Model()
    with pytest.warns(UncompiledWarning, match="writes the attribute 'value' of a"):
        assert model.run(1.0) == 1
    assert not isinstance(model.odd.value, jax.core.Tracer)
    assert model.odd.value == 2


def shown(x):
    return {name: np.asarray(value).tolist() for name, value in vars(x).items()}


def test_named_tuples_with_attributes():
    class Point(Pair):  # has a `__dict__`, other than Pair itself
        pass

    f = autojit(lambda p: p.a * 2)
    assert f(Point(1.0, 2)) == 2
    marked = Point(1.0, 2)
    marked.mark = 3
    with pytest.raises(AutoJitError, match="a Point for p, an immutable value"):
        f(marked)


def test_settings_of_a_registered_class_may_be_in_slots():
    class Slotted:
        __slots__ = ("gain", "w")

        def __init__(self, w, gain):
            self.w, self.gain = w, gain

    jax.tree_util.register_pytree_node(
        Slotted, lambda x: ((x.w,), x.gain), lambda gain, w: Slotted(*w, gain)
    )

    def scaled(x):
        return x.w * x.gain if x.gain > 1.5 else x.w

    def step(carry, _):
        return Slotted(scaled(carry), carry.gain), None

    compiled = autojit(scaled)
    for gain in (2.0, 1.0, 3.0):
        x = Slotted(jnp.ones(2), gain)
        assert same(compiled(x), scaled(x))
        after, _ = scan(step, x, None, 2)
        assert after.gain == gain
        assert same(after.w, scaled(step(x, None)[0]))


def test_a_test_of_absl_does_not_open_the_test_runner():
    class Test(parameterized.TestCase):
        def __init__(self):
            super().__init__("run")
            self.rate, self.folders = 2.0, {name: Path(name) for name in "abc"}
            self._outcome = Box(self.folders)  # pytest's, which leads to all it has

        def check(self, x):
            step = Counted(lambda x: self.rate * x)
            results = [step(x), step(x)]
            self.rate = 3.0
            assert step.traces == 1
            return [*results, step(x)]

        def read(self, name):
            return autojit(lambda x: getattr(self, name) * x)(1.0)

    assert Test().check(jnp.ones(())) == [2, 2, 3]
    assert Test().read("rate") == 2


def test_a_large_dict_of_what_cannot_be_watched_takes_no_time():
    files = {f"file {k}": Path(str(k)) for k in range(1000)}
    step = autojit(lambda x, name: x + len(files[name].read_text()))
    start = time.process_time()
    with (
        pytest.warns(UncompiledWarning, match=r"uses pathlib.*read_text"),
        pytest.raises(FileNotFoundError),
    ):
        step(1.0, "file 7")
    assert time.process_time() - start < 5  # minutes, with one search for each
