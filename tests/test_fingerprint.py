"""The fingerprint: equal for what does the same, different for anything else."""

import dataclasses
import datetime as dt
import functools
import importlib
import json
import os
import subprocess
import sys
import threading
import time
from enum import Enum

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from jfi._errors import FingerprintError
from jfi._persistent.fingerprint import ProgramWalk, fingerprint, registration


def load(source, filename="<case>", **names):
    """Run a program; its function `f`, as if typed into a notebook."""
    space = {"__name__": "__main__", "jax": jax, "jnp": jnp, "np": np, **names}
    exec(compile(source, filename, "exec"), space)
    return space["f"]


def walked(fn):
    walk = ProgramWalk("f()")
    walk.look_at(fn)
    return walk


def same(one, two):
    return fingerprint(load(one)) == fingerprint(load(two))


SAME = {
    "moved": ("def f(x): return x + 1", "\n\n# why\ndef f(x):\n\n    return x + 1"),
    "docstring": (
        "def f(x):\n  g = lambda y: None\n  return x",
        "def f(x):\n  'what'\n  g = lambda y: None\n  return x",
    ),
    "annotations": ("def f(x): return x", "def f(x: int) -> 'int': return x"),
    "other global": ("a = 1\ndef f(x): return x", "a = 2\ndef f(x): return x"),
    "lambda moved": ("f = lambda x: x * 2", "\n\nf = lambda x:   x * 2"),
    "set": (
        "s = {'a', 'b', 'ccc', 1.5}\ndef f(x): return x in s",
        "s = {1.5, 'ccc', 'b', 'a'}\ndef f(x): return x in s",
    ),
    "moved helper": (
        "def h(x): return x\ndef f(x): return h(x)",
        "\n\n\ndef h(x): return x\n\ndef f(x): return h(x)",
    ),
    "moved jitted helper": (
        "@jax.jit\ndef h(x): return x\ng = jax.vmap(jax.grad(h))\n"
        "def f(x): return g(x)",
        "#\n#\n@jax.jit\ndef h(x): return x\n\ng = jax.vmap(jax.grad(h))\n"
        "def f(x): return g(x)",
    ),
    "moved class": (
        "class A:\n  def g(self): return 1\ndef f(x): return A().g()",
        "#\nclass A:\n  'doc'\n  def g(self): return 1\ndef f(x): return A().g()",
    ),
    "equal arrays": (
        "a = np.ones(3)\ndef f(x): return a",
        "a = np.full(3, 1.)\ndef f(x): return a",
    ),
    "unused later": ("def f(x): return x", "def f(x): return x\nb = f"),
}
DIFFERENT = {
    "constant": ("def f(x): return x + 1", "def f(x): return x + 2"),
    "float constant": ("def f(x): return x + 1", "def f(x): return x + 1.0"),
    "true and one": ("def f(x): return x + 1", "def f(x): return x + True"),
    "signed zero": ("def f(x): return 0.0", "def f(x): return -0.0"),
    "operator": ("def f(x): return x + 1", "def f(x): return x - 1"),
    "default": ("def f(x=1): return x", "def f(x=2): return x"),
    "keyword default": ("def f(*, x=1): return x", "def f(*, x=2): return x"),
    "argument name": ("def f(x, y): return x", "def f(y, x): return y"),
    "global": ("a = 1\ndef f(x): return a", "a = 2\ndef f(x): return a"),
    "global type": ("a = 1\ndef f(x): return a", "a = 1.0\ndef f(x): return a"),
    "global undefined": ("def f(x): return a", "a = None\ndef f(x): return a"),
    "shadowed builtin": (
        "def f(x): return len(x)",
        "len = max\ndef f(x): return len(x)",
    ),
    "global in nested": (
        "a = 1\ndef f(x): return (lambda: a)()",
        "a = 2\ndef f(x): return (lambda: a)()",
    ),
    "helper": (
        "def h(x): return x\ndef f(x): return h(x)",
        "def h(x): return -x\ndef f(x): return h(x)",
    ),
    "helper of helper": (
        "def g(x): return x\ndef h(x): return g(x)\ndef f(x): return h(x)",
        "def g(x): return -x\ndef h(x): return g(x)\ndef f(x): return h(x)",
    ),
    "jitted helper": (
        "@jax.jit\ndef h(x): return x\ndef f(x): return h(x)",
        "@jax.jit\ndef h(x): return -x\ndef f(x): return h(x)",
    ),
    "jit options": (
        "def h(x, n): return x\nh = jax.jit(h)\ndef f(x): return h(x, 2)",
        "def h(x, n): return x\nh = jax.jit(h, static_argnums=1)\n"
        "def f(x): return h(x, 2)",
    ),
    "grad argument": (
        "g = jax.grad(lambda a, b: a * b)\ndef f(x): return g(x, x)",
        "g = jax.grad(lambda a, b: a * b, argnums=1)\ndef f(x): return g(x, x)",
    ),
    "vmap axes": (
        "g = jax.vmap(lambda a: a)\ndef f(x): return g(x)",
        "g = jax.vmap(lambda a: a, in_axes=1)\ndef f(x): return g(x)",
    ),
    "derivative rule": (
        "@jax.custom_jvp\ndef h(x): return x\n"
        "h.defjvp(lambda p, t: (p[0], t[0]))\ndef f(x): return h(x)",
        "@jax.custom_jvp\ndef h(x): return x\n"
        "h.defjvp(lambda p, t: (p[0], 2 * t[0]))\ndef f(x): return h(x)",
    ),
    "backward rule": (
        "@jax.custom_vjp\ndef h(x): return x\n"
        "h.defvjp(lambda x: (x, None), lambda r, g: (g,))\ndef f(x): return h(x)",
        "@jax.custom_vjp\ndef h(x): return x\n"
        "h.defvjp(lambda x: (x, None), lambda r, g: (-g,))\ndef f(x): return h(x)",
    ),
    "closure": (
        "def m(a): return lambda x: x + a\nf = m(1)",
        "def m(a): return lambda x: x + a\nf = m(2)",
    ),
    "closure cells": (
        "def m(a, b): return lambda x: a(b(x))\nf = m(np.sin, np.cos)",
        "def m(a, b): return lambda x: a(b(x))\nf = m(np.cos, np.sin)",
    ),
    "partial": (
        "from functools import partial\nf = partial(lambda a, x: a, 1)",
        "from functools import partial\nf = partial(lambda a, x: a, 2)",
    ),
    "method": (
        "class A:\n  def g(self): return 1\nf = A().g",
        "class A:\n  def g(self): return 2\nf = A().g",
    ),
    "attribute": (
        "class A: pass\na = A(); a.k = 1\ndef f(x): return a.k",
        "class A: pass\na = A(); a.k = 2\ndef f(x): return a.k",
    ),
    "slot": (
        "class A: __slots__ = ('k',)\na = A(); a.k = 1\ndef f(x): return a.k",
        "class A: __slots__ = ('k',)\na = A(); a.k = 2\ndef f(x): return a.k",
    ),
    "base class": (
        "class B:\n  k = 1\nclass A(B): pass\ndef f(x): return A.k",
        "class B:\n  k = 2\nclass A(B): pass\ndef f(x): return A.k",
    ),
    "property": (
        "class A:\n  @property\n  def k(self): return 1\ndef f(x): return A().k",
        "class A:\n  @property\n  def k(self): return 2\ndef f(x): return A().k",
    ),
    "static method": (
        "class A:\n  @staticmethod\n  def k(): return 1\ndef f(x): return A.k()",
        "class A:\n  @staticmethod\n  def k(): return 2\ndef f(x): return A.k()",
    ),
    "enum value": (
        "from enum import Enum\nclass E(Enum):\n  A = [1]\ndef f(x): return E.A",
        "from enum import Enum\nclass E(Enum):\n  A = [2]\ndef f(x): return E.A",
    ),
    "dataclass default": (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n  n: int = 1\n"
        "def f(x): return C().n",
        "from dataclasses import dataclass\n@dataclass\nclass C:\n  n: int = 2\n"
        "def f(x): return C().n",
    ),
    "cached helper": (
        "from functools import lru_cache\n@lru_cache\ndef h(): return 1\n"
        "def f(x): return h()",
        "from functools import lru_cache\n@lru_cache\ndef h(): return 2\n"
        "def f(x): return h()",
    ),
    "union of types": (
        "a = int | str\ndef f(x): return a",
        "a = int | bytes\ndef f(x): return a",
    ),
    "list order": ("a = [1, 2]\ndef f(x): return a", "a = [2, 1]\ndef f(x): return a"),
    "dict order": (
        "a = {1: 1, 2: 2}\ndef f(x): return a",
        "a = {2: 2, 1: 1}\ndef f(x): return a",
    ),
    "nesting": ("a = [[1], 2]\ndef f(x): return a", "a = [[1, 2]]\ndef f(x): return a"),
    "sharing": (
        "b = []\na = [b, b]\ndef f(x): return a",
        "a = [[], []]\ndef f(x): return a",
    ),
    "array values": (
        "a = np.zeros(3)\ndef f(x): return a",
        "a = np.ones(3)\ndef f(x): return a",
    ),
    "array dtype": (
        "a = np.zeros(3, 'i4')\ndef f(x): return a",
        "a = np.zeros(3, 'f4')\ndef f(x): return a",
    ),
    "array shape": (
        "a = np.zeros((2, 3))\ndef f(x): return a",
        "a = np.zeros((3, 2))\ndef f(x): return a",
    ),
    "array kind": (
        "a = np.ones(3, 'f4')\ndef f(x): return a",
        "a = jnp.ones(3, 'f4')\ndef f(x): return a",
    ),
    "object array": (
        "a = np.array([1, 'b'], object)\ndef f(x): return a",
        "a = np.array([1, 'c'], object)\ndef f(x): return a",
    ),
    "weak type": (
        "a = jnp.asarray(1.0)\ndef f(x): return a",
        "a = jnp.asarray(1.0, jnp.asarray(1.0).dtype)\ndef f(x): return a",
    ),
    "random key": (
        "a = jax.random.key(0)\ndef f(x): return a",
        "a = jax.random.key(1)\ndef f(x): return a",
    ),
    "random state": (
        "a = np.random.default_rng(0)\ndef f(x): return a",
        "a = np.random.default_rng(1)\ndef f(x): return a",
    ),
    "library function": (
        "def f(x): return np.sin(x)",
        "def f(x): return np.cos(x)",
    ),
    "imported name": (
        "from math import sin as h\ndef f(x): return h(x)",
        "from math import cos as h\ndef f(x): return h(x)",
    ),
    "module behind a name": (
        "m = np\ndef f(x): return m.sin(x)",
        "m = jnp\ndef f(x): return m.sin(x)",
    ),
    "import inside": (
        "def f(x):\n  import numpy as m\n  return m.sin(x)",
        "def f(x):\n  import math as m\n  return m.sin(x)",
    ),
    "exception handler": (
        "def f(x):\n  try: return x\n  except TypeError: return 1",
        "def f(x):\n  try: return x\n  except ValueError: return 1",
    ),
    "generator": ("def f(x): yield x", "def f(x): return x"),
}


