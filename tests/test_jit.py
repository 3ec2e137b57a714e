"""`jfi.jit` and its kin as functions: what is shared, what goes, what is refused."""

import copy
import functools
import gc
import inspect
import pickle
import types
import weakref

import jax
import numpy as np
import pytest
from counting import Traces, count
from drawing import assert_all_different, plain_jit_is_ok  # noqa: F401

import jfi
import jfi as jnp


X = np.linspace(1, 2, 3, dtype="float32")
traces = []
scale = 2.0


def scaled(x):
    traces.append(1)
    count()
    return x * scale


def same(x, y):
    np.testing.assert_array_equal(x, y)


@pytest.fixture(autouse=True)
def _globals():
    global scale
    traces.clear()
    scale = 2.0


class Model:
    def __init__(self, k=2, w=3.0):
        self.k, self.w = k, jnp.full(3, w)

    def step(self, x):
        traces.append(1)
        return x * self.k + self.w

    def __call__(self, x):
        return self.step(x)


def captures(w):
    def f(x):
        traces.append(1)
        count()
        return x + w

    return f


# ------------------------------------------------------------------ shared programs


@pytest.mark.parametrize(
    "fun",
    [
        pytest.param(scaled, id="function"),
        pytest.param(captures(jnp.ones(3)), id="closure"),
        pytest.param(captures(np.ones(3, "float32")), id="numpy"),
        pytest.param(captures(np.ones((2**20, 3), "float32")), id="much numpy"),
        pytest.param(Model(), id="callable object"),
    ],
)
def test_jit_written_inline_traces_once(fun):
    outs = [jfi.jit(fun)(X) for _ in range(3)]
    assert len(traces) == 1
    for out in outs:
        same(out, fun(X))


def test_jit_of_a_method_written_inline_traces_once():
    model = Model()
    outs = [jfi.jit(model.step)(X) for _ in range(3)]
    assert len(traces) == 1
    same(outs[-1], 2 * X + 3)
    same(jfi.jit(Model(5).step)(X), 5 * X + 3)


def test_jit_inline_sees_a_changed_attribute():
    model = Model()
    for k in (2, 3, 2, 3):
        model.k = k
        same(jfi.jit(model.step)(X), k * X + 3)
        same(jfi.jit(model)(X), k * X + 3)
    assert len(traces) == 4
    model.w = jnp.zeros(3)
    same(jfi.jit(model.step)(X), 3 * X)
    Model.k = 7
    try:
        del model.k
        same(jfi.jit(model.step)(X), 7 * X)
    finally:
        del Model.k


@pytest.mark.parametrize("deeper", [False, True])
def test_jit_inline_sees_what_a_held_object_holds(deeper):
    class Layer:
        def __init__(self):
            self.table = np.ones(3, "float32")
            self.sizes = {"n": [1, 2]}

    class Net:
        def __init__(self):
            self.layers = [Layer()]

        def run(self, x):
            return x * self.layers[0].table * self.layers[0].sizes["n"][-1]

    net = Net()
    same(jfi.jit(net.run)(X), 2 * X)
    if deeper:
        net.layers[0].sizes["n"][-1] = 5
        same(jfi.jit(net.run)(X), 5 * X)
    else:
        net.layers[0].table[:] = 3
        same(jfi.jit(net.run)(X), 6 * X)


def test_jit_inline_sees_changed_variables():
    global scale
    w = 1.0

    def f(x, shift=0.0):
        return x * scale + w + shift

    for now in [(1.0, 2.0, 0.0), (5.0, 2.0, 0.0), (5.0, 3.0, 0.0), (5.0, 3.0, 7.0)]:
        w, scale, shift = now
        f.__defaults__ = (shift,)
        same(jfi.jit(f)(X), f(X))
    f.__code__ = (lambda x, shift=0.0: (x - scale, w)[0]).__code__
    same(jfi.jit(f)(X), X - 3)


