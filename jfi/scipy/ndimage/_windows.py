"""Arguments that all filters share, and the dtype of what they return."""

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from numpy.typing import ArrayLike

from ..._errors import ImageError
from ..._values import why_unknown
from ._borders import border_mode


Image: TypeAlias = ArrayLike | jax.Array
PerAxis: TypeAlias = int | Sequence[int]
Modes: TypeAlias = str | Sequence[str]
Axes: TypeAlias = int | Sequence[int] | None


class Window(NamedTuple):
    """Which neighbors along an axis a filter looks at, and what is beyond the border.

    Attributes:
        axis: The axis.
        size: How many neighbors, the element itself among them.
        before: How many of them are in front of the element.
        mode: What is beyond the border (`_borders`).
    """

    axis: int
    size: int
    before: int
    mode: str


def image(name: str, given: Any, *, is_complex: bool = False) -> jax.Array:
    """The image as an array, or a refusal of complex numbers."""
    x = jnp.asarray(given)
    if jnp.iscomplexobj(x) and not is_complex:
        message = f"{name} got a complex image. Pass a real one: jnp.abs(x), x.real"
        raise ImageError(message)
    return x


def checked_axes(name: str, axes: Axes, ndim: int) -> tuple[int, ...]:
    """Axes as numbers from 0 on; None means all."""
    if axes is None:
        return tuple(range(ndim))
    given = tuple(axes) if isinstance(axes, Sequence) else (axes,)
    if any(not -ndim <= axis < ndim for axis in given):
        message = f"{name} got axes={axes}, and an image of {ndim} dimensions."
        raise ImageError(message)
    found = tuple(axis % ndim for axis in given)
    if len(set(found)) < len(found):
        message = f"{name} got axes={axes}: each may be named once."
        raise ImageError(message)
    return found


def refuse_unordered(name: str, axes: Sequence[int], *per_axis: Any) -> None:
    """Refuse axes in another order than the image's where values go with them.

    SciPy 1.17 and 1.18 take the axes of weights and footprints in the order of the
    image whatever `axes` says, and sizes and origins in the one or the other.
    """
    are_many = any(not isinstance(x, str) and np.iterable(x) for x in per_axis)
    if are_many and list(axes) != sorted(axes):
        message = (
            f"{name} got axes={tuple(axes)}, an order that SciPy's filters read in "
            f"two ways. Write axes={tuple(sorted(axes))}, and what goes with them so."
        )
        raise ImageError(message)


def for_each(name: str, what: str, given: Any, count: int) -> list[Any]:
    """One value for each axis; a single one is for all."""
    if isinstance(given, str) or not np.iterable(given):
        return [given] * count
    values = list(given)
    if len(values) != count:
        message = (
            f"{name} got {what}={given}, {len(values)} values for {count} axes. Pass "
            "one, or one for each axis."
        )
        raise ImageError(message)
    return values


def window(
    name: str, axis: int, size: Any, origin: Any, mode: Any, *, mirrored: bool = False
) -> Window:
    """A window of some size around each element, moved by `origin`.

    Args:
        name: The function that the user called, for messages.
        axis: The axis.
        size: How many neighbors.
        origin: How far the window is moved towards the front.
        mode: SciPy's.
        mirrored: The window of a convolution, which is looked at from behind.
    """
    if isinstance(size, Tracer) or isinstance(origin, Tracer):
        message = (
            f"{name} got a traced size or origin. Shapes depend on them: pass Python "
            "integers, in jax.jit by static_argnames."
        )
        raise ImageError(message) from why_unknown(size) or why_unknown(origin)
    try:
        size, moved = operator.index(size), operator.index(origin)
    except TypeError:
        message = f"{name} got size={size!r}, origin={origin!r}. Pass integers."
        raise ImageError(message) from None
    if size < 1 or not 0 <= size // 2 + moved < size:
        message = (
            f"{name} got size={size}, origin={moved}. Pass a size of 1 or more, and an "
            "origin that leaves the element in its window: from "
            f"{-(size // 2)} to {(size - 1) // 2}."
        )
        raise ImageError(message)
    before = size // 2 + moved
    if mirrored:
        before = size - 1 - before
    return Window(axis, size, before, border_mode(name, mode))


def working(x: jax.Array, *others: Any) -> Any:
    """The dtype to compute sums in: that of the image, or the widest float."""
    dtype = x.dtype
    if not jnp.issubdtype(dtype, jnp.inexact):
        dtype = jnp.dtype(jax.dtypes.canonicalize_dtype(float))
    dtype = jnp.promote_types(dtype, jnp.float32)
    if any(jnp.iscomplexobj(other) for other in others):
        dtype = jnp.promote_types(dtype, jnp.complex64)
    return dtype


def output_dtype(name: str, x: jax.Array, output: Any, *others: Any) -> Any:
    """The dtype of the result: that of the image, or the one asked for.

    Nothing imaginary is dropped: as in SciPy, the result is complex all the same.

    Args:
        name: The function that the user called, for messages.
        x: The image.
        output: The user's `output=`.
        *others: What makes the result complex if it is: weights, `cval`.
    """
    is_complex = any(map(jnp.iscomplexobj, (x, *others)))
    if output is None:
        return jnp.promote_types(x.dtype, jnp.complex64) if is_complex else x.dtype
    if isinstance(output, (np.ndarray, jax.Array)):
        message = (
            f"{name} got an array as output=, and arrays of JAX are not written "
            f"into. Write: result = {name.removesuffix('()')}(...)"
        )
        raise ImageError(message)
    found = jnp.dtype(jax.dtypes.canonicalize_dtype(output))
    return jnp.promote_types(found, jnp.complex64) if is_complex else found


def cast(values: jax.Array, dtype: Any) -> jax.Array:
    """Values as the dtype of the result, as C does: integers are cut, not rounded."""
    if values.dtype == dtype or not jnp.issubdtype(values.dtype, jnp.floating):
        return values.astype(dtype)
    if dtype == jnp.bool_:
        return jnp.trunc(values) != 0
    if not jnp.issubdtype(dtype, jnp.integer):
        return values.astype(dtype)
    if dtype.itemsize < 4:  # what is too large wraps around; XLA would cut it
        return values.astype(jnp.int32).astype(dtype)
    if not jnp.issubdtype(dtype, jnp.unsignedinteger):
        return values.astype(dtype)
    widest = jax.dtypes.canonicalize_dtype(np.int64)  # negative numbers wrap around
    wrapped = values.astype(widest).astype(dtype)
    return jnp.where(values < 0, wrapped, values.astype(dtype))


def rounded(values: jax.Array, dtype: Any) -> jax.Array:
    """Values between elements as the dtype of the result, as SciPy stores them.

    Integers are rounded, and cut to what the dtype holds.
    """
    if not jnp.issubdtype(dtype, jnp.integer) or values.dtype == dtype:
        return cast(values, dtype)
    limits = np.iinfo(dtype)
    if jnp.issubdtype(values.dtype, jnp.inexact):
        away = jnp.where(values > 0, 0.5, -0.5).astype(values.dtype)
        values = jnp.trunc(values + away)
        return jnp.clip(values, float(limits.min), float(limits.max)).astype(dtype)
    return jnp.clip(values.astype(float), limits.min, limits.max).astype(dtype)
