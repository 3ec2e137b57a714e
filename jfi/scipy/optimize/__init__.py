"""Minimisation and roots: `jax.scipy.optimize`, and SciPy's solvers of JAX functions."""

import typing as _typing

from jax.scipy.optimize import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from ..._foreign.solvers._roots import RootResult as RootResult, root as root
else:
    import jax.scipy.optimize as _theirs

    from ..._jax_internals import on_demand as _on_demand
    from ..._optional._packages import attach as _attach

    __getattr__, __dir__ = _attach(
        __name__,
        {
            "RootResult": ".._foreign.solvers._roots",
            "root": ".._foreign.solvers._roots",
        },
        _on_demand(__name__, _theirs),
    )
