"""What `scan_while` and `while_loop(max_steps=)` do: see `_operations`.

Their derivatives are those of one loop: `_loop_derivatives`.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._errors import LoopError
from .._jax_internals import setting
from .._values import names_to_copy
from ._by_steps import has_values, run_by_steps, stacked
from ._carry import names_in
from ._traced_loop import run_traced


def scan_while(functions: tuple[Any, Any], init: Any, max_steps: int) -> Any:
    cond, body = functions
    names = names_in("scan_while", body)
    if setting("jax_disable_jit") and has_values():
        carry, rows, _ = run_by_steps(names, cond, body, init, max_steps)
        return carry, stacked(names, rows, max_steps), jnp.int32(len(rows))
    return run_traced(names, cond, body, init, max_steps)[:3]


def while_loop(functions: tuple[Any, Any], init_val: Any, max_steps: int) -> Any:
    cond_fun, body_fun = functions
    names = names_in("while_loop", body_fun, start="init_val")

    @functools.wraps(body_fun, names_to_copy(body_fun))
    def body(carry: Any) -> tuple[Any, None]:
        return body_fun(carry), None

    if setting("jax_disable_jit") and has_values():
        carry, _, cut = run_by_steps(names, cond_fun, body, init_val, max_steps)
    else:
        carry, _, _, cut = run_traced(names, cond_fun, body, init_val, max_steps)
    if not any(map(_can_tell, jax.tree.leaves(carry))):
        message = (
            "while_loop(..., max_steps=) can't show in its result that it was cut off: "
            f"{names.carry} has no floats and no integers.\nAdd one, such as the "
            "number of steps; or write scan_while, which returns it as length."
        )
        raise LoopError(message)
    return jax.tree.map(lambda x: _spoilt(x, cut), carry)


def _can_tell(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.number)


def _spoilt(x: Any, cut: Any) -> Any:
    """A value that can't be taken for a result, nor its derivative, where `cut`."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return lax.complex(_spoilt(x.real, cut), _spoilt(x.imag, cut))
    if jnp.issubdtype(x.dtype, jnp.floating):
        # A factor, and not a choice, whose derivative would be 0.
        return x * jnp.where(cut, jnp.nan, 1).astype(x.dtype)
    if jnp.issubdtype(x.dtype, jnp.integer):
        limits: Any = np.iinfo(x.dtype)
        return jnp.where(cut, x.dtype.type(limits.min or limits.max), x)
    return x
