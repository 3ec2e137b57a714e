"""Matrix functions with PyTorch's arguments; SciPy's are those of `jfi.scipy.linalg`.

`jax.scipy` is imported on first use, to keep `import jfi` short.
"""

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from ._arguments import as_array, floats


def solve_triangular(
    A: ArrayLike,  # noqa: N803  (PyTorch's names)
    B: ArrayLike,  # noqa: N803
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> jax.Array:
    """Solve `A @ X = B` with a triangular matrix, of which one triangle is read.

    SciPy's, with `trans=`, `lower=` and vectors, is in `jnp.scipy.linalg`.

    >>> import jfi as jnp
    >>> A, B = jnp.array([[2.0, 0.0], [1.0, 4.0]]), jnp.array([[2.0], [9.0]])
    >>> jnp.linalg.solve_triangular(A, B, upper=False).tolist()
    [[1.0], [2.0]]

    Args:
        A: A `(..., n, n)` float or complex array.
        B: A `(..., n, k)` array, `(..., k, n)` if not `left`. Leading dimensions are
            broadcast against those of `A`.
        upper: Whether the upper triangle is read, and not the lower one.
        left: Whether to solve `A @ X = B`, and not `X @ A = B`.
        unitriangular: Whether the diagonal counts as ones and is not read.

    Returns:
        An array of the shape of `B`, after broadcasting.

    Raises:
        TypeError: The arrays hold integers.
        ValueError: `A` is not square, or the shapes do not fit.
    """
    from jax.lax.linalg import triangular_solve

    matrix = floats(A, "solve_triangular", "A", takes_complex=True)
    rhs = floats(B, "solve_triangular", "B", takes_complex=True)
    rows = rhs.shape[-2 if left else -1 :][:1] if rhs.ndim > 1 else None
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError(
            f"solve_triangular() got an array of shape {matrix.shape} for A; it must "
            f"be square, (..., n, n)."
        )
    if rows != matrix.shape[-1:]:
        n = matrix.shape[-1]
        raise ValueError(
            f"solve_triangular() got an array of shape {rhs.shape} for B and a matrix "
            f"of shape {matrix.shape}; B must be "
            f"{f'(..., {n}, k)' if left else f'(..., k, {n})'}. For a vector write "
            f"jnp.linalg.solve_triangular(A, b[:, None], upper=...)[:, 0]."
        )
    dtype = jnp.result_type(matrix, rhs)
    batch = jnp.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    return triangular_solve(
        jnp.broadcast_to(matrix, (*batch, *matrix.shape[-2:])).astype(dtype),
        jnp.broadcast_to(rhs, (*batch, *rhs.shape[-2:])).astype(dtype),
        left_side=bool(left),
        lower=not upper,
        unit_diagonal=bool(unitriangular),
    )


def matrix_exp(A: ArrayLike) -> jax.Array:  # noqa: N803
    """The exponential of each of a batch of square matrices.

    >>> import jfi as jnp
    >>> jnp.linalg.matrix_exp(jnp.array([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]

    Args:
        A: A `(..., n, n)` float or complex array.

    Raises:
        TypeError: The array holds integers.
        ValueError: The matrices are not square.
    """
    from jax.scipy.linalg import expm

    matrix = floats(A, "matrix_exp", "A", takes_complex=True)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError(
            f"matrix_exp() got an array of shape {matrix.shape}; it must be square, "
            f"(..., n, n)."
        )
    found: jax.Array = expm(matrix)
    return found


def block_diag(*tensors: ArrayLike) -> jax.Array:
    """Put matrices along the diagonal of a large one, with zeros elsewhere.

    >>> import jfi as jnp
    >>> jnp.linalg.block_diag(jnp.ones((1, 2)), 3.0).tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]]

    Args:
        tensors: Matrices of any shapes; a vector is one row, a number one element.

    Raises:
        ValueError: An array has more than two dimensions.
    """
    from jax.scipy.linalg import block_diag

    blocks = [as_array(x, "block_diag", f"tensors[{i}]") for i, x in enumerate(tensors)]
    for i, block in enumerate(blocks):
        if block.ndim > 2:
            raise ValueError(
                f"block_diag() got tensors[{i}] of shape {block.shape}; it takes "
                f"matrices. For a batch write jnp.vmap(jnp.linalg.block_diag)(...)."
            )
    joined: jax.Array = block_diag(*blocks)
    return joined
