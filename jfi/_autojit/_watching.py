"""What is said of what functions read outside: it can't be watched, or is copied."""

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from .._arrays._placement import passed_on
from .._errors import AutoJitError, SlowCallWarning, UncompiledWarning
from .._values import WorldCall, user_level
from ._graphs import LEAVES, Opened, path_of_node
from ._history import History
from .kinds._classify import ARRAY, STATIC_ARRAY


LARGE = 4 * 2**20  # bytes, which take about a millisecond to copy


class UnwatchedError(AutoJitError):
    """Code reads what can change without being seen."""


class UnseenCallError(UnwatchedError):
    """Code calls what reads the world outside the program.

    Attributes:
        call: The call.
    """

    def __init__(self, function: str, call: WorldCall) -> None:
        where = f" ({call.line})" if call.line else ""
        what = f"uses {call.name}{where}, which can change without being seen"
        super().__init__(stale(function, what, _DRAW if call.draws else _READ))
        self.call = call


class RaisedError(UnwatchedError):
    """Code raises an error when it is traced.

    Attributes:
        shown: What its text is made of: the function, and the text of the error.
    """

    def __init__(self, function: str, error: str) -> None:
        super().__init__(
            f"{function}() raises an error when it is compiled, and none in plain "
            f"Python ({error:.200}).\nCompute with jnp, and choose by jnp.where(...); "
            "or do it outside the function."
        )
        self.shown = function, error


class CallsBackError(UnwatchedError):
    """Code calls back to Python code that holds what the trace has copies of."""

    def __init__(self, function: str) -> None:
        super().__init__(
            f"{function}() calls back to Python code that uses what it has captured, "
            "of which compiled code has copies.\nDo that outside the function, with "
            "what it returns."
        )


def reaches_outside(error: Exception) -> bool:
    """Whether code reads or writes outside what compiled code can't.

    Python must run it, then; JAX itself runs what only calls back.
    """
    unwatched = isinstance(error, UnwatchedError)
    return unwatched and not isinstance(error, CallsBackError)


class UntracedError(UnwatchedError):
    """Code fills a cache of Python's, which must not keep what is traced."""


class WritesOnceError(UntracedError):
    """Functions of a loop or batch write outside: compiled, once for all steps."""


# An attribute of functions whose arguments are functions that run many times and
# are traced once. It says for what: "steps".
RUNS_OFTEN = "_jfi_runs_often"
BRANCHES = "branches"  # of which one runs, and all are traced


def writes_once(function: str, place: str, parts: str) -> str:
    """What a `WritesOnceError` says."""
    return (
        f"{function}() runs a function that writes {place}: compiled code would do so "
        f"once for all {parts}.\nReturn the value, or carry it from step to step."
    )


def allowed(function: str, opened: Opened) -> Opened:
    """A call that may be compiled, with its arrays as JAX gets them.

    Args:
        function: Its name.
        opened: The call.

    Raises:
        UnwatchedError: It reads what can't be watched, or asks what can't be answered.
        DefaultsError: It has integers that JAX would cut.
    """
    _refuse_unwatched(function, opened)
    _refuse_comparing(function, opened)
    return opened._replace(leaves=[passed_on(x, function) for x in opened.leaves])


def _refuse_unwatched(function: str, opened: Opened) -> None:
    if opened.read.unseen:
        what = " and ".join(opened.read.unseen)
        error = UntracedError if opened.read.untraced else UnwatchedError
        what = f"uses {what}, which can change without being seen"
        raise error(stale(function, what))


_READ = "Read it outside the function, and pass the value as an argument."
_DRAW = (
    "Draw with jnp.randn(...) or jnp.random.uniform(...), which are compiled; or draw "
    "outside the function, and pass the value as an argument."
)


def stale(function: str, what: str, advice: str = _READ) -> str:
    """What an `UnwatchedError` says of a function that does something."""
    return f"{function}() {what}: compiled code would not see it change.\n{advice}"


