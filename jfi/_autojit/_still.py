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
    return Part(tuple(roots), tuple(_below(graph, roots))) if roots else None


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
        nodes: The value of each node.
        key: Of its settings.
        ids: Those of the nodes which no other object may be.
    """

    def __init__(
        self, nodes: tuple[Any, ...], settings: Any, single: tuple[Any, ...]
    ) -> None:
        self.nodes, self.key = nodes, KeyedValue(settings, None)
        self.ids = frozenset(map(id, single))
        self._sized: list[Sized] = []
        self._sizes: list[int] = []
        self._dicts: list[dict[str, Any]] = []
        self._names: list[str] = []
        self._columns: list[Callable[[], Iterable[Any]]] = []
        self._seen: list[Any] = []
        self._holds: Callable[[], bool] = bool

    def watch(self, watches: Sequence[Watches]) -> None:
        """Remember what the values hold at present."""
        dicts, lists, objects, sized, attributes, checks, calls = (
            list(_flat(column)) for column in zip(*watches, strict=True)
        )
        counted = [*dicts, *lists, *sized]
        self._sized = [x for x in counted if len(x)]
        self._sizes = list(map(len, self._sized))
        empty = [x for x in counted if not len(x)]
        self._holds = _written(empty, attributes, checks)
        # What is empty has its length alone. All that is alike is listed at once: a
        # list of each value for itself takes three times as long.
        dicts, lists = list(filter(None, dicts)), list(filter(None, lists))
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

    def is_same(self) -> bool:
        """Whether they hold the same objects."""
        try:
            if not self._holds():
                return False
            if self._sized and [*map(len, self._sized)] != self._sizes:
                return False
            if self._dicts and [*_flat(self._dicts)] != self._names:
                return False
            # Lists are as long as before: their lengths were compared. In one pass, and
            # without a function in Python for each: this is done at every call.
            return not self._columns or all(
                map(_is, _flat(map(_call, self._columns)), self._seen)
            )
        except (KeyError, ValueError, NameError):
            # An attribute of a class is gone; an empty cell; a global variable is gone.
            return False


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
    """

    def __init__(
        self,
        recognise: Callable[..., StillPart | None],
        kinds: Sequence[tuple[Any, Any]],
    ) -> None:
        self._recognise, self._kinds = recognise, kinds
        self._found: dict[Any, tuple[tuple[Any, ...], StillPart]] = {}
        self._last: tuple[tuple[Any, ...], StillPart] | None = None
        self._misses = 0

    def __call__(self, *roots: Any) -> StillPart | None:
        """What is found; None if the roots have another form."""
        last = self._last
        if last is not None and all(map(_is, roots, last[0])) and last[1].is_same():
            return last[1]
        key = tuple(map(id, roots))
        known = self._found.get(key)
        if known is not None and known[1].is_same():
            self._last = known
            return known[1]
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
        self._found[key] = roots, found
