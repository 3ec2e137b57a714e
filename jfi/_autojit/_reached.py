"""What functions write that run once in place of many times: for rows or steps."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import jax
import numpy as np

from .._errors import AutoJitError
from .._random.traced import tracing
from ._changes import (
    Change,
    NewKeyError,
    contents,
    find_changes,
    same,
    take_back,
    with_values,
)
from ._graphs import path_of_node
from ._keeping import ChangedMeanwhileError
from ._modes import Mode
from ._opening import ReadOnceError, data_held, open_values
from ._reading import Read
from ._unopened import UnopenedAttributes
from ._watching import WritesOnceError, writes_once
from .kinds._classify import VARIABLES
from .kinds._known_arrays import ENDED


def written_once(
    changes: Iterable[Change], values: Iterable[Any], read: Read, often: str
) -> Change | None:
    """The first change that is made once, or leaves data of a row, step or branch.

    Args:
        changes: What was changed.
        values: The new children, of one change after the other.
        read: What code reads of them.
        often: What the functions run for, each: "steps"; "" if they run once.
    """
    for change, new in with_values(changes, values):
        if often or data_held(new, read).ended:
            return change
    return None


class _Reached:
    """What functions reach, as it is now; to see what they write, and to undo it.

    Args:
        functions: The functions.
        names: What the user calls what runs them, and each of them.

    Raises:
        AutoJitError: Nobody knows what they reach.
    """

    def __init__(self, functions: Sequence[Any], names: Sequence[str]) -> None:
        opened = open_values(functions, lambda: names, mode=Mode.FROZEN)
        for (kind, part, _), x in zip(opened.graph, opened.objects, strict=True):
            if kind is VARIABLES:  # uncompiled code meets the module's own
                _, present, absent, written = part
                x.names = (*present, *(name for name in absent if name in written))
        self.opened, self._names = opened, names
        self._nodes = range(len(opened.graph))
        self._before = contents(opened.graph, opened.objects)
        self._unopened = UnopenedAttributes(opened.graph, opened.objects)

    def written(self, often: str) -> str:
        """What they have written once, as the user writes it; "" if nothing.

        Args:
            often: What they run for, each; "": only data that is left counts.
        """
        graph, objects, read = (
            self.opened.graph,
            self.opened.objects,
            self.opened.read,
        )
        place = self._unopened.take_back() if often else ""
        if self._unopened.filled:
            place = "the first attribute of an object"
        try:
            changes = find_changes(graph, self._before, objects, (), self._nodes)
        except NewKeyError as error:
            return f"a new key into a dict (a {error})"
        except ChangedMeanwhileError:  # by another thread: nobody knows who wrote what
            return place
        change = written_once(*changes, read, often)
        if change is None:
            return place
        path = path_of_node(graph, objects, change.node, self._names)
        return change.place(path)

    def is_as(self, other: "_Reached") -> bool:
        """Whether the same settings and arrays were reached, and no data of a row."""
        mine, others = self.opened, other.opened
        if any(kind is ENDED for kind, _, _ in mine.graph):
            return False
        return mine.graph == others.graph and all(map(same, mine.leaves, others.leaves))

    def take_back(self) -> None:
        """Undo what they wrote."""
        graph, objects = self.opened.graph, self.opened.objects
        with suppress(ChangedMeanwhileError):
            take_back(graph, objects, self._before, self._nodes)


@contextmanager
def undoing_writes(
    functions: Sequence[Any], names: Sequence[str], often: str
) -> Generator[None]:
    """A block that runs functions uncompiled, and once in place of many times.

    Args:
        functions: The functions.
        names: What the user calls what runs them, and each of them.
        often: What they run for, each; "" where something else may write meanwhile:
            then only data of a row or step that is left somewhere counts.

    Raises:
        WritesOnceError: They have written what is not so for all. It is undone.
    """
    try:
        reached = _Reached(functions, names)
    except ReadOnceError:
        state = "the state of an iterator or file"
        raise WritesOnceError(writes_once(names[0], state, often or "rows")) from None
    except AutoJitError:
        yield
        return
    if often and reached.opened.read.readers:
        state = f"the state of {min(reached.opened.read.readers)}"
        raise WritesOnceError(writes_once(names[0], state, often))
    yield
    place = reached.written(often)
    if place:
        reached.take_back()
        raise WritesOnceError(writes_once(names[0], place, often or "rows"))


def assigns_alike(
    call: Callable[[], Any], functions: Sequence[Any], names: Sequence[str]
) -> bool:
    """Whether functions assign settings, and compute the same before and after that.

    Then they do for all rows what they do for one. The settings are assigned if so, and
    nothing is changed if not.

    Args:
        call: Runs the functions.
        functions: The functions.
        names: What the user calls what runs them, and each of them.
    """
    try:
        reached = _Reached(functions, names)
    except AutoJitError:
        return False
    try:
        first = _traced(call)
        after = _Reached(functions, names)
        alike = _do_the_same(first, _traced(call))
        if (
            alike
            and not reached.written("")
            and after.is_as(_Reached(functions, names))
        ):
            return True
    except Exception:  # it draws, or fails the second time
        pass
    reached.take_back()
    return False


def _do_the_same(one: Any, two: Any) -> bool:
    """Whether two traces do the same with the same arrays."""
    if str(one.jaxpr) != str(two.jaxpr):
        return False
    pairs = zip(one.consts, two.consts, strict=True)
    return all(a is b or np.array_equal(a, b) for a, b in pairs)


def _traced(call: Callable[[], Any]) -> Any:
    with tracing(refuses=True):
        return jax.make_jaxpr(lambda: jax.tree.leaves(call()))()
