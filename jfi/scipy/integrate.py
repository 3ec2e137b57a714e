"""Integration: `jax.scipy.integrate`, and SciPy's solvers of JAX functions."""

import typing as _typing

from jax.scipy.integrate import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from .._foreign.solvers._initial_values import (
        IvpResult as IvpResult,
        IvpSolution as IvpSolution,
        odeint as odeint,
        solve_ivp as solve_ivp,
    )
    from .._foreign.solvers._quadrature import QuadResult as QuadResult, quad as quad
    from .._foreign.solvers._sampled import (
        cumulative_simpson as cumulative_simpson,
        cumulative_trapezoid as cumulative_trapezoid,
        fixed_quad as fixed_quad,
        romb as romb,
        simpson as simpson,
    )
else:
    import jax.scipy.integrate as _theirs

    from .._dispatch._names import attached as _attached
    from .._jax_internals import on_demand as _on_demand

    _HOMES = {
        "cumulative_simpson": "_foreign.solvers._sampled",
        "cumulative_trapezoid": "_foreign.solvers._sampled",
        "fixed_quad": "_foreign.solvers._sampled",
        "odeint": "_foreign.solvers._initial_values",
        "quad": "_foreign.solvers._quadrature",
        "romb": "_foreign.solvers._sampled",
        "simpson": "_foreign.solvers._sampled",
        "solve_ivp": "_foreign.solvers._initial_values",
    }
    _RESULTS = {
        "IvpResult": "._foreign.solvers._initial_values",
        "IvpSolution": "._foreign.solvers._initial_values",
        "QuadResult": "._foreign.solvers._quadrature",
    }
    __getattr__, __dir__ = _attached(
        __name__, _HOMES, _RESULTS, _on_demand(__name__, _theirs)
    )
