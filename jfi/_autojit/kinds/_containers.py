"""How builtin containers are taken apart and put together again."""

import collections
import functools
import operator
from collections.abc import Collection, Sequence
from typing import Any

from ..._values import KeyedValue, typed_key
from ._base import IMMUTABLE, Expression, Kind, Source, Split, Watches


class TupleKind(Kind):
    """A tuple."""

    constant = True

    def split(self, x: Any) -> Split:
        return tuple, x

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return tuple(children)

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"type({name}) is tuple and len({name}) == {n}")
        return [(name, n)]

    def display(self, part: Any, children: Sequence[str]) -> str:
        return f"({''.join(f'{child}, ' for child in children)})"

    def watches(self, x: Any, part: Any) -> Watches | None:
        return IMMUTABLE


class NamedTupleKind(Kind):
    """A named tuple, or another class derived from tuple, with what its class holds."""

    constant = tells_class = True

    def split(self, x: Any) -> Split:
        return type(x), (*tuple.__iter__(x), type(x))

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return tuple.__new__(part, children[:-1])

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        fields = getattr(part, "_fields", None)
        if k == len(children) - 1:
            return ".__class__"
        return f".{fields[k]}" if fields else f"[{k}]"

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        cls = source.constant(part)
        source.require(f"type({name}) is {cls}")
        if part.__dictoffset__:
            source.require(f"not {name}.__dict__")
        source.require(f"tuple.__len__({name}) == {n - 1}")
        return [(f"tuple.__iter__({name})", n - 1), cls]

    def display(self, part: Any, children: Sequence[str]) -> str:
        *items, cls = children
        return f"tuple.__new__({cls}, ({''.join(f'{item}, ' for item in items)}))"

    def watches(self, x: Any, part: Any) -> Watches | None:
        return None if part.__dictoffset__ else IMMUTABLE


class PartsKind(Kind):
    """A value that a class makes of a fixed list of parts (a slice, a bound method)."""

    constant = True

    def __init__(
        self,
        parts: Any,
        make: Any,
        steps: Sequence[str],
        *,
        reads: bool = False,
        frozen: bool = False,
    ) -> None:
        self._parts, self._make, self._steps = parts, make, steps
        self.reads, self._frozen = reads, frozen

    def split(self, x: Any) -> Split:
        return type(x), self._parts(x)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return self._make(part, *children)

    def frozen(self, part: Any, n: int) -> Collection[int]:
        return range(n if self._frozen else 0)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        return self._steps[k]

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        if "" in self._steps:
            return super().guard(source, name, part, n)
        source.require(f"type({name}) is {source.constant(part)}")
        return [f"{name}{step}" for step in self._steps]

    def watches(self, x: Any, part: Any) -> Watches | None:
        return IMMUTABLE if part in (property, staticmethod, classmethod) else None


class ListKind(Kind):
    """A list."""

    changeable = True

    def split(self, x: Any) -> Split:
        return None, tuple(list.__iter__(x))

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return []

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        list.extend(shell, children)

    def empty(self, x: Any) -> None:
        list.clear(x)

    def key_of(self, part: Any, k: int) -> Any:
        return k

    def put(self, x: Any, key: Any, value: Any) -> None:
        list.__setitem__(x, key, value)

    def target(self, key: Any) -> str:
        return f"[{key}]"

    def join(self, x: Any, first: int, last: int, values: Sequence[Any]) -> bool:
        del x[:first]
        del x[len(x) - last :]
        list.extend(x, values)
        return True

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        source.require(f"type({name}) is list and len({name}) == {n}")
        return [(name, n)]

    def display(self, part: Any, children: Sequence[str]) -> str:
        return f"[{', '.join(children)}]"

    def watches(self, x: Any, part: Any) -> Watches | None:
        return Watches(lists=(x,))


class DequeKind(Kind):
    """A deque, with its maximal length."""

    changeable = True

    def split(self, x: Any) -> Split:
        return x.maxlen, tuple(x)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return collections.deque(maxlen=part)

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        shell.extend(children)

    def empty(self, x: Any) -> None:
        x.clear()

    def put(self, x: Any, key: Any, value: Any) -> None:
        x[key] = value

    def join(self, x: Any, first: int, last: int, values: Sequence[Any]) -> bool:
        for _ in range(first):
            x.popleft()
        for _ in range(last):
            x.pop()
        x.extend(values)
        return True


class BytearrayKind(Kind):
    """A bytearray, static by content."""

    changeable = True

    def split(self, x: Any) -> Split:
        return bytes(x), ()

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return bytearray()

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        shell.extend(part)

    def empty(self, x: Any) -> None:
        x.clear()


