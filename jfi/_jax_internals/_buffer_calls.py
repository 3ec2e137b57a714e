"""Calls of the host on the memory of XLA, without JAX's trees.

`jax.experimental.buffer_callback` takes trees apart and puts them together at each run,
for arguments, results and keywords. XLA itself hands over one flat list, so a call that
wants one spares that: 1.5 of 6.5 us for an empty call.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.interpreters import mlir

from ._operations import primitive
from ._pieces import outside_of_tracing, piece


OnBuffers = Callable[..., tuple[()]]


def called_on_buffers(
    function: OnBuffers, results: Sequence[Any]
) -> Callable[..., Sequence[jax.Array]]:
    """A function of JAX arrays that XLA calls on buffers when it runs on the CPU.

    Args:
        function: Takes XLA's context, the buffers of the arguments, and those of the
            results, into which it writes. It returns an empty tuple.
        results: Shapes and dtypes of the results.
    """
    flat = flat_buffer_calls()
    if flat is not None:
        return flat(function, results)

    from jax.experimental.buffer_callback import buffer_callback

    def in_trees(context: Any, out: Sequence[Any], *buffers: Any) -> None:
        function(context, *buffers, *out)

    called: Callable[..., Sequence[jax.Array]] = buffer_callback(
        in_trees, list(results)
    )
    return called


@piece(
    uses='XLA\'s "xla_buffer_python_cpu_callback", and module_context.host_callbacks',
    without="a compiled call of the host takes a microsecond more",
)
def flat_buffer_calls() -> (
    Callable[[OnBuffers, Sequence[Any]], Callable[..., Sequence[jax.Array]]] | None
):
    made = primitive("host_buffers")
    made.multiple_results = True

    def avals(*arguments: Any, function: OnBuffers, results: Any) -> list[Any]:
        return [ShapedArray(x.shape, x.dtype) for x in results]

    def lower(
        context: Any, *operands: Any, function: OnBuffers, results: Any
    ) -> Sequence[Any]:
        module = context.module_context
        module.add_host_callback(function)
        index = np.uint64(len(module.host_callbacks) - 1)
        rule: Any = jax.ffi.ffi_lowering("xla_buffer_python_cpu_callback")
        lowered: Sequence[Any] = rule(context, *operands, index=index)
        return lowered

    made.def_abstract_eval(avals)
    mlir.register_lowering(made, lower)

    def flat(
        function: OnBuffers, results: Sequence[Any]
    ) -> Callable[..., Sequence[jax.Array]]:
        types = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in results)
        return lambda *arrays: made.bind(*arrays, function=function, results=types)

    def works() -> bool:
        def swapped(context: Any, *buffers: Any) -> tuple[()]:
            x, y, of_y, of_x = map(np.asarray, buffers)
            of_y[...], of_x[...] = y, x
            return ()

        with jax.default_device(jax.devices("cpu")[0]):
            x, y = jnp.arange(3, dtype=np.float32), jnp.int32(7)
            found = jax.jit(flat(swapped, [y, x]))(x, y)
        return [one.tolist() for one in found] == [7, [0, 1, 2]]

    return flat if outside_of_tracing(works) else None
