"""Objects of flax that know more than plain Python objects do.

nnx refuses to write into a variable "from a different trace level": then the number of
an inner trace would stay in an object of an outer one. A clone that the body of a
compiled function works on belongs to the trace of that function, and what is written
back belongs to the caller's. Apart from this mark nnx's objects are plain Python ones.

Modules of linen are numbered, and the state of a training counts its steps. Neither is
a reason to compile again.

Who has such an object has imported flax: jfi never does.
"""

import sys
from collections.abc import Collection, Sequence
from typing import Any

import jax

from ._base import IMMUTABLE, Expression, Kind, RefusedError, Source, Split, Watches
from ._objects import ObjectKind


class TraceKind(Kind):
    """The mark of a trace: made anew where its owner is, unless it was of another one.

    Who holds an object of an outer trace may not write into it, nor may its clone.
    """

    named = True  # each object has its own, and nobody asks which

    def split(self, x: Any) -> Split:
        return (type(x), bool(x.is_valid())), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        cls, valid = part
        return cls() if valid else _OUTER

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        cls, valid = part
        source.require(f"type({name}) is {source.constant(cls)}")
        source.require(f"{name}.is_valid() is {valid}")
        return ()


class _Outer:
    """Stands for the mark of a trace outside this one."""

    _jax_trace = None

    def is_valid(self) -> bool:
        return False


_OUTER = _Outer()


class NumberedKind(Kind):
    """The number of a linen module: any other one does as well."""

    def split(self, x: Any) -> Split:
        return type(x), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return sys.modules["flax.ids"].uuid()

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"type({name}) is {source.constant(part)}")
        return ()

    def watches(self, x: Any, part: Any) -> Watches | None:
        return IMMUTABLE


class ModuleStateKind(ObjectKind):
    """What flax itself notes in a module of linen: it writes into bound clones only."""

    def watches(self, x: Any, part: Any) -> Watches | None:
        return super().watches(x, part) and IMMUTABLE


class TrainStateKind(ObjectKind):
    """A `TrainState`, whose number of steps is an array after the first of them."""

    def parts(
        self, x: Any, read: Collection[str] | None, unused: Collection[str] = ()
    ) -> Split:
        part, children = super().parts(x, read, unused)
        return part, [
            jax.numpy.asarray(child) if name == "step" and type(child) is int else child
            for name, child in zip(("", *part[4]), children, strict=True)
        ]


TRACE, NUMBERED = TraceKind(), NumberedKind()


def kind_of_flax(cls: type) -> Kind | None:
    """The kind of the instances of a class of flax, if it is a special one.

    Raises:
        RefusedError: It can't be copied.
    """
    if cls is _flax("nnx.tracers", "TraceState"):
        return TRACE
    if cls is _flax("ids", "FlaxId"):
        return NUMBERED
    if cls is _flax("nnx.variablelib", "HijaxVariable"):
        raise RefusedError(
            "a hijax variable of nnx for {path}, which autojit can't copy.\n"
            "Make the model with plain ones: with nnx.var_defaults(hijax=False): ..."
        )
    return None


def is_train_state(cls: type) -> bool:
    """Whether a class is flax's TrainState, or derived from it."""
    return _flax("training.train_state", "TrainState") in cls.__mro__


def is_module_state(cls: type) -> bool:
    """Whether a class is that of what flax notes in a module of linen."""
    return cls is _flax("linen.module", "_ModuleInternalState")


def is_compiled(cls: type) -> bool:
    """Whether a class is that of what `nnx.jit` returns.

    Inside, a function under `jax.jit` knows the object by which it is called: it finds
    no copy.
    """
    names = "JitWrapped", "SimpleJitWrapped", "SimpleJitPartialWrapped"
    return any(cls is _flax("nnx.transforms.compilation", name) for name in names)


def is_pytree(cls: type) -> bool:
    """Whether a class is one of nnx's modules, optimizers, streams ..."""
    return _flax("nnx", "Pytree") in cls.__mro__


def _flax(module: str, name: str) -> Any:
    """What a module of flax holds by a name; None if it is not imported."""
    return getattr(sys.modules.get(f"flax.{module}"), name, None)


def advice_on_nnx(error: Exception, function: str) -> str | None:
    """What to write where nnx refuses to write into an object of an outer trace."""
    if type(error) is not _flax("errors", "TraceContextError"):
        return None
    if "different trace level" not in str(error):
        return None
    return (
        f"{function}() writes into an nnx object that is not its own: a global, or "
        "one from outside a loop or a transformation.\n"
        f"Pass it as an argument, {function}(model, ...), or as an attribute of self; "
        "around it write nnx's transformations: nnx.grad, nnx.scan ...\n\n"
        f"flax says: {error}"
    )
