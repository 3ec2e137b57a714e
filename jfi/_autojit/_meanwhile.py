"""Copies of classes that come while a body is traced: it may have met their attributes.

A cluster unpickles the next task while this one is traced. cloudpickle then gives the
class that is there all its attributes anew. They are equal as a rule; where they are
not, the program would be kept for a call whose classes it has never seen.

All copies of autojitted functions that come say so here, each before the class that it
is in gets what came: so what comes between two looks is seen by the next one.
"""

import contextlib
import types
from collections.abc import Callable, Generator
from typing import Any

from .._values import is_user_function
from ._graphs import Opened
from ._keeping import ChangedMeanwhileError, RetakenError
from ._modes import Mode
from ._opening import look_at
from ._reading import copied_module
from ._recent import portable
from .kinds._base import RefusedError
from .kinds._classes import functions_behind, of_copies
from .kinds._classify import CLASS, VARIABLES


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
