"""Scripts before and after an edit: tables for `programs/test_persistent_edits.py`.

Each script defines `f`, and the arguments of its call as `args` if it is not `(2.0,)`.
Two scripts in `EDITED` give different results; those in `UNTOUCHED` do the same.
"""

HEAD = """\
import dataclasses, enum, functools, operator, types
import jax, jax.numpy as jnp, numpy as np
import jfi
"""


def headed(script):
    """A script with its imports; those from the future stand first."""
    future = "from __future__ import annotations\n"
    if script.startswith(future):
        return future + HEAD + script.removeprefix(future)
    return HEAD + script


def edits(script, *pairs):
    """A script with a hole, and what is written there before and after."""
    return tuple(script.replace("HOLE", text) for text in pairs)


DATACLASS = """
@dataclasses.dataclass
class C:
    HOLE
"""
FIELDS = DATACLASS.replace("HOLE", "a: float = 2.0\n    b: float = HOLE")

EDITED = {
    "a constant": edits("def f(x): return x + HOLE", "1", "2"),
    "the type of a constant": edits("def f(x): return (x + 1) ** HOLE", "2", "2.5"),
    "an operator": edits("def f(x): return x HOLE 3", "+", "*"),
    "a default": edits("def f(x, k=HOLE): return x * k", "2", "3"),
    "a default that is data": edits("def f(x, k=HOLE): return x * k", "2.0", "3.0"),
    "a keyword default": edits("def f(x, *, k=HOLE): return x * k", "2", "3"),
    "a list as default": edits("def f(x, k=[HOLE]): return x * k[0]", "2", "3"),
    "a helper": edits("def h(x): return x * HOLE\ndef f(x): return h(x)", "2", "3"),
    "a helper's helper": edits(
        "def g(x): return x * HOLE\ndef h(x): return g(x)\ndef f(x): return h(x)",
        "2", "3",
    ),
    "which helper": edits(
        "def g(x): return x\ndef h(x): return -x\ndef f(x): return HOLE(x)", "g", "h"
    ),
    "a helper's default": edits(
        "def h(x, k=HOLE): return x * k\ndef f(x): return h(x)", "2", "3"
    ),
    "a helper's global": edits(
        "k = HOLE\ndef h(x): return x * k\ndef f(x): return h(x)", "2", "3"
    ),
    "a nested function": edits(
        "def f(x):\n  def g(y): return y * HOLE\n  return g(x)", "2", "3"
    ),
    "a lambda in a list": edits(
        "steps = [lambda x: x + 1, lambda x: x * HOLE]\n"
        "def f(x):\n  for s in steps: x = s(x)\n  return x",
        "2", "3",
    ),
    "a lambda in a dict": edits(
        "steps = {'a': lambda x: x * HOLE}\ndef f(x): return steps['a'](x)", "2", "3"
    ),
    "a comprehension": edits("def f(x): return sum(x * i for i in range(HOLE))",
                             "2", "3"),
    "an exception handler": edits(
        "def f(x):\n  try: {}['a']\n  except HOLE: return x\n"
        "  except LookupError: return -x",
        "KeyError", "IndexError",
    ),
    "a global int": edits("k = HOLE\ndef f(x): return x * k", "2", "3"),
    "a global float": edits("k = HOLE\ndef f(x): return x * k", "2.0", "3.0"),
    "a global bool": edits("k = HOLE\ndef f(x): return x if k else -x",
                           "True", "False"),
    "a global text": edits("k = HOLE\ndef f(x): return x if k == 'a' else -x",
                           "'a'", "'b'"),
    "None or not": edits("k = HOLE\ndef f(x): return x if k is None else -x",
                         "None", "0"),
    "the sign of zero": edits(
        "k = HOLE\ndef f(x): return jnp.copysign(x, np.float32(k))", "0.0", "-0.0"
    ),
    "a global list": edits("k = [1, HOLE]\ndef f(x): return x * k[1]", "2", "3"),
    "a list's order": edits("k = [HOLE]\ndef f(x): return x * k[0]", "2, 3", "3, 2"),
    "a dict's value": edits("k = {'a': HOLE}\ndef f(x): return x * k['a']", "2", "3"),
    "a dict's order": edits(
        "k = {HOLE}\ndef f(x):\n  for v in k.values(): x = x * 2 + v\n  return x",
        "'a': 1, 'b': 2", "'b': 2, 'a': 1",
    ),
    "a dict's key": edits("k = {HOLE: 3}\ndef f(x): return x * k.get(1, 5)", "1", "2"),
    "a set": edits("k = {1, HOLE}\ndef f(x): return x if 2 in k else -x", "2", "3"),
    "a tuple": edits("k = (1, HOLE)\ndef f(x): return x * k[1]", "2", "3"),
    "a range": edits("k = range(HOLE)\ndef f(x):\n  for i in k: x = x + i\n  return x",
                     "3", "4"),
    "a slice": edits(
        "k = slice(HOLE)\ndef f(x): return jnp.arange(5.0)[k].sum() * x", "3", "4"
    ),
    "a NumPy array": edits("k = np.array([1.0, HOLE])\ndef f(x): return x * k",
                           "2.0", "3.0"),
    "a JAX array": edits("k = jnp.array([1.0, HOLE])\ndef f(x): return x * k",
                         "2.0", "3.0"),
    "an array's dtype": edits("k = np.ones(2, 'HOLE')\ndef f(x): return x * k, k.dtype",
                              "float32", "int32"),
    "an array's shape": edits("k = np.ones(HOLE)\ndef f(x): return x * k",
                              "(2, 3)", "(3, 2)"),
    "an array's order in memory": edits(
        "k = np.array([[1.0, 2.0], [3.0, 4.0]], order='HOLE')\n"
        "def f(x): return x * k.ravel('K'), k.flags.f_contiguous",
        "C", "F",
    ),
    "an array of text": edits(
        "k = np.array(['HOLE'])\ndef f(x): return x if k[0] == 'a' else -x", "a", "b"
    ),
    "an array in a jitted helper": edits(
        "k = np.full(2, HOLE)\n@jax.jit\ndef h(x): return x * k\ndef f(x): return h(x)",
        "2.0", "3.0",
    ),
    "a jitted helper": edits(
        "@jax.jit\ndef h(x): return x * HOLE\ndef f(x): return h(x)", "2", "3"
    ),
    "a jitted helper's helper": edits(
        "def g(x): return x * HOLE\n@jax.jit\ndef h(x): return g(x)\n"
        "def f(x): return h(x)",
        "2", "3",
    ),
    "a jitted helper's options": edits(
        "@functools.partial(jax.jit, HOLE)\ndef h(x, n=2): return x * n\n"
        "def f(x): return isinstance(h(x), int), h(x), h.__wrapped__(x, 3)",
        "inline=True", "inline=False",
    ),
    "jfi's jit": edits("@jfi.jit\ndef h(x): return x * HOLE\ndef f(x): return h(x)",
                       "2", "3"),
    "an autojitted helper": edits(
        "@jfi.autojit\ndef h(x): return x * HOLE\ndef f(x): return h(x)", "2", "3"
    ),
    "a persistent helper": edits(
        "@jfi.persistent\ndef h(x): return x * HOLE\ndef f(x): return h(x)", "2", "3"
    ),
    "what is differentiated": edits(
        "def h(a, b): return a * b * b\ng = jax.grad(h, argnums=HOLE)\n"
        "def f(x): return g(x, 3.0)",
        "0", "1",
    ),
    "what jfi differentiates": edits(
        "def h(a, b): return a * b * b\ng = jfi.grad(h, argnums=HOLE)\n"
        "def f(x): return g(x, 3.0)",
        "0", "1",
    ),
    "axes of vmap": edits(
        "g = jax.vmap(lambda a: a.sum(), in_axes=HOLE)\n"
        "def f(x): return g(jnp.arange(6.0).reshape(2, 3)) * x",
        "0", "1",
    ),
    "a derivative rule": edits(
        "@jax.custom_jvp\ndef h(x): return x * x\n"
        "h.defjvp(lambda p, t: (p[0], HOLE * t[0]))\ndef f(x): return jax.grad(h)(x)",
        "2", "3",
    ),
    "a backward rule": edits(
        "@jax.custom_vjp\ndef h(x): return x * x\n"
        "h.defvjp(lambda x: (x, None), lambda r, g: (HOLE * g,))\n"
        "def f(x): return jax.grad(h)(x)",
        "2", "3",
    ),
    "a rule inside": edits(
        "def make(k):\n  @jax.custom_jvp\n  def h(x): return x * x\n"
        "  h.defjvp(lambda p, t: (p[0], k * t[0]))\n  return h\n"
        "h = make(HOLE)\ndef f(x): return jax.grad(h)(x)",
        "2", "3",
    ),
    "a closure": edits("def m(k): return lambda x: x * k\nf = m(HOLE)", "2", "3"),
    "which closure": edits(
        "def m(a, b): return lambda x: a(b(x))\nf = m(HOLE)",
        "jnp.sin, jnp.exp", "jnp.exp, jnp.sin",
    ),
    "a closure in a helper": edits(
        "def m(k): return lambda x: x * k\nh = m(HOLE)\ndef f(x): return h(x)",
        "2", "3",
    ),
    "a decorator's argument": edits(
        "def times(k):\n  def wrap(fn):\n    @functools.wraps(fn)\n"
        "    def run(x): return fn(x) * k\n    return run\n  return wrap\n"
        "@times(HOLE)\ndef h(x): return x\ndef f(x): return h(x)",
        "2", "3",
    ),
    "its own decorator": edits(
        "def times(k):\n  def wrap(fn):\n    @functools.wraps(fn)\n"
        "    def run(x): return fn(x) * k\n    return run\n  return wrap\n"
        "@times(HOLE)\ndef f(x): return x",
        "2", "3",
    ),
    "a decorator's code": edits(
        "def wrap(fn):\n  @functools.wraps(fn)\n  def run(x): return fn(x) * HOLE\n"
        "  return run\n@wrap\ndef f(x): return x",
        "2", "3",
    ),
    "an attribute of a function": edits(
        "def h(x): return x * h.k\nh.k = HOLE\ndef f(x): return h(x)", "2", "3"
    ),
    "arguments of a partial": edits(
        "f = functools.partial(lambda k, x: k * x, HOLE)", "2", "3"
    ),
    "keywords of a partial": edits(
        "h = functools.partial(lambda x, k: k * x, k=HOLE)\ndef f(x): return h(x)",
        "2", "3",
    ),
    "a partial's class": edits(
        "class P(functools.partial):\n"
        "  def __call__(self, x): return super().__call__(x) * HOLE\n"
        "h = P(operator.neg)\ndef f(x): return h(x)",
        "2", "3",
    ),
    "a partial method": edits(
        "class C:\n  def g(self, k, x): return k * x\n"
        "  h = functools.partialmethod(g, HOLE)\ndef f(x): return C().h(x)",
        "2", "3",
    ),
    "a method": edits("class C:\n  def g(self, x): return x * HOLE\nf = C().g",
                      "2", "3"),
    "a method of a global": edits(
        "class C:\n  def g(self, x): return x * HOLE\nc = C()\ndef f(x): return c.g(x)",
        "2", "3",
    ),
    "a method of what is made": edits(
        "class C:\n  def g(self, x): return x * HOLE\ndef f(x): return C().g(x)",
        "2", "3",
    ),
    "a method of an argument": edits(
        "class C:\n  def g(self, x): return x * HOLE\ndef f(c, x): return c.g(x)\n"
        "args = C(), 2.0",
        "2", "3",
    ),
    "what a method calls": edits(
        "def h(x): return x * HOLE\nclass C:\n  def g(self, x): return h(x)\n"
        "def f(x): return C().g(x)",
        "2", "3",
    ),
    "a global of a method": edits(
        "k = HOLE\nclass C:\n  def g(self, x): return x * k\ndef f(x): return C().g(x)",
        "2.0", "3.0",
    ),
    "a base's method": edits(
        "class B:\n  def g(self, x): return x * HOLE\nclass C(B): pass\n"
        "def f(x): return C().g(x)",
        "2", "3",
    ),
    "which base": edits(
        "class A:\n  k = 2\nclass B:\n  k = 3\nclass C(HOLE): pass\n"
        "def f(x): return C().k * x",
        "A, B", "B, A",
    ),
    "a method by super": edits(
        "class B:\n  def g(self, x): return x * HOLE\n"
        "class C(B):\n  def g(self, x): return -super().g(x)\n"
        "def f(x): return C().g(x)",
        "2", "3",
    ),
    "__init__": edits(
        "class C:\n  def __init__(self): self.k = HOLE\ndef f(x): return C().k * x",
        "2", "3",
    ),
    "__call__": edits(
        "class C:\n  def __call__(self, x): return x * HOLE\nf = C()", "2", "3"
    ),
    "__getattr__": edits(
        "class C:\n  def __getattr__(self, name): return HOLE\n"
        "c = C()\ndef f(x): return c.anything * x",
        "2", "3",
    ),
    "an operator's overload": edits(
        "class C:\n  def __rmul__(self, x): return x * HOLE\n"
        "def f(x): return float(3) * C() + x",
        "2", "3",
    ),
    "__getitem__": edits(
        "class C:\n  def __getitem__(self, i): return i + HOLE\nc = C()\n"
        "def f(x): return c[1] * x",
        "2", "3",
    ),
    "__iter__": edits(
        "class C:\n  def __iter__(self): return iter([1, HOLE])\nc = C()\n"
        "def f(x): return sum(c) * x",
        "2", "3",
    ),
    "__len__": edits(
        "class C:\n  def __len__(self): return HOLE\nc = C()\n"
        "def f(x): return len(c) * x",
        "2", "3",
    ),
    "__bool__": edits(
        "class C:\n  def __bool__(self): return HOLE\nc = C()\n"
        "def f(x): return x if c else -x",
        "True", "False",
    ),
    "__eq__": edits(
        "class C:\n  def __eq__(self, o): return HOLE\n  __hash__ = None\n"
        "c, d = C(), C()\ndef f(x): return x if c == d else -x",
        "True", "False",
    ),
    "__enter__": edits(
        "class C:\n  def __enter__(self): return HOLE\n  def __exit__(self, *a): pass\n"
        "def f(x):\n  with C() as k: return x * k",
        "2", "3",
    ),
    "__format__": edits(
        "class C:\n  def __format__(self, s): return 'HOLE'\nc = C()\n"
        "def f(x): return f'{c}', x",
        "2", "3",
    ),
    "a property": edits(
        "class C:\n  @property\n  def k(self): return HOLE\ndef f(x): return C().k * x",
        "2", "3",
    ),
    "a cached property": edits(
        "class C:\n  @functools.cached_property\n  def k(self): return HOLE\n"
        "def f(x): return C().k * x",
        "2", "3",
    ),
    "a static method": edits(
        "class C:\n  @staticmethod\n  def k(): return HOLE\ndef f(x): return C.k() * x",
        "2", "3",
    ),
    "a class method": edits(
        "class C:\n  @classmethod\n  def k(cls): return HOLE\n"
        "def f(x): return C.k() * x",
        "2", "3",
    ),
    "a class method's class": edits(
        "class C:\n  n = HOLE\n  @classmethod\n  def k(cls): return cls.n\n"
        "def f(x): return C.k() * x",
        "2", "3",
    ),
    "a descriptor": edits(
        "class D:\n  def __init__(self, k): self.k = k\n"
        "  def __get__(self, o, c): return self.k\nclass C:\n  k = D(HOLE)\n"
        "def f(x): return C().k * x",
        "2", "3",
    ),
    "a descriptor's class": edits(
        "class D:\n  def __get__(self, o, c): return HOLE\nclass C:\n  k = D()\n"
        "def f(x): return C().k * x",
        "2", "3",
    ),
    "a metaclass": edits(
        "class M(type):\n  def __call__(cls, x): return x * HOLE\n"
        "class C(metaclass=M): pass\ndef f(x): return C(x)",
        "2", "3",
    ),
    "an attribute of a metaclass": edits(
        "class M(type):\n  k = HOLE\nclass C(metaclass=M): pass\n"
        "def f(x): return C.k * x",
        "2", "3",
    ),
    "a class attribute": edits("class C:\n  k = HOLE\ndef f(x): return C.k * x",
                               "2", "3"),
    "a base's attribute": edits(
        "class B:\n  k = HOLE\nclass C(B): pass\ndef f(x): return C().k * x",
        "2.0", "3.0",
    ),
    "a class's list": edits("class C:\n  k = [HOLE]\ndef f(x): return C.k[0] * x",
                            "2", "3"),
    "a class's array": edits(
        "class C:\n  k = np.array([HOLE])\ndef f(x): return C.k * x", "2.0", "3.0"
    ),
    "a class's function": edits(
        "class C:\n  k = staticmethod(lambda x: x * HOLE)\ndef f(x): return C.k(x)",
        "2", "3",
    ),
    "a nested class": edits(
        "class C:\n  class D:\n    k = HOLE\ndef f(x): return C.D.k * x", "2", "3"
    ),
    "a jitted method": edits(
        "class C:\n  @functools.partial(jax.jit, static_argnums=0)\n"
        "  def g(self, x): return x * HOLE\nc = C()\ndef f(x): return c.g(x)",
        "2", "3",
    ),
    "an autojitted method": edits(
        "class C:\n  @jfi.autojit\n  def g(self, x): return x * HOLE\nc = C()\n"
        "def f(x): return c.g(x)",
        "2", "3",
    ),
    "an attribute": edits(
        "class C: pass\nc = C()\nc.k = HOLE\ndef f(x): return c.k * x", "2", "3"
    ),
    "an attribute that is data": edits(
        "class C: pass\nc = C()\nc.k = HOLE\ndef f(x): return c.k * x", "2.0", "3.0"
    ),
    "a slot": edits(
        "class C: __slots__ = ('k',)\nc = C()\nc.k = HOLE\ndef f(x): return c.k * x",
        "2", "3",
    ),
    "the names of slots": edits(
        "class C: __slots__ = ('HOLE',)\ndef f(x): return x * len(C.__slots__[0])",
        "k", "kk",
    ),
    "__match_args__": edits(
        "class C:\n  __match_args__ = (HOLE)\n"
        "  def __init__(self): self.a, self.b = 2, 3\n"
        "def f(x):\n  match C():\n    case C(k, _): return x * k",
        "'a', 'b'", "'b', 'a'",
    ),
    "a class's annotations": edits(
        "class C:\n  a: HOLE\ndef f(x):\n"
        "  return x if C.__annotations__['a'] is int else -x",
        "int", "float",
    ),
    "a class's docstring": edits(
        "class C:\n  'HOLE'\ndef f(x): return x * len(C.__doc__)", "aa", "aaa"
    ),
    "a helper's docstring": edits(
        "def h(x):\n  'HOLE'\n  return x\ndef f(x): return h(x) * len(h.__doc__)",
        "aa", "aaa",
    ),
    "a helper's annotations": edits(
        "def h(x: HOLE): return x\n"
        "def f(x): return x if h.__annotations__['x'] is int else -x",
        "int", "float",
    ),
    "a helper's name": edits(
        "def h(x): return x\nh.__name__ = 'HOLE'\n"
        "def f(x): return h(x) * len(h.__name__)",
        "aa", "aaa",
    ),
    "a jitted helper's docstring": edits(
        "@jax.jit\ndef h(x):\n  'HOLE'\n  return x\n"
        "def f(x): return h(x) * len(h.__doc__)",
        "aa", "aaa",
    ),
    "a helper's name under jit": edits(
        "def h(x): return x\nh.__name__ = 'HOLE'\n"
        "@jax.jit\ndef g(x): return h(x) * len(h.__name__)\ndef f(x): return g(x)",
        "aa", "aaa",
    ),
    "a name by getattr under jit": edits(
        "def HOLE(x): return x\nh, name = HOLE, '__name__'\n"
        "@jax.jit\ndef g(x): return x * len(getattr(h, name))\ndef f(x): return g(x)",
        "aa", "aaa",
    ),
    "a docstring of a jitted function": edits(
        "@jax.jit\ndef h(x): return x\nh.__doc__ = 'HOLE'\n"
        "def f(x): return h(x) * len(h.__doc__)",
        "aa", "aaa",
    ),
    "which name under jit": edits(
        "def HOLE(x): return x\nh = jax.custom_jvp(HOLE)\n"
        "h.defjvp(lambda p, t: (p[0], t[0]))\n"
        "@jax.jit\ndef g(x): return x * len(h.__name__)\ndef f(x): return g(x)",
        "aa", "aaa",
    ),
    "a class's module under jit": edits(
        "class C: pass\nC.__module__ = 'HOLE'\n"
        "@jax.jit\ndef g(x): return x * len(C.__module__)\ndef f(x): return g(x)",
        "aa", "aaa",
    ),
    "names of variables under jit": edits(
        "def h(x):\n  HOLE = x\n  return x\n"
        "@jax.jit\ndef g(x): return x * len(h.__code__.co_varnames[1])\n"
        "def f(x): return g(x)",
        "aa", "aaa",
    ),
    "a field's type as a text": edits(
        DATACLASS
        + "def f(x): return x if C.__dataclass_fields__['a'].type is int else -x",
        "a: int = 1", "a: 'int' = 1",
    ),
    "a dataclass's default": edits(FIELDS + "def f(x): return C().b * x", "2", "3"),
    "a dataclass's default, as data": edits(
        FIELDS + "def f(x): return C().b * x", "2.0", "3.0"
    ),
    "a dataclass's factory": edits(
        FIELDS + "def f(x): return C().b[0] * x",
        "dataclasses.field(default_factory=lambda: [2])",
        "dataclasses.field(default_factory=lambda: [3])",
    ),
    "a dataclass's field order": edits(
        DATACLASS + "def f(x):\n  c = C(2, 3)\n  return c.a * x",
        "a: int\n    b: int", "b: int\n    a: int",
    ),
    "the order of fields": edits(
        DATACLASS
        + "def f(x):\n  c = C()\n  for field in dataclasses.fields(c):\n"
        "    x = 2 * x + getattr(c, field.name)\n  return x",
        "a: int = dataclasses.field(default=2, kw_only=True)\n"
        "    b: int = dataclasses.field(default=3, kw_only=True)",
        "b: int = dataclasses.field(default=3, kw_only=True)\n"
        "    a: int = dataclasses.field(default=2, kw_only=True)",
    ),
    "a field's metadata": edits(
        FIELDS + "def f(x): return dataclasses.fields(C)[1].metadata['k'] * x",
        "dataclasses.field(default=1.0, metadata={'k': 2})",
        "dataclasses.field(default=1.0, metadata={'k': 3})",
    ),
    "a field's type": edits(
        DATACLASS
        + "def f(x): return x if dataclasses.fields(C)[0].type is int else -x",
        "a: int = 1", "a: float = 1",
    ),
    "what is compared": edits(
        DATACLASS + "def f(x): return x if C(1) == C(2) else -x",
        "a: int = 0", "a: int = dataclasses.field(compare=False)",
    ),
    "an enum's value": edits(
        "class E(enum.Enum):\n  A = HOLE\ndef f(x): return E.A.value * x", "2", "3"
    ),
    "an enum's members": edits(
        "class E(enum.Enum):\n  A = 1\n  HOLE\ndef f(x): return len(E) * x",
        "B = 2", "B = 2; C = 3",
    ),
    "an enum's order": edits(
        "class E(enum.Enum):\n  HOLE\ndef f(x):\n"
        "  for e in E: x = 2 * x + e.value\n  return x",
        "A = 1; B = 2", "B = 2; A = 1",
    ),
    "an enum's method": edits(
        "class E(enum.Enum):\n  A = 1\n  def g(self, x): return x * HOLE\n"
        "def f(x): return E.A.g(x)",
        "2", "3",
    ),
    "an enum among the arguments": edits(
        "class E(enum.Enum):\n  A = HOLE\n  def g(self, x): return x * self.value\n"
        "def f(e, x): return e.g(x)\nargs = E.A, 2.0",
        "2", "3",
    ),
    "a flag": edits(
        "class E(enum.Flag):\n  A = HOLE\n  B = 4\n"
        "def f(x): return (E.A | E.B).value * x",
        "1", "2",
    ),
    "a named tuple's order": edits(
        "import collections\nC = collections.namedtuple('C', 'HOLE')\n"
        "def f(x): return C(2, 3).a * x",
        "a b", "b a",
    ),
    "a class of numbers": edits(
        "class N(int):\n  def g(self): return self * HOLE\nn = N(5)\n"
        "def f(x): return n.g() * x",
        "2", "3",
    ),
    "a class of text": edits(
        "class N(str):\n  k = HOLE\ndef f(n, x): return n.k * x\nargs = N('a'), 2.0",
        "2", "3",
    ),
    "a list's class": edits(
        "class L(list):\n  def g(self): return self[0] * HOLE\nk = L([1])\n"
        "def f(x): return k.g() * x",
        "2", "3",
    ),
    "a set's class": edits(
        "class S(set):\n  def __contains__(self, x): return HOLE\nk = S([1])\n"
        "def f(x): return x if 2 in k else -x",
        "True", "False",
    ),
    "a frozen dataclass as key": edits(
        "@dataclasses.dataclass(frozen=True)\nclass K:\n  n: int\n"
        "  def g(self): return self.n * HOLE\ntable = {K(1): 5}\n"
        "def f(x):\n  for k, v in table.items(): x = x * k.g() + v\n  return x",
        "2", "3",
    ),
    "an object behind a weak reference": edits(
        "import weakref\nclass C:\n  k = 1\nc = C()\nc.k = HOLE\nr = weakref.ref(c)\n"
        "def f(x): return r().k * x",
        "2", "3",
    ),
    "a registered dataclass": edits(
        "@jax.tree_util.register_dataclass\n@dataclasses.dataclass\nclass C:\n"
        "  a: float\n  b: float = dataclasses.field(HOLE)\n"
        "def f(x): return len(jax.tree.leaves(C(x, 1.0))) * x",
        "metadata={'static': True}", "metadata={}",
    ),
    "a flattening method": edits(
        "@jax.tree_util.register_pytree_node_class\nclass C:\n"
        "  def __init__(self, a, b): self.a, self.b = a, b\n"
        "  def tree_flatten(self): return (HOLE), None\n"
        "  @classmethod\n  def tree_unflatten(cls, aux, kids): return cls(*kids)\n"
        "def f(x): return jax.tree.leaves(C(x, 5.0))[0] * 1.0",
        "self.a, self.b", "self.b, self.a",
    ),
    "a flattening function": edits(
        "class C:\n  def __init__(self, a, b): self.a, self.b = a, b\n"
        "jax.tree_util.register_pytree_node(C, lambda c: ((HOLE), None),\n"
        "  lambda aux, kids: C(*kids))\n"
        "def f(x): return jax.tree.leaves(C(x, 5.0))[0] * 1.0",
        "c.a, c.b", "c.b, c.a",
    ),
    "singledispatch": edits(
        "@functools.singledispatch\ndef h(k): return 1\n"
        "@h.register\ndef _(k: int): return HOLE\ndef f(x): return h(5) * x",
        "2", "3",
    ),
    "singledispatch's class": edits(
        "@functools.singledispatch\ndef h(k): return 1\n"
        "@h.register\ndef _(k: HOLE): return 2\ndef f(x): return h(5) * x",
        "int", "str",
    ),
    "a function that remembers": edits(
        "@functools.lru_cache\ndef h(k): return k * HOLE\ndef f(x): return h(5) * x",
        "2", "3",
    ),
    "what a function that remembers reads": edits(
        "k = HOLE\n@functools.cache\ndef h(): return k\ndef f(x): return h() * x",
        "2", "3",
    ),
    "a library's function": edits("def f(x): return jnp.HOLE(x)", "sin", "cos"),
    "an imported name": edits(
        "from jax.numpy import HOLE as h\ndef f(x): return h(x)", "sin", "cos"
    ),
    "a module behind a name": edits(
        "import math\nm = HOLE\ndef f(x): return m.pi * x if m is math else x",
        "math", "np",
    ),
    "an import inside": edits(
        "def f(x):\n  from math import HOLE as k\n  return x * k", "pi", "e"
    ),
    "a constant in a library": edits(
        "np.jfi_gain = HOLE\ndef f(x): return x * np.jfi_gain", "2", "3"
    ),
    "a function in a library": edits(
        "jnp.jfi_act = lambda x: x * HOLE\ndef f(x): return jnp.jfi_act(x)", "2", "3"
    ),
    "a class in a library": edits(
        "class C:\n  def go(self, x): return x * HOLE\njax.nn.JfiC = C\n"
        "def f(x): return jax.nn.JfiC().go(x)",
        "2", "3",
    ),
    "a function of a library's, replaced": edits(
        "def f(x): return operator.index(True) * x\n"
        "operator.jfi_int = HOLE\ndef f(x): return operator.jfi_int(2.7) * x",
        "int", "float",
    ),
    "a name for all code": edits(
        "import builtins\nbuiltins.jfi_gain = HOLE\n"
        "def f(x): return x * jfi_gain",
        "2", "3",
    ),
    "a virtual base": edits(
        "import abc\nclass A(abc.ABC): pass\nclass C: pass\nHOLE\nc = C()\n"
        "def f(x): return x if isinstance(c, A) else -x",
        "A.register(C)", "",
    ),
    "a virtual base of a class": edits(
        "import abc\nclass A(abc.ABC): pass\nclass C: pass\nHOLE\n"
        "def f(x): return x if issubclass(C, A) else -x",
        "A.register(C)", "",
    ),
    "a class that its base lists": edits(
        "class A: pass\nclass C(A):\n  def go(self, x): return x * HOLE\n"
        "def f(x): return A.__subclasses__()[0]().go(x)",
        "2", "3",
    ),
    "a ufunc": edits(
        "u = np.frompyfunc(lambda k: k * HOLE, 1, 1)\ndef f(x): return x * u(2)",
        "2", "3",
    ),
    "what a function's globals hold": edits(
        "k = HOLE\ndef h(): pass\ndef f(x): return x * h.__globals__['k']", "2", "3"
    ),
    "the folder": edits(
        "import os, tempfile\nargs = 2.0,\n"
        "os.chdir(tempfile.mkdtemp(suffix='HOLE'))\n"
        "def f(x): return x * len(os.path.abspath('.'))",
        "a", "bb",
    ),
    "a shadowed builtin": edits("HOLE\ndef f(x): return max(x, 3.0)",
                                "", "max = min"),
    "a global that is missing": edits(
        "HOLE\ndef f(x):\n  try: return k * x\n  except NameError: return x",
        "", "k = 5",
    ),
    "an argument": edits("def f(x, n): return x * n\nargs = 2.0, HOLE", "2", "3"),
    "a keyword": edits("def f(x, **k): return x * len(k)\n"
                       "f = functools.partial(f, **HOLE)", "{'a': 1}", "{}"),
    "the order of parameters": edits("def f(HOLE): return a - b\nargs = 5.0, 3.0",
                                     "a, b", "b, a"),
    "the type of an argument": edits(
        "def f(x, n): return x if isinstance(n, bool) else -x\nargs = 2.0, HOLE",
        "1", "True",
    ),
    "an argument's dtype": edits("def f(x): return x.dtype, x\nargs = HOLE(2),",
                                 "np.float32", "np.int32"),
    "a random key": edits(
        "k = jax.random.key(HOLE)\ndef f(x): return jax.random.normal(k) * x", "0", "1"
    ),
    "a key inside": edits(
        "def f(x): return jax.random.normal(jax.random.key(HOLE)) * x", "0", "1"
    ),
    "NumPy's generator inside": edits(
        "def f(x): return np.random.default_rng(HOLE).random() * x", "0", "1"
    ),
    "an object with __reduce__": edits(
        "class C:\n  def __init__(self, k): self.k = k\n"
        "  def __reduce__(self): return C, (0,)\nc = C(HOLE)\n"
        "def f(x): return c.k * x",
        "2", "3",
    ),
    "an object with __getstate__": edits(
        "class C:\n  def __init__(self, k): self.k = k\n"
        "  def __getstate__(self): return {}\nc = C(HOLE)\n"
        "def f(x): return c.k * x",
        "2", "3",
    ),
    "a module made by hand": edits(
        "m = types.ModuleType('made_by_hand')\nm.k = HOLE\ndef f(x): return m.k * x",
        "2", "3",
    ),
    "a namespace": edits(
        "k = types.SimpleNamespace(a=HOLE)\ndef f(x): return k.a * x", "2", "3"
    ),
    "a global of a method that an operator calls": edits(
        "k = HOLE\nclass C:\n  def go(self): return k\nc = C()\n"
        "call = operator.methodcaller('go')\ndef f(x): return call(c) * x",
        "2", "3",
    ),
    "an attribute that an operator reads": edits(
        "class C: pass\nc = C()\nc.d = C()\nc.d.k = HOLE\n"
        "get = operator.attrgetter('d.k')\ndef f(x): return get(c) * x",
        "2", "3",
    ),
    "__getattr__ of a module": edits(
        "import sys\nm = sys.modules['lazy'] = types.ModuleType('lazy')\n"
        "exec('k = HOLE\\ndef __getattr__(name): return k', vars(m))\n"
        "def f(x): return m.anything * x",
        "2", "3",
    ),
    "a primitive's rule": edits(
        "from jax.extend.core import Primitive\n"
        "from jax.interpreters import mlir\np = Primitive('twice')\n"
        "p.def_abstract_eval(lambda x: x)\np.def_impl(lambda x: HOLE * x)\n"
        "rule = mlir.lower_fun(lambda x: HOLE * x, multiple_results=False)\n"
        "mlir.register_lowering(p, rule)\ndef f(x): return p.bind(x)\n"
        "args = jnp.ones(2),",
        "2", "3",
    ),
    "a date": edits(
        "import datetime\nk = datetime.date(2020, 1, HOLE)\n"
        "def f(x): return k.day * x",
        "2", "3",
    ),
    "a fraction": edits(
        "import fractions\nk = fractions.Fraction(HOLE)\n"
        "def f(x): return k.numerator * x",
        "2", "3",
    ),
    "a path": edits("import pathlib\nk = pathlib.Path('HOLE')\n"
                    "def f(x): return len(k.name) * x", "aa", "aaa"),
    "a pattern": edits("import re\nk = re.compile('HOLE')\n"
                       "def f(x): return x if k.match('a') else -x", "a", "b"),
    "an optimizer": edits("import optax\nopt = optax.sgd(HOLE)\n"
                          "def f(x): return opt.update(x, opt.init(x))[0]",
                          "0.1", "0.2"),
    "which optimizer": edits("import optax\nopt = HOLE\n"
                             "def f(x): return opt.update(x, opt.init(x))[0]",
                             "optax.sgd(0.1)", "optax.adam(0.1)"),
    "an equinox module": edits(
        "import equinox as eqx\nclass M(eqx.Module):\n  w: jax.Array\n  n: int = 1\n"
        "  def __call__(self, x): return self.w * x * HOLE\n"
        "def f(m, x): return m(x)\nargs = M(jnp.ones(2)), 2.0",
        "2", "3",
    ),
    "a static field of equinox": edits(
        "import equinox as eqx\nclass M(eqx.Module):\n  w: jax.Array\n"
        "  n: int = eqx.field(static=True, default=HOLE)\n"
        "  def __call__(self, x): return self.w * x * self.n\n"
        "def f(m, x): return m(x)\nargs = M(jnp.ones(2)), 2.0",
        "2", "3",
    ),
    "a linen module": edits(
        "import flax.linen as nn\nclass M(nn.Module):\n  n: int = HOLE\n"
        "  def __call__(self, x): return x * self.n\n"
        "m = M()\ndef f(x): return m.apply({}, x)",
        "2", "3",
    ),
    "an nnx module": edits(
        "from flax import nnx\nclass M(nnx.Module):\n"
        "  def __init__(self): self.w = nnx.Param(jnp.ones(2))\n"
        "  def __call__(self, x): return self.w[...] * x * HOLE\n"
        "def f(m, x): return m(x)\nargs = M(), 2.0",
        "2", "3",
    ),
}  # fmt: skip

