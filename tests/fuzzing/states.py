"""Random libraries, and scripts that set something there: each starts twice.

A library holds a number somewhere (`HOLDERS`), its functions read it in some way
(`READS`), and a persistent function of the script calls them in another (`USES`). The
second start sets another number, or the same one. What is found then must be what the
plain function gives in the same process.

`python -m fuzzing.states 1000` from the folder `tests` runs a thousand such pairs.
"""

import json
import random
import sys
import tempfile
from pathlib import Path

from subprocesses import run_python


# Of a library: what holds the number, the expression that reads it, what sets it.
HOLDERS = {
    "a global": ("n = 1.0", "n", "lib.n = VALUE"),
    "a setter": (
        "n = 1.0\ndef set_n(value):\n    global n\n    n = value",
        "n",
        "lib.set_n(VALUE)",
    ),
    "a dict": ("d = {'n': 1.0}", "d['n']", "lib.d['n'] = VALUE"),
    "a dict, updated": ("d = {'n': 1.0}", "d['n']", "lib.d.update(n=VALUE)"),
    "a nested dict": ("d = {'a': {'n': 1.0}}", "d['a']['n']", "lib.d['a']['n'] = VALUE"),
    "a new key": ("d = {}", "d.get('n', 1.0)", "lib.d['n'] = VALUE"),
    "a list": ("s = [1.0]", "s[0]", "lib.s[0] = VALUE"),
    "the length of a list": ("s = []", "float(len(s))", "lib.s.extend(range(int(VALUE)))"),
    "a set": ("s = set()", "float(sum(s))", "lib.s.add(VALUE)"),
    "an object": ("class C: n = 1.0\nc = C()", "c.n", "lib.c.n = VALUE"),
    "slots": (
        "class C:\n    __slots__ = ('n',)\nc = C()\nc.n = 1.0", "c.n", "lib.c.n = VALUE"
    ),
    "an object in an object": (
        "class C: n = 1.0\nclass D: pass\nd = D()\nd.c = C()", "d.c.n", "lib.d.c.n = VALUE"
    ),
    "a class": ("class C: n = 1.0", "C.n", "lib.C.n = VALUE"),
    "a base class": ("class B: n = 1.0\nclass C(B): pass", "C().n", "lib.B.n = VALUE"),
    "a property": (
        "class C:\n    def __init__(self): self.k = 1.0\n    n = property(lambda self: self.k)\n"
        "c = C()",
        "c.n",
        "lib.c.k = VALUE",
    ),
    "a default": ("def g(n=1.0): return n", "g()", "lib.g.__defaults__ = (VALUE,)"),
    "a keyword default": (
        "def g(*, n=1.0): return n", "g()", "lib.g.__kwdefaults__ = {'n': VALUE}"
    ),
    "an attribute of a function": ("def g(): pass\ng.n = 1.0", "g.n", "lib.g.n = VALUE"),
    "a context variable": (
        "import contextvars\nv = contextvars.ContextVar('v', default=1.0)",
        "v.get()",
        "lib.v.set(VALUE)",
    ),
    "a thread's own": (
        "import threading\nt = threading.local()\nt.n = 1.0", "t.n", "lib.t.n = VALUE"
    ),
    "a dataclass": (
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n    n: float = 1.0\nc = C()",
        "c.n",
        "lib.c = lib.C(VALUE)",
    ),
    "a named tuple": (
        "import collections\nC = collections.namedtuple('C', 'n')\nc = C(1.0)",
        "c.n",
        "lib.c = lib.C(VALUE)",
    ),
    "an array": ("import numpy as np\na = np.ones(2)", "float(a[1])", "lib.a[1] = VALUE"),
    "a partial": (
        "import functools\ndef g(n): return n\np = functools.partial(g, 1.0)",
        "p()",
        "lib.p = lib.functools.partial(lib.g, VALUE)",
    ),
    "another function of the library": (
        "def one(): return 1.0\ndef two(): return 2.0\ndef three(): return 3.0\ng = one",
        "g()",
        "lib.g = [lib.one, lib.two, lib.three][int(VALUE) % 3]",
    ),
    "a function": ("d = {'f': lambda: 1.0}", "d['f']()", "lib.d['f'] = lambda: VALUE"),
    "a hook": (
        "hooks = []", "float(sum(hook() for hook in hooks))", "lib.hooks.append(lambda: VALUE)"
    ),
    "a method": (
        "class C:\n    def go(self): return 1.0\nc = C()",
        "c.go()",
        "lib.C.go = lambda self: VALUE",
    ),
    "a method of one object": (
        "class C:\n    def go(self): return 1.0\nc = C()", "c.go()", "lib.c.go = lambda: VALUE"
    ),
    "a special method": (
        "class C:\n    def __call__(self): return 1.0\nc = C()",
        "c()",
        "lib.C.__call__ = lambda self: VALUE",
    ),
    "a callable object": (
        "d = {}", "d['f']()", "class Mine:\n    def __call__(self): return VALUE\nlib.d['f'] = Mine()"
    ),
    "an object of the script": (
        "d = {}", "d['o'].n", "class Mine:\n    n = VALUE\nlib.d['o'] = Mine()"
    ),
    "a subclass": (
        "class C:\n    all = []\n    def __init_subclass__(cls): C.all.append(cls)",
        "C.all[-1].n",
        "class Mine(lib.C):\n    n = VALUE",
    ),
    "a function replaced": (
        "def inner(): return 1.0\ndef g(): return inner()", "g()", "lib.inner = lambda: VALUE"
    ),
    "a partial of the script's": (
        "d = {}", "d['f']()",
        "import functools\nlib.d['f'] = functools.partial(lambda n: n, VALUE)",
    ),
}  # fmt: skip

