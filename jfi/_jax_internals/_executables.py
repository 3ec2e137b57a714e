"""Compiled programs as bytes, which another process can run without compiling."""

import contextlib
import functools
import threading
from collections.abc import Callable, Generator
from typing import Any

import jax
import numpy as np

from ._callback_slots import (
    Slots,
    digest_of,
    filled,
    slots_of,
    without_callbacks,
)
from ._pieces import outside_of_tracing, piece
from ._settings import setting


def serialized(compiled: Any, *, calls_back: bool = False) -> bytes | None:
    """The code of a program that `compiled_anew` has compiled; None if it has none.

    Args:
        compiled: The program.
        calls_back: Whether it calls back to Python: `callback_slots` is in use, then.
    """
    if serializing() is None:
        return None
    from jax.experimental import serialize_executable

    try:
        if calls_back:
            compiled = without_callbacks(compiled)
        return bytes(serialize_executable.serialize(compiled)[0])
    except Exception:  # each backend has reasons of its own
        return None


def deserialized(
    code: bytes,
    n_arguments: int,
    n_results: int,
    device: Any,
    slots: Slots | None = None,
) -> Callable[..., list[jax.Array]]:
    """A program as it was compiled, of arrays and with a list of arrays.

    Args:
        code: What `serialized` gave.
        n_arguments: How many arrays it takes.
        n_results: How many it returns.
        device: Where it runs.
        slots: What it calls back.

    Raises:
        Exception: Whatever XLA says of code of another version or processor.
    """
    from jax.experimental import serialize_executable

    if b"lapack" in code:
        _initialize_lapack()
    given = jax.tree.structure(((0,) * n_arguments, {}))
    found = jax.tree.structure([0] * n_results)
    if slots is not None:
        return filled(code, slots, given, found, device)
    load: Any = serialize_executable.deserialize_and_load
    # JAX takes a program for one of all devices of the process, unless they are named.
    program: Callable[..., list[jax.Array]] = load(
        code, given, found, backend=device.client, execution_devices=[device]
    )
    return program


@functools.cache
def _initialize_lapack() -> None:
    # In a process that has traced none, a program with a Cholesky factor is a crash
    # (jax-ml/jax#28908): JAX looks the kernels up when it lowers one. It takes 0.2 s.
    import jax.scipy.linalg

    jax.jit(jax.scipy.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), "float32"))


@piece(
    uses="jax.experimental.serialize_executable",
    without="persistent functions and enable_cache() compile at each start",
)
def serializing() -> bool | None:
    from jax.experimental import serialize_executable

    def works() -> bool:
        compiled = jax.jit(lambda x: x + 1).lower(1.0).compile()
        code, given, found = serialize_executable.serialize(compiled)
        device = jax.devices()[0]
        again: Any = serialize_executable.deserialize_and_load(
            code, given, found, backend=device.client, execution_devices=[device]
        )
        return float(again(1.0)) == 2.0

    with _past_cache():
        return outside_of_tracing(works) or None


@piece(
    uses="the numbers of host callbacks in XLA's code: compile_args, "
    "_JaxPjrtUnpickler, deserialize_executable",
    without="persistent functions that call back to Python are compiled at each start",
)
def callback_slots() -> bool | None:
    from jax.experimental import serialize_executable

    def lowered(number: int) -> Any:
        def called(x: Any) -> Any:
            return np.float32(x + number)

        scalar = jax.ShapeDtypeStruct((), np.float32)
        call = jax.jit(lambda x: 2 * jax.pure_callback(called, scalar, x))
        return call.lower(np.float32(1))

    def works() -> bool:
        one, other = lowered(1), lowered(2)
        if digest_of(one) != digest_of(other):
            return False
        written = without_callbacks(one.compile())
        code, given, found = serialize_executable.serialize(written)
        run = filled(code, slots_of(other), given, found, jax.devices()[0])
        return float(run(np.float32(3))) == 10.0

    with _past_cache():
        return outside_of_tracing(works) or None


def compiled_anew(lowered: Any) -> Any:
    """Compile a lowered program, past JAX's own cache of compiled programs.

    XLA can't serialize what it has read from that cache: running it ends with
    NOT_FOUND (JAX 0.10 to 0.12). Names and lines of source code are left out. They
    are those of the script that compiled it, and make a quarter of the program.
    """
    strip = stripping()
    with _past_cache():
        if strip is not None:
            strip(lowered)
        return lowered.compile()


@piece(
    uses="jaxlib.mlir.passmanager",
    without="files of compiled programs are a third larger, and load more slowly",
)
def stripping() -> Callable[[Any], None] | None:
    from jaxlib.mlir.passmanager import PassManager

    def strip(lowered: Any) -> None:
        module = lowered.compiler_ir("stablehlo")
        with module.context:
            passes = PassManager.parse("builtin.module(strip-debuginfo)")
            passes.run(module.operation)

    def works() -> bool:
        lowered = jax.jit(lambda x: x + 1).lower(1.0)
        strip(lowered)
        return "jit(" not in lowered.as_text(debug_info=True)

    return strip if outside_of_tracing(works) else None


def without_source_lines() -> contextlib.AbstractContextManager[Any]:
    """While a program is lowered: it holds no files, lines and functions of Python."""
    limit = lines_of_source()
    return contextlib.nullcontext() if limit is None else limit(0)


@piece(
    uses="jax._src.config.traceback_in_locations_limit",
    without="programs on their way to a server name files and lines of this machine",
)
def lines_of_source() -> Callable[[int], Any] | None:
    from jax._src.config import traceback_in_locations_limit as limit

    def works() -> bool:
        with limit(0):
            lowered = jax.jit(lambda x: x + 1).lower(1.0)
            return __file__ not in lowered.as_text(debug_info=True)

    return limit if outside_of_tracing(works) else None


_lock = threading.Lock()
_compiling = 0  # threads that compile past the cache


@contextlib.contextmanager
def _past_cache() -> Generator[None]:
    """While programs are compiled, JAX's cache is off for all threads."""
    if not setting("jax_compilation_cache_dir"):
        yield
        return
    _add_to_compiling(1)
    try:
        yield
    finally:
        _add_to_compiling(-1)


def _add_to_compiling(more: int) -> None:
    from jax.experimental.compilation_cache import compilation_cache

    global _compiling
    with _lock:
        before, _compiling = _compiling, _compiling + more
        if bool(before) != bool(_compiling):
            jax.config.update("jax_enable_compilation_cache", not _compiling)
            # JAX asks once whether there is a cache, and remembers the answer.
            compilation_cache.reset_cache()


def use_jax_cache(folder: str) -> bool:
    """Let JAX keep compiled programs in a folder, small ones, too.

    Returns:
        Whether that was set; not where somebody has chosen a folder before.
    """
    from jax.experimental.compilation_cache import compilation_cache

    if setting("jax_compilation_cache_dir"):
        return False
    for name, value in _CACHE_SETTINGS.items():
        jax.config.update(name, value)
    jax.config.update("jax_compilation_cache_dir", folder)
    compilation_cache.reset_cache()  # a first compilation has found none
    return True


# JAX keeps what takes a second to compile, by default; most programs take less.
_CACHE_SETTINGS: dict[str, Any] = {
    "jax_persistent_cache_min_compile_time_secs": 0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
