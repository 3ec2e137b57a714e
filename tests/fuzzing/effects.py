"""What functions under autojit write: `self`, arguments, and what is outside."""

import random
from typing import NamedTuple

from .pieces import filled


class Effect(NamedTuple):
    """What a body does beside its result; `<n>` is a number as in sources.

    Attributes:
        name: In words.
        body: Lines of the function, which has `x`.
        setup: Lines before it.
        init: Lines of `Model.__init__`.
        argument: What to pass for the parameter `q<n>`.
        changes: What may happen between calls.
    """

    name: str
    body: str
    setup: str = ""
    init: str = ""
    argument: str = ""
    changes: tuple[str, ...] = ()

    @property
    def is_of_self(self) -> bool:
        """Whether it has a meaning in methods only."""
        return "self" in self.body


ON_SELF = (
    Effect("self.a = array", "self.t<n> = self.t<n> + x", "", "self.t<n> = 0.0", "", (
        "model.t<n> = jnp.zeros(2)", "model.t<n> = <v>",
    )),
    Effect("a new attribute", "self.u<n> = x * 2"),
    Effect("self.list.append", "self.l<n>.append(x)", "", "self.l<n> = []", "", (
        "model.l<n> = []", "model.l<n>.clear()", "model.l<n>.append(<v>)",
    )),
    Effect("append of a number", "self.l<n>.append(<i>)", "", "self.l<n> = []"),
    Effect("self.dict[key] =", "self.d<n>['<a|b>'] = x.sum()", "", "self.d<n> = {}", "", (
        "model.d<n> = {}", "model.d<n>['b'] = <v>", "model.d<n>.pop('a', None)",
    )),
    Effect("a counter of self", "self.c<n> += 1", "", "self.c<n> = 0", "", (
        "model.c<n> = 0",
    )),
    Effect("a float of self", "self.c<n> += 0.5", "", "self.c<n> = 0.0"),
    Effect("swapped attributes", "self.a<n>, self.b<n> = self.b<n>, self.a<n>", "",
        "self.a<n>, self.b<n> = jnp.zeros(2), [1.0]",
    ),
    Effect("a deleted attribute",
        "if hasattr(self, 'e<n>'):\n    del self.e<n>\nelse:\n    self.e<n> = 'here'",
    ),
    Effect("two names of one list", "self.a<n>.append(1)\nself.b<n>.append(x)", "",
        "self.a<n> = self.b<n> = []",
    ),
    Effect("an object made inside", "self.o<n> = P<n>()\nself.o<n>.k = x",
        "class P<n>: pass",
    ),
    Effect("a nested object", "self.o<n>.k = self.o<n>.k + x.sum()",
        "class P<n>:\n    k = 0.0", "self.o<n> = P<n>()", "", ("P<n>.k = <v>",),
    ),
    Effect("list methods", "self.l<n>.insert(0, 2)\nself.l<n>.pop()", "",
        "self.l<n> = [1, 2.0, 'a']", "", ("model.l<n>.append(3)",),
    ),
    Effect("a list of self cleared", "self.l<n>[:] = [x, 1]", "", "self.l<n> = [0]"),
    Effect("setdefault", "self.d<n>.setdefault('k', []).append(1)", "",
        "self.d<n> = {}", "", ("model.d<n>.clear()",),
    ),
    Effect("a set of self", "self.s<n>.add(len(self.s<n>))", "", "self.s<n> = set()"),
    Effect("a shared list", "self.l<n>.append(x.sum())", "L<n> = []",
        "self.l<n> = L<n>", "", ("L<n>.append(1)", "L<n> = []", "model.l<n> = []"),
    ),
)  # fmt: skip

ON_ARGUMENTS = (
    Effect("append to an argument", "q<n>.append(x)", "bag<n> = []", "", "bag<n>", (
        "bag<n> = []", "bag<n>.append(1)",
    )),
    Effect("an item of an argument", "q<n>['k'] = x\nq<n>['n'] = 1", "bag<n> = {}", "",
        "bag<n>", ("bag<n> = {'n': 2}",),
    ),
    Effect("an attribute of an argument", "q<n>.k = q<n>.k + x",
        "bag<n> = types.SimpleNamespace(k=0.0)", "", "bag<n>", ("bag<n>.k = <v>",),
    ),
    Effect("an item of an argument in a list", "q<n>[0]['k'] = x", "bag<n> = {}", "",
        "[bag<n>, bag<n>]", ("bag<n> = {}",),
    ),
)  # fmt: skip

