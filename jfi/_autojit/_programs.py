"""The compiled code for one graph of arguments, and the table of these programs."""

import contextlib
import functools
import threading
from collections.abc import Callable, Collection, Generator, Hashable, Sequence
from types import FrameType
from typing import Any, NamedTuple, NoReturn

import jax
from jax.core import Tracer

from .._jax_internals import at_top_level, setting, value_errors_are_seen
from .._jit._compiled import CompiledFunction
from .._jit._executables import Jitted
from .._random.traced import FoundDraws
from .._values import (
    Recent,
    Record,
    WorldReadError,
    codes_within,
    is_user_code,
    line_label,
    recording,
    references,
    source_line,
)
from ._callbacks import (
    may_call_back,
    may_have_rules,
    refusing_clones,
    rules_hold_data,
)
from ._changes import (
    Change,
    NewKeyError,
    UnopenedAttributes,
    add_real,
    contents,
    find_changes,
    put_stand_ins,
    take_back,
    with_values,
)
from ._copies import ClassesOfCall
from ._fresh_arrays import fresh_arrays
from ._graphs import Graph, Opened, path_of_node, rebuild
from ._history import History
from ._keeping import (
    ChangedMeanwhileError,
    ChangedOnlyError,
    Kept,
    NumbersError,
    RetakenError,
)
from ._layouts import WeakLayout
from ._loops_and_batches import written_once
from ._numbers import Noted, as_data, examples, passing_for_values
from ._opening import data_held
from ._outcomes import take_apart
from ._standing_in import changed_only
from ._watching import (
    RaisedError,
    UnseenCallError,
    UntracedError,
    UnwatchedError,
    WritesOnceError,
    may_go_on,
    stale,
    unforeseen,
    unwritable,
    went_on,
    writes_once,
    written,
)
from .kinds._classify import STATIC_ARRAY
from .kinds._objects import touching
from .kinds._remembering import Remembered, remembering


MAX_PROGRAMS = 1024  # per function; the least recently used goes


class NotTracedError(Exception):
    """The body is run although nothing is traced: `jax.disable_jit()` is on."""


class LateRulesError(RetakenError):
    """A derivative has a rule that holds traced data, and would run after the trace."""


class UnforeseenError(RetakenError):
    """Functions of the user's ran to which nothing had led.

    Attributes:
        names: What they are called.
    """

    def __init__(self, names: Collection[str]) -> None:
        super().__init__()
        self.names = frozenset(names)


class UnreadError(RetakenError):
    """The body used an attribute that no code seemed to read."""


class CompiledBody(NamedTuple):
    """What a program knows of the function that it is made of.

    Attributes:
        names: What the user calls the function and its parameters.
        call: Calls it, with itself and one value for each parameter.
        history: Why it was compiled.
        failed: Gets an error that came while it was traced.
        keep: What keeps the program of an opened call; None if nothing does.
        may_stand_in: Whether nodes of a call may have stand-ins, and some have none.
        often: What the functions among its arguments run for, each: "steps"; "" if they
            run once; None if it is no loop, batch or branch.
    """

    names: Sequence[str]
    call: Callable[[Sequence[Any]], Any]
    history: History
    failed: Callable[[Exception], None]
    keep: Callable[[Opened], Kept | None]
    may_stand_in: Callable[[Opened, Sequence[int], Sequence[str]], bool]
    often: str | None


