"""Numbers that are constants of the code until they change, and data from then on.

To JAX a captured float is a constant: Python computes with it. A loop called for one
gain after the other would be compiled for each. So a number that has changed is traced,
if that makes the very same code; if not, it stays a constant.
"""

import itertools
import sys
import threading
import weakref
from collections.abc import (
    Callable,
    Generator,
    Hashable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from .._advice import is_only_shown
from .._jax_internals import inner_jaxprs, of_plain_classes
from .._values import (
    is_python_frame,
    is_user_code,
    line_label,
    number_key,
    references,
    source_line,
)
from ._graphs import LEAVES, Graph, Opened
from ._reading import SHOWING, Mode
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


# ---- Data that the user's code takes for what it is in plain Python ----
#
# In the body arrays and numbers are tracers. Where code asks for classes, the graph
# of a call has them (`Opened.with_classes`), and the tracers answer as the values
# would: `isinstance(dt, float)`, `case np.ndarray()`, `hasattr(dt, "shape")`. What
# they can't do as the values would is noted.


def classes_count(opened: Opened) -> bool:
    """Whether code may ask for the classes of what it gets: the user's, or equinox."""
    if opened.read.classes_count or "equinox" not in sys.modules:
        return opened.read.classes_count
    return any(map(_is_of_equinox, {type(x) for x in opened.objects}))


def _is_of_equinox(cls: type) -> bool:
    return any(_root(base.__module__) == "equinox" for base in cls.__mro__)


def _root(module: object) -> str:
    return str(module).partition(".")[0]


@dataclass
class Noted:
    """What code does with traced values that they can't do as plain ones would.

    Attributes:
        written: The lines in which the user's code writes into some.
        numbers: The nodes of numbers of which is asked whether they are JAX's arrays,
            that are written as texts, or of which is asked what tracers have not.
    """

    written: list[str] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)


@contextmanager
def passing_for_values(graph: Graph, leaves: Sequence[Any]) -> Generator[Noted]:
    """A block in which traced leaves have the classes that the graph says.

    Python's floats pass for floats where it says none, too: what code compares of them
    is a bool, and `(x > 0) + (y > 0)` a number.

    Yields:
        What is noted meanwhile.
    """
    nodes = [i for i, (kind, _, _) in enumerate(graph) if kind in LEAVES]
    classes = [graph[i][1] for i in nodes]
    around = _here.noted, _here.numbers
    _here.noted, _here.numbers = Noted(), {}
    try:
        # Some numbers may be constants: `as_data` compares the code with that of data.
        scalars = [
            graph[i][0] is SCALAR and isinstance(leaf, Tracer)
            for leaf, i in zip(leaves, nodes, strict=True)
        ]
        if None in classes:
            classes = list(map(_number_class, leaves, scalars))
        for leaf, i, is_scalar in zip(leaves, nodes, scalars, strict=True):
            if is_scalar:
                _here.remember(leaf, {i})
        with of_plain_classes(leaves, classes, _USER):
            yield _here.noted
    finally:
        _here.noted, _here.numbers = around


def _number_class(leaf: Any, is_scalar: bool) -> type:
    """The class of a number of Python, and of all else that of JAX's arrays."""
    if not is_scalar:
        return jax.Array
    if not leaf.weak_type:
        return np.generic
    return complex if jnp.iscomplexobj(leaf) else float


class _Here(threading.local):
    """What is being traced in this thread.

    Attributes:
        noted: See `Noted`.
        numbers: For each tracer of a number, by its id, the nodes that it comes from.
    """

    def __init__(self) -> None:
        self.noted = Noted()
        self.numbers: dict[int, tuple[weakref.ref[Any], Set[int]]] = {}

    def remember(self, tracer: Any, nodes: Set[int]) -> None:
        """A number comes from some nodes."""
        self.numbers[id(tracer)] = weakref.ref(tracer), nodes

    def nodes(self, tracer: Any) -> Set[int]:
        """The nodes that a number comes from; of what is none there are none."""
        reference, nodes = self.numbers.get(id(tracer), (None, frozenset[int]()))
        is_this = reference is not None and reference() is tracer
        return nodes if is_this else frozenset()


class _User:
    """Sees plain values, whether its own code asks or a function of Python's."""

    def asks(self, frame: FrameType, tracer: Any) -> bool:
        """See `Asker`."""
        is_users = _is_users(frame)
        nodes = _here.nodes(tracer)
        # JAX says of every tracer that it is an array: a number must be itself there.
        if nodes and (_is_filter(frame) or (is_users and _names_arrays(frame))):
            _here.noted.numbers |= nodes
        return is_users

    def writes(self, frame: FrameType) -> None:
        """See `Asker`."""
        if _is_users(frame):
            file, line = frame.f_code.co_filename, frame.f_lineno
            text = source_line(file, line, frame.f_globals)
            _here.noted.written.append(text or line_label(file, line))

    def shows(self, frame: FrameType, tracer: Any) -> None:
        """See `Asker`."""
        nodes = _here.nodes(tracer)
        writer: FrameType | None = frame
        while writer is not None and _writes_for_others(writer):
            writer = writer.f_back
        if writer is None or not nodes or not _is_users(writer):
            return
        if not is_only_shown(writer):
            _here.noted.numbers |= nodes

    def lacks(self, frame: FrameType, tracer: Any) -> None:
        """See `Asker`."""
        if _is_users(frame):
            _here.noted.numbers |= _here.nodes(tracer)

    def catches(self, frame: FrameType) -> bool:
        """See `Asker`."""
        return references(frame.f_code).handlers.some

    def computes(self, result: Any, frame: FrameType, operands: Sequence[Any]) -> bool:
        """See `Asker`."""
        is_users = _is_users(frame)
        nodes = frozenset[int]().union(*map(_here.nodes, operands))
        if is_users and nodes and not result.ndim:
            _here.remember(result, nodes)
        return is_users


def _is_users(frame: FrameType | None) -> bool:
    """Whether a frame is of the user's code, or of a function that asks for it."""
    while frame is not None and _asks_for_others(frame):
        frame = frame.f_back
    if frame is None:
        return False
    return is_user_code(str(frame.f_globals.get("__name__", "")), frame.f_code)


def _asks_for_others(frame: FrameType) -> bool:
    """Such as `abc`, for `numbers.Number`, and `functools.singledispatch`."""
    return is_python_frame(frame) or frame.f_code is np.isscalar.__code__


def _writes_for_others(frame: FrameType) -> bool:
    """Such as `json`, and the `__repr__` of a dataclass."""
    return _asks_for_others(frame) or frame.f_code.co_name in SHOWING


def _is_filter(frame: FrameType) -> bool:
    """Whether it is equinox that asks, dividing a tree into arrays and all else."""
    is_of_equinox = _root(frame.f_globals.get("__name__")) == "equinox"
    return is_of_equinox and frame.f_code.co_name in _FILTERS


def _names_arrays(frame: FrameType) -> bool:
    """Whether code names `jax.Array`, so that it may be what it asks for."""
    for name, *attributes in references(frame.f_code).chains:
        value = frame.f_globals.get(name)
        for attribute in attributes:
            value = getattr(value, attribute, None)
        if value is jax.Array:
            return True
    return False


_FILTERS = ("is_array", "is_array_like", "is_inexact_array", "is_inexact_array_like")
_here, _USER = _Here(), _User()