# What is only counted, in global variables, lists, dicts and classes, is an effect like a
# print: it happens when a function is compiled (docs/autojit.md). So all that is counted
# here is used, too.
ON_GLOBALS = (
    Effect("a number of a global object", "bag<n>.k += 1",
        "class P<n>: pass\nbag<n> = P<n>()\nbag<n>.k = 0", "", "", ("bag<n>.k = 0",),
    ),
    Effect("a counter in a closure", "tick<n>()",
        "def make<n>():\n    k = 0\n    def tick():\n        nonlocal k\n        k += 1\n"
        "    return tick\ntick<n> = make<n>()", "", "", ("tick<n> = make<n>()",),
    ),
    Effect("an attribute of a function", "f<n>.k += 1", "def f<n>(): pass\nf<n>.k = 0",
        "", "", ("f<n>.k = 0",),
    ),
    Effect("a default that is written", "f<n>(1)",
        "def f<n>(k, seen=[]):\n    seen.append(k)", "", "",
        ("f<n>.__defaults__ = ([],)",),
    ),
    Effect("a global array", "global n<n>\nn<n> = n<n> + x", "n<n> = 0.0", "", "", (
        "n<n> = <v>",
    )),
    Effect("a count that is used", "global n<n>\nn<n> += 1\nx = x * n<n>", "n<n> = 0",
        "", "", ("n<n> = <i>",),
    ),
    Effect("a count that a helper counts", "tick<n>()\nx = x * n<n>",
        "n<n> = 0\ndef tick<n>():\n    global n<n>\n    n<n> = n<n> + 1", "", "",
        ("n<n> = <i>",),
    ),
    Effect("a count that a method counts", "x = x * P<n>().tick()",
        "n<n> = 0\nclass P<n>:\n    def tick(self):\n        global n<n>\n"
        "        n<n> += 1\n        return n<n>", "", "", ("n<n> = <i>",),
    ),
    Effect("an item that is counted and used", "x = x + bag<n>.get(<i>, 0)\n"
        "bag<n>[<i>] = bag<n>.get(<i>, 0) + 1", "bag<n> = {}", "", "",
        ("bag<n> = {}", "bag<n>.pop(<i>, None)"),
    ),
    Effect("a key that was seen", "x = x * len(bag<n>)\nbag<n>.add(<i>)",
        "bag<n> = set()", "", "", ("bag<n>.clear()", "bag<n>.add(<i>)"),
    ),
    Effect("a number of a class that is used", "P<n>.k += 1\nx = x + P<n>.k",
        "class P<n>: k = 0", "", "", ("P<n>.k = <i>",),
    ),
    Effect("globals()[...] =", "globals()['n<n>'] = <i>"),
    Effect("append to a global", "bag<n>.append(x)", "bag<n> = []", "", "", (
        "bag<n> = []", "bag<n>.append(1)",
    )),
    Effect("an item of a global", "bag<n>['k'] = x", "bag<n> = {}", "", "", (
        "bag<n> = {}",
    )),
    Effect("an attribute of a global", "bag<n>.k = bag<n>.k + x",
        "bag<n> = types.SimpleNamespace(k=0.0)", "", "", ("bag<n>.k = <v>",),
    ),
    Effect("the first attribute of a global", "bag<n>.k = x", "class P<n>: pass\n"
        "bag<n> = P<n>()", "", "", ("bag<n> = P<n>()", "vars(bag<n>).clear()"),
    ),
    Effect("a global that is filled lazily", "if not hasattr(bag<n>, 'k'):\n"
        "    bag<n>.k = x * <v>\nx = x + bag<n>.k", "class P<n>: pass\nbag<n> = P<n>()",
        "", "", ("bag<n> = P<n>()", "vars(bag<n>).clear()"),
    ),
    Effect("an element of a global NumPy array", "bag<n>[0] = <v>",
        "bag<n> = np.zeros(2)", "", "", ("bag<n>[0] = 0.0",),
    ),
    Effect("a global iterator", "x = x * next(it<n>)", "it<n> = itertools.count(1)", "",
        "", ("it<n> = itertools.count(1)",),
    ),
    Effect("a helper that appends", "note<n>(x.sum())",
        "bag<n> = []\ndef note<n>(k):\n    bag<n>.append(k)", "", "", ("bag<n>.clear()",),
    ),
    Effect("an environment variable", "os.environ['FUZZ_<n>'] = '1'"),
)  # fmt: skip


def chosen(number: int, rng: random.Random, of_self: bool) -> Effect:
    """An effect with its placeholders filled in."""
    tables = [ON_ARGUMENTS, ON_GLOBALS] + [ON_SELF] * (3 * of_self)
    effect = rng.choice(rng.choice(tables))
    name, *texts, changes = effect
    return Effect(name, *(filled(text, number, rng) for text in texts), changes)
