"""Tracers that Python code takes for what they stand for: a float, a NumPy array.

`isinstance(x, float)` and `case float()` look at the class of an object, and then at
its attribute `__class__`. So a tracer can be a tracer to JAX, and a float to the user's
code, which goes on as if nothing were compiled. Its class is exchanged for one that
differs in this alone.

Things that don't work: `type(x)` itself, and `isinstance(x, jax.Array)`, which JAX
answers in C++ by the class itself.
"""

import functools
import threading
import weakref
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from ._pieces import outside_of_tracing, piece
from ._plain_members import Asker, Source, members
from ._plain_results import plain_class as plain_class, wide_dtype as wide_dtype


class _Here(threading.local):
    """What this thread computed of tracers that pass for values, and its own class."""

    def __init__(self) -> None:
        self.computed: list[tuple[weakref.ref[Any], type]] = []


_here = _Here()


@contextmanager
def of_plain_classes(
    tracers: Sequence[Any], classes: Sequence[type], asker: Asker
) -> Generator[None]:
    """Let tracers pass for instances of other classes in a `with` block.

    So does what is computed of them, where plain Python computes a number or an array
    of NumPy: `dt / 2`, `x[0]`, `x.sum()`.

    Args:
        tracers: What JAX hands to a function that it traces.
        classes: A class for each; `jax.Array` for those that stay what they are, and
            `np.generic` for numbers that do, of which the asker hears as texts.
        asker: Is told what happens to them; it is the same at each call.
    """
    with _passing(tracers, classes, asker) if plain_classes() else nullcontext():
        yield


@contextmanager
def _passing(
    tracers: Sequence[Any], classes: Sequence[type], asker: Asker
) -> Generator[None]:
    pairs: list[tuple[Any, Any, Any]] = [
        (tracer, type(tracer), cls)
        for tracer, cls in zip(tracers, classes, strict=True)
        if cls is not jax.Array and isinstance(tracer, Tracer)
    ]
    around, _here.computed = _here.computed, []
    try:
        for tracer, own, cls in pairs:
            _set_class(tracer, _passing_for(own, cls, asker, True))
        yield
    finally:
        for tracer, own, _ in pairs:
            _set_class(tracer, own)
        for reference, own in _here.computed:
            if (result := reference()) is not None:
                _set_class(result, own)
        _here.computed = around


def _set_class(x: Any, cls: type) -> None:
    """`x.__class__ = cls`, which the class of `x` may answer in its own way."""
    vars(object)["__class__"].__set__(x, cls)


@functools.lru_cache(maxsize=512)
def _passing_for(own: Any, cls: Any, asker: Any, writable: bool) -> type:
    """A class of tracers, `own`, that pass for instances of another one."""

    def pass_on(result: Any, cls: type, source: Source, *, writable: bool) -> None:
        own: Any = type(result)
        if cls is jax.Array or not isinstance(result, Tracer):
            return
        if not hasattr(own, "_jfi_plain") and asker.computes(result, *source):
            _here.computed.append((weakref.ref(result), own))
            _set_class(result, _passing_for(own, cls, asker, writable))

    plain = jax.Array if cls is np.generic else cls
    namespace = {"__slots__": (), "_jfi_plain": plain}
    namespace |= members(own, cls, asker, pass_on, writable=writable)
    shown = own if plain is jax.Array else cls  # by `type(x).__name__`
    made: type = type(own)(shown.__name__, (own,), namespace)
    return made


@piece(
    uses="tracers whose class can be exchanged",
    without="isinstance(x, float) is false in compiled code, where x is data",
)
def plain_classes() -> bool | None:
    seen: list[Any] = []

    class Here:
        def asks(self, frame: FrameType, tracer: Any) -> bool:
            return frame.f_code is asks.__code__

        def writes(self, frame: FrameType) -> None:
            seen.append("written")

        def shows(self, frame: FrameType, tracer: Any) -> None:
            if seen[-1] != "shown" and frame.f_code is asks.__code__:
                seen.append("shown")

        def lacks(self, frame: FrameType, tracer: Any) -> None:
            seen.append("lacking")

        def catches(self, frame: FrameType) -> bool:
            return False

        def computes(
            self, result: Any, frame: FrameType, operands: Sequence[Any]
        ) -> bool:
            return frame.f_code is asks.__code__

    def asks(x: Any, y: Any, z: Any) -> Any:
        with _passing([x, y, z], [float, np.ndarray, np.generic], Here()):
            seen.append([isinstance(x, float), hasattr(x, "shape"), x.shape])
            seen.append([isinstance(x / 2, float), isinstance(x * y, np.ndarray)])
            seen.append([isinstance(x, jax.Array), isinstance(y, np.ndarray)])
            seen.append([hasattr(x, "__len__"), isinstance(x, Iterable)])
            seen.append(hasattr(x, "is_integer"))
            seen.append(f"{x}" == "")
            seen.append(isinstance(z, np.generic) or str(z) == "")
            y += x
            out = jax.numpy.sin(x) * y + jax.jit(lambda x: x * 2)(x), x
        seen.append([isinstance(x, float), hasattr(x, "shape")])
        return out

    outside_of_tracing(
        lambda: jax.eval_shape(asks, np.float32(1), np.ones(2), np.float32(1))
    )
    noted: list[Any] = [[False, False], "lacking", False]
    noted += ["shown", False, "shown", False, "written"]
    expected = [[True, False, ()], [True, True], [True, True], *noted, [False, True]]
    return True if seen == expected else None
