"""Settings of odd kinds: signatures, sentinels, weak references, known arrays."""

import inspect
import sys
import weakref
from collections.abc import Hashable, Sequence
from typing import Any

import jax
import numpy as np

from ..._values import (
    KeyedValue,
    contents_key,
    identity_key,
    is_fixed,
    is_key,
    is_user_module,
    own_attributes,
    own_equality,
    slots,
)
from ._base import (
    IMMUTABLE,
    ConstantKind,
    Expression,
    IdentityKind,
    Kind,
    RefusedError,
    Source,
    Split,
    Watches,
)
from ._containers import PartsKind


# ---- Signatures: settings that say what a function takes, and never change ----
#
# Functions of libraries carry them among their attributes: haiku's `init` and `apply`,
# and those that a decorator has given the signature of another. Their texts and hashes
# take longer to make than a whole call, so each is looked at once.


MAX_KNOWN = 1000


class _Key:
    """Stands for all signatures that are equal and have one text."""


_keys: dict[Hashable, _Key] = {}
_known: dict[int, tuple[inspect.Signature, _Key]] = {}


def signature_key(x: inspect.Signature) -> _Key:
    """Equal for signatures that are equal and have one text."""
    known = _known.get(id(x))
    if known is not None and known[0] is x:
        return known[1]
    if len(_known) >= MAX_KNOWN:  # a program more, and no memory that grows
        _known.clear()
        _keys.clear()
    key = _keys.setdefault((x, repr(x)), _Key())
    _known[id(x)] = x, key
    return key


def is_constant_signature(x: Any) -> bool:
    """Whether this is a signature whose default values are constants."""
    if type(x) is not inspect.Signature:
        return False
    return all(
        p.default is inspect.Parameter.empty or is_fixed(p.default)
        for p in x.parameters.values()
    )


class SignatureKind(ConstantKind):
    """A signature: static, by equality and text."""

    def __init__(self) -> None:
        super().__init__(signature_key)

    def split(self, x: Any) -> Split:
        return KeyedValue(signature_key(x), x), ()

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"type({name}) is {source.constant(inspect.Signature)}")
        source.setting(f"{source.constant(signature_key)}({name})", part.key)
        return ()

    def watches(self, x: Any, part: Any) -> Watches | None:
        return IMMUTABLE


SIGNATURE = SignatureKind()


# Objects that a module names, without contents or a library's: compared by `is`.
#
# Code is passed `MISSING = Missing()` itself: methods of classes, and libraries,
# compare it with theirs. At its first call `state = State()`, which is to be filled,
# looks the same. What a traced body leaves in it is taken back, and the call is taken
# apart anew: objects of its class are opened as others are from then on.


class SentinelKind(IdentityKind):
    """Compared by `is`, with what its class holds."""

    keyed = tells_class = True
    is_fixed = False

    def split(self, x: Any) -> Split:
        return identity_key(x), (type(x),)

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"not getattr({name}, '__dict__', None)")
        return [*super().guard(source, name, part, n), f"type({name})"]

    def portable(self, part: Any) -> Any:
        return constant_names(part.value)


class LibraryConstantKind(SentinelKind):
    """The same with settings, which may change: the tags of lineax, by their text."""

    def split(self, x: Any) -> Split:
        return identity_key(x), (type(x), own_attributes(x))

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return (".__class__", ".__dict__")[k]

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        own = IdentityKind.guard(self, source, name, part, n)
        return [*own, f"type({name})", f"{name}.__dict__"]


SENTINEL = SentinelKind()
LIBRARY_CONSTANT = LibraryConstantKind()
_filled: weakref.WeakSet[type] = weakref.WeakSet()  # classes whose objects were


def is_sentinel(x: Any, cls: type) -> bool:
    """Whether an object of a class that may have attributes is such a constant."""
    empty = not (own_attributes(x) or slots(cls) or cls in _filled)
    return empty and _is_named(x, cls)


def is_library_constant(x: Any, cls: type) -> bool:
    """Whether a library's code may compare an object with that which its module names.

    Nobody looks at that code, and a copy among the arguments would not be the same.
    """
    attributes = own_attributes(x)
    if not (attributes and all(map(is_fixed, attributes.values()))) or slots(cls):
        return False
    if is_user_module(cls.__module__) or any(own_equality(cls)):
        return False
    return _is_named(x, cls)


def constant_names(x: Any) -> list[str]:
    """The names of a constant in the module of its class, sorted."""
    variables = vars(sys.modules[type(x).__module__])
    return sorted(name for name, value in variables.items() if value is x)


def _is_named(x: Any, cls: type) -> bool:
    module = sys.modules.get(cls.__module__)
    return module is not None and any(v is x for v in vars(module).values())


def note_filled(cls: type) -> None:
    """Objects of this class get attributes: they are no sentinels."""
    _filled.add(cls)


# ---- Weak references: what they refer to is opened, if it is still there ----


_PLAIN = (weakref.ref, weakref.KeyedRef, weakref.WeakMethod)


class _Gone:
    pass


def _reference_to(cls: type, x: Any) -> Any:
    return weakref.ref(_Gone() if x is None else x)


REFERENCE = PartsKind(lambda r: (r(),), _reference_to, ["()"])
ITSELF = IdentityKind()


def kind_of_reference(x: Any) -> Kind:
    """The kind of a weak reference.

    Raises:
        RefusedError: It has a class of its own, which may have more in it.
    """
    cls = type(x)
    if cls not in _PLAIN:
        raise RefusedError(
            f"a weak reference of a class of its own for {{path}} (a {cls.__name__}), "
            "which can't be copied.\nPass what it refers to: {path}()"
        )
    if x() is not None:
        return REFERENCE
    try:
        hash(x)
    except TypeError:  # it had no hash while it was alive: all of these are alike
        return REFERENCE
    return ITSELF


# ---- Arrays that are settings: known to the code by their contents ----


class StaticArrayKind(Kind):
    """A NumPy array that is not traced (text, dates, results), static by contents."""

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"type({name}) is {source.constant(type(part.value))}")
        source.setting(f"contents_key({name})", part.key)
        return ()

    def split(self, x: Any) -> Split:
        return KeyedValue(contents_key(x), x.copy(order="K")), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part.value.copy(order="K")

    def portable(self, part: Any) -> Any:
        return part.value


class KnownArrayKind(Kind):
    """A JAX array that is declared to be static: by contents."""

    constant = True

    def split(self, x: Any) -> Split:
        numbers = x
        if is_key(x):
            numbers = jax.random.key_data(x)
        key = str(x.dtype), bool(x.weak_type), contents_key(np.asarray(numbers))
        return KeyedValue(key, x), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part.value

    def portable(self, part: Any) -> Any:
        return part.value


# What `grad` left behind, as `self.w = w` in a loss does. No code can compute with it:
# none is another setting than the one before.
ENDED = ConstantKind(lambda x: "a traced value that has no value any more")
