"""What functions read that is not in the program: clocks, files, random numbers.

Such a call is known by what is called, however the code came to it. A function of C is
known by its module, or by the class that it is a method of. So is a function of a
library in Python, where the user's code calls it: what it has read before, and keeps,
no function of C tells of.
"""

import os
import random
import re
import sys
import threading
import types
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ._naming import line_label
from ._origins import is_python_frame, is_user_code


class WorldCall(NamedTuple):
    """A call that reads what is not in the program.

    Attributes:
        name: What is called: "time.time".
        line: Where the user's code does, or calls who does.
        draws: Whether it draws random numbers.
    """

    name: str
    line: str
    draws: bool


_ALL = frozenset[str]()

# Whoever calls it, but for those who only report what happens (`REPORTERS`).
_ALWAYS: dict[str, frozenset[str]] = {
    "io": frozenset(("open", "open_code")),  # as Python 3.11 calls it
    "_io": frozenset(("open", "open_code")),
    "_io.FileIO": _ALL,
    "_random.Random": _ALL,
    "random.Random": _ALL,
    "numpy": frozenset(("fromfile",)),
    "numpy.random.RandomState": _ALL,
    "numpy.random.Generator": _ALL,
    "numpy.random.mtrand.RandomState": _ALL,
    "numpy.random._generator.Generator": _ALL,
    "numpy.random._generator": frozenset(("default_rng",)),
    "numpy.random": frozenset(("default_rng",)),
    "_io.TextIOWrapper": frozenset(("read", "readline", "readlines")),
    "_io.BufferedReader": frozenset(("read", "readline", "readlines", "readinto")),
}
# Called by the user's code, or by Python's own library for it. Other libraries take the
# time for their own account, and look into the environment for their settings.
_NEARBY: dict[str, frozenset[str]] = {
    "time": _ALL,
    "posix": _ALL,
    "nt": _ALL,
    "datetime.datetime": frozenset(("now", "today", "utcnow")),
    "datetime.date": frozenset(("today",)),
    "_socket": _ALL,
    "_posixsubprocess": _ALL,
    "_sqlite3": _ALL,
    "_tracemalloc": _ALL,
    "mmap": _ALL,
    "resource": _ALL,
}
# Called by the user's code itself. Python's library calls these for its own purposes.
_DIRECTLY: dict[str, frozenset[str]] = {
    "builtins": frozenset(("eval", "exec", "globals", "id", "input", "__import__")),
    "builtins.type": frozenset(("__subclasses__",)),
    "_contextvars": frozenset(("copy_context",)),
    "_contextvars.ContextVar": frozenset(("get",)),
    "_thread": frozenset(("get_ident", "get_native_id")),
    "gc": _ALL,
    "importlib": frozenset(("import_module",)),
    "inspect": frozenset(
        """currentframe findsource getcomments getfile getmodule getsource
        getsourcefile getsourcelines stack""".split()
    ),
    "numpy._core._ufunc_config": frozenset(("geterr",)),
    "numpy._core.arrayprint": frozenset(("get_printoptions",)),
    "pandas._libs.tslibs.timestamps.Timestamp": frozenset(("now", "today", "utcnow")),
    "sys": frozenset(
        """_current_frames _getframe get_int_max_str_digits getrecursionlimit
        getrefcount getswitchinterval gettrace getprofile""".split()
    ),
    **dict.fromkeys(("_decimal", "decimal"), frozenset(("getcontext", "localcontext"))),
    **dict.fromkeys(
        """argparse h5py linecache locale multiprocessing pkgutil platform requests
        socket tempfile timeit uuid""".split(),
        _ALL,
    ),
}
_HARMLESS = {("posix", "fspath"), ("nt", "fspath")}
_RANDOM = ("_random.", "random.", "numpy.random.", "torch")
# Functions of PyTorch, and methods of its tensors.
_TORCH_DRAWS = re.compile(
    "(bernoulli|cauchy|dropout|exponential|geometric|log_normal|multinomial|normal"
    "|rand|randint|randn|random|randperm|rrelu|uniform)(_like)?_?"
)

# In what these call, nothing is read for the user: they report, import, and compile.
REPORTERS = frozenset(
    """IPython _pytest absl beartype coverage debugpy importlib jax jaxlib jaxtyping jfi
    jfi_server linecache logging loguru pluggy pydevd pytest rich structlog threading
    tqdm traceback warnings""".split()
)
# What functions of other libraries are called that read files.
_READERS = re.compile(r"(fetch|load|open|read)(_\w+)?|imread|tree_deserialise_leaves")


def _functions_of(cls: type) -> Iterator[types.FunctionType]:
    yield from (f for f in vars(cls).values() if isinstance(f, types.FunctionType))


_ENVIRON = "os.environ"

# Functions of Python's library that read what no function of C tells of.
_ENVIRONMENT = {f.__code__: _ENVIRON for f in _functions_of(type(os.environ))}
_IN_PYTHON: dict[CodeType, str] = {
    **_ENVIRONMENT,
    threading.current_thread.__code__: "threading.current_thread",
    threading.active_count.__code__: "threading.active_count",
    # `gauss` makes two numbers, and keeps one in an attribute for its next call, which
    # calls no function of C: a generator is seen by its own functions.
    **{f.__code__: f"random.{f.__name__}" for f in _functions_of(random.Random)},
}
_DIRECT_NAMES = frozenset().union(*_DIRECTLY.values())
_DIRECT_MODULES = frozenset(m for m, names in _DIRECTLY.items() if names is _ALL)
_WORDS = re.compile(r"\w+")