class DictKind(Kind):
    """A dict: its order of keys counts, as in Python. Keys that are no text are nodes.

    The children are in the order of their keys: dicts that were filled in another order
    (`jax.tree.map` sorts keys) share what was compiled. The methods are those of the
    builtin class, below what a subclass makes of them.
    """

    changeable = True

    def __init__(self, cls: type[dict[Any, Any]] = dict) -> None:
        self._cls = cls

    def split(self, x: Any) -> Split:
        items = tuple(self._cls.items(x))  # at once: another thread may write to it
        keys = tuple(key for key, _ in items)
        values = tuple(value for _, value in items)
        if all(type(key) is str for key in keys):
            return keys, [values[k] for k in in_order(keys)]
        return len(keys), (*keys, *values)

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return {}

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        if isinstance(part, int):
            part, children = children[:part], children[part:]
        else:
            children = as_given(part, children)
        self._cls.update(shell, zip(part, children, strict=True))

    def empty(self, x: Any) -> None:
        self._cls.clear(x)

    def contents(self, x: Any) -> Split:
        items = tuple(self._cls.items(x))
        return tuple(KeyedValue(typed_key(k), k) for k, _ in items), [
            v for _, v in items
        ]

    def keys(self, part: Any, children: Sequence[Any]) -> Sequence[Any] | None:
        names: Sequence[Any] = part
        return names

    def key_of(self, part: Any, k: int) -> Any:
        if isinstance(part, int):
            return None
        key = part[in_order(part)[k]]
        return KeyedValue(typed_key(key), key)

    def put(self, x: Any, key: Any, value: Any) -> None:
        self._cls.__setitem__(x, key.value, value)

    def remove(self, x: Any, key: Any) -> None:
        self._cls.pop(x, key.value, None)

    def target(self, key: Any) -> str:
        return f"[{key.value!r}]" if type(key.value) in (str, int) else ""

    def frozen(self, part: Any, n: int) -> Collection[int]:
        return range(part if isinstance(part, int) else 0)

    def step(self, part: Any, k: int, children: Sequence[Any]) -> str:
        text = not isinstance(part, int)
        key = repr(part[in_order(part)[k]] if text else children[k % part])
        return f"[{key}]" if len(key) < 60 else f"[{key[:60]}...]"

    def guard(
        self, source: Source, name: str, part: Any, n: int
    ) -> Sequence[Expression]:
        if isinstance(part, int):
            return super().guard(source, name, part, n)
        source.require(f"type({name}) is dict and len({name}) == {n}")
        if not n:
            return ()
        keys = source.unpack(name, n)
        # The same text is mostly the same object; a subclass of str may equal it.
        form = "({0} is {1} or type({0}) is str and {0} == {1})"
        texts = map(source.constant, part)
        source.require(" and ".join(map(form.format, keys, texts)))
        if n > 4:
            return items_of(source, name, part, sorted(part))
        return [f"{name}[{keys[k]}]" for k in in_order(part)]

    def display(self, part: Any, children: Sequence[str]) -> str:
        if isinstance(part, int):
            return ""
        pairs = zip(part, as_given(part, children), strict=True)
        return f"{{{', '.join(f'{key!r}: {child}' for key, child in pairs)}}}"

    def watches(self, x: Any, part: Any) -> Watches | None:
        return Watches(dicts=(x,)) if type(x) is dict else None


@functools.lru_cache(maxsize=64)  # asked for each key of a dict, for its path
def in_order(keys: tuple[str, ...]) -> tuple[int, ...]:
    """The positions of keys in the order of the keys."""
    return tuple(sorted(range(len(keys)), key=keys.__getitem__))


def as_given(keys: tuple[str, ...], children: Sequence[Any]) -> list[Any]:
    """Children that are in the order of their keys, in the order of the dict."""
    values = dict(zip(in_order(keys), children, strict=True))
    return [values[k] for k in range(len(keys))]


def items_of(
    source: Source, name: str, keys: Sequence[str], wanted: Sequence[str]
) -> Sequence[Expression]:
    """Where some items of a dict with these keys are found."""
    if tuple(keys) == tuple(wanted):
        return [(f"{name}.values()", len(keys))]
    if len(wanted) < 2:
        return [f"{name}[{key!r}]" for key in wanted]
    get = source.constant(operator.itemgetter(*wanted), ("items", *wanted))
    return [(f"{get}({name})", len(wanted))]


class SetKind(Kind):
    """A set: static by its elements and their types."""

    changeable = True
    ordered = False

    def split(self, x: Any) -> Split:
        # Sorted, since two equal sets may list their elements in different orders.
        return type(x), sorted(x, key=lambda e: (type(e).__qualname__, repr(e)))

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return part()

    def fill(self, shell: Any, part: Any, children: Sequence[Any]) -> None:
        set.update(shell, children)

    def empty(self, x: Any) -> None:
        set.clear(x)

    def keys(self, part: Any, children: Sequence[Any]) -> Sequence[Any] | None:
        return [KeyedValue(typed_key(child), child) for child in children]

    def put(self, x: Any, key: Any, value: Any) -> None:
        set.add(x, value)

    def remove(self, x: Any, key: Any) -> None:
        set.discard(x, key.value)

    def frozen(self, part: Any, n: int) -> Collection[int]:
        return range(n)


class FrozensetKind(SetKind):
    """A frozenset."""

    changeable = False
    constant = True

    def make(self, part: Any, children: Sequence[Any]) -> Any:
        return frozenset(children)
