"""Functions of `functools.lru_cache` under jfi's tools give what plain Python gives.

Scripts hold their data in global variables, their functions at top level: so do these.
"""

import sys
import types
import warnings

import jax
import numpy as np
import pytest

import jfi


HEAD = """
import functools, jax, numpy as np, jfi, jfi as jnp
X, XS = jnp.ones(2), jnp.ones((3, 2))
"""


@pytest.fixture
def script(monkeypatch):
    def run(source):
        module = types.ModuleType("a_script")
        monkeypatch.setitem(sys.modules, "a_script", module)
        exec(compile(HEAD + source, "a_script.py", "exec"), vars(module))
        return vars(module)

    return run


VALUES = {
    "float": "2.0",
    "jax": "jnp.asarray(2.0)",
    "numpy": "np.full(2, 2.0, 'float32')",
}
TOOLS = {
    "autojit": "@jfi.autojit\ndef run(x): return x * f(2)",
    "a helper": "def h(): return f(2)\n@jfi.autojit\ndef run(x): return x * h()",
    "a loop inside": """
@jfi.autojit
def run(x): return jfi.fori_loop(0, 1, lambda i, c: c * f(2), x)""",
    "autojit inside": """
@jfi.autojit
def h(x): return x * f(2)
@jfi.autojit
def run(x): return h(x)""",
    "a method": """
class Model:
    def scale(self): return f(2)
model = Model()
@jfi.autojit
def run(x): return x * model.scale()""",
    "a method in scan": """
class Model:
    def scale(self): return f(2)
model = Model()
def run(x): return jfi.scan(lambda c, u: (c, u * model.scale()), x, XS)[1][0]""",
    "a method in checkpoint": """
class Model:
    def scale(self): return f(2)
model = Model()
def run(x): return jfi.checkpoint(lambda x: x * model.scale())(x)""",
    "a computed name in scan": """
def run(x): return jfi.scan(lambda c, u: (c, u * globals()["f"](2)), x, XS)[1][0]""",
    "a refused call in scan": """
first = functools.cache(lambda k: [f(k)])
first.__module__, first.__qualname__ = __name__, "first"
def run(x):
    first.cache_clear()
    return jfi.scan(lambda c, u: (c, u * first(2)[0]), x, XS)[1][0]""",
    "scan": "def run(x): return jfi.scan(lambda c, u: (c, u * f(2)), x, XS)[1][0]",
    "vmap_automatically": """
def run(x): return jfi.vmap_automatically(lambda u: u * f(2), XS)[0]""",
}


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")  # for the method
@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_the_cache_holds_what_plain_python_holds(script, value, tool):
    names = script(f"""
A = {value}
B, C = A + 1, A + 3
@functools.lru_cache
def f(k): return A * k
{tool}
""")
    both = lambda: (np.max(names["run"](names["X"])), np.max(names["f"](2)))
    assert [both(), both(), both()] == [(4, 4)] * 3
    names["A"] = names["B"]
    assert [both(), both()] == [(4, 4)] * 2
    names["f"].cache_clear()
    assert [both(), both()] == [(6, 6)] * 2
    names["A"] = names["C"]
    names["f"].cache_clear()
    assert np.max(names["f"](2)) == 10
    assert [both(), both()] == [(10, 10)] * 2


def test_what_was_remembered_before_is_used(script):
    names = script("""
A = 2.0
@functools.cache
def f(k): return A * k
f(2)
A = 3.0
@jfi.autojit
def run(x): return x * f(2)
""")
    assert [names["run"](1.0), names["run"](1.0)] == [4, 4]


def test_nothing_is_compiled_while_nothing_changes(script):
    names = script("""
@functools.lru_cache
def basis(n): return jnp.linspace(0.0, 1.0, n)
@jfi.autojit
def run(x): return x @ basis(x.shape[-1]) + basis(3).sum()
""")
    for _ in range(5):
        assert names["run"](names["X"]) == 2.5
    assert names["run"].cache_info().traces == 1
    assert names["run"](jfi.ones(3)) == 3
    names["basis"].cache_clear()
    assert [names["run"](names["X"]), names["run"](jfi.ones(3))] == [2.5, 3]
    assert isinstance(names["basis"](2), jax.Array)
    assert names["basis"].cache_info().misses == 2


def test_a_change_that_only_another_shape_meets_is_seen(script):
    names = script("""
A = 1.0
@functools.cache
def f(n): return A * n
@jfi.autojit
def run(x): return x.sum() * (f(3) if x.shape[0] == 3 else 1)
""")
    for _ in range(4):
        assert names["run"](jfi.ones(2)) == 2
    assert names["run"](jfi.ones(3)) == 9
    names["A"] = 2.0
    names["f"].cache_clear()
    assert names["run"](jfi.ones(3)) == 18


def test_numbers_among_the_arguments_are_known(script):
    names = script("""
@functools.lru_cache
def f(k, *, power=1): return k**power
class Model: rate = 0.5
model = Model()
model.rate = 0.5
@jfi.autojit
def run(x, y): return x * f(model.rate, power=2) * f(y)
""")
    assert [names["run"](2.0, 3.0), names["run"](2.0, 4.0)] == [1.5, 2.0]
    names["model"].rate = 2.0
    assert names["run"](2.0, 3.0) == 24


