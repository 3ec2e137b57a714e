"""What a tracer that passes for a float or a NumPy array does as those would.

It hides what they have not, notes what writes into them, and lets what is computed of
them pass for what plain Python would compute: `dt / 2` of a float is a float.
"""

import dis
import functools
import inspect
import operator
import weakref
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Protocol

import numpy as np
from jax.core import Tracer

from ._plain_results import (
    cast,
    counted,
    numpys_dtype,
    part_class,
    plain_class,
    tried,
)


class Asker(Protocol):
    """Who asks what a tracer is, and what is done to it."""

    def __hash__(self) -> int: ...

    def asks(self, frame: FrameType, tracer: Any) -> bool:
        """Whether what runs in a frame is to see the value that a tracer stands for.

        Called where it asks for its class, or for an attribute that the value has not.
        """
        ...

    def writes(self, frame: FrameType) -> None:
        """Called where code writes into an array, which a tracer is not."""

    def shows(self, frame: FrameType, tracer: Any) -> None:
        """Called where code writes a value as text, which a tracer does not have."""

    def lacks(self, frame: FrameType, tracer: Any) -> None:
        """Called where code asks for an attribute that the value has, and no tracer."""

    def catches(self, frame: FrameType) -> bool:
        """Whether code catches errors: of an attribute that is not there, too."""
        ...

    def computes(self, result: Any, frame: FrameType, operands: Sequence[Any]) -> bool:
        """Whether what runs in a frame is to see a result as plain Python's.

        Called with what it computed of tracers that pass for values.
        """
        ...


Source = tuple[FrameType, Sequence[Any]]  # what computes, and of what


class PassOn(Protocol):
    """Lets a result of JAX pass for an instance of the class that it has in Python."""

    def __call__(
        self, result: Any, cls: type, source: Source, *, writable: bool
    ) -> None: ...


# What a number has not, and code asks for: `hasattr(x, "shape")`.
_OF_ARRAYS = [*(name for name in dir(np.ndarray) if name[0] != "_"), "at"]

_OF_CONTAINERS = ("__contains__", "__getitem__", "__iter__", "__len__")

# Of a NumPy array these may be a part of it: who writes into them writes into it.
_VIEWS = frozenset(
    "T mT real imag reshape ravel transpose swapaxes squeeze diagonal view".split()
)

# Methods that compute in the dtype of what they return.
_COMPUTED = frozenset("sum prod cumsum cumprod mean var std trace dot".split())

_TEXTS = ("__format__", "__repr__", "__str__")
_BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
_COMPARING = "lt le eq ne ge gt"
_UNARY = "neg pos abs invert"

_IN_PLACE = {
    f"__i{name}__": getattr(operator, f"__{name}__") for name in _BINARY.split()
}


