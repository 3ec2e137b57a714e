"""`autojit(f)(*a)` equals `f(*a)`, whatever was called before."""

import abc
import collections
import copy
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import gc
import inspect
import logging
import math
import operator
import pathlib
import pickle
import threading
import types
import weakref
from typing import NamedTuple

import cloudpickle
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from jfi import AdvancedAutoJIT, AutoJIT, AutoJitError, autojit
from jfi._autojit import _calls, _layout_table, _programs
from jfi._values import is_array, is_scalar, mark_static


@pytest.fixture(autouse=True, params=["layouts", "opened"])
def way(request, monkeypatch):
    """Calls are recognised from the second on; or each one is opened anew."""
    if request.param == "layouts":
        monkeypatch.setattr(_calls, "CALLS_TO_LEARN", 1)
    else:
        monkeypatch.setattr(_layout_table, "MAX_LAYOUTS", 0)


class Counted:
    """A function under `autojit` that counts how often its body runs."""

    def __init__(self, fn):
        self.plain, self.count = fn, 0

        @functools.wraps(fn)
        def body(*args, **kwargs):
            COUNTS[name] += 1
            return fn(*args, **kwargs)

        name = id(self)
        COUNTS[name] = 0
        self.fn, self._name = autojit(body, warn_after=1000), name

    def __call__(self, *args, **kwargs):
        return self.fn(*args, **kwargs)

    @property
    def traces(self):
        return COUNTS[self._name]


COUNTS = {}  # a global: it is not opened, as the cells of the body are


def same(a, b):
    """Whether a result under autojit stands for the same value as a plain one."""
    if isinstance(b, (jax.Array, np.ndarray, np.generic, float, complex)):
        a, b = np.asarray(a), np.asarray(b)
        return a.shape == b.shape and np.allclose(a, b, equal_nan=True)
    if isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in b)
    if isinstance(b, (list, tuple)):
        pairs = zip(a, b, strict=True)
        return type(a) is type(b) and all(same(x, y) for x, y in pairs)
    return type(a) is type(b) and a == b


def describe(x):
    """Types and values of settings, as text; the data goes by its sum."""
    if is_array(x):
        return "data", jnp.sum(x)
    if is_scalar(x):
        return "data", jnp.asarray(x)
    if isinstance(x, dict):
        return [(describe(k), describe(v)) for k, v in x.items()]
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [describe(v) for v in x]
    if isinstance(x, Box):
        return [(k, describe(v)) for k, v in vars(x).items()]
    return type(x).__name__, repr(x)


class Box:
    def __init__(self, value):
        self.value = value


class Pair(NamedTuple):
    a: object
    b: object


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


# ------------------------------------------------------------------- data: traced


@pytest.mark.parametrize(
    "values",
    [
        [jnp.arange(3.0), jnp.arange(3.0) + 1],
        [np.arange(3.0), np.arange(3.0) + 1],
        [1.0, 2.0, -0.0, math.inf],
        [1j, 2j],
        [np.float32(1), np.float32(2)],
        [np.int64(1), np.int64(2)],
        [np.bool_(True), np.bool_(False)],
    ],
)
def test_data_of_one_type_compiles_once(values):
    f = Counted(lambda x: jnp.asarray(x) * 2)
    for value in values:
        assert same(f(value), f.plain(value))
    assert f.traces == 1


def test_dtypes_agree_with_the_plain_call(x64):
    f = Counted(lambda x, s: x * s)
    x = jnp.ones(2, jnp.float32)
    for s in (2.0, 2, np.float32(2), np.float64(2), np.int8(2), 2j, jnp.ones(2, "i4")):
        assert f(x, s).dtype == f.plain(x, s).dtype, s
    assert f(2.0, 1.0).weak_type


def test_x64_switched_between_calls():
    f = autojit(lambda x: x * 2)
    for on in (True, False, True):
        with jax.enable_x64(on):
            assert f(np.ones(2)).dtype == (jnp.float64 if on else jnp.float32)


def test_numpy_changed_in_place_is_seen():
    f = Counted(lambda d: d["x"].sum())
    x = np.ones(3)
    assert f({"x": x}) == 3
    x[0] = 5
    assert f({"x": x}) == 7
    assert f.traces == 1


def test_typed_keys():
    f = Counted(lambda key: jax.random.normal(key, (2,)))
    for seed in range(3):
        key = jax.random.key(seed)
        assert same(f(key), f.plain(key))
    assert f.traces == 1


def test_a_ref_is_written():
    ref = jax.new_ref(jnp.zeros(2))

    @autojit
    def bump(ref, by):
        ref[...] += by
        return ref[...] * 2

    assert same(bump(ref, 2.0), jnp.full(2, 4.0))
    assert same(ref[...], jnp.full(2, 2.0))


def test_empty_and_zero_dimensional_arrays():
    f = autojit(lambda x: (x.sum(), x.shape))
    for x in (jnp.zeros(0), jnp.zeros((3, 0)), jnp.array(2.0), np.array(2)):
        total, shape = f(x)
        assert total == x.sum()
        assert shape == x.shape


# -------------------------------------------------- numbers that the body must know


def check_and_raise(x, t):
    if not isinstance(t, (int, float)):
        raise ValueError("t must be a number")
    return x * t


def check_and_assert(x, t):
    assert isinstance(t, float)
    return x * t


