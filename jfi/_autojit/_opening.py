"""Opening the arguments of a call: the walk over all that they hold.

Functions read global variables and attributes besides. Which ones, their code says,
which may be found anywhere in what is opened: the walk begins with what it knows of
that, and is made again until it finds nothing new.

What can't be opened may be in an attribute that no code of the user's names: it is left
out, and refused when the body uses it.
"""

import functools
import operator
import threading
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer

from .._errors import AutoJitError
from .._jax_internals import has_ended
from .._values import is_plain_int, is_traced_text
from ._graphs import INPUT, LEAVES, Node, Opened, paths
from ._history import attribute_in, remedy_of_refusal
from ._reading import (
    KEYS,
    LRU_CACHED,
    NOTHING_ASSUMED,
    RETURNED,
    WITH_DATA,
    Assumed,
    Mode,
    Read,
)
from .kinds._base import Kind, ReaderError, RefusedError
from .kinds._classify import (
    ARRAY,
    CELL,
    DICT,
    GROWING,
    INTEGER,
    ITSELF,
    KNOWN_ARRAY,
    LIST,
    MET,
    MODULE,
    NAMED_TUPLE,
    NUMBER,
    OWN_METHOD,
    PYTREE,
    SCALAR,
    STATIC_ARRAY,
    TUPLE,
    VARIABLES,
    kind_of,
)
from .kinds._constants import ENDED
from .kinds._remembering import may_trace, needs_watching
from .kinds._variables import Variables


UNSHARED = (int, float, complex, str, bool, bytes, type(None))  # `is` says nothing


class ReadOnceError(AutoJitError):
    """What can't be opened is an iterator, or another value that changes when read."""

    __module__, __qualname__ = AutoJitError.__module__, AutoJitError.__qualname__


def open_values(
    values: Sequence[object],
    names: Callable[[], Sequence[str]],
    *,
    mode: Mode = Mode.TRACED,
    modes: Sequence[Mode] | None = None,
    spread: Collection[int] = (),
    strict: bool = False,
    inputs: Mapping[int, int] | None = None,
    refused: str = "got",
    known: Read | None = None,
    assumed: Assumed = NOTHING_ASSUMED,
    growing: Collection[int] = (),
) -> Opened:
    """Take values apart, breadth first.

    Args:
        values: The values; together they are node 0.
        names: What the user calls them, asked for when one is refused.
        mode: What becomes of the numbers.
        modes: The same, for each value.
        spread: Which values are the tuple or dict of arguments without a parameter.
        strict: Whether the identity of arrays counts everywhere.
        inputs: In results, the node of each argument that may come back, by its id.
        refused: The beginning of the sentence that refuses a value.
        known: What code reads, as far as it is known; a call like this one may have
            found it.
        assumed: What is known besides the code.
        growing: The ids of lists to which code appends only.

    Raises:
        AutoJitError: A value can't be opened; the message has its path.
    """

    def opened(read: Read) -> Opened:
        while True:  # a function that calls itself would keep the values in a cycle
            walk = _Walk(read, tuple(values), mode, modes, spread, strict, inputs)
            walk.found, walk.growing = Read(assumed, read.unused), growing
            try:
                walk.run()
                break
            except RefusedError as error:
                path = paths(walk.nodes, walk.objects, names())[len(walk.nodes)]
                fixed = assumed.exact or mode in RETURNED
                name = "" if fixed else attribute_in(path, read.unused)
                if name and not (read.may_ask(name) or walk.found.may_ask(name)):
                    read = read.leaving_out(read.unused | {name})
                    continue
                text = str(error).replace("{path}", path)
                named = read.attributes | walk.found.attributes
                text += remedy_of_refusal(names()[0], path, named)
                is_reader = isinstance(error, ReaderError)
                error_class = ReadOnceError if is_reader else AutoJitError
                raise error_class(f"{names()[0]}() {refused} {text}") from None
        where = paths(walk.nodes, walk.objects, names()) if walk.unwatched else ()
        walk.found.readers = {where[i] for i in walk.readers}
        for i, text in walk.unwatched:
            what = text.partition(" for {path}")[0].partition(" {path}")[0]
            walk.found.unseen[f"{where[i]} ({what})"] = None
        return walk.opened()

    again = functools.partial(
        open_values, values, names, mode=mode, modes=modes, spread=spread,
        strict=strict, inputs=inputs, refused=refused, growing=growing,
    )  # fmt: skip
    if mode in RETURNED:
        return opened(Read())
    if known is not None and assumed.exact:
        known = known.leaving_out(assumed.unused)
    found = opened(known or Read(assumed))
    if known is not None and found.read != known:
        known = Read(assumed)
        found = opened(known)
    known = known or Read(assumed)
    while found.read != known:
        known = found.read
        found = opened(known)
    if any(map(known.may_ask, known.unused - assumed.unused)):
        return again(known=known, assumed=assumed._replace(exact=True))
    return found


