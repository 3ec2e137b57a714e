"""The server's table of programs, and how it answers a request."""

import importlib
import os
import pickle
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

import jax
import numpy as np

from jfi._errors import FingerprintError
from jfi._values import library_version
from jfi_server.fingerprint import identify

from .call_parts import bind
from .environment import applied, difference, environment, settings
from .errors import SURROUNDINGS, dumps_error
from .payload import dumps, loads
from .protocol import (
    Call,
    Hello,
    NotServed,
    Raised,
    Refused,
    Reply,
    Report,
    Request,
    Result,
    Settings,
    Status,
    Stop,
    Unknown,
    Welcome,
    decode,
    encode,
)


_MOST_PROGRAMS = 512
_MOST_SHAPES = 64


class Service:
    """One table for all clients, each of which has a thread here.

    Args:
        stop: Called when a client asks the server to end.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._environment = environment()
        self._started = time.monotonic()
        self._programs: OrderedDict[str, ServedProgram] = OrderedDict()
        self._lock = threading.Lock()
        self._calls = 0

    def answer(self, frame: bytes) -> bytes:
        """Answer one message; whatever goes wrong is an answer too."""
        try:
            reply = self._reply(decode(frame))
            return encode(reply)
        except NotServed as reason:
            return encode(Refused(str(reason), reason.for_ever))
        except BaseException as error:
            return encode(
                Refused(f"the server failed with {type(error).__name__}: {error}")
            )

    def _reply(self, request: Request | Reply) -> Reply:
        if isinstance(request, Hello):
            differs = difference(request.environment, self._environment)
            return Welcome() if differs is None else Refused(differs)
        if isinstance(request, Call):
            return self._call(request)
        if isinstance(request, Status):
            return self._report()
        if isinstance(request, Stop):
            self._stop()
            return self._report()
        raise NotServed(
            f"the server does not know the request {type(request).__name__}"
        )

    def _report(self) -> Report:
        with self._lock:
            programs = list(self._programs.values())
        return Report(
            pid=os.getpid(),
            uptime=time.monotonic() - self._started,
            functions=len(programs),
            compiled=sum(program.compiled for program in programs),
            calls=self._calls,
        )

    def _call(self, request: Call) -> Reply:
        program = self._program(request)
        if program is None:
            return Unknown()
        with applied(request.settings):
            _check_settings(request.settings, settings())
            traced = loads(request.traced)
            try:
                value = program.run(request.settings, traced)
            except _FunctionRaised as raised:
                return program.raised(raised.error)
            with self._lock:
                self._calls += 1
            try:
                return Result(dumps(value, program.shared))
            except pickle.PicklingError as error:
                raise NotServed(f"its result has {error}", for_ever=True) from error

    def _program(self, request: Call) -> "ServedProgram | None":
        with self._lock:
            program = self._programs.get(request.key)
            if program is None and request.definition is not None:
                program = ServedProgram(request.definition, request.libraries)
                self._programs[request.key] = program
                if len(self._programs) > _MOST_PROGRAMS:
                    self._programs.popitem(last=False)
            if program is not None:
                self._programs.move_to_end(request.key)
            return program


class ServedProgram:
    """A function with its settings, compiled once for each kind of arrays.

    Attributes:
        shared: Classes and functions that the client has under the same numbers.
        compiled: How often it was compiled.
    """

    def __init__(
        self, definition: bytes, libraries: tuple[tuple[str, str], ...]
    ) -> None:
        self.shared: tuple[object, ...] = ()
        self.compiled: int = 0
        self._definition, self._libraries = definition, libraries
        self._run: Callable[[list[Any]], Any] | None = None
        self._reached: object = None
        self._refusal = ""
        self._by_shapes: OrderedDict[object, Any] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, options: Settings, traced: list[Any]) -> Any:
        """Run on these arrays; of many threads that ask at once, one compiles."""
        kind = (options, tuple(map(_kind, traced)))
        executable = self._by_shapes.get(kind)
        if executable is None:
            with self._lock:
                executable = self._by_shapes.get(kind)
                if executable is None:
                    executable = self._compile(traced)
                    self._by_shapes[kind] = executable
                    if len(self._by_shapes) > _MOST_SHAPES:
                        self._by_shapes.popitem(last=False)
        with _function_runs():
            return jax.block_until_ready(executable(traced))

    def raised(self, error: BaseException) -> Reply:
        """The answer when the function has raised."""
        if isinstance(error, SURROUNDINGS):
            raise NotServed(f"it raised {type(error).__name__} in the server ({error})")
        data = dumps_error(error, self.shared)
        if data is None:
            raise NotServed(f"it raised {type(error).__name__}, which can't be sent")
        return Raised(data)

    def _compile(self, traced: list[Any]) -> Any:
        if self._refusal:
            raise NotServed(self._refusal, for_ever=True)
        try:
            run = self._run or self._load()
            before, options = self._state(), settings()
            with _function_runs():
                trace = jax.jit(run).trace(traced)
            if trace.jaxpr.effects:
                raise NotServed(
                    "it draws random numbers, prints, calls back or reads a Ref when "
                    "it runs, which has to happen here",
                    for_ever=True,
                )
            # Arrays and lists that it wrote to while it was traced are the server's.
            if self._state() != before or settings() != options:
                raise NotServed(
                    "it writes to variables outside, which has to happen here",
                    for_ever=True,
                )
        except NotServed as refusal:
            self._refusal = str(refusal) if refusal.for_ever else ""
            raise
        with _function_runs():
            executable = trace.lower().compile()
        self.compiled += 1
        return executable

    def _load(self) -> Callable[[list[Any]], Any]:
        for top, version in self._libraries:
            with suppress(ImportError):
                importlib.import_module(top)  # its version may be known to it alone
            ours = library_version(top)
            if ours != version:
                raise NotServed(
                    f"the server has {top} {ours!r}, this process {version!r}; "
                    "restart it: jfi-server stop; jfi-server start",
                )
        try:
            fn, args, kwargs, self.shared, registrations = loads(self._definition)
            registrations.apply(self.shared)
            leaves, structure = jax.tree.flatten((args, kwargs))
        except NotServed:
            raise
        except Exception as error:
            raise NotServed(
                f"the server could not read it ({type(error).__name__}: {error})",
                for_ever=True,
            ) from error
        self._reached = (fn, structure, tuple(leaves))
        self._run = bind(fn, structure, tuple(leaves))
        return self._run

    def _state(self) -> str:
        try:
            return identify(self._reached, in_process=True).digest
        except FingerprintError as error:
            raise NotServed(f"the server can't identify it: {error}") from error


class _FunctionRaised(Exception):  # noqa: N818 - the user's error is inside
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


@contextmanager
def _function_runs() -> Generator[None]:
    """What is raised here is the function's, to be raised in the client."""
    try:
        yield
    except BaseException as error:
        raise _FunctionRaised(error) from error


def _kind(value: Any) -> object:
    """What decides whether an executable fits: shape, dtype, weak type, device."""
    if isinstance(value, jax.Array):
        place = value.sharding if value.committed else None
        weak = getattr(value, "weak_type", False)  # random keys have none
        return value.shape, value.dtype, weak, place
    if isinstance(value, (np.ndarray, np.generic)):
        return value.shape, value.dtype
    return type(value)


def _check_settings(theirs: Settings, ours: Settings) -> None:
    for (name, their), (_, our) in zip(theirs, ours, strict=True):
        if their != our:
            raise NotServed(
                f"{name} is {their!s} in this process and {our!s} in the server; "
                "restart it with the same setting"
            )
