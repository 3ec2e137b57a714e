"""The defaults of jfi: float dtype, device, 64-bit types, GPU memory.

The default dtype is jfi's own, kept where every jit cache looks at it, so that a
function compiled under another default is compiled again.
"""

import os
import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding

from ._compat import Device, JitKeyState, backend_started, jit_key_state, setting
from ._devices import DeviceLike, configured_device, device_name, resolve_device
from ._errors import DefaultsError, LateDefaultsWarning


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

# None: what JAX itself would create, float64 where 64-bit types are allowed.
_default_dtype: JitKeyState[np.dtype[Any] | None] = jit_key_state(None)


@dataclass(frozen=True)
class Config:
    """The defaults in force, as `jfi.config()` tells them.

    Attributes:
        default_dtype: Name of the dtype of created floats.
        default_device: Where arrays are created; None leaves it to JAX.
        enable_x64: Whether 64-bit types are allowed.
        preallocate: Whether JAX takes most of a GPU's memory when it starts.
        set_by_jfi: The settings that `import jfi` made; the rest was configured before.
    """

    default_dtype: str
    default_device: str | None
    enable_x64: bool
    preallocate: bool
    set_by_jfi: tuple[str, ...]


def config() -> Config:
    """Tell the defaults in force and which of them `import jfi` has set.

    >>> import jfi as jnp
    >>> jnp.config().default_dtype
    'float32'

    Returns:
        A `Config`. No backend is started by asking.
    """
    device = configured_device()
    return Config(
        default_dtype=get_default_dtype().name,
        default_device=device_name(device) if isinstance(device, Device) else device,
        enable_x64=_x64(),
        preallocate=os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", "true").lower()
        not in ("false", "0"),
        set_by_jfi=_set_by_jfi,
    )


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


def set_default_dtype(dtype: DTypeLike) -> None:
    """Choose the dtype of the floats that creation functions make, in every thread.

    Only floats that are created follow it: integers, bools and arrays with a dtype of
    their own never do.

    >>> import jfi as jnp
    >>> jnp.set_default_dtype(jnp.float64)
    >>> jnp.zeros(3).dtype
    dtype('float64')
    >>> jnp.set_default_dtype(jnp.float32)

    Args:
        dtype: One of bfloat16, float16, float32, float64, by name or as a dtype. None
            goes back to what JAX creates.

    Raises:
        DefaultsError: Not a float dtype, or float64 while 64-bit types are off.
    """
    _default_dtype.set_global(_checked_default(dtype, "set_default_dtype"))


def default_dtype(dtype: DTypeLike) -> AbstractContextManager[None]:
    """Choose the dtype of created floats within a `with` block, in this thread alone.

    >>> import jfi as jnp
    >>> with jnp.default_dtype("float64"):
    ...     jnp.ones(2).dtype
    dtype('float64')

    Args:
        dtype: As in `set_default_dtype`.

    Returns:
        A context manager.

    Raises:
        DefaultsError: Not a float dtype, or float64 while 64-bit types are off.
    """
    return _default_dtype(_checked_default(dtype, "default_dtype"))


def resolve_dtype(dtype: DTypeLike = None) -> np.dtype[Any]:
    """Turn whatever names a dtype into the dtype that JAX will use.

    >>> import jfi as jnp
    >>> jnp.resolve_dtype(), jnp.resolve_dtype("int8")
    (dtype('float32'), dtype('int8'))

    Args:
        dtype: A name, a NumPy or JAX dtype, a Python type, or None for the default.

    Returns:
        The dtype; 64-bit types become 32-bit where they are not allowed.

    Raises:
        DefaultsError: There is no such dtype.
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
    named = named_dtype(dtype, caller)
    if named.name not in _FLOATS:
        raise DefaultsError(
            f"{caller}() got {named.name}, which is not a float dtype. "
            f"Write one of {', '.join(_FLOATS)}; integers and bools have no default."
        )
    if named == np.float64 and not _x64():
        raise DefaultsError(
            f"{caller}() got float64 while JAX allows no 64-bit types. "
            'Write jax.config.update("jax_enable_x64", True) before it.'
        )
    return named


def named_dtype(dtype: DTypeLike, caller: str) -> np.dtype[Any]:
    """The dtype of that name, or an error that lists those of JAX."""
    if any(dtype is number for number in (int, float, complex)):
        # As in JAX, Python's types mean the widest that is allowed.
        return jax.dtypes.canonicalize_dtype(dtype)
    try:
        named = jnp.dtype(dtype)
    except TypeError:
        named = None
    # NumPy names dtypes that no JAX array has: object, str, datetime64, records.
    if named is None or not (named.kind == "b" or jnp.issubdtype(named, np.number)):
        raise DefaultsError(
            f"{caller}() got {dtype!r}, which is no dtype of JAX. "
            f"Write one of {', '.join((*_FLOATS, *_OTHERS))}."
        )
    return named


def _x64() -> bool:
    return bool(setting("jax_enable_x64"))


def _apply_startup_defaults() -> tuple[str, ...]:
    """Set what the user has not configured; tell what was set."""
    choice = os.environ.get("JFI_DEFAULTS", "jfi")
    if choice not in ("jfi", "jax"):
        raise DefaultsError(
            f"the environment variable JFI_DEFAULTS is {choice!r}. "
            "Write JFI_DEFAULTS=jax to leave JAX's defaults alone, or unset it."
        )
    if choice == "jax":
        return ()
    done: list[str] = []
    # Whoever switched 64-bit types on or off knows which floats they want.
    if "JAX_ENABLE_X64" not in os.environ and not _x64():
        jax.config.update("jax_enable_x64", True)
        _default_dtype.set_global(np.dtype(np.float32))
        done += ["enable_x64", "default_dtype"]
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
    """Whether the user has told JAX where to work."""
    return bool(
        configured_device() is not None
        or setting("jax_platforms")
        or os.environ.get("JAX_PLATFORMS")
        or os.environ.get("JAX_PLATFORM_NAME")
    )


_set_by_jfi = _apply_startup_defaults()
