"""Splines that SciPy fits, evaluated in JAX."""

from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..._errors import InterpolationError
from .._scipy_words import knows_scipy
from ._base import Interpolator, Numbers, derivative_order, no_tracers, query_points
from ._bsplines import BSpline
from ._intervals import nan_where
from ._tensor_products import tensor_values


_MODES = ("extrapolate", "zeros", "raise", "const")


class UnivariateSpline(Interpolator):
    """A smoothing spline, fitted by `scipy.interpolate.UnivariateSpline`.

    SciPy chooses the knots from the values, so those can't be traced. What it found is
    evaluated in JAX, with gradients with respect to points and coefficients.

    Example:
        >>> import jfi as jnp
        >>> x = jnp.linspace(0.0, 1.0, 9)
        >>> spline = jnp.scipy.interpolate.UnivariateSpline(x, x**2, s=0)
        >>> spline(0.5).round(3), spline.derivative()(0.5).round(3)
        (Array(0.25, dtype=float32), Array(1., dtype=float32))

    Args:
        x: `(n,)` points, which increase.
        y: `(n,)` values.
        w: Weights.
        bbox: The interval of the spline.
        k: The degree, 1 to 5.
        s: How much it smooths; 0 goes through the values.
        ext: Outside: "extrapolate" (0), "zeros" (1), "raise" (2) or "const" (3).
            Traced points can't be looked at: with "raise" the value outside is NaN.

    Raises:
        InterpolationError: Points or values are traced, or `ext` is none of these.
    """

    arrays: ClassVar[tuple[str, ...]] = ("spline",)
    settings: ClassVar[tuple[str, ...]] = ("ext",)
    spline: BSpline
    ext: str

    @knows_scipy("interpolate.UnivariateSpline")
    def __init__(
        self,
        x: Numbers,
        y: Numbers,
        w: Numbers | None = None,
        bbox: Any = (None, None),
        k: int = 3,
        s: float | None = None,
        ext: int | str = 0,
    ) -> None:
        import scipy.interpolate

        name = "UnivariateSpline()"
        given = no_tracers(name, "CubicSpline or make_interp_spline", x, y, w)
        fit: Any = scipy.interpolate.UnivariateSpline
        fields = self.of_scipy(fit(*given, bbox=list(bbox), k=k, s=s, ext=ext))
        self._set(spline=fields.spline, ext=fields.ext)

    def __call__(
        self, x: Numbers, nu: int = 0, ext: int | str | None = None
    ) -> jax.Array:
        """The values at points, or those of a derivative.

        Args:
            x: Real points, in any shape.
            nu: Which derivative.
            ext: As for the class; None is its setting.

        Returns:
            The values.

        Raises:
            ValueError: A point is outside, and `ext` is "raise".
        """
        points = query_points("UnivariateSpline()", x, self.spline.c.dtype)
        outer = self.ext if ext is None else _mode(ext)
        if nu and outer == "const":  # SciPy extrapolates here, and not in derivative()
            outer = "zeros"
        knots, k = self.spline.t, self.spline.k
        first, last = knots[k], knots[knots.shape[0] - k - 1]
        if outer == "const":
            points = jnp.clip(points, first, last)
        values = self.spline(points, nu, extrapolate=True)
        if outer in ("zeros", "raise"):
            beyond = (points < first) | (points > last)
            if outer == "zeros":
                return jnp.where(beyond, 0, values)
            _refuse_outside(beyond, points, first, last)
            return nan_where(beyond, values)
        return values

    def derivative(self, n: int = 1) -> "UnivariateSpline":
        """The derivative of an order, as another spline."""
        ext = "zeros" if self.ext == "const" else self.ext
        return UnivariateSpline.of_fields(spline=self.spline.derivative(n), ext=ext)

    def antiderivative(self, n: int = 1) -> "UnivariateSpline":
        """The integral from the first knot on, as another spline."""
        whole = self.spline.antiderivative(n)
        return UnivariateSpline.of_fields(spline=whole, ext=self.ext)

    def integral(self, a: Numbers, b: Numbers) -> jax.Array:
        """The integral from a to b; the spline is zero outside its interval."""
        return self.spline.integrate(a, b, extrapolate=False)

    @classmethod
    def of_scipy(cls, spline: Any) -> Self:
        """The same spline as that of an object of SciPy."""
        t, c, k = vars(spline)["_eval_args"]  # SciPy has no public name for all
        return cls.of_fields(spline=BSpline(t, c, k), ext=_mode(spline.ext))


