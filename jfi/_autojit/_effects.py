"""What the body of a function changed that is not written back at each call.

It meets classes, and what their methods read outside, themselves. Data can't be left
there, and not in classes that came with an argument: that is refused. All else that it
changes there, and in lists, dicts ... that global variables hold, is an effect, like a
print: it happens when the function is compiled, as it does under `jax.jit`, and such a
variable is not watched. Objects that global variables hold are written at each call.

So are variables that the code uses otherwise than to count in them (`used_names`): its
results would be those of the first call. In classes nothing can be written at each
call, so there such code runs uncompiled.
"""

import collections
import functools
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from jax.core import Tracer

from .._values import is_traced_text
from ._changes import Change, Contents, equal, is_plain, same
from ._graphs import Graph, Opened
from ._keeping import ChangedMeanwhileError
from ._opening import look_at
from ._reading import Read
from ._watching import UnwatchedError, stale
from .kinds._base import RefusedError
from .kinds._classes import STAMP, class_data, has_come, is_same_copy
from .kinds._classify import CLASS, PLAIN, STATIC_ARRAY, VARIABLES
from .kinds._dispatch import take_tracers
from .kinds._variables import Namespace, Variables


# A variable by the id of its module's dict, or of its class, and its name.
Root = tuple[int, str]


class EffectsError(Exception):
    """The body changed variables of modules or classes, without leaving data in them.

    Attributes:
        variables: Which.
    """

    def __init__(self, variables: Iterable[Root]) -> None:
        super().__init__()
        self.variables = frozenset(variables)


def roots_of(opened: Opened) -> dict[int, Root]:
    """Through which variable of a module or class each node outside is met first.

    Of variables that hold a list, a dict ...: what the body changes there may be a
    count. Objects and functions have more to watch than that.
    """
    roots: dict[int, Root] = {}
    for i, (kind, part, children) in enumerate(opened.graph):
        below: list[Root] = []
        if kind is VARIABLES:
            below = [(part[0].key, name) for name in part[1]]
            roots.setdefault(i, (part[0].key, ""))
        elif kind is CLASS:
            below = [(id(base), name) for base, name in part[1]]
        elif i in roots:
            below = [roots[i]] * len(children)
        of_variable = kind is VARIABLES or kind is CLASS
        for child, root in zip(children, below, strict=False):
            if of_variable and not isinstance(opened.objects[child], _CONTAINERS):
                continue
            if opened.outside[child] or kind is CLASS:
                roots.setdefault(child, root)
    return roots


_CONTAINERS = (list, dict, set, collections.deque)


def effects_among(
    changes: Iterable[Change],
    values: Iterable[Any],
    roots: Mapping[int, Root],
    read: Read,
) -> set[Root]:
    """The global variables in which the body only counted: it left no data there.

    Args:
        changes: What it changed.
        values: The new children, of one change after the other.
        roots: See `roots_of`.
        read: What its code reads.
    """
    found: set[Root] = set()
    data: set[Root] = set()
    rest = iter(values)
    for change in changes:
        new = list(islice(rest, change.size))
        if change.node in roots:
            module, name = roots[change.node]
            names = [name] if name else [*(change.keys or ()), *change.removed]
            into = found if all(map(is_plain, new)) else data
            into.update((module, name) for name in names if name not in read.used)
    return found - data


def pass_on_effects(clones: Iterable[Any]) -> None:
    """Let modules have what the body wrote to them as an effect."""
    for clone in clones:
        if isinstance(clone, Namespace):
            clone.pass_on()


def refused_change(
    function: str, opened: Opened, before: Contents, built: Sequence[Any]
) -> tuple[int, str] | None:
    """The first change that can't be written back: the node, and the step from it.

    Raises:
        EffectsError: The body counted in a class that a global variable holds.
        UnwatchedError: It changed such a class, and uses what it changed.
        ChangedMeanwhileError: Another thread got another copy of a class.
    """
    for i, (old_part, old) in before.items():
        kind = opened.graph[i][0]
        if kind is CLASS:
            step = _class_change(function, opened, i, (old_part, old), built[i])
            if step:
                return i, step
        elif kind is STATIC_ARRAY and not equal(
            (old_part, old), kind.contents(built[i])
        ):
            return i, ""
    return None


