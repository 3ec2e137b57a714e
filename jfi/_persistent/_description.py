"""What a program is made of, in words that hold in every process.

autojit's graph of a call says it all, by identities: of classes, functions, modules.
Written down by names and contents, it is the key under which a program is kept. There
is no second set of rules of what counts: each kind of value says what of it is portable
(`Kind.portable`), and objects that are compared by identity alone have a fingerprint.
"""

import abc
import contextlib
import inspect
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .._autojit._graphs import Graph, Opened
from .._autojit._keeping import ProgramOrigin
from .._autojit._reading import Mode
from .._autojit.kinds._base import (
    HashableKind,
    IdentityKind,
    Kind,
    ModuleName,
    UnportableError,
)
from .._autojit.kinds._classes import annotations_of
from .._autojit.kinds._classify import PLAIN, VARIABLES
from .._errors import FingerprintError
from .._random._streams import Stream
from .._values import (
    WeakIdentity,
    is_marked_static,
    is_user_function,
    is_user_module,
    references,
)
from ._refusals import effect_of
from .fingerprint import ProgramWalk, add_attribute, given, library_state


class ProgramDescription(NamedTuple):
    """What a program is made of.

    Attributes:
        digest: Equal for programs that do the same, in every process.
        shared: The user's classes and functions that it is made of, and what it says
            by identity: equal digests number them equally.
        streams: The streams of random draws that it captures, likewise.
        codes: Digests of the code that it is made of.
        effect: What it does when it is traced, besides computing: see `_refusals`.
    """

    digest: str
    shared: tuple[object, ...]
    streams: tuple[WeakIdentity, ...]
    codes: frozenset[bytes]
    effect: str

    def number_of(self, stream: Stream | None) -> int | None:
        """The number of a captured stream; None: it is none of these."""
        return next((k for k, s in enumerate(self.streams) if s() is stream), None)


class Describing:
    """Writes down what a program is made of, as it is now.

    What is compared by identity (a function under `jax.jit`, which captured an array)
    may change, and other shapes are traced later: they are described anew. It holds no
    argument of the call.

    Args:
        place: What autojit says of the program.

    Raises:
        UnportableError: It can't be kept, and why.
    """

    def __init__(self, place: ProgramOrigin) -> None:
        opened = place.opened
        self._effect = effect_of(opened)
        self._graph, self._around = opened.graph, place.around
        # Modules of the user's are in the graph, by what is read from them.
        self._libraries = sorted(
            x for x in opened.read.imports if not is_user_module(x)
        )
        self._copied = _only_below(opened.graph, _copied(opened.objects))
        self._unread = {k for k, m in enumerate(opened.modes) if m is Mode.UNREAD}
        self._texts = _texts(opened.objects) if _reads_texts(opened) else None
        self._shared = [
            x
            for (kind, _, _), x in zip(opened.graph, opened.objects, strict=True)
            if isinstance(x, type) or kind is PLAIN or isinstance(kind, _BY_IDENTITY)
        ]
        self._given = [
            found
            for (kind, _, _), x in zip(opened.graph, opened.objects, strict=True)
            for fn in kind.functions(x, opened.read)
            if is_user_function(fn)
            for found in given(fn.__globals__, references(fn.__code__).chains)
        ]
        streams = filter(None, map(_stream_of, opened.objects))
        self._streams = tuple(map(WeakIdentity, streams))

    def __call__(self) -> ProgramDescription:
        """Write it down.

        Raises:
            UnportableError: It can't be kept, and why.
        """
        walk = ProgramWalk("it")
        writer = _Writer(walk)
        try:
            writer.write((self._around, self._texts))
            for name in self._libraries:
                walk.library(name)
            for variables, (name, *attributes) in self._given:
                walk.put("given", name)
                add_attribute(walk, variables.get(name), attributes)
            for k, (kind, part, children) in enumerate(self._graph):
                walk.put("node", type(kind).__name__, repr(children))
                if k in self._unread:
                    writer.write_unread(kind, part)
                elif k not in self._copied:
                    writer.write(kind.portable(part))
            opened = [x for x in self._shared if isinstance(x, type)]
            known = {
                c
                for cls in opened
                for c in (*inspect.getmro(cls), *inspect.getmro(type(cls)))
            }
            for cls in dict.fromkeys(writer.classes):
                if cls not in known:  # it is in no node of its own
                    walk.look_at(cls)
            shared = *walk.shared, *self._shared
            classes = [x for x in shared if isinstance(x, type)]
            walk.put("virtual bases", *map(str, _virtual_bases(classes)))
            if not _TEXTS.isdisjoint(walk.asked):
                writer.write(_texts(walk.shared))
        except FingerprintError as error:
            raise UnportableError(str(error).rstrip(".")) from None
        return ProgramDescription(
            walk.digest(),
            shared,
            self._streams,
            frozenset(walk.codes),
            self._effect,
        )


