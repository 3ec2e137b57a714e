"""Numbers that are constants of the code until they change, and data from then on.

To JAX a captured float is a constant: Python computes with it. A loop called for one
gain after the other would be compiled for each. So a number that has changed is traced,
if that makes the very same code; if not, it stays a constant.
"""

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from .._jax_internals import inner_jaxprs
from .._values import number_key
from ._graphs import Graph, Opened
from ._modes import Mode
from .kinds._classify import SCALAR, VARIABLES


MAX_GRAPHS = 128  # of one function, of which the numbers are remembered


class OtherCodeError(Exception):
    """With a number as data, the code is not that with a constant."""


class Numbers:
    """The numbers among the arguments of one function, as they were at first."""

    def __init__(self) -> None:
        self._first: dict[Graph, dict[int, Hashable]] = {}

    def unchanged(self, opened: Opened) -> frozenset[int]:
        """The nodes of those that are to be constants in a call.

        Args:
            opened: The call, with all of them as data.
        """
        found = {i: number_key(opened.objects[i]) for i in varying(opened)}
        if not found or _asks_for_types(opened.graph):
            return frozenset(found)
        if opened.graph not in self._first and len(self._first) >= MAX_GRAPHS:
            self.clear()
        first = self._first.setdefault(opened.graph, found)
        kept = {i: key for i, key in first.items() if found[i] == key}
        self._first[opened.graph] = kept
        return frozenset(kept)

    def clear(self) -> None:
        self._first.clear()


def varying(opened: Opened) -> list[int]:
    """The nodes of such numbers, where they are data."""
    return [i for i in opened.leaf_nodes() if _may_vary(opened, i)]


def examples(opened: Opened) -> dict[int, Any]:
    """The same numbers, by leaf."""
    nodes = enumerate(opened.leaf_nodes())
    return {k: opened.objects[i] for k, i in nodes if _may_vary(opened, i)}


def _may_vary(opened: Opened, i: int) -> bool:
    return opened.modes[i] is Mode.VARYING and opened.graph[i][0] is SCALAR


# What Python code asks of a number that is not its value.
_ASKS_TYPE = {"isinstance", "type", "hasattr", "getattr", "str", "repr", "format"}


def _asks_for_types(graph: Graph) -> bool:
    """Whether the user's code may see that a tracer stands for a number.

    What it does then may depend on the value besides: one comparison of the code would
    not show that.
    """
    absent = (part[2] for kind, part, _ in graph if kind is VARIABLES)
    return not _ASKS_TYPE.isdisjoint(itertools.chain.from_iterable(absent))


def as_data(
    fun: Callable[..., Any], leaves: Sequence[Any], numbers: Mapping[int, Any]
) -> Any:
    """Call a function with numbers as data, if the code is that with constants.

    Args:
        fun: A function of the leaves, which is being traced.
        leaves: Its arguments.
        numbers: For some of them, by position, a value that they had.

    Raises:
        OtherCodeError: The code is another one.
    """
    others = [k for k in range(len(leaves)) if k not in numbers]
    constants = {k: _like(leaves[k], number) for k, number in numbers.items()}

    def with_constants(*rest: Any) -> Any:
        known = {**constants, **dict(zip(others, rest, strict=True))}
        return fun(*(known[k] for k in range(len(leaves))))

    jitted = jax.jit(lambda *leaves: fun(*leaves), inline=True)
    data = jitted.trace(*leaves).jaxpr  # the call below finds this trace
    constant = jax.jit(with_constants).trace(*(leaves[k] for k in others)).jaxpr
    if data.out_avals != constant.out_avals or not _is_same_program(data, constant):
        raise OtherCodeError
    return jitted(*leaves)


def _like(leaf: Any, number: Any) -> Any:
    """A number of the type that is being traced: NumPy's or Python's."""
    return float(number) if leaf.weak_type else leaf.dtype.type(number)


def _is_same_program(data: Any, constant: Any) -> bool:
    """Whether a program does what one with constants does, step by step.

    What Python computes with a constant is in the program with data alone: in 32 bits
    its result would be another, so that only exact steps may be there in addition.
    """
    steps = _operations_of(constant.jaxpr)
    expected = next(steps, None)
    for step in _operations_of(data.jaxpr):
        if expected is not None and step[0] == expected[0]:
            expected = next(steps, None)
        elif not step[1]:
            return False
    return expected is None


def _operations_of(jaxpr: Any) -> Iterator[tuple[Hashable, bool]]:
    """The operations with the types of their results; and whether each is exact."""
    for equation in jaxpr.eqns:
        outs = tuple(v.aval for v in equation.outvars)
        yield (equation.primitive.name, outs), _is_exact(equation)
        for inner in inner_jaxprs(equation):
            yield from _operations_of(inner)


# How `jnp.array([1.0, k])` is made of a traced number.
_ASSEMBLES = ("broadcast_in_dim", "concatenate", "reshape", "squeeze")


def _is_exact(equation: Any) -> bool:
    """Whether it does to a number just what Python does, in 64 bits."""
    name = equation.primitive.name
    if name in _ASSEMBLES:
        return True
    operands = [v.aval for v in equation.invars]
    outs = [v.aval for v in equation.outvars]
    if any(getattr(aval, "shape", None) != () for aval in (*operands, *outs)):
        return False
    if name == "convert_element_type":
        rounds_once = operands[0].dtype in (np.float64, outs[0].dtype)
        return rounds_once and bool(jax.numpy.issubdtype(outs[0].dtype, np.inexact))
    if name == "div":  # Python raises for 0: only by literals that are not
        exact = getattr(equation.invars[1], "val", 0) != 0
    else:
        exact = name in ("add", "sub", "mul")
    return name == "neg" or (exact and outs[0].dtype == np.float64)
