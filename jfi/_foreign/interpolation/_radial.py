"""Radial basis functions: interpolation of scattered data."""

import functools
import itertools
from collections.abc import Callable
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

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

    Data and points may be traced; all data count for each value.

    Example:
        >>> import jfi as jnp
        >>> corners = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> f = jnp.scipy.interpolate.RBFInterpolator(corners, corners.sum(axis=1))
        >>> f(jnp.array([[0.5, 0.25]])).round(3)
        Array([0.75...], dtype=float32)

    Args:
        y: `(n, d)` places of the data.
        d: `(n, ...)` values there.
        neighbors: Only None: SciPy's local interpolation is not had.
        smoothing: How far values may be missed: a number, or one for each.
        kernel: One of SciPy's: "thin_plate_spline", "linear", "cubic", "gaussian" ...
        epsilon: The scale of the kernel, needed where it matters.
        degree: That of the polynomial which is added; -1 adds none.

    Raises:
        InterpolationError: Data or settings don't fit.
    """

    arrays: ClassVar[tuple[str, ...]] = (
        "y",
        "epsilon",
        "shift",
        "scale",
        "coefficients",
    )
    settings: ClassVar[tuple[str, ...]] = ("kernel", "powers")
    y: jax.Array
    epsilon: jax.Array
    shift: jax.Array
    scale: jax.Array
    coefficients: jax.Array
    kernel: str
    powers: tuple[tuple[int, ...], ...]

    def __init__(
        self,
        y: Numbers,
        d: Numbers,
        neighbors: None = None,
        smoothing: Numbers = 0.0,
        kernel: str = "thin_plate_spline",
        epsilon: Numbers | None = None,
        degree: int | None = None,
    ) -> None:
        places, values = inexact(y, d)
        if jnp.iscomplexobj(places) and not jnp.iscomplexobj(jnp.asarray(y)):
            places = places.real
        fits = places.ndim == 2 and values.ndim and values.shape[0] == len(places)
        if not fits or jnp.iscomplexobj(places) or neighbors is not None:
            message = (
                f"RBFInterpolator() got places of shape {places.shape}, values of "
                f"shape {values.shape} and neighbors={neighbors}. Pass (n, d) real "
                "numbers, (n, ...) values and no neighbors."
            )
            raise InterpolationError(message)
        if kernel not in _KERNELS or (epsilon is None and kernel in _NEEDS_SCALE):
            message = (
                f"RBFInterpolator() got kernel={kernel!r}, epsilon={epsilon!r}. Pass "
                f"one of {', '.join(_KERNELS)}, and epsilon for the last four."
            )
            raise InterpolationError(message)
        powers = _powers(kernel, degree, places.shape)
        low, high = places.min(0), places.max(0)
        scale = jnp.where(high == low, 1, (high - low) / 2)
        self._set(y=places, shift=(low + high) / 2, scale=scale, kernel=kernel)
        scale_of_kernel = 1.0 if epsilon is None else epsilon
        self._set(epsilon=jnp.asarray(scale_of_kernel, places.dtype), powers=powers)
        smooth = jnp.broadcast_to(jnp.asarray(smoothing, places.dtype), len(places))
        self._set(coefficients=_solved(self._setting(), smooth, values))

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
        found: jax.Array = _values(self._setting(), self.coefficients, points)
        return found

    def _setting(self) -> "RBFInterpolator":
        """All but the coefficients."""
        fields = {
            k: getattr(self, k)
            for k in self.arrays + self.settings
            if k != "coefficients"
        }
        return RBFInterpolator.of_fields(**fields, coefficients=None)

    @classmethod
    def of_scipy(cls, interpolator: Any) -> Self:
        """The same interpolation as that of an object of SciPy."""
        if interpolator.neighbors is not None:
            message = "an RBFInterpolator with neighbors: leave neighbors=None"
            raise NotImplementedError(message)
        names = ("y", "_shift", "_scale", "_coeffs", "epsilon")
        y, shift, scale, c, epsilon = (
            inexact(getattr(interpolator, name))[0] for name in names
        )
        if np.dtype(interpolator.d_dtype).kind == "c":  # SciPy has them as pairs
            c = jax.lax.complex(c[:, ::2], c[:, 1::2])
        powers = tuple(tuple(map(int, row)) for row in interpolator.powers)
        return cls.of_fields(
            y=y, shift=shift, scale=scale, epsilon=epsilon, powers=powers,
            coefficients=c.reshape(-1, *interpolator.d_shape),
            kernel=interpolator.kernel,
        )  # fmt: skip


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
            f"RBFInterpolator() got {shape[0]} places, and degree={highest}, which "
            f"needs at least {len(powers)}. Pass a lower degree, at least -1."
        )
        raise InterpolationError(message)
    return tuple(powers)


def _matrices(of: RBFInterpolator, points: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Kernels and monomials at points."""
    difference = (points[:, None] - of.y[None]) * of.epsilon
    kernel: Callable[[jax.Array], jax.Array] = _KERNELS[of.kernel]
    kernels = kernel(jnp.sum(difference**2, axis=-1))
    near = (points - of.shift) / of.scale
    ones = jnp.ones_like(near[:, :0].sum(1))
    columns = [
        functools.reduce(
            jnp.multiply, [near[:, i] ** p for i, p in enumerate(row) if p], ones
        )
        for row in of.powers
    ]
    table = jnp.stack(columns, axis=1) if columns else near[:, :0]
    return kernels, table


@jax.jit
def _solved(of: RBFInterpolator, smoothing: jax.Array, d: jax.Array) -> jax.Array:
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
def _values(of: RBFInterpolator, c: jax.Array, points: jax.Array) -> jax.Array:
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
