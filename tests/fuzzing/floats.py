"""Scripts about where a float stands: in a class, a dict, a default, a global ...

A loss reads floats and arrays from an object, and from what the argument holds besides.
It is differentiated, compiled, trained, batched, in a loop; between the calls floats
change. `plain_floats.py` has the rule of what is data.
"""

import random
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace

from .pieces import filled


# An attribute of a class: what `__init__` sets it to, how it is read, what it is declared
# as, and what may happen to it between calls.
Field = tuple[str, str, str, tuple[str, ...]]
FIELDS: dict[str, Field] = {
    "a float": ("<v>", "A", "", ("A = <v>",)),
    "a declared float": ("<v>", "A", "data", ("A = <v>", "A = jnp.asarray(<v>, 'float32')")),
    "an array": ("jnp.full(2, <v>)", "A.sum()", "", ("A = jnp.full(2, <v>)",)),
    "an array of NumPy": (
        "np.full(2, <v>, np.float32)", "A.sum()", "", ("A = np.full(2, <v>, np.float32)",),
    ),
    "a number of NumPy": ("np.float32(<v>)", "A", "", ("A = np.float32(<v>)", "A = <v>")),
    "a scalar array": ("jnp.asarray(<v>, 'float32')", "A", "", ("A = <v>",)),
    "a buffer": ("jnp.full(2, <v>)", "A.mean()", "buffers", ("A = jnp.full(2, <v>)",)),
    "a table": ("jnp.full(2, <v>)", "A.sum()", "settings", ("A = jnp.full(2, <v>)",)),
    "floats in a dict": ("{'a': <v>, 'n': 2}", "A['a'] * A['n']", "", ("A['a'] = <v>",)),
    "declared floats in a dict": (
        "{'a': <v>, 'n': 2}", "A['a'] * A['n']", "data", ("A['a'] = <v>", "A['n'] = <i>"),
    ),
    "floats and arrays in a list": (
        "[<v>, jnp.full(2, <v>)]", "A[0] * A[1].sum()", "", ("A[0] = <v>",),
    ),
    "declared floats in a tuple": ("(<v>, <v>)", "A[0] + A[1]", "data", ("A = (<v>, <v>)",)),
    "an inner object": ("Inner(<v>)", "A.rate * A.eps * A.w.sum()", "", (
        "A.eps = <v>", "A.rate = <v>", "A = Inner(<v>)",
    )),
    "inner objects in a list": (
        "[Inner(<v>), Inner(<v>)]", "sum(m.rate * m.w.sum() + m.eps for m in A)", "",
        ("A[0].eps = <v>", "A[1].rate = <v>"),
    ),
    "an inner object declared as data": (
        "Inner(<v>)", "A.rate * A.eps", "data", ("A.eps = <v>",),
    ),
    "a frozen object": ("Frozen(<v>)", "A.eps", "", ("A = Frozen(<v>)",)),
    "a member of an enum": ("Mode.SLOW", "A.value", "", ("A = Mode.FAST", "A = Mode.SLOW")),
    "an int": ("<i>", "A", "", ("A = <i>",)),
    "a flag": ("True", "(2.0 if A else 0.5)", "", ("A = not A",)),
    "a function with a default": (
        "(lambda k=<v>: k)", "A()", "", ("A = lambda k=<v>: k",),
    ),
    "a text": ("'tanh'", "(1.5 if A == 'tanh' else 0.5)", "", ("A = 'sin'", "A = 'tanh'")),
}  # fmt: skip
# Beside the object: what the argument is, and how the object and the rest are read.
ARGUMENTS = {
    "the object": ("model", "m", "1.0"),
    "a dict": ("{'m': model, 'k': <v>, 'n': 3}", "m['m']", "m['k'] * m['n']"),
    "a dict with more": (
        "{'m': model, 'k': jnp.full(2, <v>), 'name': 'a', 'none': None}", "m['m']",
        "m['k'].sum()",
    ),
    "a list": ("[model, <v>]", "m[0]", "m[1]"),
    "a tuple": ("(model, (<v>, np.float32(<v>)))", "m[0]", "m[1][0] * m[1][1]"),
    "a named tuple": ("Pair(model, <v>)", "m.first", "m.second"),
    "a dict with an enum": (
        "{'m': model, 'mode': Mode.FAST, 'k': <v>}", "m['m']", "m['mode'].value + m['k']",
    ),
}  # fmt: skip
OUTSIDE = {
    "nothing": ("", "1.0", ()),
    "a global": ("G = <v>", "G", ("G = <v>", "G = np.float32(<v>)")),
    "a default": ("def h(k=<v>):\n    return k", "h()", ("h.__defaults__ = (<v>,)",)),
    "a closure": (
        "def make(k):\n    return lambda: k\nh = make(<v>)", "h()", ("h = make(<v>)",),
    ),
    "an attribute of a class": ("class C:\n    k = <v>", "C.k", ("C.k = <v>",)),
}  # fmt: skip
CALLS = {
    "loss": "loss(ARG, X)",
    "autojit": "tools.autojit(loss)(ARG, X)",
    "jit": "tools.jit(lambda x: loss(ARG, x))(X)",
    "grad": "tools.grad(loss)(ARG, X)",
    "value_and_grad": "tools.value_and_grad(loss)(ARG, X)",
    "autojit of grad": "tools.autojit(tools.grad(loss))(ARG, X)",
    "grad of autojit": "tools.grad(tools.autojit(loss))(ARG, X)",
    "grad of checkpoint": (  # whose own arguments are arrays
        "tools.grad(lambda m, x: tools.checkpoint(lambda x: loss(m, x))(x))(ARG, X)"
    ),
    "a step": "step(ARG, X)",
    "a compiled step": "tools.autojit(step)(ARG, X)",
    "rows": "tools.vmap(lambda x: loss(ARG, x))(XS)",
    "a loop": "tools.scan(lambda c, x: (c + loss(ARG, x), c), 0.0, XS)",
    "a gradient through a loop": (
        "tools.grad(lambda m, xs: tools.scan("
        "lambda c, x: (c + loss(m, x), None), 0.0, xs)[0])(ARG, XS)"
    ),
    "trained for good": "train()",
}
SCRIPT = """\
import collections, dataclasses, enum
import jax, jax.numpy as jnp, numpy as np
import jfi as tools
X = jnp.asarray([1.0, 2.0], "float32")
XS = jnp.asarray([[1.0, 2.0], [0.5, -1.0], [2.0, 0.25]], "float32")
Pair = collections.namedtuple("Pair", "first second")
Mode = enum.Enum("Mode", {{"SLOW": 0.5, "FAST": 2.0}})

@dataclasses.dataclass(frozen=True)
class Frozen:
    eps: float

@tools.pytree(data="rate")
class Inner:
    def __init__(self, rate):
        self.rate, self.eps, self.w = rate, 0.25, jnp.full(2, 0.5)

@tools.pytree({declared})
class Model:
    def __init__(self):
{fields}

{outside}

def loss(m, x):
    o = {object}
    total = {reads}
    return (x * total * {rest} + {read_outside} * x**2).sum() * 0.125

def step(m, x):
    return tools.apply_updates(m, tools.grad(lambda m: -0.125 * loss(m, x))(m))

def train():
    global model
    model = tools.autojit(lambda m: tools.apply_updates(
        m, tools.grad(lambda m: -0.125 * loss(m, X))(m)))(model)

model = Model()
"""
PRELUDE_CELLS = 1


