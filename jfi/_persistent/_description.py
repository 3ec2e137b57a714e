"""What a program is made of, in words that hold in every process.

autojit's graph of a call says it all, by identities: of classes, functions, modules.
Written down by names and contents, it is the key under which a program is kept. There
is no second set of rules of what counts: each kind of value says what of it is portable
(`Kind.portable`), and objects that are compared by identity alone have a fingerprint.
"""

import abc
import contextlib
import inspect
import itertools
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .._autojit._graphs import Opened
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
    own_attributes,
    references,
)
from ._refusals import effect_of
from .fingerprint import (
    ProgramWalk,
    add_attribute,
    given,
    is_copy,
    library_state,
)


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
        self._asked = _asked(opened)
        self._sayings = _sayings(opened.objects, self._asked)
        # The nodes that count, by their numbers in the graph.
        self._numbers = _numbers(opened, with_texts=bool(self._sayings))
        self._unread = {k for k, m in enumerate(opened.modes) if m is Mode.UNREAD}
        self._shared = [
            x
            for k, ((kind, _, _), x) in enumerate(
                zip(opened.graph, opened.objects, strict=True)
            )
            if k in self._numbers
            and (isinstance(x, type) or kind is PLAIN or isinstance(kind, _BY_IDENTITY))
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
            writer.write((self._around, self._sayings))
            for name in self._libraries:
                walk.library(name)
            for variables, (name, *attributes) in self._given:
                walk.put("given", name)
                add_attribute(walk, variables.get(name), attributes)
            for k in self._numbers:
                kind, part, children = self._graph[k]
                numbers = [self._numbers.get(child) for child in children]
                walk.put("node", type(kind).__name__, repr(numbers))
                if k in self._unread:
                    writer.write_unread(kind, part)
                else:
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
            asked = self._asked | walk.asked
            writer.write(_sayings(shared, asked))
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


def _numbers(opened: Opened, *, with_texts: bool) -> dict[int, int]:
    """The nodes by number, without those that only copies lead to.

    A wrapper has copies of what the wrapped function says of itself: its docstring,
    its options under `jax.jit`. It is written down where that function is.

    Args:
        opened: What a call is made of.
        with_texts: Whether docstrings and annotations count.
    """
    reached: set[int] = set()
    todo = [0]
    while todo:
        k = todo.pop()
        if k not in reached:
            reached.add(k)
            kind, part, children = opened.graph[k]
            copied = _copied(opened.objects[k], with_texts=with_texts)
            steps = {step for name in copied for step in (f".{name}", f"[{name!r}]")}
            todo += [
                child
                for n, child in enumerate(children)
                if not (steps and kind.step(part, n, children) in steps)
            ]
    return {k: n for n, k in enumerate(sorted(reached))}


def _copied(x: Any, *, with_texts: bool) -> Iterator[str]:
    """The attributes that an object, or its dict, has copied from what it wraps."""
    attributes = x if type(x) is dict else own_attributes(x)
    for name, value in attributes.items():
        is_text = name in ("__doc__", "__annotations__") and not with_texts
        if (is_text or isinstance(value, tuple)) and is_copy(attributes, name):
            yield name


# What functions and classes say of themselves: it counts where code asks for it.
_SAYINGS: dict[frozenset[str], Callable[[Any], object]] = {
    frozenset(("__doc__", "getdoc")): lambda x: getattr(x, "__doc__", None),
    frozenset(
        ("__annotations__", "__dataclass_fields__", "fields", "get_annotations",
         "get_type_hints", "signature")
    ): lambda x: annotations_of(x),
    frozenset(("__module__", "__name__", "__qualname__")): lambda x: [
        x.__module__, x.__name__, x.__qualname__
    ],
    frozenset(("__code__",)): lambda x: _names_in_code(getattr(x, "__code__", None)),
}  # fmt: skip


def _names_in_code(code: types.CodeType | None) -> object:
    return code and [
        code.co_name, code.co_varnames, code.co_freevars, code.co_cellvars,
        code.co_filename, code.co_firstlineno,
    ]  # fmt: skip


def _asked(opened: Opened) -> frozenset[str]:
    """The names that code asks for."""
    found = [part[1] for kind, part, _ in opened.graph if kind is VARIABLES]
    return frozenset(itertools.chain(opened.read.asked, *found))


def _sayings(objects: Iterable[Any], asked: frozenset[str]) -> list[list[object]]:
    """What objects say of themselves, as far as code asks for it."""
    says = [say for names, say in _SAYINGS.items() if not asked.isdisjoint(names)]
    named = [x for x in objects if isinstance(x, (type, types.FunctionType))]
    return [[say(x) for say in says] for x in named] if says else []


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
        elif type(value) is str:
            walk.put("text", value)  # the names of what autojit has opened, too
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
