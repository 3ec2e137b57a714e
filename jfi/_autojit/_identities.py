"""Parts of a call that stay as they are: read once, and then recognised by identity.

A model of linen or an optimizer of optax is a hundred objects that never change. Each
kind says what its values list (`Kind.watches`): while all of them list the very same
objects, the part is what it was.
"""

import functools
import itertools
import operator
import types
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any, NamedTuple

from .._values import KeyedValue, is_user_function, is_user_module
from ._graphs import Graph, Opened
from .kinds._base import Watches
from .kinds._variables import Variables


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
    candidates = sorted(above & still)
    for root in candidates:  # it grows meanwhile
        # Callers make it anew, or it is the compiled function's own: what is in it.
        if type(opened.objects[root]) in (tuple, types.CellType):
            candidates += [c for c in graph[root][2] if c not in candidates]
            continue
        large = len(_below(graph, [root])) >= MIN_NODES
        if large and _is_root(opened.objects[root]):
            roots.append(root)
    return _reached_from_outside(graph, roots)


def _reached_from_outside(graph: Graph, roots: list[int]) -> Part | None:
    """The part below roots, without those that only the part itself leads to.

    Such as a function in a cell that it captured: who looks at the part from outside
    never gets to it.
    """
    while roots:
        nodes = _below(graph, roots)
        outside = set(range(len(graph))).difference(nodes)
        reached = {child for i in outside for child in graph[i][2]}
        if reached.issuperset(roots):
            return Part(tuple(roots), tuple(nodes))
        roots = [root for root in roots if root in reached]
    return None


def _is_root(x: Any) -> bool:
    """Whether to remember an object, which keeps it alive: not a user's closure."""
    if isinstance(x, types.FunctionType):
        return not is_user_function(x)
    return not isinstance(x, (type, dict, types.CellType, Variables))


def _has_library_class(x: Any) -> bool:
    """Whether the class of an object comes from a library, or one of its bases does."""
    classes = type(x).__mro__[:-1]
    return any(not is_user_module(cls.__module__) for cls in classes)


