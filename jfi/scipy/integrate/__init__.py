"""Integration: `jax.scipy.integrate`, and SciPy's solvers of JAX functions."""

import typing as _typing

from jax.scipy.integrate import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from ._initial_values import (
        IvpResult as IvpResult,
        IvpSolution as IvpSolution,
        odeint as odeint,
        solve_ivp as solve_ivp,
    )
    from ._quadrature import QuadResult as QuadResult, quad as quad
    from ._sampled import (
        cumulative_simpson as cumulative_simpson,
        cumulative_trapezoid as cumulative_trapezoid,
        fixed_quad as fixed_quad,
        romb as romb,
        simpson as simpson,
    )
else:
    import jax.scipy.integrate as _theirs

    from ..._dispatch._names import attached as _attached
    from ..._jax_internals import on_demand as _on_demand

    _HOMES = {
        "cumulative_simpson": "scipy.integrate._sampled",
        "cumulative_trapezoid": "scipy.integrate._sampled",
        "fixed_quad": "scipy.integrate._sampled",
        "odeint": "scipy.integrate._initial_values",
        "quad": "scipy.integrate._quadrature",
        "romb": "scipy.integrate._sampled",
        "simpson": "scipy.integrate._sampled",
        "solve_ivp": "scipy.integrate._initial_values",
    }
    _RESULTS = {
        "IvpResult": "_initial_values",
        "IvpSolution": "_initial_values",
        "QuadResult": "_quadrature",
    }
    __getattr__, __dir__ = _attached(
        __name__, _HOMES, _RESULTS, _on_demand(__name__, _theirs)
    )
