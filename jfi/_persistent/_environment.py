"""What a compiled program depends on besides its function and its arguments."""

import functools
import hashlib
import platform
import sys
import time
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from .._arrays._config import get_default_dtype
from .._jax_internals import Device, all_settings, compilation_context, setting
from .._values import library_version, token
from ._store import server_module


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
_DEBUGGING = (
    "jax_check_tracer_leaks", "jax_debug_infs", "jax_debug_nans", "jax_disable_jit",
)  # fmt: skip


def debugging() -> bool:
    """Whether an option for debugging is on: then all is as without jfi."""
    return any(map(setting, _DEBUGGING))


def device_in_force() -> Device:
    """Where programs run whose arrays say nothing else."""
    chosen = setting("jax_default_device")
    if isinstance(chosen, str):
        kind, _, number = chosen.partition(":")
        devices = jax.devices(kind)
        chosen = next((d for d in devices if str(d.id) == number), devices[0])
    found: Device = chosen or jax.local_devices()[0]
    return found


@functools.cache
def environment() -> dict[str, str]:
    """What is settled when a process starts: versions, processor, flags of XLA."""
    server = server_module("environment")
    return {
        "python": f"{platform.python_implementation()} {sys.version_info[:2]}",
        **{name: library_version(name) for name in ("jfi", "jax", "jaxlib", "numpy")},
        "files of jfi": server.files_of("jfi"),
        "machine": f"{platform.system()} {platform.machine()} {_processor()}",
        "XLA_FLAGS": server.xla_flags(),
    }


def _processor() -> str:
    """What compiled code may use of the processor."""
    lines = Path("/proc/cpuinfo")
    try:
        features = {
            line
            for line in lines.read_text().splitlines()
            if line.startswith(("flags", "Features", "model name"))
        }
    except OSError:
        return platform.processor()
    return hashlib.sha256("\n".join(sorted(features)).encode()).hexdigest()[:16]


def numeric_settings() -> str:
    """What Python's and NumPy's own numbers follow, in this thread and by now."""
    settings: list[object] = [np.geterr(), time.tzname, time.timezone]
    if "decimal" in sys.modules:
        context = sys.modules["decimal"].getcontext()
        settings += [getattr(context, name) for name in _OF_DECIMALS]
    return repr(settings)


_OF_DECIMALS = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def surroundings(device: Device) -> bytes:
    """All that decides what is compiled, beside function and arguments, in one digest.

    The options of JAX are those in force in this thread.
    """
    context = compilation_context()
    key = context, device.platform, device.device_kind, device.id
    known = _surroundings.get(key) if context is not None else None
    if known is None:
        known = _digest_of_surroundings(device)
        if len(_surroundings) > 64:
            _surroundings.clear()
        _surroundings[key] = known
    return known


_surroundings: dict[Hashable, bytes] = {}


def portable_surroundings(platform: str) -> bytes:
    """The same for a program that another machine will compile, for a platform."""
    of_machine = "machine", "XLA_FLAGS"
    here = {k: v for k, v in environment().items() if k not in of_machine}
    return _digest({**here, **_settings(), "platform": platform})


def _settings() -> dict[str, str]:
    """What decides what is traced, beside the function."""
    options = {
        name: repr(value)
        for name, value in sorted(all_settings().items())
        if not name.startswith(_NO_EFFECT) and name != "jax_default_device"
    }
    mesh = repr(jax.sharding.get_abstract_mesh())
    return {**options, "dtype": get_default_dtype().name, "mesh": mesh}


def _digest_of_surroundings(device: Device) -> bytes:
    client: Any = device
    parts = {
        **environment(),
        **_settings(),
        "device": f"{device.platform} {device.device_kind} {device.id}",
        "devices": f"{jax.device_count()} {jax.local_device_count()}",
        "process": f"{jax.process_index()} of {jax.process_count()}",
        "platform": getattr(client.client, "platform_version", ""),
    }
    return _digest(parts)


def _digest(parts: dict[str, str]) -> bytes:
    fields = [f"{name}={value}".encode() for name, value in parts.items()]
    return hashlib.sha256(token(*fields)).digest()
