"""What runs while a function is traced: a record of it, in place of a guess beforehand.

Python tells which code begins to run, and which functions it calls: `sys.monitoring`
from Python 3.12 on, before that `sys.setprofile`. A call that reads what is not in the
program (`_world`) ends the trace, before it has read anything.

What was tried, and is worse: to read in the bytecode which calls there may be. Code
comes to `random.random` by an attribute, a default, `functools.partial`, an import in
the function ...: of 34 such ways 18 were missed.
"""

import contextlib
import functools
import gc
import inspect
import os
import random
import sys
import threading
import types
from collections.abc import Callable, Generator
from types import CodeType, FrameType
from typing import Any, NamedTuple

import jax
import numpy as np

from .._jax_internals import makers_of_value_errors
from ._caches import by_identity
from ._origins import is_library_file, is_user_module
from ._world import REPORTERS, WorldCall, may_read_world, world_call, world_function


class WorldReadError(BaseException):
    """Ends a trace that comes to a call that reads what is not in the program.

    No `Exception`: the user's `except Exception` is not meant. Whoever swallows it all
    the same is found out, as the record has the call.
    """


class Ran(NamedTuple):
    """A function that ran.

    Attributes:
        code: Its code.
        entry: That of the innermost function around it, or its own, which JAX has
            called; None: there is none.
    """

    code: CodeType
    entry: CodeType | None


class Record:
    """What ran in this thread, in a block of `recording`.

    Args:
        frame: The frame with the block; it is not kept.
        ends_at_world: Whether a call that reads what is not in the program ends it.

    Attributes:
        call: The first call that reads what is not in the program.
        ran: The functions of the user's modules that ran.
        started: Code of which it is enough to know that it ran, by ids: to hash code
            reads all of it.
        errors: Those that JAX has made since a value is needed, by their ids.
    """

    def __init__(self, frame: FrameType, *, ends_at_world: bool) -> None:
        self._frame = id(frame)
        self._ends_at_world = ends_at_world
        self.call: WorldCall | None = None
        self.ran: list[Ran] = []
        self.started: dict[int, CodeType] = {}
        self.errors: dict[int, Exception] = {}
        self._seeded: list[random.Random] = []
        self._makes_generators = False
        self._numpys: Any = None

    def note_draws(self) -> None:
        """Remember where NumPy's global generator is, of which 3.11 tells nothing.

        Cython's functions are no functions of C to `sys.setprofile`.
        """
        if _monitoring is None and self._ends_at_world:
            self._numpys = np.random.get_state(legacy=False)

    def take_draws_back(self) -> None:
        """Take back what that generator has drawn since then: it counts as a call."""
        if self._numpys is None:
            return
        if not _is_same(self._numpys, np.random.get_state(legacy=False)):
            np.random.set_state(self._numpys)
            self.call = self.call or WorldCall("numpy.random", "", draws=True)

    def starts(self, frame: FrameType) -> None:
        """A function begins to run, which may matter."""
        code = frame.f_code
        if _here.watcher is not None:
            _watch(frame)
        if any(code is make for make in _MAKE_ERRORS):
            error = frame.f_locals["self"]
            self.errors[id(error)] = error
        elif code is _SEEDING:
            if frame.f_locals.get("x") is not None:
                self._seeded.append(frame.f_locals["self"])
        elif may_read_world(code):
            if not self._draws_by_own(None, frame.f_locals.get("self")):
                self._end_at(world_function(frame))
        else:
            self.started[id(code)] = code
        if _is_of_users(frame) and not any(code is ran.code for ran in self.ran):
            self.ran.append(Ran(code, self._entry(frame)))

    def _entry(self, frame: FrameType) -> CodeType | None:
        """See `Ran`."""
        entry, caller = frame.f_code, frame.f_back
        while caller is not None and id(caller) != self._frame:
            if _is_called_for_jax(caller):
                return entry
            if not _is_silent(caller.f_code):  # jfi's, in between
                entry = caller.f_code
            caller = caller.f_back
        return None

    def calls(self, frame: FrameType, fn: Any, first: Any = None) -> None:
        """A frame calls a function of C.

        Args:
            frame: Who calls.
            fn: What is called.
            first: Its first argument, where Python tells it.
        """
        # Nothing is asked of objects of the user's, whose `==` and attributes are code.
        if not (_is_of_c(type(fn)) or issubclass(type(fn), type)):
            return
        if any(fn is make for make in _MAKE_GENERATORS) and first is not None:
            self._makes_generators = True
        elif not self._draws_by_own(fn, first):
            self._end_at(world_call(fn, frame))

    def _draws_by_own(self, fn: Any, first: Any) -> bool:
        """Whether it draws by a generator that the body made from a seed.

        Such draws follow from the seed, which is in the code or among what it reads.
        """
        drawer = first
        if not issubclass(type(first), _GENERATORS):
            drawer = getattr(fn, "__self__", None)
        if issubclass(type(drawer), random.Random):
            return any(drawer is one for one in self._seeded)
        is_numpys = issubclass(type(drawer), _GENERATORS)
        return is_numpys and self._makes_generators and drawer is not _GLOBAL_GENERATOR

    def _end_at(self, call: WorldCall | None) -> None:
        if call is not None and self._ends_at_world:
            self.call = self.call or call
            raise WorldReadError