@pytest.mark.parametrize(
    ("body", "number"),
    [
        (check_and_raise, 2.0),
        (check_and_assert, 2.0),
        (lambda x, t: x * {"2.0": 3.0}[str(t)], 2.0),
        (lambda x, t: x if t > 1 else -x, 2.0),
        (lambda x, t: x * len(range(int(t))), 3.0),
        (lambda x, t: jnp.zeros(int(t / 0.5)) + x, 2.0),
        (lambda x, t: x * math.sqrt(t), 2.0),
        (lambda x, t: x * np.sin(t), 2.0),
        (lambda x, t: (x, f"{t:.2f}"), 2.0),
        (lambda x, t: x * t.is_integer(), 2.0),
        (lambda x, t: x if isinstance(t, float) else x.nope, 2.0),
        (lambda x, t: jnp.arange(0.0, 1.0, t) + x, 0.25),
        (lambda x, t: (x, f"{t}"), 2.0),
        (lambda x, n: jnp.zeros(n) + x, np.int64(3)),
        (lambda x, n: sum([x] * n), np.int32(3)),
        (lambda x, n: [x] * n, np.int64(2)),
        (lambda x, n: x if n else -x, np.bool_(False)),
        (lambda x, n: {n: x}, 1.5),
        (lambda x, n: jnp.arange(4)[: int(n)] + x, 2.0),
    ],
)
def test_static_on_demand(body, number):
    f = Counted(body)
    x = jnp.ones(())
    for _ in range(2):
        assert same(f(x, number), body(x, number))
    assert f.traces == 2  # as data, then as a setting; the second call knows


def test_static_on_demand_tells_zeros_and_nans_apart():
    f = Counted(lambda x: math.copysign(1.0, x) if x == 0 else float(x != x))
    assert [f(v) for v in (0.0, -0.0, math.nan, math.nan)] == [1.0, -1.0, 1.0, 1.0]
    assert f.fn.cache_info().signatures == 3


def test_static_on_demand_inside_containers_and_objects():
    class Sim:
        def __init__(self, T, dt):
            self.T, self.dt, self.x = T, dt, jnp.ones(2)

        @autojit
        def run(self, p):
            return self.x * int(self.T / self.dt) * p["k"][0]

    assert same(Sim(1.0, 0.5).run({"k": (2.0,)}), jnp.full(2, 4.0))
    assert same(Sim(2.0, 0.5).run({"k": (2.0,)}), jnp.full(2, 8.0))


def test_an_array_that_must_be_known_raises_jax_error_in_the_users_names():
    @autojit
    def choose(problem, t):
        if t > 0 and problem["Q"].sum() > 0:
            return problem["Q"]
        return 0

    for _ in range(2):
        with pytest.raises(jax.errors.TracerBoolConversionError) as info:
            choose({"Q": jnp.ones(2)}, 1.0)
        text = str(info.value)
        assert "choose() needs the value of problem['Q']" in text
        assert f"{__file__}, line" in text
        assert 'if t > 0 and problem["Q"].sum() > 0:' in text
        assert "logical_and(t > 0, problem['Q'].sum() > 0), problem['Q'], 0)" in text
        assert '@autojit(static="problem")' in text
        assert "leaves[" not in text
        assert text.count("JAX says:") == 1


def test_errors_of_nested_functions_are_told_once_in_the_inner_names():
    class Model:
        def __init__(self):
            self.w = {"a": [None, jnp.ones(2)]}

        @autojit
        def inner(self):
            return int(self.w["a"][1].sum())

        @autojit
        def outer(self, k):
            return self.inner() * k

    for _ in range(2):
        with pytest.raises(jax.errors.ConcretizationTypeError) as info:
            Model().outer(1.0)
        assert "inner() needs the value of self.w['a'][1]" in str(info.value)
        assert "outer()" not in str(info.value).partition("JAX says")[0]


def test_other_jax_errors_name_the_argument():
    @autojit
    def f(self_x):
        return np.asarray(self_x)

    with pytest.raises(jax.errors.TracerArrayConversionError) as info:
        f(jnp.ones(2))
    assert "f() needs the value of self_x" in str(info.value)
    with pytest.raises(jax.errors.NonConcreteBooleanIndexError):
        autojit(lambda x: x[x > 0])(jnp.ones(2))


# -------------------------------------------------------------- settings: static


SETTINGS = [
    1,
    True,
    False,
    0,
    2**70,
    "1",
    b"1",
    None,
    ...,
    Colour.RED,
    Colour.BLUE,
    int,
    float,
    np.dtype("float32"),
    np.float32,
    range(3),
    range(0, 3, 2),
    range(0, 4, 2),
    slice(1),
    slice(True),
    slice(None, 1.0),
    {1},
    {True},
    {1.0},
    {0.0},
    {-0.0},
    frozenset({1}),
    math,
    math.sin,
    np.str_("a"),
    np.datetime64("2020"),
    np.datetime64("2020-01"),
    bytearray(b"1"),
    decimal.Decimal("1.0"),
    decimal.Decimal("1.00"),
    dt.date(2020, 1, 1),
    pathlib.Path("a"),
    (1,),
    (True,),
    [1],
    [True],
    (1, (True,)),
    {"a": 1},
    {"a": True},
    {"a": 1, "b": 2},
    {"b": 2, "a": 1},
    {1: "a"},
    {True: "a"},
    {1.0: "a"},
    {(1, 2): 3},
    {(True, 2): 3},
    collections.deque([1], 3),
    collections.deque([1]),
    collections.OrderedDict(a=1),
    collections.Counter("aab"),
    collections.defaultdict(list, a=[1]),
    collections.defaultdict(int, a=[1]),
    np.array(["a", "b"]),
    np.array(["a", "c"]),
    types.SimpleNamespace(a=1),
    types.SimpleNamespace(a=True),
    types.MappingProxyType({"a": 1}),
]