@pytest.mark.parametrize("name", ["__main__", "script"])
def test_jit_inline_sees_changed_variables_in_a_script(name):
    script = """
import jfi as jnp
scale, config, traces = 2.0, {"power": 1}, []
def helper(x):
    return x ** config["power"]
def f(x):
    traces.append(1)
    return helper(x) * scale
outs = [jnp.jit(f)(3.0) for _ in range(2)]
assert len(traces) == 1
scale = 5.0
outs.append(jnp.jit(f)(3.0))
config["power"] = 2
outs.append(jnp.jit(f)(3.0))
def helper(x):
    return -x
outs.append(jnp.jit(f)(3.0))
"""
    names = {"__name__": name}
    exec(script, names)
    assert [float(x) for x in names["outs"]] == [6, 6, 15, 45, -15]


def test_a_change_before_another_shape_is_not_shared():
    global scale
    first = jfi.jit(scaled)
    same(first(X), 2 * X)
    scale = 3.0
    same(first(X[:2]), 3 * X[:2])
    scale = 2.0
    same(jfi.jit(scaled)(X[:2]), 2 * X[:2])


def test_a_body_that_changes_self_runs_at_each_inline_jit():
    class Counter:
        n = 0

        def add(self, x):
            self.n += 1
            return x * self.n

    counter = Counter()
    for n in (1, 2, 3):
        same(jfi.jit(counter.add)(X), n * X)


def test_one_count_of_the_traces_of_several_functions():
    counted = []

    class Local:
        k = 2

        def f(self, x):
            counted.append("f")
            return x * self.k

        def g(self, x):
            counted.append("g")
            return x + self.k

    def h(x):
        counted.append("h")
        return -x

    local = Local()
    for _ in range(3):
        for fun in (local.f, local.g, h, scaled):
            same(jfi.jit(fun)(X), fun(X))
            (traces if fun is scaled else counted).pop()
    assert counted == ["f", "g", "h"]
    assert len(traces) == 1
    local.k = 5
    same(jfi.jit(local.f)(X), 5 * X)


def test_options_are_not_shared_unless_they_mean_the_same():
    def power(x, n):
        traces.append(n)
        return x**n

    same(jfi.jit(power, static_argnums=1)(X, 2), X**2)
    same(jfi.jit(power, static_argnums=(1,))(X, 2), X**2)
    assert traces == [2]
    same(jfi.jit(power, static_argnames="n")(X, n=2), X**2)
    assert traces == [2, 2]
    same(jfi.jit(power)(X, 2), X**2)
    assert len(traces) == 3
    assert isinstance(traces[-1], jax.core.Tracer)


def test_what_cannot_be_shared_is_compiled():
    class Slots:
        __slots__ = ("k",)

        def __call__(self, x):
            return x * self.k

        def method(self, x):
            return x + self.k

    slots = Slots()
    for slots.k in (2, 3):
        same(jfi.jit(slots)(X), X * slots.k)
        same(jfi.jit(slots.method)(X), X + slots.k)

    class Unhashable:
        __hash__ = None
        k = 1

        def method(self, x):
            return x + self.k

    other = Unhashable()
    for other.k in (2, 3):
        same(jfi.jit(other.method)(X), X + other.k)

    class Deleted:
        k = 1

        def __del__(self):
            pass

        def method(self, x):
            return x + self.k

    deleted = Deleted()
    for deleted.k in (2, 3):
        same(jfi.jit(deleted.method)(X), X + deleted.k)


def test_what_jax_returned_may_be_compared_with_its_own_kind_alone():
    mapped = jax.pmap(lambda x: 2 * x)  # holds objects whose `==` fails for an int
    for _ in range(2):
        same(jfi.jit(mapped)(X[None]), 2 * X[None])


def test_equal_objects_are_not_taken_for_each_other():
    class Same:
        def __init__(self, k):
            self.k = k

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 0

        def __call__(self, x):
            return x * self.k

    one, two = Same(1), Same(2)
    for obj in (one, two, one):
        same(jfi.jit(obj)(X), X * obj.k)
        same(jfi.jit(obj.__call__)(X), X * obj.k)


@pytest.mark.parametrize("transform", [jax.grad, jax.vmap, jfi.grad, jfi.vmap])
def test_transforms_around_inline_jit_trace_once_as_jax(transform):
    def loss(x):
        traces.append(1)
        return (x**2).sum() if transform in (jax.grad, jfi.grad) else x**2

    for _ in range(3):
        out = transform(jfi.jit(loss))(jnp.asarray(X))
    same(out, 2 * X if transform in (jax.grad, jfi.grad) else X**2)
    assert len(traces) <= 1


