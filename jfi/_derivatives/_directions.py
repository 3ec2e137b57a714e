"""Jacobians of float leaves: JAX's, or some directions at a time for less memory.

These are what JAX does for all directions at once, as a loop over chunks of them: a
direction is made where it is used, so that not even the identity matrix is ever there
as a whole.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from .._errors import DerivativeError
from .._random.traced._rows import in_chunks
from ._leaves import placed_as


# A function of a list of float leaves, and its jacobian: both return a tree of arrays
# and auxiliary arrays. In that of a jacobian each array is a list, a block per leaf.
OfFloats: TypeAlias = Callable[[list[Any]], tuple[Any, Any]]


def forward(fun: OfFloats, chunk_size: int | None, holomorphic: bool) -> OfFloats:
    """The jacobian by columns, as `jax.jacfwd` computes it."""
    if chunk_size is None:
        return jax.jacfwd(fun, has_aux=True, holomorphic=holomorphic)

    def jacobian(floats: list[Any]) -> tuple[Any, Any]:
        _check_complex("jacfwd", "input", floats, holomorphic)
        aux: Any = None

        def column(i: jax.Array) -> Any:
            nonlocal aux
            _, slopes, aux = jax.jvp(fun, (floats,), (_unit(i, floats),), has_aux=True)
            return slopes

        columns = _directions(column, _number_of_directions(floats), chunk_size)
        if jax.tree.leaves(aux):  # arrays of the loop; the caller needs them outside
            _, aux = fun(floats)
        return jax.tree.map(lambda x: _split_to_columns(x, floats), columns), aux

    return jacobian


def backward(fun: OfFloats, chunk_size: int | None, holomorphic: bool) -> OfFloats:
    """The jacobian by rows, as `jax.jacrev` computes it, of a list of arrays."""
    if chunk_size is None:
        return jax.jacrev(fun, has_aux=True, holomorphic=holomorphic)

    def jacobian(floats: list[Any]) -> tuple[Any, Any]:
        values, pull, aux = jax.vjp(fun, floats, has_aux=True)
        _check_complex("jacrev", "output", values, holomorphic)

        def row(i: jax.Array) -> Any:
            return pull(_unit(i, values))[0]

        rows = _directions(row, _number_of_directions(values), chunk_size)
        by_leaf = [_rows(x, values) for x in rows]
        return [[blocks[k] for blocks in by_leaf] for k in range(len(values))], aux

    return jacobian


def _directions(one: Callable[[jax.Array], Any], n: int, chunk_size: int) -> Any:
    """The results of `n` directions, stacked."""
    chunks = max(-(-n // chunk_size), 1)
    size = -(-n // chunks)
    # The last direction fills up the last chunk: a smaller one would be traced and
    # compiled by itself.
    numbers = jnp.minimum(jnp.arange(chunks * size, dtype=np.int32), n - 1)
    found = in_chunks(jax.vmap(one), size, None, numbers)
    return jax.tree.map(lambda x: x[:n], found)


def _number_of_directions(leaves: Sequence[Any]) -> int:
    return sum(math.prod(np.shape(x)) for x in leaves)


def _unit(i: jax.Array, leaves: Sequence[Any]) -> list[jax.Array]:
    """Leaves like these, all zero but number `i` of their entries, which is one."""
    units: list[jax.Array] = []
    start = 0
    for x in leaves:
        kind = jax.typeof(x)
        size = math.prod(kind.shape)
        entries = jnp.arange(start, start + size, dtype=np.int32)
        unit = (entries == i).astype(kind.dtype).reshape(kind.shape)
        units.append(placed_as(unit, kind))
        start += size
    return units


def _rows(x: jax.Array, leaves: Sequence[Any]) -> list[jax.Array]:
    """Split the first axis of an array over these leaves."""
    parts = jnp.split(x, _ends(leaves))
    return [
        part.reshape(np.shape(leaf) + x.shape[1:])
        for part, leaf in zip(parts, leaves, strict=True)
    ]


def _split_to_columns(x: jax.Array, leaves: Sequence[Any]) -> list[jax.Array]:
    """Split the first axis of an array over these leaves, and move it to the end."""
    parts = jnp.split(jnp.moveaxis(x, 0, -1), _ends(leaves), axis=-1)
    return [
        part.reshape(x.shape[1:] + np.shape(leaf))
        for part, leaf in zip(parts, leaves, strict=True)
    ]


def _ends(leaves: Sequence[Any]) -> list[int]:
    sizes = [math.prod(np.shape(x)) for x in leaves]
    return [sum(sizes[:k]) for k in range(1, len(sizes))]


def _check_complex(
    tool: str, what: str, leaves: Sequence[Any], holomorphic: bool
) -> None:
    """Refuse what JAX refuses, which does it only where it makes the directions."""
    for x in leaves:
        if jnp.iscomplexobj(x) == holomorphic:
            continue
        dtype = jax.typeof(x).dtype
        instead = (
            f"{tool}(..., holomorphic=True) is for complex {what}s"
            if holomorphic
            else f"For a holomorphic function write {tool}(..., holomorphic=True); "
            "otherwise pass the real and the imaginary part as two"
        )
        raise DerivativeError(f"{tool}() got the {what} {dtype}. {instead}.")


def check_chunk_size(tool: str, chunk_size: Any) -> None:
    """Refuse anything but None and a positive int."""
    if chunk_size is None or (
        isinstance(chunk_size, int)
        and not isinstance(chunk_size, bool)
        and chunk_size > 0
    ):
        return
    message = (
        f"{tool}() got chunk_size={chunk_size!r}. Write an int of 1 or more, or None "
        "for all directions at once."
    )
    raise DerivativeError(message)
