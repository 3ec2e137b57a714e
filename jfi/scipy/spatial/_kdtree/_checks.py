"""What a tree and its searches accept, and what they say to the rest."""

import functools
import operator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from numpy.typing import NDArray

from ...._dispatch._materialising import plain_array
from ...._errors import KDTreeError
from ...._values import why_unknown


BACKENDS = ("auto", "scipy", "jax")


class TreeSettings(NamedTuple):
    """How a tree is built. `boxsize` has one number per coordinate; 0 is no period."""

    leafsize: int = 10
    compact_nodes: bool = True
    balanced_tree: bool = True
    boxsize: tuple[float, ...] | None = None


def checked_settings(
    m: int, leafsize: Any, compact_nodes: Any, balanced_tree: Any, boxsize: Any
) -> TreeSettings:
    """The settings of a tree of points with m coordinates."""
    name = "KDTree()"
    box = None
    if boxsize is not None:
        if isinstance(boxsize, Tracer):
            message = f"{name} got a traced boxsize. Pass Python numbers: boxsize=1.0."
            raise KDTreeError(message) from why_unknown(boxsize)
        sizes = np.asarray(boxsize, np.float64)
        if sizes.shape not in ((), (m,)) or not np.all((sizes >= 0) & (sizes < np.inf)):
            message = (
                f"{name} got boxsize={boxsize}. Pass one number from 0 on, or one for "
                f"each of the {m} coordinates; 0 stands for no period."
            )
            raise KDTreeError(message)
        box = tuple(np.broadcast_to(sizes, (m,)).tolist())
    places = count(leafsize, "leafsize", name, "It sets how the tree is built")
    return TreeSettings(places, bool(compact_nodes), bool(balanced_tree), box)


def check_data(shape: tuple[int, ...], dtype: Any) -> None:
    """Refuse data that are no table of real numbers."""
    if len(shape) != 2 or shape[1] == 0 or not is_real(dtype):
        message = (
            f"KDTree() got data of shape {shape} and dtype {dtype}. "
            "Pass real numbers of shape (n, m), n points of m >= 1 coordinates: "
            "data.reshape(-1, 1) for points on a line."
        )
        raise KDTreeError(message)


def query_points(x: Any, m: int, name: str) -> jax.Array | NDArray[Any]:
    """Queries in the dtype that their distances have; a NumPy array stays one."""
    # Not `np.asarray` for lists: there may be tracers in them.
    plain = isinstance(x, (jax.Array, np.ndarray))
    points = x if plain else jnp.asarray(plain_array(name.removesuffix("()"), x))
    dtype, shape = points.dtype, points.shape
    wanted = _float_dtype(dtype, jax.dtypes.canonicalize_dtype(np.int64))
    if not shape or shape[-1] != m or wanted is None:
        message = (
            f"{name} got points of shape {shape} and dtype {dtype}. "
            f"Pass real numbers of shape (..., {m}): the last axis holds the "
            f"{m} coordinates of each point of this tree."
        )
        raise KDTreeError(message)
    return points if dtype == wanted else points.astype(wanted)


@functools.cache
def is_real(dtype: Any) -> bool:
    """Whether these are real numbers, and no booleans."""
    return jnp.issubdtype(dtype, jnp.number) and np.dtype(dtype).kind != "c"


@functools.cache
def _float_dtype(dtype: Any, _: np.dtype[Any]) -> np.dtype[Any] | None:
    """The dtype of distances between such points; None if they are no real numbers.

    JAX's own answer depends on 64-bit types: its dtype of integers is an argument for
    the cache alone.
    """
    if not is_real(dtype):
        return None
    if jnp.issubdtype(dtype, jnp.floating):
        return np.dtype(jax.dtypes.canonicalize_dtype(dtype))
    return np.dtype(jnp.result_type(jax.dtypes.canonicalize_dtype(dtype), float))


