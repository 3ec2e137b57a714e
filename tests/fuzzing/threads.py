"""Scripts in which four threads at a time call one function under autojit, or a loop.

What they write has keys of their own, so that plain Python loses nothing, whatever
comes first: what is compared has no order.
"""

import random
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace


# Lines of the method, which has `self`, `x` and the thread's own `name`; of `__init__`;
# and what is left in the end, in an order.
WRITES = {
    "items of a dict": (
        "self.d[name] = x * 2", "self.d = {}", "sorted(model.d.items())",
    ),
    "appended arrays": ("self.h.append(x)", "self.h = []", "sorted(map(float, model.h))"),
    "appended names": ("self.l.append(name)", "self.l = []", "sorted(model.l)"),
    "items of dicts in a dict": (
        "self.e['a'][name] = x", "self.e = {'a': {}}", "sorted(model.e['a'].items())",
    ),
    "lists in a dict": (
        "self.f.setdefault(name, []).append(x)", "self.f = {}",
        "sorted((k, sorted(map(float, v))) for k, v in model.f.items())",
    ),
    "attributes": (
        "setattr(self, name, x)", "pass",
        "sorted((k, v) for k, v in vars(model).items() if k[0] == 'k')",
    ),
    "members of a set": ("self.s.add(name)", "self.s = set()", "sorted(model.s)"),
    "attributes of an object": (
        "setattr(self.o, name, x)", "self.o = types.SimpleNamespace()",
        "sorted(vars(model.o).items())",
    ),
    "an attribute all write alike": ("self.same = 3", "self.same = 2", "model.same"),
}  # fmt: skip
READS = {
    "nothing": ("", "x * 2"),
    "a global": ("A = 1.5", "x * A"),
    "a function": ("A = 1.5\ndef f():\n    return A", "x * f()"),
    "an array": ("A = np.ones(2)", "x * A.sum()"),
    "self": ("", "x * self.k"),
    "a scan": ("A = 0.5", "tools.scan(lambda c, u: (c * A + u, c), x, XS[:, 0])[0]"),
    "a map": ("A = 0.5", "x + tools.map(lambda u: u * A, XS).sum()"),
}
KEYS = {
    "of each call": "f'k{thread}_{n}'",
    "of each thread": "f'k{thread}'",
}
SCRIPT = """\
import sys, threading, types
import jax, jax.numpy as jnp, numpy as np
import jfi as tools
sys.setswitchinterval(1e-5)
XS = jnp.asarray([[1.0, 2.0], [0.5, -1.0], [2.0, 0.25]], "float32")
{setup}
class Model:
    def __init__(self):
        self.k = 2.0
{init}
    {decorator}
    def run(self, x, name):
{body}
        return {result}
model = Model()
{warm}
results, errors = [], []
barrier = threading.Barrier(4)
def work(thread):
    barrier.wait()
    try:
        for n in range({calls}):
            x = np.float32(10 * thread + n)
            results.append((thread, n, float(model.run(x, {key}))))
    except Exception as error:
        errors.append(error)
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.setswitchinterval(0.005)
if errors:
    raise errors[0]
show(sorted(results))
{shown}
del results, errors, model, threads, thread, barrier
"""


@dataclass(frozen=True)
class ThreadCase:
    """One script with four threads; the attributes name entries of the tables above."""

    seed: int
    writes: tuple[str, ...]
    reads: str
    keys: str
    calls: int
    is_warm: bool
    is_jitted: bool
    cells: bool = False
    steps: tuple[object, ...] = ()
    first_step: int = 1

    def __str__(self) -> str:
        return "show = print\n" + self.parts()[0]

    def parts(self) -> list[str]:
        """The script, which is one cell."""
        writes = [WRITES[name] for name in self.writes]
        setup, result = READS[self.reads]
        body = "\n".join(body for body, _, _ in writes) or "pass"
        text = SCRIPT.format(
            setup=setup,
            init=textwrap.indent("\n".join(init for _, init, _ in writes), " " * 8),
            decorator="@tools.autojit" if self.is_jitted else "",
            body=textwrap.indent(body, " " * 8),
            result=result,
            warm="model.run(np.float32(1), 'k_warm')" if self.is_warm else "",
            calls=self.calls,
            key=KEYS[self.keys],
            shown="\n".join(f"show({shown})" for _, _, shown in writes),
        )
        return [text]

    def label(self) -> str:
        """What it is about."""
        warm = "warm" if self.is_warm else "cold"
        tool = "autojit" if self.is_jitted else "loops"
        return (
            f"{tool} in 4 threads, {warm}, {self.calls} calls, names {self.keys} | "
            f"reads {self.reads} | writes {'; '.join(self.writes)}"
        )

    def smaller(self) -> Iterator["ThreadCase"]:
        """Scripts with a little less in them."""
        for write in self.writes:
            yield replace(self, writes=tuple(w for w in self.writes if w != write))
        if self.reads != "nothing":
            yield replace(self, reads="nothing")


def thread_case(seed: int) -> ThreadCase:
    """The script of a seed."""
    rng = random.Random(f"threads {seed}")
    is_jitted = rng.random() < 0.9
    reads = rng.choice(list(READS)) if is_jitted else rng.choice(("a scan", "a map"))
    return ThreadCase(
        seed,
        tuple(rng.sample(list(WRITES), rng.choice((1, 2, 3)))),
        reads,
        rng.choice(list(KEYS)),
        rng.choice((1, 2, 4)),
        rng.random() < 0.5,
        is_jitted,
    )
