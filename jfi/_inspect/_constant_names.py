"""What the user calls the constants of a jaxpr: the variables that hold them."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from .._jax_internals import is_ref
from .._values import attributes_of, is_key, path_name, references


DEPTH = 3  # functions that call functions


def names_of_constants(constants: Sequence[Any], fn: Callable[..., Any]) -> list[str]:
    """The variables, of those that a function reads, that hold some constants.

    Args:
        constants: What JAX has put into the program: arrays of JAX are those of the
            variables, arrays of NumPy are copies.
        fn: The function.
    """
    known: dict[int, str] = {}
    arrays: list[tuple[str, Any]] = []
    if not constants:
        return []
    for name, value in _variables(fn, DEPTH):
        for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
            found = known.setdefault(id(leaf), path_name(name, path))
            if isinstance(leaf, np.ndarray):
                arrays.append((found, leaf))
    return [known.get(id(x)) or _name_of_equal(x, arrays) for x in constants]


def _name_of_equal(x: Any, arrays: Sequence[tuple[str, Any]]) -> str:
    """The variables of NumPy that have the elements of a constant."""
    if is_ref(x) or is_key(x):
        return ""
    kind, shape = np.asarray(x).dtype.kind, np.shape(x)
    alike = [
        name
        for name, array in arrays
        if array.shape == shape and array.dtype.kind == kind
        if np.array_equal(array.astype(x.dtype), x)
    ]
    return " or ".join(dict.fromkeys(alike))


def _variables(fn: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """The variables that a function and those that it calls read outside."""
    fn = inspect.unwrap(fn)
    owner = getattr(fn, "__self__", None)
    fn = getattr(fn, "__func__", fn)
    if not inspect.isfunction(fn):
        return
    if owner is not None:
        yield from _attributes("self", owner)
    try:
        read = inspect.getclosurevars(fn)
    except ValueError:  # a cell that is still empty
        return
    for name, value in {**read.globals, **read.nonlocals}.items():
        if inspect.ismodule(value) or inspect.isclass(value):
            for chain in references(fn.__code__).chains:
                if chain[0] == name and len(chain) > 1:
                    yield ".".join(chain[:2]), getattr(value, chain[1], None)
        elif inspect.isroutine(value) or hasattr(value, "__wrapped__"):
            if depth:
                yield from _variables(value, depth - 1)
        elif jax.tree_util.all_leaves([value]):
            yield name, value
            yield from _attributes(name, value)
        else:
            yield name, value


def _attributes(name: str, x: Any) -> Iterator[tuple[str, Any]]:
    return ((f"{name}.{own}", value) for own, value in attributes_of(x).items())
