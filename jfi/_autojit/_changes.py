"""What the body of a function changed, and how it is written back."""

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from jax.core import Tracer

from .._trees import number_key
from ._classify import CLASS, PYTREE, STATIC_ARRAY
from ._kinds import Kind, Split
from ._opening import MISSING, Graph, Mode, Opened, open_values


Contents: TypeAlias = dict[int, Split]
_WRITABLE = (PYTREE, CLASS, STATIC_ARRAY)


def contents(graph: Graph, built: Sequence[Any]) -> Contents:
    """What is in every clone that the body of a function can change."""
    return {
        i: kind.contents(built[i])
        for i, (kind, _, _) in enumerate(graph)
        if (kind.changeable or kind in _WRITABLE) and built[i] is not MISSING
    }


class Change(NamedTuple):
    """New contents of an argument, of a captured variable, or of something inside.

    Attributes:
        node: Its node among the arguments.
        kind: Its kind.
        part: What it is now.
        positions: Which of its children are new; None: all are to be replaced.
        size: How many children are new.
    """

    node: int
    kind: Kind
    part: Any
    positions: tuple[int, ...] | None
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
        part, children = kind.contents(built[i])
        given = [k for k, child in enumerate(children) if id(child) in donated]
        if not given and _equal((old_part, old), (part, children)):
            continue
        positions = None
        if part == old_part and len(children) == len(old):
            pairs = enumerate(zip(old, children, strict=True))
            new = [k for k, (a, b) in pairs if k in given or not _same(a, b)]
            if all(kind.puts(part, k) for k in new):
                positions, children = tuple(new), [children[k] for k in new]
        changes.append(Change(i, kind, part, positions, len(children)))
        values += children
    return changes, values


def write_back(
    changes: Iterable[Change], values: Iterable[Any], objects: Sequence[Any]
) -> None:
    """Give the arguments of a call their new contents.

    Args:
        changes: What has changed.
        values: The new children, of one change after the other.
        objects: The arguments, by node.
    """
    rest = iter(values)
    for node, kind, part, positions, size in changes:
        children = list(islice(rest, size))
        if positions is None:
            kind.replace(objects[node], part, children)
        else:
            for k, child in zip(positions, children, strict=True):
                kind.put(objects[node], part, k, child)


def refused_change(
    graph: Graph, before: Contents, built: Sequence[Any]
) -> tuple[int, str] | None:
    """The first change that can't be written back: the node, and the step from it."""
    for i, (old_part, old) in before.items():
        kind = graph[i][0]
        if kind is CLASS or kind is STATIC_ARRAY:
            part, new = kind.contents(built[i])
            if not _equal((old_part, old), (part, new)):
                old_steps = [
                    (kind.step(old_part, k, old), c) for k, c in enumerate(old)
                ]
                new_steps = [(kind.step(part, k, new), c) for k, c in enumerate(new)]
                return i, _changed_step(old_steps, new_steps)
    return None


def restore_classes(graph: Graph, built: Sequence[Any], before: Contents) -> None:
    """Undo what the body did to classes, which it met themselves."""
    for i, (names, values) in before.items():
        if graph[i][0] is CLASS:
            CLASS.restore(built[i], names, values)


def held_by_classes(graph: Graph, built: Sequence[Any]) -> Opened:
    """What the attributes of classes hold, which the body meets itself."""
    classes = [built[i] for i, (kind, _, _) in enumerate(graph) if kind is CLASS]
    return open_values((None, *classes), list, mode=Mode.LOOKED_AT)


def take_back_tracers(held: Opened, before: Contents) -> tuple[Opened, int] | None:
    """Undo changes of what classes hold if the body left data there.

    Other changes are effects, which happen when the function is compiled.

    Returns:
        What the classes held, and the node of the data among it; None without any.
    """
    now = open_values(held.objects[0], list, mode=Mode.LOOKED_AT)
    known = set(map(id, held.objects))
    left = (
        i
        for i, x in enumerate(now.objects)
        if isinstance(x, Tracer) and id(x) not in known
    )
    node = next(left, None)
    if node is None:
        return None
    for i, was in before.items():
        kind, part, children = held.graph[i]
        x = held.objects[i]
        if kind.changeable and not _equal(was, kind.contents(x)):
            kind.replace(x, part, [held.objects[c] for c in children])
    return now, node


def _equal(one: Split, two: Split) -> bool:
    (part, old), (new_part, new) = one, two
    same = len(old) == len(new) and all(map(_same, old, new))
    return same and bool(part == new_part)


def _changed_step(old: list[tuple[str, Any]], new: list[tuple[str, Any]]) -> str:
    for (old_step, a), (new_step, b) in zip(old, new, strict=False):
        if old_step != new_step:
            return old_step if len(new) < len(old) else new_step
        if not _same(a, b):
            return new_step
    if len(old) == len(new):
        return ""
    step = max(old, new, key=len)[min(len(old), len(new))][0]
    return "" if step[1:-1].isdigit() else step  # a list: say it of the whole


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is type(b) and isinstance(a, (int, float, complex)):
        return number_key(a) == number_key(b)
    if type(a) is frozenset and type(b) is frozenset:
        return {(type(e), e) for e in a} == {(type(e), e) for e in b}
    return type(a) is type(b) and isinstance(a, (str, bytes)) and a == b