def test_settings_never_share_a_program_with_another():
    f = Counted(lambda x, s: (x, repr(s)))
    for _ in range(2):
        for s in SETTINGS:
            assert same(f(1.0, s)[1], repr(s)), s
    assert f.traces == len(SETTINGS)


@pytest.mark.parametrize("wrap", [lambda s: [s], lambda s: {"k": (s,)}, Box])
def test_settings_inside_containers(wrap):
    f = Counted(lambda x, s: (x, describe(s)))
    for s in SETTINGS:
        wrapped = wrap(s)
        assert same(f(1.0, wrapped)[1], describe(wrapped)), s


def test_equal_settings_share_a_program():
    f = Counted(lambda x, *s: x)
    for _ in range(2):
        f(1.0, "a" * 2, (1, {"k": {3, 4}}), slice(0, 2), decimal.Decimal(1), [Box("a")])
    assert f.traces == 1


def test_text_arrays_are_settings():
    f = Counted(lambda x, names: x * (names == "a").sum())
    names = np.array(["a", "b"])
    assert f(1.0, names) == 1
    names[1] = "a"
    assert f(1.0, names) == 2


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


@dataclasses.dataclass(slots=True)
class Slotted:
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


def test_classes_are_told_apart():
    class One(Box):
        k = 1

    class Two(Box):
        k = 2

    f = autojit(lambda b: b.value * b.k)
    assert [float(f(c(3.0))) for c in (One, Two, One)] == [3, 6, 3]


def test_class_attributes_are_seen_when_they_change():
    class Parent:
        scale = 2
        table = {"a": [1]}  # noqa: RUF012

    class Child(Parent):
        def __init__(self):
            self.w = jnp.ones(2)

    f = Counted(lambda m: m.w * m.scale * m.table["a"][0])
    child = Child()
    assert same(f(child), jnp.full(2, 2.0))
    Parent.scale = 7
    assert same(f(child), jnp.full(2, 7.0))
    Child.scale = 2.5
    assert same(f(child), jnp.full(2, 2.5))
    Parent.table["a"][0] = 3
    assert same(f(child), jnp.full(2, 7.5))
    Child.scale = np.array([1.0, 2.0], "float32")
    assert same(f(child), jnp.array([3.0, 6.0]))
    Child.scale[0] = 4.0
    assert same(f(child), jnp.array([12.0, 6.0]))
    assert f.traces == 6


def test_methods_that_change_are_seen():
    def make(scale):
        def rescale(by):
            nonlocal scale
            scale = by

        class Local:
            act = jnp.sin

            def __init__(self):
                self.w = jnp.ones(2)

            def helper(self):
                return scale

            @property
            def size(self):
                return scale

            def __call__(self):
                return scale

            @autojit
            def step(self):
                return self.w * self.helper() * self.size * self() * type(self).act(0.0)

        return Local, rescale

    Local, rescale = make(2.0)
    assert same(Local().step(), jnp.zeros(2))
    Local.act = jnp.cos
    assert same(Local().step(), jnp.full(2, 8.0))
    rescale(3.0)
    assert same(Local().step(), jnp.full(2, 27.0))
    Local.helper = lambda self: 1.0
    assert same(Local().step(), jnp.full(2, 9.0))


def test_special_methods_with_captured_values_that_change_are_seen():
    def adder(k):
        return lambda self, other: self.w + k * other

    class Parent:
        def __getitem__(self, i):
            return self.w[i]

    class Local(Parent):
        __add__ = adder(1.0)
        __mul__ = autojit(adder(2.0))

        def __init__(self):
            self.w = jnp.ones(2)

        def __getitem__(self, i):
            return super().__getitem__(i)

    def doubled(self, i):
        return super(Local, self).__getitem__(i) * 2

    f = autojit(lambda a, x: (a + x) * a[0] + a * x)
    assert same(f(Local(), 1.0), jnp.full(2, 5.0))
    Local.__add__ = adder(2.0)
    assert same(f(Local(), 1.0), jnp.full(2, 6.0))
    Local.__getitem__ = doubled
    assert same(f(Local(), 1.0), jnp.full(2, 9.0))
    Local.__mul__ = autojit(adder(3.0))
    assert same(f(Local(), 1.0), jnp.full(2, 10.0))


def test_code_and_defaults_replaced_in_place_are_seen():
    """As `%autoreload` does; the functions stay the same objects."""

    class Local:
        def __init__(self):
            self.w = jnp.ones(2)

        def helper(self, x, n=2, table={"k": 1}):  # noqa: B006
            return x * n * table["k"]

        @autojit
        def step(self, x):
            return self.w * self.helper(x)

    local = Local()
    assert same(local.step(1.0), jnp.full(2, 2.0))
    Local.helper.__defaults__[1]["k"] = 5
    assert same(local.step(1.0), jnp.full(2, 10.0))
    Local.helper.__defaults__ = (3, {"k": 1})
    assert same(local.step(1.0), jnp.full(2, 3.0))
    Local.helper.__code__ = (lambda self, x, n, table: x + n).__code__
    assert same(local.step(1.0), jnp.full(2, 4.0))


