"""Rules for SciPy's linear algebra: sparse matrices, LU factors, linear operators."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..._host import (
    Batched,
    GivenFunction,
    HostFunction,
    Spec,
    Transposable,
    call_host,
)
from ._registry import jaxify


Columns: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]


@jaxify.register("scipy.sparse.sparray")
@jaxify.register("scipy.sparse.spmatrix")
def _sparse(matrix: Any) -> Any:
    from jax.experimental.sparse import BCOO

    if matrix.ndim != 2:
        raise NotImplementedError("a sparse array of other than two dimensions")
    return BCOO.from_scipy_sparse(matrix)


@jaxify.register("scipy.sparse.linalg.LinearOperator")
def _operator(operator: Any) -> "LinearMap":
    return LinearMap(
        f"{type(operator).__name__}()",
        operator.shape,
        operator.dtype,
        operator.matmat,
        lambda x: np.conj(operator.rmatmat(np.conj(x))),
    )


@jaxify.register("scipy.sparse.linalg.SuperLU")
def _factors(factors: Any) -> "LinearMap":
    dtype = factors.solve(np.zeros(factors.shape[0])).dtype

    def solver(mode: str) -> Callable[[NDArray[Any]], NDArray[Any]]:
        def solve(b: NDArray[Any]) -> NDArray[Any]:
            if b.dtype.kind == "c" and dtype.kind != "c":
                return solve(np.real(b)) + 1j * solve(np.imag(b))
            solved: NDArray[Any] = factors.solve(np.asarray(b, dtype, "F"), mode)
            return solved

        return solve

    return LinearMap("SuperLU.solve()", factors.shape, dtype, solver("N"), solver("T"))


class LinearMap:
    """A linear function on the host, which is transposed by another one.

    Attributes:
        shape: That of its matrix.
        dtype: That of its matrix.
        T: The transposed function.
    """

    __jfi_static__: bool = True  # `autojit` does not open it

    def __init__(
        self,
        name: str,
        shape: tuple[int, int],
        dtype: Any,
        on_columns: Columns,
        transposed_on_columns: Columns,
    ) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        self._name = name
        self._host = _Product(name, self.shape, on_columns, transposed_on_columns)

    @functools.cached_property
    def T(self) -> "LinearMap":  # noqa: N802  (NumPy's name)
        """The transposed function."""
        ways = self._host.transposed_on_columns, self._host.on_columns
        m, n = self.shape
        made = LinearMap(f"{self._name}.T", (n, m), self.dtype, *ways)
        made.T = self
        return made

    def __call__(self, x: Any) -> jax.Array:
        """The product with a vector or the columns of a matrix.

        Args:
            x: `(n,)` or `(n, k)` numbers.

        Returns:
            `(m,)` or `(m, k)` numbers.
        """
        array = jnp.asarray(x)
        if array.ndim not in (1, 2) or array.shape[0] != self.shape[1]:
            message = (
                f"{self._name} got an array of shape {array.shape}. Pass a vector of "
                f"{self.shape[1]} numbers, or columns of so many."
            )
            raise ValueError(message)
        dtype = jnp.result_type(array, jax.dtypes.canonicalize_dtype(self.dtype), 0.0)
        return call_host(self._host, array.astype(dtype))[0]


class _Product(HostFunction):
    """Linear in its last argument, and independent of others: its derivatives too.

    Args:
        name: What the user calls it.
        shape: That of the matrix.
        on_columns: Multiplies a table of columns.
        transposed_on_columns: The same with the transposed matrix.
    """

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...],
        on_columns: Columns,
        transposed_on_columns: Columns,
    ) -> None:
        super().__init__(name)
        self.shape = shape
        self.on_columns = on_columns
        self.transposed_on_columns = transposed_on_columns

    def results(self, *specs: Spec) -> list[Spec]:
        """See `HostFunction.results`."""
        return [Spec((self.shape[0], *specs[-1].shape[1:]), specs[-1].dtype)]

    def run(self, *arguments: NDArray[Any]) -> list[NDArray[Any]]:
        """See `HostFunction.run`."""
        x = arguments[-1]
        found = np.asarray(self.on_columns(x.reshape(x.shape[0], -1)))
        return [found.reshape(self.shape[0], *x.shape[1:]).astype(x.dtype)]

    def batched(self, is_batched: tuple[bool, ...]) -> HostFunction:
        """See `HostFunction.batched`."""
        return _RowsAsColumns(self, is_batched)

    def derivative(
        self, wanted: tuple[bool, ...], specs: Sequence[Spec]
    ) -> Transposable:
        """See `HostFunction.derivative`."""
        back = self.transposed_on_columns, self.on_columns
        name, shape = self.name, self.shape[::-1]
        if not wanted[-1]:
            zero = GivenFunction(
                name,
                lambda *a: [np.zeros_like(self.run(*a[: len(specs)])[0])],
                lambda *s: self.results(*s[: len(specs)]),
            )
            return Transposable(zero, lambda _: _Cotangents(name, shape, back, wanted))
        if not any(wanted[:-1]):
            return Transposable(self, lambda _: _Product(name, shape, *back))
        return Transposable(self, lambda _: _Cotangents(name, shape, back, wanted))


class _RowsAsColumns(Batched):
    """The vectors of a batch are columns of one product."""

    row: _Product

    def run(self, *arguments: NDArray[Any]) -> list[NDArray[Any]]:
        """See `HostFunction.run`."""
        x = arguments[-1]
        if not self.is_batched[-1]:
            size = next(
                len(a) for a, b in zip(arguments, self.is_batched, strict=True) if b
            )
            (one,) = self.row.run(x)
            return [np.repeat(one[None], size, axis=0)]
        (found,) = self.row.run(np.moveaxis(x, 0, -1))
        return [np.moveaxis(found, -1, 0)]


class _Cotangents(HostFunction):
    """The product with the transposed matrix, and zeros for other arguments."""

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...],
        ways: tuple[Columns, Columns],
        wanted: tuple[bool, ...],
    ) -> None:
        super().__init__(name)
        self._product = _Product(name, shape, *ways)
        self._wanted = wanted

    def results(self, *specs: Spec) -> list[Spec]:
        """See `HostFunction.results`."""
        return [spec for spec, w in zip(specs, self._wanted, strict=False) if w]

    def run(self, *arguments: NDArray[Any]) -> list[NDArray[Any]]:
        """See `HostFunction.run`."""
        *inputs, cotangent = arguments
        zeros = [
            np.zeros_like(x) for x, w in zip(inputs, self._wanted, strict=True) if w
        ]
        if self._wanted[-1]:
            zeros[-1] = self._product.run(cotangent)[0]
        return zeros
