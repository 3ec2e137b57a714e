"""`vmap_automatically`: a `vmap` that finds out which arrays are batched."""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np

from ._errors import AmbiguousBatchError, BatchError
from ._generator import current, using
from ._trees import own_copy
from ._vmap import vmap


ProblemT = TypeVar("ProblemT")
ResultT = TypeVar("ResultT")


def vmap_automatically(
    fn: Callable[[ProblemT], ResultT],
    problem: ProblemT,
    batch_size: int | None = None,
) -> ResultT:
    """Run `fn(problem)` for each element of a batch, and stack the results.

    `problem` is a tree (dicts, lists, registered classes) of arrays and settings. An
    array whose leading size is the batch size is batched. Everything else is shared:
    `fn` gets it as it is, so that strings, ints, functions and objects work as in
    plain Python.

    >>> import jfi as jnp
    >>> problem = {"x": jnp.ones((5, 2)), "A": jnp.eye(2), "power": 3}
    >>> solve = lambda p: (p["A"] @ p["x"]).sum() ** p["power"]
    >>> jnp.vmap_automatically(solve, problem)
    Array([8., 8., 8., 8., 8.], dtype=float32)

    Without `batch_size` each leading size that occurs is tried, by tracing `fn`, and
    the batch is the one with which `fn` works. Give `batch_size` to do without trials.

    Args:
        fn: The function of one element of the batch. It returns a tree of arrays and
            numbers.
        problem: The argument of `fn`, with a leading batch dimension on each array
            that is batched: NumPy and JAX arrays, and random keys.
        batch_size: The leading size of the batched arrays, an int of 0 or more.

    Returns:
        What `fn` returns, each leaf with a leading dimension of the batch size.

    Raises:
        AmbiguousBatchError: More than one reading of `problem` is possible.
        BatchError: No reading is possible, or `fn` returns what can't be stacked.
    """
    leaves = _named_leaves(problem)
    if batch_size is None:
        size = _inferred_size(fn, problem, leaves)
    else:
        size = _checked_size(batch_size, leaves)
    _refuse_foreign_arrays(leaves, size)
    return cast("ResultT", _run(fn, problem, size, lambda out: _stackable(fn, out)))


def _run(
    fn: Callable[[Any], Any], problem: Any, size: int, finish: Callable[[Any], Any]
) -> Any:
    """Map `finish(fn(problem))` over the arrays of the leading size `size`."""
    leaves, structure = jax.tree.flatten(problem)
    # JAX arrays: under jit, JAX 0.10 fails on a NumPy array that is batched over a
    # function with custom_vjp ("non-canonical constant of type ndarray").
    batched = {
        i: jnp.asarray(own_copy(leaf))
        for i, leaf in enumerate(leaves)
        if _leading(leaf) == size
    }

    def one(rows: dict[int, Any]) -> Any:
        chosen = [rows.get(i, leaf) for i, leaf in enumerate(leaves)]
        return finish(fn(jax.tree.unflatten(structure, chosen)))

    return vmap(one)(batched)


# ---- which size is the batch ----


def _inferred_size(fn: Callable[[Any], Any], problem: Any, leaves: "_Leaves") -> int:
    """The one leading size with which `fn` works."""
    sizes = sorted({leaf.leading for leaf in leaves if leaf.leading is not None})
    if not sizes:
        message = (
            "vmap_automatically() found no array with a leading dimension in problem"
            f"{_table(leaves, every=True)}\n"
            "Pass arrays in dicts, lists, tuples or classes registered with JAX."
        )
        raise BatchError(message)
    if len(sizes) > 1:
        failures = {size: _failure(fn, problem, size) for size in sizes}
        sizes = [size for size, failure in failures.items() if failure is None]
        if not sizes:
            error = next(iter(failures.values()))
            raise BatchError(_none_works(fn, failures, leaves)) from error
        # A size whose trial needs the values of the batch may be the right one too.
        sizes += [n for n, e in failures.items() if isinstance(e, _NEEDS_VALUES)]
        if len(sizes) > 1:
            raise AmbiguousBatchError(_several_work(fn, sorted(sizes), leaves))
    (size,) = sizes
    # No trial tells a batch of rows from a shared matrix of the same shape.
    square = [leaf.name for leaf in leaves if leaf.shape[:2] == (size, size)]
    if square:
        raise AmbiguousBatchError(_may_be_a_matrix(square, size, leaves))
    return size


def _failure(fn: Callable[[Any], Any], problem: Any, size: int) -> Exception | None:
    """Why `fn` does not work with this batch size, found without computing."""
    try:
        try:
            jax.eval_shape(lambda: _run(fn, problem, size, lambda out: None))
        except _NEEDS_VALUES:
            # Tracing hides the values of shared arrays too, which `fn` may ask for.
            with using(current().copy()):  # a trial leaves no trace
                _run(fn, problem, size, lambda out: None)
    except Exception as error:
        return error
    return None


_NEEDS_VALUES = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)