def test_code_of_a_named_function_replaced_in_place_is_seen(monkeypatch):
    f = autojit(lambda fn, x: fn(x))
    assert f(named, 1.0) == named(1.0)
    monkeypatch.setattr(named, "__code__", (lambda x, k=2: x + 40).__code__)
    assert f(named, 1.0) == 41


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


def test_writes_to_classes_are_refused_and_undone():
    class Counter:
        calls = 0

        @autojit
        def step(self, x, dt):
            Counter.calls += 1
            Counter.fresh = x
            return x if dt > 0 else -x

    for _ in range(2):
        with pytest.raises(AutoJitError, match=r"changes .*Counter\.calls, and"):
            Counter().step(1.0, 2.0)
        assert Counter.calls == 0
        assert not hasattr(Counter, "fresh")


def leave_in_list(model, x):
    model.seen.append(x)


def leave_in_dict(model, x):
    model.table["last"] = model.table.pop("first") + x


def leave_in_object(model, x):
    model.config.value = [x]


def leave_in_slot(model, x):
    model.slotted.w = x
    model.items.add(1)


@pytest.mark.parametrize(
    ("leave", "place"),
    [
        (leave_in_list, r"Model\.seen\[1\]"),
        (leave_in_dict, r"Model\.table\['last'\]"),
        (leave_in_object, r"Model\.config\.value\[0\]"),
        (leave_in_slot, r"Model\.slotted\.w"),
    ],
)
def test_data_left_in_what_a_class_holds_are_taken_back(leave, place):
    class Model:
        seen = ["first"]  # noqa: RUF012
        table = {"first": 1}  # noqa: RUF012
        config = Box(2)
        slotted = Slotted(3)
        items = set()  # noqa: RUF012

        @autojit
        def step(self, x):
            leave(self, x)
            return x

    for _ in range(2):
        with pytest.raises(AutoJitError, match=rf"changes .*{place}, and"):
            Model().step(1.0)
        assert (Model.seen, Model.table) == (["first"], {"first": 1})
        assert (Model.config.value, Model.slotted.w, Model.items) == (2, 3, set())


def test_data_left_in_a_class_before_an_exception_are_taken_back():
    class Model:
        seen = ["first"]  # noqa: RUF012

        @autojit
        def step(self, x):
            self.seen.append(x)
            raise KeyError("after")

    for _ in range(2):
        with pytest.raises(KeyError, match="after"):
            Model().step(jnp.ones(2))
        assert Model.seen == ["first"]


def test_class_passed_as_a_setting():
    class Config:
        k = 2

    f = autojit(lambda c, x: c.k * x)
    assert f(Config, 1.0) == 2
    Config.k = 3
    assert f(Config, 1.0) == 3


def test_a_counter_on_the_class_is_no_obstacle():
    class Node:
        ids = iter(range(100))
        last = None

        def __init__(self, w):
            self.w, self.id = w, "same"
            Node.last = self  # the class holds its instance, which names its class

    assert autojit(lambda n: n.w * 2)(Node(1.0)) == 2


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


def test_a_cycle_through_a_registered_class():
    loop = Registered([1.0], "n", None)
    loop.w.append(loop)
    f = autojit(lambda a: a.w[1].w[0] * (a.w[1] is a))
    assert [float(f(loop)) for _ in range(3)] == [1.0] * 3


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


def test_named_tuples_with_attributes():
    class Point(Pair):  # has a `__dict__`, other than Pair itself
        pass

    f = autojit(lambda p: p.a * 2)
    assert f(Point(1.0, 2)) == 2
    marked = Point(1.0, 2)
    marked.mark = 3
    with pytest.raises(AutoJitError, match="a Point for p, an immutable value"):
        f(marked)


def named(x, scale=[2.0]):  # noqa: B006  the default is the point
    return x * scale[0]


def test_named_functions_keep_their_identity():
    f = autojit(lambda fn, x: (fn is named, fn(x)))
    assert same(f(named, 1.0), (True, 2.0))
    named.__defaults__[0][0] = 3.0
    try:
        assert same(f(named, 1.0), (True, 3.0))
    finally:
        named.__defaults__[0][0] = 2.0
    g = autojit(lambda fn, x: x * getattr(fn, "factor", 1.0))
    assert g(named, 2.0) == 2
    named.factor = 4.0
    try:
        assert g(named, 2.0) == 8
    finally:
        del named.factor
    assert f(lambda x: x, 1.0)[0] is False


@pytest.mark.parametrize(
    "fn",
    [np.sin, np.mean, np.linalg.norm, jnp.sin, jnp.add, jax.nn.relu, jax.nn.gelu],
    ids=lambda fn: fn.__name__,
)
def test_library_functions_keep_their_identity(fn):
    autojit(lambda g: g)(jax.custom_jvp(lambda x: x))  # of the class of relu
    assert autojit(lambda g, x: x * (g is fn))(fn, 2.0) == 2


@functools.cache
def cached(n):
    return n


def test_cached_functions_of_a_module():
    assert autojit(lambda g, x: x * g(3))(cached, 2.0) == 6


def test_loggers_are_settings():
    class Logged:
        def __init__(self):
            self.log, self.w = logging.getLogger(__name__), 2.0

        @autojit
        def step(self, x):
            self.log.debug("step")
            return self.w * x

    assert Logged().step(1.0) == 2


