"""`inspect`: a look at what a function computes, and the report that users get."""

import functools
import importlib.util
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ParamSpec

from .._advice import hiding_frames
from .._arrays._config import get_default_dtype
from .._jax_internals import called_back, is_ref
from .._shown import shown_as
from .._values import function_name, names_to_copy, refuse_no_function
from . import _text
from ._costs import dtype_of, nbytes, peak_bytes, shape_of
from ._drawing import dot, mermaid, networkx_graph, plot
from ._flow import (
    Branches,
    Flow,
    Line,
    Operation,
    Value,
    flow_of,
    repeated,
    useful,
)
from ._graphs import Fold, Graph, graph_of
from ._rows import (
    MANY_TIMES,
    WIDE,
    Array,
    Compilation,
    Constant,
    Conversion,
    Event,
    Input,
    LineRow,
    Loop,
    Repeat,
    compilation,
)
from ._tracing import Traced, trace


P = ParamSpec("P")


def inspect(
    fn: Callable[P, Any], /, *, compile: bool = False
) -> "Callable[P, Inspection]":
    """Look at what a function computes, without computing it.

    >>> import jfi as jnp
    >>> def loss(w, x):
    ...     return ((jnp.tanh(x @ w) - 1) ** 2).mean()
    >>> report = jnp.inspect(loss)(jnp.ones((3, 2)), jnp.ones((10, 3)))
    >>> report.counts["dot_general"], report.flops, report.transcendentals
    (1, 180, 20)
    >>> report.largest.path, report.largest.nbytes
    ('x', 120)

    The function is traced, as the tool that it is under traces it: `jit`, `autojit`
    (functions and methods), `persistent`, or none, and then as by `autojit`. Nothing is
    computed or written back, and no random number is used up. As always when a function
    is traced, what it prints is printed.

    Args:
        fn: A function, method or callable object, plain or under any tool.
        compile: Whether to let XLA compile it, too, to report its time and memory.

    Returns:
        A function that takes what `fn` takes (a `jax.ShapeDtypeStruct` stands for an
        array) and returns an `Inspection`: print it, or read its attributes.

    Raises:
        TypeError: `fn` is no function; at a call, what `fn` raises while it is traced.
    """
    refuse_no_function("inspect", fn)

    @shown_as("inspect")
    @functools.wraps(fn, names_to_copy(fn), updated=())
    @hiding_frames
    def look(*args: P.args, **kwargs: P.kwargs) -> Inspection:
        report = Inspection(trace(fn, args, kwargs))
        if compile:
            report.compile()
        return report

    return look


