"""Every kind of call of a persistent function: a script for `test_persistent.py`.

It prints, for each case, what three calls of the function give under `persistent` and
under `autojit`, with what they write to their arguments, and how often it was traced.
"""

import collections
import dataclasses
import datetime as dt
import enum
import functools
import json
import os
import re
import warnings

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import jfi


warnings.simplefilter("ignore", jfi.JfiWarning)
found = {}
COMPARED = "JFI_COMPARED" not in os.environ  # with autojit, which compiles everything
shared = jfi.Generator(3)


def shown(x):
    """All that can be seen of a value, as a text."""
    if isinstance(x, jax.Array):
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            return f"{x.dtype}{jax.random.key_data(x).tolist()}"
        values = np.asarray(x, np.complex128).round(4).tolist()
        return f"{jax.typeof(x)}{x.weak_type}{x.committed}{values}"
    if isinstance(x, np.ndarray):
        return f"np{x.dtype}{x.tolist()}"
    if isinstance(x, jfi.Generator):
        return repr(x.get_rng_state())
    if isinstance(x, (set, frozenset)):
        return f"{type(x).__name__}{sorted(x)}"
    if isinstance(x, dict):
        items = [f"{k!r}: {shown(v)}" for k, v in x.items()]
        return f"{type(x).__name__}{items}"
    if isinstance(x, (list, tuple, collections.deque)):
        return f"{type(x).__name__}{[*map(shown, x)]}"
    if isinstance(x, type(jnp.tanh)):  # holds what this process alone has
        return f"{x.__module__}.{x.__name__}"
    if isinstance(x, (type, enum.Enum)) or callable(x):
        known = [k for k, v in globals().items() if v is x]
        return f"{known or type(x).__name__}" + shown(vars(x)) * (not known)
    if hasattr(x, "__dict__"):
        return f"{type(x).__name__} {shown(vars(x))}"
    return repr(x)


def case(name, fn, *args, make=None, **kwargs):
    """Note what calls give; `make` makes the arguments of each."""

    def call(run):
        given = make() if make else args
        try:
            out = shown(run(*given, **kwargs))
        except Exception as error:
            out = f"{type(error).__name__}: {error}".partition("\n")[0]
        return out, shown(given) if make else ""

    fns = [jfi.persistent(fn)] + [jfi.autojit(fn)] * COMPARED
    outs = []
    for one in fns:
        jfi.manual_seed(7)
        shared.manual_seed(3)
        outs.append([call(one) for _ in range(3)])
    found[name] = outs[0], outs[-1], fns[0].cache_info().traces


x = jnp.arange(3.0)


def energy(x):
    return jnp.sum(jnp.sin(x) ** 2)


case("grad", lambda x: jfi.grad(energy)(x), x)
case("vag", lambda x: jfi.value_and_grad(energy)(x), x)
case("hess", lambda x: jfi.hessian(energy)(x), x)
case("jacfwd", lambda x: jfi.jacfwd(energy)(x), x)
case("jacrev", lambda x: jfi.jacrev(energy)(x), x)
case("jvp", lambda x: jfi.jvp(energy, (x,), (x,)), x)
case("vjp", lambda x: jfi.vjp(energy, x)[1](1.0), x)
case("scan", lambda x: jfi.scan(lambda c, y: (c + y, c * y), 0.0, x), x)
case("while", lambda x: jfi.while_loop(lambda c: c < 10, lambda c: c * 2, x[1]), x)
case("fori", lambda x: jfi.fori_loop(0, 5, lambda i, c: c + i, x), x)
case(
    "scan_while",
    lambda x: jfi.scan_while(lambda c: c < 3, lambda c: (c + x[1], c), x[0], 5),
    x,
)
case("cond", lambda x: jfi.cond(x[0] > 1, lambda x: x, lambda x: -x, x), x)
case(
    "switch",
    lambda x, i: jfi.switch(i, [lambda x: x, lambda x: -x], x),
    x,
    jnp.int32(1),
)
case("ckpt", lambda x: jfi.grad(jfi.checkpoint(energy))(x), x)
case("vmap", lambda x: jfi.vmap(lambda y: y * 2)(x), x)
case(
    "va",
    lambda x: jfi.vmap_automatically(lambda d: d["x"] * d["n"], {"x": x, "n": 2}),
    x,
)
rows = jfi.auto_vmap(lambda y, w: y * w)
shared_rows = jfi.auto_vmap(shared="w")(lambda y, w: jnp.sum(y * w))
case("auto_vmap", lambda x: (rows(x, x), shared_rows(x, x)), x)
case("aj", lambda x: jfi.autojit(lambda y, n: y * n)(x, 3), x)
case("jit", lambda x: jfi.jit(lambda y: y * 3)(x), x)
case("map", lambda x: jfi.lax.map(lambda y: y * 3, x), x)
case("assoc", lambda x: jax.lax.associative_scan(jnp.add, x), x)


