"""What a compiled function returns: its result, and what it changed."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
from jax.core import Tracer

from .._errors import AutoJitError
from .._jax_internals import has_ended
from .._values.trees import is_object_of_tree
from ._changes import Change, write_back
from ._graphs import INPUT, LEAVES, Graph, Opened, rebuild
from ._messages import UnreturnedError, refuse_traced_text
from ._opening import open_values
from ._reading import Mode
from .kinds._base import Kind
from .kinds._classes import class_data
from .kinds._classify import (
    ARRAY,
    CLASS,
    COUNTED,
    DICT,
    GROWING,
    ITSELF,
    LIST,
    NAMED_TUPLE,
    NUMBER,
    PYTREE,
    SCALAR,
    TUPLE,
    VALUE,
)
from .kinds._objects import object_of


class Outcome:
    """A result taken apart, with changes of the arguments.

    What is no array travels in the tree structure of the compiled function's output.
    """

    __slots__ = ("delivery", "leaves")

    def __init__(self, delivery: "Delivery", leaves: Sequence[Any]) -> None:
        self.delivery, self.leaves = delivery, leaves

    def deliver(self, objects: Sequence[Any]) -> Any:
        """Write the changes back, and put the result together.

        Args:
            objects: The arguments of the call, by node.
        """
        return self.delivery.run(self.leaves, objects)

    def result(self, objects: Sequence[Any]) -> Any:
        """Put the result together, and leave the arguments as they are."""
        return rebuild(self.delivery.graph, self.leaves, objects)[0][1]


class Delivery:
    """How an outcome is delivered.

    Attributes:
        graph: That of the result (root 1) and the new contents (the roots after it).
        changes: Where the new contents belong.
        run: Does it.
    """

    def __init__(self, graph: Graph, changes: tuple[Change, ...]) -> None:
        self.graph, self.changes = graph, changes
        names: dict[str, Any] = {"object_of": object_of}
        written = _write_down(graph, changes, names)
        if written is None:
            self.run = self._run
        else:
            exec(compile(written, "<autojit outcome>", "exec"), names)
            self.run = names["deliver"]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Delivery):
            return NotImplemented
        return (self.graph, self.changes) == (other.graph, other.changes)

    def __hash__(self) -> int:
        return hash((self.graph, self.changes))

    def __repr__(self) -> str:
        return "Delivery()"  # of all: `==` is exact

    def _run(self, leaves: Sequence[Any], objects: Sequence[Any]) -> Any:
        roots = rebuild(self.graph, leaves, objects)[0]
        write_back(self.changes, roots[2:], objects)
        return roots[1]


jax.tree_util.register_pytree_node(
    Outcome, lambda outcome: (outcome.leaves, outcome.delivery), Outcome
)


def _write_down(
    graph: Graph, changes: Sequence[Change], names: dict[str, Any]
) -> str | None:
    """The source of a delivery that makes plain values only; None for others.

    Going through the graph at each call would cost some microseconds.

    Args:
        graph: As of `Delivery`.
        changes: As of `Delivery`.
        names: Gets what the source names, such as the classes of named tuples.
    """
    if _depth(graph) > MAX_DEPTH:
        return None
    # Three steps, as the text needs them: a text for each node that has no children;
    # then, from the last to the first, texts for those that have; then a line for each
    # change. Whatever has no text ends it: the graph is gone through at each call.
    leaves = itertools.count()
    texts: list[str] = []
    for i, (kind, part, _) in enumerate(graph):
        if kind is ARRAY:
            texts.append(f"leaves[{next(leaves)}]")
        elif kind is INPUT:
            texts.append(f"objects[{part}]")
        elif kind is VALUE and _is_literal(part[1]):
            texts.append(repr(part[1]))
        elif kind in (CLASS, ITSELF, NUMBER):
            texts.append(f"c{i}")
            names[f"c{i}"] = kind.make(part, ())
        else:
            texts.append("")
    # What two parents share must stay one object: a text would make it twice.
    shared = [
        n for n, k in Counter(c for node in graph for c in node[2]).items() if k > 1
    ]
    for i in reversed(range(1, len(graph))):  # children come after their parents
        kind, part, children = graph[i]
        if not texts[i]:
            below = [texts[c] for c in children]
            text = kind.display(part, below) if all(below) and i not in shared else ""
            if not text:
                return None
            texts[i] = text
    _, result, *values = (texts[c] for c in graph[0][2])
    lines = [f"    result = {result}"]
    rest = iter(values)
    for node, kind, _, keys, removed, ends, _, size in changes:
        if keys is None or removed:
            # What most bodies do: they append to a list.
            if kind not in (LIST, GROWING) or ends != (0, 0):
                return None
            new = "".join(f"{next(rest)}, " for _ in range(size))
            lines.append(f"    objects[{node}].extend(({new}))")
            continue
        for key in keys:
            target = kind.target(key)
            if not target:
                return None
            lines.append(f"    objects[{node}]{target} = {next(rest)}")
    return "\n".join(["def deliver(leaves, objects):", *lines, "    return result"])


def take_apart(
    name: str,
    result: Any,
    changes: Sequence[Change],
    values: Sequence[Any],
    clones: Sequence[Any],
    graph: Graph,
    kept: Sequence[bool],
) -> Any:
    """A result as JAX can return it: an `Outcome`, unless it is a tree of arrays.

    Args:
        name: That of the function.
        result: What it returned.
        changes: What it changed.
        values: The new contents of that.
        clones: What the body got for the arguments, by node.
        graph: That of the arguments.
        kept: Whether the caller's own object may be used after the call, by node.
    """
    if not changes and _is_new_array(result, clones):  # what most bodies do
        return result
    # What came in and goes out again is the caller's own object, unless arrays in it
    # are given away: if something was changed, new ones are written back into it.
    own = changes or all(kept)
    inputs = {
        id(clone): i
        for i, clone in enumerate(clones)
        if own and (graph[i][0].changeable or graph[i][2] or graph[i][0] is COUNTED)
    }
    # So is an array that goes from one attribute to another.
    leaves = {
        id(clones[i]): i
        for i, node in enumerate(graph)
        if node[0] in LEAVES and kept[i]
    }
    # In objects of trees floats are settings; an array in their place would be data.
    inputs |= {id(clones[i]): i for i in _floats_of_trees(graph, clones)}
    values = [_Original(leaves[id(v)]) if id(v) in leaves else v for v in values]
    inputs |= {id(v): v.node for v in values if isinstance(v, _Original)}
    try:
        opened = open_values(
            (None, result, *values),
            lambda: [name, "result", *("what it stores" for _ in values)],
            mode=Mode.RESULT,
            inputs=inputs,
            refused="returned",
        )
    except AutoJitError as error:
        raise UnreturnedError(str(error)) from None
    refuse_traced_text(name, opened)
    _refuse_what_keeps_data(name, opened)
    if not changes and _is_tree(opened.graph):
        return result
    return Outcome(Delivery(opened.graph, tuple(changes)), opened.leaves)


def _is_new_array(result: Any, clones: Sequence[Any]) -> bool:
    """Whether a result is one array that the body has computed."""
    computed = isinstance(result, Tracer) and not has_ended(result)
    return computed and not any(result is clone for clone in clones)


def _floats_of_trees(graph: Graph, clones: Sequence[Any]) -> Iterator[int]:
    """The nodes of Python's numbers in objects of `pytree` classes."""
    inside = {i for i, x in enumerate(clones) if is_object_of_tree(x)}
    for i, (kind, _, children) in enumerate(graph):  # children come after parents
        if i in inside:
            inside.update(children)
            if kind is SCALAR and getattr(clones[i], "weak_type", False):
                yield i


