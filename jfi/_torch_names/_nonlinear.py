"""PyTorch's names for activations, and for sums of exponentials.

Signatures and results are those of PyTorch 2.13 (https://docs.pytorch.org/docs/2.13).
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike, DTypeLike

from .._arrays._config import named_dtype
from ._arguments import (
    as_array,
    as_floats,
    dimension,
    dimensions,
    floats,
    numpy_spellings,
)


def relu(input: ArrayLike) -> jax.Array:
    """The positive part of each element: `max(x, 0)`, whose derivative at zero is zero.

    >>> import jfi as jnp
    >>> jnp.relu(jnp.array([-1.0, 0.0, 2.0])).tolist()
    [0.0, 0.0, 2.0]

    Args:
        input: An array of integers or floats.

    Raises:
        TypeError: The array is bool or complex.
    """
    x = as_array(input, "relu")
    if x.dtype == jnp.bool_ or jnp.iscomplexobj(x):
        raise TypeError(
            f"relu() got an array of {x.dtype}; it takes integers or floats. "
            f"Convert it first: x.astype(float), or x.real."
        )
    return jax.nn.relu(x)


def sigmoid(input: ArrayLike) -> jax.Array:
    """The logistic function of each element: `1 / (1 + exp(-x))`.

    >>> import jfi as jnp
    >>> jnp.sigmoid(jnp.array([0.0, 100.0])).tolist()
    [0.5, 1.0]

    Args:
        input: An array of numbers; integers give the default float dtype.
    """
    return jax.nn.sigmoid(as_floats(input, "sigmoid"))


def gelu(input: ArrayLike, approximate: str = "none") -> jax.Array:
    """Each element times the standard normal distribution function of it.

    This is PyTorch's, exact by default. JAX's `jnp.nn.gelu` approximates by default.

    >>> import jfi as jnp
    >>> round(float(jnp.gelu(1.0)), 5), round(float(jnp.gelu(1.0, "tanh")), 5)
    (0.84134, 0.84119)

    Args:
        input: A float array.
        approximate: `"none"`, or `"tanh"` for the approximation by a tanh.

    Raises:
        TypeError: The dtype is not float.
        ValueError: There is no such approximation.
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(
            f"gelu() got approximate={approximate!r}; it takes 'none' or 'tanh'. JAX's "
            f"gelu, which takes a bool, is jnp.nn.gelu."
        )
    x = floats(input, "gelu")
    return jax.nn.gelu(x, approximate=approximate == "tanh")


@numpy_spellings(axis="dim")
def softmax(
    input: ArrayLike,
    dim: int | None = None,
    dtype: DTypeLike | None = None,
    *,
    axis: int | None = None,
) -> jax.Array:
    """Positive weights that sum to one: `exp(x) / sum(exp(x))` along a dimension.

    >>> import jfi as jnp
    >>> jnp.softmax(jnp.zeros((2, 4)), dim=-1)[0].tolist()
    [0.25, 0.25, 0.25, 0.25]

    Args:
        input: A float array.
        dim: The dimension whose weights sum to one; required.
        dtype: The float dtype to convert `input` to first.
        axis: NumPy's word for `dim`.

    Raises:
        IndexError: The array has no dimension `dim`.
        TypeError: There is no `dim`, or the dtype is not float.
    """
    return _along(jax.nn.softmax, input, dim, dtype)


@numpy_spellings(axis="dim")
def log_softmax(
    input: ArrayLike,
    dim: int | None = None,
    dtype: DTypeLike | None = None,
    *,
    axis: int | None = None,
) -> jax.Array:
    """The logarithm of `softmax`, without loss of precision.

    >>> import jfi as jnp
    >>> jnp.log_softmax(jnp.array([0.0, 200.0]), dim=0).tolist()
    [-200.0, 0.0]

    Args:
        input: A float array.
        dim: The dimension whose weights sum to one; required.
        dtype: The float dtype to convert `input` to first.
        axis: NumPy's word for `dim`.

    Raises:
        IndexError: The array has no dimension `dim`.
        TypeError: There is no `dim`, or the dtype is not float.
    """
    return _along(jax.nn.log_softmax, input, dim, dtype)


def _along(
    weigh: Callable[..., jax.Array],
    input: ArrayLike,
    dim: int | None,
    dtype: DTypeLike | None,
) -> jax.Array:
    """What JAX's function of that name returns along a dimension."""
    name = weigh.__name__
    x = as_array(input, name)
    if dim is None:
        raise TypeError(
            f"{name}() got no dim, the dimension whose weights sum to one. "
            f"For the last one write jnp.{name}(x, dim=-1)."
        )
    where = dimension(dim, x.ndim, name)
    x = floats(x if dtype is None else x.astype(named_dtype(dtype, name)), name)
    return weigh(jnp.atleast_1d(x), axis=where).reshape(x.shape)


@numpy_spellings(axis="dim", keepdims="keepdim")
def logsumexp(
    input: ArrayLike,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> jax.Array:
    """The logarithm of a sum of exponentials, without overflow.

    >>> import jfi as jnp
    >>> jnp.logsumexp(jnp.array([1000.0, 1000.0]), dim=0) - 1000.0
    Array(0.6931..., dtype=float32)

    Args:
        input: An array of numbers; integers give the default float dtype.
        dim: The dimension or dimensions to go over; None for all, as in SciPy.
        keepdim: Whether these stay as dimensions of size one.
        axis: NumPy's word for `dim`.
        keepdims: NumPy's word for `keepdim`.

    Raises:
        IndexError: The array has no dimension `dim`.
    """
    x = as_floats(input, "logsumexp")
    given = (dim,) if dim is not None and not isinstance(dim, (list, tuple)) else dim
    dims = dimensions(given, x.ndim, "logsumexp") if given else tuple(range(x.ndim))
    if x.ndim == 0:
        dims = ()  # it may be asked for dimension 0, and has none
    return jax.nn.logsumexp(x, axis=dims, keepdims=bool(keepdim))
