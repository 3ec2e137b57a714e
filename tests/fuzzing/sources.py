"""What functions under a tool read: one entry for each way to hold a number.

Each is a line of setup, an expression, and lines that change what it gives. The
placeholders are those of `pieces.filled`.
"""

import random
from typing import NamedTuple

from .pieces import Change, Piece, filled


class Source(NamedTuple):
    """The text of a piece, with placeholders."""

    setup: str
    read: str
    changes: tuple[str, ...]
    init: str = ""
    methods: str = ""


GLOBALS = {
    "a float": Source("A<n> = <v>", "A<n>", (
        "A<n> = <v>", "A<n> = <v>", "A<n> = <any>", "del A<n>\nA<n> = <v>",
        'globals()["A<n>"] = <v>', "A<n> += 1", "A<n>, A<n> = <v>, <v>",
        "for A<n> in (<v>, <v>): pass", "from math import pi as A<n>",
        'setattr(sys.modules[__name__], "A<n>", <v>)',
    )),
    "an int": Source("A<n> = <i>", "A<n>", ("A<n> = <i>", "A<n> = <any>", "A<n> *= 2")),
    "a bool": Source("A<n> = <True|False>", "(2.0 if A<n> else 3.0)", (
        "A<n> = not A<n>", "A<n> = <i>", "A<n> = None",
    )),
    "a str": Source('A<n> = "<a|b>"', '(2.0 if A<n> == "a" else 3.0)', (
        'A<n> = "<a|b>"', 'A<n> = b"a"', "A<n> = None",
    )),
    "a range": Source("A<n> = range(<i>)", "len(A<n>)", (
        "A<n> = range(<i>)", "A<n> = [0, 0]",
    )),
    "an optional": Source("A<n> = None", "(0.5 if A<n> is None else A<n>)", (
        "A<n> = <v>", "A<n> = None", "A<n> = <any>",
    )),
    "a tuple": Source("A<n> = (<v>, <v>)", "sum(A<n>)", (
        "A<n> = (<v>, <v>)", "A<n> = (<v>,)", "A<n> = [<v>, <any>]",
        "A<n> = A<n> + (<i>,)", "A<n> = np.asarray([<v>, <v>])",
    )),
    "a list": Source("A<n> = [<v>, <v>]", "sum(A<n>)", (
        "A<n>[0] = <v>", "A<n>[-1] = <any>", "A<n>.append(<v>)", "A<n>[:] = [<v>, <v>]",
        "A<n> = [<v>, <v>, <v>]", "A<n>.pop()\nA<n>.append(<v>)", "A<n> *= 2",
        "A<n>.insert(0, <i>)", "del A<n>[0]\nA<n> += [<v>]",
    )),
    "an item of a list": Source("A<n> = [<v>, <v>]", "A<n>[-1]", (
        "A<n>[-1] = <v>", "A<n>.reverse()", "A<n>.append(<any>)", "A<n> = (<v>,)",
        "A<n>.sort()",
    )),
    "the length of a list": Source("A<n> = [1]", "len(A<n>)", (
        "A<n>.append(1)", "A<n>.clear()", "A<n> = [1, 1]",
    )),
    "a list in a list": Source("A<n> = [[<v>], [<v>]]", "(A<n>[0][0] + A<n>[1][0])", (
        "A<n>[0][0] = <v>", "A<n>[1] = A<n>[0]", "A<n>[0] = [<any>]", "A<n>[1] = [<v>]",
        "A<n> = [[<v>], [<v>]]",
    )),
    "a dict": Source('A<n> = {"a": <v>, "b": <v>}', '(A<n>["a"] + A<n>["b"])', (
        'A<n>["a"] = <v>', 'A<n>["b"] = <any>', 'A<n>.update(a=<v>)',
        'A<n> = {"b": <v>, "a": <v>}', 'A<n> |= {"b": <v>}', 'A<n>["c"] = <v>',
        'del A<n>["a"]\nA<n>["a"] = <v>', 'A<n>["a"], A<n>["b"] = A<n>["b"], A<n>["a"]',
    )),
    "a dict that is gone through": Source('A<n> = {"a": <v>}', "sum(A<n>.values())", (
        'A<n>["a"] = <v>', 'A<n>["b"] = <v>', "A<n>.clear()", "A<n>[0] = <any>",
    )),
    "a key in a dict": Source("A<n> = {1: 0.0}", "(2.0 if <i> in A<n> else 0.5)", (
        "A<n>[<i>] = 1.0", "A<n>.pop(<i>, None)", "A<n> = {<i>: 0}",
    )),
    "get of a dict": Source("A<n> = {}", 'A<n>.get("a", 0.5)', (
        'A<n>["a"] = <v>', 'A<n>.pop("a", 0)', 'A<n>.setdefault("a", <v>)',
    )),
    "a dict in a dict": Source('A<n> = {"s": {"a": <v>}}', 'A<n>["s"]["a"]', (
        'A<n>["s"]["a"] = <v>', 'A<n>["s"] = {"a": <any>}', 'A<n>["s"].update(b=1)',
    )),
    "a set": Source("A<n> = {1, 2}", "(sum(A<n>) + len(A<n>))", (
        "A<n>.add(3)", "A<n>.discard(2)", "A<n> = frozenset([<i>])", "A<n>.clear()",
    )),
    "a NumPy array": Source("A<n> = np.asarray([<v>, <v>])", "A<n>.sum()", (
        "A<n>[0] = <v>", "A<n>[:] = <v>", "A<n> *= 2", "A<n>.fill(<v>)",
        "np.copyto(A<n>, <v>)", "A<n> = np.asarray([<v>, <v>])", "A<n> = np.ones(3)",
        "A<n> = A<n>.astype('float32')", "A<n> = np.asarray(A<n>, 'float16')", "A<n>[-1:] += <i>",
        "A<n> = np.asarray([<i>, <i>])", "A<n> = np.full((2, 2), <v>)",
    )),
    "an element of a NumPy array": Source(
        "A<n> = np.asarray([<v>, <v>], 'float32')", "A<n>[0]", (
        "A<n>[0] = <v>", "V<n> = A<n>[:1]\nV<n>[0] = <v>", "A<n>.sort()",
        "A<n> = A<n>[::-1]", "A<n> = [<v>]", "memoryview(A<n>)[0] = <v>",
    )),
    "a NumPy scalar": Source("A<n> = np.float32(<v>)", "A<n>", (
        "A<n> = np.float32(<v>)", "A<n> = <any>", "A<n> = np.asarray(<v>)",
    )),
    "the class of a number": Source(
        "A<n> = <v>", "(2.0 if isinstance(A<n>, <float|(int, float)|np.generic>) else 3.0)",
        ("A<n> = <v>", "A<n> = <any>", "A<n> = <any>"),
    ),
    "the type of a number": Source(
        "A<n> = <v>", "(2.0 if type(A<n>) is <float|np.float32> else 3.0)",
        ("A<n> = <v>", "A<n> = <any>", "A<n> = <any>"),
    ),
    "the class of an array": Source(
        "A<n> = np.asarray([<v>])", "(A<n>[0] * (2.0 if isinstance(A<n>, np.ndarray) else 3.0))", (
        "A<n> = jnp.asarray([<v>])", "A<n> = np.asarray([<v>])", "A<n> = [<v>]",
    )),
    "whether a number is an array": Source(
        "A<n> = <v>", "(2.0 if hasattr(A<n>, 'shape') else 3.0)",
        ("A<n> = <v>", "A<n> = <any>", "A<n> = <any>"),
    ),
    "a class in a match": Source(
        "A<n> = <v>\ndef f<n>():\n    match A<n>:\n        case float(): return 2.0\n"
        "        case np.ndarray() | np.generic(): return 3.0\n        case _: return 5.0",
        "f<n>()", ("A<n> = <v>", "A<n> = <any>", "A<n> = <any>"),
    ),
    "the shape of an array": Source("A<n> = np.zeros((<i>, 2))", "A<n>.shape[0]", (
        "A<n> = np.zeros(<i>)", "A<n> = jnp.zeros((<i>, 1))", "A<n>.shape = (1, -1)",
    )),
    "the dtype of an array": Source(
        "A<n> = np.zeros(2, 'f2')", "(1.5 if A<n>.dtype == np.float32 else 2.5)", (
        "A<n> = np.zeros(2, 'float32')", "A<n> = np.zeros(2, 'f2')", "A<n> = jnp.zeros(2)",
    )),
    "a JAX array": Source("A<n> = jnp.asarray([<v>, <v>])", "A<n>.sum()", (
        "A<n> = jnp.asarray([<v>, <v>])", "A<n> = A<n> * 2", "A<n> = jnp.ones(3)",
        "A<n> = np.asarray([<v>])", "A<n> += 1",
        "A<n> = jnp.asarray([<i>, <i>])",
    )),
    "arrays in a dict": Source(
        'A<n> = {"w": jnp.asarray([<v>, 1.0]), "b": np.asarray([<v>])}',
        '(A<n>["w"].sum() + A<n>["b"][0])', (
        'A<n>["b"][0] = <v>', 'A<n>["w"] = A<n>["w"] + 1', 'A<n>["b"] = np.ones(1)',
        'A<n> = {"w": np.ones(2), "b": np.ones(1)}', 'A<n>["w"] = np.full(2, <v>)',
    )),
    "a namedtuple": Source(
        "A<n> = collections.namedtuple('A<n>', 'a b')(<v>, <v>)", "A<n>.a", (
        "A<n> = A<n>._replace(a=<v>)", "A<n> = A<n>._replace(b=<v>)",
        "A<n> = types.SimpleNamespace(a=<any>)",
    )),
    "an array held twice": Source(
        "B<n> = np.asarray([<v>])\nA<n> = [B<n>, B<n>]", "(A<n>[0] + A<n>[1])[0]", (
        "B<n>[0] = <v>", "A<n>[0] = np.asarray([<v>])", "A<n>[1] = A<n>[0]",
    )),
    "a variable of a context": Source(
        "A<n> = contextvars.ContextVar('A<n>', default=<v>)", "A<n>.get()", (
        "A<n>.set(<v>)", "A<n>.set(<i>)",
    )),
    "a deque": Source("A<n> = collections.deque([<v>], maxlen=2)", "sum(A<n>)", (
        "A<n>.append(<v>)", "A<n>.rotate(1)\nA<n>[0] = <v>", "A<n>.clear()",
    )),
    "a default dict": Source(
        "A<n> = collections.defaultdict(lambda: 0.5)\nA<n>[1] = <v>", "A<n>.get(1)", (
        "A<n>[1] = <v>", "A<n>[2] = <v>",
    )),
}  # fmt: skip

