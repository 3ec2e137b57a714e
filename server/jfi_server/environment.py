"""What must agree between two processes for one to run the other's programs.

It is read without importing JAX, so that the command answers at once. What a script
changes in JAX after its start (64-bit types, the number of devices) is in the keys of
its programs.
"""

import contextlib
import hashlib
import importlib.util
import os
import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


_PACKAGES = (
    "jfi", "jax", "jaxlib", "numpy", "ml_dtypes", "jax-cuda12-plugin",
    "jax-cuda13-plugin", "jax-rocm7-plugin", "libtpu",
)  # fmt: skip

# Each names the devices that JAX finds, or how many of them it shows.
_VARIABLES = (
    "JAX_PLATFORMS", "JAX_PLATFORM_NAME", "JAX_NUM_CPU_DEVICES",
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
    "TPU_VISIBLE_CHIPS", "LIBTPU_INIT_ARGS",
)  # fmt: skip


def environment() -> dict[str, str]:
    """Versions, processor, devices and flags, as this process was started with.

    >>> environment()["jax"]
    '0...'
    """
    parts = {
        "python": f"{platform.python_implementation()} "
        f"{sys.version_info.major}.{sys.version_info.minor}",
        "system": f"{platform.system()} {platform.machine()}",
    }
    parts |= {name: found for name in _PACKAGES if (found := _version(name))}
    parts["files of jfi"] = files_of("jfi") + files_of("jfi_server")
    parts |= {name: found for name in _VARIABLES if (found := os.environ.get(name))}
    if flags := xla_flags():
        parts["XLA_FLAGS"] = flags
    if gpus := _gpus():
        parts["gpus"] = gpus
    parts["processor"] = _processor()
    return parts


def digest(parts: dict[str, str] | None = None) -> str:
    """One word for an environment: equal ones can share a server.

    >>> digest({"jax": "0.10"}) == digest({"jax": "0.11"})
    False
    """
    parts = environment() if parts is None else parts
    return hashlib.sha256(repr(sorted(parts.items())).encode()).hexdigest()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def files_of(package: str) -> str:
    """What differs between two states of a package's source, which may be a checkout.

    >>> files_of("jfi_server") == files_of("jfi")
    False
    """
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # made by hand
        return ""
    if spec is None:
        return ""
    files = sorted(
        (folder.removeprefix(root), name, info.st_size, info.st_mtime_ns)
        for root in spec.submodule_search_locations or ()
        for folder, _, names in os.walk(root)  # a fifth of the time of Path.rglob
        for name in names
        if name.endswith((".py", ".so", ".pyd"))
        for info in (os.stat(os.path.join(folder, name)),)
    )
    if not files and spec.origin and os.path.exists(spec.origin):
        info = os.stat(spec.origin)  # a module by itself
        files = [("", package, info.st_size, info.st_mtime_ns)]
    return hashlib.sha256(repr(files).encode()).hexdigest()[:16]


def xla_flags() -> str:
    """What `XLA_FLAGS` says, or the file that it names, as XLA read it at its start."""
    flags = os.environ.get("XLA_FLAGS", "").strip()
    if flags and not flags.startswith("-"):
        with contextlib.suppress(OSError):
            flags = Path(flags).read_text(errors="replace")
    # What XLA writes down for the user has no effect on programs.
    kept = (flag for flag in flags.split() if not flag.startswith("--xla_dump"))
    return " ".join(sorted(kept))


def _gpus() -> str:
    """The models of NVIDIA's GPUs, from its driver."""
    try:
        files = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
        lines = [line for file in files for line in file.read_text().splitlines()]
    except OSError:
        return ""
    return ", ".join(
        x.partition(":")[2].strip() for x in lines if x.startswith("Model")
    )


@cache
def _processor() -> str:
    """A digest of what the processor can do: machine code is compiled for it."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            first = file.read().partition(b"\n\n")[0].splitlines()
    except OSError:
        return platform.processor()
    kept = (b"model name", b"flags", b"Features", b"CPU part")
    lines = sorted(line for line in first if line.startswith(kept))
    return hashlib.sha256(b"\n".join(lines)).hexdigest()[:16]
