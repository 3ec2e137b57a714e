"""The defaults of jfi: float dtype, device, 64-bit types, GPU memory.

There are two worlds of dtypes. In the 32-bit one, JAX's own, nothing has 64 bits; in
the 64-bit one, `set_default_dtype("float64")`, everything that is created has. The
default dtype is jfi's own, kept where every jit cache looks at it, so that a function
compiled under another default is compiled again.
"""

import contextlib
import os
import warnings
from collections.abc import Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding

from .._errors import DefaultsError, LateDefaultsWarning
from .._jax_internals import (
    Device,
    JitKeyState,
    backend_started,
    cuts_64_bits,
    jit_key_state,
    outside_of_tracing,
    refuse_64_bits,
    setting,
)
from ._devices import DeviceLike, configured_device, device_name, resolve_device


DTypeLike: TypeAlias = Any
"""What `dtype=` takes: "float32", jnp.float32, np.dtype, bool, int, float, complex."""

_FLOATS = ("bfloat16", "float16", "float32", "float64")
_OTHERS = (
    "bool", "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64", "complex64", "complex128",
)  # fmt: skip
_MEMORY_VARIABLES = (
    "XLA_PYTHON_CLIENT_PREALLOCATE",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
    "XLA_CLIENT_MEM_FRACTION",
)

_WIDE = frozenset(("int64", "uint64", "float64", "complex128"))

World: TypeAlias = Literal["32-bit", "64-bit", "mixed"]
Float64Check: TypeAlias = Literal["allow", "warn", "refuse"]

# None: what JAX itself would create, float64 where 64-bit types are allowed.
_default_dtype: JitKeyState[np.dtype[Any] | None] = jit_key_state(None)
_allowed_by_jfi = False  # 64-bit types, for as long as the default is float64
_float64_check: Float64Check = "allow"


@dataclass(frozen=True)
class Config:
    """The defaults in force, as `jfi.config()` returns them.

    Attributes:
        world: "32-bit", "64-bit", or "mixed": 64-bit types are allowed, and created
            floats have fewer bits.
        default_dtype: Name of the dtype of created floats.
        default_device: Where arrays are created; None leaves it to JAX.
        enable_x64: Whether 64-bit types are allowed.
        float64: What is done where float32 becomes float64 in compiled code.
        preallocate: Whether JAX takes most of a GPU's memory when it starts.
        set_by_jfi: The settings that `import jfi` made; the rest was configured before.
    """

    world: World
    default_dtype: str
    default_device: str | None
    enable_x64: bool
    float64: Float64Check
    preallocate: bool
    set_by_jfi: tuple[str, ...]


def config(*, float64: Float64Check | None = None) -> Config:
    """Tell the defaults in force and which of them `import jfi` has set.

    >>> import jfi as jnp
    >>> jnp.config().world, jnp.config().default_dtype
    ('32-bit', 'float32')

    Args:
        float64: What to do from now on where float32 becomes float64 in code that
            `jit` or `autojit` compiles: "allow" it, "warn" with the line, or "refuse"
            it. This is for the mixed world, and slows compiled functions down.

    Returns:
        A `Config`. No backend is started by asking.

    Raises:
        DefaultsError: `float64` is none of the three.
    """
    global _float64_check
    if float64 is not None:
        if float64 not in get_args(Float64Check):
            raise DefaultsError(
                f"config() got float64={float64!r}. Write 'allow', 'warn' or 'refuse'."
            )
        _float64_check = float64
    device = configured_device()
    return Config(
        world=_world(),
        default_dtype=get_default_dtype().name,
        default_device=device_name(device) if isinstance(device, Device) else device,
        enable_x64=has_64_bits(),
        float64=_float64_check,
        preallocate=os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", "true").lower()
        not in ("false", "0"),
        set_by_jfi=_set_by_jfi,
    )


def float64_check() -> Float64Check:
    """What to do where float32 becomes float64 in compiled code."""
    return _float64_check


def _world() -> World:
    if not has_64_bits():
        return "32-bit"
    return "64-bit" if get_default_dtype() == np.float64 else "mixed"


def get_default_dtype() -> np.dtype[Any]:
    """Tell the dtype of the floats that creation functions make.

    >>> import jfi as jnp
    >>> jnp.get_default_dtype()
    dtype('float32')

    Returns:
        The dtype; float32 where 64-bit types are not allowed.
    """
    chosen = _default_dtype.value
    if chosen is not None and chosen == np.float32:  # in most calls
        return chosen
    return jax.dtypes.canonicalize_dtype(np.float64 if chosen is None else chosen)


