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
        cumulative_trapezoid as cumulative_trapezoid,
        simpson as simpson,
    )
else:
    import jax.scipy.integrate as _theirs

    from .._advice._missing_names import explained as _explained
    from .._jax_internals import on_demand as _on_demand
    from .._optional._packages import attach as _attach

    _HOMES = {
        "IvpResult": "_initial_values",
        "IvpSolution": "_initial_values",
        "QuadResult": "_quadrature",
        "cumulative_trapezoid": "_sampled",
        "odeint": "_initial_values",
        "quad": "_quadrature",
        "simpson": "_sampled",
        "solve_ivp": "_initial_values",
    }
    __getattr__, __dir__ = _attach(
        __name__,
        {name: f"._foreign.solvers.{home}" for name, home in _HOMES.items()},
        _on_demand(__name__, _theirs, _explained(__name__)),
    )
