"""What the body of a function changed, and how it is written back."""

import enum
import functools
import types
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias

import jax
from jax.core import Tracer

from .._errors import AutoJitError
from .._values import (
    KeyedValue,
    is_installed,
    is_user_function,
    number_key,
    own_attributes,
)
from ._graphs import Graph
from ._keeping import ChangedMeanwhileError
from .kinds._base import MISSING, ConstantKind, Kind, Split
from .kinds._classes import STAMP, has_come, is_same_copy
from .kinds._classify import (
    CELL,
    CLASS,
    MET,
    PLAIN,
    PYTREE,
    STAND_INS,
    STATIC_ARRAY,
    VARIABLES,
    WRAPPER,
)
from .kinds._constants import SENTINEL, note_filled
from .kinds._containers import DictKind, SetKind
from .kinds._objects import UNREAD, Unread, touch
from .kinds._remembering import take_tracers


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


def add_real(graph: Graph, built: list[Any], objects: Sequence[Any]) -> Collection[int]:
    """Add what no copy is made of: classes, and what they and their methods lead to.

    Args:
        graph: That of a call.
        built: What the body gets, by node; completed.
        objects: The values of the call, by node.

    Returns:
        The nodes of these.
    """
    real: list[int] = []
    for i, (kind, part, _) in enumerate(graph):
        # The variables with which methods run; functions have copies of theirs.
        of_methods = kind is VARIABLES and bool(objects[i].names)
        if kind in STAND_INS and built[i] is MISSING:
            built[i] = kind.make(part, ())
        elif kind is CLASS or of_methods or built[i] is MISSING:
            built[i] = objects[i]
            real.append(i)
            if isinstance(objects[i], functools.singledispatchmethod):
                take_tracers(objects[i].dispatcher)
    return real


def put_stand_ins(graph: Graph, built: list[Any], real: Collection[int]) -> None:
    """Put what stands for some values in place of them, where no copy is made."""
    for i in real:
        kind, part, children = graph[i]
        for k, child in enumerate(children):
            if graph[child][0] in STAND_INS:
                kind.put(built[i], kind.key_of(part, k), built[child])


def take_back(
    graph: Graph, built: Sequence[Any], before: Contents, real: Collection[int]
) -> None:
    """Undo what the body did to what it met itself: the change the other way round."""
    for i in real:
        if i not in before:
            continue
        kind, part, _ = graph[i]
        if kind is STATIC_ARRAY:
            if not equal(before[i], kind.contents(built[i])):
                built[i][...] = part.value
            continue
        was, now = before[i], _contents_now(kind, built[i], before[i])
        if not equal(was, now):
            before_body, left = ((*state, kind.keys(*state)) for state in (was, now))
            change, values = _difference(i, kind, left, before_body, ())
            write_back([change], values, built)


def _contents_now(kind: Kind, x: Any, was: Split) -> Split:
    """What is in a value, but for what another thread brought meanwhile."""
    now = kind.contents(x)
    return _without_arrived(x, was, now) if kind is CLASS else now


def _without_arrived(cls: type, was: Split, now: Split) -> Split:
    """The contents of a class, with its old attributes for those that only arrived.

    Such as came with another copy of the class (see `kinds._classes._stamps`).

    Raises:
        ChangedMeanwhileError: Others than it had arrived.
    """
    old, new = dict(zip(*was, strict=True)), dict(zip(*now, strict=True))
    for key, value in new.items():
        before = old.get(key)
        if value is before:
            continue
        is_same = key in old and (
            same(before, value) or is_same_copy(cls, key[1], before, value)
        )
        if is_same or key[1] == STAMP:
            new[key] = before
        elif has_come(old, cls, key, value):
            raise ChangedMeanwhileError
    return tuple(new), tuple(new.values())


class NodeKey(NamedTuple):
    """Stands for a key of a dict or set of which the body has a copy."""

    node: int


class NewKeyError(Exception):
    """The body has made a key that holds data, or is known by its identity."""


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

    def place(self, path: str) -> str:
        """How the user writes the first thing that is changed.

        Args:
            path: How the value is reached in which it is.
        """
        key: Any = next(iter(self.keys or ()), "")
        if self.kind is CLASS:
            return f"{key[0].__qualname__}.{key[1]}"
        if self.kind is VARIABLES:
            return str(key)
        if isinstance(key, (int, KeyedValue)):
            return f"{path}[{getattr(key, 'value', key)!r}]"
        return f"{path}.{key}" if key else path or f"a {type(self.part).__name__}"


def _with_own_keys(
    change: Change, graph: Graph, built: Sequence[Any], real: Collection[int]
) -> Change:
    """A change of a dict or set by the caller's keys, in place of their copies.

    Raises:
        NewKeyError: The body has made a key that only it could find again.
    """
    nodes = {
        id(x): i
        for i, x in enumerate(built)
        if i not in real and (graph[i][0].changeable or graph[i][2])
    }

    def own(x: Any) -> Any:
        if id(x) in nodes:
            return NodeKey(nodes[id(x)])
        if type(x) is tuple:
            return tuple(map(own, x))
        if isinstance(change.kind, DictKind) and not _is_found_again(x):
            raise NewKeyError(type(x).__name__)
        return x

    def own_key(key: Any) -> Any:
        value = own(key.value)
        is_new = value is not key.value and _has_node(value)
        return KeyedValue((NodeKey, value), value) if is_new else key

    keys = None if change.keys is None else tuple(map(own_key, change.keys))
    return change._replace(keys=keys, removed=tuple(map(own_key, change.removed)))


def _has_node(key: object) -> bool:
    if isinstance(key, NodeKey):
        return True
    return type(key) is tuple and any(map(_has_node, key))


