"""`where` whose gradient is right where the function is not defined."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from .._advice import hiding_frames
from .._errors import LoopError
from .._values import function_name


T = TypeVar("T")


@hiding_frames
def safe_where(
    mask: ArrayLike, fn: Callable[[Any], T], x: Any, placeholder: ArrayLike = 0
) -> T:
    """`jnp.where(mask, fn(x), placeholder)`, with a gradient without NaN.

    The gradient of `jnp.where(x > 0, jnp.log(x), 0)` is NaN at 0: the gradient of the
    logarithm is infinite there, and infinity times zero is NaN. Here `fn` gets only
    elements of `x` for which the mask holds, and others have the gradient 0.

    >>> import jfi as jnp
    >>> x = jnp.array([0.0, 2.0])
    >>> jnp.grad(lambda x: jnp.where(x > 0, jnp.log(x), 0).sum())(x)
    Array([nan, 0.5], dtype=float32)
    >>> jnp.grad(lambda x: jnp.safe_where(x > 0, jnp.log, x).sum())(x)
    Array([0. , 0.5], dtype=float32)

    With a mask of one value, `x` may be any tree, such as a vector of which `fn` takes
    the norm; for many of them, `jfi.vmap` the whole.

    Args:
        mask: Where to use `fn`: a bool array with a shape that broadcasts to that of
            `x` and of the result.
        fn: A function of an array, element by element; of anything if `mask` is a
            scalar.
        x: Its argument: an array, or a tree of arrays.
        placeholder: The value elsewhere.

    Returns:
        What `fn` returns: an array, or a tree of arrays.

    Raises:
        LoopError: The mask does not fit `x`, or what `fn` returns.

    References:
        The double-where trick of "Why am I getting NaN in gradients" in JAX's FAQ,
        https://docs.jax.dev/en/latest/faq.html
    """
    mask = jnp.asarray(mask)
    if mask.dtype != bool:
        message = (
            f"safe_where() got a mask of {mask.dtype}, and takes truth values.\n"
            "Write a comparison: mask = x > 0"
        )
        raise LoopError(message)
    valid = jax.tree.map(lambda leaf: _only_valid(mask, jnp.asarray(leaf)), x)
    out = jax.tree.map(jnp.asarray, fn(valid))
    for leaf in jax.tree.leaves(out):
        _check_shape(fn, mask, leaf.shape, "returned")
    chosen: T = jax.tree.map(lambda leaf: jnp.where(mask, leaf, placeholder), out)
    return chosen


def _only_valid(mask: jax.Array, x: jax.Array) -> jax.Array:
    """`x` with another of its elements where the mask does not hold.

    A fixed number could be one at which `fn` is not defined either. If the mask holds
    nowhere, it is 1.
    """
    _check_shape("x", mask, x.shape, "is")
    everywhere = jnp.broadcast_to(mask, x.shape)
    if not mask.ndim or not x.size:
        return jnp.where(everywhere, x, jnp.ones_like(x))
    first = jax.lax.stop_gradient(x.ravel()[jnp.argmax(everywhere)])
    stand_in = jnp.where(everywhere.any(), first, jnp.ones_like(first))
    return jnp.where(everywhere, x, stand_in)


def _check_shape(what: Any, mask: jax.Array, shape: tuple[int, ...], verb: str) -> None:
    """Refuse a mask that would change the shape."""
    try:
        fits = jnp.broadcast_shapes(mask.shape, shape) == shape
    except ValueError:
        fits = False
    if fits:
        return
    name = what if isinstance(what, str) else f"{function_name(what)}()"
    message = (
        f"safe_where() got a mask of shape {mask.shape}, and {name} {verb} an array of "
        f"shape {shape}.\nPass a mask of the same shape; or, for a function of whole "
        "rows, jfi.vmap(lambda m, row: jfi.safe_where(m, fn, row))(mask, x)"
    )
    raise LoopError(message)
