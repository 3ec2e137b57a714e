"""Functions with effects: each call of a program runs them once, in order."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental import io_callback

from ..._errors import CallbackError
from ..._host import Spec, checked, results_as
from ..._jax_internals import note_host_call, recorded
from ._calls import NumpyCall, flat_result, refuse_other_tree


def call_in_order(call: NumpyCall, arguments: Sequence[jax.Array]) -> Any:
    """Stage a call that is neither left out, nor repeated, nor moved before another.

    Args:
        call: The function.
        arguments: Its arrays, at least one of which is traced.
    """
    # Not learnt from a run on sample values, which would have the effects.
    tree, declared = call.declared(arguments)
    results = results_as(declared)
    specs = [Spec(result.shape, result.dtype) for result in results]
    note_host_call()

    def on_host(*arrays: Any) -> list[Any]:
        try:
            copies = [np.array(array) for array in arrays]
            values, found = flat_result(call.on_arrays(*copies), call.name)
            if values and not results:
                raise CallbackError(_UNDECLARED.format(name=call.name))
            found_arrays = list(checked(values, results, call.name))
            if results:
                refuse_other_tree(found, [tree], call.name)
            return found_arrays
        except BaseException as error:
            raise recorded(error) from error

    outs = io_callback(on_host, specs, *arguments, ordered=True)
    return jax.tree.unflatten(tree, outs)


_UNDECLARED = (
    "{name} is run in order, and returned something that was not declared: jfi does "
    "not run a function with effects on sample values. Say what it returns: "
    "from_numpy(fn, ordered=True, out=jax.ShapeDtypeStruct(shape, dtype))."
)
