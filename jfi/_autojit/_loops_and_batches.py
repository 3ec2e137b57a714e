"""What eager loops and batches are compiled by: autojit, where nobody asked for it.

Who writes `scan` or `vmap_automatically` has not asked for autojit. So what it can't do
is no error there: that runs as JAX alone would run it, and a warning says why, once.
"""

import sys
import types
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import jax
import numpy as np

from .._errors import AutoJitError, RandomError, UncompiledWarning
from .._optional._progress import ProgressBar
from .._random.traced import FoundDraws, tracing
from .._values import NEEDS_VALUE, Warner, generators_read
from ._changes import (
    Change,
    NewKeyError,
    UnopenedAttributes,
    contents,
    find_changes,
    same,
    take_back,
    with_values,
)
from ._graphs import path_of_node
from ._keeping import ChangedMeanwhileError
from ._opening import ReadOnceError, data_held, open_values
from ._reading import Mode, Read
from ._watching import (
    RUNS_OFTEN,
    UnseenCallError,
    WritesOnceError,
    reaches_outside,
    uncompiled_because,
    writes_once,
)
from .kinds._classify import VARIABLES
from .kinds._constants import ENDED


# JAX does not warn of how often it compiles a loop.
OPTIONS: dict[str, Any] = {"warn_after": sys.maxsize, "uncompiled": False}


def with_variables(
    function: Callable[..., Any], name: str, often: str = "", **variables: Any
) -> Callable[..., Any]:
    """A copy of a function of a module, with a name and some global variables.

    Global variables in place of captured ones: autojit looks at those at every call.

    Args:
        function: The function.
        name: The name.
        often: What the functions among its arguments run for, each: "steps".
        variables: The variables.
    """
    plain: Any = function
    module = {**plain.__globals__, **variables}
    made = types.FunctionType(plain.__code__, module, name)
    made.__dict__[RUNS_OFTEN] = often
    return made


class Reasons:
    """Why something runs uncompiled; each reason is a warning once.

    Args:
        function: What the user called, for messages.
    """

    def __init__(self, function: str) -> None:
        self._function = function
        self._warner = Warner(UncompiledWarning)

    def warn(self, error: Exception, *, by_step: bool = False) -> None:
        """Warn that it runs uncompiled, if this is not known yet.

        Args:
            error: Why it does.
            by_step: Whether Python runs each step, and reads the world in each.
        """
        # How jfi finds draws and bars, which are right; a warning made an error.
        if isinstance(error, (FoundDraws, RandomError, MovesBarError, Warning)):
            return
        once = reaches_outside(error) and not by_step
        told = " Until then all steps or rows get what is read once." if once else ""
        self._warner.warn(self._message(error) + told)

    def _message(self, error: Exception) -> str:
        if isinstance(error, AutoJitError):
            return uncompiled_because(str(error))
        if isinstance(error, NEEDS_VALUE):
            why = "has Python code that asks for the value of an array"
        else:
            seen = f"{type(error).__name__}: {error}".partition("\n")[0]
            why = f"can't be compiled once for all calls ({seen:.100})"
        return uncompiled_because(
            f"{self._function}() {why}.\nIf that is meant, write "
            "warnings.simplefilter('ignore', jfi.UncompiledWarning)."
        )


def generators_in(why: Exception, functions: Iterable[Any]) -> Iterator[str]:
    """The generators of NumPy, Python or SciPy by which functions draw.

    Args:
        why: Why they were not compiled.
        functions: The functions.
    """
    if isinstance(why, UnseenCallError) and why.call.draws:
        yield why.call.name
    for function in functions:  # that were refused before they could run
        yield from generators_read(function)


class MovesBarError(Exception):
    """What is being compiled calls back to move a progress bar of jfi's."""


def refusing_bars(block: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays, for autojit, that refuses to move a progress bar.

    Raises:
        MovesBarError: At its call: it does, and each call is to show a bar of its own.
    """
    jitted = jax.jit(block, inline=True)

    def refusing(*args: Any) -> Any:
        bars = ProgressBar.traced
        jitted.trace(*args)  # the call finds this trace
        if ProgressBar.traced > bars:
            raise MovesBarError
        return jitted(*args)

    return refusing


# ---- What functions write that run once in place of many times: for rows or steps ----


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
