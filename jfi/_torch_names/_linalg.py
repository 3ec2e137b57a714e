"""Factorizations that are solved with later: SciPy's, and PyTorch's `cholesky_solve`.

`jax.scipy` is imported on first use, to keep `import jfi` short.
"""

from typing import Any, TypeAlias, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from ._arguments import as_array, is_integer


#: What `cho_factor` returns: the factor, and whether it is the lower one.
CholeskyPair: TypeAlias = tuple[ArrayLike, ArrayLike]
#: What `lu_factor` returns: both factors in one matrix, and the rows swapped.
LUPair: TypeAlias = tuple[ArrayLike, ArrayLike]


def cho_factor(a: ArrayLike, lower: bool = False) -> tuple[jax.Array, bool]:
    """Cholesky factor of a matrix as SciPy's pair, for `cho_solve` or `cholesky_solve`.

    For the factor alone write `jnp.linalg.cholesky(a)`. A matrix that is not positive
    definite gives NaN, because compiled code can't raise.

    >>> import jfi as jnp
    >>> pair = jnp.linalg.cho_factor(jnp.array([[4.0, 0.0], [0.0, 9.0]]))
    >>> jnp.linalg.cholesky_solve(jnp.array([4.0, 18.0]), pair).tolist()
    [1.0, 2.0]

    Args:
        a: A `(..., n, n)` Hermitian positive definite array; one triangle is read.
        lower: Whether to compute L with `a = L @ L^H`, or U with `a = U^H @ U`.

    Returns:
        The `(..., n, n)` factor and `lower`.

    Raises:
        ValueError: The array is not square.
    """
    from jax.scipy.linalg import cho_factor

    return cho_factor(_square(a, "cho_factor", "a"), lower=bool(lower))


def cholesky_solve(
    B: ArrayLike | CholeskyPair,  # noqa: N803  (PyTorch's names)
    L: ArrayLike | CholeskyPair,  # noqa: N803
    upper: bool = False,
    *,
    factor_first: bool | None = None,
) -> jax.Array:
    """Solve `A @ X = B` with the Cholesky factor of `A`; PyTorch's order of arguments.

    `cholesky_solve(factor, b)` works too, where the shapes say which is which. They
    don't where both are square: then the right-hand side comes first.

    >>> import jfi as jnp
    >>> factor = jnp.linalg.cholesky(jnp.array([[4.0, 0.0], [0.0, 9.0]]))
    >>> jnp.linalg.cholesky_solve(jnp.array([[4.0], [18.0]]), factor).tolist()
    [[1.0], [2.0]]

    Args:
        B: The right-hand side: a `(..., n, k)` array, or one vector of shape `(n,)`.
            Leading dimensions are broadcast against those of `L`.
        L: The `(..., n, n)` factor, of which one triangle is read; or SciPy's pair
            `(factor, lower)`, in which case `upper` is not looked at. Scripts that
            call SciPy's `cho_solve` by this name pass the pair first: that works too.
        upper: Whether the factor is U with `A = U^H @ U`, and not L with
            `A = L @ L^H`.
        factor_first: Whether the arguments come as `(factor, b)`; None: as the shapes
            show. False refuses what only that order fits.

    Returns:
        An array of the shape of `B`, after broadcasting.

    Raises:
        ValueError: The factor is not square or does not fit `B`.
    """
    from jax.scipy.linalg import cho_solve

    if factor_first is None:
        factor_first = isinstance(B, tuple) or (_is_square(B) and not _is_square(L))
    rhs, given = (L, B) if factor_first else (B, L)
    factor, lower = _pair(given) if isinstance(given, tuple) else (given, not upper)
    matrix = _square(factor, "cholesky_solve", "L")
    if not isinstance(lower, bool):
        # A pair that went through jit holds an array here: use the lower factor always.
        conjugate = jnp.conj(jnp.matrix_transpose(matrix))
        matrix, lower = jnp.where(lower, matrix, conjugate), True
    columns = _right_hand_side(rhs, matrix, "cholesky_solve", "B")
    return cho_solve((matrix, lower), columns)


def lu_factor(a: ArrayLike) -> tuple[jax.Array, jax.Array]:
    """LU factors of a matrix as SciPy's pair, for `lu_solve`.

    >>> import jfi as jnp
    >>> pair = jnp.linalg.lu_factor(jnp.array([[0.0, 2.0], [4.0, 0.0]]))
    >>> jnp.linalg.lu_solve(pair, jnp.array([2.0, 8.0])).tolist()
    [2.0, 1.0]

    Args:
        a: A `(..., m, n)` array.

    Returns:
        An `(..., m, n)` array with U in the upper triangle and L below it (its
        diagonal is one), and the `(..., min(m, n))` int32 pivots, counted from 0:
        row `i` was swapped with row `pivots[i]`. (PyTorch counts them from 1.)

    Raises:
        ValueError: The array has fewer than two dimensions.
    """
    from jax.scipy.linalg import lu_factor

    matrix = as_array(a, "lu_factor", "a")
    if matrix.ndim < 2:
        raise ValueError(
            f"lu_factor() got an array of shape {matrix.shape} for a; it takes a "
            f"matrix or a batch of matrices, (..., m, n)."
        )
    return cast("tuple[jax.Array, jax.Array]", lu_factor(matrix))


