"""Methods of classes and functions under `autojit` meet the same global variables.

The script runs as text: its data are globals and its functions stand at top level.
"""

import importlib
import sys
import types
import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import jfi


SCRIPT = """
import contextlib
MODE, STACK, LOSSES, FLAG = {"train": False}, [], [], False

class Config:
    def __init__(self): self.train = False
CONFIG, NET = Config(), Config()

@contextlib.contextmanager
def training():
    MODE["train"] = True
    try: yield
    finally: MODE["train"] = False

class Trace:
    def __init__(self): self.sites = {}
    def __enter__(self): STACK.append(self); return self
    def __exit__(self, *error): STACK.pop()

def sample(name, value):
    for trace in STACK: trace.sites[name] = value
    return value

class Model:
    def mode(self, x): return x * (10 if MODE["train"] else 1)
    def flag(self, x): return x * (10 if FLAG else 1)
    def depth(self, x): return x * len(STACK)
    def config(self, x): return x * (10 if CONFIG.train else 1)
    def set(self, on): MODE["train"] = on
    def last(self): return LOSSES[-1]
    def net(self, x): return NET.w * x

def in_a_context(m, x):
    with training(): return m.mode(x)
def in_a_list(m, x):
    STACK.append(m); y = m.depth(x); STACK.pop(); return y
def in_an_object(m, x):
    CONFIG.train = True; y = m.config(x); CONFIG.train = False; return y
def by_a_method(m, x):
    m.set(True); y = 10 * x if MODE["train"] else x; m.set(False); return y
def handlers(m, x):
    with Trace() as outer, Trace() as inner: sample("a", 2 * x)
    return outer.sites["a"] + inner.sites["a"]
def around_another(m, x): return gradient(in_a_context, m, x)
def gradient_of(f, m, x): return jfi.grad(lambda x: inner(f, m, x))(x)
@jfi.autojit
def inner(f, m, x): return f(m, x)
gradient = jfi.autojit(gradient_of)
def in_a_variable(m, x):
    global FLAG
    FLAG = True; y = m.flag(x); FLAG = False; return y
def data_in_a_list(m, x):
    LOSSES.append(x); return 2 * m.last()
def data_in_an_object(m, x):
    NET.w = NET.w + x; return m.net(x)
"""


@pytest.fixture
def variables(monkeypatch):
    module = types.ModuleType("script_of_methods")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    module.jfi = jfi
    exec(SCRIPT, vars(module))
    return vars(module)


def calls_of(f, variables):
    variables["LOSSES"].clear()
    variables["NET"].w = jnp.ones(2)
    found = [np.asarray(f(variables["Model"](), x)).tolist() for x in (2.0, 3.0)]
    return found, len(variables["LOSSES"]), variables["NET"].w.tolist()


@pytest.mark.parametrize(
    "name",
    "in_a_context around_another in_a_list in_an_object by_a_method handlers".split(),
)
def test_what_is_changed_for_a_while_reaches_both(variables, name):
    f = jfi.autojit(variables[name], uncompiled=False)
    assert calls_of(f, variables) == calls_of(variables[name], variables)
    assert f.cache_info().traces == 1
    assert (variables["MODE"], variables["STACK"]) == ({"train": False}, [])


@pytest.mark.parametrize(
    "name", "in_a_variable data_in_a_list data_in_an_object".split()
)
def test_what_only_copies_could_hold_runs_uncompiled(variables, name):
    f = jfi.autojit(variables[name])
    with pytest.warns(jfi.UncompiledWarning, match=f"^{name}\\(\\) "):
        found = calls_of(f, variables)
    assert found == calls_of(variables[name], variables)


