"""Labels of connected parts, and what is computed for each label."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from numpy.typing import NDArray

from ..._docstrings import explained_as
from ..._errors import ImageError
from ..._host import host_call
from ..._values import why_unknown
from ._binary_morphology import generate_binary_structure
from ._windows import Image, image


def label(
    input: Image, structure: Any = None, output: Any = None
) -> tuple[jax.Array, jax.Array]:
    """Number the connected parts of an image: `scipy.ndimage.label`.

    It is a call of SciPy on the host: parts are numbered as there.

    Example:
        >>> import jfi as jnp
        >>> x = jnp.array([[1, 1, 0, 1], [0, 0, 0, 1]])
        >>> labels, count = jnp.scipy.ndimage.label(x)
        >>> labels, int(count)
        (Array([[1, 1, 0, 2], [0, 0, 0, 2]], dtype=int32), 2)

    Args:
        input: The image; what is not zero belongs to a part.
        structure: Which neighbors are connected, a known array of 3 along each axis;
            those that touch along an axis if not given.
        output: The dtype of the labels, int32 if not given.

    Returns:
        The labels, of the shape of the image, 0 where it is zero; and how many parts
        there are, an int32 without axes.

    Raises:
        ImageError: The structure is traced or not symmetric, or `output` is an array.
    """
    x = image("label()", input, is_complex=True)
    near = _connections(structure, x.ndim)
    if hasattr(output, "shape") and not isinstance(output, (type, np.dtype)):
        message = (
            "label() got an array for output, and JAX's arrays don't change. Pass a "
            "dtype, and take the labels that it returns."
        )
        raise ImageError(message)
    dtype = np.dtype(np.int32 if output is None else output)

    def run(mask: NDArray[np.bool_]) -> list[Any]:
        from scipy import ndimage

        found: Any = ndimage.label(mask, near, output=dtype)
        labels, count = found
        return [labels, np.int32(count)]

    specs = [jax.ShapeDtypeStruct(x.shape, dtype), jax.ShapeDtypeStruct((), jnp.int32)]
    labels, count = host_call(run, specs, x.astype(bool), name="scipy.ndimage.label")
    return labels, count


def _connections(structure: Any, ndim: int) -> NDArray[np.bool_]:
    if structure is None:
        return generate_binary_structure(ndim, 1)
    if isinstance(structure, Tracer):
        message = (
            "label() got a traced structure. Pass a known one: "
            "jnp.scipy.ndimage.generate_binary_structure(2, 2)"
        )
        raise ImageError(message) from why_unknown(structure)
    near = np.asarray(structure, bool)
    if near.shape != (3,) * ndim or (near != np.flip(near)).any():
        message = (
            f"label() got a structure of shape {near.shape}. Pass a symmetric array of "
            f"shape {(3,) * ndim}."
        )
        raise ImageError(message)
    return near


class _Groups(NamedTuple):
    """Which group each element belongs to.

    Attributes:
        values: The elements, in one dimension.
        group: The number of the group of each; the last one is of no interest.
        chosen: Which groups are asked for, of the shape of `index`.
        number: How many groups there are, without the last one.
    """

    values: jax.Array
    group: jax.Array
    chosen: jax.Array
    number: int

    def each(self, reduce: Any, values: jax.Array) -> jax.Array:
        """What `reduce`, one of `jax.ops`, finds for the groups asked for."""
        found: jax.Array = reduce(values, self.group, self.number + 1)
        return found[self.chosen]

    def sums(self, values: jax.Array) -> jax.Array:
        return self.each(jax.ops.segment_sum, values)

    def sizes(self) -> jax.Array:
        return self.sums(jnp.ones(self.group.shape, jnp.int32))


def _groups(name: str, input: Image, labels: Any, index: Any) -> _Groups:
    x = image(name, input)
    if labels is None:
        if index is not None:
            message = f"{name} got index without labels. Pass labels as well."
            raise ImageError(message)
        return _Groups(
            x.ravel(), jnp.zeros(x.size, jnp.int32), jnp.zeros((), jnp.int32), 1
        )
    x, marks = jnp.broadcast_arrays(x, jnp.asarray(labels))
    x, marks = x.ravel(), marks.ravel()
    if index is None:
        group = jnp.where(marks > 0, 0, 1)
        return _Groups(x, group, jnp.zeros((), jnp.int32), 1)
    wanted = jnp.asarray(index)
    known = jnp.sort(wanted.ravel())
    place = jnp.searchsorted(known, marks)
    found = known[jnp.minimum(place, known.size - 1)] == marks
    group = jnp.where(found, place, known.size)
    return _Groups(x, group, jnp.searchsorted(known, wanted), known.size)


def _as_float(values: jax.Array) -> jax.Array:
    inexact = jnp.issubdtype(values.dtype, jnp.inexact)
    return values if inexact else values.astype(float)


def sum_labels(input: Image, labels: Any = None, index: Any = None) -> jax.Array:
    """The sum for each label: `scipy.ndimage.sum_labels`.

    Example:
        >>> import jfi as jnp
        >>> x = jnp.array([1.0, 2.0, 3.0, 4.0])
        >>> labels = jnp.array([1, 1, 0, 2])
        >>> jnp.scipy.ndimage.sum_labels(x, labels, index=jnp.array([1, 2, 3]))
        Array([3., 4., 0.], dtype=float32)

    Args:
        input: The image.
        labels: Integers that broadcast with the image; all of it is one part if not
            given. They may be traced.
        index: Which labels, a number or an array, which may be traced. All that are
            more than 0 together if not given.

    Returns:
        The sums, of the shape of `index`.

    Raises:
        ImageError: The image is complex, or there is an index without labels.
    """
    groups = _groups("sum_labels()", input, labels, index)
    if index is None:  # as in SciPy, integers have an integer
        return groups.sums(groups.values + jnp.zeros((), jnp.sum(groups.values).dtype))
    return groups.sums(_as_float(groups.values))


@explained_as(sum_labels)
def mean(input: Image, labels: Any = None, index: Any = None) -> jax.Array:
    """The mean for each label: `scipy.ndimage.mean`.

    Example:
        >>> import jfi as jnp
        >>> x, labels = jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([1, 1, 0, 2])
        >>> jnp.scipy.ndimage.mean(x, labels, index=jnp.array([1, 2, 3]))
        Array([1.5, 4. , nan], dtype=float32)

    Returns:
        The means, of the shape of `index`; NaN for a label that is not there.
    """
    groups = _groups("mean()", input, labels, index)
    return _mean(groups, _as_float(groups.values))


@explained_as(sum_labels)
def variance(input: Image, labels: Any = None, index: Any = None) -> jax.Array:
    """The variance for each label: `scipy.ndimage.variance`.

    Example:
        >>> import jfi as jnp
        >>> x, labels = jnp.array([1.0, 3.0, 3.0, 4.0]), jnp.array([1, 1, 0, 2])
        >>> jnp.scipy.ndimage.variance(x, labels, index=jnp.array([1, 2]))
        Array([1., 0.], dtype=float32)

    Returns:
        The variances, of the shape of `index`; NaN for a label that is not there.
    """
    groups = _groups("variance()", input, labels, index)
    values = _as_float(groups.values)
    every = groups._replace(chosen=jnp.arange(groups.number + 1))
    return _mean(groups, (values - _mean(every, values)[groups.group]) ** 2)


@explained_as(sum_labels)
def standard_deviation(
    input: Image, labels: Any = None, index: Any = None
) -> jax.Array:
    """The standard deviation for each label: `scipy.ndimage.standard_deviation`.

    Example:
        >>> import jfi as jnp
        >>> x, labels = jnp.array([1.0, 3.0, 3.0, 4.0]), jnp.array([1, 1, 0, 2])
        >>> jnp.scipy.ndimage.standard_deviation(x, labels, index=1)
        Array(1., dtype=float32)

    Returns:
        The deviations, of the shape of `index`; NaN for a label that is not there.
    """
    found = variance(input, labels, index)
    above = found > 0  # equal elements would spoil the other derivatives
    return jnp.where(above, jnp.sqrt(jnp.where(above, found, 1)), found)


@explained_as(sum_labels)
def minimum(input: Image, labels: Any = None, index: Any = None) -> jax.Array:
    """The smallest element for each label: `scipy.ndimage.minimum`.

    Example:
        >>> import jfi as jnp
        >>> x, labels = jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([1, 1, 0, 2])
        >>> jnp.scipy.ndimage.minimum(x, labels, index=jnp.array([1, 2, 3]))
        Array([1., 4., 0.], dtype=float32)

    Returns:
        The elements, of the shape of `index`; 0 for a label that is not there.
    """
    groups = _groups("minimum()", input, labels, index)
    return _or_zero(groups, jax.ops.segment_min)


@explained_as(sum_labels)
def maximum(input: Image, labels: Any = None, index: Any = None) -> jax.Array:
    """The largest element for each label: `scipy.ndimage.maximum`.

    Example:
        >>> import jfi as jnp
        >>> x, labels = jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([1, 1, 0, 2])
        >>> jnp.scipy.ndimage.maximum(x, labels, index=jnp.array([1, 2, 3]))
        Array([2., 4., 0.], dtype=float32)

    Returns:
        The elements, of the shape of `index`; 0 for a label that is not there.
    """
    groups = _groups("maximum()", input, labels, index)
    return _or_zero(groups, jax.ops.segment_max)


@explained_as(sum_labels)
def center_of_mass(input: Image, labels: Any = None, index: Any = None) -> jax.Array:
    """The center of mass for each label: `scipy.ndimage.center_of_mass`.

    Example:
        >>> import jfi as jnp
        >>> x = jnp.array([[0.0, 1.0], [0.0, 1.0]])
        >>> jnp.scipy.ndimage.center_of_mass(x)
        Array([0.5, 1. ], dtype=float32)

    Returns:
        The places, of the shape of `index` and one more axis, for the axes of the
        image: an array where SciPy has a list of tuples. NaN for a label that is not
        there.
    """
    groups = _groups("center_of_mass()", input, labels, index)
    values = _as_float(groups.values)
    shape = np.broadcast_shapes(
        np.shape(input), np.shape(0 if labels is None else labels)
    )
    places = jnp.indices(shape, dtype=values.dtype).reshape(len(shape), -1).T
    moments = groups.sums(values[:, None] * places)
    return moments / groups.sums(values)[..., None]


def _or_zero(groups: _Groups, reduce: Any) -> jax.Array:
    """What one of `jax.ops` finds in each group; 0 where a group is empty."""
    found = groups.each(reduce, groups.values)
    return jnp.where(groups.sizes() > 0, found, jnp.zeros_like(found))


def _mean(groups: _Groups, values: jax.Array) -> jax.Array:
    return groups.sums(values) / groups.sizes().astype(values.dtype)
