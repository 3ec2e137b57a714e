"""How much memory a jaxpr needs if its operations run one after the other."""

from typing import Any

from .._jax_internals import inside, is_call, is_literal
from ._costs import nbytes


def peak_bytes(jaxpr: Any) -> int:
    """The most bytes that are alive at a time, in the order of the jaxpr.

    Inputs stay alive until the end, since their owner has them. Any other value lives
    from the operation that makes it to the last one that reads it. A program of XLA
    needs less where it fuses operations, and more where it runs them in another order.
    """
    last: dict[Any, int] = {}
    for i, equation in enumerate(jaxpr.eqns):
        for atom in equation.invars:
            if not is_literal(atom):
                last[atom] = i
    given = [*jaxpr.invars, *jaxpr.constvars]
    stay = {atom for atom in jaxpr.outvars if not is_literal(atom)}.union(given)
    live = peak = _bytes(given)
    alive: dict[Any, int] = {}
    for i, equation in enumerate(jaxpr.eqns):
        peak = max(peak, live + _while_running(equation))
        for variable in equation.outvars:
            alive[variable] = nbytes(variable.aval)
            live += alive[variable]
        read = {atom for atom in equation.invars if not is_literal(atom)}
        for variable in read.union(equation.outvars) - stay:
            if variable in alive and last.get(variable, -1) <= i:
                live -= alive.pop(variable)
    return peak


def _while_running(equation: Any) -> int:
    """What an operation takes beside its inputs."""
    results = _bytes(equation.outvars)
    own = 0
    for inner in inside(equation):
        more = peak_bytes(inner.jaxpr) - _bytes(inner.jaxpr.invars)
        if is_call(inner):  # its results are among what it takes
            return max(results, more)
        own = max(own, more)
    return results + own


def _bytes(variables: Any) -> int:
    return sum(nbytes(variable.aval) for variable in variables)
