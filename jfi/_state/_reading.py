"""Values of text and arrays again, with code from a state like it."""

import base64
import collections
import contextlib
import copy
import enum
import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._autojit.kinds._objects import new
from .._errors import StateError
from .._values import attributes_of, full_name, is_array, is_cached, set_attributes
from ._arrays import form, form_in_file, restored
from ._kinds import PLAIN, dict_base, is_code, name_of, printed, same_name


ABSENT: Any = object()  # there is no value like it
_BUILTIN = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
_SIMPLE = (*PLAIN, float, complex, bytes, np.generic)


class StateReader:
    """Puts values together.

    Args:
        arrays: Gives a stored array, by its name.
    """

    def __init__(self, arrays: Callable[[str], np.ndarray[Any, Any]]) -> None:
        self._arrays = arrays
        self._made: dict[int, Any] = {}
        self._of_like: dict[int, tuple[Any, Any]] = {}  # its objects, and the new ones
        self.states: list[tuple[Any, Any]] = []  # of random generators, to be set

    def value(self, record: Any, like: Any, path: str) -> Any:
        """The value of a text.

        Raises:
            StateError: It is not like `like`.
        """
        if not isinstance(record, dict):
            self._check_simple(record, like, path)
            return record
        if "same" in record:
            return self._made[record["same"]]
        if "float" in record or "complex" in record or "bytes" in record:
            found = _number(record)
            self._check_simple(found, like, path)
            return found
        if "list" in record or "dict" in record:
            return self._changeable(record, like, path)
        found = self._other(record, like, path)
        return self._known(record, found)

    def _other(self, record: dict[str, Any], like: Any, path: str) -> Any:
        if "array" in record:
            return self._array(record, like, path)
        if "enum" in record:
            cls = self._class(record["enum"], like, path)
            return cls(self.value(record["value"], ABSENT, path))
        if "constant" in record:
            same = like is not ABSENT and printed(like) == record["constant"]
            return like if same else _refuse(path, record["constant"], like)
        if "code" in record:
            same = is_code(like) and same_name(name_of(like), record["code"])
            return self._bound(like) if same else _refuse(path, record["code"], like)
        if "object" in record:
            return self._object(record, like, path)
        ((name, cls),) = [pair for pair in _BUILTIN.items() if pair[0] in record]
        return cls(self._items(record[name], like, cls, path))

    def _bound(self, code: Any) -> Any:
        """Code of `like`; a method, of the new object."""
        if isinstance(code, types.MethodType) and id(code.__self__) in self._of_like:
            return types.MethodType(code.__func__, self._of_like[id(code.__self__)][1])
        return code

    def _known(self, record: dict[str, Any], found: Any) -> Any:
        if "id" in record:
            self._made[record["id"]] = found
        return found

    def _array(self, record: dict[str, Any], like: Any, path: str) -> Any:
        array = self._arrays(record["array"])
        saved = form_in_file(array, record)
        if isinstance(like, _SIMPLE):
            fits = like is None or not array.ndim  # before the first step, a number
        elif like is not ABSENT:
            fits = hasattr(like, "shape") and hasattr(like, "dtype")
            fits = fits and form(like) == saved
        else:
            fits = True
        if not fits:
            _refuse(path, saved, like)
        return restored(array, record, like, path)

    def _changeable(self, record: dict[str, Any], like: Any, path: str) -> Any:
        """A list or dict: empty first, since it may contain itself."""
        if "list" in record:
            items: list[Any] = self._known(record, [])
            items += self._items(record["list"], like, list, path)
            return items
        entries: dict[Any, Any] = self._known(record, {})
        entries.update(self._entries(record["dict"], like, path))
        return entries

    def _object(self, record: dict[str, Any], like: Any, path: str) -> Any:
        cls = self._class(record["object"], like, path)
        if "state" in record:
            found = copy.deepcopy(like)
            self._of_like[id(like)] = like, found
            self.states.append((found, self.value(record["state"], ABSENT, path)))
            return found
        if issubclass(cls, functools.partial):
            given = (like.func, like.args, like.keywords)
            fn, args, keywords = self._items(record["items"], given, tuple, path)
            return cls(fn, *args, **keywords)
        if issubclass(cls, (tuple, frozenset)):
            made = self._items(record["items"], like, cls, path)
            base: Any = tuple if issubclass(cls, tuple) else frozenset
            found = base.__new__(cls, made)
        else:
            found = self._known(record, _empty(cls, like))
        self._of_like[id(like)] = like, found
        self._fill_attributes(found, record.get("attributes", []), like, path)
        if "entries" in record:
            entries = self._entries(record["entries"], like, path)
            set_item = dict_base(found).__setitem__
            for key, value in entries.items():
                set_item(found, key, value)
        elif isinstance(found, (list, collections.deque)):
            found.extend(self._items(record["items"], like, cls, path))
        elif isinstance(found, set):
            found.update(self._items(record["items"], like, cls, path))
        return found

    def _class(self, name: str, like: Any, path: str) -> Any:
        if like is ABSENT:
            raise StateError(
                f"{path} is a {name} in the file, and a file holds no classes. Write "
                "load_state(path, like=...), with a state of the same structure."
            )
        if not same_name(full_name(type(like)), name):
            _refuse(path, name, like)
        return type(like)

    def _fill_attributes(
        self, found: Any, records: Sequence[Sequence[Any]], like: Any, path: str
    ) -> None:
        known = attributes_of(like)
        names = [name for name, _ in records]
        for name in known:
            if name not in names and not is_cached(type(like), name):
                raise StateError(
                    f"{path}.{name} is not in the file. Delete the attribute from the "
                    "state that is passed as like=, or save the state anew."
                )
        for name, record in records:
            value = self.value(record, known.get(name, ABSENT), f"{path}.{name}")
            set_attributes(found, {name: value})

    def _items(
        self, records: Sequence[Any], like: Any, cls: type, path: str
    ) -> list[Any]:
        given = _like_container(like, cls, f"{cls.__name__} of {len(records)}", path)
        known = [] if given is ABSENT or issubclass(cls, (set, frozenset)) else given
        known = list(known)
        if given is not ABSENT and len(known) != len(records) and known:
            self._check_free(records, known, path, "")
        known += [ABSENT] * (len(records) - len(known))
        if issubclass(cls, (set, frozenset)):
            members = [] if given is ABSENT else list(given)
            return [
                self._hashed(record, members, k, f"{path}[{k}]")
                for k, record in enumerate(records)
            ]
        fields = getattr(cls, "_fields", None)
        return [
            self.value(
                record, known[k], f"{path}.{fields[k]}" if fields else f"{path}[{k}]"
            )
            for k, record in enumerate(records)
        ]

    def _entries(
        self, records: Sequence[Sequence[Any]], like: Any, path: str
    ) -> dict[Any, Any]:
        given = _like_container(like, dict, f"dict of {len(records)}", path)
        known: Mapping[Any, Any] = {} if given is ABSENT else given
        likes = list(known)
        keys = [
            self._hashed(key, likes, k, f"{path}, key {k},")
            for k, (key, _) in enumerate(records)
        ]
        if known and set(keys) != set(known):
            values = [record for _, record in records]
            missing = [key for key in keys if key not in known]
            extra = [key for key in known if key not in keys]
            other = _only("the file", missing) + _only("like=", extra)
            self._check_free(values, list(known.values()), path, other)
        return {
            key: self.value(record, known.get(key, ABSENT), f"{path}[{key!r}]")
            for key, (_, record) in zip(keys, records, strict=True)
        }

    def _hashed(
        self, record: Any, members: Sequence[Any], place: int, path: str
    ) -> Any:
        """A key of a dict or an item of a set, which may stand anywhere in `like`."""
        if not isinstance(record, dict):
            return record
        for like in [*members[place : place + 1], *members]:
            if not _is_free(like):
                with contextlib.suppress(StateError):
                    return self.value(record, like, path)
        return self.value(record, ABSENT, path)

    def _check_free(
        self, records: Sequence[Any], known: list[Any], path: str, other: str
    ) -> None:
        """Refuse containers of other sizes, but for those that collect numbers."""
        free = all(map(_is_free_record, records)) and all(map(_is_free, known))
        if not free:
            raise StateError(
                f"{path} has {len(records)} items in the file, and {len(known)} in the "
                f"state that is passed as like=.{other} Build that with the settings "
                "of the saved one."
            )

    def _check_simple(self, found: Any, like: Any, path: str) -> None:
        if not (like is ABSENT or _is_free(like)):
            _refuse(path, repr(found), like)


