"""Interpolation: SciPy's interpolators in JAX, and `jax.scipy.interpolate`.

They make no host call. Begin in `_base.py`. Each is a tree of JAX: its numbers are
traced, its settings static. Values at points are computed by `_pieces` (polynomials on
intervals) and `_basis` (B-splines).
"""

import typing as _typing

from jax.scipy.interpolate import *  # pyright: ignore[reportWildcardImportFromLibrary]

from ._bsplines import (
    BSpline as BSpline,
    make_interp_spline as make_interp_spline,
)
from ._cubic import (
    Akima1DInterpolator as Akima1DInterpolator,
    CubicHermiteSpline as CubicHermiteSpline,
    CubicSpline as CubicSpline,
    PchipInterpolator as PchipInterpolator,
)
from ._grids import (  # type: ignore[assignment]
    RegularGridInterpolator as RegularGridInterpolator,
    interpn as interpn,
)
from ._interp1d import interp1d as interp1d
from ._nearest import (
    NearestNDInterpolator as NearestNDInterpolator,
    griddata as griddata,
)
from ._pieces import PPoly as PPoly
from ._radial import RBFInterpolator as RBFInterpolator
from ._scattered import (
    CloughTocher2DInterpolator as CloughTocher2DInterpolator,
    LinearNDInterpolator as LinearNDInterpolator,
)
from ._smoothing import (
    BivariateSpline as BivariateSpline,
    UnivariateSpline as UnivariateSpline,
)


if not _typing.TYPE_CHECKING:
    from .._faces import face as _face

    __getattr__, __dir__ = _face(__name__)
