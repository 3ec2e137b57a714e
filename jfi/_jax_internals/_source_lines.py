"""Which line of the user's code a value of a jaxpr comes from.

JAX keeps the place of each operation for its own messages.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import jax

from ._effects import inner_jaxprs
from ._pieces import outside_of_tracing, piece


_JFI = os.path.dirname(os.path.dirname(__file__)) + os.sep


def origin_of_output(
    closed_jaxpr: Any, number: int, is_wrong: Callable[[Any], bool]
) -> tuple[str, int] | None:
    """The file and line of the operation that first made an output what it is.

    Args:
        closed_jaxpr: A traced function.
        number: Which of its outputs.
        is_wrong: Whether a value (its shape and dtype) is as the output should not be.
    """
    if source_lines() is None:
        return None
    jaxpr = closed_jaxpr.jaxpr
    maker = {id(v): eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    variable, found = jaxpr.outvars[number], None
    while id(variable) in maker:
        found = maker[id(variable)]
        wrong = [v for v in found.invars if id(v) in maker and is_wrong(v.aval)]
        if not wrong:
            break
        variable = wrong[0]
    return found and user_line(found)


def origin_of_float64(closed_jaxpr: Any) -> tuple[bool, tuple[str, int] | None]:
    """Whether float32 becomes float64 in a jaxpr, and the file and line of it."""
    equations = _first_widening(closed_jaxpr.jaxpr)
    places = map(user_line, equations)
    return bool(equations), next(filter(None, places), None)


def user_line(
    equation: Any, is_library: Callable[[str], bool] = lambda file: False
) -> tuple[str, int] | None:
    """The file and line of an operation; None without `source_lines`.

    Args:
        equation: The operation.
        is_library: Whether a file is passed over, if another one is not.
    """
    found = source_lines()
    if found is None:
        return None
    first = None
    for place in found(equation):
        if not is_library(place[0]):
            return place
        first = first or place
    return first


def _first_widening(jaxpr: Any) -> tuple[Any, ...]:
    """The operation, and those that it is a part of, from the inside out."""
    for equation in jaxpr.eqns:
        makes_wide = any(_bits(v.aval) in _WIDE for v in equation.outvars)
        if equation.primitive.name in _CALLS and not makes_wide:
            continue  # such as jnp.quantile, which computes in float64
        for inner in inner_jaxprs(equation):
            if found := _first_widening(inner):
                return (*found, equation)
        if makes_wide and any(_bits(v.aval) in _NARROW for v in equation.invars):
            return (equation,)
    return ()


def _bits(aval: Any) -> str:
    return str(getattr(aval, "dtype", ""))


_NARROW = ("bfloat16", "float16", "float32", "complex64")
_WIDE = ("float64", "complex128")
_CALLS = ("jit", "pjit")


@piece(
    uses="source_info of an equation, jax._src.source_info_util.user_frames",
    without="errors of loops don't name the line that made a value of another type",
)
def source_lines() -> Callable[[Any], Iterator[tuple[str, int]]] | None:
    """The files and lines of an operation, from the inside out, without jfi's own."""
    from jax._src.source_info_util import user_frames

    def places(equation: Any) -> Iterator[tuple[str, int]]:
        for frame in user_frames(equation.source_info.traceback):
            if not frame.file_name.startswith(_JFI):
                yield frame.file_name, frame.start_line

    closed = outside_of_tracing(lambda: jax.make_jaxpr(lambda x: -x)(1.0))
    list(places(closed.jaxpr.eqns[0]))  # all of jfi's own code may count as JAX's
    return places
