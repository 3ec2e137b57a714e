"""What is beyond the borders of an image: SciPy's modes."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import ImageError


# The names of one kind of border, for filters: `grid-mirror` is `reflect` ...
MODES = {
    "reflect": "reflect",
    "grid-mirror": "reflect",
    "constant": "constant",
    "grid-constant": "constant",
    "nearest": "nearest",
    "mirror": "mirror",
    "wrap": "wrap",
    "grid-wrap": "wrap",
}


def border_mode(name: str, mode: Any) -> str:
    """The kind of border that a mode of SciPy's means.

    Args:
        name: The function that the user called, for messages.
        mode: What the user passed.
    """
    if mode not in MODES:
        message = f"{name} got mode={mode!r}. Pass one of {', '.join(MODES)}."
        raise ImageError(message)
    return MODES[mode]


def continuation(name: str, mode: str) -> str:
    """How SciPy continues the coefficients of a spline for a mode: never a constant.

    There is no exact continuation for an image that goes on with one number.
    """
    kind = border_mode(name, mode)
    if kind == "wrap":
        return "wrap" if mode == "grid-wrap" else "mirror"
    return "reflect" if kind in ("reflect", "nearest") else "mirror"


def folded(places: Any, size: int, mode: str) -> Any:
    """Where in an axis of some size the elements at places beyond it come from.

    Args:
        places: Integers, an array of NumPy or JAX.
        size: That of the axis.
        mode: One of the values of `MODES`, not "constant".
    """
    xp: Any = np if isinstance(places, np.ndarray) else jnp
    if mode == "nearest":
        return xp.clip(places, 0, size - 1)
    if mode == "wrap":
        return places % size
    period = 2 * size if mode == "reflect" else max(2 * size - 2, 1)
    inside = places % period
    back = period - 1 - inside if mode == "reflect" else period - inside
    return xp.where(inside < size, inside, back)


def extended(
    x: jax.Array, axis: int, before: int, after: int, mode: str, cval: Any
) -> jax.Array:
    """The image with elements added at both ends of an axis.

    Args:
        x: The image.
        axis: Which axis.
        before: How many elements are added in front.
        after: How many behind.
        mode: One of the values of `MODES`.
        cval: What is added, a number, for "constant".
    """
    if not before and not after:
        return x
    if mode == "constant":
        widths = [(0, 0, 0)] * x.ndim
        widths[axis] = (before, after, 0)
        return jax.lax.pad(x, jnp.asarray(cval, x.dtype), widths)
    # Only the borders are gathered; the image itself is copied in one piece.
    size = x.shape[axis]
    ends = np.arange(-before, 0), np.arange(size, size + after)
    first, last = (
        jnp.take(x, folded(places, size, mode), axis=axis) for places in ends
    )
    return jnp.concatenate([first, x, last], axis=axis)