def _is_found_again(key: object) -> bool:
    """Whether a key is equal to others, or is passed to code itself."""
    own = (types.ModuleType, types.BuiltinFunctionType, FunctionType, type, enum.Enum)
    by_value = type(key).__hash__ is not object.__hash__
    return by_value or isinstance(key, own) or is_installed(type(key))


def find_changes(
    graph: Graph,
    before: Contents,
    built: Sequence[Any],
    donated: Collection[int] = (),
    real: Collection[int] = (),
) -> tuple[list[Change], list[Any]]:
    """What the body changed, and the new children of one change after the other.

    Args:
        graph: That of the arguments.
        before: What was in the clones before the body ran.
        built: The clones.
        donated: Ids of arrays whose memory is given away. If the body changes anything,
            these come back as new arrays, too: what is not changed must stay alive.
        real: The nodes of what the body meets itself.

    Raises:
        NewKeyError: The body has made a key that only it could find again.
    """
    found = _find(graph, before, built, (), real)
    if found[0] and donated:
        return _find(graph, before, built, donated, real)
    return found


def _find(
    graph: Graph,
    before: Contents,
    built: Sequence[Any],
    donated: Collection[int],
    real: Collection[int],
) -> tuple[list[Change], list[Any]]:
    changes: list[Change] = []
    values: list[Any] = []
    for i, (old_part, old) in before.items():
        kind = graph[i][0]
        part, children = _contents_now(kind, built[i], (old_part, old))
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
        if isinstance(kind, (DictKind, SetKind)):
            change = _with_own_keys(change, graph, built, real)
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


def with_values(
    changes: Iterable[Change], values: Iterable[Any]
) -> Iterator[tuple[Change, list[Any]]]:
    """Each change with its new children.

    Args:
        changes: What has changed.
        values: The new children, of one change after the other.
    """
    rest = iter(values)
    for change in changes:
        yield change, list(islice(rest, change.size))


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
    for change, children in with_values(changes, values):
        node, kind, part, keys, removed, ends, before, _ = change
        x = objects[node]
        if keys is not None:
            for key in removed:
                kind.remove(x, _of_call(key, objects))
            for key, child in zip(keys, children, strict=True):
                kind.put(x, _of_call(key, objects), child)
        elif ends is not None:
            kind.join(x, *ends, children)
        else:
            if _is_row(kind) and len(x) != before:
                raise AutoJitError(_OVERLAP.format(type(x).__name__))
            kind.replace(x, part, children)


def _of_call(key: Any, objects: Sequence[Any]) -> Any:
    """A key as the caller has it."""
    if isinstance(key, KeyedValue) and _has_node(key.value):
        return KeyedValue(key.key, _own_value(key.value, objects))
    return key


def _own_value(value: Any, objects: Sequence[Any]) -> Any:
    if isinstance(value, NodeKey):
        return objects[value.node]
    if type(value) is tuple:
        return tuple(_own_value(part, objects) for part in value)
    return value


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
    if issubclass(type(a), Unread):  # a stand-in: to ask for its value is noted
        return False
    if type(a) is type(b) is tuple:  # made anew by each run
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is type(b) and isinstance(a, (int, float, complex)):
        return number_key(a) == number_key(b)
    if type(a) is frozenset and type(b) is frozenset:
        return {(type(e), e) for e in a} == {(type(e), e) for e in b}
    return type(a) is type(b) and isinstance(a, (str, bytes)) and a == b


# ---- Attributes that a traced body writes where no kind opens attributes ----
#
# A logger, an enum's member, a function of `jax.jit` is a constant, and passed
# itself: JAX's tracers would stay in it. A partial function is made anew without
# attributes, and what is written there would be lost. Hardly any code does this, and
# Python allows it.


class UnopenedAttributes:
    """What the attributes of such values were before the body ran.

    Args:
        graph: That of the call.
        built: What the body gets.
    """

    def __init__(self, graph: Graph, built: Sequence[Any]) -> None:
        self._before = [
            # A sentinel was empty: what is there comes from a trace in another thread.
            (kind, x, {} if kind is SENTINEL else dict(own_attributes(x)))
            for (kind, _, _), x in zip(graph, built, strict=True)
            if _is_unopened(kind, x)
        ]
        self.filled = False

    def take_back(self) -> str:
        """Undo what the body wrote, if that can't be written in compiled code.

        It notes whether objects were filled that were taken for sentinels.

        Returns:
            What it wrote, in words; "" if all is well.
        """
        found = ""
        for kind, x, before in self._before:
            now = own_attributes(x)
            # A copy: another thread may write meanwhile.
            new = {k: v for k, v in dict(now).items() if before.get(k, before) is not v}
            if not new or _is_effect(kind, new):
                continue
            if kind is SENTINEL:
                self.filled = True
                note_filled(type(x))
            else:
                found = f"the attribute {next(iter(new))!r} of a {type(x).__name__}"
            for name in new:  # another thread may write others meanwhile
                now.pop(name, None)
            now.update({name: before[name] for name in new if name in before})
        return found


def _is_unopened(kind: Kind, x: Any) -> bool:
    if kind is MET or is_writable(kind) or isinstance(x, (type, types.ModuleType)):
        return False
    return bool(type(x).__dictoffset__) and not isinstance(x, Tracer)


def _is_effect(kind: Kind, new: dict[str, Any]) -> bool:
    """Whether new attributes hold no data: they are written when it is compiled."""
    if kind is SENTINEL or not isinstance(kind, ConstantKind):
        return False
    leaves = jax.tree.leaves(list(new.values()))
    return not any(isinstance(leaf, Tracer) for leaf in leaves)
