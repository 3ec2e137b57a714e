"""What functions under `autojit` read outside is seen when it changes.

The scripts run as text: their data are globals and their functions stand at top level.
"""

import enum
import importlib
import operator
import os
import sys
import threading
import types
import warnings

import jax
import numpy as np
import pytest

import jfi


@pytest.fixture
def script(request):
    """Runs text as the module of a script, and returns its variables."""
    module = types.ModuleType("script_of_a_user")
    sys.modules[module.__name__] = module
    names = vars(module)
    names |= {"jfi": jfi, "jax": jax, "jnp": jax.numpy, "np": np, "sys": sys}
    yield lambda text: (exec(text, names), names)[1]
    del sys.modules[module.__name__]


def test_a_lambda_that_reads_a_loop_variable(script):
    names = script("""
@jfi.autojit
def apply(x, fn):
    return fn(x)
found = []
for k in range(4):
    found.append(float(apply(jnp.ones(2), lambda v: v * k)[0]))
""")
    assert names["found"] == [0, 1, 2, 3]


def test_minibatches_that_are_globals_compile_once(script):
    names = script("""
@jfi.autojit
def value(w, f):
    return f(w)
found = []
for X in [k * np.ones((3, 2), "float32") for k in (1, 2, 3)]:
    for gain in (1, 0):
        X *= gain
        found.append(float(value(jnp.ones(2), lambda w: (X @ w).sum())))
""")
    assert names["found"] == [6, 0, 12, 0, 18, 0]
    assert names["value"].cache_info().traces == 1


SETTINGS = {
    "a global": ("N", "N = 3"),
    "an item of a dict": ("TABLE['k']", "TABLE['k'] = 3"),
    "a global of a function": ("deep()", "N = 3"),
    "a function defined again": ("deep()", "def helper(): return 3"),
    "an attribute of a class": ("Config.rate", "Config.rate = 3"),
    "a method of a class": ("Config().get()", "Config.get = lambda self: 3"),
    "an instance made inside": ("Config().k", "Config.start = 3"),
    "a property of a metaclass": ("Config.hidden", "Meta.value = 3"),
    "a class method of a singleton": ("Config.one().k", "Config.one().k = 3"),
    "a default that is written": ("default()", "DEFAULT['k'] = 3"),
    "replaced defaults": ("keyword()", "keyword.__kwdefaults__ = {'k': 3}"),
    "an attribute of a function": ("owns()", "owns.k = 3"),
    "an attribute that a function gets": ("gets()", "helper.k = 3"),
    "an attribute of an autojitted function": ("jitted()", "jitted.k = 3"),
    "an attribute that a method gets": ("methods()", "Config.get.k = 3"),
    "an attribute of an autojitted method": ("methods()", "Config.jitted.k = 3"),
    "an attribute of singledispatch": ("dispatched(1)", "dispatched.k = 3"),
    "a property that is only assigned": ("assigned(WithProperty())", "N = 3"),
    "a descriptor that is only assigned": ("assigned(WithDescriptor())", "N = 3"),
    "code that is replaced": ("helper()", "helper.__code__ = (lambda: 3).__code__"),
    "a variable of a global closure": ("closure()", "put(3)"),
    "a module": ("module.k", "module.k = 3"),
    "a module imported inside": ("imported()", "module.k = 3"),
    "a lambda in a dict": ("FUNCTIONS['f']()", "N = 3"),
}
SOURCE = """
import functools
N, TABLE, DEFAULT = 2, {"k": 2}, {"k": 2}
def helper(): return N
def deep(): return helper()
class Meta(type):
    value = 2
    @property
    def hidden(cls): return cls.value
class Config(metaclass=Meta):
    rate = start = 2
    _one = None
    def __init__(self): self.k = self.start
    def get(self): return self.rate
    @jfi.autojit
    def jitted(self): return self.rate
    @classmethod
    def one(cls):
        if cls._one is None: cls._one = cls()
        return cls._one
Config.one()
def default(p=DEFAULT): return p["k"]
def keyword(*, k=2): return k
def owns(): return owns.k
owns.k = 2
def gets(): return getattr(helper, "k", 2)
@jfi.autojit
def jitted(): return jitted.k
jitted.k = 2
def methods(): return max(getattr(Config.get, "k", 2), getattr(Config.jitted, "k", 2))
@functools.singledispatch
def dispatched(x): return dispatched.k
dispatched.k = 2
class Stores:
    def __set__(self, owner, value): owner.stored = value * N
class WithDescriptor:
    given = Stores()
class WithProperty:
    @property
    def given(self): raise NotImplementedError
    @given.setter
    def given(self, value): self.stored = value * N
def assigned(owner):
    owner.given = 1
    return owner.stored
def make():
    k = 2
    def get(): return k
    def put(new):
        nonlocal k
        k = new
    return get, put
closure, put = make()
module = sys.modules["script_module"] = type(sys)("script_module")
module.k = 2
def imported():
    import script_module
    return script_module.k
FUNCTIONS = {"f": lambda: N}
"""


