"""JAX's options, and what else compiled code depends on."""

import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import jax

from ._pieces import decided_once, outside_of_tracing, piece


def compilation_context() -> Any | None:
    """All that compiled code depends on beside its arguments; None if unknown."""
    return _compilation_context()()


@decided_once
def _compilation_context() -> Callable[[], Any]:
    return trace_options() or _unknown


def _unknown() -> None:
    return None


@piece(
    uses="jax._src.config.trace_context: options, default device, mesh",
    without="each draw of random numbers in eager code starts a program of its own",
)
def trace_options() -> Callable[[], Any] | None:
    from jax._src.config import trace_context

    def seen() -> list[Any]:
        with jax.default_matmul_precision("highest"):
            other = trace_context()
        return [trace_context(), trace_context(), other]

    first, second, other = outside_of_tracing(seen)
    works = first == second != other
    return trace_context if works else None


def setting(name: str) -> Any:
    """The value of a JAX option for this thread, such as "jax_enable_x64".

    The attributes of `jax.config` are documented, and unknown to type checkers.
    """
    return getattr(jax.config, name)


def refuse_64_bits() -> bool:
    """Let JAX refuse 64-bit dtypes that are asked for where there are none.

    By default it warns, and takes 32 bits. Its third choice takes the dtype, and takes
    digits of 32 bits in many places: `x * (1 / 3)` has an error of 1e-8.

    Returns:
        Whether this was set; not where somebody has made another choice.
    """
    if explicit_64_bits() != "warn":
        return False
    jax.config.update("jax_explicit_x64_dtypes", "error")
    return True


def cuts_64_bits() -> bool:
    """Whether JAX takes 64-bit dtypes where there are none, in one way or another."""
    return explicit_64_bits() in ("warn", "allow")


def explicit_64_bits() -> str | None:
    """JAX's choice; None in a JAX without the option."""
    read = explicit_64_bits_option()
    return read() if read else None


@piece(
    uses="the option jax_explicit_x64_dtypes",
    without="x.astype('float64') in the 32-bit world has 32 bits, with JAX's warning",
)
def explicit_64_bits_option() -> Callable[[], str] | None:
    def read() -> str:
        return str(setting("jax_explicit_x64_dtypes").name).lower()

    return read if read() in ("warn", "error", "allow") else None


@contextmanager
def cut_64_bits() -> Generator[None]:
    """Let code of another library ask for 64 bits where there are none, and get 32.

    For this thread, and without JAX's warning. Nothing changes in the 64-bit world.
    """
    block = cut_64_bits_block()
    if block is None:
        yield
        return
    # Blocks that begin and end in another order would leave their filters behind.
    with _quiet, block("warn"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Explicitly requested dtype")
        yield


_quiet = threading.RLock()


@piece(
    uses="the option jax_explicit_x64_dtypes, set for a `with` block",
    without="graphs of PyTensor that name float64 are refused in the 32-bit world",
)
def cut_64_bits_block() -> Callable[[str], AbstractContextManager[Any]] | None:
    from jax._src.config import explicit_x64_dtypes

    block: Any = explicit_x64_dtypes
    with block("allow"):
        works = str(setting("jax_explicit_x64_dtypes").name).lower() == "allow"
    return block if works else None


def all_settings() -> dict[str, Any]:
    """Every JAX option by name with its value for this thread.

    Without `config_values`: the options whose values decide results and that have a
    `with` block.
    """
    values = config_values()
    return dict(values()) if values else {n: setting(n) for n in _RESULT_SETTINGS}


@piece(
    uses="jax.config.values, the list of all options",
    without="the server gets only the options that decide results",
)
def config_values() -> Callable[[], dict[str, Any]] | None:
    config: Any = jax.config
    same = config.values["jax_enable_x64"] == setting("jax_enable_x64")
    return (lambda: config.values) if same else None


_RESULT_SETTINGS = (
    "jax_debug_infs", "jax_debug_nans", "jax_default_device",
    "jax_default_matmul_precision", "jax_default_prng_impl", "jax_disable_jit",
    "jax_enable_x64", "jax_numpy_dtype_promotion", "jax_numpy_rank_promotion",
    "jax_threefry_partitionable",
)  # fmt: skip


def backend_started() -> bool:
    """Whether JAX has already looked for its devices; no, if that is unknown."""
    started = backend_state()
    return started is not None and started()


@piece(
    uses="jax._src.xla_bridge.backends_are_initialized",
    without="no warning where jfi is imported too late to choose the default device",
)
def backend_state() -> Callable[[], bool] | None:
    # No public function says so without starting the backend: `jax.devices()` and
    # `jax.default_backend()` start it, after which the choice of a device is too late.
    from jax._src.xla_bridge import backends_are_initialized

    started: Callable[[], Any] = backends_are_initialized
    return started if started() in (False, True) else None


def jit_options(jitted: Any) -> tuple[object, ...] | None:
    """The options of a jitted function that decide results; None if unreadable."""
    read = jit_state()
    return None if read is None else read(jitted)


@piece(
    uses="what JAX pickles of a jitted function",
    without="persistent functions can't call functions of plain jax.jit",
    refuses=True,
)
def jit_state() -> Callable[[Any], tuple[object, ...] | None] | None:
    works = _read_options(jax.jit(lambda x: x, static_argnums=0)) is not None
    return _read_options if works else None


def _read_options(jitted: Any) -> tuple[object, ...] | None:
    # `inline` and `keep_unused` are not in it, and change no result.
    names = ("static_argnums", "static_argnames", "global_cache_key")
    try:
        state = jitted.__getstate__()
        return tuple(state[name] for name in names)
    except (AttributeError, KeyError, TypeError):
        return None
