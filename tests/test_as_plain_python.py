"""Scripts that leave with jfi's tools just what they leave in plain Python.

Each is run twice, by `autojit` and by a stand-in that returns the function: what they
print is the same. They were all different once.
"""

import contextlib
import io
import sys
import types
import warnings

import jax
import pytest

import jfi


HEAD = """
import dataclasses, random, types
import numpy as np
X = jnp.ones(2)

def kind(value):
    return "tracer" if "Tracer" in type(value).__name__ else type(value).__name__
"""
SCRIPTS = {
    "settings in globals": """
numbers, table, mode = [1, 2], {"k": 0}, None
@jnp.autojit
def f(x, m):
    global mode
    numbers[1] = "long"; table["k"] = 5; mode = m
    return x
f(X, "a"); numbers[1] = 7; table["k"] = 9; f(X, "a"); f(X, "b"); f(X, "a")
print(numbers, table, mode)
""",
    "a global that holds a setting or data": """
last = None
@jnp.autojit
def f(x, keep):
    global last
    last = x * 2 if keep else None
    return x
seen = []
for keep in (False, True, False, True):
    f(X, keep); seen.append(kind(last))
print(seen)
""",
    "a list and a dict of settings and data": """
table, log = {}, []
@jnp.autojit
def f(x, keep):
    table["mode"] = "s"; log.clear(); log.append("step")
    if keep:
        table["out"] = x * 2; log.append(x.sum())
    return x
f(X, False); f(X, True); print(kind(table["out"]), kind(log[1]))
""",
    "an object in a list of which another item is written": """
@dataclasses.dataclass
class W:
    w: object
one, two = [W(X), 2], [W(X), 0]
@jnp.autojit
def f(x):
    one[1] = "long"; one[0].w = x; two[0].w = x; two[1] = two[1] + 1
    return x
f(X); one[1] = 2.5; f(X); f(X)
print(kind(one[0].w), one[1], kind(two[0].w), two[1])
""",
    "dicts keyed by objects and functions": """
class Layer: pass
layer, calls = Layer(), {}
def h(): pass
@jnp.autojit
def f(state, x):
    state[layer] = state[layer] + x; calls[h] = calls.get(h, 0) + 1
    return x * calls[h]
state = {layer: X}
found = [float(f(state, X)[0]) for _ in range(3)]
print(found, len(state), float(state[layer][0]), len(calls), calls.get(h))
""",
    "dicts and sets keyed by objects in tuples": """
class Layer: pass
layer = Layer()
@jnp.autojit
def f(state, met, x):
    met.add(layer)
    state[layer, 1] = state.get((layer, 1), 0.0) + x
    return x
state, met = {}, {layer}
for _ in range(3): f(state, met, X)
print(len(state), len(met), layer in met, float(state[layer, 1][0]))
""",
    "a new key that holds data": """
class Key:
    def __init__(self, value): self.value = value
@jnp.autojit
def f(d, x):
    d[Key(x)] = x
    return x
d = {}
f(d, X); f(d, X); print([kind(k.value) for k in d])
""",
    "the id of an object": """
class P: w = 1.0
class M:
    def __init__(self): self.seen = set()
    @jnp.autojit
    def f(self, o, x):
        new = id(o) not in self.seen; self.seen.add(id(o))
        return x if new else -x
m, a, b = M(), P(), P()
a.w = b.w = 1
print([float(m.f(o, X)[0]) for o in (a, a, b, a)])
""",
    "an exception with data": """
class Diverged(Exception): pass
@jnp.autojit
def step(x): raise Diverged("bad", x * 2)
for _ in range(2):
    try: step(X)
    except Diverged as error: print(kind(error.args[1]))
""",
    "an exception that is returned": """
@jnp.autojit
def step(x): return ValueError(x * 2)
print(kind(step(X).args[0]), kind(step(X).args[0]))
""",
    "a class made in the body": """
@jnp.autojit
def make(x):
    class C: w = x * 2
    return C()
print(kind(make(X).w), kind(make(X).w))
""",
    "a cycle through a global": """
tree = {"name": "root", "children": []}
@jnp.autojit
def add(x):
    tree["children"].append({"name": "leaf", "parent": tree})
    return x
add(X); add(X); print(len(tree["children"]), tree["children"][1]["parent"] is tree)
""",
    "a method that writes a global object": """
class Layer: pass
layer = Layer()
class C:
    def m(self, x):
        layer.w = x
        return x
c = C()
f = jnp.autojit(lambda x: c.m(x) + 1)
for k in (1.0, 2.0, 3.0): print(float(f(X * k)[0]), kind(layer.w), float(layer.w[0]))
""",
    "a module in a namespace": """
import random
tools = types.SimpleNamespace(m=random)
f = jnp.autojit(lambda x: x * tools.m.random())
random.seed(0); print([float(f(X)[0]) for _ in range(4)])
""",
    "a pattern of a class": """
class Pair:
    __match_args__ = ("a", "b")
    def __init__(self, a, b): self.a, self.b = a, b
@jnp.autojit
def f(c, x):
    match c:
        case Pair(a, [b, *rest]): return x * a * len(rest)
        case _: return x * 0
print(float(f(Pair(1.0, [1.0, 2.0, 3.0]), X)[0]))
""",
    "methods of one object": """
class A:
    def __init__(self): self.act = self.lin
    def lin(self, x): return x
    def other(self, x): return -x
a = A()
f = jnp.autojit(lambda x: a.act(x) if a.act == a.lin else 2 * a.act(x))
print(float(f(X)[0])); a.act = a.other; print(float(f(X)[0]), float(f(X)[0]))
""",
    "a name of a module that comes later": """
module = types.ModuleType("module_of_a_test")
f = jnp.autojit(lambda x: x * getattr(module, "Q", 1.0))
for _ in range(5): f(X)
module.Q = 3.0; print(float(f(X)[0])); del module.Q; print(float(f(X)[0]))
""",
    "counts of all kinds": """
n, seen, table = 0, [], {"k": 0}
class M:
    total = 0
    def __init__(self): self.calls, self.losses, self.w = 0, [], X
    @jnp.autojit
    def step(self, x):
        global n
        self.calls += 1; self.losses.append(x.sum()); self.w = self.w + x
        M.total += 2; n = 3 - n; table["k"] -= 1; seen.append("a"); seen.extend([1, 2])
        return x * 2
m = M()
for k in range(5): m.step(X * k)
print(m.calls, [float(x) for x in m.losses], m.w.tolist(), M.total, n, table, seen)
n, M.total, m.calls = 10, 20, True
m.step(X); print(m.calls, M.total, n)
""",
    "counts that are read": """
class M:
    def __init__(self): self.calls, self.losses = 0, []
    @jnp.autojit
    def step(self, x):
        self.calls += 1; self.losses.append(x.sum())
        return x * self.calls * len(self.losses)
m = M(); print([float(m.step(X)[0]) for _ in range(4)], m.calls, len(m.losses))
""",
    "counts that are returned": """
class M:
    def __init__(self): self.calls = 0
    @jnp.autojit
    def step(self, x):
        self.calls = 2 * self.calls + 1
        return x, self.calls, {"calls": self.calls - 1}
m = M()
for _ in range(4): print(m.step(X)[1:], m.calls)
""",
    "an error after changes": """
class M:
    def __init__(self): self.calls, self.log = 0, []
    @jnp.autojit
    def step(self, x, fails):
        self.calls += 1; self.log.append(x.sum())
        if fails: raise KeyError(self.calls)
        return x
m = M()
for fails in (False, True, True, False):
    try: m.step(X, fails)
    except KeyError as error: print(error.args)
print(m.calls, [kind(x) for x in m.log])
""",
    "a list that grows, as a tree of JAX": """
import jax
layers = []
@jnp.autojit
def f(x):
    layers.append(x)
    return len(jax.tree.leaves(layers))
print([f(X) for _ in range(3)])
""",
    "a list that grows, in a match": """
class M: log = None
m = M(); m.log = []
@jnp.autojit
def f(m, x):
    m.log.append(1)
    match m.log:
        case [a]: return x * 1
        case [a, *b]: return x * 2
        case _: return x * 9
print([float(f(m, X)[0]) for _ in range(3)])
""",
    "a list that grows, refused by C and caught": """
import heapq, json
class M: pass
m = M(); m.queue, m.n = [], 5
@jnp.autojit
def f(m, x):
    m.queue.append(5); m.n += 1
    try: heapq.heapify(m.queue)
    except TypeError: return x * 0
    return x * len(json.dumps({"n": m.n, "q": m.queue}, default=lambda o: "?"))
print([float(f(m, X)[0]) for _ in range(3)], m.queue, m.n)
""",
    "a count, asked for its class in other words": """
from collections.abc import Iterable
T = type
class M: pass
m = M(); m.n = m.k = 7
@jnp.autojit
def f(m, x):
    one = m.n is m.k; m.n += 1; m.k += 1
    return one, T(m.n) is int, isinstance(m.n, Iterable), (1).__add__(m.n)
print([f(m, X) for _ in range(3)])
""",
    "a loop in a body, which counts and keeps data": """
table, log = {"n": 0}, []
def body(c, y):
    table["n"] += 1; log.append(c)
    return c + y, y
@jnp.autojit
def f(x): return jnp.scan(body, jnp.zeros(()), x)[0]
print(float(f(jnp.ones(3))), float(f(jnp.ones(3))), table, [kind(v) for v in log])
""",
    "branches that count": """
table = {"yes": 0, "no": 0}
def yes(x): table["yes"] += 1; return x
def no(x): table["no"] += 1; return -x
@jnp.autojit
def f(x, k): return jnp.cond(k > 1, yes, no, x)
print([float(f(X, k)[0]) for k in range(4)], table)
print([float(jnp.cond(k > 1, yes, no, X)[0]) for k in range(4)], table)
""",
    "a body of a scan that counts": """
class N: n = 0
s, k = N(), 0.0
def body(c, u):
    global k
    s.n += 1; k += 0.5
    return c + s.n, u
print(float(jnp.scan(body, jnp.zeros(()), jnp.ones(3))[0]), s.n, k)
""",
    "a body of a scan that keeps data": """
log, s = [], types.SimpleNamespace(w=None)
def body(c, u):
    s.w = c; log.append(u)
    return c + u, u
jnp.scan(body, jnp.zeros(()), jnp.ones(3)); print(kind(s.w), [kind(v) for v in log])
""",
    "a branch that keeps data": """
s = types.SimpleNamespace(w=None)
def keep(x):
    s.w = x
    return x * 2
print(float(jnp.cond(True, keep, lambda x: x, X)[0]), kind(s.w))
""",
}