@pytest.mark.parametrize("kind", [jax.custom_jvp, jax.custom_vjp])
def test_custom_derivatives_see_captured_values(kind):
    scale = 2.0

    @kind
    def scaled(x):
        return x * scale

    if kind is jax.custom_jvp:
        scaled.defjvp(lambda p, t: (scaled(*p), t[0] * scale))
    else:
        scaled.defvjp(lambda x: (scaled(x), None), lambda _, c: (c * scale,))
    f = autojit(lambda x: scaled(x))
    assert f(1.0) == 2
    scale = 3.0
    assert f(1.0) == 3
    assert jax.grad(f)(1.0) == 3


@pytest.mark.parametrize("transform", [jax.grad, jax.vmap, jax.checkpoint])
def test_fresh_transformed_functions_do_not_recompile(transform):
    f = Counted(lambda fn, x: fn(x))
    x = jnp.ones(2) if transform is jax.vmap else 1.0
    for k in (1.0, 2.0):
        out = f(transform(lambda x: x**2 * k), x)  # noqa: B023
        assert same(out, jnp.full_like(x, k * (2 if transform is jax.grad else 1)))
    assert f.traces == 1


def test_callable_objects_of_jax_scipy():
    """They hold arrays, unlike the compiled functions of JAX."""
    x = jnp.linspace(0.0, 1.0, 3)
    density = jax.scipy.stats.gaussian_kde
    f = Counted(lambda kde: kde(x))
    for scale in (1.0, 2.0):
        kde = density(jnp.arange(4.0) * scale)
        assert jnp.allclose(f(kde), kde(x))
    assert f.traces == 1

    table = jax.scipy.interpolate.RegularGridInterpolator((jnp.arange(3.0),), x)
    g = autojit(lambda table, at: table(at))
    assert jnp.allclose(g(table, x[:, None]), table(x[:, None]))
    table.values = table.values * 10
    assert jnp.allclose(g(table, x[:, None]), table(x[:, None]))


def test_haiku_networks():
    haiku = pytest.importorskip("haiku")
    f = Counted(lambda net, params, x: net.apply(params, None, x))
    for _ in range(2):
        net = haiku.transform(lambda x: haiku.Linear(3)(x))
        params = net.init(jax.random.key(0), jnp.ones((1, 2)))
        out = f(net, params, jnp.ones((1, 2)))
        assert same(out, net.apply(params, None, jnp.ones((1, 2))))
    assert f.traces == 1


def test_fresh_functions_do_not_recompile():
    f = Counted(lambda fn, x: fn(x))
    for k in range(5):
        assert f(lambda x: x + 1, 1.0) == 2
        assert f(lambda x: x * k, 1.0) == k  # noqa: B023
        assert f(functools.partial(operator.add, float(k)), 1.0) == k + 1
    assert f.traces == 2 + 5  # the int that one of them captures is a setting
    g = Counted(lambda fn, x: fn(x))
    for k in (1.0, 2.0, 3.0):
        assert g(lambda x: x * k, 1.0) == k  # noqa: B023
    assert g.traces == 1


def test_recursive_local_functions():
    def outer(scale):
        def power(x, n):
            return x if n == 0 else scale * power(x, n - 1)

        return power

    f = Counted(lambda fn, x: fn(x, 3))
    assert f(outer(2.0), 1.0) == 8
    assert f(outer(3.0), 1.0) == 27
    assert f.traces == 1


def test_captured_variables_and_defaults_of_the_function_itself():
    scale, names, data = 2.0, ["a"], np.ones(2)

    @autojit
    def f(x, k=[1.0], *, mode="a"):  # noqa: B006
        return x * scale * len(names) * data.sum() * k[0] * len(mode)

    assert f(1.0) == 4
    scale = 3.0
    names.append("b")
    data[0] = 2
    f.__wrapped__.__defaults__[0][0] = 2.0
    f.__wrapped__.__kwdefaults__["mode"] = "ab"
    assert f(1.0) == 3 * 2 * 3 * 2 * 2


def test_captured_names_that_have_no_value_yet():
    @autojit
    def f(x, later):
        return missing if later else x

    assert f(1.0, False) == 1
    with pytest.raises(NameError):
        f(1.0, True)
    missing = 3.0
    assert f(1.0, True) == 3


def test_autojitted_functions_as_arguments():
    def make(scale):
        return autojit(lambda x: x * scale)

    f = Counted(lambda fn, x: fn(x) + 1)
    assert [float(f(make(s), 2.0)) for s in (2.0, 3.0)] == [5, 7]
    assert f.traces == 1

    scale = 2.0
    inner = autojit(lambda x: x * scale)
    outer = autojit(lambda x: inner(x) + 1)
    assert outer(1.0) == 3
    scale = 5.0
    assert outer(1.0) == 6


def test_recursion():
    @autojit
    def factorial(x, n):
        return x if n == 0 else n * factorial(x, n - 1)

    assert factorial(1.0, 5) == 120


# -------------------------------------------------------------------- refusals


