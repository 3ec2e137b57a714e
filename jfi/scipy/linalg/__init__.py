"""Linear algebra: `jax.scipy.linalg`, and what control needs beyond it."""

import typing as _typing

from jax.scipy.linalg import *  # pyright: ignore[reportWildcardImportFromLibrary]

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


if not _typing.TYPE_CHECKING:
    from .._faces import face as _face

    __getattr__, __dir__ = _face(__name__, "invhilbert", "invpascal", "pascal")
