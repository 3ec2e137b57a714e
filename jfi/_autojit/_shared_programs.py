"""What `jit(f)` has compiled, shared by all `jit(f)` of the same function.

`jit(f)(x)` in a loop makes a new `jit(f)` at each step, and compiles once: the programs
live as long as `f`. They are used again where `f` still reads what it read before:
captured variables, global variables, defaults, the attributes of `self`. So a change of
these between two `jit(f)` is seen, which `jax.jit` does not see.
"""

import contextlib
import functools
import hashlib
import sys
import types
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from .._errors import AutoJitError
from .._jax_internals import at_top_level
from .._jit._compiled import CompiledFunction, with_signature_of
from .._jit._per_function import PerFunction, options_key, stand_in, weakly
from .._values import (
    KeyedValue,
    WeakIdentity,
    function_name,
    is_identity_key,
    is_library,
    is_named,
    is_small,
    names_to_copy,
    order_in_memory,
)
from . import Mode, contents_of, variables_read


MAX_PROGRAMS = 8  # of one function with the same options
MAX_BYTES = 2**26  # of NumPy arrays; to read them takes as long as to compile


def shared_program(
    fun: Callable[..., Any], options: Mapping[str, Any]
) -> CompiledFunction:
    """What a function has compiled with these options, if it reads what it read then.

    Args:
        fun: The function.
        options: Those of `jax.jit`.

    Returns:
        The programs; new ones where there are none, or where what the function reads
        can't be compared.
    """
    try:
        place = _places.get(fun, options_key(options), _Place)
        return place.program(fun, options)
    except (NotComparableError, TypeError):  # TypeError: of `weakref` and `hash`
        return CompiledFunction(fun, options)


class NotComparableError(Exception):
    """Something can't be weakly referenced, hashed or looked into."""


class State(NamedTuple):
    """What a function reads besides its arguments. It keeps nothing alive.

    Attributes:
        own: The object of a bound method, or the callable object: its attributes ...
        around: Captured and global variables, defaults, what classes hold.
        arrays: The arrays of JAX among all these.
    """

    own: tuple[Any, ...]
    around: tuple[Any, ...]
    arrays: tuple[WeakIdentity, ...]


class _Known:
    """The state that a program was traced for; None: its traces differ."""

    def __init__(self, state: State) -> None:
        self.state: State | None = state


class _Place:
    """The programs of one function with some options. It keeps no function alive."""

    def __init__(self) -> None:
        self._reader = CaptureReader()
        self._programs: list[tuple[_Known, CompiledFunction]] = []

    def program(self, fun: Any, options: Mapping[str, Any]) -> CompiledFunction:
        """The programs for what the function reads now, made if there are none."""
        state = self._reader.state_of(fun)
        for known, program in self._programs:
            if known.state == state:
                return program
        self._reader.find_variables(fun)
        state = self._reader.state_of(fun)
        known = _Known(state)
        made = CompiledFunction(_calling(fun, known, self._reader), options)
        # Programs hold the arrays that they were traced with: keep none of before.
        kept = [
            (old, program)
            for old, program in self._programs
            if old.state is not None and old.state.arrays == state.arrays
        ]
        self._programs = [*kept[1 - MAX_PROGRAMS :], (known, made)]
        return made