def test_draws_of_inline_jit_differ():
    def draw(x):
        traces.append(1)
        return x + jfi.randn()

    drawn = [jfi.jit(draw)(np.float32(0))]
    first = len(traces)
    drawn += [jfi.jit(draw)(np.float32(0)) for _ in range(4)]
    assert len(traces) == first
    jfi.manual_seed(0)
    same(drawn, [draw(np.float32(0)) for _ in range(5)])
    assert_all_different(drawn)


# --------------------------------------------------------------------- what goes when


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("inline", [False, True])
def test_what_a_function_captured_goes_with_it(called, inline):
    gc.collect()
    gc.disable()
    try:
        w = jnp.ones(3)
        f = captures(w)
        gone = weakref.ref(f), weakref.ref(w)
        jitted = None if inline else jfi.jit(f)
        if called:
            (jitted or jfi.jit(f))(X)
        del w, f, jitted
        assert [ref() for ref in gone] == [None, None]
    finally:
        gc.enable()


def test_an_object_goes_after_its_methods_were_compiled():
    gc.collect()
    gc.disable()
    try:
        model = Model()
        gone = weakref.ref(model), weakref.ref(model.w)
        jfi.jit(model.step)(X)
        jfi.jit(model)(X)
        model.w = jnp.zeros(3)
        jfi.jit(model.step)(X)
        jfi.jit(model)(X)
        assert gone[1]() is None, "an array of before is kept"
        del model
        assert gone[0]() is None
    finally:
        gc.enable()


def test_objects_that_hold_their_compiled_methods_go():
    class Cyclic(Model):
        def __init__(self):
            super().__init__()
            self.fast = jfi.jit(self.step)
            self.outer = jfi.jit(self.around)
            self.act = lambda x: self.k * x

        def around(self, x):
            return self.fast(x) + self.act(x)

    model = Cyclic()
    model.outer(X)
    jfi.jit(model.around)(X)
    gone = weakref.ref(model), weakref.ref(model.w)
    del model
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_a_script_goes_with_what_it_compiled():
    names = {"__name__": "__main__"}
    exec(
        "import jfi as jnp\nw = jnp.ones(3)\ndef f(x): return x + w\n"
        "for _ in range(2): jnp.jit(f)(1.0)\n",
        names,
    )
    gone = weakref.ref(names["f"]), weakref.ref(names["w"])
    del names
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


# --------------------------------------------------------------------- autojit, inline


def counts(x, k=2):
    count()
    return x * k


class Counter:
    def __init__(self):
        self.n, self.k, self.w = 0, 2, jnp.ones(3)

    def add(self, x):
        count()
        self.n = self.n + 1
        return x * self.k + self.w


@pytest.mark.parametrize("fun", [counts, captures(jnp.ones(3))])
def test_autojit_written_inline_traces_once(fun):
    jfi.autojit(fun)(X)  # a list that grows has a stand-in from the second trace on
    for _ in range(4):
        assert Traces.added(lambda: jfi.autojit(fun)(X)) == 0
        same(jfi.autojit(fun)(X), fun(X))


def test_autojit_inline_sees_changed_globals_and_counts_of_traces():
    global scale
    jfi.autojit(scaled)(X)
    for scale in (2.0, 2.0, 3.0):
        assert Traces.added(lambda: jfi.autojit(scaled)(X)) == 0
        same(jfi.autojit(scaled)(X), scale * X)
    gc.collect()  # a function of a module keeps what is compiled
    assert Traces.added(lambda: jfi.autojit(scaled)(X)) == 0


def test_autojit_of_a_temporary_function_works_ahead_of_time():
    compiled = jfi.autojit(lambda x: x + 1).lower(X).compile()
    gc.collect()
    same(compiled(X), X + 1)
    assert jfi.autojit(lambda x: x + 1).eval_shape(X).shape == (3,)
    run = jfi.autojit(lambda x: x + 1)
    gc.collect()
    for _ in range(4):
        same(run(X), X + 1)


