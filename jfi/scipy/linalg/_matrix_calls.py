"""Functions of `scipy.linalg` as host calls, in double precision."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from ..._host import host_call


def call_scipy(name: str, like: jax.Array, *arrays: jax.Array) -> jax.Array:
    """Call a function of `scipy.linalg` that returns one matrix.

    Args:
        name: The name of the function.
        like: An array of the shape and dtype of the result. Where SciPy finds a complex
            result and this is real, the result is NaN.
        *arrays: What it takes: matrices, and arrays without axes as numbers.
    """
    spec = jax.ShapeDtypeStruct(like.shape, like.dtype)
    run = _function(name, np.dtype(like.dtype))
    return host_call(run, [spec], *arrays, name=f"scipy.linalg.{name}")[0]


@functools.lru_cache(maxsize=64)
def _function(name: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """One object for equal calls, so that programs are found."""

    def run(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
        from scipy import linalg

        function: Callable[..., NDArray[Any]] = getattr(linalg, name)
        found = function(*(_precise(a) if a.ndim else float(a) for a in arrays))
        if np.iscomplexobj(found) and dtype.kind != "c":
            found = np.full(found.shape, np.nan)
        return [found.astype(dtype)]

    return run


def _precise(matrix: NDArray[Any]) -> NDArray[Any]:
    """The matrix in double precision, symmetric if it is but for rounding.

    SciPy checks that to double precision, in which a float32 product is not symmetric.
    """
    kind = np.complex128 if np.iscomplexobj(matrix) else np.float64
    precise = matrix.astype(kind)
    if matrix.dtype == kind or precise.shape[0] != precise.shape[1]:
        return precise
    other = precise.conj().T
    rounding = 10 * np.finfo(matrix.dtype).eps * np.abs(precise).max(initial=0.0)
    if np.abs(precise - other).max(initial=0.0) <= rounding:
        return (precise + other) / 2
    return precise