def norm_order(p: Any, name: str) -> float:
    """The norm: a Python number from 1 on."""
    if isinstance(p, Tracer) or not float(p) >= 1:
        message = (
            f"{name} got p={p}. Pass a Python number from 1 on: p=1, p=2, p=3.5, "
            "p=float('inf')."
        )
        raise KDTreeError(message) from why_unknown(p)
    return float(p)


def approximation(eps: Any, name: str) -> float:
    """How far a search may be from exact: a Python number from 0 on."""
    if isinstance(eps, Tracer) or not 0 <= float(eps) < np.inf:
        message = f"{name} got eps={eps}. Pass a Python number from 0 on: eps=0.1."
        raise KDTreeError(message) from why_unknown(eps)
    return float(eps)


def thread_count(workers: Any, name: str) -> int:
    """How many threads search: a whole number, -1 for all cores."""
    if isinstance(workers, Tracer) or int(workers) == 0 or int(workers) < -1:
        message = (
            f"{name} got workers={workers}. Pass a Python integer from 1 on, or -1 for "
            "as many threads as there are cores."
        )
        raise KDTreeError(message)
    return int(workers)


def checked_backend(backend: Any, name: str) -> str:
    """One of the names of `BACKENDS`."""
    if backend not in BACKENDS:
        message = (
            f"{name} got backend={backend!r}. Pass 'auto', 'scipy' (its tree, on the "
            "CPU) or 'jax' (all distances, on the device)."
        )
        raise KDTreeError(message)
    return str(backend)


def count(value: Any, parameter: str, name: str, why: str | None = None) -> int:
    """A size: a whole number from 1 on, known before tracing."""
    try:
        number = operator.index(value)
    except TypeError:  # JAX's own error for a tracer is a TypeError too
        number = 0
    if number < 1:
        why = why or "It sets the shape of the results"
        message = (
            f"{name} got {parameter}={value}. {why}: pass "
            f"a Python integer from 1 on, such as {parameter}=3."
        )
        raise KDTreeError(message) from why_unknown(value)
    return number


def neighbor_ranks(k: Any, name: str) -> tuple[tuple[int, ...], bool]:
    """Which neighbors (the nearest is 1), and whether the results have an axis of k."""
    if isinstance(k, Tracer) or np.ndim(k) == 0:
        number = count(k, "k", name)
        return tuple(range(1, number + 1)), number > 1
    ranks = tuple(count(rank, "k", name) for rank in k)
    if not ranks:
        message = f"{name} got k=[], no neighbor at all. Pass k=1, or k=[1, 3]."
        raise KDTreeError(message)
    return ranks, True


def check_number(value: Any, parameter: str, name: str) -> None:
    """Refuse arrays where one number is meant."""
    if type(value) is not float and np.ndim(value):
        message = (
            f"{name} got a {parameter} of shape {np.shape(value)}. Pass one "
            "number, and use jax.vmap for one number per query."
        )
        raise KDTreeError(message)


def fixed_number(value: Any) -> NDArray[Any] | float:
    """A limit that has a value, with all its digits: one number is a float."""
    if type(value) is float:
        return value
    array = np.asarray(value, np.float64)
    return array if array.ndim else float(array)


def check_radii(r: Any, shape: tuple[int, ...], name: str) -> None:
    """Refuse radii that are neither one nor one for each query."""
    try:
        fits = np.broadcast_shapes(np.shape(r), shape) == shape
    except ValueError:
        fits = False
    if not fits:
        message = (
            f"{name} got radii of shape {np.shape(r)} for queries of shape {shape}. "
            "Pass one radius, or one for each query."
        )
        raise KDTreeError(message)


def refuse_negative(values: NDArray[Any] | float, parameter: str, name: str) -> None:
    """SciPy squares them, and would find neighbors."""
    if isinstance(values, float) and values >= 0:  # most often
        return
    numbers = np.asarray(values)
    wrong = numbers[~(numbers >= 0)]
    if wrong.size:
        message = f"{name} got {parameter}={wrong[0]}. Pass a number from 0 on."
        raise KDTreeError(message)
