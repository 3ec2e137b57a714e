"""Triangulations: made by SciPy on the host, searched in JAX."""

from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._errors import InterpolationError
from ..._values import why_unknown
from ._base import Interpolator


class Triangulation(Interpolator):
    """A Delaunay triangulation as arrays; in d dimensions each cell has d + 1 corners.

    Attributes:
        vertices: `(cells, d + 1)` numbers of the points at its corners.
        neighbors: `(cells, d + 1)` the cell opposite each corner, -1 for none.
        inverse: `(cells, d, d)` what turns places into barycentric coordinates.
        corner: `(cells, d)` the last corner, where these begin.
        starts: A grid of cells near which a search begins.
        low: `(d,)` where the grid begins.
        high: `(d,)` where it ends.
        shift: `(d,)` what is subtracted from coordinates, before all else.
        scale: `(d,)` what they are divided by then.
    """

    arrays: ClassVar[tuple[str, ...]] = (
        "vertices", "neighbors", "inverse", "corner", "starts", "low", "high", "shift",
        "scale",
    )  # fmt: skip
    vertices: jax.Array
    neighbors: jax.Array
    inverse: jax.Array
    corner: jax.Array
    starts: jax.Array
    low: jax.Array
    high: jax.Array
    shift: jax.Array
    scale: jax.Array

    @classmethod
    def of_points(
        cls, name: str, points: Any, *, rescale: bool, dtype: Any
    ) -> tuple[Self, Any]:
        """The triangulation of points, and SciPy's of the same (scaled) points.

        Args:
            name: What the user called, for messages.
            points: `(n, d)` points, a tuple of d arrays, or a `scipy.spatial.Delaunay`.
            rescale: Whether each coordinate is scaled to the same range.
            dtype: That of the coordinates in JAX.
        """
        from scipy import spatial

        shift: Any = 0.0
        scale: Any = 1.0
        if isinstance(points, spatial.Delaunay):
            if rescale:
                message = (
                    f"{name} got rescale=True for points that are triangulated. Pass "
                    "the points."
                )
                raise InterpolationError(message)
            found = points
        else:
            places = _places(name, points)
            if rescale:
                shift, scale = places.mean(0), np.ptp(places, axis=0)
                scale = np.where(scale > 0, scale, 1.0)
                places = (places - shift) / scale
            found = spatial.Delaunay(places)
        d = found.points.shape[1]
        starts, low, high = _starts(found)
        numbers = [
            found.transform[:, :d], found.transform[:, d], low, high,
            np.broadcast_to(shift, d), np.broadcast_to(scale, d),
        ]  # fmt: skip
        inverse, corner, low, high, shift, scale = (
            jnp.asarray(a, dtype) for a in numbers
        )
        made = cls.of_fields(
            vertices=jnp.asarray(found.simplices, jnp.int32),
            neighbors=jnp.asarray(found.neighbors, jnp.int32),
            inverse=inverse, corner=corner, starts=jnp.asarray(starts, jnp.int32),
            low=low, high=high, shift=shift, scale=scale,
        )  # fmt: skip
        return made, found

    def barycentric(self, cell: jax.Array, place: jax.Array) -> jax.Array:
        """`(d + 1,)` shares of the corners of a cell in a place; they sum to 1."""
        first = jnp.matmul(
            self.inverse[cell], place - self.corner[cell], precision="highest"
        )
        return jnp.concatenate([first, 1 - first.sum(keepdims=True)])

    def found(self, place: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The cell of a place, and whether there is one.

        From a cell nearby the search goes on through the side that the place is
        farthest beyond. In a Delaunay triangulation that leads there; the number of
        steps has an end all the same, for numbers that are rounded.
        """
        place = jax.lax.stop_gradient(place)
        last = np.array(self.starts.shape)
        width = jnp.where(self.high > self.low, self.high - self.low, 1)
        at = jnp.nan_to_num((place - self.low) / width * last.astype(place.dtype))
        at = jnp.clip(at.astype(jnp.int32), 0, last - 1)
        start = self.starts[tuple(at)]
        near = -100 * jnp.finfo(place.dtype).eps  # type: ignore[no-untyped-call]
        most = 2 * self.vertices.shape[0] + 2

        def looking(state: Any) -> Any:
            _, done, _, steps = state
            return ~done & (steps < most)

        def step(state: Any) -> Any:
            cell, _, _, steps = state
            shares = self.barycentric(cell, place)
            side = jnp.argmin(shares)
            there = ~(shares[side] < near)
            beyond = self.neighbors[cell, side]
            outside = ~there & (beyond < 0)
            moved = jnp.where(there | outside, cell, beyond)
            return moved, there | outside, outside, steps + 1

        first = start, jnp.bool_(False), jnp.bool_(False), jnp.int32(0)
        cell, _, outside, _ = jax.lax.while_loop(looking, step, first)
        return cell, ~outside & ~jnp.isnan(place).any()


def _places(name: str, points: Any) -> Any:
    points = together(points)
    if isinstance(points, Tracer):
        message = (
            f"{name} got traced points, and SciPy triangulates them, which needs "
            "values. Make it outside jit, vmap and grad; values= may be traced. "
            "RBFInterpolator takes traced points."
        )
        raise InterpolationError(message) from why_unknown(points)
    places = np.asarray(points, np.float64)
    if places.ndim != 2 or places.shape[1] < 2:
        message = (
            f"{name} got points of shape {places.shape}. Pass (n, d) with two "
            "coordinates or more; for one write CubicSpline or jnp.interp."
        )
        raise InterpolationError(message)
    return places


def together(points: Any) -> Any:
    """Coordinates as one array, `(..., d)`; known ones keep their precision."""
    if isinstance(points, (tuple, list)) and any(np.ndim(p) for p in points[:1]):
        if isinstance(points, tuple):
            is_known = not any(isinstance(p, jax.Array) for p in points)
            xp: Any = np if is_known else jnp
            return xp.stack(xp.broadcast_arrays(*map(xp.asarray, points)), axis=-1)
    elif isinstance(points, tuple):  # numbers
        return jnp.stack(jnp.broadcast_arrays(*map(jnp.asarray, points)), axis=-1)
    return points if isinstance(points, jax.Array) else np.asarray(points)


_MOST_STARTS = 100_000


def _starts(triangulation: Any) -> tuple[Any, Any, Any]:
    """A cell at the point next to the middle of each field of a grid."""
    from scipy import spatial

    points = triangulation.points
    low, high = points.min(0), points.max(0)
    d = points.shape[1]
    fields = max(1, int(min(len(points), _MOST_STARTS) ** (1 / d)))
    middles = (np.indices((fields,) * d).reshape(d, -1).T + 0.5) / fields
    of_point = triangulation.vertex_to_simplex
    used = np.flatnonzero(of_point >= 0)  # a point that is there twice has no cell
    _, near = spatial.KDTree(points[used]).query(low + middles * (high - low))
    return of_point[used][near].reshape((fields,) * d), low, high
