"""Linear algebra: `jax.scipy.linalg`, and what control needs beyond it."""

import typing as _typing

from jax.scipy.linalg import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from ._matrix_equations import (  # type: ignore[assignment]
        solve_continuous_are as solve_continuous_are,
        solve_continuous_lyapunov as solve_continuous_lyapunov,
        solve_discrete_are as solve_discrete_are,
        solve_discrete_lyapunov as solve_discrete_lyapunov,
        solve_sylvester as solve_sylvester,
    )
    from ._matrix_functions import (  # type: ignore[assignment]
        fractional_matrix_power as fractional_matrix_power,
        logm as logm,
        sqrtm as sqrtm,
    )
else:
    import jax.scipy.linalg as _theirs

    from ..._advice import knowing_scipy as _knowing_scipy
    from ..._dispatch._names import attached as _attached
    from ..._jax_internals import on_demand as _on_demand

    _HOMES = {  # also of names that JAX has: ours have derivatives
        **dict.fromkeys(
            "fractional_matrix_power logm sqrtm".split(),
            "scipy.linalg._matrix_functions",
        ),
        **dict.fromkeys(
            """solve_continuous_are solve_continuous_lyapunov solve_discrete_are
            solve_discrete_lyapunov solve_sylvester""".split(),
            "scipy.linalg._matrix_equations",
        ),
    }
    _plain = (_theirs.invhilbert, _theirs.invpascal, _theirs.pascal)
    globals().update(_knowing_scipy("linalg", _plain))
    __getattr__, __dir__ = _attached(
        __name__, _HOMES, otherwise=_on_demand(__name__, _theirs)
    )
