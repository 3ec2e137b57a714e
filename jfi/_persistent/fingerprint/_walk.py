"""Walking over values and writing down what they are, in an order that repeats."""

import copyreg
import functools
import hashlib
import sys
import weakref
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import WRAPPER_ASSIGNMENTS, cached_property
from types import CellType, FunctionType, MappingProxyType
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from ..._errors import FingerprintError
from ..._values import (
    constant,
    full_name,
    is_key,
    order_in_memory,
    own_attributes,
    token,
)


CONSTANTS = (type(None), bool, int, float, complex, str, bytes, type(...))
_CONTAINERS = (list, dict, set, frozenset, MappingProxyType)


class Walk(ABC):
    """The tokens of a value and of all that it holds.

    Constants, tuples and arrays enter by value. What can be changed is numbered when it
    is first met, and enters by its number afterwards, so that cycles end.

    Attributes:
        parts: The tokens so far.
        trail: The way from the root to what is being walked over, for messages.
    """

    def __init__(self, root_name: str) -> None:
        self.root_name = root_name
        self.parts: list[bytes] = []
        self.trail: list[str] = []
        self._numbers: dict[int, int] = {}
        self._alive: list[object] = []  # an id stands for its object while that lives

    @abstractmethod
    def first_meeting(self, value: Any) -> None:
        """Add what is no constant, container or array."""

    def digest(self) -> str:
        """64 hexadecimal digits for all that was added."""
        return hashlib.sha256(b"".join(self.parts)).hexdigest()

    def put(self, *fields: str | bytes) -> None:
        """Add one token."""
        self.parts.append(
            token(*(f if isinstance(f, bytes) else _encoded(f) for f in fields))
        )

    def add(self, value: Any) -> None:
        """Add a value of any type."""
        kind = type(value)
        if kind in CONSTANTS:
            self.parts.append(constant(value))
        elif kind is tuple:
            self.items("tuple", *value)
        elif isinstance(value, np.dtype):
            self.put("dtype", repr(value))
        elif isinstance(value, (jax.Array, np.generic)) or kind is np.ndarray:
            self._array(value)
        elif self._met_before(value):
            pass
        elif kind in _CONTAINERS:
            self._container(value)
        elif kind is CellType:
            self._cell(value)
        else:
            self.first_meeting(value)

    def items(self, label: str, *values: object) -> None:
        """Add a label and some values."""
        self.put(label, str(len(values)))
        for value in values:
            self.add(value)

    @contextmanager
    def at(self, step: str) -> Generator[None]:
        """Take a step from a value to one that it holds."""
        depth = len(self.trail)
        self.trail.append(step)
        yield
        del self.trail[depth:]  # kept after an error, whose message is made from it

    def place(self) -> str:
        """The way to what is being walked over, as `helper: cfg.table['a']`."""
        steps = [step if step[0] in ".[" else f": {step}" for step in self.trail]
        return "".join(steps).removeprefix(": ")

    def refusal(self, what: str, advice: str) -> FingerprintError:
        """The error for something that has no identity."""
        return FingerprintError(f"{self.root_name} {what}. {advice}")

    def instance(self, value: Any) -> None:
        """Add an object by its class and attributes, or by what pickle would write."""
        kind = type(value)
        try:
            reduce = copyreg.dispatch_table.get(kind)
            reduced: Any = reduce(value) if reduce else value.__reduce_ex__(4)
        except Exception as error:
            raise self.refusal(
                f"reaches {self.place() or 'an argument'}, an object of type "
                f"{full_name(kind)}, which exists in this process "
                "alone",
                "Create it inside the function, or do without it there.",
            ) from error
        if isinstance(reduced, str):
            if isinstance(value, np.ufunc) and not _is_library_ufunc(value):
                raise self.refusal(
                    f"reaches {self.place() or 'an argument'}, a function that NumPy "
                    "has made of another one",
                    "Call the function itself.",
                )
            self.items("instance", kind, reduced)
            return
        maker, arguments, *rest = reduced
        self.items("instance", kind, maker, tuple(arguments))
        state = rest[0] if rest else None
        # Most often the `__dict__`, or a pair of it and of what is in `__slots__`.
        parts = state if isinstance(state, tuple) else (state,)
        if all(part is None or isinstance(part, dict) for part in parts):
            for part in parts:
                self._attributes(kind, part or {})
            # Who writes `__reduce__` or `__setstate__` says how the rest is made again.
            makes_again = hasattr(kind, "__setstate__") or (
                getattr(kind, "__reduce__", None) is not object.__reduce__
            )
            if state is not None and not makes_again:
                self._left_out(value, {name for part in parts for name in part or {}})
        else:
            self.add(state)
        for part in rest[1:]:
            # Items of a list or dict subclass come as iterators, a setter as it is.
            self.add(part if part is None or callable(part) else list(part))

    def _attributes(self, kind: type, state: dict[Any, Any]) -> None:
        for name, part in state.items():
            # What a cached_property has filled is no part of what the object is.
            if not (_is_cached(kind, name) or is_copy(state, name)):
                self.put("attribute", str(name))
                with self.at(f".{name}"):
                    self.add(part)

    def _left_out(self, value: Any, kept: set[str]) -> None:
        """Add what `__getstate__` leaves out, which the function may still read."""
        kind = type(value)
        present: dict[str, Any] = getattr(value, "__dict__", {})
        rest = {name: part for name, part in present.items() if name not in kept}
        for name in rest:
            if not _is_cached(kind, name):
                raise self.refusal(
                    f"reaches {self.place() or 'an argument'}.{name}, which "
                    f"{kind.__qualname__}.__getstate__ leaves out",
                    "Write a __setstate__ method that makes it again.",
                )
        self._attributes(kind, rest)

    def _met_before(self, value: object) -> bool:
        number = self._numbers.get(id(value))
        if number is not None:
            self.put("met", str(number))
            return True
        self._numbers[id(value)] = len(self._numbers)
        self._alive.append(value)
        return False

    def _container(self, value: Any) -> None:
        self.put(type(value).__name__, str(len(value)))
        if isinstance(value, list):
            for number, item in enumerate(list(value)):
                with self.at(f"[{number}]"):
                    self.add(item)
        elif isinstance(value, (set, frozenset)):
            for item in self._in_order(value):
                self.add(item)
        else:
            for key, item in list(value.items()):  # the order of a dict is part of it
                self.add(key)
                with self.at(f"[{key!r}]" if isinstance(key, (str, int)) else "[...]"):
                    self.add(item)

    def _in_order(self, items: Iterable[object]) -> list[object]:
        """The elements of a set in an order that does not depend on the hash seed."""
        digests: list[tuple[str, object]] = []
        for item in items:
            alone = type(self)(self.root_name)
            alone.add(item)
            digests.append((alone.digest(), item))
        return [item for _, item in sorted(digests, key=lambda pair: pair[0])]

    def _array(self, value: Any) -> None:
        if isinstance(value, Tracer):
            raise self.refusal(
                f"reaches {self.place() or 'an argument'}, which is being traced",
                "Pass it as an argument.",
            )
        if isinstance(value, jax.Array):
            self.put("jax", _jax_array_digest(value))
        elif value.dtype.hasobject:
            self.items("objects", value.shape, value.tolist())
        else:
            self.put(type(value).__name__, *_array_fields(value))

    def _cell(self, cell: CellType) -> None:
        try:
            content = cell.cell_contents
        except ValueError:
            self.put("empty cell")
        else:
            self.items("cell", content)


