"""Copies that stand for NumPy arrays while code is traced that meets them itself.

Without 64-bit types JAX (to 0.12) remembers the 32-bit form of an array that a program
has captured, and returns that again after the array was written to. Most code under
autojit meets copies or data in any case. Methods of classes don't: they meet what
classes and modules hold.

    a = np.ones(3)  # float64
    f = jax.jit(lambda x: a + x[0])
    f(jnp.zeros(1))
    a[:] = 5
    f(jnp.zeros(2))  # traced again, and still 1: only another array is new to JAX
"""

import contextlib
from collections.abc import Collection, Generator, Iterator, Sequence
from typing import Any

import numpy as np

from .._arrays._placement import is_narrowed
from .._values import contents_key
from ._graphs import Graph
from .kinds._base import Kind
from .kinds._classes import class_data
from .kinds._classify import CLASS, VARIABLES


@contextlib.contextmanager
def fresh_arrays(
    graph: Graph, built: Sequence[Any], real: Collection[int]
) -> Generator[None]:
    """While code runs, copies stand for the arrays that classes and modules hold.

    Args:
        graph: That of the call.
        built: What the code gets, by node.
        real: The nodes of what it meets itself.
    """
    holders = [
        (kind, part, built[i])
        for i, (kind, part, _) in enumerate(graph)
        if i in real and (kind is CLASS or kind.changeable)
    ]
    copies = _Copies()
    for kind, part, x in holders:
        for key, value in _contents(kind, part, x):
            fresh = copies.fresh(value)
            if fresh is not value:
                _put(kind, x, key, fresh)
    try:
        yield
    finally:
        for kind, part, x in holders:
            for key, value in _contents(kind, part, x):
                original = copies.original(value)
                if original is not value:
                    _put(kind, x, key, original)


def _contents(kind: Kind, part: Any, x: Any) -> Iterator[tuple[Any, Any]]:
    """What an object holds that may be replaced."""
    if kind is CLASS:
        yield from class_data(x).items()
    elif kind is VARIABLES:
        yield from [(name, x.all[name]) for name in part[1] if name in x.all]
    elif isinstance(x, list):
        yield from enumerate(tuple(list.__iter__(x)))
    elif isinstance(x, dict):
        yield from tuple(dict.items(x))
    else:
        inner, values = kind.contents(x)
        keys = kind.keys(inner, values)
        if keys is not None:  # not of a deque
            yield from zip(keys, values, strict=True)


def _put(kind: Kind, x: Any, key: Any, value: Any) -> None:
    if kind is CLASS:
        cls, name = key
        type.__setattr__(cls, name, value)  # whatever its metaclass says
    elif isinstance(x, list):
        list.__setitem__(x, key, value)
    elif isinstance(x, dict):
        dict.__setitem__(x, key, value)
    else:
        kind.put(x, key, value)


class _Copies:
    """Copies of arrays, and of tuples that hold some: one of each."""

    def __init__(self) -> None:
        self._fresh: dict[int, tuple[Any, Any]] = {}  # by the id of the original
        self._original: dict[int, tuple[Any, Any]] = {}  # by that of the copy

    def fresh(self, value: Any) -> Any:
        """What stands for a value."""
        if id(value) in self._fresh:
            return self._fresh[id(value)][1]
        copy = value
        if isinstance(value, np.ndarray):
            copy = value.copy(order="K") if is_narrowed(value) else value
        elif type(value) is tuple:
            parts = tuple(map(self.fresh, value))
            if any(new is not old for new, old in zip(parts, value, strict=True)):
                copy = parts
        if copy is not value:
            self._fresh[id(value)] = self._original[id(copy)] = value, copy
        return copy

    def original(self, value: Any) -> Any:
        """What a value stands for, with what was written to it meanwhile."""
        if id(value) not in self._original:
            return value
        original, copy = self._original[id(value)]
        if isinstance(copy, tuple):
            for part in copy:
                self.original(part)
        elif contents_key(original) != contents_key(copy):
            original[...] = copy
        return original