def chol(x):
    A = jnp.eye(3) * 4 + 0.1
    return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(A), x)


case("cho", chol, x)
case("erf", lambda x: jax.scipy.special.erf(x), x)
case("gammaln", lambda x: jax.scipy.special.gammaln(x + 1), x)
case("interp", lambda x: jfi.interp(x, x, x * 2), x)
case("eigh", lambda x: jnp.linalg.eigh(jnp.diag(x) + 0.1)[0], x)
case("fft", lambda x: jnp.abs(jnp.fft.fft(x)), x)
case("solve", lambda x: jnp.linalg.solve(jnp.eye(3) * 2, x), x)
case("randn", lambda x: x + jfi.randn(3), x)
case("randn cond", lambda x, n: [jfi.rand() for _ in range(n)], x, 2)
case("gen global", lambda x: shared.randn(2), x)


@jfi.pytree
class Layers:
    def __init__(self, *weights):
        self.weights, self.activation, self.times = list(weights), jnp.tanh, 2

    def __call__(self, x):
        for w in self.weights:
            x = self.times * self.activation(w * x)
        return jnp.sum(x)


def trained(layers, x):
    slope = jfi.grad(Layers.__call__)(layers, x)
    return jax.tree.map(lambda p, g: p - g, layers, slope), slope.times


case("pytree", trained, Layers(x, x + 1), x)


def passed(g, x):
    return g.randn(2) + x[0]


case("gen passed", passed, make=lambda: (jfi.Generator(4), x))
case(
    "scan draws",
    lambda x: jfi.scan(lambda c, y: (c + jfi.rand(), jfi.rand()), 0.0, x),
    x,
)
case("vmap draws", lambda x: jfi.vmap(lambda y: y + jfi.rand())(x), x)
case(
    "while draws",
    lambda x: jfi.while_loop(lambda c: c < 3, lambda c: c + jfi.rand(), 0.0),
    x,
)
case("key", lambda k: jax.random.split(k), jax.random.key(0))
case("key rbg", lambda k: jax.random.normal(k, (2,)), jax.random.key(0, impl="rbg"))
case("next_key", lambda x: jfi.next_key(), x)
case("int", lambda dt, x: x * int(1 / dt), 0.1, x)
case("float if", lambda t, x: x if t > 0 else -x, 0.5, x)
case("range float", lambda t, x: [x[0] * i for i in range(int(t))], 3.0, x)
Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Data:
    a: object
    n: int = 2


class Thing:
    def __init__(self, a):
        self.a = a
        self.name = "o"


case("nt", lambda x: Pair(x, 2), x)
case("dc", lambda x: Data(x), x)
case("obj", lambda x: Thing(x), x)
case(
    "strs",
    lambda x: {
        "b": "text",
        "a": x,
        "n": None,
        "t": (1, 2.5, True),
        "by": b"x",
        "e": ...,
        "r": range(3),
        "s": {1, 2},
        "fs": frozenset([1]),
    },
    x,
)
case("od", lambda x: collections.OrderedDict(b=x, a=1), x)
case("dd", lambda x: collections.defaultdict(list, {"b": x}), x)
case("deque", lambda x: collections.deque([x, 1], maxlen=3), x)
case("np res", lambda x: (np.arange(3), np.float64(1.5), np.int8(3), x), x)
case("np.scal", lambda a, b: (a * 2, b + 1), np.float64(1.5), np.int32(2))
case("np64", lambda a: a * 2, np.arange(3.0))
case("npi64", lambda a: a * 2, np.arange(3))
case("bf16", lambda a: a * 2, jnp.ones(2, jnp.bfloat16))
case("npbf16", lambda a: a * 2, np.ones(2, jnp.bfloat16))
case("f16", lambda a: a * 2, np.ones(2, np.float16))
case("bool", lambda a: ~a, np.array([True, False]))
case("u8", lambda a: a + a, np.array([200], np.uint8))
case("complex", lambda a, b: a * b, 1 + 2j, np.complex64(1j))
case("int4", lambda a: a, jnp.ones(2, jnp.int4))
case("fp8", lambda a: a, jnp.ones(2, jnp.float8_e4m3fn))
case("empty", lambda a: a * 2, np.zeros((0, 2)))
case("none", lambda a: a, None)
case("nothing", lambda a: None, 1.0)
case("weak", lambda a, b: (a * 2, a + b, jnp.sin(a)), 1.5, jnp.float32(2))
case("committed", lambda a: (a * 2, jnp.ones(2)), jax.device_put(x, jax.devices()[0]))
case(
    "odd dict",
    lambda d: {k: v * 2 for k, v in d.items()},
    {"b": 1.0, "a": 2.0, "c": {2: 1.0, "x": 3}},
)
case("dict order", lambda d: list(d), {"b": 1.0, "a": 2.0})


