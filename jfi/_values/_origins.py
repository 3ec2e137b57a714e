"""Whose code this is: the user's, which changes, or a library's, which has a version.

|           | the user's         | Python's, JAX's, NumPy's | an installed library's |
| --------- | ------------------ | ------------------------ | ---------------------- |
| module    | `is_user_module`   |                          |                        |
| code      | `is_user_code`     |                          |                        |
| function  | `is_user_function` |                          |                        |
| class     |                    | `is_library`             | `is_installed`         |
| frame     | `is_user_frame`    | `is_own_frame`, `is_python_frame` | |
| file      |                    | `is_library_file`        | `is_library_file`      |
"""

import functools
import importlib.metadata
import importlib.util
import inspect
import os
import re
import sys
import sysconfig
from types import CodeType, FrameType, FunctionType


# Libraries even where they are installed from a checkout, outside site-packages.
LIBRARIES = frozenset({"cloudpickle", "jax", "jaxlib", "jfi", "jfi_server", "numpy"})
_LIBRARY_FOLDERS = tuple(
    os.path.realpath(path) + os.sep
    for key, path in sysconfig.get_paths().items()
    if key in ("stdlib", "platstdlib", "purelib", "platlib")
)
_SURROUNDINGS = (
    "PIL.Image.open", "_io.FileIO", "_io.open", "_io.open_code", "_pickle.load",
    "_pickle.loads", "argparse.ArgumentParser", "builtins.__import__", "builtins.eval",
    "builtins.exec", "builtins.globals", "builtins.input", "builtins.open", "bz2",
    "codecs.open", "cv2.imread", "datetime.date.today",
    "datetime.datetime.now", "datetime.datetime.today", "datetime.datetime.utcnow",
    "dbm", "decimal.getcontext", "decimal.localcontext", "fileinput", "gc",
    "getpass", "glob", "gzip", "h5py", "imageio", "importlib",
    "inspect.currentframe", "inspect.findsource", "inspect.getcomments",
    "inspect.getfile", "inspect.getmodule", "inspect.getsource",
    "inspect.getsourcefile", "inspect.getsourcelines", "inspect.stack", "io.FileIO",
    "io.open", "io.open_code", "jax.numpy.fromfile", "jax.numpy.load",
    "jfi.load_state", "joblib.numpy_pickle", "linecache", "locale", "lzma",
    "matplotlib.image.imread", "matplotlib.pyplot.imread", "mmap",
    "multiprocessing", "netrc", "numpy.DataSource", "numpy.fromfile",
    "numpy.fromregex", "numpy.genfromtxt", "numpy.get_printoptions", "numpy.geterr",
    "numpy.lib._datasource", "numpy.lib._npyio_impl.fromregex",
    "numpy.lib.npyio.DataSource", "numpy.load", "numpy.loadtxt", "numpy.memmap",
    "numpy.random.RandomState", "numpy.random._generator.default_rng",
    "numpy.random.default_rng", "numpy.random.mtrand.RandomState", "os._Environ",
    "os.access", "os.cpu_count", "os.environ", "os.environb", "os.fwalk",
    "os.getcwd", "os.getenv", "os.getenvb", "os.getlogin", "os.getpid",
    "os.getppid", "os.listdir", "os.lstat", "os.open", "os.path.abspath",
    "os.path.exists", "os.path.expanduser", "os.path.expandvars",
    "os.path.getatime", "os.path.getctime", "os.path.getmtime", "os.path.getsize",
    "os.path.isdir", "os.path.isfile", "os.path.islink", "os.path.ismount",
    "os.path.lexists", "os.path.realpath", "os.path.relpath", "os.path.samefile",
    "os.popen", "os.readlink", "os.scandir", "os.stat", "os.uname", "os.urandom",
    "os.walk", "pandas.Timestamp.now", "pandas.Timestamp.today", "pandas.io",
    "pickle.load", "pickle.loads", "pkgutil", "platform", "pydoc", "random.Random",
    "random.SystemRandom", "requests", "runpy", "scipy.io", "secrets", "shelve",
    "skimage.io", "sklearn.model_selection.train_test_split",
    "sklearn.utils.resample", "sklearn.utils.shuffle", "socket", "sqlite3",
    "subprocess", "sys._getframe", "sys.argv", "sys.get_int_max_str_digits",
    "sys.getrecursionlimit", "sys.getrefcount", "sys.modules", "sys.path",
    "sys.stdin", "tarfile", "tempfile", "threading.active_count",
    "threading.current_thread", "threading.get_ident", "time", "tokenize.open",
    "torch.bernoulli", "torch.get_default_device", "torch.get_default_dtype",
    "torch.load", "torch.multinomial", "torch.normal",
    "torch.rand", "torch.rand_like", "torch.randint", "torch.randn",
    "torch.randn_like", "torch.randperm", "torch.serialization.load",
    "urllib.request", "uuid", "zipfile",
)  # fmt: skip
# What functions of other libraries are called that read files.
_READERS = re.compile(r"(fetch|load|open|read)(_\w+)?|imread|tree_deserialise_leaves")
# The modules that the functions of `os` and `os.path` name as their own.
_OF_OS = {
    "posix": "os", "nt": "os",
    "genericpath": "os.path", "posixpath": "os.path", "ntpath": "os.path",
}  # fmt: skip