@pytest.mark.parametrize("name", SAME)
def test_what_does_the_same_is_the_same(name):
    assert same(*SAME[name])


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_differs(name):
    one, two = DIFFERENT[name]
    assert not same(one, two)
    assert same(one, "\n\n# moved\n" + one)  # the difference is not an accident
    assert same(two, "\n\n# moved\n" + two)


def test_in_another_process_with_another_hash_seed_and_another_file(tmp_path):
    cases = {f"{kind} {name} {number}": source
             for kind, table in (("same", SAME), ("different", DIFFERENT))
             for name, pair in table.items()
             for number, source in enumerate(pair)}  # fmt: skip
    program = """
import json, sys
import jax, jax.numpy as jnp, numpy as np
from jfi._persistent.fingerprint import fingerprint
cases, shift = json.loads(sys.stdin.read()), int(sys.argv[1])
digests = {}
for name, source in cases.items():
    space = {"__name__": "__main__", "jax": jax, "jnp": jnp, "np": np}
    exec(compile("#\\n" * shift + source, f"<{shift}>", "exec"), space)
    digests[name] = fingerprint(space["f"])
print(json.dumps(digests))
"""
    found = []
    for seed in ("1", "2"):
        path = tmp_path / f"script{seed}.py"
        path.write_text("#\n" * int(seed) + program)
        done = subprocess.run(
            [sys.executable, str(path), seed],
            input=json.dumps(cases),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(json.loads(done.stdout))
    first, second = found
    assert {name for name in cases if first[name] != second[name]} == set()


# Values of every plain type, with those that compare equal to another type's.
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text(max_size=4)
    | st.binary(max_size=4)
    | st.sampled_from([0, False, 0.0, -0.0, 0j, "", b"", ...]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


def capture(value):
    return lambda: value


def text(value):
    # repr tells types, signs of zero and the order of dicts; not of long integers.
    return hex(value) if type(value) is int else repr(value)


@settings(max_examples=300, deadline=None)
@given(plain, plain)
def test_captured_values_are_told_apart_exactly(one, two):
    alike = text(one) == text(two)
    assert (fingerprint(capture(one)) == fingerprint(capture(two))) is alike


@settings(max_examples=100, deadline=None)
@given(st.sets(st.text(max_size=3) | st.integers()), st.randoms())
def test_sets_have_no_order(values, random):
    shuffled = random.sample(list(values), len(values))
    assert fingerprint(capture(values)) == fingerprint(capture(set(shuffled)))


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write and import, or write again and reload, a module of the user's."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = []

    def write(name, source):
        (tmp_path / f"{name}.py").write_text(source)
        importlib.invalidate_caches()
        if name in names:
            return importlib.reload(sys.modules[name])
        names.append(name)
        return importlib.import_module(name)

    yield write
    for name in names:
        sys.modules.pop(name, None)


USES = [
    "import {0}\ndef f(x): return {0}.helper(x)",
    "import {0}\ndef f(x): return {0}.CONST",
    "from {0} import helper\ndef f(x): return helper(x)",
    "from {0} import Model\ndef f(x): return Model().go(x)",
    "import {0}\ndef f(x): return {0}.Model().go(x)",
    "import {0}\ndef f(x): return getattr({0}, 'helper')(x)",
    "import {0} as other\nalias = other\ndef f(x): return alias.helper(x)",
    "import {0}\ndef m(m): return lambda x: m.helper(x)\nf = m({0})",
]
BEFORE = """
CONST = 1
def inner(x): return x
def helper(x): return inner(x)
class Model:
    def go(self, x): return inner(x)
"""


@pytest.mark.parametrize("use", USES)
def test_an_edited_module_of_the_user(module, use):
    name = "jfi_case_module"
    module(name, BEFORE)
    before = fingerprint(load(use.format(name)))
    module(name, "# a comment\n\n" + BEFORE)
    assert fingerprint(load(use.format(name))) == before
    edited = BEFORE.replace("return x", "return -x").replace("CONST = 1", "CONST = 2")
    module(name, edited)
    assert fingerprint(load(use.format(name))) != before


def test_a_part_of_a_module_that_is_not_used_does_not_count(module):
    source = "import jfi_case_parts\ndef f(x): return jfi_case_parts.used(x)"
    module("jfi_case_parts", "def used(x): return x\ndef other(x): return x")
    before = fingerprint(load(source))
    module("jfi_case_parts", "def used(x): return x\ndef other(x): return -x")
    assert fingerprint(load(source)) == before


def test_an_edit_two_modules_away(module):
    module("jfi_case_far", "def h(x): return x")
    module("jfi_case_near", "import jfi_case_far\ndef h(x): return jfi_case_far.h(x)")
    source = "from jfi_case_near import h\ndef f(x): return h(x)"
    before = fingerprint(load(source))
    module("jfi_case_far", "def h(x): return -x")
    assert fingerprint(load(source)) != before


def test_changes_within_one_process_are_seen():
    state = {"k": 1}
    array = np.zeros(2)

    def f(x):
        return x + state["k"] + array.sum()

    seen = {fingerprint(f)}
    state["k"] = 2
    seen.add(fingerprint(f))
    array[0] = 1
    seen.add(fingerprint(f))
    f.__defaults__ = (3,)
    seen.add(fingerprint(f))
    assert len(seen) == 4


def test_recursion_and_cycles():
    source = "d = {}\nd['d'] = d\na = []\na.append(a)\ndef f(x): return f(x), a, d"
    assert same(source, "\n" + source)
    assert not same(source, source.replace("a.append(a)", "a.append(d)"))


def test_integers_of_any_length():
    assert not same("def f(x): return 10**9999", "def f(x): return 10**9999 + 1")
    assert fingerprint(capture(10**9999)) != fingerprint(capture(10**9999 + 1))


def test_deep_data_are_refused_with_a_reason():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(FingerprintError, match="nested too deeply"):
        fingerprint(capture(deep))


def test_what_is_memoised_does_not_count():
    class A:
        @functools.cached_property
        def k(self):
            return 1

    @functools.lru_cache
    def helper(n):
        return n

    @jax.jit
    def jitted(x):
        return x

    a = A()

    def f(x):
        return a.k + helper(1) + jitted(x)

    before = fingerprint(f)
    f(1.0)
    assert "k" in vars(a)
    assert fingerprint(f) == before


class Mode(Enum):
    FAST = 1


def test_pytree_classes_count_with_their_registration():
    source = """
import dataclasses
import datetime
@dataclasses.dataclass
class S:
    x: object
    n: int = 1
{0}
def f(x): return S(x)
"""
    plain = source.format("")
    one = source.format("jax.tree_util.register_dataclass(S, ['x'], ['n'])")
    both = source.format("jax.tree_util.register_dataclass(S, ['x', 'n'], [])")
    assert len({fingerprint(load(s)) for s in (plain, one, both)}) == 3
    assert same(one, "\n" + one)


def test_a_pytree_class_with_unknown_functions_is_refused():
    class Odd:
        pass

    jax.tree_util.register_pytree_node(Odd, lambda o: ((), None), lambda a, c: Odd())
    with pytest.raises(
        FingerprintError, match=r"Odd, whose flatten.*register_dataclass"
    ):
        fingerprint(lambda x: Odd())


def test_registrations_that_can_be_repeated():
    @jax.tree_util.register_pytree_node_class
    class A:
        def __init__(self, x):
            self.x = x

        def tree_flatten(self):
            return (self.x,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass(frozen=True)
    class B:
        x: object
        n: int = dataclasses.field(metadata={"static": True}, default=1)

    class C(dict):
        pass

    assert registration(A) == ("methods", (), ())
    assert registration(B) == ("dataclass", ("x",), ("n",))
    assert registration(C) is None
    assert registration(Mode) is None
    assert registration(FingerprintError) is None


lock = threading.Lock()
holder = {"inner": [lock]}
stream = (i for i in range(3))


def uses_clock():
    return time.time()


now = dt.datetime.now


def uses_now():
    return now().year


class PartlyPickled:
    def __init__(self):
        self.k, self.cache = 2, {}

    def __getstate__(self):
        return {"k": self.k}


class MadeAgain(PartlyPickled):
    def __setstate__(self, state):
        self.__init__()


partly_pickled, made_again = PartlyPickled(), MadeAgain()


def uses_environment():
    return os.environ["HOME"]


def uses_open():
    with open("data") as file:
        return file.read()


def uses_globals():
    return globals()["lock"]


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda: lock, r"reaches lock, an object of type _thread.lock, which exists in "
                       r"this process alone\. Create it inside"),
        (lambda: holder, r"reaches holder\['inner'\]\[0\], an object of type _thread"),
        (lambda: stream, r"reaches stream, an object of type builtins.generator"),
        (uses_clock, r"uses_clock\(\) uses time.time, whose result.*pass the result"),
        (uses_environment, r"uses os.environ"),
        (uses_now, r"uses datetime.datetime.now"),
        (uses_open, r"uses (builtins|_?io).open"),
        (lambda: partly_pickled.cache, r"reaches partly_pickled\.cache, which "
                                       r"PartlyPickled\.__getstate__ leaves out"),
        (uses_globals, r"uses builtins.globals"),
    ],
)  # fmt: skip
def test_what_has_no_identity_is_refused(fn, message):
    with pytest.raises(FingerprintError, match=message):
        fingerprint(fn)