def variables_read(
    fn: Any, *, watched: bool = False
) -> Iterator[tuple[dict[str, Any], str]]:
    """The global variables that a callable reads, each with its module's dict.

    Args:
        fn: The callable.
        watched: Whether to refuse one that reads what can't be watched.

    Raises:
        AutoJitError: It holds what can't be opened, or reads what can't be watched.
    """
    opened = open_values((fn,), lambda: ["", "function"], mode=Mode.FROZEN)
    if watched and opened.read.unseen:
        raise AutoJitError(f"It uses {', '.join(opened.read.unseen)}.")
    for (kind, part, _), x in zip(opened.graph, opened.objects, strict=True):
        if kind is VARIABLES:
            for name in (*part[1], *part[2]):
                yield x.all, name


def look_at(
    values: Sequence[object], read: Read, mode: Mode = Mode.LOOKED_AT
) -> Opened:
    """Take apart what is only looked at, as far as known code reads it.

    Raises:
        RefusedError: A value can't be opened.
    """
    walk = _Walk(read, tuple(values), mode, None, (), False, None)
    walk.run()
    return walk.opened()._replace(read=read)


class DataHeld(NamedTuple):
    """What traced data there is in some values.

    Attributes:
        some: Whether there is any, or the values can't be opened.
        ended: Whether some is of an inner trace that has ended: a branch, a step.
    """

    some: bool
    ended: bool


def data_held(values: Sequence[object], read: Read) -> DataHeld:
    """What traced data there is in some values, as far as code reads them."""
    try:
        held = look_at(values, read).objects
    except RefusedError:
        return DataHeld(some=True, ended=False)
    traced = [x for x in held if isinstance(x, Tracer)]
    some = bool(traced) or any(map(is_traced_text, held))
    return DataHeld(some, any(map(has_ended, traced)))


def contents_of(values: Sequence[object]) -> Opened:
    """Take values apart with all attributes, and without what functions read outside.

    Raises:
        AutoJitError: A value can't be opened.
    """
    read = Read(Assumed(whole=True))
    try:
        return look_at(values, read, Mode.FROZEN)
    except RefusedError as error:
        raise AutoJitError(str(error).replace("{path}", "an argument")) from None


# In these, arrays are values: whether two of them are one object does not count.
_OF_VALUES = (TUPLE, LIST, DICT, NAMED_TUPLE, PYTREE)