def scan(body, carry, xs):
    outs = []
    for x in xs:
        carry, out = body(carry, x)
        outs.append(out)
    return carry, jax.numpy.stack(outs)


PLAIN = types.SimpleNamespace(
    autojit=lambda fn: fn,
    scan=scan,
    cond=lambda choice, one, two, *args: one(*args) if choice else two(*args),
    ones=jfi.ones,
    zeros=jfi.zeros,
)


def printed(script, tools):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what runs uncompiled, or compiles often
        exec(HEAD + script, {"__name__": "a_script", "jnp": tools})
    return out.getvalue()


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_script_prints_what_plain_python_prints(script):
    assert printed(script, jfi) == printed(script, PLAIN)


def test_a_batch_whose_function_keeps_data_is_refused():
    log = []
    with pytest.raises(jfi.BatchError, match=r"writes log: .* once for all rows"):
        jfi.vmap_automatically(lambda r: (log.append(r), r.sum())[1], jfi.ones((3, 2)))
    assert log == []


def test_counting_and_appending_compile_once():
    names = {"__name__": "a_script", "jnp": jfi}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(HEAD + SCRIPTS["counts of all kinds"], names)
    # The bool in place of the int is one more.
    assert names["M"].step.cache_info().traces == 2


def test_what_classes_hold_counts_and_grows():
    class Model:
        log, calls = [], 0

        @jfi.autojit
        def step(self, x):
            Model.log.append(x)
            Model.log.append("one more")
            Model.calls += 1
            return x

    for k in range(5):
        Model().step(float(k))
    assert Model.log == [v for k in range(5) for v in (k, "one more")]
    assert (Model.calls, Model.step.cache_info().traces) == (5, 1)


