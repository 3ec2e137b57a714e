"""What functions read and write beyond their arguments, where jfi compiles unasked."""

import abc
import collections
import functools
import inspect
import sys
import types
import warnings

import jax
import numpy as np
import pytest
from counting import Traces, count

import jfi as jnp


# Warns that it runs uncompiled, as it should here: see test_unasked.py.
UNCOMPILED = pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")


X = jnp.ones((3, 2))
SOURCE = """
import functools
import numpy as np

GAIN = 1.0
table = {"gain": 1.0}
array = np.ones(2, "float32")

class Config:
    gain = 1.0

config = Config()

def direct(x):
    return x * GAIN

def through(x):
    return direct(x)

def captured():
    def inner(x):
        return x * GAIN
    return lambda x: inner(x)

def captured_twice():
    def inner(x):
        return x * GAIN
    def outer(x):
        return inner(x)
    return lambda x: outer(x)

class System:
    def step(self, x):
        return x * GAIN

    @property
    def slope(self):
        return GAIN

    def __call__(self, x):
        return self.step(x)

class Inherited(System):
    pass

system = System()

def of_global_object(x):
    return system.step(x)

def of_property(x):
    return x * system.slope

def scaled(k, x):
    return x * GAIN * k

def of_config(x):
    return x * config.gain

def of_table(x):
    return x * table["gain"]

def of_array(x):
    return x * array[0]

def deep_table():
    def inner(x):
        return x * table["gain"] * config.gain * array[1]
    return lambda x: inner(x)

def default(x, f=lambda x: x * GAIN):
    return f(x)

def inside(x):
    return (lambda x: x * GAIN)(x)
"""


def calling(f):
    return lambda x: f(x)


def calling_first(functions):
    return lambda x: functions[0](x)


FUNCTIONS = {
    "direct": lambda m: m.direct,
    "through": lambda m: m.through,
    "captured": lambda m: m.captured(),
    "captured twice": lambda m: m.captured_twice(),
    "method": lambda m: m.System().step,
    "callable object": lambda m: m.System(),
    "inherited": lambda m: m.Inherited().step,
    "method of a captured object": lambda m: (lambda s: lambda x: s.step(x))(
        m.System()
    ),
    "method of a global object": lambda m: m.of_global_object,
    "property": lambda m: m.of_property,
    "partial": lambda m: functools.partial(m.scaled, 1.0),
    "attribute": lambda m: m.of_config,
    "table": lambda m: m.of_table,
    "array": lambda m: m.of_array,
    "deep table": lambda m: m.deep_table(),
    "default": lambda m: m.default,
    "inside": lambda m: m.inside,
    "list of functions": lambda m: calling_first([m.captured()]),
}
TOOLS = {
    "vmap_automatically": lambda f: jnp.vmap_automatically(lambda x: f(x), X),
    "the function itself": lambda f: jnp.vmap_automatically(f, X),
    "map": lambda f: jnp.map(f, X),
    "scan": lambda f: jnp.scan(lambda c, x: (c, f(x)), 0, X)[1],
    "fori_loop": lambda f: jnp.fori_loop(0, 1, lambda i, x: f(x), X),
    "cond": lambda f: jnp.cond(True, f, lambda x: x, X),
    "checkpoint": lambda f: jnp.checkpoint(f)(X),
}


@pytest.fixture
def module():
    module = types.ModuleType("a_notebook")
    exec(compile(SOURCE, "a_notebook.py", "exec"), vars(module))
    return module


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_changes_are_seen(module, function, tool):
    run = lambda: float(tool(function(module)).sum())
    assert [run(), run(), run()] == [6.0] * 3
    module.GAIN = 2.0
    module.config.gain = 2.0
    module.table["gain"] = 2.0
    module.array[:] = 2.0
    changed = run()
    expected = float(sum(function(module)(x).sum() for x in X))
    assert changed == expected > 6.0
    assert run() == expected
    module.direct = lambda x: x * 5
    assert run() == float(sum(function(module)(x).sum() for x in X))


