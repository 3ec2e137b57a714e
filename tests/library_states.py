"""What scripts set in libraries, and what else two starts of one script may differ in.

Each script defines `f`; two of them differ in what stands for P, and so do their
results. `mylib` is an installed library of the tests.
"""
# ruff: noqa: E501 - scripts, each in one line

MYLIB = """\
import functools
import jax.numpy as jnp

rate = 1.0
settings = {"rate": 1.0}
rates = [1.0]
registry = {}
hooks = []

class Config:
    def __init__(self):
        self.rate = 1.0
        self.hook = None

    def scaled(self, x):
        return x * self.rate

config = Config()

class Layer:
    factor = 1.0
    subclasses = []

    def __init_subclass__(cls):
        Layer.subclasses.append(cls)

    def __call__(self, x):
        return x * self.factor

def set_rate(value):
    global rate
    rate = value

def by_global(x):
    return x * rate

def by_settings(x):
    return x * settings["rate"]

def by_list(x):
    return x * rates[0]

def by_config(x):
    return config.scaled(x)

def by_registry(x, name="user"):
    return registry[name](x)

def by_hooks(x):
    return functools.reduce(lambda x, hook: hook(x), hooks, x)

def by_config_hook(x):
    return config.hook(x)

def by_subclasses(x):
    return sum(cls()(x) for cls in Layer.subclasses)

def with_default(x, rate=1.0):
    return x * rate

def by_default(x):
    return with_default(x)

def by_attribute(x):
    return x * by_attribute.rate

by_attribute.rate = 1.0

def internal(x):
    return x

def by_internal(x):
    return internal(x)

cache = {}

def cached(x):
    cache[len(cache)] = "used"
    return x * 2
"""