def _is_of_c(cls: type) -> bool:
    """Whether a class is one of functions that Python runs no bytecode for."""
    return cls in _OF_C or cls.__name__ == "cython_function_or_method"


_OF_C = (
    types.BuiltinFunctionType,
    types.ClassMethodDescriptorType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
)
_SEEDING = random.Random.__init__.__code__
_MAKE_ERRORS = makers_of_value_errors()
_GENERATORS = (random.Random, np.random.RandomState, np.random.Generator)
_MAKE_GENERATORS = (np.random.default_rng, np.random.RandomState)
_JAX, _JFI = (
    os.path.dirname(path) for path in (jax.__file__, os.path.dirname(__file__))
)
_SILENT = _JAX + os.sep, _JAX + "lib" + os.sep, _JFI + os.sep
_GLOBAL_GENERATOR: Any = getattr(np.random.get_state, "__self__", None)


class _Here(threading.local):
    """What is recorded in this thread.

    Attributes:
        records: Those that are kept, the innermost last.
        collects: Whether Python looks for garbage: what runs then is not the body's.
        profile: What Python tells of each call, in Python 3.11.
        watcher: Is told of all code that begins to run and is recorded.
    """

    watcher: Callable[[FrameType], None] | None = None
    records: tuple[Record, ...] = ()
    collects = False
    profile: Any = None

    def record(self) -> Record | None:
        """The record that gets what runs now."""
        return self.records[-1] if self.records and not self.collects else None


_here = _Here()


@contextlib.contextmanager
def recording(*, ends_at_world: bool = True) -> Generator[Record]:
    """Keep a record of what runs in a block, in this thread: see `Record`."""
    frame = _getframe(2)  # `contextlib` calls this
    record, around = Record(frame, ends_at_world=ends_at_world), _here.records
    del frame
    with contextlib.nullcontext() if around else _outermost():
        record.note_draws()
        _here.records = (*around, record)
        try:
            yield record
        finally:
            _here.records = around
            record.take_draws_back()
            if around and _monitoring is None:  # an error that it raised has ended it
                sys.setprofile(_here.profile)


@contextlib.contextmanager
def watching(watcher: Callable[[FrameType], None]) -> Generator[None]:
    """Tell of all code that runs where a record is kept, but JAX's and jfi's."""
    global _watches
    if not _watches:
        _watches = True
        if _monitoring is not None:  # of some code Python was told to say no more
            _monitoring.restart_events()
    around, _here.watcher = _here.watcher, watcher
    try:
        yield
    finally:
        _here.watcher = around


