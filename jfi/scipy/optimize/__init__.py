"""Minimisation and roots: `jax.scipy.optimize`, and SciPy's solvers."""

import typing as _typing

from jax.scipy.optimize import OptimizeResults as OptimizeResults

from ._brackets import (
    bisect as bisect,
    brenth as brenth,
    brentq as brentq,
    newton as newton,
    ridder as ridder,
    toms748 as toms748,
)
from ._curve_fit import (
    CurveFitResult as CurveFitResult,
    curve_fit as curve_fit,
)
from ._fixed_points import fixed_point as fixed_point
from ._least_squares import (
    LeastSquaresResult as LeastSquaresResult,
    least_squares as least_squares,
)
from ._minimize import (
    MinimizeResult as MinimizeResult,
    minimize as minimize,
)
from ._programming import (
    LinprogResult as LinprogResult,
    linear_sum_assignment as linear_sum_assignment,
    linprog as linprog,
)
from ._roots import RootResult as RootResult, root as root
from ._scalar_minima import (
    MinimizeScalarResult as MinimizeScalarResult,
    minimize_scalar as minimize_scalar,
)
from ._scalar_roots import (
    RootScalarResult as RootScalarResult,
    root_scalar as root_scalar,
)


if not _typing.TYPE_CHECKING:
    from .._faces import face as _face

    __getattr__, __dir__ = _face(__name__)
