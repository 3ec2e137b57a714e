"""What must agree between two processes for one to compute for the other."""

import os
import platform
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from enum import Enum
from importlib.metadata import version
from typing import Any

import jax

from jfi._arrays._config import default_dtype, get_default_dtype
from jfi._jax_internals import Device, all_settings, setting

from .arrays import device_named, name_of_device
from .protocol import VERSION, Settings


# Of no effect on results: where things are kept, what is logged, how errors look.
_NO_EFFECT = (
    "jax_backend_target", "jax_captured_constants", "jax_check_proxy_envs",
    "jax_compilation_cache", "jax_compiler_detailed_logging",
    "jax_cuda_visible_devices", "jax_debug_log_modules", "jax_dump_ir",
    "jax_enable_compilation_cache", "jax_explain_cache_misses",
    "jax_hlo_source_file", "jax_include_debug_info", "jax_include_full_tracebacks",
    "jax_log_", "jax_logging_level", "jax_num_cpu_devices",
    "jax_oneapi_visible_devices", "jax_persistent_cache", "jax_platform_name",
    "jax_platforms", "jax_pprint", "jax_raise_persistent_cache",
    "jax_rocm_visible_devices", "jax_share_binary", "jax_source_url_schema",
    "jax_traceback", "jax_tracer_error", "jax_xla_backend", "jax_xla_profile",
)  # fmt: skip


def _default_device(name: str | None) -> Any:
    return jax.default_device(device_named(name) if name else None)


# The options that have a `with` block, so that the server can take on the client's.
_APPLIED: dict[str, Callable[[Any], AbstractContextManager[Any]]] = {
    "jax_default_device": _default_device,
    "jax_default_matmul_precision": jax.default_matmul_precision,
    "jax_default_prng_impl": jax.default_prng_impl,
    "jax_enable_x64": jax.enable_x64,
    "jax_numpy_dtype_promotion": jax.numpy_dtype_promotion,
    "jax_numpy_rank_promotion": jax.numpy_rank_promotion,
    "jax_threefry_partitionable": jax.threefry_partitionable,
}
_DEBUGGING = (
    "jax_check_tracer_leaks", "jax_debug_infs", "jax_debug_nans", "jax_disable_jit",
)  # fmt: skip


def environment() -> dict[str, str]:
    """What is settled when a process starts: versions, devices, flags of XLA."""
    flags = sorted(
        flag
        for flag in os.environ.get("XLA_FLAGS", "").split()
        if not flag.startswith("--xla_dump")
    )
    devices = sorted(f"{device.id} {device.device_kind}" for device in jax.devices())
    return {
        "protocol": str(VERSION),
        "python": f"{platform.python_implementation()} {sys.version_info[:2]}",
        "jfi": version("jfi"),
        "jax": jax.__version__,
        "jaxlib": version("jaxlib"),
        "numpy": version("numpy"),
        "cloudpickle": version("cloudpickle"),
        "backend": jax.default_backend(),
        "devices": ", ".join(devices),
        "XLA_FLAGS": " ".join(flags),
    }


def settings() -> Settings:
    """The options in force in this thread, those of `with` blocks included."""
    values = all_settings()
    found: dict[str, object] = {
        name: repr(value)
        for name, value in values.items()
        if not name.startswith(_NO_EFFECT)
    }
    values["jax_default_device"] = _device(values["jax_default_device"])
    for name in _APPLIED:
        found[name] = _plain(values[name])
    found["jfi_default_dtype"] = get_default_dtype().name
    found["mesh"] = repr(jax.sharding.get_abstract_mesh())
    return tuple(sorted(found.items()))


def debugging() -> str | None:
    """The option for debugging that is on, if one is."""
    return next((name for name in _DEBUGGING if setting(name)), None)


@contextmanager
def applied(wanted: Settings) -> Generator[None]:
    """Put those settings of a client in force that have a `with` block of their own."""
    values: dict[str, Any] = dict(wanted)
    with ExitStack() as stack:
        for name, block in _APPLIED.items():
            stack.enter_context(block(values[name]))
        stack.enter_context(default_dtype(values["jfi_default_dtype"]))
        yield


def _plain(value: Any) -> Any:
    """The value of an option as what its `with` block takes, and pickle too."""
    if isinstance(value, Enum):
        return value.value
    return name_of_device(value) if isinstance(value, Device) else value


def _device(default: Any) -> Any:
    """The default device, the same for "cpu" and for the device that it names."""
    return device_named(default) if isinstance(default, str) else default


def difference(theirs: dict[str, str], ours: dict[str, str]) -> str | None:
    """The first difference of two environments, in words."""
    for name in ours | theirs:
        their, our = theirs.get(name, "nothing"), ours.get(name, "nothing")
        if their != our:
            return f"the server has {name} {our!r}, this process {their!r}"
    return None