# What a library also does, as libraries do: it counts, remembers, has a stack.
HABITS = {
    "nothing": ("", ""),
    "counts": ("calls = {'n': 0}", "calls['n'] += 1"),
    "remembers": ("seen = {}", "seen.setdefault('once', object())"),
    "a stack": ("stack = []", "stack.append(1)\n    stack.pop()"),
}

# How functions of a library come to the expression.
READS = {
    "a function": "def times(x):\n    HABIT\n    return x * EXPR",
    "two functions": "def deeper():\n    return EXPR\ndef times(x):\n    HABIT\n    return x * deeper()",
    "a nested function": "def times(x):\n    HABIT\n    def inner(y): return y * EXPR\n    return inner(x)",
    "a method": "class Layer:\n    def go(self, x):\n        return x * EXPR\ndef times(x):\n    HABIT\n    return Layer().go(x)",
    "a comprehension": "def times(x):\n    HABIT\n    return sum([x * k for k in [EXPR, 0.0]])",
    "jit": "import jax\n@jax.jit\ndef jitted(x):\n    return x * EXPR\ndef times(x):\n    HABIT\n    return jitted(x)",
    "a generator": "def values():\n    yield EXPR\ndef times(x):\n    HABIT\n    return x * next(values())",
    "try": "def times(x):\n    HABIT\n    try:\n        return x * EXPR\n    finally:\n        pass",
}

# How the script's function comes to the library.
USES = {
    "by its module": "def f(x): return lib.times(x)",
    "by its name": "from LIB import times\ndef f(x): return times(x)",
    "a helper": "def h(x): return lib.times(x)\ndef f(x): return h(x) + 1",
    "a jitted helper": "@jax.jit\ndef h(x): return lib.times(x)\ndef f(x): return h(x) + 1",
    "a partial": "import functools\ndef f(x): return functools.partial(lib.times)(x)",
    "an object": "class M:\n    def __init__(self): self.times = lib.times\nm = M()\ndef f(x): return m.times(x)",
    "a closure": "def make(times):\n    def f(x): return times(x)\n    return f\nf = make(lib.times)",
    "a gradient": "def f(x): return jax.grad(lambda y: lib.times(y) * y)(x)",
    "a scan": "def f(x): return jax.lax.scan(lambda c, _: (lib.times(c), None), x, None, length=2)[0]",
    "vmap": "def f(x): return jax.vmap(lib.times)(jnp.stack([x, x]))",
    "an attribute": "def f(x): return getattr(lib, 'times')(x)",
    "a default": "def f(x, times=lib.times): return times(x)",
    "a list": "steps = [lib.times]\ndef f(x):\n  for step in steps: x = step(x)\n  return x",
}

