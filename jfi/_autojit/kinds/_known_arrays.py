"""Arrays that are settings: known to the code by their contents."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ..._values import KeyedValue, contents_key, is_key
from ._base import ConstantKind, Expression, Kind, Source, Split


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