@dataclass(frozen=True)
class FloatCase:
    """One script.

    Attributes:
        seed: It follows from this.
        fields: The kinds of attributes of the object.
        argument: What the argument of the loss is.
        outside: What the loss reads outside.
        steps: Calls, by name, and changes, as text; all filled in.
        cells: Whether each step is compiled by itself.
    """

    seed: int
    fields: tuple[str, ...]
    argument: str
    outside: str
    steps: tuple["FloatStep", ...]
    cells: bool = False

    def __str__(self) -> str:
        return "show = print\n" + "\n".join(self.parts())

    @property
    def first_step(self) -> int:
        """The number of the cell with the first step."""
        return PRELUDE_CELLS

    def parts(self) -> list[str]:
        """The cells of the script."""
        rng = random.Random(f"values {self.seed}")
        fill = lambda text: filled(text, 1, rng)
        fields = [(f"f{n}", FIELDS[name]) for n, name in enumerate(self.fields)]
        lines = [f"self.{name} = {fill(field[0])}" for name, field in fields]
        _, holder, rest = ARGUMENTS[self.argument]
        reads = [field[1].replace("A", f"o.{name}") for name, field in fields]
        setup, read_outside, _ = OUTSIDE[self.outside]
        is_object = self.argument == "the object"
        text = SCRIPT.format(
            declared=self._declared(),
            fields=textwrap.indent("\n".join(lines or ["pass"]), " " * 8),
            outside=fill(setup),
            object=holder,
            reads=" + ".join(reads) or "1.0",
            rest=rest,
            read_outside=read_outside,
        )
        if not is_object:  # `train` is about the object alone
            text = text.replace("loss(m, X))(m)))(model)", "own(m, X))(m)))(model)")
            text += textwrap.dedent(
                f"""
                def own(o, x):
                    return (x * ({" + ".join(reads) or "1.0"})).sum() * 0.125
                """
            )
        return [text, *(step.text for step in self.steps)]

    def _declared(self) -> str:
        kinds: dict[str, list[str]] = {}
        for n, name in enumerate(self.fields):
            if kind := FIELDS[name][2]:
                kinds.setdefault(kind, []).append(f"f{n}")
        return ", ".join(f"{kind}={names!r}" for kind, names in kinds.items())

    def label(self) -> str:
        """What it is about."""
        calls = "; ".join(step.what for step in self.steps)
        return (
            f"{self.argument} with {', '.join(self.fields)} | reads {self.outside} | "
            f"{calls}"
        )

    def smaller(self) -> Iterator["FloatCase"]:
        """Scripts with a little less in them."""
        if self.outside != "nothing":
            steps = tuple(s for s in self.steps if s.owner != "outside")
            yield replace(self, outside="nothing", steps=steps)
        for n in range(len(self.steps)):
            yield replace(self, steps=self.steps[:n] + self.steps[n + 1 :])
        if len(self.fields) > 1:  # the last, so that the others keep their names
            steps = tuple(
                s for s in self.steps if s.owner != f"f{len(self.fields) - 1}"
            )
            yield replace(self, fields=self.fields[:-1], steps=steps)
        if self.argument != "the object":
            yield replace(
                self,
                argument="the object",
                steps=tuple(
                    replace(
                        s, text=CALLED.format(CALLS[s.what].replace("ARG", "model"))
                    )
                    if s.what in CALLS
                    else s
                    for s in self.steps
                ),
            )


