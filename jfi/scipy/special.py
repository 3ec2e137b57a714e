"""Special functions: `jax.scipy.special`."""

import typing as _typing

from jax.scipy.special import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from jax import Array
    from jax.typing import ArrayLike

    # The types that JAX 0.10 does not give.
    def expi(x: ArrayLike) -> Array: ...  # type: ignore[misc]
    def expn(n: ArrayLike, x: ArrayLike) -> Array: ...  # type: ignore[misc]
    def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array: ...  # type: ignore[misc]
    def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array: ...  # type: ignore[misc]
    def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array: ...  # type: ignore[misc]
    def sici(x: ArrayLike) -> tuple[Array, Array]: ...  # type: ignore[misc]
    def logsumexp(
        a: ArrayLike,
        axis: _typing.Any = None,
        b: ArrayLike | None = None,
        keepdims: bool = False,
        return_sign: bool = False,
        where: ArrayLike | None = None,
    ) -> _typing.Any: ...
else:
    from ._faces import face as _face

    __getattr__, __dir__ = _face(__name__)
