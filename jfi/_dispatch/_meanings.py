"""Names that mean a function of another name, with its arguments in another form.

With custom arrays `jnp.cat(arrays, dim=1)` is `jnp.concatenate(arrays, axis=1)`: one
rule is for both. Each function here takes the canonical call of its name, and returns
the arguments of the other; None for calls that it can't express.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias


Call: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]


def relu(input: Any) -> Call:
    return (input,), {}


def gelu(input: Any, approximate: str = "none") -> Call | None:
    if approximate not in ("none", "tanh"):
        return None
    return (input,), {"approximate": approximate == "tanh"}


def softmax(input: Any, dim: int | None = None, dtype: Any = None) -> Call | None:
    if dim is None or dtype is not None:
        return None
    return (input,), {"axis": dim}


def logsumexp(input: Any, dim: Any = None, keepdim: bool = False) -> Call:
    axis = tuple(dim) or None if isinstance(dim, (list, tuple)) else dim
    return (input,), {"axis": axis, "keepdims": keepdim}


def cat(tensors: Any, dim: int = 0) -> Call:
    return (tensors,), {"axis": dim}


def permute(input: Any, dims: Sequence[int]) -> Call:
    return (input, tuple(dims)), {}


def permute_dims(a: Any, axes: Any) -> Call:
    return (a, axes), {}


def cumulative(
    x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Call | None:
    if include_initial or (axis is None and _ndim(x) != 1):
        return None
    return (x,), {"axis": axis, "dtype": dtype}


def t(input: Any) -> Call | None:
    return ((input,), {}) if _ndim(input) == 2 else None


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Call | None:
    return ((input,), {}) if (start_dim, end_dim) == (0, -1) else None


def unsqueeze(input: Any, dim: int) -> Call:
    return (input, dim), {}


def bmm(input: Any, mat2: Any) -> Call | None:
    return ((input, mat2), {}) if _ndim(input) == _ndim(mat2) == 3 else None


def clamp(input: Any, min: Any = None, max: Any = None) -> Call | None:
    if min is None and max is None:
        return None  # which is refused
    return (input,), {"min": min, "max": max}


def norm(
    input: Any,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Call | None:
    ord = None if p in ("fro", 2) else p
    axis = tuple(dim) or None if isinstance(dim, (list, tuple)) else dim
    # NumPy has norms of matrices where PyTorch sees one long vector.
    is_vectors = isinstance(axis, int) or (axis is None and _ndim(input) == 1)
    if dtype is not None or not (ord is None or is_vectors):
        return None
    return (input,), {"ord": ord, "axis": axis, "keepdims": keepdim}


def matrix_exp(A: Any) -> Call:  # noqa: N803 - PyTorch's name
    return (A,), {}


def block_diag(*tensors: Any) -> Call:
    return tensors, {}


def cho_factor(a: Any, lower: bool = False) -> Call:
    return (a,), {"lower": lower}


def lu_factor(a: Any) -> Call:
    return (a,), {}


def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0) -> Call:
    return (lu_and_piv, b), {"trans": trans}


def _ndim(x: Any) -> int | None:
    """The dimensions of an array; None if its class doesn't tell."""
    if hasattr(x, "ndim"):
        return int(x.ndim)
    return len(x.shape) if hasattr(x, "shape") else None


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Call:
    return (a,), {}  # the others are of no concern to JAX


#: The function that each name means, and its arguments.
MEANINGS: dict[str, tuple[str, Callable[..., Call | None]]] = {
    "bmm": ("matmul", bmm),
    "cat": ("concatenate", cat),
    "cho_factor": ("scipy.linalg.cho_factor", cho_factor),
    "clamp": ("clip", clamp),
    "cumulative_prod": ("cumprod", cumulative),
    "cumulative_sum": ("cumsum", cumulative),
    "flatten": ("ravel", flatten),
    "gelu": ("nn.gelu", gelu),
    "linalg.block_diag": ("scipy.linalg.block_diag", block_diag),
    "linalg.matrix_exp": ("scipy.linalg.expm", matrix_exp),
    "log_softmax": ("nn.log_softmax", softmax),
    "logsumexp": ("scipy.special.logsumexp", logsumexp),
    "lu_factor": ("scipy.linalg.lu_factor", lu_factor),
    "lu_solve": ("scipy.linalg.lu_solve", lu_solve),
    "norm": ("linalg.norm", norm),
    "permute": ("transpose", permute),
    "permute_dims": ("transpose", permute_dims),
    "relu": ("nn.relu", relu),
    "scipy.linalg.det": ("linalg.det", inv),
    "scipy.linalg.inv": ("linalg.inv", inv),
    "sigmoid": ("nn.sigmoid", relu),
    "softmax": ("nn.softmax", softmax),
    "t": ("transpose", t),
    "unsqueeze": ("expand_dims", unsqueeze),
}