def world_call(fn: Any, caller: FrameType) -> WorldCall | None:
    """What a function of C reads that is not in the program, if it does.

    Args:
        fn: What is called.
        caller: The frame that calls it.
    """
    try:
        owner, name = _owner_and_name(fn)
    except Exception:  # a class of the user's, which says anything of itself
        return None
    for table, distance in _TABLES:
        if _has(table, owner, name):
            if (owner, name) in _HARMLESS:
                return None
            return _seen_from(caller, _public(owner, name), distance)
    if owner == "torch" and _TORCH_DRAWS.fullmatch(name):
        return _seen_from(caller, f"torch.{name}", _ANY)
    reads = _READERS.fullmatch(name) and _is_of_others(owner)
    return _seen_from(caller, f"{owner}.{name}", _DIRECT) if reads else None


def world_function(frame: FrameType) -> WorldCall | None:
    """The same for a function of a library in Python, which begins to run."""
    code, caller = frame.f_code, frame.f_back
    if caller is None:
        return None
    module = str(frame.f_globals.get("__name__"))
    name = _IN_PYTHON.get(code, "")
    if name:
        return _seen_from(caller, name, _ANY if name.startswith(_RANDOM) else _NEAR)
    reads = _READERS.fullmatch(code.co_name) and not module.startswith("numpy.")
    if _has(_DIRECTLY, module, code.co_name) or (reads and _is_of_others(module)):
        return _seen_from(caller, f"{module}.{code.co_name}", _DIRECT)
    return None


def may_read_world(code: CodeType) -> bool:
    """Whether `world_function` has to be asked when code begins to run."""
    named = code in _IN_PYTHON or code.co_name in _DIRECT_NAMES
    within = not _DIRECT_MODULES.isdisjoint(_WORDS.findall(code.co_filename))
    return named or within or bool(_READERS.fullmatch(code.co_name))


_DIRECT, _NEAR, _ANY = range(3)
_TABLES = (_ALWAYS, _ANY), (_NEARBY, _NEAR), (_DIRECTLY, _DIRECT)


def _has(table: dict[str, frozenset[str]], owner: str, name: str) -> bool:
    """Whether a table names something, or all of its module or package."""
    names = table.get(owner, table.get(owner.partition(".")[0]))
    exact = owner in table
    return names is not None and (not names or (exact and name in names))


def _owner_and_name(fn: Any) -> tuple[str, str]:
    """The module or class that a function of C belongs to, and its name in there."""
    if issubclass(type(fn), type):
        return fn.__module__, fn.__qualname__
    cls = getattr(fn, "__objclass__", None)
    owner = getattr(fn, "__self__", None)
    if cls is None and owner is not None and not isinstance(owner, types.ModuleType):
        cls = owner if isinstance(owner, type) else type(owner)
    name = getattr(fn, "__name__", "")
    if name == "__subclasses__":
        return "builtins.type", name
    if cls is not None:
        module, within = cls.__module__, cls.__qualname__
    else:
        module = getattr(fn, "__module__", None) or getattr(owner, "__name__", "")
        within = ""
        if type(fn).__name__ == "cython_function_or_method":  # also those of classes
            within = fn.__qualname__.rpartition(".")[0]
    if module.partition(".")[0] == "torch":
        return "torch", name
    return (f"{module}.{within}" if within else module), name


def _public(owner: str, name: str) -> str:
    """What users call it."""
    owner = {
        "posix": "os", "nt": "os", "io": "", "builtins": "", "_random.Random": "random",
        "random.Random": "random", "numpy.random.mtrand.RandomState": "numpy.random",
        "numpy.random.RandomState": "numpy.random",
        "numpy.random._generator": "numpy.random", "_thread": "threading", "_io": "",
        "builtins.type": "type",
    }.get(owner, owner)  # fmt: skip
    return f"{owner.lstrip('_')}.{name}" if owner else name


def _is_of_others(module: str) -> bool:
    """Whether a module is of a library that is neither Python's nor NumPy's."""
    root = module.partition(".")[0]
    if root in ("builtins", "numpy", "jaxlib", "") or root in sys.stdlib_module_names:
        return False
    found = sys.modules.get(root)
    return found is not None and not is_user_code(root, _nothing.__code__)


def _nothing() -> None:
    """In a file of a library: whose code it is, its module alone decides."""


def _seen_from(frame: FrameType, name: str, distance: int) -> WorldCall | None:
    """The call as the user's code makes it; None if that does not count."""
    draws = name.startswith(_RANDOM)
    nearest: FrameType | None = frame
    while nearest is not None:
        module = str(nearest.f_globals.get("__name__"))
        if module.partition(".")[0] in REPORTERS or _is_finalizer(nearest, module):
            return None
        if is_user_code(module, nearest.f_code):
            line = line_label(nearest.f_code.co_filename, nearest.f_lineno)
            return WorldCall(name, line, draws)
        if distance is _DIRECT or (distance is _NEAR and not is_python_frame(nearest)):
            return None
        if name != _ENVIRON:  # whatever it is asked by, that is what users know
            name = f"{module}.{nearest.f_code.co_name}"
        nearest = nearest.f_back
    return None


def _is_finalizer(frame: FrameType, module: str) -> bool:
    """Whether Python runs this when an object goes, and not the body."""
    return frame.f_code.co_name == "__del__" or module == "weakref"
