"""Interpolation: SciPy's interpolators in JAX, and `jax.scipy.interpolate`."""

import typing as _typing

from jax.scipy.interpolate import *  # pyright: ignore[reportWildcardImportFromLibrary]

from ..._foreign.interpolation import (  # type: ignore[assignment]
    Akima1DInterpolator as Akima1DInterpolator,
    BivariateSpline as BivariateSpline,
    BSpline as BSpline,
    CloughTocher2DInterpolator as CloughTocher2DInterpolator,
    CubicHermiteSpline as CubicHermiteSpline,
    CubicSpline as CubicSpline,
    LinearNDInterpolator as LinearNDInterpolator,
    NearestNDInterpolator as NearestNDInterpolator,
    PchipInterpolator as PchipInterpolator,
    PPoly as PPoly,
    RBFInterpolator as RBFInterpolator,
    RegularGridInterpolator as RegularGridInterpolator,
    UnivariateSpline as UnivariateSpline,
    griddata as griddata,
    interp1d as interp1d,
    interpn as interpn,
    make_interp_spline as make_interp_spline,
)


if not _typing.TYPE_CHECKING:
    from ..._dispatch._names import attached as _attached

    __getattr__, __dir__ = _attached(
        __name__,
        dict.fromkeys(
            ("griddata", "interpn", "make_interp_spline"), "_foreign.interpolation"
        ),
    )