def test_attributes_that_are_made_again_do_not_count():
    before = fingerprint(lambda: made_again)
    made_again.cache["grid"] = 1
    assert fingerprint(lambda: made_again) == before


def test_an_open_file_is_refused(tmp_path):
    refusal = pytest.raises(FingerprintError, match=r"type _io\.TextIOWrapper")
    with open(tmp_path / "file", "w") as file, refusal:
        fingerprint(lambda: file.write("x"))


def test_a_user_module_imported_inside_is_refused(module):
    module("jfi_case_inside", "k = 1")
    f = load("def f(x):\n  import jfi_case_inside\n  return jfi_case_inside.k")
    with pytest.raises(FingerprintError, match=r"imports jfi_case_inside inside.*top"):
        fingerprint(f)


def test_a_tracer_is_refused():
    def outer(x):
        with pytest.raises(FingerprintError, match="x, which is being traced"):
            fingerprint(lambda: x)
        return x

    jax.jit(outer)(1.0)


def test_classes_and_functions_are_numbered_alike():
    source = """
class A: pass
class B: pass
def h(x): return B()
s = {'p', 'q'}
def f(x): return A(), h(x), s
"""
    first, second = walked(load(source)), walked(load("\n" + source))
    names = [item.__qualname__ for item in first.shared]
    assert sorted(names) == ["A", "B", "f", "h"]
    assert [item.__qualname__ for item in second.shared] == names


