"""Tracers that Python code takes for what they stand for: a float, a NumPy array.

`isinstance(x, float)` and `case float()` look at the class of an object, and then at
its attribute `__class__`. So a tracer can be a tracer to JAX, and a float to the user's
code, which goes on as if nothing were compiled. Its class is exchanged for one that
differs in this alone.

Things that don't work: `type(x)` itself, and `isinstance(x, jax.Array)`, which JAX
answers in C++ by the class itself.
"""

import dis
import functools
import inspect
import operator
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

import jax
import numpy as np
from jax.core import Tracer

from ._pieces import outside_of_tracing, piece


_PLAIN = (np.ndarray, np.generic, float, complex, int)

# What a number has not, and code asks for: `hasattr(x, "shape")`.
_OF_ARRAYS = [*(name for name in dir(np.ndarray) if name[0] != "_"), "at"]

# What writes into a NumPy array: `x += y`, and methods.
_IN_PLACE = {
    f"__i{name}__": getattr(operator, f"__{name}__")
    for name in (
        "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
    )
}


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


@contextmanager
def of_plain_classes(
    tracers: Sequence[Any], classes: Sequence[type], asker: Asker
) -> Generator[None]:
    """Let tracers pass for instances of other classes in a `with` block.

    Args:
        tracers: What JAX hands to a function that it traces.
        classes: A class for each; `jax.Array` for those that stay what they are.
        asker: Is told what happens to them; it is the same at each call.
    """
    exchange = plain_classes()
    pairs = [
        (tracer, type(tracer), cls)
        for tracer, cls in zip(tracers, classes, strict=True)
        if exchange and cls is not jax.Array and isinstance(tracer, Tracer)
    ]
    try:
        for tracer, own, cls in pairs:
            _set_class(tracer, _passing_for(own, cls, asker))
        yield
    finally:
        for tracer, own, _ in pairs:
            _set_class(tracer, own)


def plain_class(x: Any) -> type:
    """The class that a value has in plain Python: `jax.Array` of all arrays of JAX."""
    if isinstance(x, Tracer):
        passed_for: type = getattr(type(x), "_jfi_plain", jax.Array)
        return passed_for
    return type(x) if isinstance(x, _PLAIN) else jax.Array


def _set_class(x: Any, cls: type) -> None:
    """`x.__class__ = cls`, which the class of `x` may answer in its own way."""
    vars(object)["__class__"].__set__(x, cls)


@functools.lru_cache(maxsize=256)
def _passing_for(own: Any, cls: Any, asker: Any) -> type:
    """A class of tracers, `own`, that pass for instances of another one."""

    def class_of(self: Any) -> type:
        return cls if asker.asks(_asking(), self) else type(self)

    def missing(self: Any, name: str) -> Any:
        if name in hidden:
            text = f"{cls.__name__!r} object has no attribute {name!r}"
            raise AttributeError(text)
        return own.__getattr__(self, name)

    namespace = {
        "__slots__": (),
        "_jfi_plain": cls,
        "__class__": property(class_of),
        "__getattr__": missing,
    }
    hidden = [n for n in _OF_ARRAYS if hasattr(own, n) and not hasattr(cls, n)]
    namespace |= {name: _hidden(name, asker) for name in hidden}
    if issubclass(cls, np.ndarray):
        writing = {name: _in_place(f, asker) for name, f in _IN_PLACE.items()}
        namespace |= writing | {"sort": _sorting(own, asker)}
    made: type = type(own)(cls.__name__, (own,), namespace)  # `type(x).__name__`
    return made


def _asking() -> FrameType:
    """The frame of the code that asks: what calls the function that calls this one."""
    here: Any = inspect.currentframe()
    return here.f_back.f_back  # type: ignore[no-any-return]


def _hidden(name: str, asker: Asker) -> property:
    """An attribute that `hasattr` and `getattr` don't find."""

    def get(self: Any) -> Any:
        frame = _asking()
        # `x.shape` itself would be an error in plain Python: it may stay what it is.
        if asker.asks(frame, self) and not _names_attribute(frame):
            raise AttributeError(name)
        return getattr(super(type(self), self), name)

    return property(get)


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


@piece(
    uses="tracers whose class can be exchanged",
    without="isinstance(x, float) is false in compiled code, where x is data",
)
def plain_classes() -> bool | None:
    seen: list[Any] = []

    def asks(x: Any, y: Any) -> Any:
        own: Any = type(x)
        _set_class(x, _passing_for(own, float, here))
        _set_class(y, _passing_for(own, np.ndarray, here))
        seen.append([isinstance(x, float), hasattr(x, "shape"), x.shape])
        seen.append([isinstance(x, jax.Array), isinstance(y, np.ndarray)])
        y += x
        out = jax.numpy.sin(x) * y + jax.jit(lambda x: x * 2)(x), x
        _set_class(x, own)
        seen.append([isinstance(x, float), hasattr(x, "shape")])
        return out

    class Here:
        def asks(self, frame: FrameType, tracer: Any) -> bool:
            return frame.f_code is asks.__code__

        def writes(self, frame: FrameType) -> None:
            seen.append("written")

    here = Here()
    outside_of_tracing(
        lambda: jax.eval_shape(asks, jax.ShapeDtypeStruct((), np.float32), np.ones(2))
    )
    expected = [[True, False, ()], [True, True], "written", [False, True]]
    return True if seen == expected else None
