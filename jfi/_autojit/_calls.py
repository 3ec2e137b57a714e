"""The calls of one function: compiled once for each form, and run."""

import collections
import contextlib
import functools
import sys
import threading
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast

from .._errors import AutoJitError
from .._jax_internals import setting
from .._jit._executables import OtherArraysError
from .._jit._per_function import options_key, weakly
from .._random.traced import FoundDraws
from .._values import Recent, constant, function_label, function_name, is_fixed
from ._copies import MAX_FUNCTIONS, Known, code_of, note_arrival, of_this_copy, portable
from ._graphs import Opened
from ._history import History, running
from ._keeping import (
    ChangedMeanwhileError,
    ChangedOnlyError,
    Keeper,
    Kept,
    ProgramOrigin,
    RetakenError,
    keeper_of_all,
)
from ._layouts import MAX_NODES, Layouts, WeakLayout, write_down
from ._messages import (
    is_of_body,
    needed_numbers,
    replaced_defaults,
    rewrite_for_user,
    used_after_all,
)
from ._numbers import Numbers, classes_count
from ._opening import open_values
from ._options import (
    Options,
    Parameter as Parameter,
    call_with,
    constrain,
    leaf_options,
    named_in,
    parameters_of,
    read_options,
    split_options,
)
from ._outcomes import Outcome
from ._programs import (
    CompiledBody,
    LateRulesError,
    Program,
    Programs,
    UnforeseenError,
    UnreadError,
    calling,
)
from ._reading import Assumed, Mode, Read
from ._standing_in import StandIns, are_in
from ._watching import (
    RUNS_OFTEN,
    RaisedError,
    UnwatchedError,
    allowed,
    restless,
    warn_of_copies,
    warn_once,
)
from .kinds._functions import Body
from .kinds._variables import Variables


CALLS_TO_LEARN = 2  # of one form, before it is written down as a layout
MAX_TRIES = 8  # to trace a body whose classes other threads change meanwhile


