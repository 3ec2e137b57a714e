"""Options of `autojit`, why it compiled, and what it gives ahead of time."""

import copy
import functools
import inspect
import pathlib
import pickle
import warnings

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

from jfi import (
    AutoJitError,
    AutoJitOptionError,
    RecompileWarning,
    autojit,
    manual_seed,
    randn,
)


pytestmark = pytest.mark.usefixtures("way")


# -------------------------------------------------------------- static and traced


def test_static_floats_and_arrays():
    @autojit(static=("rate", "mask"))
    def f(x, rate, mask):
        assert isinstance(rate, float)
        return x[np.asarray(mask)] * rate

    x = jnp.arange(3.0)
    for _ in range(3):
        for mask in ([True, False, True], [False, True, False]):
            for kind in (np.array, jnp.array):
                for rate in (0.5, 2.0):
                    expected = x[np.array(mask)] * rate
                    assert f(x, rate, kind(mask)).tolist() == expected.tolist()
    assert f.cache_info().traces == 8


def test_a_static_argument_may_not_be_traced():
    f = autojit(lambda x, n: x[n], static="n")
    assert f(jnp.arange(3), jnp.asarray(1)) == 1
    with pytest.raises(AutoJitError, match=r"traced array for n.*\n.*static"):
        jax.jit(f)(jnp.arange(3), jnp.asarray(1))


def test_a_static_function_may_hold_traced_arrays():
    class Scale:
        def __init__(self, by):
            self.by = by

        def __call__(self, x):
            return self.by * x

    f = autojit(lambda fn, x: fn(x) ** 2, static="fn", warn_after=20)

    def captured(a, x):
        scales = (a,)
        one = f(lambda v: scales[0] * v, x)
        return one + f(Scale(a), x) + f(Scale(a).__call__, x)

    for _ in range(3):
        for a in (2.0, 3.0):
            assert jax.jit(captured)(a, 5.0) == captured(a, 5.0) == 3 * (5 * a) ** 2
            for grad in (jax.grad, jax.jacfwd):
                assert grad(captured)(a, 5.0) == 150 * a
                assert jax.jit(grad(captured))(a, 5.0) == 150 * a
    many = jax.vmap(captured, (0, None))(jnp.array([2.0, 3.0]), 5.0)
    assert many.tolist() == [300.0, 675.0]


@pytest.mark.parametrize("name", ["n", ["n", "flag"], 1, (1, "flag")])
def test_traced_ints(name):
    @autojit(traced=name)
    def f(x, n, flag=True):
        assert isinstance(n, jax.core.Tracer)
        return x * n

    for n in range(1, 6):
        assert f(2.0, n) == 2 * n
        assert f(2, n=n) == 2 * n
    assert f.cache_info().traces == 2  # 2.0 is data, 2 is a setting
    assert f(2.0, True) == 2


def test_traced_ints_that_must_be_known():
    f = autojit(lambda n: jnp.zeros(n), traced="n")
    for _ in range(2):
        with pytest.raises(TypeError, match="n"):
            f(3)


def test_traced_ints_inside_of_objects():
    class Model:
        def __init__(self):
            self.count = 0

        @autojit(traced="self")
        def step(self, x):
            self.count += 1
            return x * self.count

    model = Model()
    assert [float(model.step(1.0)) for _ in range(12)] == list(range(1, 13))
    assert Model.step.cache_info().traces <= 2  # the int is an array afterwards


