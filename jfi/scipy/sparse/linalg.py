"""Sparse linear algebra: `jax.scipy.sparse.linalg`, and SciPy's direct solver."""

import typing as _typing

from jax.scipy.sparse.linalg import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from ..._foreign.solvers._operators import (
        LinearOperator as LinearOperator,
        aslinearoperator as aslinearoperator,
    )
    from ..._foreign.solvers._sparse import (
        factorized as factorized,
        spsolve as spsolve,
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
        "factorized": "_sparse",
        "spsolve": "_sparse",
    }
    _plain = (_theirs.bicgstab, _theirs.cg, _theirs.gmres)
    globals().update(_knowing_scipy("sparse.linalg", _plain))
    __getattr__, __dir__ = _attach(
        __name__,
        {name: f".._foreign.solvers.{home}" for name, home in _HOMES.items()},
        _on_demand(__name__, _theirs, _explained(__name__)),
    )
