"""Parts of a call that stay as they are: looked at once, and then told by identity.

A model of linen or an optimizer of optax is a hundred objects that never change. Each
kind says what its values list (`Kind.watches`): while all of them list the very same
objects, the part is what it was.
"""

import itertools
import operator
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .._code import is_user_module
from .._trees import Constant
from ._graphs import Graph, Opened
from ._kinds import Watches
from ._outside_kinds import Variables
from ._reading import is_users


MIN_NODES = 8  # of a part: fewer are looked at in the same time
MAX_FOUND = 16  # values that are remembered for one part of a form of calls
MAX_MISSES = 64  # after which a part is no longer remembered: it changes all the time


class Part(NamedTuple):
    """The part of a graph that stays as it is, as a rule.

    Attributes:
        roots: The nodes through which it is reached, and nothing else of it.
        nodes: All its nodes, each after one that holds it.
    """

    roots: tuple[int, ...]
    nodes: tuple[int, ...]


def still_part(opened: Opened) -> Part | None:
    """What is worth to be remembered, if there is something."""
    graph = opened.graph
    still = _still_nodes(opened)
    above = {c for i in range(len(graph)) if i not in still for c in graph[i][2]}
    roots: list[int] = []
    for root in sorted(above & still):
        large = len(_below(graph, [root])) >= MIN_NODES
        if large and _is_root(opened.objects[root]):
            roots.append(root)
    return Part(tuple(roots), tuple(_below(graph, roots))) if roots else None


def _is_root(x: Any) -> bool:
    """Whether to remember an object, which keeps it alive: not a user's closure."""
    if isinstance(x, types.FunctionType):
        return not is_users(x)
    return not isinstance(x, (type, dict, types.CellType, Variables))


def _is_of_library(x: Any) -> bool:
    """Whether the class of an object comes from a library, or one of its bases does."""
    classes = type(x).__mro__[:-1]
    return any(not is_user_module(cls.__module__) for cls in classes)


def _still_nodes(opened: Opened) -> set[int]:
    """The nodes that watches tell of, and of all that is in them."""
    graph, objects = opened.graph, opened.objects
    parents: list[list[int]] = [[] for _ in graph]
    for i, (_, _, children) in enumerate(graph):
        for child in children:
            parents[child].append(i)
    moving = {0} | {
        i
        for i, (kind, part, _) in enumerate(graph)
        if i
        and (kind.watches(objects[i], part) is None or not _is_of_library(objects[i]))
    }
    waiting = list(moving)
    while waiting:
        new = [i for i in parents[waiting.pop()] if i not in moving]
        moving.update(new)
        waiting += new
    return set(range(len(graph))) - moving


def _below(graph: Graph, roots: Sequence[int]) -> list[int]:
    """Nodes and all that they hold, each after one that holds it."""
    found = dict.fromkeys(roots)
    waiting = list(roots)
    for i in waiting:  # it grows meanwhile
        new = [c for c in dict.fromkeys(graph[i][2]) if c not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return waiting


class Found:
    """What a part was, when it was looked at.

    Attributes:
        nodes: The value of each node.
        key: Of its settings.
        ids: Those of the nodes which no other object may be.
    """

    def __init__(
        self, nodes: tuple[Any, ...], settings: Any, single: tuple[Any, ...]
    ) -> None:
        self.nodes, self.key = nodes, Constant(settings, None)
        self.ids = frozenset(map(id, single))
        self._watches = Watches()
        self._sizes: list[int] = []
        self._seen: list[Any] = []

    def watch(self, watches: Sequence[Watches]) -> None:
        """Remember what the values list at present."""
        lists = [w for each in watches for w in each.lists]
        sized = [x for each in watches for x in each.sized]
        self._watches = Watches(lists, sized)
        self._sizes = list(map(len, sized))
        self._seen = list(self._now())

    def _now(self) -> Iterable[Any]:
        return itertools.chain.from_iterable(map(operator.call, self._watches.lists))

    def is_same(self) -> bool:
        """Whether they list the same objects."""
        try:
            return list(map(len, self._watches.sized)) == self._sizes and all(
                map(operator.is_, self._now(), self._seen)
            )
        except KeyError:  # an attribute of a class is gone
            return False


class PartRecogniser:
    """Recognises a part of calls of one form.

    Args:
        recognise: Takes the roots apart, if they have the form.
        kinds: The kind and the part of each node, in their order.
    """

    def __init__(
        self,
        recognise: Callable[..., Found | None],
        kinds: Sequence[tuple[Any, Any]],
    ) -> None:
        self._recognise, self._kinds = recognise, kinds
        self._found: dict[Any, tuple[tuple[Any, ...], Found]] = {}
        self._misses = 0

    def __call__(self, *roots: Any) -> Found | None:
        """What is found; None if the roots have another form."""
        key = tuple(map(id, roots))
        known = self._found.get(key)
        if known is not None and known[1].is_same():
            return known[1]
        found = self._recognise(*roots)
        if found is not None and self._misses < MAX_MISSES:
            self._misses += 1
            self._remember(key, roots, found)
        elif known is not None:
            self._found.pop(key, None)
        return found

    def _remember(self, key: Any, roots: tuple[Any, ...], found: Found) -> None:
        pairs = zip(self._kinds, found.nodes, strict=True)
        found.watch([kind.watches(x, part) for (kind, part), x in pairs])
        again = self._recognise(*roots)  # another thread may have written meanwhile
        if again is None or again.key != found.key:
            return
        if not all(map(operator.is_, again.nodes, found.nodes)):
            return
        if len(self._found) >= MAX_FOUND:
            self._found.clear()
        self._found[key] = roots, found
