"""A jaxpr as a list of operations that knows where the inputs of each come from.

Functions that are called (`jit`, `checkpoint` ...) are opened: their operations stand
in place of the call. Loops and branches are operations themselves; those of their
bodies come after them, and say how often they run.
"""

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any, NamedTuple, TypeAlias

import jax

from .._jax_internals import (
    Inner,
    called_name,
    inside,
    is_call,
    is_literal,
    source_files,
    user_line,
)
from .._values import file_label, is_library_file, source_line
from ._costs import Cost, cost


# Where a value comes from: ("op", number, k) is result k of an operation; ("in", scope,
# k) input k of the function or of a body; ("const", id, 0); ("lit", text, dtype).
Value: TypeAlias = tuple[str, Any, Any]


class Line(NamedTuple):
    """A line of the user's code.

    Attributes:
        file: The file.
        number: Which line of it.
    """

    file: str
    number: int

    @property
    def text(self) -> str:
        """What is written there; empty if the file can't be read."""
        return source_line(self.file, self.number)

    def __str__(self) -> str:
        return f"{os.path.basename(file_label(self.file))}, line {self.number}"


class Origin(NamedTuple):
    """Where an operation comes from.

    Attributes:
        line: The line of the user.
        is_own: Whether the line itself, or a function of JAX or jfi that it calls,
            makes it, and not another library.
    """

    line: Line | None
    is_own: bool


class Enclosing(NamedTuple):
    """Something that an operation is a part of.

    Attributes:
        name: A function that is called, or "body", "condition", "branch 0" ...
        number: Another one for each call or body.
        times: How often it runs; None if only data decide.
        operation: The number of the loop or branching; None for a call.
        roles: What each input of a body is: "", "carry" or "x".
        offset: Which input of the operation the first of these is.
    """

    name: str
    number: int
    times: int | None
    operation: int | None
    roles: tuple[str, ...] = ()
    offset: int = 0


@dataclass(slots=True)
class Operation:
    """One operation of a program.

    Attributes:
        number: Its place in the list.
        name: JAX's name of it, such as "dot_general".
        place: Where it comes from.
        scopes: The functions, loops and branches around it, from the outside in.
        times: How often it runs; loops of unknown length count once.
        cost: What one run of it costs; that of a loop is in its body.
        needed: Whether a result depends on it; JAX leaves out what is not needed.
        counted: Whether its cost counts. That of branches which are not the most
            expensive ones does not, and of what is not needed.
        inputs: Where its inputs come from.
        equation: The equation of the jaxpr.
    """

    number: int
    name: str
    place: Origin
    scopes: tuple[Enclosing, ...]
    times: int
    cost: Cost
    counted: bool
    inputs: tuple[Value, ...]
    equation: Any
    needed: bool = True

    @property
    def line(self) -> Line | None:
        """The line of the user that it comes from, if that is known."""
        return self.place.line

    @property
    def run_flops(self) -> int:
        """The flops of all its runs, those of `transcendentals` with them."""
        return (self.cost.flops + self.cost.transcendentals) * self.times

    @property
    def results(self) -> list[Any]:
        """The types of its results: they have a `shape` and a `dtype`."""
        return [variable.aval for variable in self.equation.outvars]


class Branches(NamedTuple):
    """A `cond` or `switch`.

    Attributes:
        line: Where it is.
        flops: Those of each branch, with `transcendentals`; of a `cond` first that of
            False.
        counted: Which of them counts: the most expensive one.
    """

    line: Line | None
    flops: tuple[int, ...]
    counted: int


class Flow(NamedTuple):
    """All operations of a function.

    Attributes:
        operations: In the order in which they run.
        results: Where the results of the function come from.
        branches: Each `cond` and `switch`.
        ends: Where the results of each body come from, by the number of its scope.
    """

    operations: list[Operation]
    results: list[Value]
    branches: list[Branches]
    ends: dict[int, list[Value]]


def flow_of(closed_jaxpr: Any) -> Flow:
    """The operations of a closed jaxpr."""
    walk = _Walk()
    jaxpr = closed_jaxpr.jaxpr
    inputs: list[Value] = [("in", 0, k) for k in range(len(jaxpr.invars))]
    whole = Inner("call", jaxpr, closed_jaxpr.consts, 1)
    results = walk.run(whole, inputs, (), Origin(None, False))
    flow = Flow(walk.operations, results, walk.branches, walk.ends)
    needed, _ = useful(flow)
    for operation in flow.operations:
        operation.needed = operation.number in needed
        operation.counted = operation.counted and operation.needed
    return flow