def test_a_class_that_is_defined_again(module):
    run = lambda: float(
        jnp.vmap_automatically(lambda x: module.System().step(x), X).sum()
    )
    assert [run(), run()] == [6.0] * 2
    exec(
        compile("class System:\n    def step(self, x): return x * 3", "b.py", "exec"),
        vars(module),
    )
    assert run() == 18.0


def test_attributes_of_a_module(module):
    config = types.ModuleType("config")
    config.gain = 1.0
    module.config = config
    run = lambda tool: float(tool(module.of_config).sum())
    for tool in TOOLS.values():
        config.gain = 1.0
        assert [run(tool), run(tool)] == [6.0] * 2
        config.gain = 2.0
        assert run(tool) == 12.0


def test_values_that_change_back_are_not_compiled_again(module):
    def run():
        inner = module.captured()

        def f(x):
            count()
            return inner(x)

        return float(jnp.map(f, X).sum())

    for gain in (1.0, 2.0):
        module.GAIN = gain
        assert run() == 6 * gain
    for gain in (1.0, 2.0, 1.0):
        module.GAIN = gain
        assert Traces.added(lambda: run()) == 0
        assert run() == 6 * gain


# ---- callbacks ----


def log(seen, x):
    jax.debug.callback(lambda v: seen.append(float(v)), x)
    return x


def host(seen, x):
    def call(v):
        seen.append(float(v))
        return np.asarray(v)

    return jax.pure_callback(call, jax.typeof(x), x, vmap_method="sequential")


@UNCOMPILED
@pytest.mark.parametrize("call", [log, host], ids=["debug", "pure"])
@pytest.mark.parametrize("jit", [False, True])
def test_what_a_callback_writes_to_is_the_callers_own(call, jit):
    seen = []
    xs = jnp.arange(3.0)
    run = lambda xs: jnp.scan(lambda c, x: (c + call(seen, x), None), 0.0, xs)[0]
    run = jax.jit(run) if jit else run
    for k in range(1, 4):
        assert float(run(xs)) == 3.0
        jax.effects_barrier()
        assert sorted(seen) == sorted([0.0, 1.0, 2.0] * k)


@UNCOMPILED
@pytest.mark.parametrize("call", [log, host], ids=["debug", "pure"])
def test_in_batches(call):
    seen = []
    for k in range(1, 4):
        out = jnp.vmap_automatically(lambda x: call(seen, x), jnp.arange(3.0))
        np.testing.assert_array_equal(out, [0, 1, 2])
        jax.effects_barrier()
        assert sorted(seen) == sorted([0.0, 1.0, 2.0] * k)


@UNCOMPILED
def test_branches_that_call_back():
    seen = []

    def run(x):
        return float(jnp.cond(x > 0, lambda: log(seen, x), lambda: -x))

    for k in range(1, 4):
        assert run(jnp.array(float(k))) == k
        jax.effects_barrier()
        assert seen == [float(n) for n in range(1, k + 1)]


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_branches_in_a_loop_see_what_cannot_be_watched(module):
    exec("def of_text(x):\n    return x * globals()['GA' + 'IN']", vars(module))
    step = lambda c, x: (c, jnp.cond(True, module.of_text, lambda x: x * 1.0, x))
    run = lambda: float(jnp.scan(step, 0.0, X)[1].sum())
    assert [run(), run()] == [6.0] * 2
    module.GAIN = 2.0
    assert [run(), run()] == [12.0] * 2


def test_a_batch_tells_that_all_of_it_sees_one_value(module):
    exec("import time\ndef f(x): return x + time.time()", vars(module))
    with pytest.warns(jnp.UncompiledWarning, match="all steps or rows get what is re"):
        jnp.auto_vmap(module.f)(X)