class Closing:
    def __del__(self):
        pass


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            lambda: (k for k in ()),
            r"an iterator for p\['v'\] \(a generator\), which can",
        ),
        (lambda: iter([1]), r"p\['v'\] = list\(p\['v'\]\)"),
        (lambda: map(abs, [1]), r"\(a map\)"),
        (lambda: np.array([None]), r"Python objects for p\['v'\]"),
        (lambda: np.ma.masked_array([1.0]), r"a MaskedArray for p\['v'\]"),
        (
            lambda: np.random.default_rng(0),
            r"random generator p\['v'\] \(a Generator\)",
        ),
        (lambda: __import__("random").Random(0), "whose draws would be constants"),
        (lambda: [].append, "a method of a list"),
        (lambda: {}.keys(), "a dict_keys for"),
        (lambda: memoryview(b"a"), "memoryview for"),
        (lambda: Closing(), "a Closing for .* __del__"),
        (lambda: type("Metres", (float,), {})(1.0), "a Metres for .* attributes"),
    ],
)
def test_refused_arguments(value, text):
    @autojit
    def solve(p):
        return 1.0

    made = value()
    if type(made).__name__ == "Metres":
        made.unit = "m"
    for _ in range(2):
        with pytest.raises(AutoJitError, match=text) as info:
            solve({"v": made})
        assert str(info.value).startswith("solve() got ")


def test_refusals_name_the_place():
    class Model:
        def __init__(self):
            self.w = {"a": [0, iter([])]}

        @autojit
        def step(self, *xs, **kw):
            return 1.0 if self.w else 0.0

    bad = iter([])
    with pytest.raises(AutoJitError, match=r"self\.w\['a'\]\[1\]"):
        Model().step()
    model = Model()
    model.w = None
    with pytest.raises(AutoJitError, match=r"for xs\[1\] "):
        model.step(1.0, bad)
    with pytest.raises(AutoJitError, match=r"for k\[3\] "):
        model.step(k={3: bad})
    with pytest.raises(AutoJitError, match=r"for bad \("):
        autojit(lambda: bad)()


def test_torch_tensors_are_refused():
    torch = pytest.importorskip("torch")
    f = autojit(lambda m, x: x)
    with pytest.raises(AutoJitError, match=r"jnp\.asarray\(m\)"):
        f(torch.ones(2), 1.0)
    with pytest.raises(AutoJitError, match=r"m\._parameters\['(weight|bias)'\]"):
        f(torch.nn.Linear(1, 1), 1.0)


def test_opaque_objects_are_settings_by_identity():
    spatial = pytest.importorskip("scipy.spatial")
    f = Counted(lambda tree, x: x * tree.n)
    trees = [spatial.cKDTree(np.zeros((n, 2))) for n in (3, 4)]
    assert [float(f(t, 1.0)) for t in trees * 2] == [3, 4, 3, 4]
    assert f.traces == 2
    lock = threading.Lock()
    assert autojit(lambda lk, x: x * (lk is lock))(lock, 2.0) == 2


def test_opaque_objects_that_can_be_written_are_refused():
    class Handle(Exception):  # an exception can't be made empty, as a C++ object
        value = property(lambda self: 1, lambda self, v: None)

    with pytest.raises(AutoJitError, match="a tests Handle for h, whose contents"):
        autojit(lambda h, x: x)(Handle(), 1.0)


def test_marked_functions_pass_as_they_are():
    net = iter([])  # what can't be opened

    def host(x):
        return x * (net is not None)

    with pytest.raises(AutoJitError, match="an iterator for net"):
        autojit(lambda x: host(x))(1.0)
    mark_static(host)
    assert autojit(lambda x: host(x))(1.0) == 1

    @functools.wraps(host)  # copies the mark
    def wrapper(x):
        return host(x) * len(names)

    names = ["a"]
    f = autojit(lambda fn, x: fn(x))
    assert f(wrapper, 1.0) == 1
    names.append("b")
    assert f(wrapper, 1.0) == 2


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (Box, "the class Box"),
        (property(lambda self: 1), "@property first"),
        (functools.cached_property(lambda self: 1), "cached_property"),
        (3, r"got 3 \(a int\)"),
        ("text", "'text'"),
    ],
)
def test_refused_at_decoration(fn, text):
    with pytest.raises(AutoJitError, match=text):
        autojit(fn)


def test_generators_and_coroutines_are_refused_at_decoration():
    def generate():
        yield 1

    async def wait():
        return 1

    async def both():
        yield 1

    with pytest.raises(AutoJitError, match=r"generator function generate\(\)"):
        autojit(generate)
    for fn in (wait, both):
        with pytest.raises(AutoJitError, match="async function"):
            autojit(fn)


# -------------------------------------------- changes: see test_autojit_changes.py


def test_in_place_writes_to_numpy_raise_as_in_jax():
    @autojit
    def f(x):
        x[0] = 1
        return x

    x = np.zeros(2)
    with pytest.raises(TypeError, match="immutable"):
        f(x)
    assert x[0] == 0


def test_objects_made_inside_may_change():
    @autojit
    def f(x):
        box, items = Box(x), []
        box.value = box.value + 1
        items.append(box.value)
        return items

    assert same(f(1.0), [2.0])


# --------------------------------------------------------------------- methods


class Model:
    scale = 2

    def __init__(self, k=3.0, mode="a"):
        self.w, self.k, self.mode = jnp.ones(2), k, mode

    @autojit
    def step(self, x, mode="train"):
        """One step."""
        COUNTS["step"] = COUNTS.get("step", 0) + 1
        return self.w * x * self.k + len(mode) + len(self.mode)

    @autojit
    def __call__(self, x):
        return self.step(x) * 2

    @staticmethod
    @autojit
    def static_above(x):
        return x * 2

    @autojit
    @staticmethod
    def static_below(x):
        return x * 2

    @classmethod
    @autojit
    def class_above(cls, x):
        return x * cls.scale

    @autojit
    @classmethod
    def class_below(cls, x):
        return x * cls.scale

    @property
    @autojit
    def total(self):
        return self.w.sum() * self.k