class CaptureReader:
    """Looks at what a function reads."""

    def __init__(self) -> None:
        self._globals: dict[_Global, None] = {}  # a set in order
        self._ignored: set[Hashable] = set()

    def find_variables(self, fun: Any, *, watched: bool = False) -> None:
        """Find the global variables that it reads now, besides those known before.

        Raises:
            NotComparableError: It reads more than can be compared; if `watched`, also
                where it reads what changes unseen, such as `os.environ`.
        """
        self._globals |= dict.fromkeys(_globals_read(fun, watched))

    def state_of(self, fun: Any, *, most: int | None = None) -> State:
        """What it reads now.

        Args:
            fun: The function.
            most: The largest number of objects to look at, None for any.

        Raises:
            NotComparableError: Something may change unseen, or is large.
        """
        values = tuple(self._around(fun).values())
        if most is not None and not is_small((_owner(fun), values), most):
            raise NotComparableError
        own, around = _key_of_values(_owner(fun)), _key_of_values(values)
        classes = () if _CLASSES in self._ignored else own.of_classes
        code = getattr(_function_of(fun), "__code__", None)
        return State(
            own.own,
            (_without_references(code), classes, around.own, around.of_classes),
            own.arrays + around.arrays,
        )

    def parts(self, fun: Any) -> dict[Hashable, Any]:
        """The same of each variable around it; None for what can't be compared."""
        found: dict[Hashable, Any] = {}
        for name, value in self._around(fun).items():
            with contextlib.suppress(NotComparableError):
                found[name] = _key_of_values((value,))
        with contextlib.suppress(NotComparableError):
            found[_CLASSES] = _key_of_values(_owner(fun)).of_classes
        return found

    def ignore(
        self, before: Mapping[Hashable, Any], after: Mapping[Hashable, Any]
    ) -> None:
        """Compare no longer what has changed between two `parts`."""
        names = before.keys() | after.keys()
        self._ignored |= {n for n in names if before.get(n) != after.get(n)}

    def _around(self, fun: Any) -> dict[Hashable, Any]:
        """The variables that it reads, without those that are ignored."""
        function = _function_of(fun)
        found: dict[Hashable, Any] = {v: v.value(fun) for v in self._globals}
        if isinstance(function, types.FunctionType):
            names = function.__code__.co_freevars
            for name, cell in zip(names, function.__closure__ or (), strict=True):
                with contextlib.suppress(ValueError):  # it has no value yet
                    found[name] = cell.cell_contents
            for name in ("__defaults__", "__kwdefaults__", "__dict__"):
                found[name] = getattr(function, name)
        else:
            found["function"] = function
        return {n: value for n, value in found.items() if n not in self._ignored}


_CLASSES = "what the classes of self hold"


def _owner(fun: Any) -> tuple[Any, ...]:
    """The object whose method it is, or which it is."""
    if isinstance(fun, types.FunctionType):
        return ()
    return (fun.__self__ if isinstance(fun, types.MethodType) else fun,)


def _calling(fun: Any, known: _Known, reader: CaptureReader) -> Callable[..., Any]:
    """A function that calls `fun`, keeps its state, and does not keep it alive.

    It knows nothing of the programs, which hold it: a cycle would live on after `fun`.
    """
    find = weakly(fun)

    def call(*args: Any, **kwargs: Any) -> Any:
        function = find()
        if known.state != _state_now(reader, function):
            known.state = None  # it was traced otherwise for other arguments
        before = reader.parts(function)
        try:
            return function(*args, **kwargs)
        finally:
            # What the body itself changes, such as a count of its traces, is no reason
            # to trace it again, as of any compiled function; except in `self`, where
            # the change would be missed.
            reader.ignore(before, reader.parts(function))
            if known.state is not None:
                now = _state_now(reader, function)
                known.state = now and now._replace(own=known.state.own)

    return named_as(fun, call)