def test_a_scan_reads_the_world_at_each_step(module):
    exec("import time\ndef f(x): return x + time.perf_counter_ns() % 1e5", vars(module))
    with pytest.warns(jnp.UncompiledWarning) as caught:
        outs = jnp.scan(lambda c, x: (c, module.f(x)), 0.0, jnp.zeros(4))[1]
    assert len(set(outs.tolist())) > 1
    assert "Until then" not in str(caught[0].message)


def test_a_scan_counts_at_each_step(module):
    exec("n = 0\ndef f(x):\n    global n\n    n += 1\n    return x * n", vars(module))
    with pytest.warns(jnp.UncompiledWarning, match="writes n"):
        outs = jnp.scan(lambda c, x: (c, module.f(x)), 0.0, jnp.ones(3))[1]
    assert outs.tolist() == [1, 2, 3]
    assert module.n == 3


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_bounded_loops_write_and_read_outside_at_each_step(module):
    exec(
        "import itertools\nit, n, log = itertools.count(1), 0, []\n"
        "def f(x):\n    global n\n    n += 1\n    log.append(x)\n"
        "    return x * next(it)",
        vars(module),
    )
    step = module.f
    loops = {
        "scan_while": lambda x: jnp.scan_while(
            lambda c: c < 9, lambda c: (step(c) + 1, c), x, 9
        ),
        "while_loop": lambda x: jnp.while_loop(
            lambda c: c < 9, lambda c: step(c) + 1, x, max_steps=9
        ),
    }
    for name, loop in loops.items():
        for run in (loop, jnp.autojit(loop)):
            exec("it, n, log = itertools.count(1), 0, []", vars(module))
            out = run(1.0)
            assert (module.n, [*map(float, module.log)]) == (3, [1, 2, 5])
            assert float(getattr(out, "carry", out)) == 16
            if name == "scan_while":
                assert out.ys.tolist() == [1, 2, 5, *[0] * 6]
                assert int(out.length) == 3
        exec("it, n, log = itertools.count(1), 0, []", vars(module))
        slope = jax.grad(lambda x, loop=loop: getattr(out := loop(x), "carry", out))
        assert float(slope(1.0)) == 6  # 1 * 2 * 3
    exec("it, n, log = itertools.count(1), 0, []", vars(module))
    with pytest.raises(jnp.LoopError, match=r"scan_while\(\) uses it .an iter"):
        jax.vmap(loops["scan_while"])(jnp.ones(2))
    assert module.n == 0
    assert module.log == []


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
@pytest.mark.parametrize("rng", ["jnp", "jnp.Generator(7)"])
def test_bounded_loops_draw_the_same_where_they_write(module, rng):
    text = """
import jfi as jnp
log = []
def run(writes, rng):
    def step(c):
        if writes: log.append(c)
        inner = jnp.scan_while(lambda d: d < 2, lambda d: (d + rng.rand(), d), 0.0, 9)
        return c + rng.rand(), (rng.randn(2), inner.carry, jnp.rand())
    return jnp.scan_while(lambda c: c < 2 + rng.rand(), step, 0.0, 9), rng.rand()
"""
    exec(text, vars(module))
    outs = []
    for writes in (False, True):
        jnp.manual_seed(0)
        outs.append(module.run(writes, eval(rng, {"jnp": jnp})))
    jax.tree.map(np.testing.assert_allclose, *outs)
    assert len(module.log) == int(outs[0][0].length)


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_a_bounded_loop_of_no_steps_has_no_rows_in_python(module):
    exec("log = []\ndef f(x):\n    log.append(x)\n    return x", vars(module))
    never, step = lambda c: c < 0, module.f
    assert float(jnp.while_loop(never, step, 1.0, max_steps=3)) == 1
    with pytest.raises(jnp.LoopError, match=r"scan_while\(\) took no step.*\n.*if"):
        jnp.scan_while(never, lambda c: (step(c), c), 1.0, 3)
    assert module.log == []