class Child(Model):
    @autojit
    def step(self, x, mode="train"):
        return super().step(x, mode) + 100


def test_instances_share_a_program():
    Model.step.clear_cache()
    COUNTS["step"] = 0
    for k in range(6):
        assert same(Model(float(k)).step(1.0), jnp.full(2, k + 6.0))
    assert COUNTS["step"] == 1
    assert Model.step.cache_info() == (1, 1)


def test_attributes_that_change_are_seen():
    model = Model()
    assert same(model.step(1.0), jnp.full(2, 9.0))
    model.k = 5.0
    assert same(model.step(1.0), jnp.full(2, 11.0))
    model.mode = "abc"
    assert same(model.step(1.0), jnp.full(2, 13.0))
    model.w = jnp.zeros(3)
    assert same(model.step(1.0), jnp.full(3, 8.0))
    model.k = jnp.ones(3)
    model.extra = None
    assert same(model.step(1.0, mode=""), jnp.full(3, 3.0))


def test_every_kind_of_method():
    model = Model()
    assert same(model(1.0), jnp.full(2, 18.0))
    assert model.static_above(1.0) == model.static_below(1.0) == 2
    assert Model.static_above(1.0) == Model.static_below(1.0) == 2
    assert model.class_above(1.0) == Model.class_below(1.0) == 2
    assert model.total == 6
    assert same(Child().step(1.0), jnp.full(2, 109.0))
    assert same(Child()(1.0), jnp.full(2, 218.0))
    assert same(Model.step(model, 1.0), model.step(1.0))


def test_class_methods_see_changes_of_the_class():
    assert Model.class_above(1.0) == 2
    Model.scale = 5
    try:
        assert Model.class_above(1.0) == Model.class_below(1.0) == 5
    finally:
        Model.scale = 2


def test_abstract_and_generic_bases():
    class Solver(abc.ABC):
        @abc.abstractmethod
        def rate(self): ...

        @autojit
        def solve(self, x):
            return x * self.rate()

    class Fast(Solver):
        def rate(self):
            return self.r

    solver = Fast()
    solver.r = 3.0
    assert solver.solve(2.0) == 6


def test_instances_are_freed():
    model = Model()
    model.step(1.0)
    model.total  # noqa: B018
    with pytest.raises(TypeError):
        model.step(1.0, mode=3)
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None


def test_methods_bound_first():
    model = Model()
    step = autojit(Model(2.0).static_above.__wrapped__)
    assert step(1.0) == 2
    bound = model.step
    assert bound == model.step
    assert bound.cache_info() == Model.step.cache_info()

    plain = types.MethodType(lambda self, x: self.k * x, model)
    f = autojit(plain)
    assert f(2.0) == 6
    model.k = 4.0
    assert f(2.0) == 8


def test_callable_objects_and_partials():
    class Affine:
        def __init__(self, w, _programs):
            self.w, self._programs = w, _programs

        def __call__(self, x):
            return self.w * x

    affine = Affine(jnp.ones(2), "not the cache of autojit")
    f = autojit(affine)
    assert same(f(2.0), jnp.full(2, 2.0))
    affine.w = jnp.zeros(2)
    assert same(f(2.0), jnp.zeros(2))

    g = autojit(functools.partial(lambda a, x, b: a * x + b, 2.0, b=1.0))
    assert g(3.0) == 7
    assert autojit(math.floor)(2.5) == 2
    assert same(autojit(jax.jit(jnp.sin))(1.0), jnp.sin(1.0))
    assert autojit(autojit(lambda x: x * 2))(1.0) == 2


# ------------------------------------------------------------------- signatures


def test_ways_to_pass_arguments():
    @autojit
    def f(x, mode="a", /, y=1.0, *rest, z=2.0, **more):
        return x + len(mode) + y + sum(rest) + z + sum(more.values())

    plain = f.__wrapped__
    for args, kwargs in [
        ((1.0,), {}),
        ((1.0, "bb"), {}),
        ((1.0, "bb", 3.0, 4.0, 5.0), {}),
        ((1.0,), {"y": 2.0, "z": 7.0}),
        ((1.0,), {"z": 7.0, "y": 2.0, "extra": 4.0, "mode": 1.0}),
    ]:
        for _ in range(2):
            assert same(f(*args, **kwargs), plain(*args, **kwargs))
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        f()
    with pytest.raises(TypeError, match="missing"):
        autojit(lambda x, y: x)(1.0)


def test_order_of_keywords():
    f = autojit(lambda **kw: list(kw))
    assert f(a=1.0, b=2.0) == ["a", "b"]
    assert f(b=1.0, a=2.0) == ["b", "a"]


def test_the_wrapper_looks_like_the_function():
    def f(x: float, n: int = 2) -> float:
        """Text."""
        return x * n

    f.mark = 3
    for wrapped in (autojit(f), autojit()(f), AutoJIT(f), AdvancedAutoJIT(f)):
        assert wrapped.__name__ == "f"
        assert wrapped.__doc__ == "Text."
        assert wrapped.__wrapped__ is f
        assert wrapped.mark == 3
        assert inspect.signature(wrapped) == inspect.signature(f)
        assert weakref.ref(wrapped)() is wrapped
    assert AdvancedAutoJIT is AutoJIT is autojit