RUN = """
import importlib, json, sys, types, warnings
sys.dont_write_bytecode = True
sys.path.insert(0, LIBRARIES)
import jax, jax.numpy as jnp, numpy as np
import jfi
warnings.simplefilter("ignore")
found = []
for number, script in enumerate(SCRIPTS):
    module = types.ModuleType(f"script_{number}")
    sys.modules[module.__name__] = module
    vars(module).update(jax=jax, jnp=jnp, lib=importlib.import_module(f"lib_{number}"))
    exec(compile(script, f"/scripts/{number}.py", "exec"), vars(module))
    shown = lambda out: np.asarray(out, np.float64).round(4).tolist()
    before = jfi.cache_report()
    kept = shown(jfi.persistent(module.f, mode="disk")(jnp.float32(3)))
    after = jfi.cache_report()
    plain = shown(module.f(jnp.float32(3)))
    misses = after.misses - before.misses
    found.append([kept, plain, after.hits - before.hits, misses, len(after.not_kept)])
print(json.dumps(found))
"""


class Pair:
    """A library, and a script that starts twice."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        names = [rng.choice([*table]) for table in (HOLDERS, HABITS, READS, USES)]
        self.label = f"seed {seed}: {', '.join(names)}"
        (holder, read, self.setting), (habit, does), way, self.use = (
            table[name]
            for table, name in zip((HOLDERS, HABITS, READS, USES), names, strict=True)
        )
        body = way.replace("HABIT", does or "pass").replace("EXPR", read)
        self.library = f"{holder}\n{habit}\n{body}\n"
        first = float(rng.choice([2, 3, 4]))
        self.values = first, rng.choice([first, first + 1, first + 2])

    def script(self, number: int, start: int) -> str:
        """The script, as it starts for the first time (0), or the second."""
        use = self.use.replace("LIB", f"lib_{number}")
        return f"{self.setting}\n{use}\n".replace("VALUE", str(self.values[start]))


def stale(seeds: range) -> tuple[list[str], dict[str, int]]:
    """What is found old among pairs, and how many were found, compiled, not kept."""
    pairs = [Pair(seed) for seed in seeds]
    counts = dict.fromkeys(("found", "compiled", "not kept or plain", "changed"), 0)
    faults = []
    with tempfile.TemporaryDirectory(prefix="jfi", dir="/tmp") as name:
        libraries = Path(name) / "site-packages"
        libraries.mkdir()
        for number, pair in enumerate(pairs):
            (libraries / f"lib_{number}.py").write_text(pair.library)
        runs = []
        for start in (0, 1):
            scripts = [pair.script(n, start) for n, pair in enumerate(pairs)]
            code = RUN.replace("LIBRARIES", repr(str(libraries)))
            code = code.replace("SCRIPTS", repr(scripts))
            env = {"JFI_CACHE_DIR": f"{name}/cache", "PYTHONHASHSEED": str(start)}
            runs.append(json.loads(run_python(code, env=env, timeout=900).stdout))
    for number, pair in enumerate(pairs):
        (_, before, *_), (kept, plain, hits, misses, _) = (run[number] for run in runs)
        counts["changed"] += before != plain
        kind = "found" if hits else "compiled" if misses else "not kept or plain"
        counts[kind] += 1
        if kept != plain or runs[0][number][0] != before:
            text = f"{pair.library}\n# ----\n{pair.script(number, 1)}"
            faults.append(f"---- {pair.label}\n{kept}, plain {plain}\n{text}")
    return faults, counts


def main(count: str = "1000", first: str = "0") -> int:
    """Run pairs, and show those that are found old."""
    total: dict[str, int] = {}
    number = 0
    for start in range(int(first), int(first) + int(count), 25):
        faults, counts = stale(range(start, min(start + 25, int(first) + int(count))))
        number += len(faults)
        for fault in faults:
            print(fault, flush=True)
        total = {name: total.get(name, 0) + n for name, n in counts.items()}
        print(f"{start + 25 - int(first)}: {number} stale, {total}", flush=True)
    print(f"{number} stale of {count}: {total}")
    return number


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:]), 1))