class Program:
    """The compiled code for one graph of arguments. It holds no argument itself.

    Attributes:
        graph: What it is made of.
        compiled: Takes the arrays and numbers of a call, and returns its outcome.
        succeeded: Whether it ever ran; JAX would run it slowly for ever if it did not.
        calls: How many calls were not recognised by a layout.
        places: The layouts that use it, and its settings there.
        remembered: What the body got of functions that remember their results.
        refused: Makes the error that says why it can't be compiled.
        may_have_rules: Whether it may call what has derivatives of its own.
    """

    def __init__(
        self, opened: Opened, function: CompiledBody, options: dict[str, Any]
    ) -> None:
        self._opened, self._function = opened._replace(objects=[], leaves=[]), function
        self.graph: Graph = opened.graph
        self._donated: Sequence[int] = options.get("donate_argnums", ())
        self._classes = ClassesOfCall(opened) if opened.of_copy else None
        self._varying = examples(opened)
        self._may_call_back = may_call_back(opened)
        self.may_have_rules: bool = may_have_rules(opened)
        self._has_late_rules: bool | None = None  # not known
        self.succeeded = False
        self.calls = 0
        self.places: list[tuple[WeakLayout, Hashable]] = []
        self.remembered: dict[Hashable, Remembered] = {}
        self.refused: Callable[[], UnwatchedError] | None = None

        def traced(*leaves: Any) -> Any:
            try:
                return self._trace(leaves)
            except Exception as error:
                function.failed(error)
                raise

        traced.__name__ = traced.__qualname__ = function.names[0]
        self._kept = function.keep(opened)
        self._compile = functools.partial(
            CompiledFunction,
            traced,
            options,
            self._kept.jit if self._kept else Jitted,
            self._kept.jit_drawing if self._kept else None,
        )
        self.compiled: CompiledFunction = self._compile()

    def run(self, *leaves: Any) -> Any:
        """Run it; traced anew if a function remembers something else by now.

        Raises:
            UntracedError: It can't be compiled.
            LateRulesError: It can't be differentiated when it is compiled.
        """
        if self.refused:
            raise self.refused()
        if self.may_have_rules and any(isinstance(x, Tracer) for x in leaves):
            self._refuse_late_rules(leaves)
        if not all(call.holds() for call in list(self.remembered.values())):
            self.remembered, self.compiled = {}, self._compile()
        return self.compiled(*leaves)

    def _refuse_late_rules(self, leaves: Sequence[Any]) -> None:
        """Refuse to be differentiated with rules that captured data.

        JAX runs the rules of a `jax.custom_vjp` when the trace has ended: to plain
        `jax.jit` what they captured is constant, here it is traced.
        """
        if self._has_late_rules is None:
            try:
                traced = self.compiled.pure.trace(*leaves)  # a call finds this
            except FoundDraws:
                traced = self.compiled.plain.trace(*leaves)
            self._has_late_rules = rules_hold_data(traced)
        if self._has_late_rules:
            raise LateRulesError

    def _trace(self, leaves: Sequence[Any]) -> Any:
        """Run the body on clones of the arguments around traced arrays."""
        if at_top_level() and setting("jax_disable_jit"):
            raise NotTracedError
        staying = self._classes.staying if self._classes else contextlib.nullcontext
        with staying(), touching() as touched:
            try:
                outcome = self._recorded_body(leaves)
            except Exception:
                if touched():
                    raise UnreadError from None
                raise
            if touched():
                raise UnreadError
            return outcome

    def _recorded_body(self, leaves: Sequence[Any]) -> Any:
        outcome = None
        # Whoever swallows the signal is found out: the record has the call.
        with recording() as record, contextlib.suppress(WorldReadError):
            try:
                outcome = self._traced_body(leaves)
            except RetakenError:
                record.errors.clear()  # their frames hold the record
                raise
            except Exception:  # it may come of those that were caught
                self._refuse_caught(record)
                raise
        if self.refused is not None:  # also if the body has caught that
            raise self.refused()
        if record.call is not None:
            call = self._function.names[0], record.call
            self.refused = functools.partial(UnseenCallError, *call)
            raise self.refused()
        self._refuse_caught(record)
        self._refuse_unforeseen(record)
        return outcome

    def _traced_body(self, leaves: Sequence[Any]) -> Any:
        if self._varying:
            trace = functools.partial(self._trace_clones, [])
            return as_data(trace, leaves, self._varying)
        if self._may_call_back:
            name = self._function.names[0]
            return refusing_clones(self._trace_clones, leaves, name, self._opened)
        return self._trace_clones([], *leaves)

    def _trace_clones(self, built: list[Any], *leaves: Any) -> Any:
        graph = self._opened.graph
        clones = rebuild(graph, leaves)
        built[:] = clones
        self._refuse_arithmetic()
        with passing_for_values(graph, leaves) as noted:
            try:
                outcome = self._run_body(clones, leaves)
            except Exception:  # it may come of what is noted; Ctrl-C does not
                self._give_up_if(noted)
                raise
            self._give_up_if(noted)
            return outcome

    def _refuse_arithmetic(self) -> None:
        """Python's numbers raise errors that the body catches: it gets them as such."""
        numbers = self._opened.numbers()
        if numbers and self._opened.read.catches_arithmetic:
            raise NumbersError(numbers)

    def _give_up_if(self, noted: Noted) -> None:
        """End the trace of a body that did what traced values can't do."""
        if noted.written:
            self._refuse(written(self._function.names[0], noted.written[0]))
        if noted.numbers:
            raise NumbersError(noted.numbers)

    def _refuse_caught(self, record: Record) -> None:
        """Refuse a body that went on without a value.

        Raises:
            UntracedError: It did. Numbers of which JAX says which become settings.
        """
        for error, line in errors_caught(record):
            self._refuse(went_on(self._function.names[0], line), error)
        if value_errors_are_seen() is None and self._opened.read.catches:
            self._refuse(may_go_on(self._function.names[0]))

    def _refuse_unforeseen(self, record: Record) -> None:
        """Refuse a program of which it is not known what all its code reads.

        Raises:
            UnforeseenError: Code ran that nothing had led to.
            UntracedError: Nothing leads to it by its name, either.
        """
        foreseen = set(codes_within(self._opened.read.codes))
        # What JAX itself calls it keeps: rules of trees, functions of `jax.jit`.
        names = {
            ran.code.co_name
            for ran in record.ran
            if ran.code not in foreseen and (ran.entry is None or ran.entry in foreseen)
        }
        unknown = names & self._opened.read.ran
        if unknown:
            self._refuse(unforeseen(self._function.names[0], min(unknown)))
        if names:
            raise UnforeseenError(names)

    def _run_body(self, clones: list[Any], leaves: Sequence[Any]) -> Any:
        graph, names = self._opened.graph, self._function.names
        compilation = self._function.history.begin(graph, clones, names)
        objects = _here.objects_of(self)
        real = add_real(graph, clones, objects)
        before = contents(graph, clones)
        put_stand_ins(graph, clones, real)
        stood_in = contents(graph, clones)
        unopened, unwritten = UnopenedAttributes(graph, clones), ""
        around, _here.trace = _here.trace, _Trace(self, clones, real)
        donated = {id(leaves[k]) for k in self._donated}
        try:
            with fresh_arrays(graph, clones, real):
                result = self._function.call(clones[0])
            changes, values = find_changes(graph, stood_in, clones, donated, real)
        except NewKeyError as error:
            what = f"a new key into a dict (a {error})"
            self._refuse(unwritable(names[0], what))
        finally:
            _here.trace = around
            take_back(graph, clones, before, real)
            unwritten = unopened.take_back()
            self._remember(clones)
        if unopened.filled:
            raise ChangedMeanwhileError
        if unwritten:
            self._refuse(unwritable(names[0], unwritten))
        if not self._opened.read.peeks:  # `type(x) is int` is not noted
            opened = self._opened._replace(objects=[*objects])
            only = list(changed_only(graph, changes, real))
            if only and self._function.may_stand_in(opened, only, names):
                raise ChangedOnlyError(only)
        self._refuse_changes(changes, values, clones, real)
        for function in remembering(clones):
            if function.error is not None:
                self._refuse(stale(names[0], f"catches an error of {function.name}()"))
        kept = [id(x) not in donated for x in clones]
        outcome = take_apart(names[0], result, changes, values, clones, graph, kept)
        self._function.history.end(compilation)
        return outcome

    def _refuse_changes(
        self,
        changes: Sequence[Change],
        values: Sequence[Any],
        clones: Sequence[Any],
        real: Collection[int],
    ) -> None:
        """Let code run plainly whose changes can't be made at each call.

        Data that it leaves in what methods of classes meet would be other settings at
        the next call; and memory of NumPy's is written to in place.

        Raises:
            UntracedError: It has made such a change.
        """
        if self._function.often is not None:
            self.refuse_in_steps(self._function.often, changes, values, clones)
        for change, new in with_values(changes, values):
            if change.kind is STATIC_ARRAY:
                what = f"{self._place(change, clones)} in place"
            elif change.node in real and data_held(new, self._opened.read).some:
                what = f"data into {self._place(change, clones)}"
            else:
                continue
            self._refuse(unwritable(self._function.names[0], what))

    def refuse_in_steps(
        self,
        often: str,
        changes: Sequence[Change],
        values: Sequence[Any],
        clones: Sequence[Any],
    ) -> None:
        """Refuse what functions of a loop, batch or branch write once.

        Args:
            often: What the functions run for, each: "steps"; "" if they run once.
            changes: What they have changed.
            values: The new children, of one change after the other.
            clones: What they got, by node.

        Raises:
            WritesOnceError: It is written once, or holds data of a step or branch.
        """
        change = written_once(changes, values, self._opened.read, often)
        if change is not None:
            place = self._place(change, clones)
            why = writes_once(self._function.names[0], place, often or "calls")
            self.refused = functools.partial(WritesOnceError, why)
            raise self.refused()

    def _place(self, change: Change, clones: Sequence[Any]) -> str:
        """How the user writes what a change is made to."""
        names, graph = self._function.names, self._opened.graph
        return change.place(path_of_node(graph, clones, change.node, names))

    def _remember(self, clones: Sequence[Any]) -> None:
        """Note what the body got of functions that remember their results.

        Raises:
            UntracedError: Nothing can be compiled that does the same.
        """
        for function in remembering(clones):
            self.remembered = self.remembered | function.calls
            if function.refused:
                self._refuse(stale(self._function.names[0], function.refused))
        if self.remembered:
            for layout, settings in self.places:
                layout.put(settings, self.run)

    def _refuse(self, why: str, cause: Exception | None = None) -> NoReturn:
        self.refused = functools.partial(UntracedError, why)
        raise self.refused() from cause

    def refuse_after(self, function: str, error: Exception) -> UnwatchedError:
        """Let calls run plainly, as the body raises an error when it is traced."""
        if isinstance(error, UnwatchedError):
            self.refused = functools.partial(type(error), *error.args)
        else:
            text = type(error).__name__
            with contextlib.suppress(Exception):  # of the user's class
                text += f": {error}".partition("\n")[0]
            self.refused = functools.partial(RaisedError, function, text)
        return self.refused()

    def note_numbers(self, nodes: Collection[int]) -> None:
        """The trace that has just failed needs the values of some numbers."""
        if self._kept:
            self._kept.note_numbers(nodes)

    def trace_anyway(self) -> None:
        """Whatever another process has noted of what the body only counts in."""
        if self._kept:
            self._kept.ignores_counts = True

    def forget(self) -> None:
        """Let no layout use it any longer."""
        for layout, settings in self.places:
            layout.put(settings, None)
        self.places.clear()