_EFFECTS = (
    "absl.logging", "builtins.breakpoint", "builtins.input", "builtins.print",
    "jax.numpy.save", "jax.numpy.savez", "json.dump", "logging", "loguru",
    "numpy.save", "numpy.savetxt", "numpy.savez", "numpy.savez_compressed",
    "os.makedirs", "os.mkdir", "os.putenv", "os.remove", "os.rename", "os.replace",
    "os.system", "os.unlink", "os.write", "pickle.dump", "pprint", "rich", "shutil",
    "socket", "structlog", "subprocess", "tqdm", "traceback.print_exc",
    "traceback.print_stack", "urllib", "warnings",
)  # fmt: skip


def is_user_module(name: str) -> bool:
    """Whether a module is the user's own: a script, a notebook, a file of a project."""
    if name == "__main__":
        return True
    module, top = sys.modules.get(name), name.partition(".")[0]
    if top in LIBRARIES:
        return False
    if module is None:
        # Made by hand, or sent here from another process; classes of some libraries
        # name a module that there is not.
        return name == top or is_user_module(top)
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        # Made by hand (types.ModuleType), or a folder without `__init__.py`, or frozen.
        variables = getattr(module, "__dict__", {})  # a `__getattr__` of it may lie
        folders = tuple(variables.get("__path__", ()))
        made = getattr(module, "__spec__", None) is None and not _is_stdlib(top)
        return made or (bool(folders) and not any(map(is_library_file, folders)))
    return not is_library_file(file)


def is_installed_module(name: str) -> bool:
    """Whether a module, imported or not, is a library's, which has a version."""
    top = name.partition(".")[0]
    if top in LIBRARIES or _is_stdlib(top):
        return True
    try:
        found = importlib.util.find_spec(top) if top else None
    except (ImportError, ValueError):
        return False
    file = found.origin if found is not None else None
    return bool(file and is_library_file(file) and _installed_version(top))


def is_user_code(module: str, code: CodeType) -> bool:
    """Whether a function's code is the user's own."""
    if module in sys.modules and module != "__main__":
        return is_user_module(module)
    # `<stdin>`, a notebook cell, `exec`: whoever wrote it, no version stands for it.
    return code.co_filename.startswith("<") or not is_library_file(code.co_filename)


def is_user_function(fn: FunctionType) -> bool:
    """Whether a function is the user's own, and not a library's."""
    # Not `fn.__module__`, which functools.wraps copies from the wrapped function.
    return is_user_code(str(fn.__globals__.get("__name__", "")), fn.__code__)


