"""Arguments of `autojit`: data is traced, settings are compiled for."""

import collections
import datetime as dt
import decimal
import json
import logging
import math
import pathlib
import textwrap
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from autojitting import Box, Colour, Counted, describe, same

from jfi import autojit


pytestmark = pytest.mark.usefixtures("way")


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


@pytest.mark.parametrize(
    ("body", "number"),
    [
        (lambda x, t: x * {"2.0": 3.0}[str(t)], 2.0),
        (lambda x, t: x * {"2.0": 3.0}.get(f"{t}", 4.0), 2.0),
        (lambda x, t: x * len("%s" % t) + 10 * len(repr(t)), 2.0),  # noqa: UP031
        (lambda x, t: x * len(json.dumps(["rate", f"{t + 1}"])), 2.0),
        (lambda x, t: x * len(textwrap.shorten(str(Shown(t)), 20)), 2.0),
        (lambda x, t: x * len(f"{t}"), np.float64(2)),
        (lambda x, t: x * len(" ".join(map(str, [t]))), np.float32(2)),
        (lambda x, t: x if t > 1 else -x, 2.0),
        (lambda x, t: x * len(range(int(t))), 3.0),
        (lambda x, t: jnp.zeros(int(t / 0.5)) + x, 2.0),
        (lambda x, t: x * math.sqrt(t), 2.0),
        (lambda x, t: x * np.sin(t), 2.0),
        (lambda x, t: (x, f"{t:.2f}"), 2.0),
        (lambda x, t: x * t.is_integer(), 2.0),
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
    assert f.fn.cache_info().signatures == 1  # as a setting; the second call knows


class Shown:
    def __init__(self, t):
        self.t = t

    def __repr__(self):
        return f"({self.t})"


def test_numbers_that_are_only_printed_are_data():
    def body(x, t):
        logging.getLogger("jfi").debug("at %s", t)
        if t is None:
            raise ValueError(f"{t}")
        print("step", t, f"{t}", Shown(t))
        return x * t

    f = Counted(body)
    for t in (1.0, 2.0, 3.0):
        assert f(jnp.ones(()), t) == t
    assert f.traces == 1


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


class NoFloatError(Exception):
    """An error of a class of its own, as those of beartype are."""


def test_a_check_with_an_error_of_its_own_sees_the_float():
    @autojit
    def scaled(x, k):
        if not isinstance(k, float):
            raise NoFloatError(type(k).__name__)
        return k * x

    assert scaled(jnp.ones(()), 2.0) == 2
    assert scaled(jnp.ones(()), 3.0) == 3
    with pytest.raises(NoFloatError, match="str"):
        scaled(jnp.ones(()), "a")