@pytest.mark.parametrize(("read", "change"), SETTINGS.values(), ids=SETTINGS)
def test_settings_that_change(script, read, change):
    names = script(f"{SOURCE}\n@jfi.autojit\ndef run(x): return x * {read}")
    for _ in range(3):
        assert names["run"](1.0) == 2
    script(change)
    for _ in range(3):
        assert names["run"](1.0) == 3


def test_functions_of_branches_are_traced_anew_where_their_globals_change(script):
    names = script("""
N = 2
def number(): return N
def times(x): return x * number()
@jfi.autojit
def run(x): return jax.lax.cond(x > 0, times, times, x)
""")
    assert names["run"](1.0) == 2
    names["N"] = 3
    assert names["run"](1.0) == 3
    script("def number(): return 4")
    assert names["run"](1.0) == 4


def test_numbers_and_arrays_outside_are_data(script):
    names = script("""
RATE, W, STATE = 0.5, np.ones(2), {"v": jnp.zeros(2)}
@jfi.autojit
def run(x): return RATE * x @ W + STATE["v"].sum()
""")
    x = np.ones(2)
    for k in range(4):
        names["RATE"] = float(k)
        names["W"][0] = k + 1
        names["STATE"]["v"] = jax.numpy.full(2, float(k))
        assert names["run"](x) == k * x @ names["W"] + 2 * k
    assert names["run"].cache_info().traces == 1


def test_numpy_computes_with_arrays_outside(script):
    names = script("""
GRID, MASK = np.linspace(0, 1, 5), np.array([True, False, True])
@jfi.autojit
def run(x): return np.diff(GRID).sum() * x[MASK].sum()
""")
    assert np.isclose(names["run"](np.ones(3)), 2.0)
    names["GRID"][-1] = 2.0
    assert np.isclose(names["run"](np.ones(3)), 4.0)


def test_data_that_the_body_leaves_in_globals_is_written_at_each_call(script):
    names = script("""
total, seen, best = 0.0, [], {}
@jfi.autojit
def run(x):
    global total
    total = total + x
    seen.append(x)
    best["x"] = x
""")
    for x in (1.0, 2.0, 3.0):
        names["run"](x)
    assert names["total"] == 6
    assert list(map(float, names["seen"])) == [1, 2, 3]
    assert names["best"] == {"x": 3.0}


def test_a_global_object_in_which_the_body_counts_is_still_seen(script):
    names = script("""
class Model:
    def __init__(self): self.calls, self.gain = 0, 2
    def f(self, x):
        self.calls += 1
        return x * self.gain
model = Model()
def noted(x, seen=[]):
    seen.append(1)
    return x * GAIN
GAIN = 2
@jfi.autojit
def run(x): return model.f(x)
@jfi.autojit
def note(x): return noted(x)
""")
    assert [names[f](1.0) for f in ("run", "run", "note", "note")] == [2] * 4
    assert names["model"].calls == len(names["noted"].__defaults__[0]) == 2
    names["model"].gain = names["GAIN"] = 3
    assert [names[f](1.0) for f in ("run", "run", "note", "note")] == [3] * 4
    assert names["model"].calls == len(names["noted"].__defaults__[0]) == 4


def test_data_that_a_method_leaves_in_a_global_is_that_of_each_call(script):
    names = script("""
n = 0.0
class Model:
    def keep(self, x):
        global n
        n = x
    @jfi.autojit
    def run(self, x):
        self.keep(x)
        return x
""")
    with pytest.warns(jfi.UncompiledWarning, match=r"run\(\) writes data into n"):
        names["Model"]().run(1.0)
    names["Model"]().run(2.0)
    assert names["n"] == 2.0