def test_counting_goes_on_where_a_number_is_needed():
    class Model:
        def __init__(self):
            self.calls = 0

        @jfi.autojit
        def step(self, x, dt, calls):
            self.calls += calls
            for _ in range(int(1 / dt)):
                x = x + 1
            return x

    model = Model()
    assert [model.step(0.0, 0.5, 2) for _ in range(5)] == [2] * 5
    assert (model.calls, Model.step.cache_info().traces) == (10, 1)


def test_an_error_does_not_end_counting():
    class Model:
        def __init__(self):
            self.calls = 0

        @jfi.autojit
        def step(self, x, fails):
            self.calls += 1
            if fails:
                raise KeyError
            return x

    model = Model()
    for fails in (False, True, False, True, False, False):
        with contextlib.suppress(KeyError):
            model.step(1.0, fails)
    assert model.calls == 6
    assert Model.step.cache_info().traces == 1


def test_a_generated_comparison_costs_no_fast_path():
    names = {"__name__": "a_script", "jnp": jfi}
    source = """
@dataclasses.dataclass
class Config:
    dt: float = 0.1
config = Config()
f = jnp.autojit(lambda x: x * config.dt)
g = jnp.autojit(lambda x: x * 2 if isinstance(x, np.ndarray) else x)
"""
    exec(HEAD + source, names)
    x = names["np"].ones(2)  # float64, where JAX has float32
    for f in (names["f"], names["g"]):
        for _ in range(3):
            f(x)
        assert frames_of_jfi(lambda f=f: f(x)) < 30  # to open a call takes hundreds


def frames_of_jfi(call):
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event == "call" and "jfi" in frame.f_code.co_filename

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count
