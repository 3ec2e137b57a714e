"""What code reads that nobody can watch: files, clocks, random numbers, the thread."""

import builtins
import contextvars
import pathlib
import random
import threading
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .._values import References, is_user_module, reads_surroundings


_MISSING = object()
_GENERATORS = (np.random.RandomState, np.random.Generator, random.Random)
# Methods that read a file, of whatever; and those that are others' as well.
_READS_OF_FILES = frozenset({"read_bytes", "read_text"})
_READS_OF_PATHS = frozenset("exists glob is_dir is_file iterdir rglob stat".split())
# Made inside, from a seed, they start anew at each call.
_SEEDED = ("numpy.random", "random.Random")


def unseen(module: Mapping[str, Any], found: References) -> Iterator[str]:
    """What code reads that changes without a trace, as it is written there.

    Args:
        module: The global variables of the code.
        found: The names that it reads.
    """
    yield from sorted(found.attributes & _READS_OF_FILES)
    for chain in found.chains:
        value, name, *rest = _MISSING, *chain
        if name in module:
            value = module[name]
        elif hasattr(builtins, name):
            value = getattr(builtins, name)
        is_bare = chain in found.bare
        if _is_path(value, rest):
            yield from sorted(found.attributes & _READS_OF_PATHS)
        if value is not _MISSING and _is_unseen(value, rest, is_bare=is_bare):
            yield ".".join(chain)


def _is_path(value: Any, attributes: list[str]) -> bool:
    """Whether a variable is a path of the file system, or makes one."""
    if value is pathlib and attributes:
        value = vars(pathlib).get(attributes[0])
    return isinstance(value, pathlib.Path) or (
        isinstance(value, type) and issubclass(value, pathlib.Path)
    )


def _is_unseen(value: Any, attributes: list[str], *, is_bare: bool) -> bool:
    for name in (*attributes, ""):
        if isinstance(value, types.ModuleType):
            if is_user_module(value.__name__):
                return False
            full = f"{value.__name__}.{name}"
            if _is_read(full, is_bare=is_bare):
                return True
            value = vars(value).get(name)
            continue
        return _changes_unseen(value, name, is_bare=is_bare)
    return False


def _is_read(full_name: str, *, is_bare: bool) -> bool:
    """Whether a library's object reads what is not in the program.

    Args:
        full_name: Its name, from the module on.
        is_bare: Whether it is called without arguments: a generator without a seed.
    """
    is_seeded = full_name.startswith(_SEEDED) and not is_bare
    return reads_surroundings(full_name) and not is_seeded


def _changes_unseen(value: Any, attribute: str, *, is_bare: bool) -> bool:
    if isinstance(value, (contextvars.ContextVar, threading.local)):
        return True
    # The functions of these modules are methods: `random.gauss` of a generator there.
    is_method = isinstance(value, (types.MethodType, types.BuiltinMethodType))
    if isinstance(value.__self__ if is_method else value, _GENERATORS):
        return True
    if attribute == "rvs" and type(value).__module__.startswith("scipy.stats"):
        return True
    if not isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        value = type(value)
    names = f"{value.__module__}.{value.__qualname__}"
    return any(_is_read(n, is_bare=is_bare) for n in (names, f"{names}.{attribute}"))
