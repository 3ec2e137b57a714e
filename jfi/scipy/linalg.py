"""Linear algebra: `jax.scipy.linalg`, and what control needs beyond it."""

import typing as _typing

from jax.scipy.linalg import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from .._foreign.solvers._matrix_equations import (  # type: ignore[assignment]
        solve_continuous_are as solve_continuous_are,
        solve_continuous_lyapunov as solve_continuous_lyapunov,
        solve_discrete_are as solve_discrete_are,
        solve_discrete_lyapunov as solve_discrete_lyapunov,
        solve_sylvester as solve_sylvester,
    )
    from .._foreign.solvers._matrix_functions import (
        fractional_matrix_power as fractional_matrix_power,
        logm as logm,
        sqrtm as sqrtm,
    )
else:
    import jax.scipy.linalg as _theirs

    from .._advice._missing_names import explained as _explained
    from .._dispatch._names import homes_of as _homes_of
    from .._jax_internals import on_demand as _on_demand
    from .._optional._packages import attach as _attach

    del (
        solve_sylvester,
        sqrtm,
    )  # JAX's: ours have derivatives, and are made on first use
    _HOMES = {
        "fractional_matrix_power": "_matrix_functions",
        "logm": "_matrix_functions",
        "solve_continuous_are": "_matrix_equations",
        "solve_continuous_lyapunov": "_matrix_equations",
        "solve_discrete_are": "_matrix_equations",
        "solve_discrete_lyapunov": "_matrix_equations",
        "solve_sylvester": "_matrix_equations",
        "sqrtm": "_matrix_functions",
    }
    __getattr__, __dir__ = _attach(
        __name__,
        {
            **_homes_of("scipy.linalg", globals()),
            **{name: f"._foreign.solvers.{home}" for name, home in _HOMES.items()},
        },
        _on_demand(__name__, _theirs, _explained(__name__)),
    )
