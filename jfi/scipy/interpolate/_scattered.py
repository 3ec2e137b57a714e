"""Interpolation of scattered data on triangles."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.sparse.linalg import cg

from ..._errors import InterpolationError
from ._base import Interpolator, Numbers, inexact
from ._intervals import fitting, nan_where
from ._triangles import Triangulation


class LinearNDInterpolator(Interpolator):
    """Interpolate scattered data linearly, as `scipy.interpolate.LinearNDInterpolator`.

    SciPy triangulates the points when it is made, so those can't be traced. Values may
    be, and what is found at a place has gradients with respect to both.

    Example:
        >>> import jax
        >>> import jfi as jnp
        >>> corners = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> f = jnp.scipy.interpolate.LinearNDInterpolator(corners, corners.sum(axis=1))
        >>> float(f(0.5, 0.25)), jax.grad(f)(jnp.array([0.5, 0.25])).tolist()
        (0.75, [1.0, 1.0])

    Args:
        points: `(n, d)` places of the data, a tuple of d arrays, or a
            `scipy.spatial.Delaunay`.
        values: `(n, ...)` values there.
        fill_value: The value outside all triangles.
        rescale: Whether coordinates are scaled to the same range before.

    Raises:
        InterpolationError: Points are traced, or values don't fit.
        scipy.spatial.QhullError: SciPy's: the points lie on a line, or are too few.
    """

    arrays: ClassVar[tuple[str, ...]] = ("triangles", "values", "fill_value")
    triangles: Triangulation
    values: jax.Array
    fill_value: jax.Array

    def __init__(
        self,
        points: Any,
        values: Numbers,
        fill_value: Any = np.nan,
        rescale: bool = False,
    ) -> None:
        name = "LinearNDInterpolator()"
        numbers, fill, dtype = _numbers(name, values, fill_value)
        triangles, made = Triangulation.of_points(
            name, points, rescale=rescale, dtype=dtype
        )
        _check_values(name, numbers, len(made.points))
        self._set(triangles=triangles, values=numbers, fill_value=fill)

    def __call__(self, *xi: Any) -> jax.Array:
        """The values at places.

        Args:
            *xi: `(..., d)` coordinates, or d arrays that broadcast.

        Returns:
            `(..., *rest)`: rest are the axes of values beyond the first.
        """
        found: jax.Array = _linear(self, _coordinates(self, xi))
        return found


class CloughTocher2DInterpolator(Interpolator):
    """Interpolate scattered data smoothly, as SciPy's class of this name.

    Cubic polynomials on triangles, whose gradients at the points are those that bend
    least. SciPy triangulates the points when it is made, so those can't be traced.
    Values may be, and what is found at a place has gradients with respect to both.

    Example:
        >>> import jfi as jnp
        >>> x, y = jnp.meshgrid(jnp.arange(4.0), jnp.arange(4.0))
        >>> points = jnp.stack([x.ravel(), y.ravel()], axis=1)
        >>> values = points[:, 0] + 2 * points[:, 1]
        >>> f = jnp.scipy.interpolate.CloughTocher2DInterpolator(points, values)
        >>> float(f(1.5, 0.3))
        2.1

    Args:
        points: `(n, 2)` places of the data, a tuple of two arrays, or a
            `scipy.spatial.Delaunay`.
        values: `(n, ...)` values there.
        fill_value: The value outside all triangles.
        tol: How exactly the gradients are found. None: to about the precision of the
            numbers, which is finer than SciPy's default.
        maxiter: How many steps are made to find them.
        rescale: Whether coordinates are scaled to the same range before.

    Raises:
        InterpolationError: Points are traced or not in a plane, or values don't fit.
        scipy.spatial.QhullError: SciPy's: the points lie on a line, or are too few.

    References:
        P. Alfeld, A trivariate Clough-Tocher scheme for tetrahedral data, Computer
        Aided Geometric Design 1 (1984).
        G. Nielson, A method for interpolating scattered data based upon a minimum norm
        network, Mathematics of Computation 40 (1983).
    """

    arrays: ClassVar[tuple[str, ...]] = (
        "triangles", "values", "fill_value", "points", "gradients", "across",
    )  # fmt: skip
    triangles: Triangulation
    values: jax.Array
    fill_value: jax.Array
    points: jax.Array
    gradients: jax.Array
    across: jax.Array

    def __init__(
        self,
        points: Any,
        values: Numbers,
        fill_value: Any = np.nan,
        tol: float | None = None,
        maxiter: int = 400,
        rescale: bool = False,
    ) -> None:
        name = "CloughTocher2DInterpolator()"
        numbers, fill, dtype = _numbers(name, values, fill_value)
        triangles, made = Triangulation.of_points(
            name, points, rescale=rescale, dtype=dtype
        )
        _check_values(name, numbers, len(made.points))
        if made.points.shape[1] != 2:
            message = (
                f"{name} got points of shape {made.points.shape}, and triangles lie in "
                "a plane: pass (n, 2), or use LinearNDInterpolator."
            )
            raise InterpolationError(message)
        self._set(triangles=triangles, values=numbers, fill_value=fill)
        self._set(points=jnp.asarray(made.points, dtype))
        self._set(across=jnp.asarray(_across(made), dtype))
        ends, others = made.vertex_neighbor_vertices
        edges = np.repeat(np.arange(len(ends) - 1), np.diff(ends)), others
        finest = 1e-11 if dtype == jnp.float64 else 1e-6
        self._set(
            gradients=_gradients(
                numbers, self.points, *edges, finest if tol is None else tol, maxiter
            )
        )

    def __call__(self, *xi: Any) -> jax.Array:
        """The values at places.

        Args:
            *xi: `(..., 2)` coordinates, or two arrays that broadcast.

        Returns:
            `(..., *rest)`: rest are the axes of values beyond the first.
        """
        found: jax.Array = _smooth(self, _coordinates(self, xi))
        return found


def _numbers(name: str, values: Numbers, fill_value: Any) -> tuple[Any, Any, Any]:
    (numbers,) = inexact(values)
    fill = jnp.asarray(fill_value)
    if jnp.iscomplexobj(fill) and not jnp.iscomplexobj(numbers):
        message = f"{name} got a complex fill_value for real values. Pass a real one."
        raise InterpolationError(message)
    real: Any = jnp.finfo(numbers.dtype)  # type: ignore[no-untyped-call]
    return numbers, fill.astype(numbers.dtype), real.dtype


def _check_values(name: str, values: jax.Array, count: int) -> None:
    if values.ndim == 0 or values.shape[0] != count:
        message = (
            f"{name} got {count} points and values of shape {values.shape}. Pass one "
            f"value for each point: ({count}, ...)."
        )
        raise InterpolationError(message)


def _coordinates(
    of: LinearNDInterpolator | CloughTocher2DInterpolator, xi: tuple[Any, ...]
) -> jax.Array:
    triangles = of.triangles
    d = triangles.shift.shape[0]
    if len(xi) == 1 and isinstance(xi[0], tuple):
        (xi,) = xi
    if len(xi) == 1:
        places = jnp.asarray(xi[0])
    else:
        places = jnp.stack(jnp.broadcast_arrays(*map(jnp.asarray, xi)), axis=-1)
    if places.ndim == 0 or places.shape[-1] != d or jnp.iscomplexobj(places):
        message = (
            f"{type(of).__name__}() got places of shape {places.shape}. Pass real "
            f"numbers of shape (..., {d}), or {d} arrays."
        )
        raise InterpolationError(message)
    places = places.astype(jnp.result_type(places, triangles.shift))
    once = (None,) * (places.ndim - 1)
    return (places - triangles.shift[once]) / triangles.scale[once]


def _at_each(of: Any, places: jax.Array, at: Any) -> jax.Array:
    """What `at(cell, place)` returns for each place, and the fill value outside."""
    flat = places.reshape(-1, places.shape[-1])

    def one(place: jax.Array) -> tuple[jax.Array, jax.Array]:
        cell, inside = of.triangles.found(place)
        return at(cell, jnp.where(inside, place, of.triangles.corner[cell])), inside

    found, inside = jax.vmap(one)(flat)
    found = jnp.where(fitting(inside, found), found, of.fill_value)
    found = nan_where(jnp.isnan(flat).any(-1), found)
    return found.reshape(*places.shape[:-1], *found.shape[1:])


@jax.jit
def _linear(of: LinearNDInterpolator, places: jax.Array) -> jax.Array:
    def at(cell: jax.Array, place: jax.Array) -> jax.Array:
        shares = of.triangles.barycentric(cell, place)
        corners = of.values[of.triangles.vertices[cell]]
        return jnp.sum(fitting(shares, corners) * corners, axis=0)

    return _at_each(of, places, at)


@jax.jit
def _smooth(of: CloughTocher2DInterpolator, places: jax.Array) -> jax.Array:
    """Bezier's form of the cubics on the three parts of each triangle.

    Corners are numbered in a circle: `ahead` of a control point is that on the way to
    the next corner, `behind` on the way to the last one. The three parts meet in the
    middle of the triangle; b4 is three times the least of the barycentric coordinates.
    """

    def at(cell: jax.Array, place: jax.Array) -> jax.Array:
        corners = of.triangles.vertices[cell]
        p, f, slopes = of.points[corners], of.values[corners], of.gradients[corners]

        def on(a: jax.Array) -> jax.Array:  # of the next corner
            return jnp.roll(a, -1, axis=0)

        def back(a: jax.Array) -> jax.Array:
            return jnp.roll(a, 1, axis=0)

        def along(edges: jax.Array) -> jax.Array:
            wide = edges.reshape(edges.shape + (1,) * (slopes.ndim - 2))
            return jnp.sum(slopes * wide, axis=1) / 3

        ahead, behind = f + along(on(p) - p), f + along(back(p) - p)
        inner = (f + ahead + behind) / 3
        # Opposite to each corner is the side from the next one to the last one.
        first, last = on(f), back(f)
        third, two_thirds = on(ahead), back(behind)
        bend = last - first + 3 * (third - two_thirds)
        flat = 2 * third - first - two_thirds + on(inner) + back(inner)
        middle = (fitting(of.across[cell], f) * bend + flat) / 2
        near = (inner + on(middle) + back(middle)) / 3
        b = of.triangles.barycentric(cell, place)
        least = b.min()
        b4 = 3 * least
        b = fitting(b - least, f)
        of_corners = (
            b**3 * f
            + 3 * b**2 * (on(b) * ahead + back(b) * behind + b4 * inner)
            + 3 * b * b4**2 * near
            + 6 * on(b) * back(b) * b4 * middle
        )
        return of_corners.sum(0) + b4**3 * near.mean(0)

    return _at_each(of, places, at)


def _across(triangulation: Any) -> Any:
    """In which direction the slope across each side is linear along it.

    Towards the middle of the neighbor, so that both agree; without one, straight in.
    """
    points, simplices = triangulation.points, triangulation.simplices
    middles = points[simplices].mean(1)
    found = np.full(simplices.shape, -0.5)
    for side in range(3):
        neighbor = triangulation.neighbors[:, side]
        inside = neighbor >= 0
        transform = triangulation.transform[inside]
        moved = middles[neighbor[inside]] - transform[:, 2]
        c = np.einsum("cij,cj->ci", transform[:, :2], moved)
        c = np.concatenate([c, 1 - c.sum(1, keepdims=True)], axis=1)
        first, last = c[:, (side + 1) % 3], c[:, (side + 2) % 3]
        found[inside, side] = (2 * last + first - 1) / (2 - 3 * last - 3 * first)
    return found


@jax.jit
def _gradients(
    values: jax.Array, points: jax.Array, start: Any, end: Any, tol: Any, steps: Any
) -> jax.Array:
    """`(n, 2, ...)` gradients at the points, with which all edges bend least.

    That is a linear system, solved by conjugate gradients, so that it has derivatives.
    """
    flat = values.reshape(values.shape[0], 1, -1)
    edge = points[end] - points[start]
    weight = jnp.sum(edge**2, axis=1) ** -1.5

    def gathered(of_edges: jax.Array) -> jax.Array:
        wide = (weight[:, None] * edge)[:, :, None] * of_edges
        return jax.ops.segment_sum(wide, start, points.shape[0])

    def bending(y: jax.Array) -> jax.Array:
        rise = 4 * y[start] + 2 * y[end]
        return gathered(jnp.sum(edge[:, :, None] * rise, axis=1, keepdims=True))

    blocks = jax.ops.segment_sum(
        4 * weight[:, None, None] * edge[:, :, None] * edge[:, None],
        start,
        points.shape[0],
    )
    alone = (blocks == 0).all((1, 2))[:, None, None]  # points without a triangle
    inverse = jnp.linalg.inv(jnp.where(alone, jnp.eye(2, dtype=points.dtype), blocks))
    wanted = 6 * gathered(flat[end] - flat[start])
    found, _ = cg(
        bending,
        wanted,
        tol=tol,
        maxiter=steps,
        M=lambda y: jnp.matmul(inverse, y, precision="highest"),
    )
    gradients: jax.Array = found.reshape(values.shape[0], 2, *values.shape[1:])
    return gradients
