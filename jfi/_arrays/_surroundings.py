"""What results depend on beside the program: settings, for another process to take on.

All of them have a `with` block, so that a thread of the other process has them alone.
"""

import contextlib
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any

import jax

from .._jax_internals import setting
from ._config import default_dtype, get_default_dtype


_OF_JAX: dict[str, Callable[[Any], AbstractContextManager[Any]]] = {
    "jax_enable_x64": jax.enable_x64,
    "jax_default_matmul_precision": jax.default_matmul_precision,
    "jax_default_prng_impl": jax.default_prng_impl,
    "jax_numpy_dtype_promotion": jax.numpy_dtype_promotion,
    "jax_numpy_rank_promotion": jax.numpy_rank_promotion,
    "jax_threefry_partitionable": jax.threefry_partitionable,
}


def settings_here() -> dict[str, Any]:
    """The settings of this thread that results depend on, as what can be pickled."""
    found = {name: setting(name) for name in _OF_JAX}
    plain = {k: v.value if isinstance(v, Enum) else v for k, v in found.items()}
    return {**plain, "default_dtype": get_default_dtype().name}


@contextlib.contextmanager
def with_settings(values: Mapping[str, Any]) -> Generator[None]:
    """Run a block, in this thread, with settings of another process."""
    with contextlib.ExitStack() as stack:
        for name, block in _OF_JAX.items():
            stack.enter_context(block(values[name]))
        stack.enter_context(default_dtype(values["default_dtype"]))
        yield