def test_autojit_of_a_method_written_inline_traces_once_and_sees_changes():
    counter = Counter()
    counter.n = jnp.zeros(())
    for n in range(1, 5):
        made = Traces.added(lambda: same(jfi.autojit(counter.add)(X), 2 * X + 1))
        assert made == (n == 1)
        assert counter.n == n
    counter.k = 3
    same(jfi.autojit(counter.add)(X), 3 * X + 1)
    other = Counter()
    same(jfi.autojit(other.add)(X), 2 * X + 1)
    assert other.n == 1


def test_autojit_inline_sees_other_defaults_and_other_code():
    def other(x, k=3, *, shift=1):
        return x * k + shift

    def f(x, k=2):
        return x * k

    f = types.FunctionType(f.__code__, globals(), "f", (2,))
    f.__module__ = __name__
    same(jfi.autojit(f)(X), 2 * X)
    f.__defaults__ = (5,)
    same(jfi.autojit(f)(X), 5 * X)
    f.__code__, f.__kwdefaults__ = other.__code__, {"shift": 7}
    same(jfi.autojit(f)(X), 5 * X + 7)


@pytest.mark.parametrize("calls", [1, 3])
def test_what_autojit_compiled_goes_with_the_function(calls):
    gc.collect()
    gc.disable()
    try:
        w, counter = jnp.ones(3), Counter()
        f = captures(w)
        gone = [weakref.ref(x) for x in (f, w, counter, counter.w)]
        for _ in range(calls):
            jfi.autojit(f)(X)
            jfi.autojit(counter.add)(X)
        del f, w, counter
        assert [ref() for ref in gone] == [None] * 4
    finally:
        gc.enable()


def test_objects_that_hold_what_autojit_compiled_go():
    class Cyclic(Counter):
        def __init__(self):
            super().__init__()
            self.fast = jfi.jit(self.add)
            self.own = jfi.autojit(self.add)
            self.act = lambda x: x * self.k

        def around(self, x):
            return self.act(x) + self.w

    cyclic = Cyclic()
    for _ in range(3):
        same(jfi.autojit(cyclic.around)(X), 2 * X + 1)
    gone = weakref.ref(cyclic)
    del cyclic
    gc.collect()
    assert gone() is None


# -------------------------------------------------------- what a function is seen as


@jfi.jit
def documented(x, shift=1.0):
    """Shifts."""
    return x + shift


def marked(x):
    return x


marked.mark = "mine"


def test_jit_of_a_function_has_its_attributes():
    for module in (jax, jfi):
        jitted = module.jit(marked)
        assert jitted.mark == "mine"
        assert jitted.__wrapped__ is marked
    assert documented.__name__ == "documented"
    assert documented.__doc__ == "Shifts."
    assert list(inspect.signature(documented).parameters) == ["x", "shift"]
    again = jfi.jit(jfi.jit(marked))
    assert again.mark == "mine"
    assert again.lower is not jfi.jit(marked).lower
    same(again(X), X)


def test_jit_of_an_object_does_not_show_its_state():
    assert not hasattr(jfi.jit(Model()), "w")


def test_cache_size():
    def f(x):
        return x + 1

    jitted, theirs = jfi.jit(f), jax.jit(lambda x: x + 1)
    for x in (X, X, X[:2]):
        jitted(x)
        theirs(x)
        assert jitted._cache_size() == theirs._cache_size()
    jitted.clear_cache()
    assert jitted._cache_size() == 0


def test_jitted_functions_are_pickled_copied_and_bound():
    for other in (
        pickle.loads(pickle.dumps(documented)),
        copy.copy(documented),
        copy.deepcopy(documented),
        copy.deepcopy({"f": documented})["f"],
        weakref.ref(documented)(),
    ):
        assert other is documented

    class Scaled:
        k = 2

        @functools.partial(jfi.jit, static_argnums=0)
        def times(self, x):
            return self.k * x

        @staticmethod
        @jfi.jit
        def twice(x):
            return 2 * x

        @classmethod
        @functools.partial(jfi.jit, static_argnums=0)
        def by_class(cls, x):
            return cls.k * x

    scaled_by = Scaled()
    assert isinstance(scaled_by.times, types.MethodType)
    for f in (scaled_by.times, Scaled.twice, scaled_by.twice, Scaled.by_class):
        same(f(X), 2 * X)


