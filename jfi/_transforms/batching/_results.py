"""What the function returned for one row, and what the caller gets for all."""

import gc
import types
from collections.abc import Iterator, Sequence
from typing import Any

import jax
from jax.tree_util import keystr

from ..._errors import BatchError
from ..._values import is_library, is_traced_text, is_tracer
from ._marks import ordered_as, outline
from ._messages import unstackable


class Results:
    """The results of a function; what is no array is the same for all rows.

    Args:
        name: That of the function, for messages.
        inputs: The leaves of its arguments: an object that comes back is fine.
    """

    def __init__(self, name: str, inputs: Sequence[Any]) -> None:
        self._name, self._inputs = name, {id(x) for x in inputs}
        self._outline: Any = None
        self._structure: Any = None
        self._leaves: list[Any] = []

    def arrays(self, one: Any) -> Any:
        """The result for one row with None for what is no array."""
        found, structure = jax.tree_util.tree_flatten_with_path(one, is_leaf=_is_read)
        for path, leaf in found:
            if not is_stackable(leaf) and id(leaf) not in self._inputs:
                self._refuse_arrays_in(f"result{keystr(path)}", leaf)
        # Kept without its arrays, which are tracers: they end with the row's trace.
        self._outline, self._structure = outline(one), structure
        self._leaves = [_STACKED if is_stackable(leaf) else leaf for _, leaf in found]
        kept = [leaf if is_stackable(leaf) else None for _, leaf in found]
        return jax.tree.unflatten(structure, kept)

    def around(self, stacked: Any) -> Any:
        """The result for all rows, from the stacked arrays of it."""
        arrays = iter(jax.tree.leaves(stacked))
        leaves = [next(arrays) if x is _STACKED else x for x in self._leaves]
        return ordered_as(self._outline, jax.tree.unflatten(self._structure, leaves))

    def _refuse_arrays_in(self, name: str, leaf: Any) -> None:
        if _is_read(leaf):
            why = "which can be read only once"
        elif _holds_array(leaf):
            why = "which holds arrays of one row, hidden from JAX"
        elif is_traced_text(leaf):
            why = f"{leaf!r}, in which data of one row was written as text"
        else:
            return
        kind = type(leaf).__name__
        raise BatchError(unstackable(self._name, name, kind, why))


_STACKED = object()  # in place of an array


def _is_read(leaf: Any) -> bool:
    """Whether it changes when it is read; JAX 0.10 warns of such leaves."""
    return isinstance(leaf, Iterator)


def is_stackable(leaf: Any) -> bool:
    """Whether JAX takes a result for an array: `is_data`, and arrays of any class."""
    try:
        jax.typeof(leaf)
    except TypeError:
        return False
    return True


def _holds_array(value: Any) -> bool:
    """Whether an object, a function ... that JAX takes for a leaf has arrays in it."""
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < MAX_OBJECTS:
        part = waiting.pop()
        if is_tracer(part):
            return True
        if id(part) in seen or _holds_no_row(part):
            continue
        seen.add(id(part))
        waiting.extend(gc.get_referents(part))
    return False


MAX_OBJECTS = 10_000  # what is larger is a library's, not a row's


def _holds_no_row(part: Any) -> bool:
    """Whether it is a module, its variables, or a class of a library."""
    if isinstance(part, type):
        return is_library(part)
    is_variables = isinstance(part, dict) and "__builtins__" in part
    return is_variables or isinstance(part, types.ModuleType)
