"""Radial basis functions: interpolation of scattered data."""

import functools
import itertools
from collections.abc import Callable
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._errors import InterpolationError
from ._base import Interpolator, Numbers, inexact


def _safe_root(square: jax.Array) -> jax.Array:
    """The root, with the derivative zero at zero."""
    zero = square == 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, square)))


def _thin_plate(square: jax.Array) -> jax.Array:
    zero = square == 0
    return jnp.where(zero, 0, square * jnp.log(jnp.where(zero, 1, square)) / 2)


# Of the squared distance.
_KERNELS = {
    "linear": lambda s: -_safe_root(s),
    "thin_plate_spline": _thin_plate,
    "cubic": lambda s: s * _safe_root(s),
    "quintic": lambda s: -(s**2) * _safe_root(s),
    "multiquadric": lambda s: -jnp.sqrt(s + 1),
    "inverse_multiquadric": lambda s: 1 / jnp.sqrt(s + 1),
    "inverse_quadratic": lambda s: 1 / (s + 1),
    "gaussian": lambda s: jnp.exp(-s),
}
_LEAST_DEGREE = {
    "linear": 0, "thin_plate_spline": 1, "cubic": 1, "quintic": 2, "multiquadric": 0,
}  # fmt: skip
_NEEDS_SCALE = (
    "multiquadric", "inverse_multiquadric", "inverse_quadratic", "gaussian",
)  # fmt: skip


class RBFInterpolator(Interpolator):
    """Interpolate scattered data, as `scipy.interpolate.RBFInterpolator`, in JAX.

    Data and points may be traced. All data count for each value, or the nearest ones.

    Example:
        >>> import jfi as jnp
        >>> corners = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> f = jnp.scipy.interpolate.RBFInterpolator(corners, corners.sum(axis=1))
        >>> f(jnp.array([[0.5, 0.25]])).round(3)
        Array([0.75...], dtype=float32)

    Args:
        y: `(n, d)` places of the data.
        d: `(n, ...)` values there.
        neighbors: How many data count for a value, the nearest; None is all. Small
            systems are solved at each point in place of a large one here.
        smoothing: How far values may be missed: a number, or one for each.
        kernel: One of SciPy's: "thin_plate_spline", "linear", "cubic", "gaussian" ...
        epsilon: The scale of the kernel, needed where it matters.
        degree: That of the polynomial which is added; -1 adds none.

    Raises:
        InterpolationError: Data or settings don't fit.
        LinAlgError: The system is singular: places are equal, or on one line. Traced
            ones can't be looked at: there the values are NaN.
    """

    arrays: ClassVar[tuple[str, ...]] = (
        "y", "epsilon", "shift", "scale", "coefficients", "d", "smoothing",
    )  # fmt: skip
    settings: ClassVar[tuple[str, ...]] = ("kernel", "powers", "neighbors")
    y: jax.Array
    epsilon: jax.Array
    # Of all data; without them where neighbors count.
    shift: jax.Array | None
    scale: jax.Array | None
    coefficients: jax.Array | None
    # Where neighbors count; without them where all do.
    d: jax.Array | None
    smoothing: jax.Array | None
    kernel: str
    powers: tuple[tuple[int, ...], ...]
    neighbors: int | None

    def __init__(
        self,
        y: Numbers,
        d: Numbers,
        neighbors: int | None = None,
        smoothing: Numbers = 0.0,
        kernel: str = "thin_plate_spline",
        epsilon: Numbers | None = None,
        degree: int | None = None,
    ) -> None:
        places, values = inexact(y, d)
        if jnp.iscomplexobj(places) and not jnp.iscomplexobj(jnp.asarray(y)):
            places = places.real
        fits = places.ndim == 2 and values.ndim and values.shape[0] == len(places)
        if not fits or jnp.iscomplexobj(places):
            message = (
                f"RBFInterpolator() got places of shape {places.shape} and values of "
                f"shape {values.shape}. Pass (n, d) real numbers and (n, ...) values."
            )
            raise InterpolationError(message)
        if kernel not in _KERNELS or (epsilon is None and kernel in _NEEDS_SCALE):
            message = (
                f"RBFInterpolator() got kernel={kernel!r}, epsilon={epsilon!r}. Pass "
                f"one of {', '.join(_KERNELS)}, and epsilon for the last four."
            )
            raise InterpolationError(message)
        count = _count(neighbors, len(places))
        powers = _powers(kernel, degree, (count or len(places), places.shape[1]))
        scale = jnp.asarray(1.0 if epsilon is None else epsilon, places.dtype)
        self._set(y=places, epsilon=scale, kernel=kernel, powers=powers)
        self._set(neighbors=count, shift=None, scale=None, coefficients=None)
        self._set(d=values, smoothing=_smoothing(smoothing, places))
        if count is None:
            whole = _of_all(self)
            self._set(**{name: getattr(whole, name) for name in self.arrays})
            _check_solved(self.coefficients)

    def __call__(self, x: Numbers) -> jax.Array:
        """The values at points.

        Args:
            x: `(m, d)` real points.

        Returns:
            `(m, ...)` values.
        """
        points = jnp.asarray(x)
        d = self.y.shape[1]
        if points.ndim != 2 or points.shape[1] != d or jnp.iscomplexobj(points):
            message = (
                f"RBFInterpolator() got points of shape {points.shape}. Pass (m, {d}) "
                "real numbers, one row for each point."
            )
            raise InterpolationError(message)
        points = points.astype(jnp.result_type(points, self.y))
        of = _values if self.neighbors is None else _values_of_neighbors
        found: jax.Array = of(self, points)
        if self.neighbors is not None and not isinstance(points, Tracer):
            _check_solved(jnp.where(jnp.isnan(points).any(), 0, found))
        return found

    def with_arrays(self, **arrays: jax.Array | None) -> "RBFInterpolator":
        """The same settings with other arrays."""
        fields = {name: getattr(self, name) for name in self.arrays + self.settings}
        return RBFInterpolator.of_fields(**fields | arrays)

    @classmethod
    def of_scipy(cls, interpolator: Any) -> Self:
        """The same interpolation as that of an object of SciPy."""
        local = interpolator.neighbors is not None
        (c,) = inexact(getattr(interpolator, "d" if local else "_coeffs"))
        if np.dtype(interpolator.d_dtype).kind == "c":  # SciPy has them as pairs
            c = jax.lax.complex(c[:, ::2], c[:, 1::2])
        c = c.reshape(-1, *interpolator.d_shape)
        names = ("y", "epsilon", *(("smoothing",) if local else ("_shift", "_scale")))
        known = {
            name.strip("_"): inexact(getattr(interpolator, name))[0] for name in names
        }
        known["d" if local else "coefficients"] = c
        return cls.of_fields(
            **dict.fromkeys(cls.arrays) | known,
            powers=tuple(tuple(map(int, row)) for row in interpolator.powers),
            kernel=interpolator.kernel,
            neighbors=int(interpolator.neighbors) if local else None,
        )