class _Walk:
    """What was met so far, by node."""

    def __init__(
        self,
        read: Read,
        root: object,
        mode: Mode,
        modes: Sequence[Mode] | None,
        spread: Collection[int],
        strict: bool,
        inputs: Mapping[int, int] | None,
    ) -> None:
        self._read, self.found = read, Read()
        self._modes, self._spread = modes, spread
        self._strict, self._inputs = strict, inputs
        self.objects, self.modes, self.single = [root], [mode], [True]
        self.outside = [False]
        self.nodes: list[Node] = []
        self.leaves: list[Any] = []
        self.unwatched: list[tuple[int, str]] = []  # nodes, and why they are refused
        self.readers: list[int] = []  # those of them that change when they are read
        self.growing: Collection[int] = ()
        self._known: dict[tuple[Any, int], int] = {}
        self._looked_at: set[int] = set()  # what methods of classes meet, by id
        self._arguments: set[int] = {0}  # whose children are arguments of the user

    def opened(self) -> Opened:
        return Opened(
            tuple(self.nodes),
            self.leaves,
            self.objects,
            self.modes,
            self.single,
            self.outside,
            self.found,
        )

    def run(self) -> None:
        for i, x in enumerate(self.objects):  # the list grows meanwhile
            key = id(x.all) if isinstance(x, Variables) else id(x)
            if self._inputs is not None and key in self._inputs:
                self.nodes.append((INPUT, self._inputs[key], ()))
            else:
                self._visit(i, x)
        self.found.met = met_among(self.objects, self.modes, self._looked_at)

    def _visit(self, i: int, x: Any) -> None:
        # One test for each thing that a value tells besides what it is made of: what
        # can't be watched in it, and which names it makes code read.
        mode = self.modes[i]
        returned = mode in RETURNED
        try:
            kind = kind_in_mode(x, mode)
        except RefusedError as error:
            kind = self._refused(i, mode, error)
        if type(x) is list and id(x) in self.growing and not returned:
            kind = GROWING
        if kind in LEAVES:
            self.leaves.append(x)
        if isinstance(x, LRU_CACHED) and mode is Mode.LOOKED_AT and needs_watching(x):
            what = "a function that remembers what it read, or what JAX computed"
            self.unwatched.append((i, f"{what} for {{path}}"))
            self.found.untraced |= may_trace(x)
        if isinstance(x, threading.local) and (self.outside[i] or mode in KEYS):
            self.unwatched.append((i, "what each thread has for itself for {path}"))
        if kind is ITSELF and isinstance(x, types.FunctionType):
            self.found.codes.add(x.__code__)  # what it reads does not count
        if kind is OWN_METHOD:  # the class has it under this name
            self.found.attributes.add(kind.split(x)[0])
        if self._read.whole:
            self.found.add_value(x)
        if isinstance(x, (operator.attrgetter, operator.methodcaller)):
            self.found.add_getter(x)
        part, children = kind.open(x, self._read, mode)
        if kind.keyed and returned:
            children = ()
        if not (returned or mode is Mode.UNREAD):
            self._follow(kind, x, mode)
        numbers: list[int] = []
        if children:
            numbers = self._number_children(i, x, kind, part, children)
        if i == 0:
            self._arguments |= {numbers[k] for k in self._spread}
        self.nodes.append((kind, part, tuple(numbers)))

    def _number_children(
        self, i: int, x: Any, kind: Kind, part: Any, children: Sequence[Any]
    ) -> list[int]:
        """The nodes of what a value holds."""
        mode, n = self.modes[i], len(children)
        below: Sequence[Mode] = (i == 0 and self._modes) or modes_below(
            kind, part, n, mode, self._read
        )
        of_values = kind in _OF_VALUES and not (i in self._arguments or self._strict)
        own = type(x) if kind.tells_class else None
        numbers: list[int] = []
        for child, below_mode in zip(children, below, strict=True):
            if isinstance(child, type) and child is not own:
                self.found.made.add(child)
            outside = self.outside[i] or kind is VARIABLES
            held = below_mode is Mode.STATIC and i not in self._arguments
            if held and _has_no_value(child):
                below_mode = Mode.TRACED  # by a static function, which may hold any
            looked_at = kind is not MET and below_mode is Mode.LOOKED_AT
            if looked_at and type(child) is not Variables:  # let go: its id comes again
                self._looked_at.add(id(child))
            numbers.append(self._number(child, below_mode, of_values, outside))
        return numbers

    def _refused(self, i: int, mode: Mode, error: RefusedError) -> Kind:
        """Where it is outside, what can't be opened is left alone, and not watched."""
        if not (self.outside[i] or mode in KEYS or mode is Mode.SHOWN):
            raise error
        self.unwatched.append((i, str(error)))
        if isinstance(error, ReaderError):
            self.readers.append(i)
        return ITSELF

    def _follow(self, kind: Kind, x: Any, mode: Mode) -> None:
        """Note what code reads that may run where this value is used."""
        of_variables = Mode.TRACED if mode in WITH_DATA else mode
        if kind is MODULE:
            self.found.add_module(x, self._read, of_variables)
        below = Mode.LOOKED_AT if kind.keyed else of_variables
        for function in kind.functions(x, self._read):
            self.found.add(function, below)

    def _number(self, x: Any, mode: Mode, of_values: bool, outside: bool) -> int:
        """The node of an object, new unless it was met before."""
        single = type(x) not in UNSHARED and not (
            of_values and mode in WITH_DATA and isinstance(x, _ARRAYS)
        )
        if type(x) is Variables:  # those of a function that is taken so
            mode = Mode.TRACED if mode in WITH_DATA else mode
        elif mode not in KEYS and id(x) in self._read.met:
            mode = Mode.MET
        same = id(x.all) if type(x) is Variables else id(x)
        key = (told_apart(x, mode), same)
        found = self._known.get(key) if single else None
        if found is None:
            found = len(self.objects)
            self.objects.append(x)
            self.modes.append(mode)
            self.single.append(single)
            self.outside.append(outside)
            if single:
                self._known[key] = found
        return found


_ARRAYS = (jax.Array, np.ndarray, np.generic)


def _has_no_value(x: Any) -> bool:
    return isinstance(x, (Tracer, jax.Ref))