def test_a_numpy_array_that_is_written_in_the_cache(script):
    names = script("""
@functools.lru_cache
def table(n): return np.arange(n)
@jfi.autojit
def run(x): return x * np.dot(table(3), table(3))
""")
    assert [names["run"](1.0), names["run"](1.0), names["run"](1.0)] == [5] * 3
    names["table"](3)[:] = 1
    assert [names["run"](1.0), names["run"](1.0)] == [3] * 2


def test_the_function_itself_comes_back(script):
    names = script("""
@functools.lru_cache
def f(k): return k
@jfi.autojit
def run(x): return x * f(2), f
""")
    assert [names["run"](1.0)[1] is names["f"] for _ in range(3)] == [True] * 3


def test_an_error_is_the_users_own(script):
    names = script("""
@functools.lru_cache
def f(k): raise KeyError(k)
@jfi.autojit
def run(x): return x * f(2)
@jfi.autojit
def careful(x):
    try:
        return x * f(2)
    except KeyError:
        return x
""")
    with pytest.raises(KeyError, match="2"):
        names["run"](1.0)
    with pytest.warns(jfi.UncompiledWarning, match=r"catches an error of f\(\)"):
        assert names["careful"](1.0) == 1
    names["f"].__wrapped__.__code__ = (lambda k: k).__code__
    assert [names["run"](1.0), names["careful"](1.0)] == [2, 2]


UNWATCHED = {
    "an object": ("run(x): return x * f(model)", "with a Model"),
    "a list": ("run(x): return x * f(0)[0]", "gets a list"),
    "clear": ("run(x):\n    f.cache_clear()\n    return x * f(2)", "cache_clear"),
    "too many": ("run(x): return x * (small(1) + small(2)) / 2", "more often"),
    "a method": ("run(x): return x * model.scale(1)", r"Model\.scale"),
    "in a method": ("run(x): return x * model.call(2)", r"f \("),
}


@pytest.mark.parametrize("read", UNWATCHED.values(), ids=UNWATCHED)
def test_what_cant_be_watched_runs_uncompiled(script, read):
    source = """
A = jnp.asarray(2.0)
class Model:
    w = 2.0
    def __init__(self): self.w = 2.0
    @functools.cache
    def scale(self, n): return self.w * n
    def call(self, n): return f(n)
@functools.lru_cache
def f(k): return [A] if k == 0 else A * getattr(k, "w", k)
@functools.lru_cache(maxsize=1)
def small(k): return A * k
model = Model()
"""
    code, words = read
    plain = script(f"{source}def {code}")
    names = script(f"{source}@jfi.autojit\ndef {code}")
    with pytest.warns(jfi.UncompiledWarning, match=rf"(?s)run\(\) .*{words}"):
        assert names["run"](1.0) == plain["run"](1.0)
    with warnings.catch_warnings():  # once is enough
        warnings.simplefilter("error")
        for space in (names, plain):
            space["A"], space["model"].w = jfi.asarray(3.0), 4.0
        assert names["run"](1.0) == plain["run"](1.0)
    assert not isinstance(names["f"](2), jax.core.Tracer)
    strict = script(f"{source}@jfi.autojit(uncompiled=False)\ndef {code}")
    with pytest.raises(jfi.AutoJitError, match="pass the value as an argument"):
        strict["run"](1.0)


def test_methods_meet_functions_that_compute_from_their_arguments(script):
    names = script("""
@functools.cache
def count(n): return 1 if n < 2 else count(n - 1) + count(n - 2)
@functools.cache
def table(n):
    rows = []
    for k in range(n):
        rows.append(np.sqrt(float(k)))
    return np.asarray(rows)
class Model:
    def scale(self): return count(5) + table(2).sum()
model = Model()
@jfi.autojit
def run(x): return x * model.scale()
""")
    assert [names["run"](1.0), names["run"](1.0), names["run"](1.0)] == [9] * 3
    assert names["run"].cache_info().traces == 1


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_a_bounded_loop_fills_the_cache_as_plain_python_does(script):
    names = script("""
A = 2.0
@functools.lru_cache
def f(k): return A * k
class Model:
    def scale(self): return f(2)
model = Model()
def run(x):
    return jfi.scan_while(lambda c: c < 9, lambda c: (c * model.scale(), c), x, 5)
""")
    assert [float(names["run"](1.0)[0]), names["f"](2)] == [16, 4]  # no array is met
    names["A"] = jfi.asarray(2.0)
    names["f"].cache_clear()
    assert [float(names["run"](1.0)[0]), float(names["f"](2))] == [16, 4]


@pytest.mark.parametrize("rng", ["jnp", "jnp.Generator(1)"])
def test_what_a_function_remembers_is_drawn_where_plain_python_draws_it(script, rng):
    text = f"""
jnp.manual_seed(0)
rng = {rng}
@functools.cache
def f(k): return rng.rand() + k
def plain(x, k): return x + rng.rand() + 10 * f(k)
run = plain
drawn = [float(run(1.0, k)) for k in (0, 0, 1, 0)] + [float(rng.rand())]"""
    expected = script(text)["drawn"]
    with pytest.warns(jfi.UncompiledWarning, match=r"f\(\).*draws random numbers"):
        drawn = script(text.replace("= plain", "= jfi.autojit(plain)"))["drawn"]
    np.testing.assert_allclose(drawn, expected, rtol=1e-6)
