"""Functions that were pickled by value, as a cluster sends them: each task has a copy.

Copies share what was compiled, and nothing else.
"""

import gc
import pickle
import sys
import threading
import time
import types
import weakref

import cloudpickle
import numpy as np
import pytest

import jfi as jnp


X = jnp.arange(3.0)


def script(text):
    """The variables of a script, which no process can import."""
    variables = {"__name__": "script", "jnp": jnp}
    exec(text, variables)
    return variables


def copy_of(x):
    return pickle.loads(cloudpickle.dumps(x))


class Traces:
    """How often the function of a script was traced in this process, by its copies.

    Other tests may have compiled a function with the same code.
    """

    def __init__(self, fn):
        self.fn, self.before = fn, copy_of(fn).cache_info().traces

    def count(self):
        return copy_of(self.fn).cache_info().traces - self.before


SCRIPTS = {
    "helpers and globals": """
k, table, w = 3, {"a": 1.0}, jnp.ones(3)
def helper(x, by=2): return x * by * k
@jnp.autojit
def f(x): return helper(x) @ w + table["a"]
""",
    "captured arrays and defaults": """
def make(w, n=2):
    @jnp.autojit
    def f(x, power=n): return (w * x) ** power
    return f
f = make(jnp.ones(3))
""",
    "settings and floats": """
@jnp.autojit
def f(x, mode="fast", dt=0.25):
    return sum(x * k for k in range(int(1 / dt))) if mode == "fast" else x
""",
    "an array of which the value must be known": """
import numpy
n, m = jnp.asarray(3), numpy.asarray(2)
@jnp.autojit
def f(x): return sum(x * k for k in range(int(n) + int(m)))
""",
    "autojit inside autojit": """
@jnp.autojit
def inner(x): return x * 2
@jnp.autojit
def f(x): return inner(x) + inner(x + 1)
""",
    "a recursive function": """
def fac(n): return 1 if n < 2 else n * fac(n - 1)
@jnp.autojit
def f(x): return x * fac(4)
""",
    "derivatives and loops": """
def loss(w, x): return ((w * x) ** 2).sum()
@jnp.autojit
def f(x):
    start = jnp.grad(loss)(x, x)
    return jnp.scan(lambda c, t: (c + t, c), start, jnp.ones((4, 3)))[0]
""",
    "an object of a class": """
import dataclasses, enum
class Mode(enum.Enum):
    SUM, MEAN = 1, 2
@dataclasses.dataclass
class Part:
    gain: float = 2.0
    n: int = 3
    def scaled(self, x, by=2): return x * self.gain * self.n * by * k
class Base:
    shift = 1.5
    def after(self, x): return x + self.shift
class Model(Base):
    def __init__(self): self.part, self.w, self.mode = Part(), jnp.ones(3), Mode.MEAN
    def after(self, x): return super().after(x) * 2
    @property
    def two(self): return 2
k = 5
model = Model()
@jnp.autojit
def f(x):
    y = model.after(model.part.scaled(x * model.w)) * model.two
    return y.sum() if model.mode is Mode.SUM else y.mean()
""",
    "a function that counts its calls in a global variable": """
calls = 0
@jnp.autojit
def f(x):
    global calls
    calls += 1
    return x * 2
""",
    "a function that counts its calls in a list": """
calls = [0]
@jnp.autojit
def f(x):
    calls[0] += 1
    return x * 2
""",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_copies_compile_once_and_compute_what_the_function_does(name):
    f = script(SCRIPTS[name])["f"]
    expected = f.__wrapped__(X)
    traces = Traces(f)
    for _ in range(4):
        np.testing.assert_allclose(copy_of(f)(X), expected)
    assert traces.count() == 1


def test_a_method_of_an_object_compiles_once():
    names = script("""
def helper(x): return x + 1
class Model:
    def __init__(self, w): self.w, self.n = w, 2
    @jnp.autojit
    def step(self, x):
        self.w = self.w * 2
        return helper(x) * self.w.sum() * self.n
""")
    first = copy_of(names["Model"](jnp.ones(3)))
    traces = type(first).step.cache_info().traces
    for k in (1.0, 2.0, 3.0):
        model = copy_of(names["Model"](jnp.full(3, k)))
        assert model.step(1.0) == 2 * 6 * k * 2
        assert model.w.tolist() == [2 * k] * 3
        assert type(model).step.cache_info().traces - traces == 1


# ------------------------------------------------------------- what changes is seen


CHANGES = {
    "a helper": ("def helper(x): return x + 2", "helper(x)"),
    "a number": ("k = 4", "x * k"),
    "an array": ("w = jnp.full(3, 7.0)", "x * w"),
    "NumPy's array": ("import numpy; t = numpy.full(3, 7.0)", "x * t"),
    "an item": ("table['a'] = 5", "x * table['a']"),
    "a method": ("M.scale = lambda self, x: x * 9", "M().scale(x)"),
    "an attribute of a class": ("M.n = 9", "M().scale(x)"),
    "an attribute of an object": ("m.n = 7", "m.scale(x)"),
    "the default of a helper": ("helper.__defaults__ = (8,)", "helper(x)"),
}
START = """
import numpy
k, w, t, table = 3, jnp.ones(3), numpy.ones(3), {"a": 1}
def helper(x, by=2): return x * by
class M:
    n = 2
    def scale(self, x): return x * self.n
m = M()
"""


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_between_two_tasks_is_seen(change):
    line, body = CHANGES[change]
    names = script(f"{START}\n@jnp.autojit\ndef f(x): return {body}")
    f = names["f"]
    before = np.asarray(f.__wrapped__(X))
    np.testing.assert_array_equal(copy_of(f)(X), before)
    exec(line, names)
    after = np.asarray(f.__wrapped__(X))
    assert before.tolist() != after.tolist()
    np.testing.assert_array_equal(copy_of(f)(X), after)
    np.testing.assert_array_equal(copy_of(f)(jnp.ones(3)), f.__wrapped__(jnp.ones(3)))


def test_a_captured_value_that_changed_is_seen():
    make = script("""
def make(w, n):
    def helper(x): return x * n
    @jnp.autojit
    def f(x): return helper(x) @ w
    return f
""")["make"]
    traces = Traces(make(X, 1))
    for n, w in [(1, 1.0), (2, 1.0), (2, 3.0), (1, 2.0)]:
        assert copy_of(make(jnp.full(3, w), n))(X) == 3 * w * n
    assert traces.count() == 2  # for 1 and for 2: the arrays are data


def test_what_a_task_changes_in_its_copy_is_seen_in_that_copy_alone():
    names = script("""
k = 3
def task(x, new):
    global k
    if new is not None: k = new
    return [f(x) for _ in range(4)]
@jnp.autojit
def f(x): return x * k
""")
    one, other = copy_of(names["task"]), copy_of(names["task"])
    assert [y.tolist() for y in one(X, None)] == [[0, 3, 6]] * 4  # recognised, too
    assert [y.tolist() for y in one(X, 5)] == [[0, 5, 10]] * 4
    assert [y.tolist() for y in other(X, None)] == [[0, 3, 6]] * 4
    assert [y.tolist() for y in one(X, None)] == [[0, 5, 10]] * 4


def test_a_program_is_not_traced_again_with_what_another_task_wrote():
    names = script("""
act = jnp.tanh
def task(x, new):
    global act
    y = f(x)
    act = new
    return y
@jnp.autojit
def f(x): return act(x)
""")
    copy_of(names["task"])(X, jnp.exp)
    x = jnp.arange(5.0)  # another shape: the same program, traced again
    np.testing.assert_allclose(copy_of(names["task"])(x, jnp.exp), np.tanh(x), 1e-6)


def test_captured_state_is_that_of_each_copy():
    make = script("""
def make():
    n = 0
    total = jnp.zeros(())
    @jnp.autojit
    def f(x):
        nonlocal n, total
        n, total = n + 1, total + x
        return n, total
    return f
""")["make"]
    one, other = copy_of(make()), copy_of(make())
    assert [one(2.0)[0], one(2.0)[0], other(5.0)[0]] == [1, 2, 1]
    assert float(one(2.0)[1]) == 6
    assert float(other(5.0)[1]) == 10


def test_a_captured_generator_draws_what_that_of_the_copy_draws():
    f = script("""
g = jnp.Generator(3)
@jnp.autojit
def f(x): return x + g.randn(3)
""")["f"]
    plain, one, other = copy_of(f.__wrapped__), copy_of(f), copy_of(f)
    expected = [plain(X).tolist() for _ in range(2)]
    assert [one(X).tolist() for _ in range(2)] == expected
    assert [other(X).tolist() for _ in range(2)] == expected


def test_draws_of_copies_are_those_of_the_stream():
    f = script("@jnp.autojit\ndef f(x): return x + jnp.randn(3)")["f"]
    jnp.manual_seed(5)
    expected = [f.__wrapped__(X).tolist() for _ in range(3)]
    jnp.manual_seed(5)
    assert [copy_of(f)(X).tolist() for _ in range(3)] == expected


def test_options_count():
    names = script("""
def f(x, n): return x * n
static, traced = jnp.autojit(f), jnp.autojit(f, traced="n")
""")
    traces = Traces(names["static"]), Traces(names["traced"])
    for n in (2, 3, 4):
        assert copy_of(names["static"])(X, n).tolist() == (X * n).tolist()
        assert copy_of(names["traced"])(X, n).tolist() == (X * n).tolist()
    assert [t.count() for t in traces] == [3, 1]


# ----------------------------------------------------------------- one compilation


def test_threads_compile_once():
    f = script("""
@jnp.autojit
def f(x):
    for _ in range(300): x = jnp.sin(x) * 2
    return x
""")["f"]
    traces, sent, found = Traces(f), cloudpickle.dumps(f), []
    start = threading.Barrier(4)

    def run():
        fn = pickle.loads(sent)
        start.wait()
        found.append(fn(X).tolist())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [f(X).tolist()] * 4
    assert traces.count() == 1


def test_a_class_that_arrives_while_a_method_is_traced_is_no_change_of_it():
    names = script("""
import enum
class Mode(enum.Enum):
    A = 1
class Base:
    limits = [1, 2]
    def shifted(self, x): return x + self.limits[1]
class Model(Base):
    n = 2
    def __init__(self): self.w, self.mode = jnp.ones(3), Mode.A
    def shifted(self, x, by=1): return super().shifted(x) * self.n + by
    @jnp.autojit(warn_after=100)
    def step(self, x, k):
        for _ in range(20): x = jnp.sin(x)
        return self.shifted(x * self.w) * k if self.mode is Mode.A else x
""")
    sent, done = cloudpickle.dumps(names["Model"]()), threading.Event()

    def receive():
        while not done.wait(0.02):  # one or two while each is traced
            pickle.loads(sent)

    receiver = threading.Thread(target=receive)
    receiver.start()
    try:
        for k in range(40):  # traced for each
            model = pickle.loads(sent)
            np.testing.assert_allclose(model.step(X * 0, k), [5 * k] * 3)
    finally:
        done.set()
        receiver.join()


@pytest.mark.filterwarnings("ignore:step.. uses a class that other threads")
def test_a_class_that_arrives_changed_while_a_method_is_traced_stays_changed():
    names = script("""
class Model:
    n = 0
    @jnp.autojit(warn_after=100)
    def step(self, x, k):
        for _ in range(20): x = jnp.sin(x)
        return x * k + self.n
model = Model()
""")
    model = names["model"]
    sent = []
    for n in range(2):
        names["Model"].n = n
        sent.append(cloudpickle.dumps(model))
    done, wrong = threading.Event(), []

    def receive():
        while not done.wait(0.01):
            arrived = [type(pickle.loads(sent[n])).n for n in range(2)]
            if arrived != [0, 1]:
                wrong.append(arrived)

    receiver = threading.Thread(target=receive)
    receiver.start()
    try:
        mine = pickle.loads(sent[0])
        for k in range(40):
            assert set(mine.step(X * 0, k).tolist()) <= {0, 1}
    finally:
        done.set()
        receiver.join()
    assert not wrong
    for n in range(2):
        assert pickle.loads(sent[n]).step(X * 0, 1).tolist() == [n] * 3


@pytest.fixture
def gates(monkeypatch):
    """A module of a library: nobody looks into it."""
    module = types.ModuleType("jax.gates")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_what_came_and_went_while_a_method_was_traced_is_in_no_program(gates):
    came, went = threading.Event(), threading.Event()
    vars(gates).update(came=came, went=went)
    exec("def enter(): came.wait()\ndef leave(): went.wait()", vars(gates))
    names = script("""
import sys
gates = sys.modules["jax.gates"]
class Model:
    n = 0
    @jnp.autojit
    def step(self, x):
        gates.enter()
        y = x + self.n
        gates.leave()
        return y
model = Model()
""")
    sent = []
    for n in range(2):
        names["Model"].n = n
        sent.append(cloudpickle.dumps(names["model"]))
    mine = pickle.loads(sent[0])
    tracing = threading.Thread(target=mine.step, args=(X,))
    tracing.start()
    time.sleep(0.2)  # it waits in its body
    pickle.loads(sent[1])
    came.set()
    time.sleep(0.2)
    pickle.loads(sent[0])
    went.set()
    tracing.join()
    for n in (0, 1, 0):
        assert pickle.loads(sent[n]).step(X).tolist() == (X + n).tolist()


def test_a_method_whose_class_never_stays_runs_uncompiled_and_says_so(gates):
    names = script("""
import sys
gates = sys.modules["jax.gates"]
class Model:
    n = 0
    @jnp.autojit
    def step(self, x):
        y = x + self.n
        gates.change()
        return y
""")
    sent = []
    for n in range(20):
        names["Model"].n = n
        sent.append(cloudpickle.dumps(names["Model"]()))
    vars(gates).update(pickle=pickle, sent=sent)
    exec("def change(): pickle.loads(sent.pop())", vars(gates))
    mine = pickle.loads(sent[0])
    with pytest.warns(jnp.UncompiledWarning, match="So it runs uncompiled. Use a lock"):
        mine.step(X)


def test_what_is_kept_keeps_no_copy_alive():
    names = script("""
def make(big):
    @jnp.autojit
    def f(x): return helper(x) + big + other
    return f
def helper(x): return x * other
other = jnp.ones(3)
f = make(jnp.ones(3))
""")
    f = copy_of(names["f"])
    for _ in range(5):
        f(X)
    captured = f.__wrapped__.__closure__[0].cell_contents
    alive = [weakref.ref(captured), weakref.ref(f.__wrapped__.__globals__["other"])]
    del f, captured
    gc.collect()
    assert [ref() for ref in alive] == [None, None]


def test_defaults_are_those_of_each_copy():
    make = script("""
def make(w):
    @jnp.autojit
    def f(x, w=w): return x * w
    return f
""")["make"]
    assert copy_of(make(jnp.ones(3)))(X).tolist() == [0, 1, 2]
    f = copy_of(make(jnp.full(3, 2.0)))
    assert f(X).tolist() == [0, 2, 4]
    assert f.lower(X).compile()(X).tolist() == [0, 2, 4]
