"""Opening the arguments of a call: a hashable graph of what they are, and the arrays.

A graph is a tuple of nodes; a node is its kind, its hashable part and the numbers of
its children. The same object reached twice is one node, so that sharing and cycles
are part of the graph. Two calls with equal graphs differ in their arrays alone.
"""

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jax.core import Tracer

from .._errors import AutoJitError
from .._trees import number_key
from ._classify import (
    ARRAY,
    CLASS,
    ITSELF,
    NUMBER,
    PYTREE,
    SCALAR,
    STATIC_ARRAY,
    RefusedError,
    kind_of,
)
from ._kinds import InputKind, Kind, Split


Node: TypeAlias = tuple[Kind, Any, tuple[int, ...]]
Graph: TypeAlias = tuple[Node, ...]

INPUT = InputKind()
_UNSHARED = (int, float, complex, str, bool, bytes, type(None))  # `is` says nothing


class Mode(enum.Enum):
    """What becomes of the numbers and arrays that are met."""

    TRACED = enum.auto()  # arguments: arrays and floats are traced
    FROZEN = enum.auto()  # arguments of which the code must know the floats
    RESULT = enum.auto()  # results: what is no JAX array is returned as it is
    LOOKED_AT = enum.auto()  # data of a class: passed itself, only its key is taken


class Opened(NamedTuple):
    """Arguments taken apart.

    Attributes:
        graph: What they are, without the arrays.
        leaves: The arrays and traced scalars, in the order of their nodes.
        objects: The value behind each node.
        has_scalars: Whether some of the leaves are scalars.
    """

    graph: Graph
    leaves: list[Any]
    objects: list[Any]
    has_scalars: bool


def open_values(
    values: Sequence[object],
    names: Callable[[], Sequence[str]],
    *,
    mode: Mode = Mode.TRACED,
    inputs: Mapping[int, int] | None = None,
    refused: str = "got",
) -> Opened:
    """Take values apart, breadth first.

    Args:
        values: The values; together they are node 0.
        names: What the user calls them, asked for when one is refused.
        mode: What becomes of the numbers.
        inputs: In results, the node of each argument that may come back, by its id.
        refused: The beginning of the sentence that refuses a value.

    Raises:
        AutoJitError: A value can't be opened; the message has its path.
    """
    objects: list[Any] = [tuple(values)]
    modes = [mode]
    memo: dict[tuple[bool, int], int] = {}
    nodes: list[Node] = []
    leaves: list[Any] = []
    has_scalars = False

    def number(child: Any, child_mode: Mode) -> int:
        # A class is the same node in every mode.
        key = (child_mode is Mode.LOOKED_AT and not isinstance(child, type), id(child))
        found = memo.get(key)
        if found is None:
            found = len(objects)
            objects.append(child)
            modes.append(child_mode)
            if type(child) not in _UNSHARED:
                memo[key] = found
        return found

    for i, x in enumerate(objects):  # the list grows meanwhile
        if inputs is not None and id(x) in inputs:
            nodes.append((INPUT, inputs[id(x)], ()))
            continue
        try:
            kind = _kind_in_mode(x, modes[i])
        except RefusedError as error:
            path = place(nodes, objects, i, names())
            text = str(error).replace("{path}", path)
            raise AutoJitError(f"{names()[0]}() {refused} {text}") from None
        if kind is ARRAY or kind is SCALAR:
            leaves.append(x)
            has_scalars = has_scalars or kind is SCALAR
        part, children = kind.split(x)
        if kind.keyed and mode is Mode.RESULT:
            children = ()
        numbers: tuple[int, ...] = ()
        if children:
            modes_below = _modes_below(kind, part, len(children), modes[i])
            numbers = tuple(map(number, children, modes_below))
        nodes.append((kind, part, numbers))
    return Opened(tuple(nodes), leaves, objects, has_scalars)


def _kind_in_mode(x: Any, mode: Mode) -> Kind:
    try:
        kind = kind_of(x)
    except RefusedError:
        if mode is Mode.LOOKED_AT:  # a constant for the code, like a global
            return ITSELF
        raise
    if mode is Mode.TRACED:
        return kind
    if kind is SCALAR:
        return NUMBER
    if kind is ARRAY and mode is not Mode.FROZEN:
        if isinstance(x, np.ndarray):
            return STATIC_ARRAY
        return ITSELF if mode is Mode.LOOKED_AT else ARRAY
    return kind


