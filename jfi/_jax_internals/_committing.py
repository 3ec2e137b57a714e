"""Arrays that follow the data they meet, without a copy."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._pieces import outside_of_tracing, piece


def uncommitted(array: jax.Array) -> jax.Array:
    """The array on its device, bound to none; copied without `uncommitting`."""
    if not array.committed:
        return array
    loosen = uncommitting()
    if loosen is None:
        return jnp.array(np.asarray(array))
    return loosen(array)


@piece(
    uses="jax._src.array.ArrayImpl(aval, sharding, arrays, committed)",
    without="large results of eager host calls are copied once more",
)
def uncommitting() -> Callable[[jax.Array], jax.Array] | None:
    from jax._src.array import ArrayImpl

    make: Any = ArrayImpl

    def loosen(array: Any) -> jax.Array:
        loose: jax.Array = make(array.aval, array.sharding, [array], committed=False)
        return loose

    def works() -> bool:
        array = jax.device_put(np.arange(3.0, dtype=np.float32), jax.devices("cpu")[0])
        loose = loosen(array)
        same = loose.unsafe_buffer_pointer() == array.unsafe_buffer_pointer()
        right = np.array_equal(np.asarray(loose + 1), [1, 2, 3])
        return same and right and array.committed and not loose.committed

    return loosen if outside_of_tracing(works) else None
