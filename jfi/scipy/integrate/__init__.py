"""Integration: `jax.scipy.integrate`, and SciPy's solvers of JAX functions."""

import typing as _typing

from jax.scipy.integrate import *  # pyright: ignore[reportWildcardImportFromLibrary]

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


if not _typing.TYPE_CHECKING:
    from .._faces import face as _face

    __getattr__, __dir__ = _face(__name__)