_watches = False  # whether anybody has ever watched


def _watch(frame: FrameType) -> None:
    """Tell the watcher; what that runs itself is not recorded."""
    watcher, records = _here.watcher, _here.records
    _here.watcher, _here.records = None, ()
    try:
        if watcher is not None:
            watcher(frame)
    finally:
        _here.watcher, _here.records = watcher, records


@contextlib.contextmanager
def _outermost() -> Generator[None]:
    """A block in which Python tells of events, but for those of its garbage collector.

    That comes when it likes, and calls finalizers, and callbacks which take the time.
    """
    gc.callbacks.insert(0, _collection_begins)  # before the user's, and after them
    gc.callbacks.append(_collection_ended)
    try:
        with _EVENTS():
            yield
    finally:
        gc.callbacks.remove(_collection_begins)
        gc.callbacks.remove(_collection_ended)
        _here.collects = False


def _collection_begins(phase: str, info: object) -> None:
    _here.collects = _here.collects or phase == "start"


def _collection_ended(phase: str, info: object) -> None:
    _here.collects = _here.collects and phase != "stop"


@contextlib.contextmanager
def not_recording() -> Generator[None]:
    """Let a block run what is no part of the trace around it.

    Such as a run of a function on sample values, or of one that remembers its results.
    """
    around, _here.records = _here.records, ()
    for record in reversed(around):
        record.take_draws_back()
    try:
        yield
    finally:
        for record in around:
            record.note_draws()
        _here.records = around


@by_identity
def _is_silent(code: CodeType) -> bool:
    """Whether what code calls is never counted: JAX's, jfi's and Python's to import."""
    return code.co_filename.startswith(("<frozen importlib", "<autojit", *_SILENT))


@by_identity
def _is_known(code: CodeType) -> bool:
    """Whether it does not matter that code runs."""
    makes_error = any(code is make for make in _MAKE_ERRORS)
    if code is _SEEDING or makes_error or may_read_world(code):
        return False
    return _is_silent(code) or is_library_file(code.co_filename)


def _is_of_users(frame: FrameType) -> bool:
    """Whether a frame is of a function of the user's that reads its module itself."""
    # Python's dataclasses write functions into the modules of their classes.
    code, variables = frame.f_code, frame.f_globals
    is_generated = code.co_qualname.startswith("__create_fn__.")
    if is_generated or not code.co_flags & inspect.CO_OPTIMIZED:
        return False
    name = str(variables.get("__name__"))
    module = sys.modules.get(name)
    return getattr(module, "__dict__", None) is variables and is_user_module(name)


def _is_called_for_jax(frame: FrameType) -> bool:
    """Whether what a frame calls is no business of the body: JAX's, or a reporter's."""
    root = str(frame.f_globals.get("__name__")).partition(".")[0]
    return root in REPORTERS and root not in ("jfi", "jfi_server")


# ---- sys.monitoring, from Python 3.12 on ----

_monitoring: Any = getattr(sys, "monitoring", None)
_getframe: Any = getattr(sys, "_getframe")  # noqa: B009 - it is documented, and fast
_TOOLS = 6
_lock = threading.Lock()


class _Monitor:
    """Events in all threads, while a record is kept in some."""

    def __init__(self) -> None:
        self._blocks = 0
        self._tool: int | None = None

    @contextlib.contextmanager
    def events(self) -> Generator[None]:
        """A block in which Python tells of events."""
        with _lock:
            self._blocks += 1
            if self._blocks == 1:
                self._set(_monitoring.events.PY_START | _monitoring.events.CALL)
        try:
            yield
        finally:
            with _lock:
                self._blocks -= 1
                if not self._blocks:
                    self._set(0)

    def _set(self, events: int) -> None:
        if self._tool is None:
            self._tool, on = self._free_tool(), _monitoring.events
            _monitoring.register_callback(self._tool, on.PY_START, _started)
            _monitoring.register_callback(self._tool, on.CALL, _called)
        _monitoring.set_events(self._tool, events)

    def _free_tool(self) -> int:
        """A number that no debugger or profiler has: they run beside this."""
        for number in (4, 3, *range(_TOOLS)):
            if _monitoring.get_tool(number) is None:
                try:
                    _monitoring.use_tool_id(number, "jfi")
                except ValueError:  # it is taken meanwhile
                    continue
                return int(number)
        raise RuntimeError("all six tools of sys.monitoring are in use")