def _virtual_bases(classes: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Which classes are subclasses of others by `register`, by their numbers."""
    for k, base in enumerate(classes):
        if isinstance(base, abc.ABCMeta):
            for n, cls in enumerate(classes):
                with contextlib.suppress(Exception):  # whatever its hook says
                    bases: tuple[Any, ...] = inspect.getmro(cls)
                    if base not in bases and issubclass(cls, base):
                        yield k, n


_BY_IDENTITY = (IdentityKind, HashableKind)


def _copied(objects: Sequence[Any]) -> list[int]:
    """The nodes of what wrappers have copied from jitted functions: their place, ...

    What it says is written where the function is, which the wrapper holds as well.
    """
    copied = {
        id(value)
        for x in objects
        if isinstance(x, types.FunctionType) and "__wrapped__" in x.__dict__
        for name, value in x.__dict__.items()
        if name != "__wrapped__" and isinstance(value, tuple)
        if _attribute_of_wrapped(x, name) is value
    }
    return [k for k, x in enumerate(objects) if id(x) in copied]


def _attribute_of_wrapped(x: Any, name: str) -> Any:
    while "__wrapped__" in getattr(x, "__dict__", ()):
        x = getattr(x, "__wrapped__")  # noqa: B009 - unknown to type checkers
        if not isinstance(x, types.FunctionType):
            return getattr(x, name, None)
    return None


def _only_below(graph: Graph, roots: Iterable[int]) -> frozenset[int]:
    """Some nodes, and those that are reached through them alone."""
    found = set(roots)
    if not found:
        return frozenset()
    parents: dict[int, set[int]] = {}
    for k, (_, _, children) in enumerate(graph):
        for child in children:
            parents.setdefault(child, set()).add(k)
    for k in sorted(parents):  # children come after their parents
        if parents[k] <= found:
            found.add(k)
    return frozenset(found)


_TEXTS = frozenset(
    ("__annotations__", "__doc__", "get_annotations", "get_type_hints", "getdoc",
     "getsource", "signature")
)  # fmt: skip


def _reads_texts(opened: Opened) -> bool:
    """Whether code reads docstrings or annotations, which do not count else."""
    return not _TEXTS.isdisjoint(opened.read.asked) or any(
        kind is VARIABLES and not _TEXTS.isdisjoint(part[1])
        for kind, part, _ in opened.graph
    )


def _texts(objects: Iterable[object]) -> list[tuple[Any, str]]:
    return [
        (getattr(x, "__doc__", None), annotations_of(x))
        for x in objects
        if isinstance(x, (type, types.FunctionType))
    ]


class _Writer:
    """Writes portable parts: see `Kind.portable`."""

    def __init__(self, walk: ProgramWalk) -> None:
        self._walk = walk
        self.classes: list[type] = []  # of the user's, that were met

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
            walk.code("code", value)
        elif isinstance(value, ModuleName):
            walk.put("module of code", value)
            if not is_user_module(value):
                walk.library(value)
        elif (stream := _stream_of(value)) is not None:
            # Where it stands is an argument of what draws from it.
            walk.put("stream", type(value).__qualname__, str(stream.impl))
        else:
            walk.look_at(value)

    def write_unread(self, kind: Kind, part: Any) -> None:
        """Write what no code reads, as far as that is possible: it may be a lock."""
        before = len(self._walk.parts)
        try:
            self.write(kind.portable(part))
        except (FingerprintError, UnportableError):
            del self._walk.parts[before:], self._walk.trail[:]
            self._walk.put("unread")

    def _write_class(self, cls: type) -> None:
        by_user = is_user_module(cls.__module__)
        state = "" if by_user else library_state(cls.__module__)
        self._walk.put("class", cls.__module__, cls.__qualname__, state)
        if by_user:  # how JAX takes it apart
            self.classes.append(cls)
            self._walk.look_at(self._walk.registration_of(cls))


def _stream_of(x: Any) -> Stream | None:
    """The stream of a generator object, whose module few scripts import."""
    stream = getattr(x, "stream", None) if is_marked_static(x) else None
    return stream if isinstance(stream, Stream) else None