def _refuse_outside(beyond: Any, points: Any, first: Any, last: Any) -> None:
    if isinstance(beyond, Tracer) or not np.asarray(beyond).any():
        return
    message = (
        f"UnivariateSpline() got the point {np.asarray(points)[np.asarray(beyond)][0]} "
        f"with ext='raise', outside its interval from {first} to {last}. Pass "
        "ext='extrapolate', 'zeros' or 'const'."
    )
    raise ValueError(message)


def _mode(ext: int | str) -> str:
    name = _MODES[int(ext)] if not isinstance(ext, str) and 0 <= ext <= 3 else ext
    if name not in _MODES:
        message = (
            f"UnivariateSpline() got ext={ext!r}. Pass 'extrapolate' (0), 'zeros' (1), "
            "'raise' (2) or 'const' (3)."
        )
        raise InterpolationError(message)
    return name


class BivariateSpline(Interpolator):
    """A spline in two variables, made by `jaxify` of `RectBivariateSpline` and others.

    Example:
        >>> import numpy as np
        >>> import scipy.interpolate
        >>> import jfi as jnp
        >>> x, y = np.arange(5.0), np.arange(6.0)
        >>> of_scipy = scipy.interpolate.RectBivariateSpline(x, y, np.outer(x, y))
        >>> jnp.jaxify(of_scipy).ev(1.5, 2.0).round(3)
        Array(3.0..., dtype=float32)
    """

    arrays: ClassVar[tuple[str, ...]] = ("tx", "ty", "c")
    settings: ClassVar[tuple[str, ...]] = ("degrees",)
    tx: jax.Array
    ty: jax.Array
    c: jax.Array
    degrees: tuple[int, int]

    def __call__(
        self, x: Numbers, y: Numbers, dx: int = 0, dy: int = 0, grid: bool = True
    ) -> jax.Array:
        """The values on the grid of x and y, or at points with `grid=False`.

        Args:
            x: First coordinates.
            y: Second coordinates.
            dx: Which derivative with respect to x.
            dy: Which derivative with respect to y.
            grid: Whether x and y are the axes of a grid, or points that broadcast.

        Returns:
            The values. Points outside the knots count as those at the edge.
        """
        points = [query_points("BivariateSpline()", v, self.c.dtype) for v in (x, y)]
        if grid:
            points = jnp.meshgrid(*points, indexing="ij")
        else:
            points = jnp.broadcast_arrays(*points)
        inside = tuple(
            jnp.clip(p, t[k], t[t.shape[0] - k - 1])
            for p, t, k in zip(points, (self.tx, self.ty), self.degrees, strict=True)
        )
        orders = derivative_order("dx", dx), derivative_order("dy", dy)
        knots = self.tx, self.ty
        found: jax.Array
        found = tensor_values(knots, self.c, inside, self.degrees, orders)
        return found

    def ev(self, xi: Numbers, yi: Numbers, dx: int = 0, dy: int = 0) -> jax.Array:
        """The values at points."""
        return self(xi, yi, dx, dy, grid=False)

    @classmethod
    def of_scipy(cls, spline: Any) -> Self:
        """The same spline as that of an object of SciPy."""
        tx, ty, c = map(jnp.asarray, spline.tck)
        kx, ky = spline.degrees
        shape = tx.shape[0] - kx - 1, ty.shape[0] - ky - 1
        return cls.of_fields(tx=tx, ty=ty, c=c.reshape(shape), degrees=(kx, ky))