def _checked_size(batch_size: Any, leaves: "_Leaves") -> int:
    """The size that the caller gave, or a refusal."""
    try:
        size = -1 if isinstance(batch_size, bool) else operator.index(batch_size)
    except TypeError:
        size = -1
    if size < 0:
        message = (
            f"vmap_automatically() got batch_size={batch_size!r}.\n"
            "Pass the number of elements, an int of 0 or more: batch_size=32"
        )
        raise BatchError(message)
    if not any(leaf.leading == size for leaf in leaves):
        message = (
            f"vmap_automatically() got batch_size={size}, but no array in problem has "
            f"that leading size{_table(leaves, every=True)}\n"
            "Pass the leading size of the arrays to batch, or leave out batch_size."
        )
        raise BatchError(message)
    return size


# ---- refusals ----

_BY_HAND = "jfi.vmap(fn, in_axes=...)(problem)"


def _none_works(
    fn: Callable[[Any], Any], failures: dict[int, Exception | None], leaves: "_Leaves"
) -> str:
    reasons = "\n".join(
        f"  {size}: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        for size, error in failures.items()
    )
    return (
        f"{_name(fn)}() works with none of the possible batch sizes:\n{reasons}\n"
        f"The arrays are{_table(leaves)}\n"
        "Pass batch_size= to see the whole error, or choose for each array: "
        f"{_BY_HAND}"
    )


def _several_work(fn: Callable[[Any], Any], sizes: list[int], leaves: "_Leaves") -> str:
    return (
        f"{_name(fn)}() may work with more than one batch size: "
        f"{', '.join(map(str, sizes))}. The arrays are{_table(leaves)}\n"
        f"Say which: {' or '.join(f'batch_size={size}' for size in sizes)}; "
        f"or choose for each array: {_BY_HAND}"
    )


def _may_be_a_matrix(square: list[str], size: int, leaves: "_Leaves") -> str:
    return (
        f"vmap_automatically() found a batch of {size}, but {', '.join(square)} may be "
        f"a batch of rows or a shared matrix. The arrays are{_table(leaves)}\n"
        f"To batch every array with the leading size {size}, pass batch_size={size}; "
        f"to share a matrix: {_BY_HAND}"
    )


def _refuse_foreign_arrays(leaves: "_Leaves", size: int) -> None:
    """An array of strings, a torch tensor ... as long as the batch, but not batched."""
    for leaf in leaves:
        if leaf.leading is None and leaf.shape[:1] == (size,):
            message = (
                f"{leaf.name} ({leaf.kind}, shape {leaf.shape}) is as long as the "
                "batch, but JAX can't batch it.\n"
                "To batch it, pass an array of numbers. To share it, let the function "
                "capture it instead of passing it in problem."
            )
            raise BatchError(message)


def _stackable(fn: Callable[[Any], Any], out: Any) -> Any:
    """What `fn` returned, if each leaf is an array or a number."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(out):
        try:
            jax.typeof(leaf)
        except TypeError:
            name = f"result{jax.tree_util.keystr(path)}"
            message = (
                f"{_name(fn)}() returned a {type(leaf).__name__} for {name}; only "
                "arrays and numbers can be stacked over a batch.\n"
                "Leave it out of what the function returns."
            )
            raise BatchError(message) from None
    return out


# ---- the leaves of a problem ----


class _Leaf(NamedTuple):
    name: str  # as the user writes it: problem['dyn']['Q']
    kind: str  # its type, and its dtype if it has one
    shape: tuple[int, ...]  # of whatever has one, also if JAX can't batch it
    leading: int | None  # the leading size, if JAX can batch it


_Leaves = list[_Leaf]


def _named_leaves(problem: Any) -> _Leaves:
    return [
        _Leaf(f"problem{jax.tree_util.keystr(p)}", _kind(x), _shape(x), _leading(x))
        for p, x in jax.tree_util.tree_leaves_with_path(problem)
    ]


def _leading(leaf: Any) -> int | None:
    """The leading size of what JAX batches: JAX arrays, keys, numeric NumPy arrays."""
    if isinstance(leaf, np.ndarray):
        is_array = leaf.dtype == bool or jnp.issubdtype(leaf.dtype, np.number)
    else:
        is_array = isinstance(leaf, jax.Array)
    return leaf.shape[0] if is_array and leaf.ndim else None


def _shape(leaf: Any) -> tuple[int, ...]:
    shape = getattr(leaf, "shape", ())
    return tuple(shape) if isinstance(shape, tuple) else ()


def _kind(leaf: Any) -> str:
    name = "Array" if isinstance(leaf, jax.Array) else type(leaf).__name__
    dtype = getattr(leaf, "dtype", None)
    return name if dtype is None else f"{name} of {dtype}"


def _table(leaves: _Leaves, *, every: bool = False) -> str:
    """One line for each array, or for every leaf."""
    lines = [
        f"  {leaf.name}: {leaf.shape or leaf.kind}"
        for leaf in leaves
        if every or leaf.shape
    ]
    return ":\n" + "\n".join(lines) if lines else " (it is empty)."


def _name(fn: Any) -> str:
    return str(getattr(fn, "__name__", type(fn).__name__))
