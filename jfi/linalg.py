"""Linear algebra: `jax.numpy.linalg`, SciPy's factorizations, PyTorch's names."""

import typing as _typing

from jax.numpy.linalg import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from ._arrays._linalg_names import (
        expm as expm,
        householder_product as householder_product,
        lu as lu,
    )
    from ._torch_names import (
        block_diag as block_diag,
        cho_factor as cho_factor,
        cholesky_solve as cholesky_solve,
        lu_factor as lu_factor,
        lu_solve as lu_solve,
        matrix_exp as matrix_exp,
        solve_triangular as solve_triangular,
    )
else:
    from ._advice._missing_names import explained as _explained
    from ._dispatch._names import homes_of as _homes_of, made_by as _made_by
    from ._optional._packages import attach as _attach

    _HOMES = {"householder_product": "_arrays._linalg_names"}
    __getattr__, __dir__ = _attach(
        __name__,
        {
            **_homes_of("linalg", globals(), _HOMES),
            **dict.fromkeys(
                """block_diag cho_factor cholesky_solve lu_factor lu_solve matrix_exp
                solve_triangular""".split(),
                "_dispatch._torch_functions",
            ),
            **dict.fromkeys(["expm", "lu"], _made_by("scipy.linalg")),
        },
        _explained(__name__),
    )
    __all__ = [name for name in __dir__() if not name.startswith("_")]
