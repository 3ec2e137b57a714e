"""What programs do that a found one would leave out: such are compiled at each start.

A found program is not traced. What happens once, while code is traced (a print, a count
in a global variable), would happen at the first start of a script and never again.
"""

import builtins
import io
import logging
import types
from collections.abc import Iterator
from typing import Any

from .._autojit._graphs import Opened
from .._autojit.kinds._base import UnportableError
from .._autojit.kinds._classify import VARIABLES
from .._autojit.kinds._functions import Body
from .._values import is_user_function, reads_surroundings, references


def refuse_effects(opened: Opened) -> None:
    """Raise an error if a program does more, when it is traced, than to compute.

    Raises:
        UnportableError: It does, and what.
    """
    for why in _effects(opened):
        raise UnportableError(why)


_TELLING = frozenset(("logging", "warnings"))
_TELLING_BUILTINS = ("breakpoint", "input", "print")
_STREAMS = frozenset(("stdout", "stderr"))
# Of texts and objects: another number in each process.
_OF_PROCESS = frozenset(("hash", "id"))


def _effects(opened: Opened) -> Iterator[str]:
    """What the code does besides computing, in words."""
    if opened.read.effects:
        names = sorted(name for _, name in opened.read.effects)
        yield f"it changes {names[0]} when it is compiled, and not at each call"
    if not _STREAMS.isdisjoint(opened.read.attributes):
        yield "it writes to a stream of text when it is traced"
    if not _TELLING.isdisjoint(opened.read.imports):
        yield _TELLS
    for (kind, part, _), x in zip(opened.graph, opened.objects, strict=True):
        called = part[2] if kind is VARIABLES else ()
        for name in _TELLING_BUILTINS:
            if name in called or x is getattr(builtins, name):
                yield f"it calls {name}() when it is traced"
        if isinstance(x, logging.Logger) or _module_of(x) in _TELLING:
            yield _TELLS
        if isinstance(x, io.IOBase):
            yield "it uses an open file, or a stream of text"
        fn = x.fn if isinstance(x, Body) else x
        if isinstance(fn, types.FunctionType) and is_user_function(fn):
            yield from _of_this_process(fn)


_TELLS = "it writes to a log, or warns, when it is traced"


def _module_of(x: Any) -> str | None:
    if isinstance(x, types.ModuleType):
        return x.__name__
    if isinstance(x, (types.FunctionType, types.BuiltinFunctionType)):
        return x.__module__
    return None


def _of_this_process(fn: types.FunctionType) -> Iterator[str]:
    """What a function computes otherwise in each process."""
    for name, *attributes in references(fn.__code__).chains:
        if name not in fn.__globals__:
            if name in _OF_PROCESS:
                yield f"it calls {name}(), which differs from process to process"
            continue
        value: Any = fn.__globals__[name]
        for attribute in attributes:
            if not isinstance(value, types.ModuleType):
                break
            value = getattr(value, attribute, None)
        if hasattr(type(value), "__getattr__"):  # the user's, who may do anything there
            continue
        module, own = (getattr(value, k, "") for k in ("__module__", "__qualname__"))
        full = f"{module}.{own}"
        if reads_surroundings(full):
            yield f"it uses {full}, which may differ from call to call"
