"""Sparse linear algebra: `jax.scipy.sparse.linalg`, and SciPy's direct solver."""

import typing as _typing

from jax.scipy.sparse.linalg import *  # pyright: ignore[reportWildcardImportFromLibrary]

from ._direct import (
    factorized as factorized,
    spsolve as spsolve,
)
from ._operators import (
    LinearOperator as LinearOperator,
    aslinearoperator as aslinearoperator,
)


if not _typing.TYPE_CHECKING:
    from .._faces import plain_face as _plain_face

    __getattr__, __dir__ = _plain_face(__name__, "bicgstab", "cg", "gmres")
