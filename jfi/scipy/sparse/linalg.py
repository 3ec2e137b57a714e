"""Sparse linear algebra: `jax.scipy.sparse.linalg`, and SciPy's direct solver."""

import typing as _typing

from jax.scipy.sparse.linalg import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from ._direct import (
        factorized as factorized,
        spsolve as spsolve,
    )
    from ._operators import (
        LinearOperator as LinearOperator,
        aslinearoperator as aslinearoperator,
    )
else:
    import jax.scipy.sparse.linalg as _theirs

    from ..._advice import knowing_scipy as _knowing_scipy
    from ..._advice._missing_names import explained as _explained
    from ..._jax_internals import on_demand as _on_demand
    from ..._optional._packages import attach as _attach

    _HOMES = {
        "LinearOperator": "_operators",
        "aslinearoperator": "_operators",
        "factorized": "_direct",
        "spsolve": "_direct",
    }
    _plain = (_theirs.bicgstab, _theirs.cg, _theirs.gmres)
    globals().update(_knowing_scipy("sparse.linalg", _plain))
    __getattr__, __dir__ = _attach(
        __name__,
        _HOMES,
        _on_demand(__name__, _theirs, _explained(__name__)),
    )
