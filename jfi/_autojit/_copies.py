"""Functions that came from another process: all copies of one share what was compiled.

A cluster sends functions of a script by value. Each task makes them anew: other code
objects, other dicts of global variables, other functions in the same classes, with the
same in them. What was compiled is found by a function's code, and then, as always, by
the graph of the call, which has all that the function reads.

A graph identifies functions by their dicts of variables, and methods by themselves.
That of a copy identifies them by what is in them (`portable`). The code that recognises
the calls of one copy is written with its own dicts (`of_this_copy`). Data, and what a
task changes in its variables, are those of each copy: to share the functions themselves
would be simpler, and wrong for two tasks that count in a global variable.

What copies can't share is compared by `is`, and compiled anew for each: a function of
`jax.jit`, a generator of random numbers.
"""

import contextlib
import dataclasses
import functools
import types
from collections.abc import Callable, Generator
from typing import Any

from .._values import KeyedValue, is_user_function
from ._graphs import Node, Opened
from ._keeping import ChangedMeanwhileError, RetakenError
from ._opening import look_at
from ._reading import Assumed, Mode, copied_module
from .kinds._base import RefusedError
from .kinds._classes import functions_behind, of_copies
from .kinds._classify import CLASS, FUNCTION, PLAIN, VARIABLES
from .kinds._functions import BodyKind, in_module


MAX_FUNCTIONS = 128  # that came from other processes, of which programs are kept


@dataclasses.dataclass
class Known:
    """What is known of a function, and of all its copies, besides its code."""

    assumed: Assumed

    def of_a_call(self) -> Assumed:
        """What is assumed in the next call."""
        assumed = self.assumed
        if assumed.exact:  # in this one alone
            self.assumed = assumed._replace(exact=False)
        return assumed


def code_of(fn: Any) -> Any:
    """The code of a function, also of a partial one; the class of another callable.

    It is hashable. Python compares code by what it does: that of a copy is equal.
    """
    while isinstance(fn, functools.partial):
        fn = fn.func
    return getattr(getattr(fn, "__func__", fn), "__code__", type(fn))


def portable(opened: Opened) -> Opened:
    """A call that holds no copies: they are compared by what they are.

    Its program may be traced again for another call, with other shapes. By then the
    task of this one may have put other values into its variables.
    """
    graph = tuple(
        (kind, _portable_part(opened, node, x), children)
        for node, x in zip(opened.graph, opened.objects, strict=True)
        for kind, _, children in (node,)
    )
    return opened._replace(graph=graph, of_copy=True)


def of_this_copy(opened: Opened) -> Opened:
    """The same call with the variables and functions of its own copies."""
    graph = tuple(
        (kind, _own_part(node, x), children)
        for node, x in zip(opened.graph, opened.objects, strict=True)
        for kind, _, children in (node,)
    )
    return opened._replace(graph=graph)


def _portable_part(opened: Opened, node: Node, x: Any) -> Any:
    kind, part, children = node
    if kind is VARIABLES:
        module = copied_module(x.all)
        if module is None:
            return part
        names = [k for k in x.all if k.startswith("__")]
        for name, child in zip(part[1], children, strict=True):
            if opened.graph[child][0].is_fixed:  # then code may be run with this dict
                names.append(name)
        return KeyedValue(module, {k: x.all[k] for k in names}), *part[1:]
    if kind is CLASS:
        return *part[:2], of_copies(part[2])
    if isinstance(kind, BodyKind):
        return _part_of_function(part[0], x.fn), bool(part[1])
    return _part_of_function(part, x) if kind in (FUNCTION, PLAIN) else part


def _part_of_function(part: Any, fn: types.FunctionType) -> Any:
    module = copied_module(fn.__globals__)
    if module is None:
        return part
    code, constant, names, own, *cells = part
    value = constant.value
    if own:  # else it is run with these very variables: of a library
        named = {"__name__": fn.__globals__.get("__name__")}
        bare = in_module(fn, code, named)
        value = bare if not cells else (named, *value[1:])
    return code, KeyedValue(module, value), names, own, *cells


