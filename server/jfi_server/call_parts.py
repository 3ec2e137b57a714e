"""Arguments split into arrays and floats, which are traced, and settings."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from jfi._values import is_array, is_scalar


@dataclass(frozen=True)
class Hole:
    """Stands in a tree for a traced leaf, by its number."""

    number: int


@dataclass(frozen=True)
class Split:
    """The arguments of a call, taken apart.

    Attributes:
        leaves: All leaves, with a `Hole` for each that is traced.
        structure: The tree structure of arguments and keyword arguments.
        settings: The leaves that are not traced, with their positions.
        traced: The leaves that are.
    """

    leaves: tuple[object, ...]
    structure: Any
    settings: tuple[tuple[int, object], ...]
    traced: list[Any]

    def tree(self) -> Any:
        """Arguments and keyword arguments, with holes for what is traced."""
        return self.structure.unflatten(self.leaves)


def split(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Split:
    """Take the arguments of a call apart: what a jit traces, and what it holds fixed.

    Traced are floats, complex numbers, NumPy and JAX arrays of numbers. Strings, bools,
    integers and all other objects are settings. Containers and pytrees are opened.
    """
    found, structure = jax.tree.flatten((args, kwargs))
    leaves: list[object] = []
    settings: list[tuple[int, object]] = []
    traced: list[Any] = []
    for position, leaf in enumerate(found):
        if _is_traced(leaf):
            leaves.append(Hole(len(traced)))
            traced.append(leaf)
        else:
            leaves.append(leaf)
            settings.append((position, leaf))
    return Split(tuple(leaves), structure, tuple(settings), traced)


def bind(
    fn: Callable[..., Any], structure: Any, leaves: tuple[object, ...]
) -> Callable[[list[Any]], Any]:
    """A function of the traced leaves alone; the settings stay as they are."""

    def bound(traced: list[Any]) -> Any:
        args, kwargs = structure.unflatten(
            [traced[leaf.number] if isinstance(leaf, Hole) else leaf for leaf in leaves]
        )
        return fn(*args, **kwargs)

    return named_as(bound, fn)


def named_as(
    bound: Callable[[list[Any]], Any], fn: Callable[..., Any]
) -> Callable[[list[Any]], Any]:
    """Let JAX's messages tell the name and place of the function that is wrapped."""
    name = getattr(fn, "__name__", type(fn).__name__)
    vars(bound).update(__wrapped__=fn, __signature__=_SIGNATURE)  # not `fn`'s signature
    bound.__name__ = bound.__qualname__ = name
    return bound


_TRACED = inspect.Parameter("arguments", inspect.Parameter.POSITIONAL_ONLY)
_SIGNATURE = inspect.Signature([_TRACED])


def _is_traced(leaf: object) -> bool:
    return is_array(leaf) or is_scalar(leaf)
