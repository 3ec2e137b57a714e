"""SciPy's interpolators as JAX functions, without a host call. Begin in `_base.py`.

Each is a tree of JAX: its numbers are traced, its settings static. Values at points are
computed by `_pieces` (polynomials on intervals) and `_basis` (B-splines).
"""

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
from ._grids import (
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
