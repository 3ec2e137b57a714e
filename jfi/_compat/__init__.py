"""The only place where jfi touches JAX beyond its documented interface.

One function per difference. Each says what it relies on and in which release of
JAX it was checked, proves itself at first use, and falls back on public functions
when it fails: a new release of JAX is a change of this file and of no other.
"""

import functools
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

import jax
import jax.numpy as jnp
from jax import tree_util

from ._batch_tracers import is_batched as is_batched
from ._call_stack import (
    condition_draws as condition_draws,
    enclosing_transformations as enclosing_transformations,
    in_uneven_loop as in_uneven_loop,
    user_level as user_level,
)
from ._compiling import on_compiled as on_compiled
from ._loop_calls import (
    exchanging_axes as exchanging_axes,
    is_ref as is_ref,
    linear_calls as linear_calls,
    names_of_axes as names_of_axes,
    ruled_calls as ruled_calls,
)
from ._source_lines import origin_of_output as origin_of_output
from ._symbolic_zeros import (
    is_zero_of_type as is_zero_of_type,
    zero_of_type as zero_of_type,
)
from ._varying import varying_axes as varying_axes, varying_over as varying_over


# `jax.Device` comes from jaxlib, which ships no types: this is what checkers see of it.
if TYPE_CHECKING:

    class Device:
        """A device: `id`, `platform` ("cpu", "gpu", "tpu"), `device_kind`."""

        id: int
        platform: str
        device_kind: str
        process_index: int
else:
    Device = jax.Device

T = TypeVar("T")


class JitKeyState(Protocol, Generic[T]):
    """A value that every jit cache takes into account, with a thread-local form."""

    @property
    def value(self) -> T:
        """The value for this thread."""
        ...

    def set_global(self, new_value: T) -> None:
        """Change the value for every thread that has none of its own."""
        ...

    def __call__(self, new_value: T) -> AbstractContextManager[None]:
        """Change the value for this thread, until the context ends."""
        ...


class _ClearingState(Generic[T]):
    """`JitKeyState` on public functions alone: each change empties JAX's caches."""

    def __init__(self, default: T) -> None:
        self._global = default
        self._local = threading.local()

    @property
    def value(self) -> T:
        return cast("T", getattr(self._local, "value", self._global))

    def set_global(self, new_value: T) -> None:
        self._global = new_value
        jax.clear_caches()

    def __call__(self, new_value: T) -> AbstractContextManager[None]:
        return _ClearingContext(self._local, new_value)


class _ClearingContext(AbstractContextManager[None]):
    def __init__(self, local: threading.local, new_value: object) -> None:
        self._local, self._new = local, new_value

    def __enter__(self) -> None:
        self._old = dict(vars(self._local))
        self._local.value = self._new
        jax.clear_caches()

    def __exit__(self, *exc: object) -> None:
        vars(self._local).clear()
        vars(self._local).update(self._old)
        jax.clear_caches()


def jit_key_state(default: T) -> JitKeyState[T]:
    """A value of which compiled functions depend: a change is a cache miss.

    `jax.make_user_context` (documented since JAX 0.8) makes the thread-local form;
    the global setter of what it returns is not documented (checked in 0.10.2).
    Without it the caches are emptied at each change: slow, and still right.
    """
    try:
        state = cast("JitKeyState[T]", jax.make_user_context(default))
        if state.value == default and callable(state.set_global):
            return state
    except (AttributeError, TypeError):
        pass
    return _ClearingState(default)


@functools.cache
def _top_level_test() -> Callable[[], bool]:
    """Choose the test behind `at_top_level`: the first that proves itself.

    First `jax._src.core.trace_ctx.is_top_level` (0.15 us; checked in 0.10.2), then a
    comparison with the trace state of a fresh thread (`jax.extend.core`, 1 us).
    """
    for candidate in (_trace_context_test, _trace_state_test):
        try:
            at_top_level = candidate()
            if _tells_tracing(at_top_level):
                return at_top_level
        except (ImportError, AttributeError, TypeError):
            continue
    message = (
        "this release of JAX hides from jfi whether a function is being traced; "
        "install a release listed in jfi's constraints.txt"
    )
    raise ImportError(message)


def _trace_context_test() -> Callable[[], bool]:
    from jax._src.core import trace_ctx

    return trace_ctx.is_top_level


def _trace_state_test() -> Callable[[], bool]:
    from jax.extend.core import get_opaque_trace_state

    fresh: list[Any] = []
    # A new thread is outside of every transformation, wherever this one is.
    thread = threading.Thread(target=lambda: fresh.append(get_opaque_trace_state()))
    thread.start()
    thread.join()
    return lambda: bool(get_opaque_trace_state() == fresh[0])


def _tells_tracing(at_top_level: Callable[[], bool]) -> bool:
    """Whether a test answers right at top level and under three transformations."""
    seen: list[bool] = []

    def probe(x: Any) -> Any:
        seen.append(at_top_level())
        return x

    def run() -> None:
        seen.append(at_top_level())
        one = jax.ShapeDtypeStruct((2,), "float32")
        jax.eval_shape(probe, one)
        jax.eval_shape(jax.vmap(probe), one)
        jax.eval_shape(jax.grad(lambda x: probe(x).sum()), one)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return seen == [True, False, False, False]


