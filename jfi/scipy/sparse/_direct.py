"""Sparse linear systems: `scipy.sparse.linalg.spsolve`.

SciPy's SuperLU factors the matrix. Factors are kept by the contents of the matrix, so
that a second right-hand side, the backward pass and a loop around it find them.
"""

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..._dispatch._materialising import plain_array
from ..._errors import SolverError
from ..._host import host_call, runs_now
from ..._values import Recent
from .._scipy_words import knows_scipy
from .._solving._options import precise_dtype


class Coordinates(NamedTuple):
    """A sparse matrix: `values[k]` stands in row `rows[k]`, column `columns[k]`.

    Values of one place are summed; places outside the matrix are padding.
    """

    values: jax.Array
    rows: jax.Array
    columns: jax.Array
    shape: tuple[int, int]

    @property
    def transposed(self) -> "Coordinates":
        """Rows for columns."""
        m, n = self.shape
        return Coordinates(self.values, self.columns, self.rows, (n, m))

    def times(self, x: jax.Array) -> jax.Array:
        """The product with a vector or a matrix."""
        parts = x.at[self.columns].get(mode="fill", fill_value=0)
        weights = self.values.reshape(-1, *[1] * (x.ndim - 1))
        out = jnp.zeros((self.shape[0], *x.shape[1:]), jnp.result_type(weights, x))
        return out.at[self.rows].add(weights * parts, mode="drop")


def coordinates(matrix: Any, name: str) -> Coordinates:
    """A sparse matrix of JAX or SciPy as coordinates.

    Args:
        matrix: BCOO, BCSR, COO, CSR or CSC of `jax.experimental.sparse`, or a sparse
            matrix or array of SciPy.
        name: What the user calls the function, for messages.
    """
    kind = type(matrix).__name__
    if hasattr(matrix, "tocoo"):  # of SciPy
        found = matrix.tocoo()
        return Coordinates(
            jnp.asarray(found.data),
            jnp.asarray(found.row),
            jnp.asarray(found.col),
            found.shape,
        )
    if kind in ("BCSR", "CSR", "CSC"):
        if kind == "BCSR":
            matrix = matrix.to_bcoo()
        else:
            long = _starts_as_places(matrix.indptr, matrix.data.size)
            pair = (long, matrix.indices)
            rows, columns = pair if kind == "CSR" else pair[::-1]
            return Coordinates(matrix.data, rows, columns, matrix.shape)
    if kind == "COO":
        return Coordinates(matrix.data, matrix.row, matrix.col, matrix.shape)
    if type(matrix).__name__ != "BCOO" or matrix.n_batch or matrix.n_dense:
        message = (
            f"{name}() got {kind} as a sparse matrix. Pass a BCOO or BCSR of "
            "jax.experimental.sparse without batch axes (use jfi.vmap), or a sparse "
            "array of SciPy. A dense matrix is solved by jfi.linalg.solve."
        )
        raise SolverError(message)
    indices = matrix.indices
    return Coordinates(matrix.data, indices[:, 0], indices[:, 1], matrix.shape)


def _starts_as_places(starts: jax.Array, count: int) -> jax.Array:
    return jnp.searchsorted(starts, jnp.arange(count), side="right") - 1


@knows_scipy("sparse.linalg.spsolve")
def spsolve(A: Any, b: Any, permc_spec: str | None = None) -> jax.Array:  # noqa: N803
    """Solve a sparse linear system: `scipy.sparse.linalg.spsolve`, with derivatives.

    SciPy's SuperLU factors the matrix once for equal contents: for more right-hand
    sides and for the backward pass the factors are found. Derivatives are with respect
    to the right-hand side and to the values that the matrix holds.

    Example:
        >>> import jax, scipy.sparse
        >>> import jfi as jnp
        >>> from jax.experimental.sparse import BCOO
        >>> places = jnp.array([[0, 0], [1, 1], [0, 1]])
        >>> def solve(values, b):
        ...     A = BCOO((values, places), shape=(2, 2))  # [[2, 1], [0, 4]]
        ...     return jnp.scipy.sparse.linalg.spsolve(A, b)
        >>> values, b = jnp.array([2.0, 4.0, 1.0]), jnp.array([4.0, 8.0])
        >>> solve(values, b)
        Array([1., 2.], dtype=float32)
        >>> jax.jit(jax.grad(lambda values: solve(values, b)[0]))(values).tolist()
        [-0.5, 0.25, -1.0]

    Args:
        A: `(n, n)` sparse matrix: BCOO, BCSR, COO, CSR or CSC of
            `jax.experimental.sparse`,
            or of SciPy. Values of one place are summed.
        b: `(n,)` or `(n, k)` array.
        permc_spec: As in SciPy: how the columns are ordered.

    Returns:
        An array like `b`. NaN where the matrix is singular, of which SciPy warns.

    Raises:
        SolverError: A matrix that is not sparse or not square, or a right-hand side
            that does not fit.
    """
    matrix = coordinates(A, "spsolve")
    right = jnp.asarray(plain_array("scipy.sparse.linalg.spsolve", b))
    rows, columns = matrix.shape
    if rows != columns or right.ndim not in (1, 2) or right.shape[0] != rows:
        message = (
            f"spsolve() got a matrix of shape {matrix.shape} and a right-hand side of "
            f"shape {right.shape}. Pass shapes (n, n) and (n,) or (n, k)."
        )
        raise SolverError(message)
    dtype = precise_dtype(matrix.values, right)
    matrix = matrix._replace(values=matrix.values.astype(dtype))
    right = right.astype(dtype)
    if runs_now([*matrix[:3], right]):
        return _by_scipy(matrix, right, permc_spec, "N")
    solution: jax.Array = jax.lax.custom_linear_solve(
        matrix.times,
        right,
        lambda _, b: _by_scipy(matrix, b, permc_spec, "N"),
        lambda _, b: _by_scipy(matrix, b, permc_spec, "T"),
    )
    return solution