def _modes_below(kind: Kind, part: Any, n: int, mode: Mode) -> list[Mode]:
    if kind.keyed:
        return [Mode.LOOKED_AT] * n
    if mode is not Mode.TRACED:
        return [mode] * n
    frozen = kind.frozen(part, n)
    return [Mode.FROZEN] * frozen + [Mode.TRACED] * (n - frozen)


def place(
    graph: Sequence[Node], objects: Sequence[Any], i: int, names: Sequence[str]
) -> str:
    """The path of a node as the user would write it, from the names of the roots."""
    steps: list[str] = []
    while i:
        above = next(p for p, (_, _, children) in enumerate(graph) if i in children)
        kind, part, children = graph[above]
        k = children.index(i)
        if above == 0:
            steps.append(names[k])
        else:
            steps.append(kind.step(part, k, [objects[c] for c in children]))
        if steps[-1] and steps[-1][0] not in ".[(":  # a captured variable: a new root
            break
        i = above
    return "".join(reversed(steps))


_MISSING = object()


def rebuild(
    graph: Graph, leaves: Iterable[Any], inputs: Sequence[Any] = ()
) -> list[Any]:
    """Make the values that a graph describes, around new leaves: one per node.

    Args:
        graph: The graph of `open_values`.
        leaves: One value per leaf.
        inputs: In results, the arguments that may come back.

    Raises:
        AutoJitError: A cycle runs through a value that Python can't make empty.
    """
    leaf = iter(leaves)
    built = [_MISSING] * len(graph)
    for i, (kind, part, _) in enumerate(graph):
        if kind is ARRAY or kind is SCALAR:
            built[i] = next(leaf)
        elif kind is INPUT:
            built[i] = inputs[part]
    started, done = (
        [b is not _MISSING for b in built],
        [b is not _MISSING for b in built],
    )

    late: list[int] = []

    def shell(i: int) -> Any:
        kind, part, children = graph[i]
        if built[i] is _MISSING:
            built[i] = kind.make(part, [shell(c) for c in children[: kind.cells(part)]])
        return built[i]

    def finish(i: int) -> None:
        kind, part, children = graph[i]
        if kind.reads and not all(done[c] for c in children):
            raise _endless(graph, i)
        values = [built[c] for c in children]
        missing = any(v is _MISSING for v in values)  # a value around this one
        if kind.changeable and missing:
            late.append(i)
            return
        if kind.changeable:
            kind.fill(built[i], part, values)
        elif missing:
            raise _endless(graph, i)
        else:
            built[i] = kind.make(part, values)
        done[i] = True

    # Depth first, children before parents, without recursion: lists may be long chains.
    stack = [(0, False)]
    while stack:
        i, children_done = stack.pop()
        kind, part, children = graph[i]
        if children_done:
            finish(i)
        elif kind.keyed and not started[i]:
            built[i], started[i], done[i] = kind.make(part, ()), True, True
        elif not started[i]:
            started[i] = True
            if kind.changeable:
                shell(i)
            stack.append((i, True))
            stack.extend((c, False) for c in reversed(children))
    for i in late:
        kind, part, children = graph[i]
        kind.fill(built[i], part, [built[c] for c in children])
    return built


def _endless(graph: Graph, i: int) -> AutoJitError:
    name = graph[i][1].__name__ if isinstance(graph[i][1], type) else "value"
    return AutoJitError(
        f"an argument holds a {name} that contains itself, which can't be copied.\n"
        "Pass its parts as separate arguments."
    )


Contents: TypeAlias = dict[int, Split]
_WRITABLE = (PYTREE, CLASS, STATIC_ARRAY)


def contents(graph: Graph, built: Sequence[Any]) -> Contents:
    """What is in every clone that the body of a function can change."""
    return {
        i: kind.contents(built[i])
        for i, (kind, _, _) in enumerate(graph)
        if (kind.changeable or kind in _WRITABLE) and built[i] is not _MISSING
    }


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
            kind.empty(x)
            kind.fill(x, part, [held.objects[c] for c in children])
    return now, node


def changed(graph: Graph, before: Contents, after: Contents) -> tuple[int, str] | None:
    """The first change: the node, and the step from it to what was written."""
    for i, (old_part, old) in before.items():
        new_part, new = after[i]
        if not _equal((old_part, old), (new_part, new)):
            kind = graph[i][0]
            return i, _changed_step(
                [(kind.step(old_part, k, old), child) for k, child in enumerate(old)],
                [(kind.step(new_part, k, new), child) for k, child in enumerate(new)],
            )
    return None


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
    return type(a) is type(b) and isinstance(a, (str, bytes, frozenset)) and a == b
