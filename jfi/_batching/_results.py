"""What the function returned for one row, and what the caller gets for all."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
from jax.tree_util import keystr

from .._errors import BatchError
from ._marks import ordered_as
from ._messages import unstackable


class Results:
    """The results of a function; what is no array is the same for all rows.

    Args:
        name: That of the function, for messages.
        inputs: The leaves of its arguments: an object that comes back is fine.
    """

    def __init__(self, name: str, inputs: Sequence[Any]) -> None:
        self._name, self._inputs = name, {id(x) for x in inputs}
        self._one: Any = None

    def arrays(self, one: Any) -> Any:
        """The result for one row with None for what is no array."""
        self._one = one
        found, structure = jax.tree_util.tree_flatten_with_path(one, is_leaf=_is_read)
        for path, leaf in found:
            if not is_stackable(leaf) and id(leaf) not in self._inputs:
                self._refuse_arrays_in(f"result{keystr(path)}", leaf)
        kept = [leaf if is_stackable(leaf) else None for _, leaf in found]
        return jax.tree.unflatten(structure, kept)

    def around(self, stacked: Any) -> Any:
        """The result for all rows, from the stacked arrays of it."""
        arrays = iter(jax.tree.leaves(stacked))
        leaves, structure = jax.tree.flatten(self._one, is_leaf=_is_read)
        kept = [next(arrays) if is_stackable(x) else x for x in leaves]
        return ordered_as(self._one, jax.tree.unflatten(structure, kept))

    def _refuse_arrays_in(self, name: str, leaf: Any) -> None:
        if _is_read(leaf):
            why = "which can be read only once"
        elif _holds_array(leaf, set()):
            why = "which holds arrays of one row, hidden from JAX"
        else:
            return
        kind = type(leaf).__name__
        raise BatchError(unstackable(self._name, name, kind, why))


def _is_read(leaf: Any) -> bool:
    """Whether it changes when it is read; JAX 0.10 warns of such leaves."""
    return isinstance(leaf, Iterator)


def is_stackable(leaf: Any) -> bool:
    """Whether a result is an array or a number."""
    try:
        jax.typeof(leaf)
    except TypeError:
        return False
    return True


def _holds_array(value: Any, seen: set[int]) -> bool:
    """Whether an object, a function ... that JAX takes for a leaf has arrays in it."""
    if isinstance(value, jax.Array):
        return True
    if id(value) in seen or isinstance(value, type):
        return False
    seen.add(id(value))
    return any(_holds_array(part, seen) for part in _parts(value))


def _parts(value: Any) -> Iterator[Any]:
    closure: Any = getattr(value, "__closure__", None)
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif closure is not None:
        for cell in closure:
            try:
                yield cell.cell_contents
            except ValueError:  # the variable has no value yet
                continue
    elif hasattr(value, "__self__"):
        yield value.__self__
    elif not _is_module(value):
        yield from getattr(value, "__dict__", {}).values()
        for cls in type(value).__mro__:
            slots = cls.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                yield getattr(value, name, None)


def _is_module(value: Any) -> bool:
    return isinstance(value, type(jax))
