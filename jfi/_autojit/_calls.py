"""The calls of one function: compiled once for each form, and run."""

import inspect
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

from .._compat import setting
from .._staging import FoundDraws
from .._trees import function_name, own_copy
from ._layouts import MAX_NODES, Layout, write_down
from ._messages import needed_numbers, explain
from ._object_kinds import Body
from ._opening import Opened, open_values
from ._outcomes import Outcome
from ._programs import Program, Programs


MAX_LAYOUTS = 16  # per function: they are tried one after the other
CALLS_TO_LEARN = 2  # of one form, before it is written down as a layout

Parameter = inspect.Parameter


class Calls:
    """Runs the calls of a function.

    Attributes:
        fn: The plain function.
        parameters: Those of its signature; a call has one value for each.
        recognise: Runs a call. It knows the forms of the calls that came often, and
            leaves others to `run`.
        traces: How often the body ran to be compiled.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self._root = Body(fn) if isinstance(fn, types.FunctionType) else fn
        self.parameters = parameters_of(fn)
        self.programs = Programs()
        self.recognise: Callable[..., Any] = self.run
        self.traces = 0
        self._layouts: dict[Any, Layout] = {}
        self._lock = threading.Lock()
        self._failures = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        return Calls, (self.fn,)

    def run(self, *args: Any) -> Any:
        """Run a call of any form.

        Args:
            args: One value for each parameter.
        """
        if setting("jax_disable_jit"):
            return self.call_plainly((self.fn, *args))
        given = open_values((self._root, *args), self.names)
        frozen = self.programs.frozen(given.graph)
        while True:
            opened = given.frozen(frozen) if frozen else given
            program = self.programs.get(opened.graph, lambda: self._program(opened))
            out = failure = None
            try:
                out = program.compiled(*map(own_copy, opened.leaves))
            except Exception as error:
                if not program.succeeded:
                    self.programs.drop(opened.graph)
                numbers = needed_numbers(error, opened) if self.retries(error) else ()
                if not numbers:
                    explain(error, opened, self.names())
                    raise
                frozen |= frozenset(numbers)
                continue
            program.succeeded = True
            if frozen:
                self.programs.freeze(given.graph, frozen)
            self._learn(opened, program)
            return out.deliver(opened.objects) if isinstance(out, Outcome) else out

    def _program(self, opened: Opened) -> Program:
        return Program(opened.graph, self.call_plainly, self.names(), self._report, {})

    def _learn(self, opened: Opened, program: Program) -> None:
        """Let calls like this one be recognised from now on, if they come often."""
        program.calls += 1
        compiled = program.compiled
        run = compiled if compiled.streams else compiled.pure
        for programs, settings in program.places:
            programs[settings] = run
        # If calls are not recognised after all, again, more and more rarely.
        due = program.calls & (program.calls - 1) == 0
        if program.calls < CALLS_TO_LEARN or not due or len(opened.graph) > MAX_NODES:
            return
        parameters = [f"a{k}" for k in range(len(self.parameters))]
        written = write_down(opened, parameters)
        with self._lock:
            layout = self._layouts.get(written.form)
            if layout is None:
                if len(self._layouts) >= MAX_LAYOUTS:
                    return
                layout = Layout(written, self.names()[0], self.recognise)
                self._layouts[written.form] = layout
                self.recognise = layout.recognise
            layout.programs[written.settings] = run
            program.places.append((layout.programs, written.settings))

    def names(self) -> list[str]:
        """What the user calls the function and the arguments."""
        names = (
            f"**{p.name}" if p.kind is Parameter.VAR_KEYWORD else p.name
            for p in self.parameters
        )
        return [function_name(self.fn), *names]

    def call_plainly(self, values: Sequence[Any]) -> Any:
        """Call a function as the plain one is called.

        Args:
            values: The function, and one value for each parameter.
        """
        fn, *rest = values
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for parameter, value in zip(self.parameters, rest, strict=True):
            if parameter.kind is Parameter.VAR_POSITIONAL:
                args.extend(value)
            elif parameter.kind is Parameter.VAR_KEYWORD:
                kwargs.update(value)
            elif parameter.kind is Parameter.KEYWORD_ONLY:
                kwargs[parameter.name] = value
            else:
                args.append(value)
        return fn(*args, **kwargs)

    def _report(self, error: Exception | None) -> None:
        """The body was traced, with this error if any."""
        self._failures.last = error
        if error is None:
            with self._lock:
                self.traces += 1

    def retries(self, error: BaseException) -> bool:
        """Whether an error came from tracing, so that nothing has run yet."""
        last = getattr(self._failures, "last", None)
        self._failures.last = None  # its traceback holds the arguments
        return error is last or isinstance(error, FoundDraws)

    def clear(self) -> None:
        """Forget all programs and forms."""
        self.programs.clear()
        with self._lock:
            self._layouts.clear()
            self.recognise = self.run
            self.traces = 0


def parameters_of(fn: Callable[..., Any]) -> list[Parameter]:
    """The parameters of a function; some builtins have no signature.

    Those of the function itself: what it hands on to a function that it wraps may be
    called in another way.
    """
    try:
        return list(inspect.signature(fn, follow_wrapped=False).parameters.values())
    except (TypeError, ValueError):
        return [
            Parameter("args", Parameter.VAR_POSITIONAL),
            Parameter("kwargs", Parameter.VAR_KEYWORD),
        ]
