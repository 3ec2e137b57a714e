"""Functions of matrices: logarithm, real powers, square root.

Their derivatives come from those of the inverse function. With `expm(x) = a` the change
of `x` solves a linear equation, whose solution SciPy's logarithm has as well: the upper
right block of `logm([[a, da], [0, a]])`.

References:
    N. Higham, Functions of Matrices, SIAM 2008, chapter 3.
"""

from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

from .._solving._options import precise_dtype
from ._matrix_calls import call_scipy
from ._matrix_equations import solve_sylvester


def logm(A: Any) -> jax.Array:  # noqa: N803
    """The logarithm of a matrix: `scipy.linalg.logm`, with derivatives.

    Example:
        >>> import jfi as jnp
        >>> quarter_turn = jnp.array([[0.0, -1.0], [1.0, 0.0]])
        >>> jnp.scipy.linalg.logm(quarter_turn)[1].tolist()
        [1.571, 0.0]

    Args:
        A: `(n, n)` matrix.

    Returns:
        `(n, n)` matrix. Of a real matrix it is real, NaN where the logarithm is not, as
        `jnp.log` does it: pass a complex matrix then. SciPy changes the dtype instead.
    """
    return _logarithm(_square(A))


def fractional_matrix_power(A: Any, t: Any) -> jax.Array:  # noqa: N803
    """A real power of a matrix: `scipy.linalg.fractional_matrix_power`.

    Example:
        >>> import jfi as jnp
        >>> A = jnp.array([[4.0, 0.0], [0.0, 9.0]])
        >>> jnp.scipy.linalg.fractional_matrix_power(A, 0.5)
        Array([[2., 0.], [0., 3.]], dtype=float32)

    Args:
        A: `(n, n)` matrix. Derivatives need one that has a logarithm.
        t: The power, a number, which has a derivative as well.

    Returns:
        `(n, n)` matrix. Of a real matrix it is real, NaN where the power is not: pass a
        complex matrix then. SciPy changes the dtype instead.
    """
    matrix = _square(A)
    return _power(matrix, jnp.asarray(t, matrix.real.dtype))


def sqrtm(A: Any, *, blocksize: int = 64) -> jax.Array:  # noqa: N803
    """The square root of a matrix: `scipy.linalg.sqrtm`, with derivatives.

    Example:
        >>> import jfi as jnp
        >>> jnp.scipy.linalg.sqrtm(jnp.diag(jnp.array([4.0, -9.0])))
        Array([[2.+0.j, 0.+0.j],
               [0.+0.j, 0.+3.j]], dtype=complex64)

    Args:
        A: `(n, n)` matrix.
        blocksize: Of no concern, as in SciPy.

    Returns:
        `(n, n)` complex matrix, as of `jax.scipy.linalg.sqrtm`; take its `.real` where
        you know that it is real. SciPy looks at the values, and chooses the dtype.
    """
    matrix = _square(A)
    return _root(matrix.astype(np.promote_types(matrix.dtype, np.complex64)))


@jax.custom_jvp
def _root(matrix: jax.Array) -> jax.Array:
    return call_scipy("sqrtm", matrix, matrix)


@_root.defjvp
def _root_rule(primals: Any, tangents: Any) -> Any:
    found = _root(*primals)
    return found, solve_sylvester(found, found, tangents[0])


@jax.custom_jvp
def _logarithm(matrix: jax.Array) -> jax.Array:
    return call_scipy("logm", matrix, matrix)


@_logarithm.defjvp
def _logarithm_rule(primals: Any, tangents: Any) -> Any:
    (matrix,), (change,) = primals, tangents
    found = _logarithm(matrix)
    moved = jax.lax.custom_linear_solve(
        lambda v: jax.jvp(jax.scipy.linalg.expm, (found,), (v,))[1],
        change,
        lambda _, e: _along(matrix, e),
        lambda _, e: _along(matrix.T, e),
    )
    return found, moved


def _along(matrix: jax.Array, change: jax.Array) -> jax.Array:
    """The derivative of the logarithm in one direction."""
    n = matrix.shape[0]
    # The result is linear in the direction, and found best at the matrix's own scale.
    largest = [jnp.abs(m).max(initial=0.0) for m in (change, matrix)]
    scale = jnp.where(largest[0] > 0, largest[0] / largest[1], 1)
    rows = [[matrix, change / scale], [jnp.zeros_like(matrix), matrix]]
    whole = jnp.block(rows)
    return call_scipy("logm", whole, whole)[:n, n:] * scale


@jax.custom_jvp
def _power(matrix: jax.Array, t: jax.Array) -> jax.Array:
    return call_scipy("fractional_matrix_power", matrix, matrix, t)


@_power.defjvp
def _power_rule(primals: Any, tangents: Any) -> Any:
    by_logarithm = lambda a, t: jax.scipy.linalg.expm(t * _logarithm(a))
    return _power(*primals), jax.jvp(by_logarithm, primals, tangents)[1]


def _square(matrix: Any) -> jax.Array:
    array = jnp.asarray(matrix)
    return array.astype(precise_dtype(array))