def created_dtype() -> np.dtype[Any] | None:
    """The dtype of created floats; None where JAX by itself creates the same."""
    chosen = _default_dtype.value
    if chosen is None or chosen == (np.float64 if has_64_bits() else np.float32):
        return None
    return get_default_dtype()


def set_default_dtype(dtype: DTypeLike) -> None:
    """Choose the dtype of the floats that creation functions make, in every thread.

    float64 is the 64-bit world: JAX's 64-bit types are switched on, for the libraries
    beside jfi as well. Another dtype switches them off again, unless it was not jfi
    that switched them on. Arrays with a dtype of their own keep it.

    >>> import jfi as jnp
    >>> jnp.set_default_dtype(jnp.float64)
    >>> jnp.zeros(3).dtype, jnp.arange(3).dtype
    (dtype('float64'), dtype('int64'))
    >>> jnp.set_default_dtype(jnp.float32)

    Args:
        dtype: One of bfloat16, float16, float32, float64, by name or as a dtype. None
            goes back to what JAX creates.

    Raises:
        DefaultsError: Not a float dtype, or float64 inside a block that switched
            64-bit types off.
    """
    global _allowed_by_jfi
    checked = _checked_default(dtype, "set_default_dtype")
    wide = checked == np.float64
    # This thread may be in a block that has options of its own.
    allowed = outside_of_tracing(has_64_bits)
    if wide:
        jax.config.update("jax_enable_x64", True)
        if not has_64_bits():
            jax.config.update("jax_enable_x64", allowed)
            raise DefaultsError(
                "set_default_dtype() got float64 inside `with "
                "jax.enable_x64(False)`, where there are no 64-bit types. "
                "Write it before that block."
            )
        _allowed_by_jfi = _allowed_by_jfi or not allowed
    elif _allowed_by_jfi:
        jax.config.update("jax_enable_x64", False)
        _allowed_by_jfi = False
    _default_dtype.set_global(checked)


def default_dtype(dtype: DTypeLike) -> AbstractContextManager[None]:
    """Choose the dtype of created floats within a `with` block, in this thread alone.

    float64 switches JAX's 64-bit types on within the block. Another dtype leaves them
    as they are: what has 64 bits keeps them.

    >>> import jfi as jnp
    >>> with jnp.default_dtype("float64"):
    ...     jnp.ones(2).dtype
    dtype('float64')

    Args:
        dtype: As in `set_default_dtype`.

    Returns:
        A context manager.

    Raises:
        DefaultsError: Not a float dtype.
    """
    return _within(_checked_default(dtype, "default_dtype"))


@contextlib.contextmanager
def _within(dtype: np.dtype[Any] | None) -> Generator[None]:
    with contextlib.ExitStack() as stack:
        if dtype == np.float64 and not has_64_bits():
            stack.enter_context(jax.enable_x64(True))
        stack.enter_context(_default_dtype(dtype))
        yield


def resolve_dtype(dtype: DTypeLike = None) -> np.dtype[Any]:
    """Turn whatever names a dtype into the dtype that JAX will use.

    >>> import jfi as jnp
    >>> jnp.resolve_dtype(), jnp.resolve_dtype("int8")
    (dtype('float32'), dtype('int8'))

    Args:
        dtype: A name, a NumPy or JAX dtype, a Python type, or None for the default.

    Returns:
        The dtype.

    Raises:
        DefaultsError: There is no such dtype, or not in the 32-bit world.
    """
    if dtype is None:
        return get_default_dtype()
    return jax.dtypes.canonicalize_dtype(named_dtype(dtype, "resolve_dtype"))


def default_dtype_for_device(device: DeviceLike | None = None) -> np.dtype[Any]:
    """Tell the dtype that created floats get on a device.

    >>> import jfi as jnp
    >>> jnp.default_dtype_for_device("cpu")
    dtype('float32')

    Args:
        device: As in `resolve_device`.

    Returns:
        The default dtype; float32 in place of float64 on a device that has no float64.

    Raises:
        DefaultsError: There is no such device here.
    """
    place = resolve_device(device)
    devices = place.device_set if isinstance(place, Sharding) else {place}
    dtype = get_default_dtype()
    if dtype == np.float64 and any(d.platform.lower() == "metal" for d in devices):
        return np.dtype(np.float32)
    return dtype