def test_a_function_whose_code_was_replaced_is_not_the_next_one_like_it(script):
    names = script("""
N = 3
@jfi.autojit
def run(x, fn): return x * fn()
""")
    exec("def double(): return 2 * N", names)
    assert names["run"](np.ones(()), names["double"]) == 6
    names["double"].__code__ = (lambda: N).__code__  # noqa: F821
    exec("def double(): return 2 * N", names)
    np.testing.assert_array_equal(names["run"](np.ones(2), names["double"]), [6, 6])


def test_functions_that_remember_their_results_are_called_anew(script):
    names = script("""
import functools
N = 2
@functools.lru_cache
def times(k): return k * N
@jfi.autojit
def run(x): return x * times(3)
""")
    assert names["run"](1.0) == 6
    names["N"] = 5
    assert names["run"](1.0) == 6
    names["times"].cache_clear()
    names["N"] = 4
    assert names["run"](1.0) == 12


@pytest.mark.parametrize(
    "count",
    [
        *("counts['n'] += 1", "global n; n += 1", "Counter.n += 1", "seen.append(1)"),
        *("counter['n'] += 1", "default['n'] += 1", "ordered['n'] += 1"),
    ],
)
def test_what_the_body_counts_compiles_nothing(script, count):
    names = script(f"""
import collections
n, counts, seen = 0, {{"n": 0}}, []
counter, default = collections.Counter(), collections.defaultdict(int)
ordered = collections.OrderedDict(n=0)
class Counter: n = 0
@jfi.autojit
def run(x):
    {count}
    return x
""")
    for _ in range(4):
        names["run"](1.0)
    dicts = [names[d]["n"] for d in ("counts", "counter", "default", "ordered")]
    counted = names["n"], names["Counter"].n, len(names["seen"]), *dicts
    assert sum(counted) == 4
    # A Counter and a defaultdict have no such key at first.
    assert names["run"].cache_info().traces <= 1 + (count[:7] in ("counter", "default"))


USED = {
    "a number": ("global n; n += 1", "n"),
    "a number that a helper counts": ("tick()", "n"),
    "an item of a dict": ("counts['n'] += 1", "counts['n']"),
    "an item of a Counter": ("counter['n'] += 1", "counter['n']"),
    "a list": ("seen.append(1)", "len(seen)"),
    "a set": ("first = x in met; met.add(1.0)", "first + len(met)"),
    "an attribute of a class": ("Counter.n += 1", "Counter.n"),
    "a number that a method counts": ("Counter.tick()", "n"),
    "a dict that a method counts in": ("Counter.tock()", "counts['n']"),
}


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
@pytest.mark.parametrize(("count", "use"), USED.values(), ids=USED)
def test_what_the_body_counts_and_uses_is_that_of_plain_python(script, count, use):
    source = f"""
import collections
n, counts, seen, met = 0, dict(n=0), [], set()
counter = collections.Counter()
def tick():
    global n
    n += 1
class Counter:
    n = 0
    def tick():
        global n
        n += 1
    def tock():
        counts["n"] += 1
{{decorator}}
def run(x):
    {count}
    return x * ({use})
"""

    def found(names):
        results = [float(names["run"](1.0)) for _ in range(4)]
        names["n"], names["counts"]["n"] = 7, 5
        results += [float(names["run"](1.0)) for _ in range(2)]
        left = "n", "counts", "counter", "seen", "met"
        return results, [names[name] for name in left], names["Counter"].n

    expected = found(script(source.format(decorator="")))
    assert found(script(source.format(decorator="@jfi.autojit"))) == expected


def test_a_count_is_watched_from_where_a_function_uses_it(script):
    names = script("""
n = 0
def uses(x): return x * n
@jfi.autojit
def run(x, fn):
    global n
    n += 1
    return fn(x)
""")
    plain = lambda x: x
    for _ in range(3):
        names["run"](1.0, plain)
    names["n"] = 5
    assert [names["run"](1.0, names["uses"]) for _ in range(2)] == [6, 7]
    assert names["n"] == 7


