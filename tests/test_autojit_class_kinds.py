"""Classes that a function under `autojit` reads: changes of them are seen."""

import importlib
import warnings

import jax.numpy as jnp
import numpy as np
import pytest
from autojitting import Box, Counted, Slotted, same

from jfi import (
    AutoJitError,
    LocalFallbackWarning,
    UncompiledWarning,
    autojit,
    persistent,
)


pytestmark = pytest.mark.usefixtures("way")


# ---------------------------------------------------------------------- opened


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


def test_data_written_to_a_class_runs_uncompiled():
    class Counter:
        calls = 0

        @autojit
        def step(self, x, dt):
            Counter.calls += 1
            Counter.fresh = x
            return x if dt > 0 else -x

    with pytest.warns(UncompiledWarning, match=r"writes data into .*Counter\."):
        Counter().step(1.0, 2.0)
    Counter().step(3.0, 2.0)
    assert (Counter.calls, Counter.fresh) == (2, 3.0)


def test_what_a_class_keeps_from_its_first_use_on():
    class Lazy:
        only, table = None, None

        def __new__(cls):
            if cls.only is None:
                cls.only = super().__new__(cls)
                cls.only.scale = 3
            return cls.only

        @autojit
        def scaled(self, x):
            if self.table is None:
                type(self).table = {"n": 2, "f": lambda x: x + 1}
            return self.table["f"](x * self.table["n"])

    @autojit
    def of_the_only(x):
        return x * Lazy().scale

    for call in (of_the_only, lambda x: Lazy().scaled(x)):
        assert call(1.0) == 3.0
        kept = Lazy.only, Lazy.table
        assert [call(1.0), call(1.0)] == [3.0, 3.0]
        assert (Lazy.only, Lazy.table) == kept
    # Before it is filled, and after that.
    assert of_the_only.cache_info().traces == Lazy.scaled.cache_info().traces == 2


def leave_in_list(model, x):
    model.seen.append(x)


def leave_in_dict(model, x):
    model.table["last"] = model.table.pop("first") + x


def leave_in_object(model, x):
    model.config.value = [x]


def leave_in_slot(model, x):
    model.slotted.w = x
    model.items.add(1)


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
@pytest.mark.parametrize(
    "leave", [leave_in_list, leave_in_dict, leave_in_object, leave_in_slot]
)
def test_data_left_in_what_a_class_holds_are_those_of_each_call(leave):
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

    class Plain(Model):
        seen, table, items = ["first"], {"first": 1}, set()
        config, slotted = Box(2), Slotted(3)

    for x in (1.0, 2.0, 3.0):
        Model.table["first"] = Plain.table["first"] = 1
        Model().step(x)
        leave(Plain(), x)
        assert (Model.seen, Model.table) == (Plain.seen, Plain.table)
        assert Model.config.value == Plain.config.value
        assert (Model.slotted.w, Model.items) == (Plain.slotted.w, Plain.items)


def test_data_left_in_a_class_before_an_exception_are_plain_pythons():
    class Model:
        seen = ["first"]  # noqa: RUF012

        @autojit
        def step(self, x):
            self.seen.append(x)
            raise KeyError("after")

    x = jnp.ones(2)
    for k in range(2):
        with pytest.raises(KeyError, match="after"):
            Model().step(x)
        assert len(Model.seen) == 2 + k
        assert all(one is x for one in Model.seen[1:])


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


def test_classes_of_attrs():
    attrs = pytest.importorskip("attrs")

    @attrs.define
    class Gains:
        k: float = attrs.field(converter=float, validator=attrs.validators.gt(0))
        log: list = attrs.field(factory=list)

    @autojit
    def scaled(gains, x):
        gains.log.append("call")
        return gains.k * x

    gains = Gains(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UncompiledWarning)
        assert scaled(gains, 3.0) == 6
        gains.k = 4
        assert scaled(gains, 3.0) == 12
    assert gains.log == ["call", "call"]