def test_options_of_jit_by_number_and_name():
    def f(x, k, y):
        return x * float(k) + y

    x = jnp.ones(2)
    for options in ({"static_argnums": 1}, {"static_argnames": ["k"]}):
        g = autojit(f, **options)
        assert g(x, 2.0, x).tolist() == [3, 3]
        assert g(x, 3.0, x).tolist() == [4, 4]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"static": "z"}, r"f\(\) has no parameter 'z'.\nIt has: x, n"),
        ({"traced": ["x", "q"]}, "no parameter 'q'"),
        ({"donate": 5}, "no parameter 5"),
        ({"static": "n", "traced": "n"}, "both static= and traced="),
        ({"static": "n", "donate": "n"}, "both static= and donate="),
        ({"statics": "n"}, "option 'statics'"),
        ({"warn_after": 0}, "warn_after=0"),
        ({"max_traces": "many"}, "max_traces='many'"),
    ],
)
def test_options_that_are_refused_at_decoration(options, text):
    with pytest.raises(AutoJitError, match=text) as info:
        autojit(f, **options)
    assert isinstance(info.value, ValueError)


def f(x, n):
    return x * n


def test_names_behind_other_decorators():
    def shout(fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            return fn(*args, **kwargs)

        return wrapper

    @autojit(static="rate")
    @shout
    def f(x, rate=2.0):
        return x * round(rate)

    assert f(1.0) == 2
    assert f(1.0, rate=3.0) == 3
    with pytest.raises(AutoJitError, match="no parameter 'speed'"):
        autojit(static="speed")(f)


def test_options_on_methods():
    class Model:
        def __init__(self):
            self.w = jnp.ones(2)

        @autojit(static="rate", donate="self")
        def step(self, x, rate):
            self.w = self.w * round(rate) + x
            return self.w.sum()

        @classmethod
        @autojit(traced="n")
        def times(cls, n):
            return jnp.ones(2) * n

        @autojit(traced="n")
        @staticmethod
        def again(n):
            return jnp.ones(2) * n

    model = Model()
    old = model.w
    assert [float(model.step(1.0, 2.0)) for _ in range(3)] == [6, 14, 30]
    assert old.is_deleted()
    for n in range(3):
        assert Model.times(n)[0] == Model.again(n)[0] == n


# ------------------------------------------------------------- options of jax.jit


def test_donation():
    @autojit(donate="state")
    def step(state, x):
        return {"a": state["a"] + x, "n": state["n"]}

    state = {"a": jnp.ones(2), "n": 3}
    for k in range(3):
        old = state["a"]
        state = step(state, jnp.ones(2))
        assert old.is_deleted()
        assert state["a"].tolist() == [k + 2.0] * 2
    by_number = autojit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones(3)
    by_number(x)
    assert x.is_deleted()


def test_donated_arguments_that_come_back():
    class Box:
        def __init__(self):
            self.w = jnp.ones(3)

    for make in (lambda: {"a": jnp.ones(3)}, lambda: [jnp.ones(3)], Box):
        f = autojit(lambda state: (state, "text"), donate="state")
        for _ in range(3):
            out, _ = f(make())
            (array,) = jax.tree.leaves(getattr(out, "w", out))
            assert array.tolist() == [1, 1, 1]


def test_shardings_and_devices():
    mesh = Mesh(np.array(jax.devices()[:1]), ("a",))
    split = NamedSharding(mesh, PartitionSpec("a"))
    whole = NamedSharding(mesh, PartitionSpec())
    x = jnp.arange(4.0)

    def f(params, x, mode="a"):
        return {"y": params["w"] * x, "b": params["b"]}

    params = {"w": x, "b": jnp.zeros(2), "name": "f"}
    for options in (
        {"in_shardings": split},
        {"in_shardings": {"params": split, "x": split}},
        {"in_shardings": (split, None)},
        {"in_shardings": ({"w": split, "b": whole, "name": None}, split)},
        {"out_shardings": split},
        {"out_shardings": {"y": split, "b": whole}},
        {"out_shardings": {"y": split, "b": None}},
        {"inline": True, "keep_unused": True},
    ):
        g = autojit(f, **options)
        for _ in range(3):
            out = g(params, x)
            assert out["y"].tolist() == [0, 1, 4, 9]
            if "out_shardings" in options:
                assert out["y"].sharding.is_equivalent_to(split, 1)
        if options.get("in_shardings") is not None:
            compiled = g.lower(params, x).compile()
            flat = jax.tree.leaves(compiled.input_shardings)
            assert any(s == split for s in flat)
    out = autojit(f, out_shardings=SingleDeviceSharding(jax.devices()[0]))(params, x)
    assert out["y"].committed


@pytest.mark.parametrize(
    "shardings", [{"z": None, "x": None}, (None, None, None, None)]
)
def test_shardings_of_other_parameters_are_refused(shardings):
    with pytest.raises(AutoJitError, match="in_shardings"):
        autojit(f, in_shardings=shardings)


def test_shardings_of_objects():
    class Model:
        def __init__(self):
            self.w, self.more = jnp.ones(4), {"k": jnp.ones(4)}

        def f(self, x):
            return self.w * x + self.more["k"]

    mesh = Mesh(np.array(jax.devices()[:1]), ("a",))
    split = NamedSharding(mesh, PartitionSpec("a"))
    g = autojit(Model.f, in_shardings={"self": split})
    compiled = g.lower(Model(), jnp.ones(4)).compile()
    found = jax.tree.leaves(compiled.input_shardings)
    assert sum(sharding == split for sharding in found) == 2
    h = autojit(Model.f, in_shardings={"self": {"w": split}})
    with pytest.raises((AutoJitError, ValueError)):
        h(Model(), jnp.ones(4))


# ------------------------------------------------------------------- ahead of time


class Model:
    def __init__(self, power=2):
        self.w, self.power, self.mode = jnp.ones(3), power, "train"

    @autojit
    def step(self, x, rate=0.5):
        self.w = self.w + x**self.power * rate
        return {"w": self.w, "mode": self.mode}


def test_lower_compile_and_call():
    model, plain = Model(), Model()
    x = jnp.arange(3.0)
    lowered = Model.step.lower(model, x)
    assert "stablehlo" in lowered.as_text()
    compiled = lowered.compile()
    assert compiled.cost_analysis() is not None
    for _ in range(2):
        expected = Model.step.__wrapped__(plain, x)
        out = compiled(model, x)
        assert out["mode"] == "train"
        assert out["w"].tolist() == expected["w"].tolist() == model.w.tolist()
    model.mode = "test"
    with pytest.raises(AutoJitError, match="compiled ahead of time for other settings"):
        compiled(model, x)
    by_shape = Model.step.lower(plain, jax.ShapeDtypeStruct((3,), x.dtype))
    assert by_shape.compile()(plain, x)["mode"] == "train"


def test_lower_makes_numbers_settings_on_demand():
    g = autojit(lambda x, n: x * range(5)[int(n)])
    compiled = g.lower(jnp.ones(2), 3.0).compile()
    assert compiled(jnp.ones(2), 3.0).tolist() == [3, 3]
    assert g(jnp.ones(2), 3.0).tolist() == [3, 3]


def test_eval_shape_and_trace():
    model = Model()
    out = Model.step.eval_shape(model, jax.ShapeDtypeStruct((3,), jnp.float32))
    assert out["w"].shape == (3,)
    assert out["mode"] == "train"
    assert model.w.tolist() == [1, 1, 1]
    traced = Model.step.trace(model, jnp.ones(3))
    assert "integer_pow" in str(traced.jaxpr)
    shape = autojit(lambda x: (x, 2)).eval_shape(jnp.ones(3))
    assert (shape[0].shape, shape[1]) == ((3,), 2)
    with pytest.raises(TypeError, match="missing"):
        Model.step.lower(model)


# -------------------------------------------------------------- why it was compiled


def test_explain_names_what_changed():
    class Net:
        def __init__(self):
            self.w, self.k, self.layers = jnp.ones(2), 6, [{"n": 1}]

        @autojit
        def step(self, x, mode="train", *, scale=1.0, **options):
            return x * self.k * self.layers[0]["n"] * scale

    net = Net()
    explain = Net.step.explain
    assert list(explain()) == []
    net.step(1.0)
    net.k = 7
    net.step(1.0)
    net.layers[0]["n"] = 2
    net.step(1.0)
    net.step(1.0, "test")
    net.step(jnp.ones(3), "test")
    net.step(jnp.ones(4), "test")
    net.step(jnp.ones(4), "test", depth=3)
    net.step(jnp.ones(4), "test", depth=None)
    dtype = jnp.ones(3).dtype
    causes = [compilation.cause for compilation in explain()]
    assert causes == [
        "",
        "self.k: int 6 -> int 7",
        "self.layers[0]['n']: int 1 -> int 2",
        "mode: str 'train' -> str 'test'",
        f"x: {dtype}[] -> {dtype}[3]",
        f"x: {dtype}[3] -> {dtype}[4]",
        "depth: nothing -> int 3",
        "depth: int 3 -> None",
    ]
    change = explain()[1].changes[0]
    assert (change.path, change.before, change.after) == ("self.k", "int 6", "int 7")
    assert all(c.tracing_seconds > 0 for c in explain())
    seconds = [c.compiling_seconds for c in explain()]
    assert all(s is None or s > 0 for s in seconds)  # None: the code is known
    table = str(explain()).splitlines()
    assert len(table) == 9
    assert "why step() was compiled" in table[0]
    assert "the first call" in table[1]
    assert table[2].endswith("self.k: int 6 -> int 7")
    Net.step.clear_cache()
    assert len(explain()) == 0


def test_explain_compares_with_the_most_similar_call():
    g = autojit(lambda x, a, b: x)
    for a, b in [(1, 1), (2, 2), (1, 3)]:
        g(1.0, a, b)
    assert g.explain()[2].cause == "b: int 1 -> int 3"
    assert g.explain()[1].cause == "a: int 1 -> int 2; b: int 1 -> int 2"


def test_explain_tells_orders_and_classes():
    f = autojit(lambda d: d["a"])
    f({"a": 1.0, "b": 2.0})
    f({"b": 2.0, "a": 1.0})
    assert f.explain()[1].cause == ("d: in the order 'a', 'b' -> in the order 'b', 'a'")

    class Plain:
        def __init__(self):
            self.x = 1.0

    g = autojit(lambda o: o.x)
    g(Plain())
    Plain.k = 3
    g(Plain())
    Plain.m = lambda self: 1
    g(Plain())
    assert g.explain()[1].cause.endswith("Plain.k: nothing -> int 3")
    assert "Plain.m: nothing -> function" in g.explain()[2].cause


def test_programs_within_programs_have_no_compile_time():
    inner = autojit(lambda x: x * 2)
    jax.jit(lambda x: inner(x) + 1)(1.0)
    assert inner.explain()[0].compiling_seconds is None
    jnp.sinh(jnp.ones(17))  # compiles something else
    assert inner.explain()[0].compiling_seconds is None


def test_a_warning_names_the_path_the_users_line_and_the_remedy():
    class Counter:
        def __init__(self):
            self.k, self.x = 0, jnp.ones(())

        @autojit
        def step(self):
            self.k += 1
            return self.x * self.k

    counter = Counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(20):
            counter.step()
    (warning,) = caught
    assert warning.category is RecompileWarning
    text = str(warning.message)
    assert "step() was compiled 8 times because self.k changed" in text
    assert "self.k = jnp.asarray(self.k)" in text
    assert warning.filename == __file__
    line = pathlib.Path(__file__).read_text().splitlines()[warning.lineno - 1]
    assert "counter.step()" in line


def test_a_warning_for_an_argument_says_traced():
    g = autojit(lambda x, n: x * n, warn_after=3)
    g(1.0, 0), g(1.0, 1), g(1.0, 2)
    with pytest.warns(RecompileWarning, match=r'autojit\(traced="n"\)'):
        g(1.0, 3)
    h = autojit(lambda x: x * 2, warn_after=2)
    h(jnp.ones(3)), h(jnp.ones(4))
    with pytest.warns(RecompileWarning, match="pad x to a fixed shape"):
        h(jnp.ones(5))
    i = autojit(lambda x, mode: x * 2, warn_after=2)
    i(1.0, "a"), i(1.0, "b")
    with pytest.warns(RecompileWarning, match="fewer different values of mode"):
        i(1.0, "c")


def test_max_traces():
    g = autojit(lambda x, n: x * n, max_traces=2)
    assert g(1.0, 1) == 1
    assert g(1.0, 2) == 2
    for _ in range(2):
        with pytest.raises(AutoJitError, match=r"2 times, and max_traces=2") as info:
            g(1.0, 3)
        assert "n: int 2 -> int 3" in str(info.value)
        assert g(1.0, 1) == 1
    g.clear_cache()
    assert g(1.0, 3) == 3


# ------------------------------------------------------------ what surrounds a call


def test_draws_are_those_of_plain_python():
    def body(x, mode="train"):
        return x + randn(2) if mode == "train" else x

    g = autojit(body)
    for mode in ("train", "test", "train"):
        manual_seed(1)
        expected = [body(jnp.ones(2), mode).tolist() for _ in range(4)]
        manual_seed(1)
        found = [g(jnp.ones(2), mode).tolist() for _ in range(4)]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert (found[0] == found[1]) == (mode == "test")


def test_draws_that_begin_with_another_shape():
    def body(x):
        return x + randn(2) if x.shape == (2,) else x

    g = autojit(body)
    for _ in range(3):
        assert g(jnp.ones(1)).tolist() == [1]
    manual_seed(2)
    expected = [body(jnp.ones(2)).tolist() for _ in range(3)]
    manual_seed(2)
    found = [g(jnp.ones(2)).tolist() for _ in range(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert g(jnp.ones(1)).tolist() == [1]


def test_reloading_editors_reach_old_functions():
    def reload(old, new):  # as IPython's autoreload does
        for name in ("__code__", "__defaults__", "__doc__", "__dict__"):
            setattr(old, name, getattr(new, name))

    def make(k):
        def step(x, n=k):
            return x * n * k if k == 2 else x * n - 1

        return autojit(step)

    old, new = make(2), make(3)
    assert [float(old(1.0)) for _ in range(4)] == [4.0] * 4
    reload(old, new)
    assert [float(old(1.0)) for _ in range(4)] == [2.0] * 4
    assert old.cache_info() == new.cache_info()


def test_copies_and_pickles():
    k = 3

    @autojit(static="rate", warn_after=5)
    def g(x, rate=2.0):
        return x * k * round(rate)

    assert g(1.0) == 6
    again = pickle.loads(cloudpickle.dumps(g))
    assert again(1.0, 3.0) == 9
    assert inspect.signature(again) == inspect.signature(g)
    assert copy.copy(g) is g
    model = pickle.loads(cloudpickle.dumps(Model()))
    assert model.step(1.0)["w"].tolist() == [1.5] * 3
    assert pickle.loads(pickle.dumps(Model.step)) is Model.step


def test_dispatch_is_asynchronous():
    @autojit
    def slow(x, n):
        for _ in range(n):
            x = x @ x / 1000
        return x

    x = jnp.ones((1200, 1200))
    for _ in range(2):
        slow(x, 6).block_until_ready()
    import time

    start = time.perf_counter()
    out = slow(x, 6)
    called = time.perf_counter() - start
    out.block_until_ready()
    assert called < (time.perf_counter() - start) / 3


def test_more_forms_than_are_remembered():
    g = autojit(lambda d: sum(d.values()), warn_after=1000)
    for _ in range(4):
        for n in range(1, 25):
            assert g({f"k{j}": float(j) for j in range(n)}) == n * (n - 1) / 2
    assert g.cache_info().traces == 24


def test_frozen_numbers_are_settings_and_arrays_data():
    @autojit(frozen="options")
    def scaled(x, options):
        factor = options["k"] if isinstance(options["k"], float) else 100.0
        return x * factor + options["shift"]

    shifts = [jnp.ones(2), jnp.zeros(2)]
    for shift in (*shifts, *shifts):
        out = scaled(2.0, {"k": 0.5, "shift": shift})
        np.testing.assert_array_equal(out, 1.0 + shift)
    assert scaled.cache_info().traces == 1
    np.testing.assert_array_equal(scaled(2.0, {"k": 2.0, "shift": shifts[1]}), [4, 4])
    assert scaled.cache_info().traces == 2


@pytest.mark.parametrize("other", ["static", "traced"])
def test_frozen_excludes_static_and_traced(other):
    with pytest.raises(AutoJitOptionError, match=f"'x' in both frozen= and\\s{other}="):
        autojit(lambda x: x, frozen="x", **{other: "x"})


# ---- attributes that grow beside a compiled method ----


def trainer(**options):
    class Trainer:
        def __init__(self):
            self.losses, self.w, self.name = [], jnp.ones(3), "w"

        @autojit(**options)
        def step(self, x):
            self.w = getattr(self, self.name) * 0.9 + x  # which could be any attribute
            return (self.w**2).sum()

        @autojit(**options)
        def count(self, x):
            return x * len(getattr(self, "los" + "ses"))

    return Trainer()


def test_a_list_that_grows_is_told_at_the_third_compilation():
    one = trainer()

    def train():
        for _ in range(8):
            one.losses.append(float(one.step(1.0)))

    with pytest.warns(RecompileWarning, match=r"3 times because self\.losses") as found:
        train()
    assert ['@autojit(unused="losses")' in str(w.message) for w in found] == [True]


def test_lists_that_the_body_appends_to_are_told_with_the_line_to_write():
    class Logging:
        def __init__(self):
            self.log = {"loss": [], "rate": []}

        @autojit
        def step(self, x):
            self.log["loss"].append(x * 2 + len(self.log["loss"]))
            self.log["rate"].append(0.5 + len(self.log["rate"]))

    one = Logging()
    told = (
        r"3 times because self\.log\['loss'\] and self\.log\['rate'\] grew\.\n.*append"
    )

    def train():
        for k in range(6):
            one.step(float(k))

    with pytest.warns(RecompileWarning, match=told) as found:
        train()
    assert len(one.log["loss"]) == 6
    (text,) = (str(w.message) for w in found)
    assert "return the value, and append it after the call: self.log['loss']" in text


@pytest.mark.parametrize("unused", ["losses", ("losses", "history")])
def test_unused_attributes_do_not_count(unused):
    one, plain = trainer(unused=unused), trainer()
    for _ in range(8):
        one.losses.append(float(one.step(1.0)))
        plain.losses.append(float(type(plain).step.__wrapped__(plain, 1.0)))
    assert type(one).step.cache_info().traces == 1
    np.testing.assert_allclose(one.losses, plain.losses, rtol=1e-6)


def test_unused_attributes_that_are_used_are_an_error():
    one = trainer(unused="losses")
    for _ in range(2):
        with pytest.raises(AutoJitError, match="Leave out those that it uses"):
            one.count(1.0)
    assert one.losses == []
    one.step(1.0)


@pytest.mark.parametrize("unused", [3, "self.losses", ("losses", 3)])
def test_unused_takes_names_of_attributes(unused):
    with pytest.raises(AutoJitError, match="Write the names of attributes"):
        autojit(lambda x: x, unused=unused)


def test_positions_count_the_parameters_that_a_partial_leaves():
    def scaled(scale, n, x, y):
        return scale * x * n + y

    fn = autojit(functools.partial(scaled, 2.0), static_argnums=(0,))
    x = jnp.arange(3.0)
    for y in (1.0, 2.0):
        assert jax.jit(lambda x, y=y: fn(3, x, y))(x).tolist() == [y, 6 + y, 12 + y]
        assert fn(3, x, y).tolist() == [y, 6 + y, 12 + y]
