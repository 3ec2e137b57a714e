"""Classes of arrays of jfi's own, which JAX takes where it takes its own."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray

from ._pieces import outside_of_tracing, piece


@piece(
    uses="the tables of JAX's classes of arrays (pytype_aval_mappings, ...)",
    without="arrays can't stay on a server: on_server() is refused",
    refuses=True,
)
def array_classes() -> Callable[[type, Callable[[Any], jax.Array]], None] | None:
    """What makes JAX take instances of a subclass of `jax.Array`.

    They have `aval`, their type; `value` makes an array of JAX's own of one, when a
    program gets it.
    """
    from jax._src import core, dtypes
    from jax._src.interpreters import pxla

    types: Any = core.pytype_aval_mappings
    canonical: Any = dtypes.canonicalize_value_handlers
    handlers: Any = pxla.shard_arg_handlers

    def register(cls: type, value: Callable[[Any], jax.Array]) -> None:
        def placed(xs: Any, *rest: Any) -> Any:
            shardings, layouts, copies = rest[:3]
            return pxla.shard_args(shardings, layouts, copies, [*map(value, xs)])

        types[cls] = lambda x: x.aval
        canonical[cls] = lambda x, **_: x
        handlers[cls] = placed

    three: Any = outside_of_tracing(lambda: jax.numpy.float32(3))
    variables = {
        "aval": ShapedArray((), np.dtype("float32")),
        "shape": (),
        "committed": False,
        "_committed": False,
        "sharding": three.sharding,
    }
    made: Any = type("Three", (jax.Array,), variables)
    register(made, lambda _: three)
    proved = outside_of_tracing(lambda: float(jax.jit(lambda x: x + 1)(made())))
    return register if proved == 4 else None
