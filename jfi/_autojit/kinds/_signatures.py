"""Signatures: settings that say what a function takes, and never change.

Functions of libraries carry them among their attributes: haiku's `init` and `apply`,
and those that a decorator has given the signature of another. Their texts and hashes
take longer to make than a whole call, so each is looked at once.
"""

import inspect
from collections.abc import Hashable, Sequence
from typing import Any

from ..._values import KeyedValue, is_fixed
from ._base import (
    IMMUTABLE,
    ConstantKind,
    Expression,
    Source,
    Split,
    Watches,
)


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