def lu_solve(lu_and_piv: LUPair, b: ArrayLike, trans: int = 0) -> jax.Array:
    """Solve `A @ x = b` with what `lu_factor(A)` returned; SciPy's order of arguments.

    A singular matrix gives inf or NaN, because compiled code can't raise.

    >>> import jfi as jnp
    >>> pair = jnp.linalg.lu_factor(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    >>> jnp.linalg.lu_solve(pair, jnp.ones(2))
    Array([0.5 , 0.25], dtype=float32)

    Args:
        lu_and_piv: The pair `(lu, pivots)` of `lu_factor`, of a square matrix.
        b: The right-hand side: a `(..., n, k)` array, or one vector of shape `(n,)`.
            Leading dimensions are broadcast against those of the matrix.
        trans: 0 to solve with `A`, 1 with its transpose, 2 with its conjugate
            transpose.

    Returns:
        An array of the shape of `b`, after broadcasting.

    Raises:
        TypeError: The first argument is not a pair.
        ValueError: The matrix is not square or does not fit `b`, or there is no such
            `trans`.
    """
    from jax.scipy.linalg import lu_solve

    if not isinstance(cast("Any", lu_and_piv), (tuple, list)) or len(lu_and_piv) != 2:
        raise TypeError(
            f"lu_solve() got a {type(lu_and_piv).__name__} where it takes the pair "
            f"that lu_factor returned. Write jnp.linalg.lu_solve((lu, pivots), b), as "
            f"in SciPy; PyTorch's lu_solve(LU, pivots, B) counts pivots from 1."
        )
    if trans not in (0, 1, 2):
        raise ValueError(f"lu_solve() got trans={trans!r}; it takes 0, 1 or 2.")
    lu, pivots = lu_and_piv
    matrix = _square(lu, "lu_solve", "lu")
    rows = _pivots(pivots, matrix)
    rhs = _right_hand_side(b, matrix, "lu_solve", "b")
    return cast("jax.Array", lu_solve((matrix, rows), rhs, trans=trans))


def _pair(given: tuple[Any, ...]) -> CholeskyPair:
    """SciPy's `(factor, lower)`."""
    if len(given) != 2:
        raise TypeError(
            f"cholesky_solve() got a tuple of {len(given)} for L; it takes the factor, "
            f"or the pair (factor, lower) that cho_factor returned."
        )
    return given


def _is_square(a: object) -> bool:
    """Whether this may be a factor: a pair, or a batch of square matrices."""
    shape = np.shape(cast("Any", a)) if not isinstance(a, tuple) else (1, 1)
    return len(shape) >= 2 and shape[-1] == shape[-2]


def _pivots(pivots: object, matrix: jax.Array) -> jax.Array:
    """Row numbers, as many as the matrix has rows."""
    rows = as_array(pivots, "lu_solve", "pivots")
    if not is_integer(rows.dtype) or rows.shape[-1:] != matrix.shape[-1:]:
        raise ValueError(
            f"lu_solve() got pivots of {rows.dtype} and shape {rows.shape} for a "
            f"matrix of shape {matrix.shape}; it takes the pair of lu_factor."
        )
    return rows.astype(jnp.int32)


def _square(a: object, function: str, argument: str) -> jax.Array:
    """A batch of square matrices."""
    matrix = as_array(a, function, argument)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        hint = (
            " The right-hand side comes first." if function == "cholesky_solve" else ""
        )
        raise ValueError(
            f"{function}() got an array of shape {matrix.shape} for {argument}; it "
            f"must be square, (..., n, n).{hint}"
        )
    return matrix


def _right_hand_side(
    b: object, matrix: jax.Array, function: str, argument: str
) -> jax.Array:
    """A vector, or a batch of matrices with as many dimensions as `matrix`.

    JAX takes an array with one dimension less than the matrix for a batch of vectors;
    here, as in NumPy 2 and PyTorch, only a 1-D array is a vector.
    """
    rhs = as_array(b, function, argument)
    n = matrix.shape[-1]
    rows = rhs.shape[-2:-1] or rhs.shape[-1:]
    if rows != (n,):
        raise ValueError(
            f"{function}() got an array of shape {rhs.shape} for {argument} and a "
            f"matrix of shape {matrix.shape}; {argument} must be (..., {n}, k) or "
            f"({n},)."
        )
    if rhs.ndim == 1:
        return rhs
    return rhs.reshape((1,) * (matrix.ndim - rhs.ndim) + rhs.shape)