@pytest.mark.parametrize(
    "name", "by_the_function by_a_method by_setattr by_its_dict by_vars of_both".split()
)
def test_variables_of_a_module_that_are_assigned(variables, name, monkeypatch):
    settings = types.ModuleType("settings_of_a_script")
    monkeypatch.setitem(sys.modules, settings.__name__, settings)
    exec("on, table = False, {'k': 1}", vars(settings))
    variables["settings"] = settings
    exec(
        """
class Layer:
    def __call__(self, x): return x * (10 if settings.on else settings.table["k"])
    def set(self, on): settings.on = on
def by_the_function(layer, x):
    settings.on = True; y = layer(x); settings.on = False; return y
def by_a_method(layer, x):
    layer.set(True); y = 10 * x if settings.on else x; layer.set(False); return y
def by_setattr(layer, x):
    setattr(settings, "on", True); y = layer(x); setattr(settings, "on", False)
    return y
def by_its_dict(layer, x):
    settings.__dict__["on"] = True; y = layer(x); settings.__dict__["on"] = False
    return y
def by_vars(layer, x):
    vars(settings)["on"] = True; y = layer(x); vars(settings)["on"] = False
    return y
def of_both(layer, x):
    settings.table["k"] = 10; y = layer(x); settings.table["k"] = 1; return y
""",
        variables,
    )
    f, layer = jfi.autojit(variables[name]), variables["Layer"]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [float(f(layer, x)) for x in (1.0, 2.0)] == [10.0, 20.0]
    assert len(caught) == (name != "of_both")  # which is compiled
    assert (settings.on, settings.table) == (False, {"k": 1})


@pytest.mark.parametrize("kind", ["object", "dict"])
def test_an_argument_that_is_what_methods_read(variables, kind):
    exec(
        """
class Settings(dict):
    __setattr__, __getattr__ = dict.__setitem__, dict.__getitem__
class Layer:
    def __call__(self, x): return x * SETTINGS.k
def f(settings, layer, x):
    settings.k = 5; y = layer(x); settings.k = 1; return y
def g(settings, layer, x):
    settings.k += 1; return layer(x)
""",
        variables,
    )
    make = variables["Config" if kind == "object" else "Settings"]
    ours, other = make(), make()
    ours.k = other.k = 1
    variables["SETTINGS"], layer = ours, variables["Layer"]()
    f, order = jfi.autojit(variables["f"]), [other] * 5 + [ours] * 5 + [other] * 2
    expected = [1.0] * 5 + [5.0] * 5 + [1.0] * 2
    assert [float(f(settings, layer, 1.0)) for settings in order] == expected
    assert f.cache_info().traces == 2
    assert float(jfi.autojit(variables["g"])(ours, layer, 1.0)) == 2.0
    assert (ours.k, other.k) == (2, 1)


def test_what_both_captured():
    stack, mode, factor = [], {"on": False}, 1

    class Model:
        def __call__(self, x):
            return x * (10 if mode["on"] else 1) * len(stack) * factor

    @jfi.autojit
    def f(model, x):
        nonlocal factor
        stack.append(1)
        mode["on"], factor = True, 3
        y = model(x)
        stack.pop()
        mode["on"], factor = False, 1
        return y

    assert [float(f(Model(), x)) for x in (1.0, 2.0)] == [30.0, 60.0]
    assert f.cache_info().traces == 1
    mode["on"] = True  # for good
    assert float(f(Model(), 1.0)) == 30.0
    assert (mode, stack) == ({"on": False}, [])


@pytest.mark.parametrize("depth", [2, 12])
def test_a_class_whose_code_and_modules_are_deep(depth, tmp_path, monkeypatch):
    def write(name, lines):
        (tmp_path / f"deep{depth}_{name}.py").write_text("\n".join(lines))

    calls = [f"def h{i}(x): return h{i + 1}(x) + STATE[0]" for i in range(depth)]
    last, layer = f"def h{depth}(x): return x", "class Layer:"
    method = "    def __call__(self, x): return h0(x)"
    write("layers", ["STATE = [1.0]", *calls, last, layer, method])
    for i in range(depth):
        name = f"deep{depth}_step{i + 1}"
        step = f"def step(x): return {name}.step(x) + RATE"
        write(f"step{i}", [f"import {name}", "RATE = 2.0", step])
    write(f"step{depth}", ["def step(x): return x"])
    monkeypatch.syspath_prepend(tmp_path)
    layers, first = (
        importlib.import_module(f"deep{depth}_{name}") for name in ("layers", "step0")
    )
    layer = layers.Layer()
    step = jfi.autojit(lambda x: layer(x) + first.step(x))  # it never ended
    assert step(1.0) == 2 + 3 * depth
    first.RATE, layers.STATE[0] = 3.0, 2.0
    assert step(1.0) == 3 + 4 * depth