MODULE = """\
CONST = 2
TABLE = {'a': [2]}
def inner(x): return x * 2
def helper(x): return inner(x)
class Model:
    rate = 2
    def go(self, x): return inner(x)
"""
EDITED_MODULE = MODULE.replace("2", "3")

# How scripts use a module of the user's, of which everything is edited.
USES = {
    "module.function": "import NAME\ndef f(x): return NAME.helper(x)",
    "module.constant": "import NAME\ndef f(x): return NAME.CONST * x",
    "module.table": "import NAME\ndef f(x): return NAME.TABLE['a'][0] * x",
    "a function by name": "from NAME import helper\ndef f(x): return helper(x)",
    "a constant by name": "from NAME import CONST\ndef f(x): return CONST * x",
    "a class by name": "from NAME import Model\ndef f(x): return Model().go(x)",
    "a class's attribute": "from NAME import Model\ndef f(x): return Model.rate * x",
    "module.class": "import NAME\ndef f(x): return NAME.Model().go(x)",
    "getattr": "import NAME\ndef f(x): return getattr(NAME, 'helper')(x)",
    "getattr by a global": "import NAME\nkind = 'helper'\n"
    "def f(x): return getattr(NAME, kind)(x)",
    "getattr by an argument": "import NAME\nargs = 2.0, 'CONST'\n"
    "def f(x, kind): return getattr(NAME, kind) * x",
    "getattr by a part of a name": "import NAME\nkind = {'what': 'per'}\n"
    "def f(x): return getattr(NAME, 'hel' + kind['what'])(x)",
    "vars by a global": "import NAME\nkind = 'CONST'\n"
    "def f(x): return vars(NAME)[kind] * x",
    "getattr of a module in a dict": "import NAME\nall = {'own': NAME}\n"
    "kind = 'helper'\ndef f(x): return getattr(all['own'], kind)(x)",
    "all that dir lists": "import NAME\ndef f(x):\n"
    "  own = {k: getattr(NAME, k) for k in dir(NAME)}\n"
    "  return own['CON' 'ST'[:2]] * x if 0 else own[min(own)] * x",
    "an alias": "import NAME as o\nalias = o\ndef f(x): return alias.helper(x)",
    "a closure of it": "import NAME\ndef m(m): return lambda x: m.helper(x)\n"
    "f = m(NAME)",
    "an import inside": "def f(x):\n  import NAME\n  return NAME.helper(x)",
    "a name imported inside": "def f(x):\n  from NAME import helper as h\n"
    "  return h(x)",
    "its function itself": "from NAME import helper as f",
    "all names": "from NAME import *\ndef f(x): return helper(x) * CONST",
    "a jitted one": "import NAME\nh = jax.jit(NAME.helper)\ndef f(x): return h(x)",
    "in a dict": "import NAME\nt = {'a': NAME.helper}\ndef f(x): return t['a'](x)",
    "in a partial": "import NAME\nh = functools.partial(NAME.helper)\n"
    "def f(x): return h(x)",
    "as argument": "import NAME\ndef f(h, x): return h(x)\nargs = NAME.helper, 2.0",
    "an object of its class": "import NAME\nm = NAME.Model()\ndef f(x): return m.go(x)",
}