STATES = {
    "a flag of absl": (
        "from absl import flags\nflags.DEFINE_integer('n', 1, '')\n"
        "flags.FLAGS(['x', '--n=P'])\ndef f(x): return x * flags.FLAGS.n"
    ),
    "a flag of absl, by its own name": (
        "from absl import flags\nflags.DEFINE_integer('n', 1, '')\nFLAGS = flags.FLAGS\n"
        "FLAGS(['x', '--n=P'])\ndef f(x): return x * FLAGS.n"
    ),
    "haiku's policy": (
        "import haiku as hk, jmp\n"
        "policy = jmp.get_policy('full' if P == 2 else 'params=full,compute=half,output=half')\n"
        "hk.mixed_precision.set_policy(hk.Linear, policy)\n"
        "net = hk.without_apply_rng(hk.transform(lambda x: hk.Linear(3)(x)))\n"
        "w = {'linear': {'w': np.full((2, 3), 1 / 3, np.float32), 'b': np.full(3, 1 / 7, np.float32)}}\n"
        "args = (np.full(2, 1.2345, np.float32),)\n"
        "def f(x): return x.sum() * (2 if net.apply(w, x).dtype == np.float32 else 3)"
    ),
    "a method put on haiku's class": (
        "import haiku as hk\nhk.Linear.__call__ = lambda self, x: x * P\n"
        "net = hk.without_apply_rng(hk.transform(lambda x: hk.Linear(3)(x)))\n"
        "def f(x): return net.apply({}, x)"
    ),
    "an attribute put on haiku's class": (
        "import haiku as hk\nhk.Linear.rate = P\n"
        "net = hk.without_apply_rng(hk.transform(lambda x: x * hk.Linear(3).rate))\n"
        "def f(x): return net.apply({}, x)"
    ),
    "a method put on a class of flax": (
        "import flax.linen as nn\nnn.Dense.__call__ = lambda self, x: x * P\n"
        "def f(x): return nn.Dense(2).apply({}, x)"
    ),
    "a method put on a class of Python's": (
        "import fractions\nfractions.Fraction.go = lambda self, x: x * P\n"
        "def f(x): return fractions.Fraction(1, 2).go(x)"
    ),
    "an attribute put on a class of equinox": (
        "import equinox as eqx\neqx.nn.Linear.rate = P\n"
        "def f(x): return x * eqx.nn.Linear.rate"
    ),
    "flax.config": (
        "import flax\nflax.config.update('flax_preserve_adopted_names', P == 2)\n"
        "def f(x): return x * (2 if flax.config.flax_preserve_adopted_names else 3)"
    ),
    "a function of optax replaced": (
        "import optax\nfrom optax._src import numerics\n"
        "numerics.safe_increment = lambda n: n + P\n"
        "opt = optax.adam(0.1)\nstate = opt.init(2.0)\n"
        "def f(x): return opt.update(x, state)[1]"
    ),
    "a default of optax": (
        "import optax\noptax.huber_loss.__defaults__ = (None, float(P))\n"
        "def f(x): return optax.huber_loss(x * 9)"
    ),
    "rcParams": (
        "import matplotlib\nmatplotlib.rcParams['lines.linewidth'] = float(P)\n"
        "def f(x): return x * matplotlib.rcParams['lines.linewidth']"
    ),
    "torch's default type": (
        "import torch\ntorch.set_default_dtype(torch.float64 if P == 2 else torch.float32)\n"
        "def f(x): return x * (2 if torch.get_default_dtype() == torch.float64 else 3)"
    ),
    "an option of pandas": (
        "import pandas as pd\npd.set_option('display.precision', P)\n"
        "def f(x): return x * pd.get_option('display.precision')"
    ),
    "an option of sklearn": (
        "import sklearn\nsklearn.set_config(working_memory=P)\n"
        "def f(x): return x * sklearn.get_config()['working_memory']"
    ),
    "a function registered with autoray": (
        "import autoray\nautoray.register_function('jax', 'mything', lambda x: x * P)\n"
        "def f(x): return autoray.do('mything', jnp.asarray(x))"
    ),
    "decimals": (
        "import decimal\ndecimal.getcontext().prec = P\nn = decimal.Decimal(1)\n"
        "def f(x): return x * float(n / 3)"
    ),
    "NumPy's errors": (
        "np.seterr(divide='raise' if P == 2 else 'ignore')\n"
        "def f(x):\n  try: return x * float(np.float64(1) / np.float64(0) > 0)\n"
        "  except FloatingPointError: return -x"
    ),
}  # fmt: skip
for name, line in {
    "a global": "mylib.rate = P",
    "a setter": "mylib.set_rate(P)",
    "a dict": "mylib.settings['rate'] = P",
    "a list": "mylib.rates[0] = P",
    "an object": "mylib.config.rate = P",
    "a function": "mylib.registry['user'] = lambda x: x * P",
    "a hook": "mylib.hooks.append(lambda x: x * P)",
    "a hook in an object": "mylib.config.hook = lambda x: x * P",
    "a subclass": "class Mine(mylib.Layer):\n  factor = P",
    "a subclass with a method": (
        "class Mine(mylib.Layer):\n  def __call__(self, x): return x * P"
    ),
    "a default": "mylib.with_default.__defaults__ = (float(P),)",
    "an attribute of a function": "mylib.by_attribute.rate = P",
    "a function replaced": "mylib.internal = lambda x: x * P",
    "a function replaced by a library's": (
        "mylib.internal = mylib.jnp.sin if P == 2 else mylib.jnp.cos"
    ),
}.items():
    by = {
        "a global": "by_global", "a setter": "by_global", "a dict": "by_settings",
        "a list": "by_list", "an object": "by_config", "a function": "by_registry",
        "a hook": "by_hooks", "a hook in an object": "by_config_hook",
        "a subclass": "by_subclasses", "a subclass with a method": "by_subclasses",
        "a default": "by_default", "an attribute of a function": "by_attribute",
        "a function replaced": "by_internal",
        "a function replaced by a library's": "by_internal",
    }[name]  # fmt: skip
    STATES[f"{name} of a library"] = (
        f"import mylib\n{line}\ndef f(x): return mylib.{by}(x)"
    )