# ------------------------------------------------------------------------- eval_shape


@pytest.mark.parametrize("first", ["eval_shape", "call", "lower", "trace"])
def test_eval_shape_and_jit_trace_once(first):
    def f(x, *, n=2):
        traces.append(1)
        return {"y": x * n}

    run = {
        "eval_shape": lambda: jfi.eval_shape(f, X, n=3),
        "call": lambda: jfi.jit(f)(X, n=3),
        "lower": lambda: jfi.jit(f).lower(X, n=3),
        "trace": lambda: jfi.jit(f).trace(X, n=3),
    }
    for name in (first, *run):
        run[name]()
    assert len(traces) == 1
    assert jfi.eval_shape(f, X) == jax.eval_shape(f, X)
    same(jfi.jit(f).lower(X).compile()(X)["y"], 2 * X)


def test_eval_shape_takes_what_that_of_jax_takes():
    shape = jax.ShapeDtypeStruct((2, 3), "float32")
    model = Model()
    static = jfi.jit(lambda x, n: x * n, static_argnums=1)
    for fun, args in [
        (lambda x: (x, x.sum()), (shape,)),
        (model, (X,)),
        (model.step, (X,)),
        (functools.partial(marked), (X,)),
        (jax.jit(marked), (X,)),
    ]:
        assert jfi.eval_shape(fun, *args) == jax.eval_shape(fun, *args)
    assert jfi.eval_shape(static, X, 2).shape == (3,)
    assert len(jfi.eval_shape(np.shape, X)) == 1
    seen = jfi.eval_shape(lambda x: x + jfi.randn(3), X)
    assert (seen.shape, seen.dtype) == ((3,), np.float32)
    with pytest.raises(
        TypeError, match=r"^eval_shape\(\) got 3 .*, and takes functions"
    ):
        jfi.eval_shape(3, X)
    inside = jfi.jit(lambda x: x * jfi.eval_shape(lambda y: y.sum(), x).ndim)(X)
    same(inside, 0 * X)


# --------------------------------------------------------------- refused at definition


def generates(x):
    yield x


TOOLS = (
    "jit vmap grad value_and_grad jacfwd jacrev hessian jacobian shard_map auto_vmap "
    "autojit"
).split()


@pytest.mark.parametrize("fun", [3, None, X, "f", generates, staticmethod(marked)])
@pytest.mark.parametrize("tool", TOOLS)
def test_what_is_no_function_is_refused_at_definition(tool, fun):
    if (tool in ("shard_map", "auto_vmap", "autojit") and fun is None) or (
        tool == "autojit" and isinstance(fun, staticmethod)
    ):
        pytest.skip("a decorator with options, or one that takes it")
    with pytest.raises((TypeError, ValueError)) as ours:
        getattr(jfi, tool)(fun)
    assert str(ours.value).count(".") >= 1, "it says what to write"
    if hasattr(jax, tool) and tool != "shard_map":
        with pytest.raises(TypeError):
            getattr(jax, tool)(fun)
        assert isinstance(ours.value, TypeError)


@pytest.mark.parametrize("name", ["in_axes", "out_axes"])
@pytest.mark.parametrize(
    "axes", ["a", 1.5, {0}, object(), (0, "a"), (0, (1, 2.0)), X, np.int64(0), True]
)
def test_wrong_axes_are_refused_at_definition(name, axes):
    try:
        jax.vmap(marked, **{name: axes})
    except TypeError:
        pass
    else:
        pytest.skip("JAX takes them")
    with pytest.raises(
        jfi.BatchError, match=rf"vmap\(\) got {name}=.*\n?Write"
    ) as seen:
        jfi.vmap(marked, **{name: axes})
    assert isinstance(seen.value, TypeError)


def test_right_axes_are_taken():
    both = jfi.vmap(lambda x, d: x + d["k"], in_axes=[0, {"k": None}], out_axes=0)
    same(both(X, {"k": 1}), X + 1)
    same(jfi.vmap(lambda x, d: x + d, in_axes=(0, None))(X, 1), X + 1)
