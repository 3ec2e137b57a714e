"""What the body of a function changed, and how it is written back."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice, takewhile
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias

from .._errors import AutoJitError
from .._values import is_traced_text, is_user_function, number_key
from ._graphs import Graph
from .kinds._base import MISSING, Kind, Split
from .kinds._classify import CELL, CLASS, PLAIN, PYTREE, STATIC_ARRAY, WRAPPER
from .kinds._objects import UNREAD, touch


Contents: TypeAlias = dict[int, Split]
_WRITABLE = (PYTREE, CLASS, STATIC_ARRAY, PLAIN, WRAPPER)


def contents(graph: Graph, built: Sequence[Any]) -> Contents:
    """What is in every clone that the body of a function can change."""
    return {
        i: kind.contents(built[i])
        for i, (kind, _, _) in enumerate(graph)
        if is_writable(kind) and built[i] is not MISSING
    }


def is_writable(kind: Kind) -> bool:
    """Whether the contents of such values are looked at before and after the body."""
    return kind.changeable or kind in _WRITABLE


class Change(NamedTuple):
    """New contents of an argument, of a captured variable, or of something inside.

    What the body changed is written, and nothing else: another thread may have changed
    the rest meanwhile, which plain Python would keep.

    Attributes:
        node: Its node among the arguments.
        kind: Its kind.
        part: What it is now.
        keys: Under which keys there are new children; None: they stand in a row.
        removed: The keys that are gone.
        ends: How many values are gone at both ends of a row, to whose end the new
            children come; None: all are to be replaced.
        before: How many values there were in the row.
        size: How many children are new.
    """

    node: int
    kind: Kind
    part: Any
    keys: tuple[Any, ...] | None
    removed: tuple[Any, ...]
    ends: tuple[int, int] | None
    before: int
    size: int


def find_changes(
    graph: Graph,
    before: Contents,
    built: Sequence[Any],
    donated: Collection[int] = (),
) -> tuple[list[Change], list[Any]]:
    """What the body changed, and the new children of one change after the other.

    Args:
        graph: That of the arguments.
        before: What was in the clones before the body ran.
        built: The clones.
        donated: Ids of arrays whose memory is given away. If the body changes anything,
            these come back as new arrays, too: what is not changed must stay alive.
    """
    found = _find(graph, before, built, ())
    return _find(graph, before, built, donated) if found[0] and donated else found


def _find(
    graph: Graph, before: Contents, built: Sequence[Any], donated: Collection[int]
) -> tuple[list[Change], list[Any]]:
    changes: list[Change] = []
    values: list[Any] = []
    for i, (old_part, old) in before.items():
        kind = graph[i][0]
        if kind is CLASS:  # what is new there is an effect: all else was undone
            continue
        part, children = kind.contents(built[i])
        given = any(id(child) in donated for child in children)
        if not given and equal((old_part, old), (part, children)):
            continue
        if kind is CELL and _is_float_of_library(graph, i, built, (old, children)):
            continue
        was = old_part, old, kind.keys(old_part, old)
        now = part, children, kind.keys(part, children)
        change, new = _difference(i, kind, was, now, donated)
        if any(value is UNREAD for value in new):
            touch()
        changes.append(change)
        values += new
    return changes, values


def _is_float_of_library(
    graph: Graph, cell: int, built: Sequence[Any], contents: tuple[Any, Any]
) -> bool:
    """Whether a library made the int of a captured variable of its own a float.

    optax's cosine schedule does, at its first call. Written back, it would be another
    form of call, and the training step be compiled twice.
    """
    (old,), (new,) = [c or (None,) for c in contents]
    if type(old) is not int or type(new) is not float or old != new:
        return False
    owners = [built[k] for k, (_, _, children) in enumerate(graph) if cell in children]
    return all(
        isinstance(fn, FunctionType) and not is_user_function(fn) for fn in owners
    )


# A part, children, and their keys.
_State: TypeAlias = tuple[Any, Sequence[Any], Sequence[Any] | None]


def _difference(
    node: int, kind: Kind, was: _State, now: _State, donated: Collection[int]
) -> tuple[Change, list[Any]]:
    """What was done to one value."""
    part, children, _ = now
    n, m = len(was[1]), len(children)
    if was[2] is not None and now[2] is not None:
        old = dict(zip(was[2], was[1], strict=True))
        new = dict(zip(now[2], children, strict=True))
        kept = _in_place(old, new) if kind.ordered else [k for k in new if k in old]
        gone = tuple(k for k in old if k not in kept)
        fresh = {
            k: x
            for k, x in new.items()
            if k not in kept or id(x) in donated or not same(old[k], x)
        }
        size = len(fresh)
        return Change(node, kind, part, tuple(fresh), gone, None, n, size), [
            *fresh.values()
        ]
    if _is_row(kind):
        first, count = _overlap(was[1], children)
        if n == m and not (first and count == n - first):  # and no full deque
            pairs = enumerate(zip(was[1], children, strict=True))
            keys = tuple(k for k, (a, b) in pairs if id(b) in donated or not same(a, b))
            found = [children[k] for k in keys]
            return Change(node, kind, part, keys, (), None, n, len(found)), found
        if (count or not n) and not donated:
            ends, found = (first, n - first - count), list(children[count:])
            return Change(node, kind, part, None, (), ends, n, len(found)), found
    return Change(node, kind, part, None, (), None, n, m), list(children)


def _is_row(kind: Kind) -> bool:
    return type(kind).join is not Kind.join


def _overlap(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int]:
    """From where on, and for how many values, `new` begins as `old` goes on."""
    for first in range(len(old)):
        pairs = zip(old[first:], new, strict=False)
        count = sum(1 for _ in takewhile(lambda pair: same(*pair), pairs))
        if count:
            return first, count
    return 0, 0


def _in_place(old: Mapping[Any, Any], new: Mapping[Any, Any]) -> list[Any]:
    """The keys that stand as they stood, from the first on."""
    rest = iter(old)
    kept: list[Any] = []
    for key in new:
        if key not in rest:  # looks from the last found on
            break
        kept.append(key)
    return kept


def write_back(
    changes: Iterable[Change], values: Iterable[Any], objects: Sequence[Any]
) -> None:
    """Give the arguments of a call their new contents.

    Args:
        changes: What has changed.
        values: The new children, of one change after the other.
        objects: The arguments, by node.

    Raises:
        AutoJitError: Another thread has written to what is replaced.
    """
    rest = iter(values)
    for node, kind, part, keys, removed, ends, before, size in changes:
        children = list(islice(rest, size))
        x = objects[node]
        if keys is not None:
            for key in removed:
                kind.remove(x, key)
            for key, child in zip(keys, children, strict=True):
                kind.put(x, key, child)
        elif ends is not None:
            kind.join(x, *ends, children)
        else:
            if _is_row(kind) and len(x) != before:
                raise AutoJitError(_OVERLAP.format(type(x).__name__))
            kind.replace(x, part, children)


_OVERLAP = (
    "a compiled function has changed a {0} that another thread changed meanwhile: its "
    "change would be lost.\nUse a lock around both calls: with lock: ..."
)


def equal(one: Split, two: Split) -> bool:
    (part, old), (new_part, new) = one, two
    alike = len(old) == len(new) and all(map(same, old, new))
    return alike and bool(part == new_part)


def same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is type(b) and isinstance(a, (int, float, complex)):
        return number_key(a) == number_key(b)
    if type(a) is frozenset and type(b) is frozenset:
        return {(type(e), e) for e in a} == {(type(e), e) for e in b}
    return type(a) is type(b) and isinstance(a, (str, bytes)) and a == b


def is_plain(value: Any) -> bool:
    """Whether a value is a number, a text, a class, or a container of such.

    The text of a tracer is data: it would have to be another one at each call.
    """
    if is_traced_text(value):
        return False
    if type(value) in (list, tuple, set):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(map(is_plain, value.values()))
    # Classes: the contents of a Counter come with its own, of a defaultdict with `int`.
    return value is None or isinstance(value, (int, float, complex, str, bytes, type))