class _Walk:
    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.branches: list[Branches] = []
        self.ends: dict[int, list[Value]] = {}
        self._scopes = count(1)

    def run(
        self,
        inner: Inner,
        inputs: Sequence[Value],
        scopes: tuple[Enclosing, ...],
        around: Origin,
        times: int = 1,
    ) -> list[Value]:
        """Note the operations of a jaxpr, and where its results come from."""
        jaxpr = inner.jaxpr
        env: dict[Any, Value] = dict(zip(jaxpr.invars, inputs, strict=True))
        for variable, value in zip(jaxpr.constvars, inner.consts, strict=False):
            env[variable] = ("const", id(value), 0)
        inherits = around.line is not None and _is_of_library(jaxpr)
        if inherits and not _is_of_jax(jaxpr):
            around = Origin(around.line, False)
        for equation in jaxpr.eqns:
            place = around if inherits else _place(equation, around)
            found = tuple(_value(atom, env) for atom in equation.invars)
            outs = self._equation(equation, found, scopes, place, times)
            env.update(zip(equation.outvars, outs, strict=True))
        return [_value(atom, env) for atom in jaxpr.outvars]

    def _equation(
        self,
        equation: Any,
        inputs: tuple[Value, ...],
        scopes: tuple[Enclosing, ...],
        place: Origin,
        times: int,
    ) -> list[Value]:
        parts = inside(equation)
        if len(parts) == 1 and is_call(parts[0]):
            scope = Enclosing(called_name(equation), next(self._scopes), 1, None)
            return self.run(parts[0], inputs, (*scopes, scope), place, times)
        number = len(self.operations)
        name = equation.primitive.name
        own = Cost(0, 0, 0) if parts else _cost(equation)
        self.operations.append(
            Operation(number, name, place, scopes, times, own, True, inputs, equation)
        )
        ends = [number + 1]
        for part in parts:
            scope = Enclosing(
                part.role,
                next(self._scopes),
                part.times,
                number,
                tuple(part.roles),
                part.offset,
            )
            values: list[Value] = [
                ("in", scope.number, k) for k in range(len(part.jaxpr.invars))
            ]
            runs = times * (1 if part.times is None else part.times)
            results = self.run(part, values, (*scopes, scope), place, runs)
            self.ends[scope.number] = results
            ends.append(len(self.operations))
        if name == "cond":
            self._choose(place.line, ends)
        return [("op", number, k) for k in range(len(equation.outvars))]

    def _choose(self, line: Line | None, ends: Sequence[int]) -> None:
        """Count the most expensive branch alone."""
        branches = [self.operations[a:b] for a, b in pairwise(ends)]
        totals = [_total(branch) for branch in branches]
        chosen = max(range(len(totals)), key=totals.__getitem__)
        for k, branch in enumerate(branches):
            for operation in branch:
                operation.counted = operation.counted and k == chosen
        flops = tuple(total[0] for total in totals)
        self.branches.append(Branches(line, flops, chosen))


def _total(operations: Sequence[Operation]) -> tuple[int, int, int]:
    counted = [o for o in operations if o.counted]
    flops = sum(o.run_flops for o in counted)
    return flops, sum(o.cost.bytes * o.times for o in counted), len(counted)


def _cost(equation: Any) -> Cost:
    ins = [atom.aval for atom in equation.invars]
    outs = [variable.aval for variable in equation.outvars]
    return cost(equation.primitive.name, ins, outs, equation.params)


def _value(atom: Any, env: dict[Any, Value]) -> Value:
    if is_literal(atom):
        return ("lit", str(atom.val), str(atom.aval))
    return env[atom]


def _place(equation: Any, around: Origin) -> Origin:
    found, innermost = user_line(equation, is_library_file), user_line(equation)
    if found is None or innermost is None:
        return around
    return Origin(Line(*found), not is_library_file(innermost[0]))


def _is_of_library(jaxpr: Any) -> bool:
    """Whether a function of an installed library was traced.

    JAX keeps its jaxpr, with the line of whoever called it first.
    """
    file = _file(jaxpr)
    return file is not None and is_library_file(file)


def _is_of_jax(jaxpr: Any) -> bool:
    return (_file(jaxpr) or "").startswith(_FOLDERS)


_FOLDERS = os.path.dirname(jax.__file__), os.path.dirname(os.path.dirname(__file__))


def _file(jaxpr: Any) -> str | None:
    file_of = source_files()
    return file_of(jaxpr) if file_of else None


def useful(flow: Flow) -> tuple[set[int], set[Value]]:
    """The operations, and all values, on which results or effects depend."""
    values = set(flow.results)
    kept: set[int] = set()
    for operation in flow.operations:
        if operation.equation.effects:
            kept.add(operation.number)
            kept.update(_loops_around(operation))
    for operation in reversed(flow.operations):
        number = operation.number
        if number in kept or any(
            ("op", number, k) in values for k in range(len(operation.results))
        ):
            kept.add(number)
            values.update(operation.inputs)
    # In a body all is needed, if the loop is; what it takes from outside are the inputs
    # of the loop.
    for operation in flow.operations:
        around = _loops_around(operation)
        if around and kept.issuperset(around):
            kept.add(operation.number)
            values.update(operation.inputs)
    return kept, values


def _loops_around(operation: Operation) -> list[int]:
    return [s.operation for s in operation.scopes if s.operation is not None]


def repeated(flow: Flow) -> list[list[Operation]]:
    """Operations that compute the same from the same, in groups of two and more.

    The second and later ones are those that could be spared. XLA leaves them out of
    what it compiles; a trace is longer for them.
    """
    canonical: dict[Value, Value] = {}
    groups: dict[Hashable, list[Operation]] = {}
    for operation in flow.operations:
        if operation.equation.effects or not operation.needed:
            continue
        inputs = tuple(canonical.get(v, v) for v in operation.inputs)
        around = tuple(s.number for s in operation.scopes if s.operation is not None)
        key = (
            operation.name,
            inputs,
            around,
            _hashable_parameters(operation.equation.params),
        )
        group = groups.setdefault(key, [])
        group.append(operation)
        first = group[0].number
        if first != operation.number:
            for k in range(len(operation.results)):
                canonical["op", operation.number, k] = ("op", first, k)
    return [group for group in groups.values() if len(group) > 1]


def _hashable_parameters(params: Any) -> Hashable:
    return tuple((name, _hashed(value)) for name, value in sorted(params.items()))


def _hashed(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    found: Hashable = value
    return found