def test_disable_jit_runs_bounded_loops_in_python():
    seen = []
    body = lambda c: (seen.append(float(c)), (2 * c, c))[1]
    with jax.disable_jit():
        out = jnp.scan_while(lambda c: c < 5, body, 1.0, 4)
        wrong = r"carry comes|carry c goes into .*float32\[\].*float32\[2\]"
        with pytest.raises(jnp.LoopError, match=wrong):
            jnp.scan_while(lambda c: c < 5, lambda c: (jnp.ones(2), c), 1.0, 4)
        with pytest.raises(jnp.LoopError, match=r"must return bool\[\]"):
            jnp.scan_while(lambda c: c, body, 1.0, 4)
        rows = jax.vmap(lambda x: jnp.scan_while(lambda c: c < 5, double, x, 4).carry)(
            jnp.arange(1.0, 4)
        )
    assert seen == [1, 2, 4]
    assert out.ys.tolist() == [1, 2, 4, 0]
    assert rows.tolist() == [8, 8, 6]


def double(c):
    return 2 * c, c


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_what_steps_write_is_written_as_often_as_in_python(module):
    lines = {
        "self.log.setdefault('k', []).append(1)": {"log": {"k": [1, 1, 1]}},
        "self.a, self.b = self.b, self.a": {"a": "y", "b": "x"},
        "self.on = not self.on": {"on": True},
        "self.a, self.n = 'new', 5": {"a": "new", "n": 5},
        "self.b = self.log": {"b": {}},
    }
    for line, written in lines.items():
        text = f"""
class Model:
    def __init__(self):
        self.log, self.a, self.b, self.on, self.n = {{}}, "x", "y", False, 1
    def step(self, c, x):
        {line}
        return c, x * self.n
"""
        exec(text, vars(module))
        for run in (
            lambda m: jnp.scan(m.step, 0.0, jnp.ones(3)),
            jnp.autojit(lambda m: jnp.scan(m.step, 0.0, jnp.ones(3))),
        ):
            model, other = module.Model(), module.Model()
            run(model)
            for _ in range(3):
                other.step(0.0, 1.0)
            assert vars(model) == vars(other)
            assert vars(model).items() >= written.items()


def test_rows_may_all_assign_the_same(module):
    exec(
        "mode = 'a'\ndef f(x):\n    global mode\n    mode = 'b'\n    return x + 1",
        vars(module),
    )
    assert jnp.vmap_automatically(module.f, jnp.zeros(2)).tolist() == [1, 1]
    assert module.mode == "b"


def test_rows_leave_nothing_in_an_object_that_had_no_attributes(module):
    exec(
        "class Empty: pass\nempty = Empty()\n"
        "def fill(x):\n    empty.k = x\n    return x * 2\n",
        vars(module),
    )
    with pytest.raises(jnp.BatchError, match=r"writes empty\.k"):
        jnp.vmap_automatically(module.fill, X)
    assert vars(module.empty) == {}


def test_rows_do_not_share_what_an_iterator_yields(module):
    exec(
        "import itertools\nsteps = itertools.count(1)\n"
        "def scaled(x):\n    return x * next(steps)\n",
        vars(module),
    )
    captured = iter([1.0, 2.0, 3.0])
    for fn in (module.scaled, lambda x: x * next(captured)):
        for batched in (
            jnp.auto_vmap(fn),
            lambda x, f=fn: jnp.vmap_automatically(f, x),
        ):
            with pytest.raises(jnp.BatchError, match="writes the state of"):
                batched(X)
    assert (next(module.steps), next(captured)) == (1, 1.0)


