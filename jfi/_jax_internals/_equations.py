"""What is inside an operation of a jaxpr: called functions, bodies, branches."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
from jax.core import eval_jaxpr

from ._effects import inner_jaxprs
from ._pieces import outside_of_tracing, piece


class Inner(NamedTuple):
    """A jaxpr inside an operation.

    Attributes:
        role: "call", "body", "condition", "branch 0" ...
        jaxpr: It.
        consts: The values of its constants.
        times: How often it runs when the operation does; None if only data decide.
        roles: What each of its inputs is: "", "carry", "x" (a row of an array).
        offset: Which input of the operation its first input is.
    """

    role: str
    jaxpr: Any
    consts: Sequence[Any]
    times: int | None
    roles: Sequence[str] = ()
    offset: int = 0


def is_literal(atom: Any) -> bool:
    """Whether an input of an operation is a number in the program, not a variable."""
    return hasattr(atom, "val")


def inside(equation: Any) -> list[Inner]:
    """The jaxprs that run as parts of an operation.

    What works on single elements, such as the function of a `reduce`, does not count.
    """
    find = _FINDERS.get(equation.primitive.name)
    if find is not None:
        return find(equation)
    if equation.primitive.name.startswith(_BY_ELEMENT):
        return []
    found = list(_opened(equation.params.values()))
    takes = [len(inner.jaxpr.invars) == len(equation.invars) for inner in found]
    if takes == [True]:
        return found
    return [
        inner._replace(role=f"part {k}" if len(found) > 1 else "part")
        for k, inner in enumerate(found)
    ]


def replayed(traced: Any, args: Sequence[Any]) -> Any:
    """The result of a `jax.stages.Traced`, operation by operation in the trace around.

    As by a `jax.jit` with `inline=True`, but that in JAX 0.10 gives all operations the
    line of the call.
    """
    closed = traced.jaxpr
    results = eval_jaxpr(closed.jaxpr, closed.consts, *jax.tree.leaves(args))
    return jax.tree.unflatten(traced.out_tree, results)


def is_call(inner: Inner) -> bool:
    """Whether a jaxpr stands in place of its operation: `jit`, `checkpoint` ..."""
    return inner.role == "call"


def called_name(equation: Any) -> str:
    """The name of the function that an operation calls, if JAX keeps it."""
    name = equation.params.get("name")
    if not isinstance(name, str):
        (inner,) = inside(equation)
        info = getattr(inner.jaxpr, "debug_info", None)
        name = getattr(info, "func_name", "") or equation.primitive.name
    return str(name).removeprefix("_")


def _opened(values: Any, role: str = "call") -> Iterator[Inner]:
    for value in values:
        for x in value if isinstance(value, (tuple, list)) else [value]:
            jaxpr = getattr(x, "jaxpr", x)
            if hasattr(jaxpr, "eqns"):
                yield Inner(role, jaxpr, getattr(x, "consts", ()), 1)


def _one(value: Any, role: str, times: int | None, roles: Sequence[str] = ()) -> Inner:
    (inner,) = _opened([value], role)
    return inner._replace(times=times, roles=roles)


def _scan(equation: Any) -> list[Inner]:
    inner = _one(equation.params["jaxpr"], "body", equation.params["length"])
    # By the types alone: JAX 0.12 has no parameters that say how many are of a kind.
    rows = _number_of_stacked(equation.invars, inner.jaxpr.invars)
    carried = len(equation.outvars) - _number_of_stacked(
        equation.outvars, inner.jaxpr.outvars
    )
    shared = len(equation.invars) - carried - rows
    return [inner._replace(roles=[""] * shared + ["carry"] * carried + ["x"] * rows)]


def _number_of_stacked(outside: Sequence[Any], inside: Sequence[Any]) -> int:
    """How many values of a scan have one row more outside for each of its turns."""
    pairs = zip(outside, inside, strict=True)
    return sum(len(a.aval.shape) > len(b.aval.shape) for a, b in pairs)


def _while(equation: Any) -> list[Inner]:
    p = equation.params
    carry = ["carry"] * len(equation.outvars)
    return [
        _one(p["cond_jaxpr"], "condition", None, [""] * p["cond_nconsts"] + carry),
        _one(p["body_jaxpr"], "body", None, [""] * p["body_nconsts"] + carry)._replace(
            offset=p["cond_nconsts"]
        ),
    ]


def _cond(equation: Any) -> list[Inner]:
    branches = _opened(equation.params["branches"])
    # The first input says which branch runs.
    return [
        b._replace(role=f"branch {k}", roles=[""] * len(b.jaxpr.invars), offset=1)
        for k, b in enumerate(branches)
    ]


def _linear_solve(equation: Any) -> list[Inner]:
    # Of its four functions only this one runs, unless it is differentiated. lineax has
    # an operation of the same name, and no code in it.
    functions = equation.params.get("jaxprs")
    return [_one(functions.solve, "solve", 1)] if functions else []


def _shard_map(equation: Any) -> list[Inner]:
    """The work of all devices."""
    p = equation.params
    manual = p.get("manual_axes") or p["mesh"].axis_names
    devices = math.prod(p["mesh"].shape[axis] for axis in manual)
    return [_one(p["jaxpr"], "part of each device", devices)]


def _pallas(equation: Any) -> list[Inner]:
    p = equation.params
    grid = getattr(p.get("grid_mapping"), "grid", ())
    known = all(isinstance(n, int) for n in grid)
    return [_one(p["jaxpr"], "kernel", math.prod(grid) if known else None)]


_FINDERS: dict[str, Callable[[Any], list[Inner]]] = {
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    "custom_linear_solve": _linear_solve,
    "linear_solve": _linear_solve,
    "shard_map": _shard_map,
    "pallas_call": _pallas,
}
_BY_ELEMENT = ("reduce", "scatter", "select_and", "cum", "sort", "approx_top_k", "arg")


@piece(
    uses="debug_info of a jaxpr: func_filename",
    without="inspect may name another line that calls the same function of JAX",
)
def source_files() -> Callable[[Any], str | None] | None:
    """The file of the function that a jaxpr was traced from."""

    def file(jaxpr: Any) -> str | None:
        return getattr(jaxpr.debug_info, "func_filename", None)

    def probe(x: Any) -> Any:
        return jax.nn.relu(-x)

    closed = outside_of_tracing(lambda: jax.make_jaxpr(probe)(1.0))
    inner = [j for equation in closed.jaxpr.eqns for j in inner_jaxprs(equation)]
    files = [file(closed.jaxpr), file(inner[0])]
    own = [bool(f) and os.path.samefile(str(f), __file__) for f in files]
    return file if own == [True, False] else None
