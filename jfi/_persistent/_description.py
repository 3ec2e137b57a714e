"""What a program is made of, in words that hold in every process.

autojit's graph of a call says it all, by identities: of classes, functions, modules.
Written down by names and contents, it is the key under which a program is kept. There
is no second set of rules of what counts: each kind of value says what of it is portable
(`Kind.portable`), and objects that are told by identity alone have a fingerprint.
"""

import logging
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from .._autojit._graphs import Opened
from .._autojit._keeping import Place
from .._autojit.kinds._base import UnportableError
from .._autojit.kinds._classify import PLAIN, VARIABLES
from .._errors import FingerprintError
from .._random._streams import Stream
from .._values import (
    WeakIdentity,
    code_digest,
    is_marked_static,
    is_user_module,
    library_version,
)
from .fingerprint import ProgramWalk


class Description(NamedTuple):
    """What a program is made of.

    Attributes:
        digest: Equal for programs that do the same, in every process.
        shared: The user's classes and functions that it is made of: equal digests
            number them equally.
        streams: The streams of random draws that it captures, likewise.
    """

    digest: str
    shared: tuple[object, ...]
    streams: tuple[WeakIdentity, ...]

    def number_of(self, stream: Stream | None) -> int | None:
        """The number of a captured stream; None: it is none of these."""
        return next((k for k, s in enumerate(self.streams) if s() is stream), None)


def describe(place: Place) -> Description:
    """Write down what a program is made of.

    Raises:
        UnportableError: It can't be kept, and why.
    """
    opened = place.opened
    why = next(_effects(opened), None)
    if why is not None:
        raise UnportableError(why)
    walk = ProgramWalk(f"{place.name}()")
    writer = _Writer(walk)
    try:
        writer.write(place.around)
        for kind, part, children in opened.graph:
            walk.put("node", type(kind).__name__, repr(children))
            writer.write(kind.portable(part))
    except FingerprintError as error:
        raise UnportableError(str(error)) from None
    for (kind, _, _), x in zip(opened.graph, opened.objects, strict=True):
        if isinstance(x, type) or kind is PLAIN:
            walk.shared.append(x)
    streams = filter(None, map(_stream_of, opened.objects))
    return Description(
        walk.digest(), tuple(walk.shared), tuple(map(WeakIdentity, streams))
    )


class _Writer:
    """Writes portable parts: see `Kind.portable`."""

    def __init__(self, walk: ProgramWalk) -> None:
        self._walk = walk

    def write(self, value: Any) -> None:
        walk = self._walk
        if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
            walk.put("parts", str(len(value)))
            for part in value:
                self.write(part)
        elif type(value) is dict:
            self.write(list(value.items()))
        elif isinstance(value, type):
            self._write_class(value)
        elif isinstance(value, types.CodeType):
            walk.put("code", code_digest(value))
        elif (stream := _stream_of(value)) is not None:
            # Where it stands is an argument of what draws from it.
            walk.put("stream", type(value).__qualname__, str(stream.impl))
        else:
            walk.look_at(value)

    def _write_class(self, cls: type) -> None:
        version = "" if is_user_module(cls.__module__) else _version(cls)
        self._walk.put("class", cls.__module__, cls.__qualname__, version)
        if not version:  # how JAX takes it apart
            self._walk.look_at(self._walk.registration_of(cls))


def _stream_of(x: Any) -> Stream | None:
    """The stream of a generator object, whose module few scripts import."""
    stream = getattr(x, "stream", None) if is_marked_static(x) else None
    return stream if isinstance(stream, Stream) else None


def _version(cls: type) -> str:
    return library_version(cls.__module__) or "none"


# What is told while a function is traced: a program that is found has nothing to tell.
_TELLING = ("logging", "warnings")
_TELLING_BUILTINS = {"breakpoint", "input", "print"}
_STREAMS = {"stdout", "stderr"}


def _effects(opened: Opened) -> Iterator[str]:
    """What the code does besides computing, in words."""
    for (kind, part, _), x in zip(opened.graph, opened.objects, strict=True):
        if kind is VARIABLES:
            for name in sorted(_TELLING_BUILTINS.intersection(part[2])):
                yield f"it calls {name}() when it is traced"
        if isinstance(x, logging.Logger) or _module_of(x) in _TELLING:
            yield "it writes to a log, or warns, when it is traced"
    if not _STREAMS.isdisjoint(opened.read.attributes):
        yield "it writes to a stream of text when it is traced"


def _module_of(x: Any) -> str | None:
    if isinstance(x, types.ModuleType):
        return x.__name__
    if isinstance(x, (types.FunctionType, types.BuiltinFunctionType)):
        return x.__module__
    return None