def test_libraries_are_told_with_their_versions():
    found = walked(load("def f(x): return np.sin(jnp.cos(x))")).libraries
    assert found["numpy"] == np.__version__
    assert found["jax"] == jax.__version__


def test_a_new_release_of_a_library_is_another_program(monkeypatch):
    f = load("def f(x): return np.sin(x)")
    before = fingerprint(f)
    monkeypatch.setattr(np, "__version__", "99.0")
    assert fingerprint(f) != before


def test_threads_do_not_disturb_each_other():
    f = load("s = set('abcdef')\ndef f(x): return jnp.sin(x), s")
    expected, found = fingerprint(f), []
    threads = [
        threading.Thread(target=lambda: found.extend(fingerprint(f) for _ in range(50)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {expected}
    assert len(found) == 200


UNSEEN = {
    "renamed locals": (
        "def f(x):\n y = x + 1\n return y", "def f(x):\n z = x + 1\n return z"
    ),
    "a renamed local of a nested function": (
        "def f(x):\n a = x\n def g(): return a + 1\n return g()",
        "def f(x):\n bb = x\n def g(): return bb + 1\n return g()",
    ),
    "annotations as texts": (
        "def f(x: int, y: 'str' = 2) -> float: return x + y",
        "from __future__ import annotations\n"
        "def f(x: int, y: 'str' = 2) -> float: return x + y",
    ),
}  # fmt: skip
SEEN = {
    "a renamed parameter": ("def f(x): return 1", "def f(y): return 1"),
    "locals by name": (
        "def f(x):\n y = x\n return locals()", "def f(x):\n z = x\n return locals()"
    ),
    "swapped parameters": ("def f(x, y): return x - y", "def f(y, x): return x - y"),
    "swapped locals": (
        "def f(x):\n a, b = x\n return a - b", "def f(x):\n a, b = x\n return b - a"
    ),
}  # fmt: skip


def made_by(source):
    names = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec", dont_inherit=True), names)
    return names["f"]


@pytest.mark.parametrize("name", UNSEEN)
def test_names_and_annotations_that_change_nothing_do_not_count(name):
    one, other = map(made_by, UNSEEN[name])
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize("name", SEEN)
def test_names_that_code_can_see_count(name):
    one, other = map(made_by, SEEN[name])
    assert fingerprint(one) != fingerprint(other)
