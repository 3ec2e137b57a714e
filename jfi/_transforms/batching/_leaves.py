"""The leaves of the arguments: names for messages, paths for options, shapes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
from jax.tree_util import keystr

from ..._errors import BatchError
from ..._values import argument_names, is_array, path_name
from ..._values.trees import pytree_line
from ._marks import Mark, Path, marked_leaves, ordered_as, unmarked


class Leaf(NamedTuple):
    """One leaf.

    Attributes:
        name: As the user writes it: `problem['dyn']['Q']`.
        path: As options name it: `dyn.Q`, or `problem.dyn.Q`.
        kind: Its type, and its dtype if it has one.
        shape: That of whatever has one, also if JAX can't batch it.
        leading: The leading size, if JAX can batch it.
        mark: How the user marked it, if so.
        advice: The line to write, if it is an object that hides arrays.
    """

    name: str
    path: str
    kind: str
    shape: tuple[int, ...]
    leading: int | None
    mark: Mark | None
    advice: str = ""

    @property
    def is_array(self) -> bool:
        """Whether JAX can batch it along some axis."""
        return self.leading is not None


class Arguments:
    """The arguments of a call, flattened; no mark is left in them.

    Attributes:
        leaves: What is known of each value.
        values: The values.
    """

    def __init__(self, leaves: list[Leaf], tree: Any) -> None:
        self.leaves = leaves
        self._tree = unmarked(tree)
        self.values: list[Any]
        self.values, self._structure = jax.tree.flatten(self._tree)

    def around(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with other values."""
        tree = jax.tree.unflatten(self._structure, values)
        args, kwargs = ordered_as(self._tree, tree)
        return args, kwargs


def arguments_of_problem(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Arguments:
    """The one argument of a function of a problem; paths begin below it."""
    (problem,) = args
    leaves = [
        _leaf(path_name("problem", path), _dotted(path), x, mark)
        for path, x, mark in marked_leaves(problem)
    ]
    return Arguments(leaves, (tuple(args), dict(kwargs)))


def arguments_of_call(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Arguments:
    """The arguments of any function; paths begin with the name of a parameter."""
    names = argument_names(fn, args, kwargs)
    leaves: list[Leaf] = []
    for name, value in zip(names, (*args, *kwargs.values()), strict=True):
        root = name.replace("[", ".").replace("]", "")  # rest[0] is rest.0
        for path, x, mark in marked_leaves(value):
            dotted = ".".join(filter(None, (root, _dotted(path))))
            leaves.append(_leaf(path_name(name, path), dotted, x, mark))
    # The order of `jax.tree.flatten`, which sorts keywords.
    order = _flattened_order(args, kwargs)
    return Arguments([leaves[i] for i in order], (tuple(args), dict(kwargs)))


def _flattened_order(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[int]:
    """Where `jax.tree.flatten` of a call has each leaf found in order of the call."""
    order = list(range(sum(map(_number_of_leaves, args))))
    starts: dict[str, range] = {}
    n = len(order)
    for name, value in kwargs.items():
        starts[name] = range(n, n + _number_of_leaves(value))
        n = starts[name].stop
    return order + [i for name in sorted(starts) for i in starts[name]]


def _number_of_leaves(tree: Any) -> int:
    return len(jax.tree.leaves(unmarked(tree)))


def _leaf(name: str, path: str, value: Any, mark: Mark | None) -> Leaf:
    if isinstance(value, Iterator):
        kind = type(value).__name__
        message = (
            f"{name} is an iterator (a {kind}), which can be read only once.\n"
            f"Pass a list or an array instead: list({name})"
        )
        raise BatchError(message)
    shape = _attribute(value, "shape")
    shape = tuple(shape) if isinstance(shape, tuple) else ()
    leading = shape[0] if shape and is_array(value) else None
    advice = pytree_line(value)
    return Leaf(name, path, _type_in_words(value), shape, leading, mark, advice)


def _dotted(path: Path) -> str:
    return keystr(path, simple=True, separator=".")


def _type_in_words(value: Any) -> str:
    name = "Array" if isinstance(value, jax.Array) else type(value).__name__
    dtype = _attribute(value, "dtype")
    return name if dtype is None else f"{name} of {dtype}"


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # such as a KeyError, of a dict whose keys are its attributes
        return None