class Inspection:
    """What a function computes, found without running it; `print` shows it.

    All figures are those of the program as it is written: XLA then fuses operations and
    drops what is computed twice or not used (`compile` measures what it makes of it).

    Attributes:
        name: The name of the function.
        jaxpr: The closed jaxpr, as of `jax.make_jaxpr`.
    """

    def __init__(self, traced: Traced) -> None:
        self.name: str = traced.name
        self.jaxpr: Any = traced.jaxpr
        self._traced = traced
        self._compiled: Compilation | None = None

    def __str__(self) -> str:
        return _text.plain(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _text.html(self)

    def show(self) -> None:
        """Print it, in colors if rich is installed."""
        if importlib.util.find_spec("rich") is None:
            print(self)  # noqa: T201 - what it is for
        else:
            console: Any = importlib.import_module("rich.console").Console()
            console.print(self, soft_wrap=True)

    # -------------------------------------------------------- operations

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All operations; called functions are opened, bodies follow their loop."""
        return tuple(self._flow.operations)

    @cached_property
    def counts(self) -> Counter[str]:
        """How many operations of each name are in the program: {"mul": 3, ...}."""
        return Counter(operation.name for operation in self._flow.operations)

    @cached_property
    def unneeded(self) -> Counter[str]:
        """Operations on which no result depends: JAX leaves them out."""
        return Counter(o.name for o in self._flow.operations if not o.needed)

    @cached_property
    def executed(self) -> Counter[str]:
        """How many run: those of a loop's body count at each turn."""
        executed: Counter[str] = Counter()
        for operation in self._counted:
            executed[operation.name] += operation.times
        return executed

    @cached_property
    def lines(self) -> tuple[LineRow, ...]:
        """What each line of the user's code makes, the longest part first."""
        by_line: dict[Line | None, list[Operation]] = defaultdict(list)
        for operation in self._flow.operations:
            by_line[operation.line].append(operation)
        rows = [_line_row(line, made) for line, made in by_line.items()]
        return tuple(sorted(rows, key=lambda row: -row.operations))

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The loops, in the order of the program."""
        return tuple(self._loop(o) for o in self._flow.operations if o.name in _LOOPS)

    @property
    def branches(self) -> tuple[Branches, ...]:
        """Each `cond` with the flops of its branches: the largest is counted."""
        return tuple(self._flow.branches)

    @cached_property
    def repeated(self) -> tuple[Repeat, ...]:
        """What is computed twice or more from the same values, the dearest first."""
        groups = [
            Repeat(
                group[0].name,
                len(group),
                sum(o.run_flops for o in group[1:]),
                tuple(dict.fromkeys(o.line for o in group if o.line)),
            )
            for group in repeated(self._flow)
        ]
        return tuple(sorted(groups, key=lambda group: -group.flops))

    # -------------------------------------------------------- costs

    @cached_property
    def flops(self) -> int:
        """Operations on numbers that run: a multiply-add is two.

        Of a `while` loop that only data end, one turn is counted (`unbounded`); of
        branches the most expensive one.
        """
        return sum(o.cost.flops * o.times for o in self._counted)

    @cached_property
    def transcendentals(self) -> int:
        """How many values of `exp`, `sin`, `sqrt` ... are computed; not in `flops`."""
        return sum(o.cost.transcendentals * o.times for o in self._counted)

    @cached_property
    def bytes(self) -> int:
        """What all operations together read and write, if XLA fuses none of them."""
        return sum(o.cost.bytes * o.times for o in self._counted)

    @cached_property
    def flops_by_operation(self) -> Counter[str]:
        """`flops` and `transcendentals` of the operations of each name."""
        flops: Counter[str] = Counter()
        for operation in self._counted:
            flops[operation.name] += operation.run_flops
        return +flops

    @property
    def unbounded(self) -> bool:
        """Whether there is a loop whose number of turns only data decide."""
        return any(loop.times is None for loop in self.loops)

    @cached_property
    def uncounted(self) -> Counter[str]:
        """Operations whose flops are not known: callbacks, kernels, foreign calls."""
        return Counter(o.name for o in self._flow.operations if not o.cost.is_known)

    # -------------------------------------------------------- memory

    @cached_property
    def peak_bytes(self) -> int:
        """An estimate of the most memory in use, inputs and results with it.

        For operations that run one after the other as they are written; `compile`
        says what XLA plans.
        """
        return peak_bytes(self.jaxpr.jaxpr)

    @cached_property
    def largest(self) -> Array | None:
        """The largest array; None if there is none."""
        arrays = [
            Array(nbytes(x), shape_of(x), dtype_of(x), o.name, "", o.line)
            for o in self._flow.operations
            for x in o.results
        ]
        arrays += [
            Array(i.nbytes, i.shape, i.dtype, "input", i.path, None)
            for i in self.inputs
        ]
        arrays += [
            Array(c.nbytes, c.shape, c.dtype, "constant", c.path, c.line)
            for c in self.constants
        ]
        return max(arrays, key=lambda array: array.nbytes, default=None)

    # -------------------------------------------------------- inputs

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """The arguments that are data, by their paths."""
        return tuple(
            Input(path, shape_of(v.aval), dtype_of(v.aval), nbytes(v.aval), used)
            for path, captured, v, used in self._variables
            if not captured
        )

    @property
    def unused(self) -> tuple[str, ...]:
        """The paths of the inputs on which no result depends."""
        return tuple(x.path for x in self.inputs if not x.used)

    @cached_property
    def constants(self) -> tuple[Constant, ...]:
        """The arrays that it uses and that are no arguments, the largest first.

        They come from global variables and closures, or are made by NumPy in the
        function. `autojit` passes those of variables as data, `jax.jit` copies
        them into the program.
        """
        captured_arrays = [
            self._constant(path, v.aval, ("in", 0, k))
            for k, (path, captured, v, _) in enumerate(self._variables)
            if captured
        ]
        jaxpr = self.jaxpr.jaxpr
        values = zip(
            self._traced.constants, jaxpr.constvars, self.jaxpr.consts, strict=True
        )
        captured_arrays += [
            self._constant(path, v.aval, ("const", id(x), 0))
            for path, v, x in values
            if not is_ref(x)  # such as the state of a random stream
        ]
        return tuple(sorted(captured_arrays, key=lambda constant: -constant.nbytes))

    # -------------------------------------------------------- effects and types

    @cached_property
    def callbacks(self) -> tuple[Event, ...]:
        """The calls of Python functions while the program runs."""
        return tuple(
            Event(_called(o), o.times, o.line)
            for o in self._flow.operations
            if "callback" in o.name or o.name == "debug_print"
        )

    @cached_property
    def draws(self) -> tuple[Event, ...]:
        """The random draws of jfi, such as `jfi.randn`."""
        return tuple(
            Event("draw", o.times, o.line)
            for o in self._flow.operations
            if o.name == "next_key"
        )

    @cached_property
    def dtypes(self) -> Counter[str]:
        """How many results of operations have each dtype."""
        dtypes = (dtype_of(x) for o in self._flow.operations for x in o.results)
        return Counter(filter(None, dtypes))

    @cached_property
    def widened(self) -> tuple[Conversion, ...]:
        """Where 64-bit floats come in: made of narrower numbers, or of none."""
        return tuple(filter(None, map(_widening, self._flow.operations)))

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """What is worth a look, in words."""
        return tuple(_text.hints(self, get_default_dtype()))

    # -------------------------------------------------------- compiled

    def compile(self) -> Compilation:
        """Let XLA compile it: how long that takes, and what XLA plans and counts.

        Past JAX's cache of compiled programs; once for a report, which shows it from
        then on.

        Returns:
            A `Compilation`: seconds, bytes of arguments, results and temporaries.
        """
        if self._compiled is None:
            self._compiled = compilation(self._traced.lower)
        return self._compiled

    @property
    def compiled(self) -> Compilation | None:
        """What `compile` returned; None before."""
        return self._compiled

    # -------------------------------------------------------- pictures

    def graph(self, fold: Fold = "auto", most: int = 40) -> Graph:
        """Operations as nodes, and what flows between them.

        Args:
            fold: What is one node. "none": each operation; "call": a function that is
                called; "line": all that a line of the code makes; "auto": the finest
                of these with `most` nodes at most.
            most: How many nodes a person looks at.

        Returns:
            A `Graph` with `nodes` and `edges`; a loop has one inside.

        Raises:
            ValueError: `fold` is none of these.
        """
        return graph_of(self._flow, self._sources(), fold, most)

    def to_dot(self, fold: Fold = "auto", most: int = 40) -> str:
        """The graph as text for Graphviz: `dot -Tsvg`."""
        return dot(self.graph(fold, most), self.name)

    def to_mermaid(self, fold: Fold = "auto", most: int = 40) -> str:
        """The graph as text for Mermaid, which GitHub and notebooks draw."""
        return mermaid(self.graph(fold, most))

    def to_networkx(self, fold: Fold = "none", most: int = 40) -> Any:
        """The graph as a `networkx.MultiDiGraph`; nodes have label, flops, bytes ...

        Raises:
            MissingDependencyError: networkx is not installed.
        """
        return networkx_graph(self.graph(fold, most))

    def plot(
        self,
        file: str | os.PathLike[str] | None = None,
        *,
        fold: Fold = "auto",
        most: int = 40,
        ax: Any = None,
    ) -> Any:
        """Draw the graph from top to bottom; loops are boxes around their bodies.

        Args:
            file: Where to save the picture, by the ending of its name: `"step.png"`,
                `"step.svg"`, `"step.pdf"`; None: nowhere.
            fold: As for `graph`.
            most: As for `graph`.
            ax: The axes of matplotlib that show the picture; None: none do.

        Returns:
            `ax`, or what notebooks show as a picture and has it as `svg`.

        Raises:
            MissingDependencyError: pygraphviz is not installed.
        """
        return plot(self.graph(fold, most), self.name, file, ax)

    # -------------------------------------------------------- what it is made of

    @cached_property
    def _flow(self) -> Flow:
        return flow_of(self.jaxpr)

    @cached_property
    def _counted(self) -> list[Operation]:
        return [o for o in self._flow.operations if o.counted]

    @cached_property
    def _variables(self) -> list[tuple[str, bool, Any, bool]]:
        """Each input: its path, whether it is captured, its variable, if it is used."""
        _, values = useful(self._flow)
        return [
            (path, captured, v, ("in", 0, k) in values)
            for k, (path, captured, v) in enumerate(
                zip(
                    self._traced.inputs,
                    self._traced.captured,
                    self.jaxpr.jaxpr.invars,
                    strict=True,
                )
            )
        ]

    def _sources(self) -> dict[Value, str]:
        """What the user calls the values that no operation makes."""
        sources: dict[Value, str] = {
            ("in", 0, k): path for k, path in enumerate(self._traced.inputs)
        }
        for path, x in zip(self._traced.constants, self.jaxpr.consts, strict=True):
            sources["const", id(x), 0] = "random state" if is_ref(x) else path
        return sources

    def _constant(self, path: str, aval: Any, value: Value) -> Constant:
        using = (o.line for o in self._flow.operations if value in o.inputs)
        line = next(using, None)
        return Constant(path, shape_of(aval), dtype_of(aval), nbytes(aval), line)

    def _loop(self, operation: Operation) -> Loop:
        inner = [
            o
            for o in self._flow.operations
            if any(scope.operation == operation.number for scope in o.scopes)
        ]
        length = operation.equation.params.get("length")
        flops = sum(o.run_flops for o in inner if o.counted)
        return Loop(operation.name, length, len(inner), flops, operation.line)


_LOOPS = ("scan", "while")


def _line_row(line: Line | None, made: Sequence[Operation]) -> LineRow:
    alike: dict[tuple[Any, ...], list[Operation]] = defaultdict(list)
    for o in made:
        alike[o.name, *((shape_of(x), dtype_of(x)) for x in o.results)].append(o)
    groups = sorted(alike.values(), key=len, reverse=True)
    often = [group for group in groups if len(group) >= MANY_TIMES]
    counted = [o for o in made if o.counted]
    return LineRow(
        line,
        len(made),
        groups[0][0].name,
        len(groups[0]),
        sum(o.place.is_own for group in often for o in group),
        sum(o.times for o in counted),
        sum(o.run_flops for o in counted),
        sum(o.cost.bytes * o.times for o in counted),
    )


def _called(operation: Operation) -> str:
    """The name of the Python function behind a callback."""
    function = called_back(operation.equation)
    name = getattr(function, "name", None)
    if isinstance(name, str):
        return name
    return operation.name if function is None else function_name(function)


def _widening(operation: Operation) -> Conversion | None:
    """The operation as one that makes 64-bit floats, if it does."""
    if any(inner in operation.equation.params for inner in ("jaxpr", "branches")):
        return None  # its body says more
    before = [dtype_of(atom.aval) for atom in operation.equation.invars]
    after = [dtype_of(x) for x in operation.results if dtype_of(x) in WIDE]
    if not after or not set(WIDE).isdisjoint(before):
        return None
    return Conversion(operation.name, tuple(before), after[0], operation.line)