UNWATCHED = {
    "eval": "eval('N')",
    "globals": "globals()['N']",
    "an environment variable": "int(os.environ.get('SCRIPT_N', N))",
    "an iterator": "next(ITERATOR)",
    "a generator of NumPy": "RANDOM.integers(5)",
    "NumPy's own generator": "np.random.rand()",
    "an array of NumPy's own generator": "np.random.normal(size=4).sum()",
    "Python's own generator": "random.gauss(0, 1)",
    "a function of Python's own generator": "draw(random.randint)",
    "a draw of SciPy": "scipy.stats.norm.rvs()",
    "a variable of a thread": "(setattr(HERE, 'n', N) or HERE.n)",
    "a file by its path": "int(FILE.write_text(str(N)) and FILE.read_text())",
    "a file by a path in an attribute": "int(size(HOLDER) and HOLDER.file.read_text())",
    "whether there is a file": "(1 + os.path.exists(str(FILE) + str(N)) * N)",
    "how large a file is": "(FILE.write_text('x' * N) and getsize(FILE))",
    "a packed file": "int(pack(str(N)) or gzip.open(FILE, 'rt').read())",
    "a reader by its name": "(N + 0 * getattr(np, 'loadtxt')(TABLE))",
    "the folder": "(N + 0 * len(os.path.abspath('.')))",
    "the globals of another function": "size.__globals__['N']",
    "the classes below another": "(N + len(Point.__subclasses__()))",
    "the files of a folder": "(N + len(glob.glob('*.none')))",
    "another program": "int(subprocess.check_output(['echo', str(N)]))",
    "a module imported inside": "imported()",
    "a number of C": "int(NUMBER.value) * (setattr(NUMBER, 'value', N) or N)",
    "a struct of C": "int(POINT.y) * (setattr(POINT, 'y', N) or N)",
    "the variables of a frame": "sys._getframe().f_globals['N']",
}


@pytest.mark.parametrize("read", UNWATCHED.values(), ids=UNWATCHED)
def test_what_cant_be_watched_runs_uncompiled(script, read):
    source = f"""
import ctypes, glob, gzip, itertools, os, pathlib, random, subprocess, sys, tempfile
import scipy.stats, threading, types
from os.path import getsize
N, ITERATOR, RANDOM = 1, itertools.count(), np.random.default_rng(0)
HERE, FILE = threading.local(), pathlib.Path(tempfile.mkdtemp(), "number")
HOLDER, NUMBER = types.SimpleNamespace(file=FILE), ctypes.c_double(3)
TABLE = FILE.with_name("table")
TABLE.write_text("1")
class Point(ctypes.Structure): _fields_ = [("y", ctypes.c_double)]
POINT = Point(3)
np.random.seed(0); random.seed(0)
def draw(randint): return randint(0, 10**6)
def size(holder): return holder.file.write_text(str(N))
def pack(text):
    with gzip.open(FILE, "wt") as file: file.write(text)
def imported():
    import random
    return 0 * random.gauss(0, 1) + N
{{decorator}}
def run(x): return x * {read}
"""
    plain = script(source.format(decorator=""))
    expected = [plain["run"](1.0)]
    plain["N"] = 2
    expected += [plain["run"](1.0), plain["run"](1.0)]
    names = script(source.format(decorator="@jfi.autojit"))
    with pytest.warns(jfi.UncompiledWarning, match=r"(?s)run\(\) uses .*uncompiled"):
        found = [names["run"](1.0)]
    names["N"] = 2
    found += [names["run"](1.0), names["run"](1.0)]
    assert found == expected
    names = script(source.format(decorator="@jfi.autojit(uncompiled=False)"))
    with pytest.raises(jfi.AutoJitError, match="pass the value as an argument"):
        names["run"](1.0)


def test_the_warning_of_a_draw_names_what_is_compiled(script):
    names = script("""
@jfi.autojit
def run(x): return x + np.random.rand()
""")
    with pytest.warns(jfi.UncompiledWarning, match=r"uses numpy.random.*\n.*jnp.randn"):
        names["run"](1.0)


@pytest.mark.parametrize(
    ("draw", "changes"),
    [
        ("np.random.default_rng().normal()", True),
        ("np.random.RandomState().normal()", True),
        ("random.Random().gauss(0, 1)", True),
        ("np.random.default_rng(0).normal()", False),
        ("random.Random(N).gauss(0, 1)", False),
    ],
)
@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_a_generator_made_inside_without_a_seed_draws_anew(script, draw, changes):
    names = script(f"""
import random
N = 1
@jfi.autojit
def run(x): return x + {draw}
""")
    assert (names["run"](0.0) != names["run"](0.0)) == changes


def test_an_attribute_of_a_member_of_an_enum_is_seen_to_change(script):
    names = script("""
import enum
import importlib
class Gait(enum.Enum):
    WALK, RUN = 1, 2
Gait.WALK.speed = 1.5
@jfi.autojit
def run(x): return x * Gait.WALK.speed
""")
    assert float(names["run"](2.0)) == 3.0
    names["Gait"].WALK.speed = 2.5
    assert float(names["run"](2.0)) == 5.0