def restless(function: str) -> str:
    """What an `UnwatchedError` says of a function whose classes keep changing."""
    return (
        f"{function}() uses a class that other threads give other attributes whenever "
        "it is traced.\nUse a lock around both: with lock: ..."
    )


def _refuse_comparing(function: str, opened: Opened) -> None:
    """Refuse code that compares `type(x)`, which tells data from plain values."""
    read = opened.read
    for kind, part, _ in opened.graph:
        name = getattr(part, "__name__", "") if kind in LEAVES else ""
        if name in read.compared:
            raise UnwatchedError(
                _COMPARES.format(function, "compares type(...) with", name, "...")
            )
        if name in read.unions:
            classes = f"({', '.join(sorted(read.unions))})"
            raise UnwatchedError(
                _COMPARES.format(function, "asks by a typing.Union for", name, classes)
            )


_COMPARES = (
    "{}() {} {}, in place of which compiled code has another type.\n"
    "Write isinstance(x, {})."
)


def written(function: str, line: str) -> str:
    """What an `UnwatchedError` says of a function that writes into a NumPy array."""
    return (
        f"{function}() writes into a NumPy array in `{line}`, which compiled code "
        "can't.\nMake a new array (x = x + 1, x = jnp.sort(x)), or pass "
        "jnp.asarray(x), which nobody writes into."
    )


def unwritable(function: str, what: str) -> str:
    """What an `UnwatchedError` says of a function that writes odd attributes."""
    return (
        f"{function}() writes {what}, which compiled code can't.\n"
        "Return the value, and write the attribute outside the function."
    )


def went_on(function: str, line: str) -> str:
    """What an `UnwatchedError` says of a function that catches JAX's errors."""
    return (
        f"{function}() catches the error of `{line}`, which needs a value: compiled "
        "code would go on without it.\nCompute with jnp instead, and choose by "
        "jnp.where(...); or do it outside the function."
    )


def may_go_on(function: str) -> str:
    """The same where this JAX does not tell of its errors."""
    return (
        f"{function}() catches exceptions, among which may be JAX's errors about "
        "missing values, of which this version does not tell: compiled code would go "
        "on without a value.\nCatch exceptions outside the function."
    )


def unforeseen(function: str, name: str) -> str:
    """What an `UnwatchedError` says of a function that calls another in secret."""
    return (
        f"{function}() runs {name}(), to which nothing leads that can be watched: what "
        f"it reads may change unseen.\nCall {name}() by its name, or pass it as an "
        "argument."
    )


def warn_once(history: History, error: UnwatchedError) -> None:
    """Say that a function is not compiled, and why."""
    if history.is_first_time("unwatched"):
        message = uncompiled_because(str(error))
        warnings.warn(message, UncompiledWarning, stacklevel=user_level())


def uncompiled_because(refusal: str) -> str:
    """What a warning says of something that is not compiled, from what refused it."""
    first, _, advice = refusal.partition("\n")
    return f"{first}\nSo it runs uncompiled. {advice}"


def warn_of_copies(
    history: History, opened: Opened, names: Callable[[], Sequence[str]]
) -> None:
    """Say which large NumPy arrays outside are copied, or compared, at each call."""
    for i, x in enumerate(opened.objects):
        if not (opened.outside[i] and isinstance(x, np.ndarray) and x.nbytes > LARGE):
            continue
        if opened.graph[i][0] not in (ARRAY, STATIC_ARRAY):
            continue
        path = path_of_node(opened.graph, opened.objects, i, names())
        if history.is_first_time(path):
            message = (
                f"{history.function}() reads {path}, a NumPy array of "
                f"{x.nbytes / 2**20:.0f} MB, which may be written to between two "
                "calls: it is copied at each.\n"
                f"If it stays as it is, make it a JAX array: {path} = jnp.array({path})"
            )
            warnings.warn(message, SlowCallWarning, stacklevel=user_level())