class Calls:
    """Runs the calls of a function.

    Args:
        fn: The function.
        given: The options of `autojit`.
        varying: Parameters whose floats are settings until they change.
        keeper: Keeps what is compiled; None: who keeps all, if somebody does.

    Attributes:
        parameters: Those of its signature; a call has one value for each.
        given: What the user asked for.
        options: The same, checked.
        history: Why it was compiled.
        recognise: Runs a call. It knows the forms of the calls that came often, and
            leaves others to `run`.
    """

    # What each call asks for stands in no dict.
    __slots__ = ("__dict__", "__weakref__", "recognise")

    def __init__(
        self,
        fn: Callable[..., Any],
        given: Mapping[str, Any],
        varying: Collection[str] = (),
        keeper: Keeper | None = None,
    ) -> None:
        self._varying, self._keeper = varying, keeper
        self._find_fn: Callable[[], Any] = lambda: fn
        self.given: dict[str, Any] = dict(given)
        self.parameters: list[Parameter] = parameters_of(fn, named_in(given))
        name = function_name(fn)
        self.options: Options = read_options(
            name, [p.name for p in self.parameters], given
        )
        self.history: History = History(
            name,
            function_label(fn),
            self.options.warn_after,
            self.options.max_traces,
            self.options.static | self.options.frozen,
        )
        self.programs: Programs = Programs()
        self._numbers = Numbers()
        self._stand_ins = StandIns()
        self.recognise: Callable[..., Any] = self.run
        self._function = CompiledBody(
            self._names(),
            self._call,
            self.history,
            self._failed,
            self._keep,
            self._stand_ins.may_have,
            getattr(fn, "__dict__", {}).get(RUNS_OFTEN),
        )
        # After the arguments come the modules that code imports when it runs.
        modes = (self.options.mode(p.name, varying) for p in self.parameters)
        self._modes = [Mode.TRACED, *modes, Mode.LOOKED_AT]
        self._defaults = getattr(fn, "__defaults__", None)
        stars = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        self._spread = [
            k for k, p in enumerate(self.parameters, start=1) if p.kind in stars
        ]
        self._layouts = Layouts(name, self.run)
        self._read: Read | None = None  # by the calls so far
        self._is_copy = False
        self._ran: collections.Counter[Program] = collections.Counter()  # by this copy
        self._known = Known(Assumed(unused=self.options.unused))
        self._failure = threading.local()

    @property
    def fn(self) -> Callable[..., Any]:
        """The plain function."""
        return cast("Callable[..., Any]", self._find_fn())

    def share(self) -> None:
        """Let several wrappers use them: whoever calls keeps the function alive."""
        self._find_fn = weakly(self._find_fn())

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self.fn, self.given, self._varying, self._keeper)

    def of_copy(self, fn: Callable[..., Any], parameters: list[Parameter]) -> "Calls":
        """The calls of a copy of the function: see `_copies`.

        All copies share what is learnt from their calls. These calls themselves run no
        longer: they keep no copy alive.
        """
        self._find_fn = lambda: None
        calls = object.__new__(Calls)
        vars(calls).update(vars(self))
        calls._find_fn, calls._is_copy = lambda: fn, True
        calls.parameters, calls._ran = parameters, collections.Counter()
        calls._defaults = getattr(fn, "__defaults__", None)
        calls._layouts = Layouts(self.history.function, calls.run)
        calls.recognise = calls.run
        return calls

    def __call__(self, *args: Any) -> Any:
        """Run a call, as what `autojit` returns does.

        Args:
            args: One value for each parameter.
        """
        try:
            return self.recognise(*args)
        except BaseException as error:
            if not self.retries(error):
                raise
        return self.run(*args)

    def run(self, *args: Any) -> Any:
        """Run a call of any form.

        Args:
            args: One value for each parameter.
        """
        if setting("jax_disable_jit"):
            return self.call_plainly((self.fn, *args))
        performed, failure = None, None
        try:  # a late rule: what is around it compiles it, or nothing does
            with contextlib.suppress(LateRulesError):
                performed = self.perform(args, _run)
        except RaisedError as error:
            failure = type(error)(*error.shown)  # without the traceback, and arguments
        except UnwatchedError as error:
            if not self.options.uncompiled:
                raise
            warn_once(self.history, error)
        if failure is not None:
            result = self.call_plainly((self.fn, *args))
            warn_once(self.history, failure)  # its error comes of traced values alone
            return result
        if performed is None:
            return self.call_plainly((self.fn, *args))
        opened, program, out = performed
        self._learn(opened, program)
        warn_of_copies(self.history, opened, self._names)
        return out.deliver(opened.objects) if isinstance(out, Outcome) else out

    def perform(
        self,
        args: Sequence[Any],
        act: Callable[[Program, Sequence[Any]], Any],
        *,
        abstract: bool = False,
    ) -> tuple[Opened, Program, Any]:
        """Do something with the program for a call, whose numbers may become settings.

        Args:
            args: One value for each parameter.
            act: Gets the program and its arrays and numbers.
            abstract: Whether a `jax.ShapeDtypeStruct` stands for an array.

        Returns:
            The opened call, its program and what `act` returned.
        """
        for _ in range(MAX_TRIES):
            with contextlib.suppress(ChangedMeanwhileError):
                return self._perform(args, act, abstract=abstract)
        raise UnwatchedError(restless(self.history.function))

    def _perform(
        self,
        args: Sequence[Any],
        act: Callable[[Program, Sequence[Any]], Any],
        *,
        abstract: bool,
    ) -> tuple[Opened, Program, Any]:
        # A trace may show that the call must be taken apart in another way: with all
        # attributes, with stand-ins or without, with numbers as settings. Then nothing
        # has run yet, and all is as it was. So each way is tried until one holds, or
        # the error is the body's own. Each `except` is one of these ways.
        given = self._open(args, abstract=abstract)
        given = allowed(self.history.function, given)
        known = self.programs.frozen(given.graph) | self._numbers.unchanged(given)
        frozen = known
        while True:
            opened = given.frozen(frozen) if frozen else given
            make = functools.partial(self._program, opened)
            program = self.programs.get(opened.graph, make)
            try:
                with calling(program, opened.objects):
                    out = act(program, opened.leaves)
                break
            except ChangedOnlyError as error:
                self._failure.last = None
                if not self._stand_ins.add(opened, error.nodes, self._names()):
                    program.trace_anyway()  # it is the note of another process
                    continue
                self.programs.drop(opened.graph)
                return self._perform(args, act, abstract=abstract)
            except (UnforeseenError, UnreadError) as error:
                self._failure.last = None
                self.programs.drop(opened.graph)
                if isinstance(error, UnforeseenError):
                    self._assume_run(error.names)
                elif not self._stand_ins.give_up(opened, self._names()):
                    self._assume_unread()
                return self._perform(args, act, abstract=abstract)
            except LateRulesError:  # what is around it compiles it, or nothing does
                raise
            except ChangedMeanwhileError:
                self._failure.last = None
                if not program.succeeded:  # it may be made of what the call never saw
                    self.programs.drop(opened.graph)
                raise
            except Exception as error:
                retries = self.retries(error)
                numbers = needed_numbers(error, opened) if retries else ()
                if retries and not numbers and are_in(opened):
                    self.programs.drop(opened.graph)
                    with self._stand_ins.without_those_of(opened, self._names()):
                        return self._perform(args, act, abstract=abstract)
                runs = not numbers and retries and act is _run
                if runs and self._is_plain(error):
                    raise program.refuse_after(self.history.function, error) from None
                if numbers or not (program.succeeded or program.refused):
                    self.programs.drop(opened.graph)
                if numbers:
                    program.note_numbers(numbers)
                else:
                    rewrite_for_user(error, opened, self._names())
                    raise
                frozen |= frozenset(numbers)
        program.succeeded = True
        if frozen != known:
            self.programs.freeze(given.graph, frozen - known)
        return opened, program, out

    def open(self, args: Sequence[Any]) -> Opened:
        """Take a call apart, with the numbers that the body must know as settings.

        Args:
            args: One value for each parameter.
        """
        given = self._open(args)
        frozen = self.programs.frozen(given.graph) | self._numbers.unchanged(given)
        return given.frozen(frozen) if frozen else given

    def _open(self, args: Sequence[Any], *, abstract: bool = False) -> Opened:
        opened = self._opened(args, abstract)
        if self._stand_ins:
            again = functools.partial(self._opened, args, abstract)
            opened = self._stand_ins.put_into(opened, self._names(), again)
        opened = opened.with_classes() if classes_count(opened) else opened
        return portable(opened) if self._is_copy else opened

    def _opened(
        self, args: Sequence[Any], abstract: bool, growing: Collection[int] = ()
    ) -> Opened:
        traced = Mode.ABSTRACT if abstract else Mode.TRACED
        modes = [traced if m is Mode.TRACED else m for m in self._modes]
        fn = self.fn
        self._refuse_replaced_defaults(getattr(fn, "__defaults__", None))
        root = Body(fn) if isinstance(fn, types.FunctionType) else fn
        opened = open_values(
            (root, *args, Variables(sys.modules)),
            self._names,
            modes=modes,
            spread=self._spread,
            strict=bool(self.options.donate),  # no array can be given away twice
            known=self._read,
            assumed=self._known.of_a_call(),
            growing=growing,
        )
        self._read = opened.read
        return opened

    def _refuse_replaced_defaults(self, now: Any) -> None:
        """Refuse to pass old defaults: the signature of what users call has them.

        An editor that reads a file again may put equal ones there.

        Raises:
            AutoJitError: The function has others now.
        """
        if now is self._defaults:
            return
        both = now, self._defaults
        if not is_fixed(both) or constant(now) != constant(self._defaults):
            raise AutoJitError(replaced_defaults(self.history.function))
        self._defaults = now

    def _is_plain(self, error: Exception) -> bool:
        """Whether to run a call plainly whose body has raised an error when traced.

        It is the error of the plain function, with values in the place of tracers; or
        one that only traced values meet. Those of which JAX says that they need a value
        come with the line to write.
        """
        return self.options.uncompiled and is_of_body(error)

    def _assume_run(self, names: frozenset[str]) -> None:
        """Remember the names of functions that ran, to which nothing seemed to lead."""
        assumed = self._known.assumed
        self._known.assumed = assumed._replace(ran=assumed.ran | names)

    def _assume_unread(self) -> None:
        """Remember that a body uses attributes that its code does not show."""
        known, assumed = self._known, self._known.assumed
        if not assumed.whole:
            known.assumed = assumed._replace(whole=True)
        elif self._read is not None and self._read.unused != assumed.unused:
            known.assumed = assumed._replace(exact=True)
        else:  # it is none of the code's, but the user's word
            raise used_after_all(self.history.function, assumed.unused) from None

    def retries(self, error: BaseException) -> bool:
        """Whether an error came from tracing, so that nothing has run yet."""
        last = getattr(self._failure, "last", None)
        self._failure.last = None  # its traceback holds the arguments
        retaken = FoundDraws, OtherArraysError, RetakenError
        return error is last or isinstance(error, retaken)

    def _keep(self, opened: Opened) -> Kept | None:
        keeper = self._keeper or keeper_of_all()
        if keeper is None:
            return None
        parameters = [(p.name, p.kind.name) for p in self.parameters]
        modes = [mode.name for mode in self._modes]
        ran = sorted(self._known.assumed.ran)
        around = parameters, modes, self._spread, dict(self.options.jit), ran
        code = getattr(self.fn, "__code__", None)
        source = f"{code.co_filename}:{code.co_firstlineno}" if code else ""
        return keeper.keep(ProgramOrigin(self.history.function, source, opened, around))

    def _failed(self, error: Exception) -> None:
        self._failure.last = error

    def clear(self) -> None:
        """Forget all programs and forms."""
        self.programs.clear()
        self._numbers.clear()
        self._stand_ins.clear()
        self.history.clear()
        self._layouts.clear()
        self.recognise = self.run

    def _program(self, opened: Opened) -> Program:
        options = leaf_options(self.options, [p.name for p in self.parameters], opened)
        return Program(opened, self._function, options)

    def _learn(self, opened: Opened, program: Program) -> None:
        """Let calls like this one be recognised from now on, if they come often."""
        program.calls += 1
        compiled = program.compiled
        run = compiled if compiled.streams else compiled.pure.run
        if program.remembered or program.may_have_rules:
            run = program.run
        for layout, settings in program.places:
            layout.put(settings, run)
        calls = program.calls
        if self._is_copy:
            self._ran[program] += 1
            calls, opened = self._ran[program], of_this_copy(opened)
        # If calls are not recognised after all, again, more and more rarely.
        due = calls & (calls - 1) == 0
        if calls < CALLS_TO_LEARN or not due or len(opened.graph) > MAX_NODES:
            return
        written = write_down(opened, [f"a{k}" for k in range(len(self.parameters))])
        found, settings = self._layouts.get(written), written.settings
        self.recognise = self._layouts.recognise
        if found is not None:
            found.put(settings, run)
            program.places.append((WeakLayout(found), settings))

    def _names(self) -> list[str]:
        """What the user calls the function and the arguments."""
        kwargs = Parameter.VAR_KEYWORD
        names = (f"**{p.name}" if p.kind is kwargs else p.name for p in self.parameters)
        return [function_name(self.fn), *names, ""]

    def _call(self, values: Sequence[Any]) -> Any:
        result = self.call_plainly(values[:-1])
        return constrain(result, split_options(self.options.jit)[1])

    def call_plainly(self, values: Sequence[Any]) -> Any:
        """Call a function as the plain one is called.

        Args:
            values: The function, and one value for each parameter.
        """
        fn, *rest = values
        return call_with(fn, self.parameters, rest)


def _arrived(
    fn: Callable[..., Any],
    given: Mapping[str, Any],
    varying: Collection[str],
    keeper: Keeper | None,
) -> Calls:
    """The calls of a function that came from another process, or from a file."""
    note_arrival()
    # It may come in parts: where a function calls itself, its variables come later.
    parameters = parameters_of(fn, named_in(given))
    form = tuple((p.name, p.kind) for p in parameters)
    try:
        options = options_key(given), *sorted(varying), keeper
        key = code_of(fn), function_name(fn), form, options
        first = _arrivals.get(key, lambda: Calls(fn, given, varying, keeper))
    except TypeError:  # an option can't be hashed
        return Calls(fn, given, varying, keeper)
    return first.of_copy(fn, parameters)


_arrivals: Recent[Calls] = Recent(MAX_FUNCTIONS)


def calls_of_copies(fn: Callable[..., Any], **given: Any) -> Calls:
    """As `autojit`, of a function that gets copies as arguments: see `_copies`."""
    return Calls(fn, given).of_copy(fn, parameters_of(fn, named_in(given)))


def _run(program: Program, leaves: Sequence[Any]) -> Any:
    with running():
        return program.run(*leaves)