def _only(where: str, keys: Sequence[Any]) -> str:
    """Which keys are in one of the two alone, some of them."""
    shown = [*map(repr, keys[:5]), *(["..."] if len(keys) > 5 else [])]
    return f" Only {where} has {', '.join(shown)}." if shown else ""


def _is_free_record(record: Any) -> bool:
    simple = not isinstance(record, dict) or not {
        "float",
        "complex",
        "bytes",
    }.isdisjoint(record)
    return simple or record.get("of") == "number"


def _is_free(x: Any) -> bool:
    return isinstance(x, _SIMPLE) or (is_array(x) and np.ndim(x) == 0)


def _like_container(like: Any, cls: type, what: str, path: str) -> Any:
    fits = like is ABSENT or like is None or isinstance(like, cls)
    if not fits:
        _refuse(path, what, like)
    return ABSENT if like is None else like


def _empty(cls: Any, like: Any) -> Any:
    if issubclass(cls, collections.deque):
        return (
            collections.deque.__new__(cls)
            if like.maxlen is None
            else cls(maxlen=like.maxlen)
        )
    found = new(cls)
    if isinstance(like, collections.defaultdict):
        found.default_factory = like.default_factory
    return found


def _number(record: dict[str, Any]) -> Any:
    if "float" in record:
        return float.fromhex(record["float"])
    if "bytes" in record:
        return base64.b64decode(record["bytes"])
    return complex(*map(float.fromhex, record["complex"]))


def _refuse(path: str, saved: str, like: Any) -> Any:
    if like is ABSENT:
        raise StateError(
            f"{path} is {saved} in the file, which does not hold such values "
            "themselves. Write load_state(path, like=...), with a state of the same "
            "structure."
        )
    if hasattr(like, "shape") and hasattr(like, "dtype"):
        given = form(like)
    elif isinstance(like, (*_SIMPLE, enum.Enum)):
        given = repr(like)
    else:
        given = name_of(like) if is_code(like) else f"a {full_name(type(like))}"
    raise StateError(f"{path} is {saved} in the file, and there is {given} in like=.")