def test_a_large_numpy_array_outside_is_told_once(script):
    names = script("""
X = np.ones((1100, 1000))
@jfi.autojit
def run(w): return (X @ w).sum()
""")
    w = np.ones(1000)
    with pytest.warns(jfi.SlowCallWarning, match=r"X = jnp\.array\(X\)"):
        names["run"](w)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names["X"] = names["X"] * 2
        assert np.isclose(names["run"](w), 2.2e6)


def test_attributes_that_no_code_reads_compile_nothing(script):
    names = script("""
class Model:
    def __init__(self): self.w, self.losses, self.notes = jnp.ones(2), [], {}
    @jfi.autojit
    def step(self, x):
        self.w = self.w - 0.1 * x
        return self.w.sum()
model = Model()
for k in range(5):
    model.losses.append(float(model.step(jnp.ones(2))))
    model.notes[k] = str(k)
""")
    model = names["model"]
    assert names["Model"].step.cache_info().traces == 1
    assert len(model.losses) == 5
    assert np.allclose(model.losses[-1], 1.0)


@pytest.mark.parametrize(
    "read", ["vars(self)['hidden']", "getattr(self, 'hid' + 'den')", "read(self)"]
)
def test_attributes_read_by_names_that_are_made_up(script, read):
    names = script(f"""
import operator
read = operator.attrgetter("hid" + "den")
class Model:
    def __init__(self): self.hidden = 2
    @jfi.autojit
    def run(self, x): return x * {read}
model = Model()
""")
    model = names["model"]
    assert [model.run(1.0), model.run(1.0)] == [2, 2]
    model.hidden = 3
    assert model.run(1.0) == 3


def test_names_that_getattr_spells_out(script):
    names = script("""
class Model:
    cfg, momentum = {"decay": 0.5}, 2.0
    def __init__(self): self.w, self.losses, self.calls = jnp.ones(2), [], 0
    @jfi.autojit
    def step(self, x):
        if hasattr(self, "last"): x = x + getattr(self, "last", 0.0) * self.cfg["decay"]
        setattr(self, "w", self.w * max(getattr(self, "factor", 1), len(self.cfg)) + x)
        return getattr(self.w, "sum")()
model = Model()
sums = []
for k in range(6):
    if k == 3: model.last = 2.0
    if k == 4: model.factor = 3
    sums.append(float(model.step(1.0)))
    model.losses.append(sums[-1]); model.calls += 1
""")
    assert names["sums"] == [4.0, 6.0, 8.0, 12.0, 40.0, 124.0]
    assert names["Model"].step.cache_info().traces == 3  # the first, `last`, `factor`


@pytest.mark.parametrize(
    "read",
    [
        "getattr(self, 'hid' + part)",
        "getattr(self, f'hid{part}', 0)",
        "getattr(self, 'hidden' if part else 'x')",
        "getattr(self, 'HIDDEN'.lower(), 0)",
        "getattr(*(self, 'hid' + part))",
        "next(map(getattr, [self], ['hid' + part]))",
        "getattr(getattr(self, 'it' + 'self'[4:], self), 'hid' + part)",
        "{'f': getattr}['f'](self, 'hid' + part)",
    ],
)
def test_names_that_getattr_makes_up(script, read):
    names = script(f"""
class Model:
    def __init__(self): self.hidden = 2
    @jfi.autojit
    def run(self, x, part): return x * {read}
model = Model()
""")
    model = names["model"]
    assert [model.run(1.0, "den"), model.run(1.0, "den")] == [2, 2]
    model.hidden = 3
    assert model.run(1.0, "den") == 3


def test_threads_lose_no_writes():
    class Model:
        def __init__(self):
            self.d, self.h, self.s = {}, [], set()

        @jfi.autojit
        def add(self, x, name):
            self.d[name] = x
            self.h.append(x)
            self.s.add(name)

    model = Model()
    start = threading.Barrier(4)

    def work(k):
        start.wait()
        for n in range(5):
            model.add(float(k), f"{k}.{n}")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(model.d) == len(model.h) == len(model.s) == 20