FUNCTIONS = {
    "the result of a function": Source("def f<n>():\n    return <v>", "f<n>()", (
        "def f<n>():\n    return <v>", "f<n> = lambda: <v>",
        "f<n>.__code__ = (lambda: <v>).__code__", "f<n> = functools.partial(float, <v>)",
        "f<n> = lambda k=<v>: k",
    )),
    "a default": Source("def f<n>(k=<v>):\n    return k", "f<n>()", (
        "f<n>.__defaults__ = (<v>,)", "f<n>.__defaults__ = (<any>,)",
        "def f<n>(k=<v>):\n    return k", "def f<n>(k=<v>):\n    return 2 * k",
    )),
    "a default from a global": Source(
        "P<n> = [<v>, <v>]\ndef f<n>(p=P<n>):\n    return p[0]", "f<n>()", (
        "P<n>[0] = <v>", "P<n> = [<v>, <v>]", "f<n>.__defaults__ = (P<n>,)",
        "f<n>.__defaults__[0][0] = <v>", "P<n>.reverse()",
    )),
    "a default array": Source(
        "P<n> = np.asarray([<v>])\ndef f<n>(p=P<n>):\n    return p[0]", "f<n>()", (
        "P<n>[0] = <v>", "P<n> = np.asarray([<v>])", "f<n>.__defaults__ = (P<n>,)",
    )),
    "a default dict of settings": Source(
        "P<n> = {'a': <v>}\ndef f<n>(p=P<n>):\n    return p['a']", "f<n>()", (
        "P<n>['a'] = <v>", "f<n>.__defaults__ = ({'a': <v>},)", "P<n>['b'] = 1",
    )),
    "a keyword default": Source("def f<n>(*, k=<v>):\n    return k", "f<n>()", (
        "f<n>.__kwdefaults__ = {'k': <v>}", "f<n>.__kwdefaults__['k'] = <v>",
        "def f<n>(*, k=<v>):\n    return k",
    )),
    "a default function": Source(
        "A<n> = <v>\ndef f<n>(g=lambda: A<n>):\n    return g()", "f<n>()", (
        "A<n> = <v>", "f<n>.__defaults__ = (lambda: <v>,)", "A<n> = <any>",
    )),
    "an attribute of a function": Source(
        "def f<n>():\n    return f<n>.k\nf<n>.k = <v>", "f<n>()", (
        "f<n>.k = <v>", "f<n>.k = <any>", "f<n>.__dict__['k'] = <v>",
        "del f<n>.k\nf<n>.k = <v>",
    )),
    "an attribute of a function, from outside": Source(
        "def f<n>():\n    pass\nf<n>.k = <v>", "f<n>.k", (
        "f<n>.k = <v>", "def f<n>():\n    pass\nf<n>.k = <v>",
    )),
    "a cached function": Source(
        "A<n> = <v>\n@functools.lru_cache\ndef f<n>(k):\n    return A<n> * k", "f<n>(2)", (
        "A<n> = <v>", "f<n>.cache_clear()", "A<n> = <v>\nf<n>.cache_clear()",
    )),
    "a cached function of an array": Source(
        "A<n> = jnp.asarray(<v>)\n@functools.lru_cache\ndef f<n>(k):\n    return A<n> * k",
        "f<n>(2)", (
        "A<n> = jnp.asarray(<v>)", "f<n>.cache_clear()",
        "A<n> = jnp.asarray(<v>)\nf<n>.cache_clear()", "f<n>.cache_clear()\nf<n>(2)",
        "A<n> = np.asarray([<v>])\nf<n>.cache_clear()",
    )),
    "a cached function of its arguments": Source(
        "A<n> = <i>\n@functools.cache\ndef f<n>(k):\n    return jnp.arange(4.0)[k]",
        "f<n>(A<n>)", ("A<n> = <i>", "f<n>.cache_clear()"),
    ),
    "a function that remembers": Source(
        "A<n> = <v>\ndef f<n>(memory={}):\n    if 0 not in memory:\n"
        "        memory[0] = A<n>\n    return memory[0]", "f<n>()", (
        "A<n> = <v>", "f<n>.__defaults__[0].clear()", "f<n>.__defaults__ = ({},)",
    )),
    "a closure": Source(
        "def make<n>():\n    k = <v>\n    def get():\n        return k\n"
        "    def put(new):\n        nonlocal k\n        k = new\n    return get, put\n"
        "get<n>, put<n> = make<n>()", "get<n>()", (
        "put<n>(<v>)", "put<n>(<any>)", "get<n>, put<n> = make<n>()",
        "get<n>.__closure__[0].cell_contents = <v>",
    )),
    "a closure with a list": Source(
        "def make<n>(k):\n    return lambda: k[0]\n"
        "K<n> = [<v>]\nget<n> = make<n>(K<n>)", "get<n>()", (
        "K<n>[0] = <v>", "get<n> = make<n>([<v>])", "K<n> = [<v>]",
    )),
    "a closure in a closure": Source(
        "def make<n>():\n    k = <v>\n    def inner():\n        return k\n"
        "    def outer():\n        return inner()\n    def put(new):\n"
        "        nonlocal k\n        k = new\n    return outer, put\n"
        "get<n>, put<n> = make<n>()", "get<n>()", (
        "put<n>(<v>)", "put<n>(<i>)", "get<n>, put<n> = make<n>()",
    )),
    "a wrapped function": Source(
        "A<n> = <v>\ndef double<n>(f):\n    @functools.wraps(f)\n"
        "    def wrapper(*args):\n        return 2 * f(*args)\n    return wrapper\n"
        "@double<n>\ndef f<n>():\n    return A<n>", "f<n>()", (
        "A<n> = <v>", "f<n> = double<n>(lambda: <v>)", "f<n> = f<n>.__wrapped__",
    )),
    "a recursive function": Source(
        "A<n> = <v>\ndef f<n>(k):\n    return A<n> if k == 0 else f<n>(k - 1)", "f<n>(2)",
        ("A<n> = <v>", "A<n> = <any>", "old<n> = f<n>\nf<n> = lambda k: 2 * old<n>(k)"),
    ),
    "a partial": Source(
        "def f<n>(a, b):\n    return a * b\ng<n> = functools.partial(f<n>, <v>, b=<v>)",
        "g<n>()", (
        "g<n> = functools.partial(f<n>, <v>, <v>)", "g<n>.keywords['b'] = <v>",
        "g<n> = functools.partial(g<n>, b=<v>)", "def f<n>(a, b):\n    return a + b",
    )),
    "a function of another module's": Source(
        "m<n> = sys.modules['fuzz_<n>'] = types.ModuleType('fuzz_<n>')\n"
        "exec('A = <v>\\ndef f():\\n    return A', vars(m<n>))", "m<n>.f()", (
        "m<n>.A = <v>", "m<n>.f = lambda: <v>", "m<n>.A = <any>",
        "exec('def f():\\n    return A + 1', vars(m<n>))",
    )),
    "a function imported from another module": Source(
        "m<n> = sys.modules['fuzz_<n>'] = types.ModuleType('fuzz_<n>')\n"
        "exec('A = <v>\\ndef f():\\n    return A', vars(m<n>))\n"
        "from fuzz_<n> import f as f<n>", "f<n>()", (
        "m<n>.A = <v>", "m<n>.f = lambda: <v>", "vars(m<n>)['A'] = <v>",
        "f<n> = lambda: <v>",
    )),
}  # fmt: skip


def made(name: str, source: Source, number: int, rng: random.Random) -> Piece:
    """A piece that reads one source directly."""
    changes = tuple(Change(change, number, change) for change in source.changes)
    return Piece(
        name,
        number,
        filled(source.setup, number, rng),
        filled(source.read, number, rng),
        changes,
        filled(source.init, number, rng),
        filled(source.methods, number, rng),
    )
