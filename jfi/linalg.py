"""Linear algebra: `jax.numpy.linalg`, and SciPy's factorizations for solving later."""

from jax.numpy.linalg import *  # pyright: ignore[reportWildcardImportFromLibrary]

from ._torch_names import (
    cho_factor as cho_factor,
    cholesky_solve as cholesky_solve,
    lu_factor as lu_factor,
    lu_solve as lu_solve,
)
