"""Linear operators of JAX functions: `scipy.sparse.linalg.LinearOperator`."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..._dispatch._custom_array import CustomArray
from ..._dispatch._materialising import plain_array
from ..._errors import SolverError
from ._direct import coordinates


Product = Callable[[Any], Any]


class LinearOperator:
    """A matrix that is known by its products: `scipy.sparse.linalg.LinearOperator`.

    The product with the transpose is derived from the product. An operator is a
    function as well, so that `cg`, `gmres` and `bicgstab` take it as `A`. It may be an
    argument of autojit; `jax.jit` closes over it.

    Example:
        >>> import jfi as jnp
        >>> linalg = jnp.scipy.sparse.linalg
        >>> D = linalg.LinearOperator((2, 3), lambda x: x[1:] - x[:-1])
        >>> D @ jnp.array([1.0, 4.0, 9.0])
        Array([3., 5.], dtype=float32)
        >>> D.T @ jnp.array([1.0, 1.0])
        Array([-1.,  0.,  1.], dtype=float32)
        >>> laplacian = D @ D.T
        >>> linalg.cg(laplacian, jnp.array([1.0, 1.0]))[0]
        Array([1., 1.], dtype=float32)

    Args:
        shape: `(m, n)`.
        matvec: `matvec(x)` of an `(n,)` array returns an `(m,)` array and is linear.
        rmatvec: The product with the conjugate transpose. None: derived from `matvec`.
        dtype: What the operator is applied to where its transpose is derived; None: the
            dtype of the operand.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        matvec: Product,
        rmatvec: Product | None = None,
        *,
        dtype: Any = None,
    ) -> None:
        self.shape: tuple[int, int] = (int(shape[0]), int(shape[1]))
        self.dtype = dtype
        self._matvec = matvec
        self._rmatvec = rmatvec

    def matvec(self, x: Any) -> jax.Array:
        """The product with an `(n,)` vector."""
        return jnp.asarray(self._matvec(_sized(x, self.shape[1])))

    def rmatvec(self, x: Any) -> jax.Array:
        """The product of the conjugate transpose with an `(m,)` vector."""
        x = _sized(x, self.shape[0])
        if self._rmatvec is not None:
            return jnp.asarray(self._rmatvec(x))
        like = jax.ShapeDtypeStruct((self.shape[1],), self.dtype or x.dtype)
        (transposed,) = jax.linear_transpose(self._matvec, like)(x.conj())
        found: jax.Array = transposed.conj()
        return found

    def matmat(self, x: Any) -> jax.Array:
        """The product with an `(n, k)` matrix."""
        matrix = jnp.asarray(plain_array("LinearOperator.matmat", x))
        return jax.vmap(self.matvec, 1, 1)(matrix)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, LinearOperator):
            return LinearOperator(
                (self.shape[0], other.shape[1]),
                lambda x: self.matvec(other.matvec(x)),
                lambda x: other.rmatvec(self.rmatvec(x)),
                dtype=other.dtype,
            )
        other = jnp.asarray(plain_array("LinearOperator.matmul", other))
        return self.matvec(other) if other.ndim == 1 else self.matmat(other)

    def __call__(self, x: Any) -> Any:
        """The product, as `self @ x`."""
        return self @ x

    def __add__(self, other: "LinearOperator") -> "LinearOperator":
        return LinearOperator(
            self.shape,
            lambda x: self.matvec(x) + other.matvec(x),
            lambda x: self.rmatvec(x) + other.rmatvec(x),
            dtype=self.dtype,
        )

    def __mul__(self, factor: Any) -> "LinearOperator":
        return LinearOperator(
            self.shape,
            lambda x: self.matvec(x) * factor,
            lambda x: self.rmatvec(x) * jnp.conj(factor),
            dtype=self.dtype,
        )

    __rmul__ = __mul__

    @property
    def H(self) -> "LinearOperator":  # noqa: N802
        """The conjugate transpose."""
        return LinearOperator(
            self._other_way, self.rmatvec, self.matvec, dtype=self.dtype
        )

    @property
    def T(self) -> "LinearOperator":  # noqa: N802
        """The transpose."""
        return LinearOperator(
            self._other_way,
            lambda x: self.rmatvec(x.conj()).conj(),
            lambda x: self.matvec(x.conj()).conj(),
            dtype=self.dtype,
        )

    @property
    def _other_way(self) -> tuple[int, int]:
        return self.shape[1], self.shape[0]

    def __repr__(self) -> str:
        return f"LinearOperator{self.shape}"


def aslinearoperator(A: Any) -> LinearOperator:  # noqa: N803
    """A matrix as an operator: `scipy.sparse.linalg.aslinearoperator`.

    Example:
        >>> import jfi as jnp
        >>> D = jnp.scipy.sparse.linalg.aslinearoperator(jnp.array([[1.0, 2.0]]))
        >>> D, D.T @ jnp.array([3.0])
        (LinearOperator(1, 2), Array([3., 6.], dtype=float32))

    Args:
        A: A dense matrix, a sparse one of JAX or SciPy, or an operator.

    Returns:
        `LinearOperator`.
    """
    if isinstance(A, LinearOperator):
        return A
    if isinstance(A, CustomArray):  # its own rule of matmul is asked
        return LinearOperator((A.shape[0], A.shape[1]), lambda x: A @ x, dtype=A.dtype)
    if hasattr(A, "shape") and not hasattr(A, "nse") and not hasattr(A, "tocoo"):
        matrix = jnp.asarray(A)
        return LinearOperator(
            (matrix.shape[0], matrix.shape[1]),
            lambda x: matrix @ x,
            lambda x: matrix.conj().T @ x,
        )
    sparse = coordinates(A, "aslinearoperator")
    back = sparse.transposed._replace(values=sparse.values.conj())
    return LinearOperator(sparse.shape, sparse.times, back.times)


def _sized(x: Any, size: int) -> jax.Array:
    vector = jnp.asarray(plain_array("LinearOperator.matvec", x))
    if vector.shape != (size,):
        message = (
            f"A LinearOperator takes vectors of shape ({size},) here, and got shape "
            f"{vector.shape}. For the columns of a matrix write operator @ matrix."
        )
        raise SolverError(message)
    return vector