def _refuse_what_keeps_data(name: str, opened: Opened) -> None:
    """Refuse what is made in the body and would keep traced data.

    Raises:
        UnreturnedError: There is an exception, or a class that holds an array.
    """
    for (kind, _, _), x in zip(opened.graph, opened.objects, strict=True):
        if kind is INPUT:
            continue
        of_class: Any = class_data(x).values() if kind is CLASS else ()
        if isinstance(x, BaseException) or any(isinstance(v, Tracer) for v in of_class):
            of = getattr(x, "__name__", "") if kind is CLASS else type(x).__name__
            what = f"the class {of}" if kind is CLASS else f"a {of}"
            raise UnreturnedError(
                f"{name}() makes {what}, which compiled code can't make at each call.\n"
                "Make it outside the function, of what it returns."
            )


def _is_literal(value: Any) -> bool:
    """Whether the text of a value makes it again."""
    if type(value) is int:  # Python writes no number of thousands of digits
        return abs(value) < 2**64
    return type(value) in (bool, str, type(None))


MAX_DEPTH = 50  # of containers in containers, in one expression and for JAX


def _depth(graph: Graph) -> int:
    """How deep the values of a graph are nested."""
    depths = [1] * len(graph)
    for i in reversed(range(len(graph))):  # most children come after their parents
        depths[i] = 1 + max((depths[c] for c in graph[i][2]), default=0)
    return depths[0]


class _Original(NamedTuple):
    """Stands for the argument of a node."""

    node: int


def _is_tree(graph: Graph) -> bool:
    """Whether JAX returns a result as it is: containers of arrays, each met once."""
    if _depth(graph) > MAX_DEPTH:
        return False
    met: set[int] = set()
    below = [graph[0][2][1]]
    while below:
        i = below.pop()
        kind, part, children = graph[i]
        if kind is ARRAY or (kind is VALUE and part[1] is None):
            continue
        if i in met or not _keeps_order(kind, part):
            return False
        met.add(i)
        if kind is NAMED_TUPLE:
            children = children[:-1]
        elif kind is PYTREE:
            children = children[2:]
        below.extend(children)
    return True


def _keeps_order(kind: Kind, part: Any) -> bool:
    """Whether a container is one of JAX's; JAX sorts the keys of a dict."""
    if kind is DICT:
        return isinstance(part, tuple) and sorted(part) == list(part)
    if kind is NAMED_TUPLE:
        return hasattr(part, "_fields")
    return kind in (TUPLE, LIST, PYTREE)
