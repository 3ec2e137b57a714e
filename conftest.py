"""What makes the tests fast: a cache of compiled programs, and less work for XLA.

Most of their time is XLA compiling programs that run once. What a test checks stays the
same, but for the last bits of numbers, where XLA does less: tests of those have a
process of their own. All of it is left out by `JFI_TEST_CACHE= XLA_FLAGS= pytest`.
"""

import gc
import hashlib
import inspect
import os
import platform
import sys
from collections.abc import Generator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path


# pytest leaves out what needs an optional package that is not installed.
collect_ignore_glob = [] if find_spec("torch") else ["jfi/bridges/torch/*"]


def cache_folder() -> Path | None:
    """Where compiled programs are kept, or None: `JFI_TEST_CACHE` is a folder or empty.

    A machine with another processor, or another version, has a folder of its own:
    the compiled code is for this processor alone.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = os.environ.get("JFI_TEST_CACHE", Path(cache, "jfi-tests"))
    if not base:
        return None
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    processor = {line for line in lines if line.startswith(("flags", "Features"))}
    parts = sys.version, version("jax"), version("jaxlib"), platform.machine()
    key = hashlib.sha256(repr((parts, sorted(processor))).encode()).hexdigest()
    return Path(base, key[:16])


# Read when JAX compiles its first program. The programs of tests run once, on a few
# numbers: optimizing them takes longer than running them, and so does dividing each
# among several threads, where both cores run tests. XLA of JAX 0.12 has no fusion
# emitters of the older kind, and ends the process at a flag that it does not know.
flags = [
    "--xla_backend_optimization_level=0",
    "--xla_cpu_parallel_codegen_split_count=1",
]
if version("jaxlib").startswith("0.10."):
    flags.append("--xla_cpu_use_fusion_emitters=false")
os.environ.setdefault("XLA_FLAGS", " ".join(flags))
# Read when NumPy and SciPy are imported. Matrices of tests are small: other threads
# spin while they wait for the next one, on the core of the other process.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import jax  # noqa: E402 - after the flags
import pytest  # noqa: E402
from _pytest.doctest import DoctestItem  # noqa: E402
from quicker_jax import remember_paths, remember_programs, share_contexts  # noqa: E402


folder = cache_folder()
if folder is not None:
    # Values of this process; those that tests start get them from subprocesses.py.
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")


share_contexts()
remember_paths()
if folder is not None:
    remember_programs()


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Programs that tests keep, and servers that they start, are theirs alone."""
    os.environ["JFI_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["JFI_SERVER_DIR"] = str(tmp_path_factory.mktemp("server"))


@pytest.fixture(autouse=True)
def _nothing_left() -> Generator[None]:
    """What holds for the process, and would be part of later tests: it is undone."""
    yield
    keeping = sys.modules.get("jfi._autojit._keeping")
    if keeping is not None:
        keeping.keep_everything(None)
    places = sys.modules.get("jfi._persistent._places")
    if places is not None:
        places.LEDGER.clear()
    custom = sys.modules.get("jfi._dispatch._custom")
    if custom is not None:  # rules for classes of libraries
        custom._rules_beside.clear()  # noqa: SLF001


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Examples in docstrings that jfi's functions have of JAX are JAX's to run."""
    items[:] = [item for item in items if not _is_example_of_jax(item)]


def _is_example_of_jax(item: pytest.Item) -> bool:
    if not isinstance(item, DoctestItem):
        return False
    module = item.dtest.globs
    name = item.dtest.name.removeprefix(f"{module['__name__']}.")
    described = inspect.unwrap(module.get(name, pytest))
    return str(getattr(described, "__module__", "")).startswith("jax.")


def keep_what_there_is() -> None:
    """What there is now stays: the garbage collector looks at what is made later."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    """Thousands of tests and all imported modules would make each collection slow."""
    keep_what_there_is()
    # Tracing makes many objects that soon go. Tests of leaks collect by themselves.
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """So would what JAX remembers of thousands of programs."""
    if nextitem is not None and nextitem.path != item.path:
        keep_what_there_is()