UNTOUCHED = {
    "moved": ("def f(x): return x + 1", "\n\n# why\ndef f(x):\n\n    return x + 1"),
    "a docstring": ("def f(x): return x + 2", "def f(x):\n  'what'\n  return x + 2"),
    "annotations": ("def f(x): return x + 3", "def f(x: int) -> 'int': return x + 3"),
    "another global": ("a = 1\ndef f(x): return x + 4",
                       "a = 2\ndef f(x): return x + 4"),
    "a lambda that moved": ("f = lambda x: x + 5", "\n\nf = lambda x:   x + 5"),
    "a set": ("s = {'a', 'b', 'cc'}\ndef f(x): return x + ('a' in s)",
              "s = {'cc', 'b', 'a'}\ndef f(x): return x + ('a' in s)"),
    "a helper that moved": (
        "def h(x): return x + 6\ndef f(x): return h(x)",
        "\n\n\ndef h(x): return x + 6\n\ndef f(x): return h(x)",
    ),
    "a jitted helper that moved": (
        "@jax.jit\ndef h(x): return x * 7\ng = jax.vmap(jax.grad(h))\n"
        "def f(x): return g(jnp.ones(3) * x)",
        "#\n#\n@jax.jit\ndef h(x): return x * 7\n\ng = jax.vmap(jax.grad(h))\n"
        "def f(x): return g(jnp.ones(3) * x)",
    ),
    "a class that moved": (
        "class A:\n  def g(self, x): return x + 8\ndef f(x): return A().g(x)",
        "#\nclass A:\n  'doc'\n  def g(self, x): return x + 8\n"
        "def f(x): return A().g(x)",
    ),
    "a method that moved": (
        "class A:\n  def g(self, x): return x + 9\n  def h(self): pass\nf = A().g",
        "class A:\n\n  def g(self, x):\n    # nine\n    return x + 9\n"
        "  def h(self): pass\nf = A().g",
    ),
    "another value that is data": (
        "k = 2.0\nw = np.ones(2)\ndef f(x): return x * k + w.sum() - 10",
        "k = 3.0\nw = np.full(2, 5.0)\ndef f(x): return x * k + w.sum() - 10",
    ),
    "another function below": ("def f(x): return x + 11",
                               "def f(x): return x + 11\ndef g(x): return f(x)"),
    "a cached property that moved": (
        "class A:\n  @functools.cached_property\n  def k(self): return 17\na = A()\n"
        "def f(x): return a.k * x",
        "#\nclass A:\n\n  @functools.cached_property\n  def k(self): return 17\n"
        "a = A()\ndef f(x): return a.k * x",
    ),
    "a method that chooses by class": (
        "class A:\n  @functools.singledispatchmethod\n  def g(self, k): return 1\n"
        "  @g.register\n  def _(self, k: int): return 18\na = A()\n"
        "def f(x): return a.g(3) * x",
        "#\nclass A:\n\n  @functools.singledispatchmethod\n  def g(self, k): return 1\n"
        "  @g.register\n  def _(self, k: int): return 18\na = A()\n"
        "def f(x): return a.g(3) * x",
    ),
    "a class with a lock, and a method that remembers, of no use here": (
        "import threading\nclass A:\n  lock = threading.Lock()\n  n = 19\n"
        "  @functools.lru_cache\n  def unused(self): return 1\n"
        "  def g(self, x): return self.n * x\na = A()\ndef f(x): return a.g(x)",
        "import threading\nclass A:\n  lock = threading.Lock()\n  n = 19\n\n"
        "  @functools.lru_cache\n  def unused(self): return 1\n"
        "  def g(self, x): return self.n * x\na = A()\ndef f(x): return a.g(x)",
    ),
    "a decorator that moved": (
        "def wrap(fn):\n  @functools.wraps(fn)\n  def run(x): return fn(x) * 12\n"
        "  return run\n@wrap\ndef f(x): return x",
        "#\n#\ndef wrap(fn):\n  @functools.wraps(fn)\n  def run(x):\n"
        "    return fn(x) * 12\n  return run\n\n@wrap\ndef f(x): return x",
    ),
    "a dataclass that moved": (
        DATACLASS.replace("HOLE", "a: float = 13.0") + "def f(x): return C().a * x",
        "#\n#" + DATACLASS.replace("HOLE", "'doc'\n    a: float = 13.0")
        + "def f(x): return C().a * x",
    ),
    "a dataclass with annotations as texts": (
        DATACLASS.replace("HOLE", "a: float = 14.5") + "def f(x): return C().a * x",
        "from __future__ import annotations\n"
        + DATACLASS.replace("HOLE", "a: float = 14.5") + "def f(x): return C().a * x",
    ),
    "a statement in a line by itself": (
        "def f(x):\n  try: return x + k20\n  except NameError: return x + 20",
        "def f(x):\n  try:\n    return x + k20\n  except NameError:\n    return x + 20",
    ),
    "docstrings and annotations of what is wrapped": (
        "@jax.custom_jvp\ndef h(x): return x + 21\n"
        "h.defjvp(lambda p, t: (p[0], 2 * t[0]))\n@jax.jit\ndef g(x): return h(x)\n"
        "g = jax.vmap(jax.grad(g))\ndef f(x): return g(jnp.ones(3) * x)",
        "@jax.custom_jvp\ndef h(x: float) -> float:\n  'doc'\n  return x + 21\n"
        "h.defjvp(lambda p, t: (p[0], 2 * t[0]))\n@jax.jit\ndef g(x: float):\n"
        "  'doc'\n  return h(x)\n"
        "g = jax.vmap(jax.grad(g))\ndef f(x): return g(jnp.ones(3) * x)",
    ),
    "an equinox module that moved": (
        "import equinox as eqx\nclass M(eqx.Module):\n  w: jax.Array\n"
        "  def __call__(self, x): return self.w * x * 14\n"
        "def f(m, x): return m(x)\nargs = M(jnp.ones(2)), 2.0",
        "import equinox as eqx\n\nclass M(eqx.Module):\n  'doc'\n  w: jax.Array\n"
        "  def __call__(self, x): return self.w * x * 14\n"
        "def f(m, x): return m(x)\nargs = M(jnp.ones(2)), 3.0",
    ),
    "an optimizer": (
        "import optax\nopt = optax.adam(0.15)\n"
        "def f(x): return opt.update(x, opt.init(x))[0]",
        "import optax\n\nopt = optax.adam(0.15)\n"
        "def f(x): return opt.update(x, opt.init(x))[0]",
    ),
    "sentinels": (
        "class S: pass\nA = S(); B = object()\n"
        "def f(x, s=A): return x + 16 if s is A and s is not B else -x",
        "\nclass S: pass\nA = S(); B = object()\n"
        "def f(x, s=A): return x + 16 if s is A and s is not B else -x",
    ),
}  # fmt: skip