def test_pickling():
    scale = 3.0
    f = autojit(lambda x: x * scale)
    assert f(1.0) == 3
    again = pickle.loads(cloudpickle.dumps(f))
    assert again(2.0) == 6
    assert again.cache_info().traces == 1
    assert copy.deepcopy(f)(2.0) == 6
    model = pickle.loads(cloudpickle.dumps(Model()))
    assert same(model.step(1.0), jnp.full(2, 9.0))


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


def test_data_written_as_text_is_refused():
    f = autojit(lambda x: {"note": [f"x = {x}"]})
    for _ in range(2):
        with pytest.raises(AutoJitError, match="was written as text"):
            f(jnp.ones(2))


def test_refused_results():
    @autojit
    def f(x):
        return {"it": iter([x])}

    for _ in range(2):
        with pytest.raises(AutoJitError, match=r"f\(\) returned .* result\['it'\]"):
            f(1.0)


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


# --------------------------------------------------------------- errors and caches


def test_exceptions_pass_unchanged_and_poison_nothing():
    class OwnError(Exception):
        pass

    fail = True

    @autojit
    def f(x, dt):
        if fail:
            raise OwnError("text")
        return x * dt

    with pytest.raises(OwnError, match="text") as info:
        f(1.0, 2.0)
    assert str(info.value) == "text"
    assert type(info.value) is OwnError
    fail = False
    assert f(1.0, 2.0) == 2

    g = autojit(lambda d, t: d["missing"] * t)
    for _ in range(2):
        with pytest.raises(KeyError, match="missing") as info:
            g({}, 1.0)
        assert info.value.__context__ is None


def test_an_error_of_the_second_try_stands_alone():
    @autojit
    def f(x):
        if x < 0:
            raise ValueError(f"negative: {x}")
        return x

    assert f(1.0) == 1
    for _ in range(2):
        with pytest.raises(ValueError, match=r"negative: -1\.0") as info:
            f(-1.0)
        assert info.value.__context__ is None


def test_cache_is_counted_and_cleared():
    f = autojit(lambda x, n: x * n)
    for n in (1, 2, 1):
        f(jnp.ones(2), n)
    f(jnp.ones(3), 1)
    assert f.cache_info() == (3, 2)
    f.clear_cache()
    assert f.cache_info() == (0, 0)
    assert same(f(jnp.ones(2), 2), jnp.full(2, 2.0))


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(_programs, "MAX_PROGRAMS", 3)
    f = autojit(lambda x, n: x * n)
    for _ in range(2):
        assert [f(2.0, n) for n in range(6)] == [0, 2, 4, 6, 8, 10]
        assert f.cache_info().signatures == 3

    monkeypatch.setattr(
        _layout_table, "MAX_LAYOUTS", 0
    )  # they don't tell what was used
    f = autojit(lambda x, n: x * n)
    for n in (1, 2, 3, 1, 4):
        assert f(2.0, n) == 2 * n
    assert f.cache_info() == (4, 3)
    f(2.0, 1)  # used lately: kept
    assert f.cache_info() == (4, 3)
    f(2.0, 2)  # the oldest: gone
    assert f.cache_info() == (5, 3)


def test_threads():
    f = autojit(lambda x, n: [x * n, n])
    start = threading.Barrier(4)
    right = []

    def work():
        start.wait()
        right.extend(same(f(2.0, n % 5), [2.0 * (n % 5), n % 5]) for n in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 80


def test_two_functions_calling_each_other_in_threads_do_not_wait_for_ever():
    def make():
        inner = autojit(lambda x: x + 1)
        return autojit(lambda x: inner(x) * 2), inner

    f, g = make()
    threads = [threading.Thread(target=fn, args=(1.0,), daemon=True) for fn in (f, g)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


# ---------------------------------------------------------------------- at random


numbers = st.floats(-5, 5, width=32) | st.builds(np.float32, st.floats(-5, 5, width=32))
arrays = st.builds(
    lambda n, k, lib: lib.arange(n) * k + 1.0,
    st.integers(0, 3),
    st.integers(-2, 2),
    st.sampled_from([np, jnp]),
)
plain = st.integers(-2, 2) | st.booleans() | st.text(max_size=2) | st.none()
leaves = numbers | arrays | plain | st.sampled_from([Colour.RED, ...])
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(plain, inner, max_size=3)
        | st.builds(Pair, inner, inner)
        | st.builds(Box, inner)
        | inner.map(lambda v: [v, v])
    ),
    max_leaves=6,
)
# Of any form, as often as hypothesis likes.
described = autojit(lambda *args: describe(args), warn_after=10**6)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(values, max_size=2), min_size=1, max_size=4))
def test_any_arguments_in_any_order(calls):
    for args in calls:
        assert same(described(*args), describe(tuple(args)))


@settings(max_examples=40, deadline=None)
@given(values)
def test_any_argument_comes_back(value):
    expected = describe(value)
    out = autojit(lambda v: [v])(value)[0]
    assert same(describe(out), expected)


def test_what_is_written_into_an_argument_after_the_call_does_not_count():
    multiply = autojit(lambda x: (x @ x @ x).sum())
    zeros = np.zeros((600, 600), np.float32)
    multiply(zeros)
    for _ in range(20):
        x = zeros + 1
        result = multiply(x)
        x[:] = 0  # while the program may still run
        np.testing.assert_allclose(result, 600.0**4, rtol=1e-5)
