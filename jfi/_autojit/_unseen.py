"""What code reads that nobody can watch: files, clocks, random numbers, the thread."""

import builtins
import contextvars
import pathlib
import sys
import threading
import types
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .._values import References, is_generator, is_user_module, reads_surroundings


_MISSING = object()
# Made inside, from a seed, they start anew at each call.
_SEEDED = ("numpy.random", "random.Random")
_OF_FILES = frozenset(
    """absolute cwd exists expanduser glob home is_dir is_file is_mount is_symlink
    iterdir lstat open read_bytes read_text readlink resolve rglob samefile stat
    walk""".split()
)


def unseen(module: Mapping[str, Any], found: References) -> Iterator[str]:
    """What code reads that changes without a trace, as it is written there.

    Args:
        module: The global variables of the code.
        found: The names that it reads.
    """
    for name in found.imports:  # into a variable of the function
        imported = sys.modules.get(name)
        if imported is not None:
            yield from _unseen_of(imported, (name,), found)
    for chain in found.chains:
        value, name, *rest = _MISSING, *chain
        if name in module:
            value = module[name]
        elif hasattr(builtins, name):
            value = getattr(builtins, name)
        if value is not _MISSING and _is_unseen(value, rest, found, chain):
            yield ".".join(chain)
        if isinstance(value, types.ModuleType) and not rest:  # getattr(np, "load")
            yield from _unseen_of(value, chain, found)


def _unseen_of(
    module: types.ModuleType, chain: tuple[str, ...], found: References
) -> Iterator[str]:
    """The same for a module, of which code may read any attribute that it names."""
    for attributes in _chains_in(module, found.attributes):
        if _is_unseen(module, attributes, found):
            yield ".".join((*chain, *attributes))


def is_path(x: object) -> bool:
    """Whether a value is the path of a file, or a class of paths."""
    return issubclass(x if isinstance(x, type) else type(x), pathlib.PurePath)


def reads_files(attributes: Collection[str]) -> bool:
    """Whether code that reads these attributes of a path reads files or folders."""
    return not _OF_FILES.isdisjoint(attributes)


def _chains_in(
    module: types.ModuleType, attributes: Collection[str]
) -> Iterator[list[str]]:
    """What code may read of a module, which reads these attributes of whatever."""
    for name in attributes & vars(module).keys():
        yield [name]
        value = vars(module)[name]
        if isinstance(value, types.ModuleType):
            yield from ([name, inner] for inner in attributes & vars(value).keys())


def _is_unseen(
    value: Any,
    attributes: list[str],
    found: References,
    chain: tuple[str, ...] | None = None,
) -> bool:
    # Called without arguments, a generator has no seed.
    seeded = () if chain in found.bare else _SEEDED
    for name in (*attributes, ""):
        if isinstance(value, types.ModuleType):
            if is_user_module(value.__name__):
                return False
            full = f"{value.__name__}.{name}"
            if reads_surroundings(full) and not full.startswith(seeded):
                return True
            value = vars(value).get(name)
            continue
        if is_path(value):
            return reads_files(found.attributes)
        return _changes_unseen(value, name, seeded)
    return False


def _is_guard(value: Any) -> bool:
    """Whether it only keeps a `__repr__` that attrs has written from calling itself."""
    attrs = sys.modules.get("attr._compat")
    return attrs is not None and value is getattr(attrs, "repr_context", None)


def _changes_unseen(value: Any, attribute: str, seeded: tuple[str, ...]) -> bool:
    if isinstance(value, (contextvars.ContextVar, threading.local)):
        return not _is_guard(value)
    if is_generator(value, attribute):
        return True
    if not isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        value = type(value)
    names = f"{value.__module__}.{value.__qualname__}"
    read = reads_surroundings(names) or reads_surroundings(f"{names}.{attribute}")
    return read and not names.startswith(seeded)