STATES |= {
    "a class attribute of a library": (
        "import mylib\nmylib.Layer.factor = P\ndef f(x): return mylib.Layer()(x)"
    ),
    "a method put on a library's class": (
        "import mylib\nmylib.Layer.__call__ = lambda self, x: x * P\n"
        "def f(x): return mylib.Layer()(x)"
    ),
    "a method of a library's object": (
        "import mylib\nmylib.config.rate = P\ndef f(x): return mylib.config.scaled(x)"
    ),
    "an attribute of a library's object": (
        "import mylib\nmylib.config.rate = P\ndef f(x): return x * mylib.config.rate"
    ),
    "an attribute of a library's object under jit": (
        "import mylib\nmylib.config.rate = P\n"
        "@jax.jit\ndef g(x): return x * mylib.config.rate\ndef f(x): return g(x)"
    ),
    "a library's object by its own name": (
        "import mylib\nmylib.config.rate = P\nconfig = mylib.config\n"
        "def f(x): return x * config.rate"
    ),
    "a setter, under jit": (
        "import mylib\nmylib.set_rate(P)\n@jax.jit\ndef g(x): return mylib.by_global(x)\n"
        "def f(x): return g(x)"
    ),
    "a setter, and a library's function by its own name": (
        "import mylib\nfrom mylib import by_global\nmylib.set_rate(P)\n"
        "def f(x): return by_global(x)"
    ),
    "the number of devices": "def f(x): return x / jax.device_count()",
    "the list of devices": "def f(x): return x / len(jax.devices())",
}

# Under jax.jit: a helper that JAX compiles is identified by another walk.
JITTED = {
    "a file by its path": "file.write_text('P')\n@jax.jit\ndef g(x): return x * float(file.read_text())",
    "an open path": "file.write_text('P')\n@jax.jit\ndef g(x):\n  with file.open() as f: return x * float(f.read())",
    "a path that exists": "file.unlink(missing_ok=True)\nif P == 2: file.touch()\n@jax.jit\ndef g(x): return x * (2 if file.exists() else 3)",
    "a path made inside": "file.write_text('P')\nNAME = str(file)\n@jax.jit\ndef g(x): return x * float(pathlib.Path(NAME).read_text())",
    "configparser": "file.write_text('[a]\\nn = P')\nimport configparser\n@jax.jit\ndef g(x):\n  parser = configparser.ConfigParser()\n  parser.read(file)\n  return x * int(parser['a']['n'])",
    "open": "file.write_text('P')\n@jax.jit\ndef g(x):\n  with open(file) as f: return x * float(f.read())",
    "__match_args__": "class C:\n  __match_args__ = ('a', 'b') if P == 2 else ('b', 'a')\n  a, b = 2, 3\nc = C()\n@jax.jit\ndef g(x):\n  match c:\n    case C(n, m): return x * n",
    "a registered subclass": "import abc\nclass B(abc.ABC): pass\nclass A: pass\nif P == 2: B.register(A)\na = A()\n@jax.jit\ndef g(x): return x * (2 if isinstance(a, B) else 3)",
    "a docstring": "def h(): 'P'\n@jax.jit\ndef g(x): return x * int(h.__doc__)",
    "an annotation": "def h(x: 'P'): pass\n@jax.jit\ndef g(x): return x * int(h.__annotations__['x'])",
    "a global by __globals__": "k = P\ndef h(): pass\n@jax.jit\ndef g(x): return x * h.__globals__['k']",
}  # fmt: skip
for name, text in JITTED.items():
    STATES[f"{name} under jit"] = f"{text}\ndef f(x): return g(x)"
    if "file" in text or name == "configparser":
        STATES[name] = f"{text.replace('@jax.jit', '')}\ndef f(x): return g(x)"
