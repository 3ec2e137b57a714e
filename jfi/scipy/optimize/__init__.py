"""Minimisation and roots: `jax.scipy.optimize`, and SciPy's solvers."""

import typing as _typing


if _typing.TYPE_CHECKING:
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
else:
    import jax.scipy.optimize as _theirs
    from jax.scipy.optimize import *  # pyright: ignore[reportWildcardImportFromLibrary]

    from ..._dispatch._names import attached as _attached
    from ..._jax_internals import on_demand as _on_demand

    _HOMES = {
        "curve_fit": "_curve_fit",
        "fixed_point": "_fixed_points",
        "least_squares": "_least_squares",
        "linear_sum_assignment": "_programming",
        "linprog": "_programming",
        "minimize": "_minimize",
        "minimize_scalar": "_scalar_minima",
        "root": "_roots",
        "root_scalar": "_scalar_roots",
        **dict.fromkeys(
            "bisect brenth brentq newton ridder toms748".split(), "_brackets"
        ),
    }
    _RESULTS = {
        "CurveFitResult": "_curve_fit",
        "LeastSquaresResult": "_least_squares",
        "LinprogResult": "_programming",
        "MinimizeResult": "_minimize",
        "MinimizeScalarResult": "_scalar_minima",
        "RootResult": "_roots",
        "RootScalarResult": "_scalar_roots",
    }
    __getattr__, __dir__ = _attached(
        __name__,
        {name: f"scipy.optimize.{home}" for name, home in _HOMES.items()},
        _RESULTS,
        _on_demand(__name__, _theirs),
    )