def factorized(A: Any) -> Callable[[Any], jax.Array]:  # noqa: N803
    """A function that solves with one matrix: `scipy.sparse.linalg.factorized`.

    Example:
        >>> import scipy.sparse
        >>> import jfi as jnp
        >>> diagonal = scipy.sparse.diags_array([2.0, 4.0])
        >>> solve = jnp.scipy.sparse.linalg.factorized(diagonal)
        >>> solve(jnp.array([2.0, 2.0]))
        Array([1. , 0.5], dtype=float32)

    Args:
        A: `(n, n)` sparse matrix, as `spsolve` takes it.

    Returns:
        `solve(b)`, which is `spsolve(A, b)`.
    """
    return lambda b: spsolve(A, b)


def _by_scipy(
    matrix: Coordinates, b: jax.Array, permc_spec: str | None, trans: str
) -> jax.Array:
    spec = jax.ShapeDtypeStruct(b.shape, b.dtype)
    run = _Solve(matrix.shape[0], permc_spec, trans)
    values, rows, columns, _ = matrix
    return host_call(run, [spec], values, rows, columns, b, name="spsolve")[0]


@dataclass(frozen=True)
class _Solve:
    """Solve with the factors of a matrix, or of its transpose."""

    size: int
    permc_spec: str | None
    trans: str

    def __call__(
        self, values: Any, rows: Any, columns: Any, b: NDArray[Any]
    ) -> list[NDArray[Any]]:
        factors = _factors(values, rows, columns, self.size, self.permc_spec)
        if factors is None:
            return [np.full(b.shape, np.nan, b.dtype)]
        wide = np.complex128 if np.iscomplexobj(b) else np.float64
        solution: NDArray[Any] = factors.solve(b.astype(wide), self.trans)
        return [solution.astype(b.dtype)]


_MAX_FACTORS = 8
_known: Recent[tuple[Any]] = Recent(_MAX_FACTORS)


def _factors(values: Any, rows: Any, columns: Any, size: int, order: str | None) -> Any:
    """SuperLU's factors of a matrix in double precision; None if it is singular."""
    contents = hashlib.blake2b(repr((size, order, values.dtype)).encode())
    for array in (values, rows, columns):
        contents.update(np.ascontiguousarray(array).view(np.uint8).data)
    key = contents.digest()
    known = _known.find(key)
    if known is None:  # another thread may factor another matrix meanwhile
        known = _known.add(key, (_factored(values, rows, columns, size, order),))
    return known[0]


def _factored(
    values: Any, rows: Any, columns: Any, size: int, order: str | None
) -> Any:
    from scipy import sparse
    from scipy.sparse import linalg

    inside = (rows >= 0) & (rows < size) & (columns >= 0) & (columns < size)
    places = (rows[inside], columns[inside])
    wide = np.complex128 if np.iscomplexobj(values) else np.float64
    matrix = sparse.csc_array((values[inside].astype(wide), places), shape=(size, size))
    try:
        return linalg.splu(matrix, permc_spec=order)
    except RuntimeError as error:  # "Factor is exactly singular"
        if "singular" not in str(error):
            raise
        warnings.warn("Matrix is exactly singular", linalg.MatrixRankWarning, 2)
        return None