@dataclass(frozen=True)
class FloatStep:
    """A call, or a change.

    Attributes:
        text: Its lines.
        what: The name of the call, or the change in words.
        owner: The attribute that is changed, or "outside".
    """

    text: str
    what: str
    owner: str = ""


CALLED = "show({})"


def float_case(seed: int) -> FloatCase:
    """The script of a seed."""
    rng = random.Random(f"floats {seed}")
    fields = tuple(rng.choice(list(FIELDS)) for _ in range(rng.choice((1, 2, 2, 3, 4))))
    if not any("array" in f or "declared" in f or "inner" in f for f in fields):
        fields += ("an array",)  # something to differentiate
    argument = rng.choice(list(ARGUMENTS))
    outside = rng.choice(list(OUTSIDE))
    steps = tuple(_steps(fields, argument, outside, rng))
    return FloatCase(seed, fields, argument, outside, steps, rng.random() < 0.5)


def _steps(
    fields: tuple[str, ...], argument: str, outside: str, rng: random.Random
) -> Iterator[FloatStep]:
    changes = [
        (f"f{n}", change.replace("A", f"model.f{n}"))
        for n, name in enumerate(fields)
        for change in FIELDS[name][3]
    ]
    changes += [("outside", change) for change in OUTSIDE[outside][2]]
    text = filled(ARGUMENTS[argument][0], 1, rng)
    for _ in range(rng.randint(3, 6)):
        name = rng.choice(list(CALLS))
        yield FloatStep(CALLED.format(CALLS[name].replace("ARG", text)), name)
        for _ in range(rng.choice((0, 1, 1, 2)) if changes else 0):
            owner, change = rng.choice(changes)
            change = filled(change, 1, rng)
            yield FloatStep(change, change, owner)