class UncalledError(RetakenError):
    """A program has to be traced, for a call that nobody has taken apart."""


class _Trace(NamedTuple):
    """A body that is being traced: its program, what it got, what of that is real."""

    program: Program
    clones: Sequence[Any]
    real: Collection[int]


class _Here(threading.local):
    """Whose program runs for a call, in this thread, and the values of the call.

    Attributes:
        program: The program.
        objects: The values, by node.
        trace: The body that is being traced, the innermost.
    """

    program: Program | None = None
    objects: Sequence[Any] = ()
    trace: _Trace | None = None

    def objects_of(self, program: Program) -> Sequence[Any]:
        """The values of a call, by node, for which a program is traced.

        Raises:
            UncalledError: It is called by a layout, which knows the arrays alone.
        """
        if self.program is not program:
            raise UncalledError
        return self.objects


_here = _Here()


@contextlib.contextmanager
def calling(program: Program, objects: Sequence[Any]) -> Generator[None]:
    """A block in which a program may be traced, for a call with these values."""
    around = _here.program, _here.objects
    _here.program, _here.objects = program, objects
    try:
        yield
    finally:
        _here.program, _here.objects = around


@contextlib.contextmanager
def refusing_writes(often: str) -> Generator[None]:
    """A block that traces functions of a loop or of branches, in a body.

    Raises:
        WritesOnceError: They have written what the body would write at each call: it
            runs plainly, and then they run as in Python.
    """
    trace = _here.trace
    if trace is None:
        yield
        return
    program, clones, real = trace
    before = contents(program.graph, clones)
    yield
    changes, values = find_changes(program.graph, before, clones, (), real)
    program.refuse_in_steps(often, changes, values, clones)