def _is_library_ufunc(value: np.ufunc) -> bool:
    modules = (sys.modules.get(name) for name in ("numpy", "scipy.special"))
    return any(getattr(m, value.__name__, None) is value for m in modules)


def is_copy(attributes: Mapping[Any, Any], name: Any) -> bool:
    """Whether functools.wraps has copied an attribute from what is wrapped."""
    wrapped, seen = attributes.get("__wrapped__"), set[int]()
    while name != "__wrapped__" and wrapped is not None and id(wrapped) not in seen:
        seen.add(id(wrapped))  # a function may say that it wraps itself
        its_own = own_attributes(wrapped)
        if isinstance(wrapped, FunctionType):
            said = [(word, getattr(wrapped, word)) for word in WRAPPER_ASSIGNMENTS]
            its_own = {**its_own, **dict(said)}
        if its_own.get(name, attributes) is attributes[name]:
            return True
        if name == "__doc__" and not (its_own.get(name) or attributes[name]):
            return True  # JAX makes "" of None
        wrapped = its_own.get("__wrapped__")
    return False


def _is_cached(kind: type, name: object) -> bool:
    return isinstance(getattr(kind, str(name), None), cached_property)


_digests: dict[int, tuple[weakref.ref[Any], bytes]] = {}


def _jax_array_digest(array: jax.Array) -> bytes:
    """The digest of a JAX array, remembered: it can't change."""
    known = _digests.get(id(array))
    if known is not None and known[0]() is array:
        return known[1]
    if is_key(array):
        data, kind = jax.random.key_data(array), f"key {jax.random.key_impl(array)}"
    else:
        data, kind = array, "weak" if array.weak_type else "strong"
    fields = token(_encoded(kind), *_array_fields(np.asarray(data)))
    digest = hashlib.sha256(fields).digest()
    forget = functools.partial(_forget, id(array))
    _digests[id(array)] = (weakref.ref(array, forget), digest)
    return digest


def _forget(key: int, dead: object) -> None:
    # The id may already be that of another array.
    if key in _digests and _digests[key][0] is dead:
        del _digests[key]


def _array_fields(value: np.ndarray[Any, Any]) -> tuple[bytes, bytes, bytes]:
    flat = np.ascontiguousarray(value).reshape(-1)
    # As bytes without a copy: some dtypes of JAX don't have the buffer interface.
    digest = hashlib.sha256(flat.view(np.uint8).data if flat.size else b"").digest()
    shape = _encoded(f"{value.shape} {order_in_memory(value) or ''}")
    return _encoded(repr(value.dtype)), shape, digest


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
