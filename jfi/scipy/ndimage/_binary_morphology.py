"""Morphology of binary images: erosion, dilation and what is made of them."""

import functools
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..._docstrings import explained_as
from ..._errors import ImageError
from ._ranks import neighbors
from ._selection import moved
from ._windows import Axes, Image, PerAxis, Window, checked_axes, image, output_dtype


def generate_binary_structure(rank: int, connectivity: int) -> NDArray[np.bool_]:
    """The neighbors that touch an element: `scipy.ndimage.generate_binary_structure`.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.ndimage.generate_binary_structure(2, 1).astype(int)
        array([[0, 1, 0],
               [1, 1, 1],
               [0, 1, 0]])

    Args:
        rank: How many axes.
        connectivity: Along how many axes a neighbor may differ from the element.

    Returns:
        A NumPy array of booleans, of 3 along each axis: which neighbors count is known
        when a filter is compiled.
    """
    if rank < 1:
        return np.array(True)
    distances = np.abs(np.indices([3] * rank) - 1).sum(0)
    found: NDArray[np.bool_] = distances <= max(connectivity, 1)
    return found


def binary_erosion(
    input: Image, structure: Any = None, iterations: int = 1,
    mask: Image | None = None, output: Any = None, border_value: Any = 0,
    origin: PerAxis = 0, brute_force: bool = False, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """Where all neighbors are true: `scipy.ndimage.binary_erosion`.

    Example:
        >>> import jfi as jnp
        >>> x = jnp.array([0, 1, 1, 1, 0])
        >>> jnp.scipy.ndimage.binary_erosion(x)
        Array([False, False,  True, False, False], dtype=bool)

    Args:
        input: The image; what is not zero is true.
        structure: Which neighbors count, a known array of booleans; those that touch
            the element along an axis if not given.
        iterations: How many times; less than 1 repeats it until nothing changes.
        mask: Elements that may change; all if not given.
        output: Taken because SciPy has it; an array is refused. The result is bool.
        border_value: What is beyond the border, 0 or 1.
        origin: How far the structure is moved, a number or one for each axis.
        brute_force: Taken because SciPy has it; the result is the same.
        axes: The axes along which neighbors are; None is all.

    Returns:
        Booleans, of the shape of the image.

    Raises:
        ImageError: The image is complex, or arguments don't fit it.
    """
    del brute_force
    return _repeated("binary_erosion()", input, structure, iterations, mask, output,
                     border_value, origin, axes, grows=False)  # fmt: skip


@explained_as(binary_erosion)
def binary_dilation(
    input: Image, structure: Any = None, iterations: int = 1,
    mask: Image | None = None, output: Any = None, border_value: Any = 0,
    origin: PerAxis = 0, brute_force: bool = False, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """Where a neighbor is true: `scipy.ndimage.binary_dilation`.

    Example:
        >>> import jfi as jnp
        >>> x = jnp.array([0, 0, 1, 0, 0])
        >>> jnp.scipy.ndimage.binary_dilation(x)
        Array([False,  True,  True,  True, False], dtype=bool)
    """
    del brute_force
    return _repeated("binary_dilation()", input, structure, iterations, mask, output,
                     border_value, origin, axes, grows=True)  # fmt: skip


@explained_as(binary_erosion)
def binary_opening(
    input: Image, structure: Any = None, iterations: int = 1, output: Any = None,
    origin: PerAxis = 0, mask: Image | None = None, border_value: Any = 0,
    brute_force: bool = False, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """Erosion, then dilation: `scipy.ndimage.binary_opening`.

    Example:
        >>> import jfi as jnp
        >>> x = jnp.array([0, 1, 1, 1, 0, 1, 0])
        >>> jnp.scipy.ndimage.binary_opening(x).astype(int)
        Array([0, 1, 1, 1, 0, 0, 0], dtype=int32)
    """
    del brute_force
    name, rest = "binary_opening()", (border_value, origin, axes)
    low = _repeated(name, input, structure, iterations, mask, None, *rest, grows=False)
    return _repeated(name, low, structure, iterations, mask, output, *rest, grows=True)


@explained_as(binary_erosion)
def binary_closing(
    input: Image, structure: Any = None, iterations: int = 1, output: Any = None,
    origin: PerAxis = 0, mask: Image | None = None, border_value: Any = 0,
    brute_force: bool = False, *, axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """Dilation, then erosion: `scipy.ndimage.binary_closing`.

    Example:
        >>> import jfi as jnp
        >>> x = jnp.array([0, 0, 1, 0, 1, 0, 0])
        >>> jnp.scipy.ndimage.binary_closing(x).astype(int)
        Array([0, 0, 1, 1, 1, 0, 0], dtype=int32)
    """
    del brute_force
    name, rest = "binary_closing()", (border_value, origin, axes)
    high = _repeated(name, input, structure, iterations, mask, None, *rest, grows=True)
    return _repeated(
        name, high, structure, iterations, mask, output, *rest, grows=False
    )


@explained_as(binary_erosion)
def binary_propagation(
    input: Image, structure: Any = None, mask: Image | None = None,
    output: Any = None, border_value: Any = 0, origin: PerAxis = 0, *,
    axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """Dilation within a mask until nothing changes: `binary_propagation`.

    Example:
        >>> import jfi as jnp
        >>> x, mask = jnp.array([1, 0, 0, 0, 0]), jnp.array([1, 1, 1, 0, 1])
        >>> jnp.scipy.ndimage.binary_propagation(x, mask=mask).astype(int)
        Array([1, 1, 1, 0, 0], dtype=int32)
    """
    return _repeated("binary_propagation()", input, structure, -1, mask, output,
                     border_value, origin, axes, grows=True)  # fmt: skip


@explained_as(binary_erosion)
def binary_fill_holes(
    input: Image, structure: Any = None, output: Any = None, origin: PerAxis = 0, *,
    axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """Fill what the outside doesn't reach: `scipy.ndimage.binary_fill_holes`.

    Example:
        >>> import jfi as jnp
        >>> x = jnp.array([0, 1, 0, 0, 1, 0])
        >>> jnp.scipy.ndimage.binary_fill_holes(x).astype(int)
        Array([0, 1, 1, 1, 1, 0], dtype=int32)
    """
    name = "binary_fill_holes()"
    mask = ~image(name, input).astype(bool)
    outside = _repeated(name, jnp.zeros(mask.shape, bool), structure, -1, mask, None,
                        1, origin, axes, grows=True)  # fmt: skip
    output_dtype(name, mask, output)
    return jnp.logical_not(outside)


@explained_as(binary_erosion)
def binary_hit_or_miss(
    input: Image, structure1: Any = None, structure2: Any = None,
    output: Any = None, origin1: PerAxis = 0, origin2: PerAxis | None = None, *,
    axes: Axes = None,
) -> jax.Array:  # fmt: skip
    """Where a pattern is: `scipy.ndimage.binary_hit_or_miss`.

    Example:
        >>> import jfi as jnp
        >>> x = jnp.array([0, 1, 0, 1, 1, 0])
        >>> jnp.scipy.ndimage.binary_hit_or_miss(x, [0, 1, 0]).astype(int)
        Array([0, 1, 0, 0, 0, 0], dtype=int32)

    Args:
        structure1: Which neighbors are true, a known array of booleans.
        structure2: Which are false; all others if not given.
        origin1: How far the first structure is moved.
        origin2: How far the second is; as the first if not given.
    """
    name = "binary_hit_or_miss()"
    x = image(name, input)
    first = _structure(name, x, structure1, axes)
    output_dtype(name, x, output)
    second = ~first if structure2 is None else np.asarray(structure2, bool)
    hit = _repeated(name, x, first, 1, None, None, 0, origin1, axes, grows=False)
    # Beyond the border it is false: no element there is missed.
    where = origin1 if origin2 is None else origin2
    missed = _repeated(
        name, ~x.astype(bool), second, 1, None, None, 1, where, axes, grows=False
    )
    return hit & missed


def _structure(name: str, x: jax.Array, given: Any, axes: Axes) -> NDArray[np.bool_]:
    if given is None:
        return generate_binary_structure(len(checked_axes(name, axes, x.ndim)), 1)
    try:
        return np.asarray(given, bool)
    except jax.errors.TracerArrayConversionError as error:  # autojit asks for it
        message = (
            f"{name} got a traced structure, and which neighbors count must be known "
            "before. Pass a NumPy array."
        )
        raise ImageError(message) from error


def _repeated(
    name: str, input: Image, structure: Any, iterations: Any, mask: Image | None,
    output: Any, border_value: Any, origin: PerAxis, axes: Axes, *, grows: bool,
) -> jax.Array:  # fmt: skip
    x = image(name, input)
    output_dtype(name, x, output)
    try:
        times = operator.index(iterations)
    except TypeError:
        message = f"{name} got iterations={iterations!r}. Pass a Python integer."
        raise ImageError(message) from None
    if mask is not None and image(name, mask).shape != x.shape:
        message = (
            f"{name} got a mask of shape {image(name, mask).shape} for an image of "
            f"shape {x.shape}. Pass one of the same shape."
        )
        raise ImageError(message)
    footprint = _structure(name, x, structure, axes)
    windows: tuple[Window, ...] = ()
    places: tuple[tuple[int, ...], ...] = ()
    if footprint.any():
        windows, places = neighbors(
            name, x, None, footprint, "constant", origin, axes, mirrored=grows
        )
    may_change = None if mask is None else jnp.asarray(mask).astype(bool)
    found: jax.Array = _run(
        x.astype(bool), may_change, border_value != 0, windows, places, times, grows
    )
    return found


@functools.partial(jax.jit, static_argnums=(3, 4, 5, 6))
def _run(
    x: jax.Array,
    mask: jax.Array | None,
    beyond: Any,
    windows: tuple[Window, ...],
    places: tuple[tuple[int, ...], ...],
    times: int,
    grows: bool,
) -> jax.Array:
    pick = jnp.logical_or if grows else jnp.logical_and

    def once(x: jax.Array) -> jax.Array:
        none = jnp.full(x.shape, not grows)
        new = functools.reduce(pick, moved(x, beyond, windows, places), none)
        return new if mask is None else jnp.where(mask, new, x)

    if times >= 1:
        repeated: jax.Array = jax.lax.fori_loop(0, times, lambda _, x: once(x), x)
        return repeated
    # Without the element itself in the structure it may go round for ever.
    goes_on = lambda state: (state[0] != state[1]).any() & (state[2] < x.size)
    step = lambda state: (state[1], once(state[1]), state[2] + 1)
    found: jax.Array = jax.lax.while_loop(goes_on, step, (x, once(x), 0))[1]
    return found
