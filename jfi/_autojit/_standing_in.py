"""Which values of a function's calls have stand-ins: see `kinds._stand_ins`.

They are known by their paths, as the user would write them: `self.calls`. A trace that
writes over an int, or appends to a list, is made once more with stand-ins. If it does
anything else with them, these values are settings for good.
"""

import contextlib
import re
from collections.abc import Callable, Collection, Generator, Iterator, Sequence

from .._values import used_otherwise
from ._changes import Change
from ._graphs import Graph, Opened, paths
from .kinds._classify import COUNTED, LIST, STAND_INS, VALUE
from .kinds._objects import ObjectKind


class StandIns:
    """The paths of the values that have stand-ins in the calls of one function."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._read: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._paths)

    def add(self, opened: Opened, nodes: Sequence[int], names: Sequence[str]) -> bool:
        """Let nodes of a call have stand-ins from now on; whether any have none yet."""
        new = self._new(opened, nodes, names)
        self._paths |= new
        return bool(new)

    def may_have(
        self, opened: Opened, nodes: Sequence[int], names: Sequence[str]
    ) -> bool:
        """Whether `add` would add some."""
        return bool(self._new(opened, nodes, names))

    def _new(
        self, opened: Opened, nodes: Sequence[int], names: Sequence[str]
    ) -> set[str]:
        if opened.read.whole:  # attributes may be read by names that nobody sees
            return set()
        used = frozenset[str]().union(*map(used_otherwise, opened.read.codes))
        where = paths(opened.graph, opened.objects, names)
        new = {where[i] for i in nodes} - self._read - self._paths
        return {x for x in new if _is_free(x, used, names)}

    def give_up(self, opened: Opened, names: Sequence[str]) -> bool:
        """Have none in calls like this one: they are read; whether there were any."""
        where = paths(opened.graph, opened.objects, names)
        read = {where[i] for i, node in enumerate(opened.graph) if node[0] in STAND_INS}
        self._read |= read
        self._paths -= read
        return bool(read)

    @contextlib.contextmanager
    def without_those_of(self, opened: Opened, names: Sequence[str]) -> Generator[None]:
        """A block without those of a call, for good if it raises no error.

        C code has refused the stand-ins, then, and takes the values.
        """
        before = self._paths.copy(), self._read.copy()
        self.give_up(opened, names)
        try:
            yield
        except Exception:
            self._paths, self._read = before
            raise

    def put_into(
        self,
        opened: Opened,
        names: Sequence[str],
        again: Callable[[Collection[int]], Opened],
    ) -> Opened:
        """A call with its stand-ins.

        Args:
            opened: The call without any.
            names: The user's names of its arguments.
            again: Takes the call apart again, with stand-ins for the lists with such
                ids.
        """
        where = paths(opened.graph, opened.objects, names)
        growing = {
            id(opened.objects[i])
            for i, (kind, _, _) in enumerate(opened.graph)
            if kind is LIST and where[i] in self._paths
        }
        if growing:
            opened = again(growing)
            where = paths(opened.graph, opened.objects, names)
        graph = tuple(
            (COUNTED, None, ()) if where[i] in self._paths and is_int(node) else node
            for i, node in enumerate(opened.graph)
        )
        return opened._replace(graph=graph)

    def clear(self) -> None:
        """Forget all."""
        self._paths.clear()
        self._read.clear()


def _is_free(path: str, used: Collection[str], names: Sequence[str]) -> bool:
    """Whether no code uses what is at a path otherwise than to change it.

    Args:
        path: As the user writes it.
        used: The names that code uses otherwise.
        names: Those of the parameters, which may be read in the place of a variable.
    """
    name = _name_in(path)
    is_variable = "." not in path
    return name not in {"", *used} and not (is_variable and name in names)


def _name_in(path: str) -> str:
    """The last variable or attribute in a path; nothing where there is another step.

    >>> _name_in("self.log['loss']"), _name_in("n"), _name_in("self.rows[0]['k']")
    ('log', 'n', '')
    """
    found = re.fullmatch(r"(?:.*\.)?([^\W\d]\w*)(\['[^']*'\])?", path)
    return found[1] if found else ""


def are_in(opened: Opened) -> bool:
    """Whether a call has stand-ins."""
    return any(kind in STAND_INS for kind, _, _ in opened.graph)


def is_int(node: tuple[object, ...]) -> bool:
    """Whether a node is an int that is a setting."""
    kind, part, _ = node
    return kind is VALUE and isinstance(part, tuple) and part[0] is int


def changed_only(
    graph: Graph, changes: Sequence[Change], real: Collection[int]
) -> Iterator[int]:
    """The nodes of ints that were written over, and of lists that only grew.

    Args:
        graph: That of the call.
        changes: What the body changed.
        real: The nodes of what it met itself.
    """
    for change in changes:
        kind, part, children = graph[change.node]
        if kind is LIST and change.keys is None and change.ends == (0, 0):
            yield change.node
        # Such as a Counter, which is replaced as a whole.
        as_whole = isinstance(kind, ObjectKind) and change.keys is None
        for k, child in enumerate(children):
            is_new = kind.key_of(part, k) in (change.keys or ())
            if is_int(graph[child]) and (
                is_new or (as_whole and change.node not in real)
            ):
                yield child