def _still_nodes(opened: Opened) -> set[int]:
    """The nodes that watches are about, and of all that is in them."""
    graph, objects = opened.graph, opened.objects
    parents: list[list[int]] = [[] for _ in graph]
    for i, (_, _, children) in enumerate(graph):
        for child in children:
            parents[child].append(i)
    moving = {0} | {
        i
        for i, (kind, part, _) in enumerate(graph)
        if i
        and (
            kind.watches(objects[i], part) is None or not _has_library_class(objects[i])
        )
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


class StillPart:
    """What a part was, when it was looked at.

    Attributes:
        nodes: The value of each node, the roots first.
        key: Of its settings.
        ids: Those of the nodes which no other object may be.
        holds: Whether the values hold the same objects, once they are watched. An error
            says that they don't: an attribute of a class is gone, a cell is empty, a
            global variable is gone.
    """

    def __init__(
        self, nodes: tuple[Any, ...], settings: Any, single: tuple[Any, ...]
    ) -> None:
        self.nodes, self.key = nodes, KeyedValue(settings, None)
        self.ids = frozenset(map(id, single))
        self.holds: Callable[[], bool] = bool

    def watch(self, watches: Sequence[Watches]) -> None:
        """Remember what the values hold at present."""
        dicts, lists, objects, sized, attributes, checks, calls = (
            list(_flat(column)) for column in zip(*watches, strict=True)
        )
        counted = [*dicts, *lists, *sized]
        # What is empty has its length alone.
        empty = [x for x in counted if not len(x)]
        listed = _Listed(
            [x for x in counted if len(x)],
            list(filter(None, dicts)),
            list(filter(None, lists)),
            objects,
            calls,
        )
        if listed.is_needed:
            checks.append(listed.is_same)
        self.holds = _written(empty, attributes, checks)


class _Listed:
    """What is compared in lists, with a list of what it was.

    All that is alike is listed at once: a list of each value for itself takes three
    times as long.
    """

    def __init__(
        self,
        sized: list[Sized],
        dicts: list[dict[Any, Any]],
        lists: list[list[Any]],
        objects: list[object],
        calls: list[Callable[[], Iterable[Any]]],
    ) -> None:
        self._sized = sized
        self._sizes = list(map(len, sized))
        self._dicts = [x for x in dicts if all(type(key) is str for key in x)]
        self._names = list(_flat(self._dicts))
        others = [x for x in dicts if not all(type(key) is str for key in x)]
        columns: list[Callable[[], Iterable[Any]]] = [
            functools.partial(_flat, others),
            functools.partial(_values, dicts),
            functools.partial(_flat, lists),
            functools.partial(map, type, objects),
            functools.partial(map, _DICT, objects),
            *calls,
        ]
        listed = [(column, list(column())) for column in columns]
        self._columns = [column for column, seen in listed if seen]
        self._seen = list(_flat(seen for _, seen in listed))
        self.is_needed = bool(sized or self._columns)

    def is_same(self) -> bool:
        """Whether all is as it was."""
        if self._sized and [*map(len, self._sized)] != self._sizes:
            return False
        if self._dicts and [*_flat(self._dicts)] != self._names:
            return False
        # Lists are as long as before: their lengths were compared. In one pass, and
        # without a function in Python for each: this is done at every call.
        return not self._columns or all(
            map(_is, _flat(map(_call, self._columns)), self._seen)
        )


def _written(
    empty: Sequence[Sized],
    attributes: Sequence[tuple[Any, str]],
    checks: Sequence[Callable[[], bool]],
) -> Callable[[], bool]:
    """A function that tells whether all is as it is now.

    For one function with a variable and two cells it reads

        def holds(e0, o0, v0, o1, v1, o2, v2, c0):
            return not e0 and o0.cell_contents is v0 and ... and c0()

    with what it looks at as defaults. That takes a fifth of the time of lists of it.
    """
    held: dict[str, Any] = {f"e{k}": x for k, x in enumerate(empty)}
    conditions = [f"not {name}" for name in held]
    for k, (x, name) in enumerate(attributes):
        held |= {f"o{k}": x, f"v{k}": getattr(x, name)}
        conditions.append(f"o{k}.{name} is v{k}")
    for k, check in enumerate(checks):
        held[f"c{k}"] = check
        conditions.append(f"c{k}()")
    text = f"def holds({', '.join(held)}): return {' and '.join(conditions) or True}"
    return types.FunctionType(_code(text), {}, "holds", tuple(held.values()))


@functools.lru_cache(maxsize=128)
def _code(text: str) -> types.CodeType:
    """The code of a function: that of the next part of this form is the same."""
    made: dict[str, Any] = {}
    exec(compile(text, "<autojit part>", "exec"), made)
    code: types.CodeType = made["holds"].__code__
    return code


_is, _call = operator.is_, operator.call
_flat = itertools.chain.from_iterable
_DICT = operator.attrgetter("__dict__")


def _values(dicts: Iterable[dict[Any, Any]]) -> Iterable[Any]:
    return _flat(map(dict.values, dicts))


class PartRecogniser:
    """Recognises a part of calls of one form.

    Args:
        recognise: Takes the roots apart, if they have the form.
        kinds: The kind and the part of each node, in their order.

    Attributes:
        last: What was found last. If its roots are those of a call, and it holds, it is
            what `find` returns; to ask so at the place takes half the time of a call.
    """

    def __init__(
        self,
        recognise: Callable[..., StillPart | None],
        kinds: Sequence[tuple[Any, Any]],
    ) -> None:
        self._recognise, self._kinds = recognise, kinds
        self._found: dict[Any, StillPart] = {}
        self.last: StillPart | None = None
        self._misses = 0

    def find(self, *roots: Any) -> StillPart | None:
        """What is found; None if the roots have another form."""
        key = tuple(map(id, roots))
        known = self._found.get(key)
        if known is not None and _holds(known):
            self.last = known
            return known
        found = self._recognise(*roots)
        if found is not None and self._misses < MAX_MISSES:
            self._misses += 1
            self._remember(key, roots, found)
        elif known is not None:
            self._found.pop(key, None)
        return found

    def _remember(self, key: Any, roots: tuple[Any, ...], found: StillPart) -> None:
        pairs = zip(self._kinds, found.nodes, strict=True)
        watches = [kind.watches(x, part) for (kind, part), x in pairs]
        # Functions of a library stay what they are, and so do their attributes.
        fixed = {
            id(x.__dict__)
            for x in found.nodes
            if isinstance(x, types.FunctionType) and not is_user_function(x)
        }
        found.watch(
            [w for w, x in zip(watches, found.nodes, strict=True) if id(x) not in fixed]
        )
        again = self._recognise(*roots)  # another thread may have written meanwhile
        if again is None or again.key != found.key:
            return
        if not all(map(operator.is_, again.nodes, found.nodes)):
            return
        if len(self._found) >= MAX_FOUND:
            self._found.clear()
        self._found[key] = found


def _holds(part: StillPart) -> bool:
    try:
        return part.holds()
    except (KeyError, ValueError, NameError):
        return False