def _swapped(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: compute(y, x)


def _inverted(x: Any) -> Any:
    return -1 - x if type(x) is bool else ~x  # `~True` is deprecated, and warns


_OPERATORS: dict[str, Callable[..., Any]] = {
    "__divmod__": divmod,
    "__rdivmod__": _swapped(divmod),
    "__round__": round,
    **{
        f"__{name}__": getattr(operator, f"__{name}__")
        for name in f"{_BINARY} {_COMPARING} {_UNARY}".split()
    },
    **{
        f"__r{name}__": _swapped(getattr(operator, f"__{name}__"))
        for name in _BINARY.split()
    },
    "__invert__": _inverted,
}


def members(
    own: Any, cls: type, asker: Asker, pass_on: PassOn, *, writable: bool
) -> dict[str, Any]:
    """The members of a class of tracers that pass for instances of another one.

    Args:
        own: The class that the tracers have.
        cls: The class that they pass for; `np.generic` for numbers that pass for none.
        asker: Is told what is done to them.
        pass_on: Is called with what is computed of them.
        writable: Whether who writes into them writes into what is the caller's.
    """
    texts = {name: _text(getattr(own, name), asker) for name in _TEXTS}
    if cls is np.generic:
        return texts
    shown = np.ndarray if hasattr(cls, "_jfi_dtype") else cls
    hidden = {n for n in _OF_ARRAYS if hasattr(own, n) and not hasattr(cls, n)}
    unseen = {n for n in {*dir(own), "__jax_array__"} if n[:2] == "__"} - {*dir(cls)}

    def class_of(self: Any) -> type:
        return shown if asker.asks(_asking(), self) else type(self)

    def missing(self: Any, name: str) -> Any:
        if name in hidden | unseen:
            text = f"{cls.__name__!r} object has no attribute {name!r}"
            raise AttributeError(text)
        if hasattr(cls, name):
            asker.lacks(_asking(), self)
        return own.__getattr__(self, name)

    def seen(self: Any, name: str) -> Any:
        if name in unseen and asker.asks(_asking(), self):
            raise AttributeError(name)
        return own.__getattribute__(self, name)

    found = {
        **texts,
        "__class__": property(class_of),
        "__getattr__": missing,
        # JAX's functions ask for this: what they return may be their argument itself.
        "__jax_array__": lambda self: _twin(self, own),
    }
    found |= {name: _hidden(name, asker) for name in hidden}
    found |= {
        name: _operator(getattr(own, name), compute, pass_on)
        for name, compute in _OPERATORS.items()
        if hasattr(own, name)
    }
    known = [n for n in _OF_ARRAYS if hasattr(own, n) and n not in hidden]
    found |= {name: _attribute(name, cls, pass_on, writable) for name in known}
    if not issubclass(cls, np.ndarray):
        found["__getattribute__"] = seen
        # `isinstance(x, Iterable)` looks into classes, and takes None for an answer.
        found |= dict.fromkeys(n for n in _OF_CONTAINERS if n in unseen)
    if hasattr(cls, "__getitem__"):
        found |= _items(own, cls, pass_on, writable)
    if issubclass(cls, np.ndarray) and writable:
        found |= {name: _in_place(f, asker) for name, f in _IN_PLACE.items()}
        found["sort"] = _sorting(own, asker)
    return found


def _text(write: Callable[..., str], asker: Asker) -> Callable[..., str]:
    def show(self: Any, *spec: str) -> str:
        asker.shows(_asking(), self)
        return write(self, *spec)

    return show


def _twin(tracer: Any, own: Any) -> Any:
    """Another tracer of the same value, which passes for nothing."""
    twin = object.__new__(own)
    slots = [name for cls in own.__mro__ for name in getattr(cls, "__slots__", ())]
    for name in set(slots) - {"__weakref__"}:
        setattr(twin, name, getattr(tracer, name))
    # JAX forgets what a trace has captured when the tracer of it is gone.
    weakref.finalize(twin, _let_go, tracer).atexit = False
    return twin


def _let_go(tracer: Any) -> None:
    """Is called when the twin of a tracer is gone; until then it is kept."""


def _asking() -> FrameType:
    """The frame of the code that asks: the first outside this module."""
    frame: Any = inspect.currentframe()
    while frame.f_globals is globals():
        frame = frame.f_back
    return frame  # type: ignore[no-any-return]


def _hidden(name: str, asker: Asker) -> property:
    """An attribute that `hasattr` and `getattr` don't find."""

    def get(self: Any) -> Any:
        frame = _asking()
        # `x.shape` itself would be an error in plain Python: it may stay what it is.
        is_asked = asker.catches(frame) or not _names_attribute(frame)
        if is_asked and asker.asks(frame, self):
            raise AttributeError(name)
        return getattr(super(type(self), self), name)

    return property(get)


# ------------------------------------------------------------ what is computed


def _operator(
    traced: Callable[..., Any], compute: Callable[..., Any], pass_on: PassOn
) -> Callable[..., Any]:
    """An operator, and what plain Python would make of the same operands."""

    def operate(*operands: Any) -> Any:
        like = tried(compute, *operands)
        is_pair = isinstance(like, tuple)  # `divmod`
        if type(like[0] if is_pair else like) is int:
            operands = tuple(map(counted, operands))
        result = traced(*operands)
        dtype = numpys_dtype(result, like)
        if dtype is not None:
            result = traced(*(cast(x, dtype) for x in operands))
        for x, y in zip(result, like, strict=True) if is_pair else [(result, like)]:
            pass_on(x, plain_class(y), (_asking(), operands), writable=False)
        return result

    return operate


def _attribute(name: str, cls: type, pass_on: PassOn, writable: bool) -> property:
    """An attribute or a method that values have, too."""
    writable &= name in _VIEWS

    def get(self: Any) -> Any:
        found = getattr(super(type(self), self), name)
        if isinstance(found, Tracer):
            of_plain(found, _asking(), self, operator.attrgetter(name))
        return functools.partial(call, self, found) if callable(found) else found

    def call(self: Any, method: Any, *args: Any, **kwargs: Any) -> Any:
        compute = operator.methodcaller(name, *args, **kwargs)
        result = method(*args, **kwargs)
        if name in _COMPUTED:
            dtype = numpys_dtype(result, tried(compute, self))
            result = result if dtype is None else compute(cast(self, dtype))
        of_plain(result, _asking(), self, compute)
        return result

    def of_plain(result: Any, frame: FrameType, self: Any, compute: Any) -> None:
        part = part_class(result, tried(compute, self), cls)
        pass_on(result, part, (frame, [self]), writable=writable)

    return property(get)


def _items(own: Any, cls: type, pass_on: PassOn, writable: bool) -> dict[str, Any]:
    """`x[i]` and `for row in x`."""

    def getitem(self: Any, index: Any) -> Any:
        result = own.__getitem__(self, index)
        source = _asking(), [self]
        pass_on(result, part_class(result, None, cls), source, writable=writable)
        return result

    def iterate(self: Any) -> Any:
        for result in own.__iter__(self):
            source = _asking(), [self]
            pass_on(result, part_class(result, None, cls), source, writable=writable)
            yield result

    found = {"__getitem__": getitem, "__iter__": iterate}
    return {name: method for name, method in found.items() if hasattr(cls, name)}


# ------------------------------------------------------------ what is written


def _in_place(
    compute: Callable[[Any, Any], Any], asker: Asker
) -> Callable[[Any, Any], Any]:
    """`x += y`, which makes a new array where plain Python writes into `x`."""

    def operate(self: Any, other: Any) -> Any:
        frame = _asking()
        if _becomes_local(frame):
            asker.writes(frame)
        return compute(self, other)

    return operate


def _sorting(own: Any, asker: Asker) -> Callable[..., Any]:
    def sort(self: Any, *args: Any, **kwargs: Any) -> Any:
        asker.writes(_asking())
        return own.sort(self, *args, **kwargs)

    return sort


def _names_attribute(frame: FrameType) -> bool:
    """Whether code reads an attribute as `x.shape`, and not by `getattr`."""
    step, _ = _steps(frame)
    return step.opname in ("LOAD_ATTR", "LOAD_METHOD")


def _becomes_local(frame: FrameType) -> bool:
    """Whether a result goes to a local variable, and not where it is written back."""
    _, after = _steps(frame)
    if after.opname == "STORE_DEREF":
        return after.argval not in frame.f_code.co_freevars
    return after.opname.startswith("STORE_FAST")


def _steps(frame: FrameType) -> tuple[dis.Instruction, dis.Instruction]:
    """What a frame is doing, and what it is to do after that."""
    steps = [x for x in dis.get_instructions(frame.f_code) if x.opname != "CACHE"]
    (k,) = (k for k, step in enumerate(steps) if step.offset == frame.f_lasti)
    return steps[k], steps[k + 1]
