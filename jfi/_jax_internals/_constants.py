"""The arrays that a traced function has captured."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.core import eval_jaxpr

from ._pieces import outside_of_tracing, piece


@piece(
    uses="jax._src.interpreters.partial_eval.convert_constvars_jaxpr",
    without="solvers trace twice; jax.checking_leaks() finds while_loop(max_steps)",
)
def consts_as_arguments() -> Callable[[Any], Any] | None:
    """Makes of `closed.jaxpr` one that takes what it captured as its first arguments.

    From JAX 0.12 on `closed.jaxpr` itself holds that, too: to keep it keeps tracers.
    """
    from jax._src.interpreters.partial_eval import convert_constvars_jaxpr

    def known() -> bool:
        captured = np.ones(2, np.float32)
        closed = jax.make_jaxpr(lambda x: x + jax.numpy.asarray(captured))(2.0)
        jaxpr = convert_constvars_jaxpr(closed.jaxpr)
        (found,) = eval_jaxpr(jaxpr, (), *closed.consts, 2.0)
        holds_none = not jaxpr.constvars and not getattr(jaxpr, "consts", ())
        return holds_none and found.tolist() == [3.0, 3.0]

    return convert_constvars_jaxpr if outside_of_tracing(known) else None
