"""`autojit` on methods; signatures, pickling, and the wrapper itself."""

import abc
import copy
import functools
import gc
import inspect
import math
import pickle
import types
import weakref

import cloudpickle
import jax
import jax.numpy as jnp
import pytest
from autojitting import COUNTS, Model, same

from jfi import AdvancedAutoJIT, AutoJIT, autojit


pytestmark = pytest.mark.usefixtures("way")


# --------------------------------------------------------------------- methods


class Child(Model):
    @autojit
    def step(self, x, mode="train"):
        return super().step(x, mode) + 100


def test_instances_share_a_program():
    Model.step.clear_cache()
    COUNTS["step"] = 0
    for k in range(6):
        assert same(Model(float(k)).step(1.0), jnp.full(2, k + 6.0))
    assert COUNTS["step"] == 6
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
    assert AdvancedAutoJIT is AutoJIT


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


def test_autojit_is_a_class_for_those_who_ask():
    class Counted(AutoJIT):
        def __init__(self, fn, *, start=0, **options):
            super().__init__(fn, **options)
            self.calls = start

        def __call__(self, *args, **kwargs):
            self.calls += 1
            return super().__call__(*args, **kwargs)

    def scale(x, n=2):
        """Times n."""
        return x * n

    plain, counted = autojit(scale), Counted(scale, start=3, max_traces=5)
    assert [isinstance(f, AutoJIT) for f in (plain, counted, scale, 3)] == [
        True, True, False, False,
    ]  # fmt: skip
    assert not isinstance(plain, Counted)
    assert isinstance(counted, AdvancedAutoJIT)
    assert plain.fn is counted.fn is scale
    assert [float(counted(2.0)), float(counted(2.0, n=3))] == [4, 6]
    assert (counted.calls, counted.cache_info().traces) == (5, 2)
    assert (counted.__name__, counted.__doc__) == ("scale", "Times n.")
    assert "2" in str(counted.explain())

    class Model:
        def __init__(self):
            self.k = 3.0

        @Counted
        def step(self, x):
            self.k = self.k + x
            return self.k

    model = Model()
    assert [float(model.step(1.0)), float(model.step(1.0))] == [4, 5]
    assert (float(model.k), Model.step.calls) == (5, 2)
    again = copy.copy(counted)
    assert (float(again(2.0)), again.calls) == (4, 6)
    assert isinstance(AutoJIT(static="n")(scale), AutoJIT)
    with_options = Counted(start=7, static="n")(scale)
    assert isinstance(with_options, Counted)
    assert (float(with_options(2.0, n=3)), with_options.calls) == (6, 8)