def named_as(fun: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    """Let messages name a function by another one, which it does not keep alive."""
    named = with_signature_of(fun, call)
    named.__dict__.pop("__wrapped__")
    code = stand_in(fun)
    if code is not None:  # by which JAX says where the function is
        named.__dict__["__wrapped__"] = code
    return named


def _state_now(reader: CaptureReader, fun: Any) -> State | None:
    with contextlib.suppress(NotComparableError):
        return reader.state_of(fun)
    return None


_places: PerFunction[_Place] = PerFunction()


class _Global(NamedTuple):
    """A global variable.

    Attributes:
        module: Where it is; None: in the module of the function.
        name: What it is called.
    """

    module: str | None
    name: str

    def value(self, fun: Any) -> Any:
        """What it is now."""
        if self.module is None:
            variables = _function_of(fun).__globals__
        else:
            variables = vars(sys.modules[self.module])
        return variables.get(self.name, _MISSING)


_MISSING = "no such variable"


def _globals_read(fun: Any, watched: bool) -> Iterator[_Global]:
    own = getattr(_function_of(fun), "__globals__", None)
    try:
        found = list(variables_read(fun, watched=watched))
    except AutoJitError:
        raise NotComparableError from None
    for variables, name in found:
        if variables is own:
            yield _Global(None, name)
            continue
        module = str(variables.get("__name__"))
        if vars(sys.modules.get(module, sys)) is not variables:
            raise NotComparableError
        yield _Global(module, name)


def _function_of(fun: Any) -> Any:
    """The function behind a bound method or a callable object."""
    if isinstance(fun, types.FunctionType):
        return fun
    if isinstance(fun, types.MethodType):
        return fun.__func__
    return type(fun).__call__


class _Key(NamedTuple):
    """What some values are.

    Attributes:
        own: What they hold.
        of_classes: What their classes hold.
        arrays: The arrays of JAX among them.
    """

    own: tuple[Any, ...]
    of_classes: tuple[Any, ...]
    arrays: tuple[WeakIdentity, ...]


def _key_of_values(values: tuple[Any, ...]) -> _Key:
    """The key of some values.

    Raises:
        NotComparableError: One may change unseen, or is large.
    """
    try:
        # Not LOOKED_AT, which takes what it can't look into for a constant.
        opened = contents_of(values)
    except AutoJitError:
        raise NotComparableError from None
    own: list[Any] = []
    of_classes: list[Any] = []
    arrays: list[WeakIdentity] = []
    size = 0
    for (kind, part, children), x, mode in zip(
        opened.graph, opened.objects, opened.modes, strict=True
    ):
        key: Any = None
        if isinstance(x, jax.Array):
            arrays.append(WeakIdentity(x))
        elif isinstance(x, np.ndarray):
            size += x.nbytes
            if size > MAX_BYTES or x.dtype.hasobject:
                raise NotComparableError
            digest = hashlib.blake2b(x.tobytes()).digest()  # the bytes may be many
            key = type(x), x.dtype, x.shape, order_in_memory(x), digest
        else:
            key = _part(part, x)
        seen = of_classes if mode in (Mode.LOOKED_AT, Mode.UNREAD) else own
        seen.append((type(kind).__name__, key, children))
    return _Key(tuple(own), tuple(of_classes), tuple(arrays))


def _part(part: Any, x: Any) -> Any:
    """The part of a node without what it keeps alive, and the object if it can."""
    if type(x) in _VALUES or isinstance(x, types.MethodType):  # made anew when read
        return _without_references(part)
    try:
        return WeakIdentity(x), _without_references(part)
    except TypeError:
        if is_identity_key(part, x) and not isinstance(x, _OF_PYTHON):
            raise NotComparableError from None  # another may have its id
        return _without_references(part)


_OF_PYTHON = (
    types.EllipsisType, types.NotImplementedType, types.WrapperDescriptorType,
    types.MethodDescriptorType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType,
)  # fmt: skip
_VALUES = (bool, int, float, complex, str, bytes, type(None), list, tuple, dict, set)


def _without_references(part: Any) -> Any:
    if type(part) is tuple:
        return tuple(map(_without_references, part))
    if isinstance(part, KeyedValue):
        return _without_references(part.key)
    if type(part) in _VALUES:
        return part
    try:
        return WeakIdentity(part)
    except TypeError:
        if is_library(type(part)) and isinstance(part, Hashable):
            return part
        raise NotComparableError from None


# ---- Functions that JAX is to trace again when what they read has changed ----


MOST_OBJECTS = 100  # that a loop's body reads; to trace it again takes no longer


def current_form(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls `fun`: another one whenever what `fun` reads has changed.

    JAX remembers what it traced of the body of a loop by the function object alone: a
    function of a module that reads a global variable would be stale.
    """
    unknown: Any = fun
    if not callable(unknown):  # which JAX refuses in its own words
        return fun
    try:
        return _forms.get(fun, (), _Forms).form(fun)
    except (NotComparableError, TypeError):
        return renewed(fun)


def renewed(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Another function object that calls `fun`."""

    @functools.wraps(fun, names_to_copy(fun), updated=())
    def new(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    new.__name__ = function_name(fun)  # a partial and an object have none to copy
    return new


class _Forms:
    """The functions that stand for one function, each in one state of what it reads."""

    def __init__(self) -> None:
        self._reader = CaptureReader()
        self._forms: list[tuple[State, Callable[..., Any]]] = []
        self._is_met = False

    def form(self, fun: Any) -> Callable[..., Any]:
        """The one that stands for it now."""
        if self._forms:
            now = self._reader.state_of(fun, most=MOST_OBJECTS)
            for state, form in self._forms:
                if state == now:
                    return form
        elif not (self._is_met or is_named(fun) or at_top_level()):
            # Traced code makes its inner functions anew: to find what one reads, in all
            # code that it reaches, can take longer than to trace it again.
            self._is_met = True
            return renewed(fun)
        self._reader.find_variables(fun, watched=True)
        state, find = self._reader.state_of(fun, most=MOST_OBJECTS), weakly(fun)
        form = named_as(fun, lambda *args, **kwargs: find()(*args, **kwargs))
        self._forms = [*self._forms[1 - MAX_PROGRAMS :], (state, form)]
        return form


_forms: PerFunction[_Forms] = PerFunction()