def _powers(
    kernel: str, degree: int | None, shape: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    """The powers of the coordinates in each monomial of the polynomial."""
    least = _LEAST_DEGREE.get(kernel, -1)
    highest = max(least, 0) if degree is None else int(degree)
    powers = [
        row
        for row in itertools.product(range(highest + 1), repeat=shape[1])
        if sum(row) <= highest
    ]
    if len(powers) > shape[0] or highest < -1:
        message = (
            f"RBFInterpolator() got {shape[0]} data for a value, and degree={highest}, "
            f"which needs at least {len(powers)}. Pass a lower degree, at least -1."
        )
        raise InterpolationError(message)
    return tuple(powers)


def _matrices(of: RBFInterpolator, points: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Kernels and monomials at points."""
    difference = (points[:, None] - of.y[None]) * of.epsilon
    kernel: Callable[[jax.Array], jax.Array] = _KERNELS[of.kernel]
    kernels = kernel(jnp.sum(difference**2, axis=-1))
    assert of.shift is not None
    assert of.scale is not None
    near = (points - of.shift[None]) / of.scale[None]
    ones = jnp.ones_like(near[:, :0].sum(1))
    columns = [
        functools.reduce(
            jnp.multiply, [near[:, i] ** p for i, p in enumerate(row) if p], ones
        )
        for row in of.powers
    ]
    table = jnp.stack(columns, axis=1) if columns else near[:, :0]
    return kernels, table


def _count(neighbors: Any, n: int) -> int | None:
    """How many neighbors count, a number known before tracing."""
    if neighbors is None:
        return None
    try:
        count = int(min(neighbors, n))
    except (TypeError, ValueError, jax.errors.ConcretizationTypeError):
        count = 0
    if count < 1:
        message = (
            f"RBFInterpolator() got neighbors={neighbors}. Pass None, or how many data "
            "count for a value, a Python integer of at least 1."
        )
        raise InterpolationError(message)
    return count


def _smoothing(given: Numbers, places: jax.Array) -> jax.Array:
    numbers = jnp.asarray(given, places.dtype)
    if numbers.shape not in ((), places.shape[:1]):
        message = (
            f"RBFInterpolator() got smoothing of shape {numbers.shape}. Pass one number"
            f", or one for each of the {len(places)} places."
        )
        raise InterpolationError(message)
    return jnp.broadcast_to(numbers, places.shape[:1])


def _check_solved(numbers: jax.Array | None) -> None:
    """Raise what SciPy raises for a singular system, where there are values."""
    if isinstance(numbers, Tracer) or np.isfinite(np.asarray(numbers)).all():
        return
    message = (
        "Singular matrix. RBFInterpolator() got places that are equal or too near, on "
        "one line or plane, or values that are not finite. Leave such data out, pass a "
        "lower degree, or smoothing for data that differ at one place."
    )
    raise np.linalg.LinAlgError(message)


@jax.jit
def _of_all(of: RBFInterpolator) -> RBFInterpolator:
    """The interpolator with its coefficients solved for, in place of its data."""
    low, high = of.y.min(0), of.y.max(0)
    scale = jnp.where(high == low, 1, (high - low) / 2)
    of = of.with_arrays(shift=(low + high) / 2, scale=scale)
    return of.with_arrays(coefficients=_solved(of), d=None, smoothing=None)


def _solved(of: RBFInterpolator) -> jax.Array:
    smoothing, d = of.smoothing, of.d
    assert smoothing is not None
    assert d is not None
    kernels, monomials = _matrices(of, of.y)
    extra = monomials.shape[1]
    matrix = jnp.block(
        [
            [kernels + jnp.diag(smoothing), monomials],
            [monomials.T, jnp.zeros((extra, extra), kernels.dtype)],
        ]
    )
    columns = d.reshape(d.shape[0], -1)
    right = jnp.concatenate([columns, jnp.zeros((extra, columns.shape[1]), d.dtype)])
    solved = jnp.linalg.solve(matrix.astype(d.dtype), right)
    found: jax.Array = solved.reshape(-1, *d.shape[1:])
    return found


_AT_ONCE = 10_000_000  # numbers in a table of kernels


@jax.jit
def _values(of: RBFInterpolator, points: jax.Array) -> jax.Array:
    c = of.coefficients
    assert c is not None
    columns = c.reshape(c.shape[0], -1)

    def at(block: jax.Array) -> jax.Array:
        table = jnp.concatenate(_matrices(of, block), axis=1)
        return jnp.matmul(
            table.astype(jnp.result_type(table, columns)), columns, precision="highest"
        )

    rows = max(_AT_ONCE // max(of.y.size, 1), 1)
    if points.shape[0] <= rows:
        values = at(points)
    else:
        values = jax.lax.map(lambda x: at(x[None])[0], points, batch_size=rows)
    return values.reshape(points.shape[0], *c.shape[1:])


@jax.jit
def _values_of_neighbors(of: RBFInterpolator, points: jax.Array) -> jax.Array:
    count, d, smoothing = of.neighbors, of.d, of.smoothing
    assert count is not None
    assert d is not None
    assert smoothing is not None

    def at(x: jax.Array) -> jax.Array:
        far = jnp.sum((of.y - x) ** 2, axis=-1)
        _, near = jax.lax.top_k(-far, count)
        of_near = of.with_arrays(y=of.y[near], d=d[near], smoothing=smoothing[near])
        found: jax.Array = _values(_of_all(of_near), x[None])[0]
        return found

    of_one = of.y.size + (count + len(of.powers)) ** 2
    if not points.shape[0]:
        return jnp.zeros((0, *d.shape[1:]), jnp.result_type(d, points))
    values: jax.Array = jax.lax.map(at, points, batch_size=max(_AT_ONCE // of_one, 1))
    return values