def _started(code: CodeType, offset: int) -> Any:
    """Code begins to run."""
    record = _here.record()
    if record is not None and id(code) in record.started:
        return None
    if _is_known(code) and (not _watches or _is_silent(code)):
        return _monitoring.DISABLE  # of this code Python tells no more
    if record is not None:
        record.starts(_getframe(1))
    return None


def _called(code: CodeType, offset: int, fn: Any, first: Any) -> Any:
    """Code calls something."""
    if _is_silent(code):
        return _monitoring.DISABLE  # of this place
    if type(fn) is types.FunctionType:  # which tells when it begins to run
        return None
    record = _here.record()
    if record is not None:
        fn, first = _behind(fn, None if first is _monitoring.MISSING else first)
        record.calls(_getframe(1), fn, first)
    return None


def _behind(fn: Any, first: Any) -> tuple[Any, Any]:
    """The function that a call ends at, and its first argument."""
    while True:
        if type(fn) is types.MethodType:
            fn, first = fn.__func__, fn.__self__
        elif type(fn) is functools.partial:
            fn, first = fn.func, fn.args[0] if fn.args else first
        elif (fn is map or fn is filter) and first is not None:
            fn, first = first, None
        else:
            return fn, first


# ---- sys.setprofile, in Python 3.11 ----


def _profile(frame: FrameType, event: str, arg: Any) -> None:
    # Called some hundred thousand times in a trace, mostly for frames of JAX: these
    # pass in one look at a table of ids, of code that is kept alive.
    if event == "call" or event == "c_call":
        code = frame.f_code
        if id(code) not in _passed:
            if _is_silent(code) and _is_known(code):
                _passed[id(code)] = code
            _tell(frame, event, arg)


_passed: dict[int, CodeType] = {}


def _tell(frame: FrameType, event: str, arg: Any) -> None:
    record = _here.record()
    if record is None:
        return
    if event == "c_call":
        if not _is_silent(frame.f_code):
            record.calls(frame, arg)
    elif id(frame.f_code) not in record.started and (
        not _is_known(frame.f_code) or (_watches and not _is_silent(frame.f_code))
    ):
        record.starts(frame)


def _waits(profiler: Any) -> bool:
    """Whether a profiler is no function: that of cProfile, which has to wait."""
    return profiler is not None and not callable(profiler)


@contextlib.contextmanager
def _profiling() -> Generator[None]:
    """A block in which Python tells of events, in this thread.

    A profiler that is there already goes on; that of cProfile waits.
    """
    around: Any = sys.getprofile()
    waits = _waits(around)

    def both(frame: FrameType, event: str, arg: Any) -> None:
        around(frame, event, arg)
        _profile(frame, event, arg)

    _here.profile = both if around and not waits else _profile
    if waits:
        around.disable()
    sys.setprofile(_here.profile)
    try:
        yield
    finally:
        sys.setprofile(None if waits else around)
        if waits:
            around.enable()


def _is_same(before: Any, now: Any) -> bool:
    one, two = before["state"], now["state"]
    rest = "bit_generator", "has_gauss", "gauss"
    return (
        all(before[name] == now[name] for name in rest)
        and one.keys() == two.keys()
        and all(np.array_equal(one[name], two[name]) for name in one)
    )


_EVENTS = _Monitor().events if _monitoring else _profiling