def test_what_a_function_remembers_that_a_method_calls(script):
    names = script("""
N = 2.0
def f(memory={}):
    if 0 not in memory:
        memory[0] = N
    return memory[0]
class Model:
    def scale(self): return f()
model = Model()
@jfi.autojit
def run(x): return x * model.scale()
""")
    assert names["run"](1.0) == 2
    for number in (2.0, 3.0):
        names["N"] = number
        names["f"].__defaults__ = ({},)
        assert names["run"](1.0) == number
        assert names["f"].__defaults__ == ({0: number},)
        names["N"] = 5.0
        assert [names["run"](1.0), names["run"](1.0)] == [number] * 2
    assert names["run"].cache_info().traces > 0


@pytest.mark.parametrize("read", ["next(ITERATOR)", "RANDOM.integers(5)"])
@pytest.mark.parametrize("decorator", ["", "@jfi.autojit"])
def test_what_a_method_reads_that_cant_be_watched(script, read, decorator):
    source = f"""
import itertools
ITERATOR, RANDOM = itertools.count(1), np.random.default_rng(0)
class Model:
    {{inner}}
    def scale(self, x): return x * {read}
    {{outer}}
    def run(self, x): return self.scale(x)
model = Model()
"""
    plain = script(source.format(inner="", outer=""))["model"]
    expected = [plain.run(1.0) for _ in range(4)]
    compiled = script(source.format(inner=decorator, outer="@jfi.autojit"))["model"]
    with pytest.warns(jfi.UncompiledWarning, match="uncompiled"):
        assert [compiled.run(1.0) for _ in range(4)] == expected


def test_an_element_that_a_method_writes_is_written_at_each_call(script):
    names = script("""
TABLE = np.zeros(2)
class Model:
    def note(self, x):
        TABLE[0] = 3.0
        return x
model = Model()
@jfi.autojit
def run(x): return model.note(x)
""")
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jfi.UncompiledWarning)
            assert names["run"](1.0) == 1
        np.testing.assert_array_equal(names["TABLE"], [3, 0])
        names["TABLE"][0] = 0


def test_an_array_of_a_class_that_takes_no_new_attributes():
    class Frozen(type):
        def __setattr__(cls, name, value):
            raise AttributeError(name)

    class Model(metaclass=Frozen):
        weights = np.arange(3.0)

        @jfi.autojit
        def __call__(self, x):
            return x * self.weights

    for _ in range(2):
        np.testing.assert_array_equal(Model()(jfi.ones(3)), Model.weights)
        Model.weights[0] += 1


def test_an_array_of_a_class_that_is_written_in_place(x64):
    class Model:
        gain = np.ones(3)

        @jfi.autojit
        def __call__(self, x):
            return x * self.gain

    model, x = Model(), jfi.ones(3)
    for k in range(4):
        Model.gain *= 2
        assert model(x).tolist() == [2.0 ** (k + 1)] * 3
        assert type(Model.gain) is np.ndarray


RATE = 1.0


class Steps(enum.Enum):
    FAST = "of_module"


class Stepper:
    mode = "of_module"

    def __init__(self):
        self.name, self.part, self.step = "of_module", "module", Steps.FAST
        self.table = {"step": "of_module"}

    def of_module(self, x):
        return RATE * x


@pytest.mark.parametrize(
    "call",
    [
        lambda stepper, x: getattr(stepper, stepper.name)(x),
        lambda stepper, x: getattr(stepper, stepper.mode)(x),
        lambda stepper, x: getattr(stepper, stepper.table["step"])(x),
        lambda stepper, x: getattr(stepper, stepper.step.value)(x),
        lambda stepper, x: getattr(stepper, f"of_{stepper.part}")(x),
        lambda stepper, x: getattr(Stepper, stepper.name)(stepper, x),
        lambda stepper, x, name="of_module": getattr(stepper, name)(x),
    ],
)
def test_what_a_method_reads_that_is_called_by_a_name_in_a_text(call, monkeypatch):
    f = jfi.autojit(call)
    for rate in (1.0, 2.0, 3.0):
        monkeypatch.setitem(globals(), "RATE", rate)
        assert f(Stepper(), jfi.ones(2)).tolist() == [rate] * 2


CALL = operator.methodcaller("of_module", 2.0)
RATES = types.SimpleNamespace(own=types.SimpleNamespace(rate=1.0, other=5))
GET = operator.attrgetter("own.rate")


def test_what_operators_read_by_name(monkeypatch):
    calls = jfi.autojit(lambda stepper: CALL(stepper))
    gets = jfi.autojit(lambda x: x * GET(RATES))
    for rate in (1.0, 2.0, 3.0):
        monkeypatch.setitem(globals(), "RATE", rate)
        monkeypatch.setattr(RATES.own, "rate", rate)
        assert calls(Stepper()) == 2 * rate
        assert gets(2.0) == 2 * rate