class Programs:
    """The programs of one function."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._table: Recent[Program] = Recent(MAX_PROGRAMS, Program.forget)
        self._frozen: dict[Hashable, frozenset[int]] = {}

    def __len__(self) -> int:
        return len(self._table)

    def frozen(self, graph: Graph) -> frozenset[int]:
        """The numbers that must be known to the code in calls with this graph."""
        return self._frozen.get(graph, frozenset())

    def freeze(self, graph: Graph, nodes: Collection[int]) -> None:
        """Calls with this graph must have these numbers as settings."""
        with self._lock:
            if len(self._frozen) >= MAX_PROGRAMS:
                self._frozen.pop(next(iter(self._frozen)))
            self._frozen[graph] = self.frozen(graph) | frozenset(nodes)
        self.drop(graph)

    def get(self, graph: Graph, make: Callable[[], Program]) -> Program:
        """The program for a graph, made if there is none."""
        known = self._table.find(graph)
        return self._table.add(graph, make()) if known is None else known

    def keep_at_most(self, most: int) -> None:
        """Let programs go from this number on."""
        self._table.most = most

    def drop(self, graph: Graph) -> None:
        self._table.drop(graph)

    def clear(self) -> None:
        with self._lock:
            self._frozen.clear()
        self._table.clear()


# ---- Errors of JAX that the user's code catches, and goes on without a value ----
#
# `try: n = int(x)` with `except TypeError: n = 3` has the value in plain Python. The
# record of a trace has the errors; the traceback of each ends at the frame that
# caught it. `sys.settrace` tells it, too, but then a debugger, or what measures
# coverage, misses the lines of a trace.


class Caught(NamedTuple):
    """An error of JAX that a frame of the user's has caught.

    Attributes:
        error: The error.
        line: The line that needed the value.
    """

    error: Exception
    line: str


def errors_caught(record: Record) -> list[Caught]:
    """Those that code of the user's caught, and went on without a value.

    The record lets them go: their frames hold what holds it.
    """
    errors = [*record.errors.values()]
    record.errors.clear()
    caught = ((error, error.__traceback__) for error in errors)
    return [
        Caught(error, _line(end.tb_frame, end.tb_lineno))
        for error, end in caught
        if end is not None and _is_unaware(end.tb_frame)
    ]


def _line(frame: FrameType, line: int) -> str:
    file = frame.f_code.co_filename
    return source_line(file, line, frame.f_globals) or line_label(file, line)


def _is_unaware(frame: FrameType) -> bool:
    """Whether code is the user's, and does not say what to do where it is traced."""
    names = {name for chain in references(frame.f_code).chains for name in chain}
    if not names.isdisjoint(_ERRORS_OF_JAX):
        return False
    return is_user_code(str(frame.f_globals.get("__name__", "")), frame.f_code)


_ERRORS_OF_JAX = {name for name in vars(jax.errors) if name.endswith("Error")}