def is_user_frame(frame: FrameType) -> bool:
    """Whether what runs in a frame is neither JAX's, NumPy's nor jfi's own code."""
    return not is_own_frame(frame) and _package(frame) not in _NEVER_USERS


def is_own_frame(frame: FrameType) -> bool:
    """Whether what runs in a frame is jfi's own code."""
    is_generated = frame.f_code.co_filename.startswith("<autojit")
    return is_generated or _package(frame) in _OWN


def is_python_frame(frame: FrameType) -> bool:
    """Whether what runs in a frame is code of Python's own library."""
    file = frame.f_code.co_filename
    is_standard = file.startswith((_STANDARD_FOLDER, "<frozen "))
    return is_standard and _is_stdlib(_package(frame))


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


_OWN = frozenset({"jfi", "jfi_server"})
_NEVER_USERS = frozenset({"jax", "jaxlib", "numpy"})


def user_level() -> int:
    """The `stacklevel` of a warning that is to name the user's line."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and (frame := frame.f_back) is not None:
        level += 1
        if is_user_frame(frame) and not is_python_frame(frame):
            return level
    return 1


def library_version(module: str) -> str:
    """The version of a module's library, as it runs in this process."""
    top = module.partition(".")[0]
    if _is_stdlib(top):
        return ".".join(map(str, sys.version_info[:3]))
    version = getattr(sys.modules.get(top), "__version__", None)
    if not isinstance(version, str):
        version = _installed_version(top)
    return version


@functools.cache
def reads_surroundings(name: str) -> bool:
    """Whether a library object, by its full name, reads what is not in the program.

    The clock, the environment, files: a result that was kept would be stale.
    """
    root, dot, rest = name.partition(".")
    if _is_among(f"{_OF_OS.get(root, root)}{dot}{rest}", _SURROUNDINGS):
        return True
    if root in LIBRARIES or _is_stdlib(root) or is_user_module(root):
        return False
    return _READERS.fullmatch(name.rpartition(".")[2]) is not None


@functools.cache
def has_effects(name: str) -> bool:
    """Whether a library object, by its full name, prints or writes something.

    While a function is traced, which is not done with one that was kept.
    """
    return _is_among(name, _EFFECTS)


def _is_among(name: str, table: tuple[str, ...]) -> bool:
    return any(name == one or name.startswith(one + ".") for one in table)


def _is_stdlib(top: str) -> bool:
    return top in sys.stdlib_module_names


@functools.cache
def is_library_file(file: str) -> bool:
    """Whether a source file belongs to Python or to an installed package."""
    path = os.path.realpath(file)
    installed = f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}"
    return path.startswith(_LIBRARY_FOLDERS) or any(part in path for part in installed)


@functools.cache
def _installed_version(top: str) -> str:
    try:
        return importlib.metadata.version(top)
    except importlib.metadata.PackageNotFoundError:
        return ""  # it has some other name on the package index


def is_named(x: object) -> bool:
    """Whether a function or class is what its own module calls by its name."""
    name = getattr(x, "__qualname__", None)
    found: object = sys.modules.get(getattr(x, "__module__", None) or "")
    if not isinstance(name, str) or found is None:
        return False
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is x


def is_library(cls: type) -> bool:
    """Whether a class comes from Python, JAX or NumPy, which users don't change."""
    root = (getattr(cls, "__module__", None) or "").partition(".")[0]
    if root in ("builtins", "jax", "jaxlib", "numpy"):
        return True
    if root not in sys.stdlib_module_names:
        return False
    # A file of the user may have the name of a module of Python's.
    file = getattr(sys.modules.get(root), "__file__", None)
    return not isinstance(file, str) or file.startswith(_STANDARD_FOLDER)


def is_installed(cls: type) -> bool:
    """Whether a class comes from an installed library, other than JAX and NumPy."""
    return not (is_library(cls) or is_user_module(cls.__module__))


_STANDARD_FOLDER = os.path.dirname(os.__file__) + os.sep
