"""Interpolation of scattered data by the nearest point, and `griddata`."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import InterpolationError
from ..spatial._kdtree import KDTree
from ._base import Interpolator, Numbers
from ._interp1d import interp1d
from ._intervals import fitting
from ._scattered import CloughTocher2DInterpolator, LinearNDInterpolator
from ._triangles import together


class NearestNDInterpolator(Interpolator):
    """The value of the nearest point: `scipy.interpolate.NearestNDInterpolator`.

    The points are in a `jfi.KDTree`. They may be traced, and so may the values, which
    have gradients.

    Example:
        >>> import jfi as jnp
        >>> corners = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> f = jnp.scipy.interpolate.NearestNDInterpolator(corners, jnp.arange(3.0))
        >>> f(0.9, 0.2), f(jnp.array([[0.1, 0.0], [0.2, 0.7]]))
        (Array(1., dtype=float32), Array([0., 2.], dtype=float32))

    Args:
        x: `(n, d)` points, or a tuple of d arrays.
        y: `(n, ...)` values there.
        rescale: Whether coordinates are scaled to the same range before.
        tree_options: What `jfi.KDTree` takes beside the points.

    Raises:
        InterpolationError: Values don't fit the points.
    """

    arrays: ClassVar[tuple[str, ...]] = ("tree", "values", "shift", "scale")
    tree: KDTree
    values: jax.Array
    shift: jax.Array
    scale: jax.Array

    def __init__(
        self,
        x: Any,
        y: Numbers,
        rescale: bool = False,
        tree_options: dict[str, Any] | None = None,
    ) -> None:
        points = together(x)
        values = jnp.asarray(y)
        if points.ndim != 2 or values.shape[:1] != points.shape[:1]:
            message = (
                f"NearestNDInterpolator() got points of shape {points.shape} and values"
                f" of shape {values.shape}. Pass (n, d) points and (n, ...) values."
            )
            raise InterpolationError(message)
        shift: Any = 0.0
        scale: Any = 1.0
        if rescale:
            shift = points.mean(0)
            width = points.max(0) - points.min(0)
            xp: Any = np if isinstance(points, np.ndarray) else jnp
            scale = xp.where(width > 0, width, 1.0)
            points = (points - shift) / scale
        tree = KDTree(points, **(tree_options or {}))
        self._set(tree=tree, values=values)
        self._set(shift=jnp.asarray(shift), scale=jnp.asarray(scale))

    def __call__(self, *args: Any, **query_options: Any) -> jax.Array:
        """The values at places.

        Args:
            *args: `(..., d)` coordinates, or d arrays that broadcast.
            **query_options: `eps`, `p`, `workers`, `backend` and
                `distance_upper_bound` of `KDTree.query`.

        Returns:
            `(..., *rest)`: rest are the axes of values beyond the first. NaN where no
            point is within `distance_upper_bound`.
        """
        whole = args[0] if len(args) == 1 else args
        places = (jnp.asarray(together(whole)) - self.shift) / self.scale
        _, index = self.tree.query(places, **query_options)
        n = self.values.shape[0]
        found = self.values[jnp.minimum(index, n - 1)]
        if "distance_upper_bound" not in query_options:
            return found
        return jnp.where(fitting(index < n, found), found, jnp.nan)


def griddata(
    points: Any,
    values: Numbers,
    xi: Any,
    method: str = "linear",
    fill_value: Any = np.nan,
    rescale: bool = False,
) -> jax.Array:
    """Interpolate scattered data at places: `scipy.interpolate.griddata`.

    It makes `NearestNDInterpolator`, `LinearNDInterpolator`,
    `CloughTocher2DInterpolator`, or `interp1d` in one dimension, and calls it. To look
    up places more than once make it yourself.

    Example:
        >>> import jfi as jnp
        >>> corners = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> x, y = jnp.meshgrid(jnp.array([0.25, 0.5]), jnp.array([0.5]))
        >>> jnp.scipy.interpolate.griddata(corners, corners.sum(axis=1), (x, y))
        Array([[0.75, 1.  ]], dtype=float32)

    Args:
        points: `(n, d)` places of the data, or a tuple of d arrays.
        values: `(n, ...)` values there.
        xi: `(..., d)` places, or a tuple of d arrays that broadcast.
        method: "nearest", "linear" or "cubic", which takes one or two dimensions.
        fill_value: The value outside of all triangles; of no concern for "nearest".
        rescale: Whether coordinates are scaled to the same range before.

    Returns:
        The values at the places.

    Raises:
        InterpolationError: An unknown method, or points that don't fit it.
    """
    data = together(points)
    ndim = 1 if data.ndim < 2 else data.shape[-1]
    if method not in ("nearest", "linear", "cubic") or (method == "cubic" and ndim > 2):
        message = (
            f"griddata() got method={method!r} for {ndim} dimensions. Pass 'nearest', "
            "'linear', or 'cubic' in one or two dimensions."
        )
        raise InterpolationError(message)
    if ndim == 1:
        outer = "extrapolate" if method == "nearest" else fill_value
        (places,) = xi if isinstance(xi, tuple) else (xi,)
        kind: Any = method
        line = interp1d(
            data.ravel(), values, kind, axis=0, bounds_error=False, fill_value=outer
        )
        return line(places)
    made: Any
    if method == "nearest":
        made = NearestNDInterpolator(data, values, rescale=rescale)
    else:
        smooth = method == "cubic"
        kind = CloughTocher2DInterpolator if smooth else LinearNDInterpolator
        made = kind(data, values, fill_value=fill_value, rescale=rescale)
    found: jax.Array = made(xi)
    return found