def at_top_level() -> bool:
    """Whether the caller is outside of every transformation (jit, grad, vmap, ...)."""
    return _top_level_test()()


def traces_around() -> list[str]:
    """The kinds of traces in progress, from the inside out: "DynamicJaxprTrace", ...

    `parent_trace` of a trace (checked in 0.10.2). Without it the list has "unknown".
    """
    try:
        from jax._src.core import eval_trace, trace_ctx

        trace: Any = trace_ctx.trace
        kinds: list[str] = []
        while trace is not eval_trace:
            kinds.append(type(trace).__name__)
            trace = trace.parent_trace
        return kinds
    except (ImportError, AttributeError):
        return ["unknown"]


def compilation_context() -> Any | None:
    """All that compiled code depends on beside its arguments; None if unknown.

    `jax._src.config.trace_context` (checked in 0.10.2): options, default device, mesh.
    """
    return _trace_context()()


@functools.cache
def _trace_context() -> Callable[[], Any]:
    try:
        from jax._src.config import trace_context
    except ImportError:
        return lambda: None
    return cast("Callable[[], Any]", trace_context)


def setting(name: str) -> Any:
    """The value of a JAX option for this thread, such as "jax_enable_x64".

    The attributes of `jax.config` are documented, and unknown to type checkers.
    """
    return getattr(jax.config, name)


def all_settings() -> dict[str, Any]:
    """Every JAX option by name with its value for this thread.

    `jax.config.values` (checked in 0.10.2); each option is documented, the list is not.
    Without it: the options whose values decide results and that have a `with` block.
    """
    values: dict[str, Any] | None = getattr(jax.config, "values", None)
    if isinstance(values, dict):
        return dict(values)
    return {name: setting(name) for name in _RESULT_SETTINGS}


_RESULT_SETTINGS = (
    "jax_debug_infs", "jax_debug_nans", "jax_default_device",
    "jax_default_matmul_precision", "jax_default_prng_impl", "jax_disable_jit",
    "jax_enable_x64", "jax_numpy_dtype_promotion", "jax_numpy_rank_promotion",
    "jax_threefry_partitionable",
)  # fmt: skip


def jit_options(jitted: Any) -> tuple[object, ...] | None:
    """The options of a jitted function that decide results; None if unreadable.

    They are read from what JAX pickles of it (checked in 0.10.2). `inline` and
    `keep_unused` are not in it, and change no result.
    """
    names = ("static_argnums", "static_argnames", "global_cache_key")
    try:
        state = jitted.__getstate__()
        return tuple(state[name] for name in names)
    except (AttributeError, KeyError, TypeError):
        return None


@dataclass(frozen=True)
class WholeStructure:
    """In place of the static data of a node: the tree structure that holds them."""

    structure: Any


def pytree_node(structure: Any) -> tuple[Any, Any] | None:
    """The class and the static data at the top of a tree structure; None for a leaf.

    `PyTreeDef.node_data` (checked in 0.10.2). Without it the structure, which JAX can
    hash and compare, stands for the data.
    """
    if tree_util.treedef_is_leaf(structure):
        return None
    node_data: Callable[[], tuple[Any, Any]] | None = getattr(
        structure, "node_data", None
    )
    if node_data is None:
        return None, WholeStructure(structure)
    return node_data()


def pytree_from_node(cls: type, data: Any, children: Sequence[Any]) -> Any:
    """Make an instance of a registered pytree class from what `pytree_node` gave.

    `PyTreeDef.from_node_data_and_children` (checked in 0.10.2).
    """
    if isinstance(data, WholeStructure):
        structure = data.structure
    else:
        leaf = tree_util.tree_structure(0)
        definition: Any = tree_util.PyTreeDef
        structure = definition.from_node_data_and_children(
            tree_util.default_registry, (cls, data), [leaf] * len(children)
        )
    return structure.unflatten(children)


def backend_started() -> bool:
    """Whether JAX has already looked for its devices.

    `jax._src.xla_bridge.backends_are_initialized` (checked in 0.10.2). There is no
    public way to ask without starting the backend; without it the answer is no, and
    a setting that came too late is not warned about.
    """
    try:
        from jax._src.xla_bridge import backends_are_initialized

        return bool(backends_are_initialized())
    except ImportError:
        return False


def from_numpy(name: str) -> Any:
    """A name that `jax.numpy` gives on demand: one that is deprecated there."""
    try:
        return getattr(jnp, name)
    except AttributeError as error:
        message = f"module 'jfi' has no attribute {name!r}"
        raise AttributeError(message, name=name) from error


# The table behind those names, so that `dir(jfi)` holds all that `dir(jax.numpy)` does.
deprecated_numpy: dict[str, Any] = getattr(jnp, "_deprecations", {})