@pytest.mark.parametrize("place", ["{}", "[None]"])
def test_rows_leave_no_data_outside(place):
    kept = eval(place)

    def keep(x):
        kept[0] = x
        return x * 2

    for batched in (jnp.auto_vmap(keep), lambda x: jnp.vmap_automatically(keep, x)):
        with pytest.raises(jnp.BatchError, match=r"writes kept\[0\]"):
            batched(X)
        assert kept == eval(place)


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
@pytest.mark.parametrize("wrap", [lambda f: f, jnp.autojit], ids=["eager", "autojit"])
def test_batches_that_run_uncompiled_leave_no_row_outside(module, wrap):
    exec(
        "kept, n, NAME = [0], 0, 'GAIN'\nGAIN = 2.0\n"
        "def keep(x):\n    kept[:] = [x]\n    return x * globals()[NAME]\n"
        "def count(x):\n    global n\n    n += 1\n    return x * globals()[NAME]\n"
        "class Empty: pass\nempty = Empty()\n"
        "def fill(x):\n    empty.k = x\n    return x * globals()[NAME]\n",
        vars(module),
    )
    for k in range(2):
        functions = {
            "kept": module.keep,
            "n": module.count,
            "(empty|the first)": module.fill,
        }
        for name, function in functions.items():
            run = wrap(lambda x, f=function: jnp.vmap_automatically(f, x))
            with pytest.raises(jnp.BatchError, match=rf"\(\) .* writes {name}"):
                run(X + k)
    assert (module.kept, module.n, vars(module.empty)) == ([0], 0, {})


def test_loops_refuse_generators_that_would_draw_once(module):
    exec("import random\ndef f(*x): return x[-1] + random.random()", vars(module))
    f, x = module.f, jnp.zeros(3)
    for loop in (
        lambda: jnp.scan(lambda c, x: (c + np.random.rand(), x), 0.0, x),
        lambda: jnp.fori_loop(0, 3, f, 0.0),
        lambda: jnp.while_loop(lambda c: c < 3, f, 0.0),
        lambda: jnp.scan_while(lambda c: c < 3, f, 0.0, 3),
    ):
        with pytest.raises(jnp.LoopError, match=r"(?s)by (numpy\.)?random.*jnp\.randn"):
            loop()
    for once in (lambda: jnp.cond(True, f, f, 0.0), lambda: jnp.checkpoint(f)(0.0)):
        with pytest.warns(jnp.UncompiledWarning, match=r"random\.random"):
            draws = [float(once()) for _ in range(2)]
        assert draws[0] != draws[1]


STEPS = """
import jax
import jfi as jnp

gain = 1.0

def step(carry, x):
    {callback}
    return carry + gain * x, None

def run(x):
    return jnp.scan(step, x, jnp.arange(3.0))[0]
"""
CALLBACKS = {"callback": "jax.debug.callback(lambda x: None, x)", "none": ""}
CALLS = {
    "eager": "run(0.0)",
    "jit": "jnp.jit(run)(0.0)",
    "vmap": "jnp.vmap(run)(jnp.zeros(2))[0]",
    "grad": "jnp.value_and_grad(run)(0.0)[0]",
    "progress": "jnp.scan(step, 0.0, jnp.arange(3.0), progress=True)[0]",
}


@UNCOMPILED
@pytest.mark.parametrize("callback", CALLBACKS.values(), ids=CALLBACKS)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_body_that_jax_traced_before_sees_global_variables_change(call, callback):
    """JAX remembers the trace of a body by the function, whatever it reads."""
    module = types.ModuleType("a_script")
    exec(STEPS.format(callback=callback), vars(module))
    results = []
    for module.gain in (1.0, 2.0, 3.0, 1.0):
        results.append(float(eval(call, vars(module))))
    assert results == [3.0, 6.0, 9.0, 3.0]


def test_a_body_whose_reads_stay_is_traced_once(capfd):
    def step(carry, x):
        print("traced")
        return carry + x, None

    jnp.scan(step, 0.0, jnp.arange(3.0), progress=True)
    first = capfd.readouterr().out.count("traced")
    for _ in range(3):
        jnp.scan(step, 0.0, jnp.arange(3.0), progress=True)
    assert first > 0
    assert capfd.readouterr().out.count("traced") == 0


