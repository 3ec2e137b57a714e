"""Values as keys: equal only where a compiled function may be used again."""

import weakref
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np


class KeyedValue:
    """A value under a hashable key of our own: equal when the keys are equal.

    `==` of Python takes 1, 1.0 and True for one value, and 0.0 for -0.0; a key that
    decides what a compiled function may reuse must not.
    """

    __slots__ = ("_hash", "key", "value")

    def __init__(self, key: Hashable, value: Any) -> None:
        self.key, self.value = key, value
        self._hash = hash(key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyedValue) and bool(self.key == other.key)

    def __repr__(self) -> str:
        return f"KeyedValue({self.value!r})"


def identity_key(value: Any) -> KeyedValue:
    """Key of a value that equals only itself. The key keeps the value alive."""
    return KeyedValue((type(value), id(value)), value)


def is_identity_key(key: object, value: Any) -> bool:
    """Whether this is `identity_key(value)`. Never asks the value's own `==`."""
    if not isinstance(key, KeyedValue) or not isinstance(key.key, tuple):
        return False
    return [type(x) for x in key.key[1:]] == [int] and key == identity_key(value)


class WeakIdentity(weakref.ref[Any]):
    """A weak reference that equals those to the very same object, while it lives."""

    __slots__ = ("_id",)

    _id: int

    def __new__(
        cls, value: Any, callback: Callable[["WeakIdentity"], Any] | None = None, /
    ) -> "WeakIdentity":
        self = super().__new__(cls, value, callback)
        self._id = id(value)
        return self

    def __reduce__(self) -> Any:
        return WeakIdentity, (self(),)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        value = self()
        return (
            value is not None and isinstance(other, WeakIdentity) and value is other()
        )


def number_key(value: complex | np.generic) -> Hashable:
    """Key of a number by type and bits: 1, True, 1.0 differ, and so do 0.0 and -0.0.

    >>> number_key(1) == number_key(True), number_key(0.0) == number_key(-0.0)
    (False, False)
    >>> number_key(float("nan")) == number_key(float("nan"))
    True
    """
    if isinstance(value, np.generic):
        return type(value), value.dtype, value.tobytes()
    if isinstance(value, int):
        return type(value), int(value)
    if isinstance(value, float):
        return type(value), value.hex()
    return type(value), value.real.hex(), value.imag.hex()


def typed_key(value: Hashable) -> Hashable:
    """Key of a constant by its type, too; of a number by `number_key`.

    >>> typed_key("a") == typed_key("a"), typed_key(1.0) == typed_key(1)
    (True, False)
    """
    if isinstance(value, (int, float, complex, np.number, np.bool_)):
        return number_key(value)
    return type(value), value


def contents_key(array: np.ndarray[Any, Any]) -> Hashable:
    """Key of a NumPy array by type, shape, bytes and their order in memory."""
    order = order_in_memory(array)
    return type(array), array.dtype, array.shape, order, array.tobytes()


def order_in_memory(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """The axes in the order of memory, which `ravel("K")` follows; () for C's.

    >>> order_in_memory(np.ones((2, 3))), order_in_memory(np.ones((2, 3), order="F"))
    ((), (1, 0))
    """
    if array.flags.c_contiguous:
        return ()
    axes = range(array.ndim)
    order = tuple(sorted(axes, key=lambda k: -abs(array.strides[k])))
    return () if order == tuple(axes) else order