def told_apart(x: Any, mode: Mode) -> Any:
    """The same object is one node, unless it is taken in two ways."""
    if isinstance(x, type):
        return mode is Mode.UNREAD
    if isinstance(x, (*_ARRAYS, Variables)):
        return mode
    return mode if mode in (*KEYS, Mode.MET) else None


def kind_in_mode(x: Any, mode: Mode) -> Kind:
    """The kind of a value.

    Raises:
        RefusedError: It can't be an argument.
    """
    if mode is Mode.ABSTRACT and isinstance(x, jax.ShapeDtypeStruct):
        return ARRAY
    if mode is Mode.MET:
        return MET
    # What the mode says comes after the kind: it refuses what no mode can take.
    try:
        kind = kind_of(x)
    except RefusedError as error:
        if mode is Mode.UNREAD or (mode in KEYS and not isinstance(error, ReaderError)):
            return ITSELF  # a constant for the code
        raise
    if kind is ARRAY and isinstance(x, Tracer) and has_ended(x):
        return ENDED  # plain Python keeps it, too: an error where code computes with it
    if mode is Mode.TRACED or mode is Mode.ABSTRACT:
        return kind
    if mode is Mode.DATA:
        return INTEGER if is_plain_int(x) else kind
    if mode is Mode.VARYING and isinstance(x, (float, np.floating)):
        return kind
    if kind is SCALAR:
        return NUMBER
    if mode is Mode.FIXED and kind is ARRAY:
        return STATIC_ARRAY if _is_setting(x) else ARRAY
    if kind is ARRAY and mode not in (Mode.FROZEN, Mode.VARYING):
        return _kind_of_untraced_array(x, mode)
    return kind


def _is_setting(x: Any) -> bool:
    """Whether an array among constants of JAX is a number or a shape, and not data."""
    return isinstance(x, np.ndarray) and (x.ndim == 0 or x.dtype.kind in "biu")


def _kind_of_untraced_array(x: Any, mode: Mode) -> Kind:
    if isinstance(x, np.ndarray):
        return STATIC_ARRAY
    if mode in KEYS:
        return ITSELF
    if mode in RETURNED:
        return ARRAY
    if _has_no_value(x):
        raise RefusedError(
            "a traced array for {path}, which is declared static: its value is not "
            'known here.\nLeave {path} out of static="...".'
        )
    return KNOWN_ARRAY


def modes_below(kind: Kind, part: Any, n: int, mode: Mode, read: Read) -> list[Mode]:
    """How the children of a value are taken."""
    passed = kind.looked_at(part, n)
    if kind.keeps_ints and mode is Mode.DATA:
        mode = Mode.TRACED
    below = [mode] * passed
    if passed < n:
        below += [Mode.UNREAD if mode is Mode.UNREAD else Mode.LOOKED_AT] * (n - passed)
        if mode not in RETURNED:
            for k in kind.unread(part, read):
                below[k] = Mode.UNREAD
    if mode in WITH_DATA or mode is Mode.VARYING:
        for k in kind.frozen(part, n):
            if k < passed:
                below[k] = kind.frozen_as
    return below


# ---- What methods of classes read outside, and the function of a call gets, too ----
#
# A function is run with copies of its arguments and of its module's variables, so
# that data in them can be traced; a method is run with its module's own, since its
# class is passed itself. A list, a dict or an object that both meet would be two
# things while the body runs: `with training():` of a function would not reach the
# layers of a model. So both get it itself. It is a setting then, as it is for the
# methods anyway. What is changed in it is undone after the trace; if that leaves
# something out, the function runs uncompiled.


CHANGED = "changes what methods of classes read, too"


def met_among(
    objects: Sequence[object], modes: Sequence[Mode], looked_at: Collection[int]
) -> frozenset[int]:
    """The ids of what is passed to a function, and met by methods of classes.

    Args:
        objects: The values of a call, by node.
        modes: How they are taken.
        looked_at: The ids of what belongs to classes.
    """
    return frozenset(
        id(x)
        for x, mode in zip(objects, modes, strict=True)
        if mode not in KEYS and id(x) in looked_at and may_change(x)
    )


def may_change(x: object) -> bool:
    """Whether Python code may change a value in place."""
    if isinstance(x, types.FunctionType):
        return False
    try:
        kind = kind_of(x)
    except RefusedError:
        return False
    if kind is CELL:  # that of `super()` holds the class, always
        return not any(isinstance(held, type) for held in kind.split(x)[1])
    return kind.changeable