def test_what_descriptors_of_an_installed_library_remember_is_its_own(
    tmp_path, monkeypatch
):
    """As bijectors of TensorFlow Probability do: results, weakly, in the class."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "remembering_library.py").write_text(
        "import weakref\n"
        "class Memory:\n"
        "    def __init__(self): self.known = {}\n"
        "    def __get__(self, owner, cls): return lambda x: self.double(x)\n"
        "    def double(self, x):\n"
        "        found = self.known.get(id(x))\n"
        "        if found is None or found() is None:\n"
        "            self.known[id(x)] = weakref.ref(x, lambda _: self.known.clear())\n"
        "        return 2 * x\n"
        "class Doubling:\n"
        "    double = Memory()\n"
        "    k = 1.0\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    library = importlib.import_module("remembering_library")
    doubling, x = library.Doubling(), jnp.ones(3)

    def f(x):
        return doubling.double(x) * doubling.k

    call = autojit(f)
    for k in 1.0, 2.0:
        library.Doubling.k = k  # what is no descriptor is seen, as ever
        for _ in range(2):
            same(call(x), f(x))


def test_a_class_may_hold_a_dict_whose_keys_are_attributes():
    """Asked for an attribute that it has not, it raises a KeyError."""

    class Settings(dict):
        __getattr__ = dict.__getitem__

    class Model:
        settings = Settings(rate=2.0)

        @autojit
        def run(self, x):
            return x * self.settings.rate

    assert [float(Model().run(x)) for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    Model.settings["rate"] = 3.0
    assert float(Model().run(1.0)) == 3.0


def shifted(x, by=1.0):
    return x + by


def test_defaults_replaced_after_autojit_are_refused(monkeypatch):
    compiled, kept = autojit(shifted), persistent(shifted)
    assert [f(1.0) for f in (compiled, compiled, compiled, kept)] == [2.0] * 4
    monkeypatch.setattr(shifted, "__defaults__", (float("1.0"),))  # read again
    assert compiled(1.0) == kept(1.0) == 2.0
    monkeypatch.setattr(shifted, "__defaults__", (4.0,))
    with pytest.raises(AutoJitError, match=r"Call autojit\(shifted\) again"):
        compiled(1.0)
    assert autojit(shifted)(1.0) == 5.0  # as it advises
    with pytest.warns(LocalFallbackWarning, match="were replaced"):
        assert kept(1.0) == 5.0


def test_a_frozen_class_of_attrs_has_floats_that_are_data():
    attrs = pytest.importorskip("attrs")

    @attrs.frozen
    class Config:
        rate: float = attrs.field(validator=attrs.validators.instance_of(float))
        steps: int = 2

    @autojit
    def f(config, x):
        for _ in range(config.steps):
            x = x * config.rate
        return x

    for rate in (0.5, 2.0, 3.0):
        assert f(Config(rate), jnp.ones(2))[0] == rate**2
    assert f(Config(2.0, 3), jnp.ones(2))[0] == 8
    assert f.cache_info().traces == 2


def test_configs_of_omegaconf_have_floats_that_are_data():
    omegaconf = pytest.importorskip("omegaconf")

    def train(config, x):
        x = x * config.optimizer.rate + len(config.layers) * config["layers"][0]
        x = x - config.half + sum(config.layers)
        return x if config.name == "mlp" else -x

    def config(rate, first=1.0, name="mlp"):
        text = {"optimizer": {"rate": rate}, "layers": [first, 2.0], "name": name}
        return omegaconf.OmegaConf.create({**text, "half": "${optimizer.rate}"})

    f = autojit(train)
    x = jnp.ones(3)
    for rate in (0.5, 2.0, 3.0):
        assert f(config(rate), x)[0] == train(config(rate), x)[0]
    assert f.cache_info().traces <= 2
    traces = f.cache_info().traces
    assert f(config(0.5, 4.0), x)[0] == train(config(0.5, 4.0), x)[0]
    assert f.cache_info().traces == traces
    assert f(config(0.5, name="other"), x)[0] == -train(config(0.5), x)[0]

    @autojit
    def gated(config, x):
        return x * config.rate if config.rate > 1 else x

    for rate in (0.5, 2.0):
        found = gated(omegaconf.OmegaConf.create({"rate": rate}), x)
        assert found[0] == max(rate, 1)
