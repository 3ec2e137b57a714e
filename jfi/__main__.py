"""`python -m jfi`: what a bug report needs, as plain text."""

import importlib
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata
from typing import Any

import jax

from . import _jax_internals as _jax_internals
from ._arrays._config import config


REQUIRED = ("jax", "jaxlib", "numpy")
OPTIONAL = (
    "torch", "scipy", "dm-haiku", "equinox", "flax", "optax", "autoray", "distributed",
    "pytensor", "matplotlib", "tqdm",
)  # fmt: skip
VARIABLES = ("JFI_", "JAX_", "XLA_")


def main() -> int:
    """Print the report."""
    print("\n".join(report()))  # noqa: T201
    return 0


def report() -> Iterator[str]:
    """The lines of the report."""
    yield f"jfi {_version('jfi')}, Python {platform.python_version()}"
    yield from _section("system", [("platform", platform.platform()), *_variables()])
    yield from _section("versions", _versions())
    yield from _section("devices", _devices())
    defaults = [(name, str(value)) for name, value in asdict(config()).items()]
    yield from _section("defaults (jfi.config())", defaults)
    yield from _section("compiled code", [("server", _server()), ("JAX", _cache())])
    rows = _jax_internals.rows()
    yield from _section(
        "undocumented JAX", [(row.name, f"{row.state:<9} {row.uses}") for row in rows]
    )
    missing = [row for row in rows if row.state != "in use"]
    if missing:
        yield from _section(
            "what that costs you", [(row.name, row.without) for row in missing]
        )


def _section(title: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    width = max(len(name) for name, _ in rows)
    yield f"\n{title}"
    for name, value in rows:
        yield f"  {name:<{width}}  {value}"


def _variables() -> list[tuple[str, str]]:
    own = (
        "XLA_PYTHON_CLIENT_PREALLOCATE" if "preallocate" in config().set_by_jfi else ""
    )
    set_here = sorted(n for n in os.environ if n.startswith(VARIABLES) and n != own)
    return [(name, os.environ[name]) for name in set_here]


def _versions() -> list[tuple[str, str]]:
    rows = [(name, _version(name)) for name in REQUIRED]
    found = [(name, _version(name)) for name in OPTIONAL]
    rows += [(name, version) for name, version in found if version != "not installed"]
    tested = ", ".join(_jax_internals.TESTED)
    untested = jax.__version__ not in _jax_internals.TESTED
    note = "  NOT TESTED: " if untested else "  tested: "
    return [(n, f"{v}{note}{tested}" if n == "jax" else v) for n, v in rows]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _devices() -> list[tuple[str, str]]:
    try:
        devices: list[Any] = jax.devices()
    except RuntimeError as error:
        return [("none", str(error).splitlines()[0])]
    rows = [(f"{d.platform}:{d.id}", d.device_kind) for d in devices]
    return [*rows, ("backend", jax.default_backend())]


def _server() -> str:
    """Where the compilation server is, and whether it runs."""
    try:
        folders: Any = importlib.import_module("jfi_server.folders")
        environment: Any = importlib.import_module("jfi_server.environment")
        control: Any = importlib.import_module("jfi_server.control")
        folder = folders.server_folder(folders.base_folder(), environment.digest())
        status = control.ask(folder, "status")
    except Exception as error:  # a broken server must not hide the rest
        return f"{type(error).__name__}: {error}"
    if status is None:
        return f"not running in {folder}"
    return f"process {status['pid']}, {status['programs']} programs, in {folder}"


def _cache() -> str:
    folder = _jax_internals.setting("jax_compilation_cache_dir")
    return f"cache in {folder}" if folder else "no cache on disk"


if __name__ == "__main__":
    sys.exit(main())