def _class_change(
    function: str, opened: Opened, i: int, was: tuple[Any, Sequence[Any]], cls: type
) -> str:
    """How the user writes the attribute of a class that the body changed."""
    old, new = dict(zip(*was, strict=True)), class_data(cls)
    changed = {
        (base, name): new.get((base, name))
        for base, name in {**old, **new}
        if name != STAMP and (id(base), name) not in opened.read.effects
        if (base, name) not in old
        or (base, name) not in new
        or not same(old[base, name], new[base, name])
    }
    for key, value in list(changed.items()):
        came = has_come(old, cls, key, value)
        is_same = _is_same_value(cls, key[1], old.get(key), value)
        if came and not is_same:
            raise ChangedMeanwhileError
        if is_same and (came or opened.of_copy):  # it may have come in part before
            del changed[key]
    if not changed:
        return ""
    if opened.outside[i] and all(map(is_plain, changed.values())):
        for base, name in changed:
            if name in opened.read.used:
                raise UnwatchedError(_used(function, f"{base.__qualname__}.{name}"))
        raise EffectsError((id(base), name) for base, name in changed)
    base, name = next(iter(changed))
    variable = f"{base.__qualname__}.{name}"
    if _fills(old, changed, opened.read):
        raise UnwatchedError(
            stale(function, f"fills {variable}", _FILL.format(variable))
        )
    return variable


_FILL = "It is compiled when {0} is there: fill it before the first call."


def _fills(old: Mapping[Any, Any], changed: Mapping[Any, Any], read: Read) -> bool:
    """Whether attributes that were None, or not there, got what holds no data.

    As the one instance of a class, or a table, that is made when it is first used. The
    next call finds it there.
    """
    if any(old.get(key) is not None for key in changed):
        return False
    try:
        held = look_at((None, *changed.values()), read).objects
    except RefusedError:
        return False
    return not any(isinstance(x, Tracer) for x in held)


def _used(function: str, variable: str) -> str:
    return stale(function, f"changes {variable} and uses it")


def _is_same_value(cls: type, name: str, one: Any, two: Any) -> bool:
    """Whether two values of an attribute are equal, as copies of one are."""
    if same(one, two) or is_same_copy(cls, name, one, two):
        return True
    plain = type(one) is type(two) and is_plain(one) and is_plain(two)
    return plain and repr(one) == repr(two)


def restore_classes(
    graph: Graph, built: Sequence[Any], before: Contents, read: Read
) -> None:
    """Undo what the body did to classes, which it met themselves."""
    for i, (names, values) in before.items():
        if graph[i][0] is CLASS:
            CLASS.restore(built[i], names, values, read.effects)


def held_by_classes(graph: Graph, built: Sequence[Any], read: Read) -> Opened:
    """What classes, and modules that their methods read, hold: the body meets it."""
    classes = [built[i] for i, (kind, _, _) in enumerate(graph) if kind is CLASS]
    held = look_at((None, *classes), read)
    for x in held.objects:
        if isinstance(x, functools.singledispatchmethod):
            take_tracers(x.dispatcher)
    return held


def take_back_changes(
    function: str, held: Opened, before: Contents
) -> tuple[Opened, int, str] | None:
    """Undo changes of what classes hold.

    Returns:
        What the classes held, the node of the data that the body left there, and the
        step from it; None if it left none.

    Raises:
        EffectsError: It counted in variables.
        UnwatchedError: It changed an object, an array, or what a function remembers;
            or it uses the variables, too.
    """
    for i, was in before.items():
        if held.graph[i][0] is VARIABLES:
            name = _take_back(held.objects[i], *was)
            if name is not None:
                return held, i, name
    changed = [
        i
        for i, was in before.items()
        if (held.graph[i][0].changeable or held.graph[i][0] in (STATIC_ARRAY, PLAIN))
        and held.graph[i][0] is not VARIABLES
        and not equal(was, held.graph[i][0].contents(held.objects[i]))
    ]
    if not changed:
        return None
    now = look_at(held.objects[0], held.read)
    known = set(map(id, held.objects))
    left = (
        i
        for i, x in enumerate(now.objects)
        if (isinstance(x, Tracer) and id(x) not in known) or is_traced_text(x)
    )
    node = next(left, None)
    roots = roots_of(held)
    counted = {roots[i] for i in changed if i in roots}
    for i in changed:
        kind, part, children = held.graph[i]
        if kind is STATIC_ARRAY:
            held.objects[i][...] = part.value
        else:
            kind.replace(held.objects[i], part, [held.objects[c] for c in children])
    if node is not None:
        return now, node, ""
    for _, name in counted:
        if name in held.read.used:
            raise UnwatchedError(_used(function, name))
    if counted:
        raise EffectsError(counted)
    what = type(held.objects[changed[0]]).__name__
    raise UnwatchedError(stale(function, f"changes a {what} in a method of a class"))


def _take_back(
    variables: Variables, names: Sequence[str], values: Sequence[Any]
) -> str | None:
    """Undo what the body wrote to variables of a module, if there is data in it.

    Returns:
        The name of a variable with data.
    """
    known = set(map(id, values))
    left = None
    for name in variables.written:
        value = variables.all.get(name)
        is_new = isinstance(value, Tracer) and id(value) not in known
        if is_new or is_traced_text(value):
            left = name
    if left is not None:
        for name in variables.written:
            variables.all.pop(name, None)
        variables.all.update(zip(names, values, strict=True))
    return left
