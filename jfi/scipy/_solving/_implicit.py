"""Derivatives of what a solver has found, by the implicit function theorem.

Where `residual(consts, x) = 0` defines `x`, a change of the constants moves it by
`dx = -(∂residual/∂x)⁻¹ ∂residual/∂consts dconsts`. So no derivative goes through the
solver, and derivatives have every order, forward and reverse.

References:
    M. Blondel et al., Efficient and modular implicit differentiation, NeurIPS 2022.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def implicit(
    solve: Callable[[Any], tuple[jax.Array, Any]],
    residual: Callable[[Any, jax.Array], jax.Array],
    parameters: Any,
) -> tuple[jax.Array, Any]:
    """What `solve(parameters)` returns, with the derivatives that `residual` implies.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jfi.scipy._solving._implicit import implicit
        >>> def root(a):  # x² = a
        ...     solve = lambda a: (jnp.sqrt(a), None)
        ...     return implicit(solve, lambda a, x: x**2 - a, a)[0]
        >>> jax.grad(lambda a: root(a).sum())(jnp.array([4.0]))
        Array([0.25], dtype=float32)

    Args:
        solve: Returns the solution, a vector, and information without derivatives.
        residual: `residual(parameters, x)`, a vector as long as `x`.
        parameters: A tree of all that both depend on; arrays only, none captured.

    Returns:
        The solution and the information.
    """

    @jax.custom_jvp
    def solved(parameters: Any) -> tuple[jax.Array, Any]:
        return solve(parameters)

    def rule(primals: Any, tangents: Any) -> Any:
        (parameters,), (moved,) = primals, tangents
        x, information = solved(parameters)
        shift = jax.jvp(lambda p: residual(p, x), (parameters,), (moved,))[1]
        # Dense: n columns of n, which n directions of one program compute.
        matrix = jax.jacfwd(residual, 1)(parameters, x)
        dx = -jnp.linalg.solve(matrix, shift[:, None])[:, 0]
        return (x, information), (dx, jax.tree.map(no_tangent, information))

    solved.defjvp(rule)
    found: tuple[jax.Array, Any] = solved(parameters)
    return found


def no_tangent(value: jax.Array) -> Any:
    """The tangent of what does not depend on anything, in the form JAX wants."""
    if jnp.issubdtype(value.dtype, jnp.inexact):
        return jnp.zeros_like(value)
    return np.zeros(value.shape, jax.dtypes.float0)
