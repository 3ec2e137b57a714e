"""Names of functions and of what libraries have, for keys and messages."""

import functools
import hashlib
import importlib.machinery
import os
import sys
import types
from pathlib import Path
from typing import Any

from ..._values import LIBRARIES, is_user_module, library_version
from .._store import server_module


def differs_by_process(name: str, fn: types.FunctionType) -> bool:
    """Whether a builtin that a function calls differs from process to process."""
    return name in ("hash", "id") and fn.__name__ != "__hash__"  # of dataclasses


def library_name(value: Any, *attributes: str) -> str:
    """The name of a library's object with its module, and attributes of it."""
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    # A builtin class method (`datetime.now`) knows its class, and no module.
    owner = getattr(value, "__self__", None)
    named = owner if isinstance(owner, type) else value
    module = getattr(named, "__module__", None) or type(value).__module__
    return ".".join((str(module), str(name), *attributes))


def library_state(module: str) -> str:
    """What tells two states of a module's library apart.

    One that somebody works on is installed again and again with one version: of all but
    Python, JAX and the like, the files count, too.
    """
    top, version = module.partition(".")[0], library_version(module)
    if top in LIBRARIES or top in sys.stdlib_module_names:
        return version
    return f"{version} {server_module('environment').files_of(top)}"


def extension_digest(value: Any) -> str:
    """What tells builds of the user's own extension module apart; else ""."""
    owner = getattr(value, "__objclass__", value)
    module = getattr(owner, "__module__", None) or getattr(value, "__self__", None)
    name = getattr(module, "__name__", module)
    file = getattr(sys.modules.get(str(name)), "__file__", None)
    if not isinstance(file, str) or not file.endswith(_EXTENSIONS):
        return ""
    if not is_user_module(str(name)):
        return ""
    info = os.stat(file)
    return _digest_of_file(file, info.st_size, info.st_mtime_ns)


_EXTENSIONS = tuple(importlib.machinery.EXTENSION_SUFFIXES)


@functools.cache
def _digest_of_file(file: str, *state: int) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def call_name(fn: object) -> str:
    """What messages call a function."""
    return f"{getattr(fn, '__name__', type(fn).__name__)}()"
