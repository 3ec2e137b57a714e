"""What programs do that a found one would leave out: such are traced at each start.

A found program is not traced. What happens once, while code is traced (a print, a count
in a global variable), would happen at the first start of a script and never again. Only
a program that calls back is found all the same: it is traced for its callbacks.
"""

import builtins
import io
import logging
import types
from collections.abc import Iterator
from typing import Any

from .._autojit._graphs import Opened
from .._values import (
    full_name,
    has_effects,
    is_installed,
    is_user_function,
    reads_surroundings,
    references,
)
from .fingerprint import differs_by_process


def effect_of(opened: Opened) -> str:
    """What a program does, when it is traced, besides computing; "" if nothing.

    What functions under `jax.jit` do, which are compared by identity, is left to their
    fingerprint.
    """
    return next(_effects(opened), "")


# The base of all streams. `isinstance(x, io.IOBase)` asks each class that is registered
# with it, at each start.
_STREAM = io.TextIOWrapper.__mro__[-2]
_STREAMS = frozenset(("stdout", "stderr"))
_WRITES_FILES = frozenset(("write_bytes", "write_text"))


def _effects(opened: Opened) -> Iterator[str]:
    """What the code does besides computing, in words."""
    # Many tests, each of another thing: no one of what autojit has read (changes of
    # globals, attributes, imports, objects, functions) shows all effects. A `print` is
    # a name in the code, a log an object that it reaches, `sys.stdout` an attribute.
    read = opened.read
    if not _WRITES_FILES.isdisjoint(read.asked):
        yield "it writes a file when it is traced"
    for name in read.imports:
        if has_effects(name) or name == "builtins":
            yield f"it uses {name} when it is traced"
    for (kind, _, _), x in zip(opened.graph, opened.objects, strict=True):
        if isinstance(x, logging.Logger):
            yield "it writes to a log when it is traced"
        if _STREAM in type(x).__mro__:
            yield "it uses an open file, or a stream of text"
        if x is builtins:
            yield "it uses builtins when it is traced"
        if x is vars(builtins):
            yield "it reads a namespace of exec(), with all that Python has built in"
        if is_installed(type(x)) and _stays_here(x):
            name = full_name(type(x))
            yield f"it reads an object of type {name}, which this process alone has"
        name = _library_name(x)
        if name and has_effects(name):
            yield f"it uses {name} when it is traced"
        for fn in kind.functions(x, read):
            if is_user_function(fn):
                yield from _of_function(fn)


def _of_function(fn: types.FunctionType) -> Iterator[str]:
    """What a function does, or computes otherwise in each process."""
    if not _STREAMS.isdisjoint(references(fn.__code__).attributes):
        yield "it writes to a stream of text when it is traced"
    for name, *attributes in references(fn.__code__).chains:
        found = [f"builtins.{name}"]
        if name in fn.__globals__:
            found = list(_library_names(fn.__globals__[name], attributes))
        elif differs_by_process(name, fn):
            yield f"it calls {name}(), which differs from process to process"
        for full in found:
            if has_effects(full):
                yield f"it uses {full} when it is traced"
            if reads_surroundings(full):
                yield f"it uses {full}, which may differ from call to call"


def _library_names(value: Any, attributes: list[str]) -> Iterator[str]:
    """Of a library's object, by the names that lead to it and by its own."""
    for attribute in attributes:
        if not isinstance(value, types.ModuleType):
            break
        yield f"{value.__name__}.{attribute}"
        value = vars(value).get(attribute)
    yield _library_name(value)


def _stays_here(x: Any) -> bool:
    """Whether a library's object says that it has no meaning elsewhere, as FLAGS."""
    if getattr(type(x), "__getstate__", None) is object.__getstate__:
        return False
    try:
        x.__getstate__()
    except Exception:  # it says so in errors of all kinds
        return True
    return False


_FUNCTIONS = (type, types.FunctionType, types.BuiltinFunctionType)


def _library_name(value: Any) -> str:
    if isinstance(value, types.ModuleType):
        return value.__name__
    # NumPy's own functions are of a type of their own. What the user's objects say
    # when they are asked may be anything.
    of_library = type(value).__module__.startswith("_cython")
    if isinstance(value, _FUNCTIONS) or of_library:
        return f"{value.__module__}.{value.__qualname__}"
    return ""