def test_a_body_made_anew_in_traced_code_is_not_looked_at_when_it_is_traced():
    """Whatever it reaches; JAX's and jfi's work is counted in calls of functions."""
    module = types.ModuleType("a_script")
    calls = "".join(f"def f{i}(x):\n    return f{i + 1}(x)\n" for i in range(40))
    body = "def body(c, x):\n        return (f0 if c is None else f40)(c), None\n"
    script = f"{calls}def f40(x):\n    return x\ndef make():\n    {body}    return body"
    exec(script, vars(module))

    def calls_of(scan):
        counts = collections.Counter()
        for _ in range(2):  # of the second one
            sys.setprofile(lambda frame, event, arg: counts.update([event]))
            try:
                jax.make_jaxpr(lambda x: scan(module.make(), x, None, 3))(1.0)
            finally:
                sys.setprofile(None)
            found = counts.pop("call")
        return found

    assert calls_of(jnp.scan) < 2 * calls_of(jax.lax.scan)


def test_large_data_that_a_body_reads_is_not_looked_at_when_it_is_traced():
    """It is traced again instead: to hash 60 MB takes a hundred times as long."""
    large = np.ones(2_000_000, "float32")

    def body(carry, x):
        return carry * large[0], None

    def run(x):
        return jnp.scan(body, x, jnp.arange(3.0))[0]

    for large[0] in (1.0, 2.0):
        assert float(jnp.vmap(run)(jnp.ones(2))[0]) == large[0] ** 3
        assert float(jax.jit(lambda x: run(x))(1.0)) == large[0] ** 3


LIMIT = 3.0


class Limited:
    def __init__(self, x):
        self.x = x * LIMIT


def limited(x):
    return x * LIMIT


# Of a library's objects, this one is not looked into.
SIGNATURE = inspect.signature(lambda f=limited: None)


def mapped(fn):
    return lambda x: jnp.vmap_automatically(fn, x)


def scanned(fn):
    return lambda x: jnp.scan(lambda carry, row: (carry, fn(row)), 0, x)[1]


@pytest.mark.parametrize("tool", [jnp.autojit, jnp.persistent, mapped, scanned])
@pytest.mark.parametrize(
    "fn", ["type(limited)(x).x", "SIGNATURE.parameters['f'].default(x)"]
)
def test_code_to_which_nothing_leads_is_met_when_it_runs(fn, tool, monkeypatch):
    names = {"SIGNATURE": SIGNATURE, "limited": Limited(1.0)}
    plain = eval(f"lambda x: {fn}", names)
    compiled = tool(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jnp.UncompiledWarning)
        for limit in (3.0, 4.0, 5.0):
            monkeypatch.setattr(sys.modules[__name__], "LIMIT", limit)
            np.testing.assert_array_equal(compiled(X), X * limit)


def test_a_function_that_is_out_of_sight_is_named_in_the_warning():
    by_default = jnp.autojit(lambda x: SIGNATURE.parameters["f"].default(x))
    with pytest.warns(jnp.UncompiledWarning, match=r"runs limited\(\), to which"):
        assert by_default(2.0) == 6.0
    assert jnp.autojit(lambda f, x: f(x))(limited, 2.0) == 6.0  # as it advises


def test_a_class_registered_after_the_first_call_is_not_seen():
    # As docs/autojit.md says: Python keeps it in C, beside the class.
    class Shape(abc.ABC):  # noqa: B024 - registered, not derived from
        pass

    class Circle:
        pass

    circle = Circle()
    sized = jnp.autojit(lambda x: x * 2 if isinstance(circle, Shape) else -x)
    assert sized(1.0) == -1.0
    Shape.register(Circle)
    assert sized(1.0) == -1.0
    sized.clear_cache()
    assert sized(1.0) == 2.0