def _checked_default(dtype: DTypeLike, caller: str) -> np.dtype[Any] | None:
    """The dtype as a default for floats, or None to follow JAX."""
    if dtype is None:
        return None
    named = get_default_dtype() if dtype is float else dtype_of_jax(dtype, caller)
    if named.name not in _FLOATS:
        raise DefaultsError(
            f"{caller}() got {named.name}, which is not a float dtype. "
            f"Write one of {', '.join(_FLOATS)}; integers and bools have no default."
        )
    return named


def named_dtype(dtype: DTypeLike, caller: str) -> np.dtype[Any]:
    """The dtype of that name, if it is there; Python's types mean the defaults.

    Raises:
        DefaultsError: JAX has no such dtype, or not in the 32-bit world.
    """
    if dtype is int:
        return jax.dtypes.canonicalize_dtype(int)
    if dtype is float:
        return get_default_dtype()
    if dtype is complex:
        return np.result_type(get_default_dtype(), np.complex64)
    named = dtype_of_jax(dtype, caller)
    if named.name in _WIDE and not has_64_bits() and not cuts_64_bits():
        raise DefaultsError(
            f"{caller}() got the dtype {named.name}, and this is the 32-bit world. "
            'Write jfi.set_default_dtype("float64") at the start of the script, '
            'or `with jfi.default_dtype("float64"):` around what needs 64 bits.'
        )
    return named


def dtype_of_jax(dtype: DTypeLike, caller: str) -> np.dtype[Any]:
    """The dtype of that name, or an error that lists those of JAX."""
    if isinstance(dtype, (jax.Array, np.ndarray)):  # NumPy would take that of JAX's
        raise DefaultsError(
            f"{caller}() got an array for a dtype. Write that of the array, x.dtype."
        )
    try:
        named = jnp.dtype(dtype)
    except TypeError:
        named = None
    # NumPy names dtypes that no JAX array has: object, str, datetime64, records.
    # The kinds of bfloat16 and its like are NumPy's kind of records.
    if named is None or not (named.kind in "biufc" or jnp.issubdtype(named, np.number)):
        raise DefaultsError(
            f"{caller}() got {dtype!r}, which is no dtype of JAX. "
            f"Write one of {', '.join((*_FLOATS, *_OTHERS))}."
        )
    return named


def has_64_bits() -> bool:
    """Whether JAX has 64-bit types now."""
    return bool(setting("jax_enable_x64"))


def _apply_startup_defaults() -> tuple[str, ...]:
    """Set what the user has not configured; return what was set."""
    choice = os.environ.get("JFI_DEFAULTS", "jfi")
    if choice not in ("jfi", "jax"):
        raise DefaultsError(
            f"the environment variable JFI_DEFAULTS is {choice!r}. "
            "Write JFI_DEFAULTS=jax to leave JAX's defaults alone, or unset it."
        )
    if choice == "jax":
        return ()
    done: list[str] = []
    _default_dtype.set_global(np.dtype(np.float32))
    if "JAX_EXPLICIT_X64_DTYPES" not in os.environ and refuse_64_bits():
        done.append("explicit_x64_dtypes")
    if not _platform_chosen():
        jax.config.update("jax_default_device", "cpu")
        done.append("default_device")
    if not any(name in os.environ for name in _MEMORY_VARIABLES):
        if backend_started() and jax.default_backend() != "cpu":
            warnings.warn(
                "jfi was imported after JAX had started, too late to keep JAX from "
                "taking most of the GPU's memory. Import jfi before the first array, "
                "or set XLA_PYTHON_CLIENT_PREALLOCATE=false in the environment.",
                LateDefaultsWarning,
                stacklevel=3,
            )
        else:
            os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
            done.append("preallocate")
    return tuple(done)


def _platform_chosen() -> bool:
    """Whether the user has chosen where JAX works."""
    return bool(
        configured_device() is not None
        or setting("jax_platforms")
        or os.environ.get("JAX_PLATFORMS")
        or os.environ.get("JAX_PLATFORM_NAME")
    )


_set_by_jfi = _apply_startup_defaults()
if "JFI_DTYPE" in os.environ:
    try:
        set_default_dtype(os.environ["JFI_DTYPE"])
    except DefaultsError as error:
        raise DefaultsError(f"the environment variable JFI_DTYPE: {error}") from None
