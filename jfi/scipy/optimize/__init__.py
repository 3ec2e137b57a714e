"""Minimisation and roots: `jax.scipy.optimize`, and SciPy's solvers."""

import typing as _typing


if _typing.TYPE_CHECKING:
    from jax.scipy.optimize import OptimizeResults as OptimizeResults

    from ..._foreign.solvers._least_squares import (
        LeastSquaresResult as LeastSquaresResult,
        least_squares as least_squares,
    )
    from ..._foreign.solvers._minimize import (
        MinimizeResult as MinimizeResult,
        minimize as minimize,
    )
    from ..._foreign.solvers._roots import RootResult as RootResult, root as root
    from ..._foreign.solvers._scalar_roots import (
        RootScalarResult as RootScalarResult,
        brentq as brentq,
        root_scalar as root_scalar,
    )
else:
    import jax.scipy.optimize as _theirs
    from jax.scipy.optimize import *  # pyright: ignore[reportWildcardImportFromLibrary]

    from ..._advice._missing_names import explained as _explained
    from ..._jax_internals import on_demand as _on_demand
    from ..._optional._packages import attach as _attach

    del minimize  # JAX's: ours, which has it too, is made on first use
    _HOMES = {
        "LeastSquaresResult": "_least_squares",
        "MinimizeResult": "_minimize",
        "RootResult": "_roots",
        "RootScalarResult": "_scalar_roots",
        "brentq": "_scalar_roots",
        "least_squares": "_least_squares",
        "minimize": "_minimize",
        "root": "_roots",
        "root_scalar": "_scalar_roots",
    }
    __getattr__, __dir__ = _attach(
        __name__,
        {name: f".._foreign.solvers.{home}" for name, home in _HOMES.items()},
        _on_demand(__name__, _theirs, _explained(__name__)),
    )
