"""What a call is made of, in words, and what changed from one call to another."""

import re
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from .._jax_internals import all_settings
from .._values import function_label
from ._graphs import LEAVES, Graph, all_paths, paths
from .kinds._base import MISSING
from .kinds._classes import class_data
from .kinds._classify import CLASS, SCALAR, VALUE, VARIABLES
from .kinds._flax import NUMBERED
from .kinds._stand_ins import StandInKind


MAX_DESCRIBED = 2000  # values of one call that are written down


class Difference(NamedTuple):
    """What changed from an earlier call.

    Attributes:
        path: Where, as the user would write it.
        before: What it was; "" if it was not there.
        after: What it is; "" if it is gone.
    """

    path: str
    before: str
    after: str

    @property
    def place(self) -> str:
        """What changed: of what came or went, that in which it is."""
        if self.before and self.after:
            return self.path
        return _LAST.sub("", self.path)

    def __str__(self) -> str:
        return f"{self.path}: {self.before or 'nothing'} -> {self.after or 'nothing'}"


# The last attribute, key or index of a path.
_LAST = re.compile(r"""(?<=.)(\.\w+|\[('[^']*'|"[^"]*"|[^\[\]]*)\])$""")


class CallDescription(NamedTuple):
    """What a call was made of, by path.

    Each counts only where those before it are the same.

    Attributes:
        values: What is seen at first: types, settings, shapes.
        orders: The order of keys and attributes, methods of classes, kinds of numbers.
        parts: What tells apart values that look the same, such as two functions.
        options: JAX's options.
    """

    values: Mapping[str, str]
    orders: Mapping[str, str]
    parts: Mapping[str, int]
    options: Mapping[str, str]


def differences(
    before: CallDescription, after: CallDescription
) -> tuple[Difference, ...]:
    """What changed from one call to another."""
    for old, new in ((before[0], after[0]), (before[1], after[1])):
        if found := tuple(_changed_paths(old, new)):
            return found
    other = tuple(
        Difference(path, after.values[path], "another one")
        for path, part in after.parts.items()
        if before.parts.get(path) != part
    )
    return other or tuple(_changed_paths(before.options, after.options))


def _changed_paths(
    old: Mapping[str, str], new: Mapping[str, str]
) -> Iterator[Difference]:
    """What changed, but for the parts of what changed as a whole."""
    whole: set[str] = set()
    for path in dict.fromkeys((*old, *new)):  # level by level: parts come after all
        if old.get(path) == new.get(path):
            continue
        ends = (i for i, character in enumerate(path) if character in ".[")
        if whole.isdisjoint(path[:end] for end in ends):
            yield Difference(path, old.get(path, ""), new.get(path, ""))
        whole.add(path)


def description_of(
    graph: Graph, clones: Sequence[Any], names: Sequence[str]
) -> CallDescription:
    """What a call is made of."""
    values: dict[str, str] = {}
    orders: dict[str, str] = {}
    parts: dict[str, int] = {}
    found = paths(graph, clones, names)
    for i, path in enumerate(found[:MAX_DESCRIBED]):
        kind, part, children = graph[i]
        if isinstance(kind, StandInKind):
            values[path] = kind.cls.__name__
            continue
        value = _value_of_node(kind, part, clones[i])
        if i < 2 or kind is NUMBERED or (value is None and path in values):
            continue  # the attributes that a function does not have
        if kind is CLASS:
            orders.update(_methods(part[0].value))
        elif kind in LEAVES:
            values[path] = str(jax.typeof(value).str_short())
            orders[path] = _kind_of_number(kind, part, value)
        elif isinstance(value, types.FunctionType):
            values[path], parts[path] = (
                _setting_in_words(value),
                hash((part, parts.get(path))),
            )
        elif children or isinstance(value, (list, tuple, dict)):
            values[path] = type(value).__name__
            if kind is VARIABLES:  # the order of a module's names says nothing
                continue
            keys = value if isinstance(value, dict) else getattr(value, "__dict__", ())
            orders[path] = f"in the order {', '.join(map(repr, keys)) or 'of no keys'}"
        else:
            values[path], parts[path] = (
                _setting_in_words(value),
                hash((part, parts.get(path))),
            )
    for path, i in all_paths(graph, clones, names):
        if graph[i][0] in LEAVES and i < MAX_DESCRIBED and path not in values:
            values[path] = f"the same as {found[i]}"
    options = {name: repr(value) for name, value in all_settings().items()}
    return CallDescription(values, orders, parts, options)


def _methods(cls: type) -> Iterator[tuple[str, str]]:
    for (owner, name), method in class_data(cls).items():
        code = method.__code__ if isinstance(method, types.FunctionType) else method
        text = f"{type(method).__name__} #{id(code):x}"
        yield f"{owner.__qualname__}.{name}", text


def _kind_of_number(kind: Any, part: Any, x: Any) -> str:
    """What tells apart numbers and arrays of one shape and dtype."""
    if part is not None and part is not jax.Array:  # where code asks for classes
        return f"a {part.__name__}"
    if kind is SCALAR:
        return "a Python number" if jax.typeof(x).weak_type else "a NumPy number"
    return "an array of weak type" if jax.typeof(x).weak_type else "an array"


def _value_of_node(kind: Any, part: Any, clone: Any) -> Any:
    """What a node stands for; of what is only looked at there is no clone."""
    if kind is VALUE:
        return part[1]
    if clone is not MISSING:
        return clone
    return getattr(part, "value", part)


def _setting_in_words(value: Any) -> str:
    """A setting in a few words."""
    if value is None:
        return "None"
    if isinstance(value, types.FunctionType):
        return function_label(value)
    try:
        text = f"{type(value).__name__} {value!r}"
    except Exception:  # such as Python's of a number of thousands of digits
        text = type(value).__name__
    return text if len(text) < 80 else f"{text[:77]}..."