class Level:
    __match_args__ = ("rate",)

    @property
    def rate(self):
        return RATE


@jax.tree_util.register_pytree_node_class
class Scaled:
    def __init__(self, x):
        self.x = x

    def tree_flatten(self):
        return (self.x * RATE,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


def test_what_is_read_by_names_that_stand_elsewhere(monkeypatch):
    def run(x):
        match Level():
            case Level(rate):
                first = rate * x
        (second,) = jax.tree.leaves(Scaled(x))
        return first, second, x * operator.attrgetter("own.rate")(RATES)

    f = jfi.autojit(run)
    for rate in (1.0, 1.0, 2.0, 3.0):
        monkeypatch.setitem(globals(), "RATE", rate)
        monkeypatch.setattr(RATES.own, "rate", rate)
        assert list(map(float, f(1.0))) == [rate] * 3


def test_a_method_of_a_text_is_a_setting():
    f = jfi.autojit(lambda show, x: (show(2), x))
    for text in ("a{}", "b{}", "a" + "{}"):
        assert f(text.format, 1.0)[0] == text.format(2)
    assert f.cache_info().traces == 2


def test_what_a_module_answers_by_its_getattr(monkeypatch):
    module = types.ModuleType("jfi_case_lazy")
    exec("k = 1\ndef __getattr__(name): return k", vars(module))
    monkeypatch.setitem(sys.modules, "jfi_case_lazy", module)
    f = jfi.autojit(lambda x: x * module.anything)
    for k in (1, 2, 3):
        module.k = k
        assert f(2.0) == 2 * k


def test_what_members_of_enums_read(script):
    source = """
import enum
import importlib
GAIN = 1.0
def scaled(x): return GAIN * x
class Act(enum.Enum):
    PLAIN = "plain"
    DOUBLE = "double"
    def __call__(self, x): return GAIN * x if self is type(self).PLAIN else 2 * GAIN * x
    @property
    def gain(self): return GAIN
class Rule(enum.Enum):
    SCALED = (scaled, [1.0])
class Planet(enum.Enum):
    EARTH = 2.0
    def __init__(self, mass): self.mass = mass
    def weight(self, x): return self.mass * x
class Model:
    act = Act.PLAIN
    def __init__(self): self.own = Act.DOUBLE
    {tool}
    def run(self, x): return self.act(x) + 10 * self.own(x)
{tool}
def acting(x, act, acts): return act(x) + 10 * acts["a"][0](x) + 100 * act.gain * x
{tool}
def ruled(x, rule): return rule.value[0](x) * rule.value[1][0]
{tool}
def weighed(x, planet): return planet.weight(x)
def call():
    acts = {{"a": [Act.DOUBLE]}}
    yield acting(1.0, Act.PLAIN, acts)
    yield ruled(1.0, Rule.SCALED)
    yield weighed(1.0, Planet.EARTH)
    yield Model().run(1.0)
"""
    changes = (
        "pass",
        "pass",
        "GAIN = 3.0",
        "Rule.SCALED.value[1][0] = 5.0",
        "Planet.EARTH.mass = 7.0",
        "Act.__call__ = lambda self, x: GAIN * x + 0.5",
    )
    found = []
    for tool in ("", "@jfi.autojit"):
        names = script(source.format(tool=tool))
        for change in changes:
            exec(change, names)
            found.append(list(map(float, names["call"]())))
    assert found[: len(changes)] == found[len(changes) :]

    def write(x):
        names["Planet"].EARTH.mass = x

    with pytest.warns(jfi.UncompiledWarning, match=r"writes data into .*EARTH"):
        jfi.autojit(write)(1.0)
    assert names["Planet"].EARTH.mass == 1.0


def test_what_functions_read_under_decorators_of_libraries(script):
    names = script("""
import contextlib
import jax
GAIN, FLAGS = 1.0, {"on": True}
@contextlib.contextmanager
def gained(): yield GAIN
@contextlib.contextmanager
def switched_off():
    FLAGS["on"] = False
    try: yield
    finally: FLAGS["on"] = True
@jax.vmap
def by_jax(x): return GAIN * x
@jax.grad
def slope(x): return GAIN * x
@jax.custom_jvp
def ruled(x): return GAIN * x
ruled.defjvp(lambda x, dx: (ruled(*x), 2 * GAIN * dx[0]))
@jfi.vmap
def by_jfi(x): return GAIN * x
def switch(x): return x if FLAGS["on"] else 100 * x
class Model:
    @contextlib.contextmanager
    def gained(self): yield GAIN
model = Model()
@jfi.autojit
def run(x):
    with gained() as gain, model.gained() as same, switched_off():
        off = switch(x)
    rows = jfi.stack([x, x])
    slopes = slope(x), jax.grad(ruled)(x)
    return gain, same, off, switch(x), by_jax(rows), by_jfi(rows), ruled(x), *slopes
""")
    for gain in (1.0, 1.0, 2.0, 3.0):
        names["GAIN"] = gain
        found = [np.asarray(y).tolist() for y in names["run"](1.0)]
        g = gain
        assert found == [g, g, 100, 1, [g, g], [g, g], g, g, 2 * g]
        assert names["FLAGS"] == {"on": True}


def test_attributes_that_the_body_gives_to_functions_are_written_at_each_call(script):
    source = """
def plain(x):
    plain.calls = getattr(plain, "calls", 0) + 1
    plain.total = getattr(plain, "total", 0.0) + x
    return plain.calls * plain.total
@WRAPPED
def decorated(x):
    if not hasattr(decorated, "seen"): decorated.seen = []
    decorated.seen.append(x)
    last(x)
    return x * len(decorated.seen)
def last(x): last.x = x
def both(x): return plain(x) + decorated(x)
run = WRAPPED(both)
found = [run(x) for x in (1.0, 2.0, 3.0)] + [decorated(4.0), plain.calls, plain.total]
found += [last.x, *decorated.seen]
"""
    expected = script(source.replace("WRAPPED", "(lambda fn: fn)"))["found"]
    for tool in ("jfi.autojit", "jfi.persistent"):
        found = script(source.replace("WRAPPED", tool))["found"]
        assert list(map(float, found)) == list(map(float, expected)), tool


@pytest.mark.filterwarnings("ignore::jfi.UncompiledWarning")
def test_attributes_that_the_body_gives_to_methods_are_those_of_each_call(script):
    names = script("""
class Model:
    def plain(self): pass
    @jfi.autojit
    def fast(self): return 1.0
    def count(self):
        Model.plain.calls = getattr(Model.plain, "calls", 0) + 1
        return Model.plain.calls
@jfi.autojit
def store(x): Model.fast.x = x
@jfi.autojit
def keep(x): Model.plain.x = x
@jfi.autojit
def count(): return Model().count()
""")
    x, model = jax.numpy.ones(2), names["Model"]
    for name in ("store", "keep"):
        names[name](x)
    assert model.plain.x is x
    assert model.fast.x is x
    assert model().fast() == 1
    assert [names["count"]() for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("tool", [jfi.autojit, jfi.persistent])
def test_modules_of_packages(tool, tmp_path, monkeypatch):
    """Imported inside by a relative name, and in a folder without `__init__.py`."""
    package, folder = tmp_path / "beside_package", tmp_path / "beside_folder"
    package.mkdir(), folder.mkdir()
    (package / "__init__.py").touch()
    for path in package, folder:
        (path / "deep.py").write_text("K = 2\ndef g(x): return x * K")
    (package / "uses.py").write_text(
        "import beside_folder.deep\n"
        "def name(x):\n    from .deep import g\n    return g(x)\n"
        "def module(x):\n    from . import deep\n    return deep.K * x\n"
        "def folder(x): return beside_folder.deep.g(x)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    uses = importlib.import_module("beside_package.uses")
    modules = [importlib.import_module(f"{p.name}.deep") for p in (package, folder)]
    try:
        calls = [tool(fn) for fn in (uses.name, uses.module, uses.folder)]
        for k in 2, 3:
            for module in modules:
                module.K = k
            assert [float(call(5.0)) for call in calls] == [5 * k] * 3
    finally:
        for name in [n for n in sys.modules if n.startswith("beside_")]:
            del sys.modules[name]


def test_an_error_of_uncompiled_code_is_its_own(monkeypatch):
    monkeypatch.setenv("SCRIPT_N", "many")

    @jfi.autojit
    def f(x):
        return x * int(os.environ["SCRIPT_N"])

    with (
        pytest.warns(jfi.UncompiledWarning),
        pytest.raises(ValueError, match="many") as found,
    ):
        f(1.0)
    assert found.value.__context__ is None