def _own_part(node: Node, x: Any) -> Any:
    kind, part, _ = node
    if kind is VARIABLES:
        return KeyedValue(id(x.all), x.all), *part[1:]
    if kind in (FUNCTION, PLAIN) or isinstance(kind, BodyKind):
        return kind.split(x)[0]
    return part  # code that recognises classes is made without their functions' keys


# Copies of classes that come while a body is traced: it may have met their attributes.
#
# A cluster unpickles the next task while this one is traced. cloudpickle then gives
# the class that is there all its attributes anew. They are equal as a rule; where
# they are not, the program would be kept for a call whose classes it has never seen.
#
# All copies of autojitted functions that come say so here, each before the class that
# it is in gets what came: so what comes between two looks is seen by the next one.


class ClassesOfCall:
    """The classes that a body meets, and what they held when its call was opened.

    Args:
        opened: The call, of a copy of a function.
    """

    def __init__(self, opened: Opened) -> None:
        self._read = opened.read
        nodes = list(zip(opened.graph, opened.objects, strict=True))
        self._classes = [x for (kind, _, _), x in nodes if kind is CLASS]
        known = {id(x.all) for (kind, _, _), x in nodes if kind is VARIABLES}
        self._held = [
            (part, [self._form(opened.objects[k]) for k in below[: len(part[1])]])
            for (kind, part, below), _ in nodes
            if kind is CLASS
        ]
        # What methods read outside comes with them: in a dict that the call has seen.
        outside = self._read_outside()
        self._is_known = all(id(f.__globals__) in known for f, _ in outside)
        self._outside = self._look_outside()

    def _hold_the_same(self) -> bool:
        return (
            self._is_known
            and list(map(self._look, self._classes)) == self._held
            and self._look_outside() == self._outside
        )

    def _look(self, x: type) -> Any:
        part, values = CLASS.open(x, self._read, Mode.UNREAD)
        try:
            return (*part[:2], of_copies(part[2])), list(map(self._form, values))
        except ValueError:  # a function has come without what it captured, so far
            return None

    def _form(self, value: Any) -> Any:
        """What copies of a value have in common, as far as code reads it."""
        try:
            if functions_behind(value):
                return of_copies([value])
            return portable(look_at((value,), self._read)).graph
        except (RefusedError, ValueError):  # traced arrays; a cell that is to be filled
            return id(value)

    def _read_outside(self) -> list[tuple[types.FunctionType, str]]:
        """The global variables that methods name, in their own code."""
        return [
            (f, name)
            for x in self._classes
            for f in CLASS.functions(x, self._read)
            if is_user_function(f) and copied_module(f.__globals__)
            for name in f.__code__.co_names
            if name in f.__globals__
        ]

    def _look_outside(self) -> dict[Any, Any]:
        return {
            (f.__qualname__, name): self._form(f.__globals__[name])
            for f, name in self._read_outside()
        }

    @contextlib.contextmanager
    def staying(self) -> Generator[None]:
        """Trace a body in here.

        Raises:
            ChangedMeanwhileError: They do not hold what they held, or did not always.
        """
        looks: list[bool] = []

        def look() -> bool:
            looks.append(self._hold_the_same())
            return looks[-1]

        look()
        _LOOKS.append(look)
        try:
            yield
        except RetakenError:
            raise  # a trace that is made again
        except Exception:
            if look() and all(looks):
                raise
            raise ChangedMeanwhileError from None
        finally:
            _LOOKS.remove(look)
        if not (look() and all(looks)):
            raise ChangedMeanwhileError


def note_arrival() -> None:
    """A copy of a function has come, and its class may be next."""
    for look in _LOOKS.copy():
        look()


_LOOKS: list[Callable[[], bool]] = []  # one for each trace that is under way