def write(o, rows, d, x):
    o.a = o.a + x
    o.new = "hi"
    rows.append(x)
    rows.append(3)
    d["k"] = x * 2
    d.pop("z")
    return o


case("writes", write, make=lambda: (Thing(jnp.ones(3)), [1], {"z": 1, "y": 2}, x))


def write_set(tags, x):
    tags.add("q")
    return x


case("set write", write_set, make=lambda: ({"a"}, x))


def same(a):
    return a, a


case("same obj", lambda o: (o, o, [o]), Thing(x))
case("raise", lambda x: {}["k"], x)


def fail(x):
    raise ValueError("mine")


case("raise2", fail, x)


class Scale(eqx.Module):
    w: jax.Array
    n: int = eqx.field(static=True, default=2)

    def __call__(self, x):
        return self.w * x * self.n


case("eqx", lambda m, x: (m(x), eqx.tree_at(lambda m: m.w, m, m.w * 2)), Scale(x), x)
case("eqx grad", lambda m, x: eqx.filter_grad(lambda m: m(x).sum())(m), Scale(x), x)
mlp = eqx.nn.MLP(2, 2, 4, 1, key=jax.random.key(0))
case("mlp", lambda m, x: m(x), mlp, jnp.ones(2))


opt = optax.adam(0.1)
case("optax", lambda p, state: opt.update(p, state, p), x, opt.init(x))


class Layer(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(2)(x)


dense = Layer()
weights = dense.init(jax.random.key(0), x)
case("linen", lambda weights, x: dense.apply(weights, x), weights, x)
case("linen arg", lambda m, weights, x: m.apply(weights, x), dense, weights, x)


class Counting(nnx.Module):
    def __init__(self):
        self.w = nnx.Param(jnp.ones(3))
        self.c = nnx.Variable(jnp.zeros(()))

    def __call__(self, x):
        self.c[...] = self.c[...] + 1
        return self.w[...] * x


case("nnx", lambda m, x: m(x), Counting(), x)


@functools.singledispatch
def choose(k):
    return 1


@choose.register
def _(k: int):
    return 2


case("choose", lambda x: x * choose(3), x)
case("lambda arg", lambda f, x: f(x), (lambda x: x + 2), x)


def helper(x):
    return x


case("ret user fn", lambda x: (helper, x), x)
case("ret class", lambda x: (Thing, x), x)


class Color(enum.Enum):
    A = 1


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Doubled:
    def __init__(self, x):
        self.x = x

    @property
    def x(self):
        return self.__dict__["x"]

    @x.setter
    def x(self, value):
        self.__dict__["x"] = value * 2


case("enum", lambda e, x: (e, Color.A, x), Color.A, x)
case(
    "flags",
    lambda x: (Access.READ | Access.WRITE, Access(0), re.IGNORECASE | re.MULTILINE, x),
    x,
)
case("a time that comes twice", lambda x: (dt.time(1, 2, fold=1), x), x)
case("property", lambda x: Doubled(x), x)
case("int overflow", lambda x: x * 2, 2**40)
case("token", lambda x: jax.lax.optimization_barrier(x), x)
case("unhash", lambda x, s: x[s], x, slice(0, 2))
case("donate", lambda x: x.at[0].set(1.0), make=lambda: (jnp.arange(3.0),))
case("large const", lambda x: x[0] + np.ones(1000).sum(), x)
case("kw", lambda x, *, k=3, **kw: x * k * len(kw), x, k=2, z=1, y=2)
case("stars", lambda *a, **k: sum(a) + k["z"], 1.0, x, 2, z=1)
report = jfi.cache_report()
print(json.dumps([found, report.hits, report.misses, report.not_kept]))
