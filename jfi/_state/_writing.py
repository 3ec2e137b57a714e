"""Values as text and arrays.

Plain values are what JSON has. Everything else is a dict, whose first key says what it
is; `{"same": 3}` is the value that has `"id": 3`.
"""

import base64
import collections
import enum
import functools
import types
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from .._errors import StateError
from .._values import attributes_of, captured, full_name, is_library, is_tracer
from ._arrays import stored
from ._kinds import (
    CONSTANTS,
    NUMBERS,
    PLAIN,
    dict_base,
    is_code,
    name_of,
    printed,
    refuse_opaque,
    stateful,
)


class Writer:
    """Takes values apart.

    Attributes:
        arrays: What was found, by the paths of the first places.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self._seen: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._shared = 0
        self._codes: list[tuple[Any, str]] = []

    def whole(self, tree: object) -> Any:
        """The text of a state, whose functions hold nothing that would stand still.

        Raises:
            StateError: It can't be saved.
        """
        found = self.record(tree, "state")
        for code, path in self._codes:
            for x in captured(code):
                self._refuse_captured(x, code, path)
        return found

    def record(self, x: Any, path: str) -> Any:
        """The text of a value, ready for JSON.

        Raises:
            StateError: It can't be saved.
        """
        if type(x) in PLAIN:
            return x
        if type(x) in NUMBERS:
            return _number(x)
        if isinstance(x, enum.Enum):
            return {"enum": full_name(type(x)), "value": self.record(x.value, path)}
        if isinstance(x, CONSTANTS):
            return {"constant": printed(x)}
        if is_tracer(x):
            raise StateError(
                f"{path} is traced: save_state() was called inside jit, vmap or grad. "
                "Call it outside, with what the function returns."
            )
        if id(x) in self._seen:
            return self._same(x, path)
        found: dict[str, Any] = {}
        self._seen[id(x)] = x, found  # which keeps it, and with it its id
        found.update(self._parts(x, path))
        return found

    def _same(self, x: Any, path: str) -> dict[str, int]:
        _, first = self._seen[id(x)]
        if not first and (isinstance(x, (tuple, frozenset, functools.partial))):
            raise StateError(f"{path} is a {type(x).__name__} that contains itself.")
        if "id" not in first:
            first["id"] = self._shared
            self._shared += 1
        return {"same": first["id"]}

    def _parts(self, x: Any, path: str) -> dict[str, Any]:
        if isinstance(x, (jax.Array, np.generic)) or type(x) is np.ndarray:
            return self._array(x, path)
        if type(x) in (list, tuple, set, frozenset):
            return {type(x).__name__: self._items(x, path)}
        if type(x) is dict:
            return {"dict": self._entries(x, path)}
        if is_code(x):
            # `load_state` binds a method to the new object, if that is made by then.
            if not (isinstance(x, types.MethodType) and id(x.__self__) in self._seen):
                self._codes.append((x, path))
            return {"code": name_of(x)}
        return {"object": full_name(type(x)), **self._contents(x, path)}

    def _refuse_captured(self, x: object, code: Any, path: str) -> None:
        _, first = self._seen.get(id(x), (x, {}))
        opened = "object" in first and not is_library(type(x))
        if stateful(x) or (opened and _has_arrays(first)):
            cls = type(x).__name__
            raise StateError(
                f"{path} is {name_of(code)}, which holds an object of class {cls}. "
                "Functions are not saved: after load_state() this one would go on with "
                f"the {cls} of like=, not with the loaded one. Write a method with "
                f"def or @autojit in the class, or pass the {cls} as an argument."
            )

    def _array(self, x: Any, path: str) -> dict[str, Any]:
        array, words = stored(x, path)
        name = path if len(path) < _LONGEST else f"{path[:_LONGEST]}..."
        while name in self.arrays:  # keys of dicts may print alike
            name += "'"
        self.arrays[name] = array
        return {"array": name, **words}

    def _contents(self, x: Any, path: str) -> dict[str, Any]:
        """What an object of a class holds."""
        way = stateful(x)
        if way is not None:
            return {"state": self.record(way.get(x), path)}
        if isinstance(x, functools.partial):
            parts = (x.func, x.args, x.keywords)
            return {"items": self._items(parts, path)}
        refuse_opaque(x, path)
        found: dict[str, Any] = {}
        attributes = attributes_of(x)
        if attributes:
            found["attributes"] = [
                [name, self.record(value, f"{path}.{name}")]
                for name, value in attributes.items()
            ]
        if isinstance(x, dict):
            found["entries"] = self._entries(x, path)
        elif isinstance(x, (list, tuple, set, frozenset, collections.deque)):
            found["items"] = self._items(x, path)
        return found

    def _items(self, x: Iterable[Any], path: str) -> list[Any]:
        fields = getattr(x, "_fields", None)
        return [
            self.record(item, f"{path}.{fields[k]}" if fields else f"{path}[{k}]")
            for k, item in enumerate(x)
        ]

    def _entries(self, x: dict[Any, Any], path: str) -> list[list[Any]]:
        return [
            [self.record(key, path), self.record(value, f"{path}[{key!r}]")]
            for key, value in dict_base(x).items(x)
        ]


_LONGEST = 1000  # characters of a name: zip archives have room for 65535 bytes


def _has_arrays(record: Any) -> bool:
    if isinstance(record, dict):
        found = "array" in record or "state" in record
        return found or any(map(_has_arrays, record.values()))
    return isinstance(record, list) and any(map(_has_arrays, record))


def _number(x: Any) -> dict[str, Any]:
    if isinstance(x, bytes):
        return {"bytes": base64.b64encode(x).decode()}
    if isinstance(x, complex):
        return {"complex": [x.real.hex(), x.imag.hex()]}
    return {"float": x.hex()}
