"""`vmap` and `shard_map` of functions that may draw."""

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from .._advice import tell
from .._errors import BatchError, RandomError
from .._random.traced import Keys, trace_call
from .._random.traced._own_stream import (
    Function,
    Randomness,
    on_keys,
    varied,
    with_own_stream,
)
from .._values import refuse_no_function


Row: TypeAlias = Callable[[jax.Array, tuple[Any, ...], dict[str, Any]], Any]

_NO_DRAWS = (
    "A random number was drawn inside jfi.vmap(..., randomness='error'). "
    "Write randomness='different' (each row draws its own) or 'same'."
)


def vmap(
    fun: Function,
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    randomness: Randomness = "different",
    chunk_size: int | None = None,
    **options: Any,
) -> Function:
    """`jax.vmap`, with random draws in each row.

    Args:
        fun: The function of one row.
        in_axes: As of `jax.vmap`.
        out_axes: As of `jax.vmap`.
        randomness: Whether rows draw each its own, all the same, or may not draw.
        chunk_size: How many rows to compute at a time; all if None.
        options: The others of `jax.vmap`.

    Returns:
        The batched function.
    """
    _check(randomness, chunk_size, options)
    _check_axes(fun, in_axes=in_axes, out_axes=out_axes)

    def run(keys: Keys | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if keys is not None and randomness == "error":
            raise RandomError(_NO_DRAWS)

        def row(number: jax.Array, args: Any, kwargs: Any) -> Any:
            if keys is None:
                return fun(*args, **kwargs)
            own = keys if randomness == "same" else varied(keys, number)
            return on_keys(fun, own, *args, **kwargs)

        if chunk_size is not None:
            return _in_chunks(row, in_axes, out_axes, chunk_size, args, kwargs)
        if keys is None:
            return jax.vmap(fun, in_axes, out_axes, **options)(*args, **kwargs)
        named: dict[str, Any] = {
            **options,
            "axis_name": options.get("axis_name") or _ROWS,
        }
        number = functools.partial(jax.lax.axis_index, named["axis_name"])
        return jax.vmap(
            lambda *args, **kwargs: row(number(), args, kwargs),
            in_axes,
            out_axes,
            **named,
        )(*args, **kwargs)

    @functools.wraps(fun, updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return with_own_stream(lambda keys: run(keys, args, kwargs))
        except jax.errors.TracerBoolConversionError as error:
            tell(error)
            raise

    return mapped


_ROWS = "jfi.vmap"  # the name of an axis without one


def _check(randomness: Any, chunk_size: Any, options: dict[str, Any]) -> None:
    if randomness not in ("different", "same", "error"):
        message = (
            f"vmap() got randomness={randomness!r}. "
            "Write 'different', 'same' or 'error'."
        )
        raise BatchError(message)
    if chunk_size is None:
        return
    if not isinstance(chunk_size, int) or chunk_size < 1:
        message = (
            f"vmap() got chunk_size={chunk_size!r}. Write an int of 1 or more, "
            "or None for all rows at once."
        )
        raise BatchError(message)
    given = [name for name, value in options.items() if value is not None]
    if given:
        message = (
            f"vmap() got chunk_size= and {given[0]}=, which needs all rows at once. "
            "Leave out one of them."
        )
        raise BatchError(message)


def _check_axes(fun: Any, **given: Any) -> None:
    """Refuse at once what JAX refuses at once."""
    refuse_no_function("vmap", fun)
    for name, axes in given.items():
        try:
            jax.vmap(fun, **{name: axes})
        except (TypeError, ValueError):
            each = "argument" if name == "in_axes" else "result"
            message = (
                f"vmap() got {name}={axes!r}. Write an int or None; or a tuple of one "
                f"entry for each {each}: an int, None, or a tree of these."
            )
            raise BatchError(message) from None


def _in_chunks(
    row: Row,
    in_axes: Any,
    out_axes: Any,
    chunk_size: int,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """`vmap` of some rows at a time, one after the other."""
    leaves, structure = jax.tree.flatten((args, kwargs))
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    axes = _axis_of_each((in_axes, 0), (args, kwargs))
    rows = {
        i: jnp.moveaxis(leaf, axis, 0)
        for i, (leaf, axis) in enumerate(zip(leaves, axes, strict=True))
        if axis is not None
    }
    sizes = {len(x) for x in rows.values()}
    if len(sizes) != 1:
        message = (
            f"vmap() with chunk_size= got mapped arrays of {sorted(sizes)} rows. "
            "All must have the same number, and there must be one at least."
        )
        raise BatchError(message)

    def one(numbered: tuple[jax.Array, dict[int, Any]]) -> Any:
        number, own = numbered
        chosen = [own.get(i, leaf) for i, leaf in enumerate(leaves)]
        return row(number, *jax.tree.unflatten(structure, chosen))

    numbers = jnp.arange(sizes.pop(), dtype=np.uint32)
    out = jax.lax.map(one, (numbers, rows), batch_size=chunk_size)
    outs, structure = jax.tree.flatten(out)
    axes = _axis_of_each(out_axes, out)
    if None in axes:
        message = "vmap() with chunk_size= stacks every result: out_axes is never None."
        raise BatchError(message)
    moved = [jnp.moveaxis(x, 0, axis) for x, axis in zip(outs, axes, strict=True)]
    return jax.tree.unflatten(structure, moved)


def _axis_of_each(axes: Any, tree: Any) -> list[Any]:
    """The axis of each leaf, from a prefix of the tree."""
    spread = jax.tree.broadcast(axes, tree, is_leaf=lambda x: x is None)
    return jax.tree.leaves(spread, is_leaf=lambda x: x is None)


def shard_map(fun: Function, options: dict[str, Any]) -> Function:
    """`jax.shard_map` of a function that draws other numbers in each shard."""
    refuse_no_function("shard_map", fun)

    @functools.wraps(fun, updated=())
    def sharded(*args: Any) -> Any:
        mesh = options.get("mesh") or jax.sharding.get_abstract_mesh()
        names = tuple(options.get("axis_names") or mesh.axis_names)

        def run(keys: Keys | None) -> Any:
            if keys is None:
                return jax.shard_map(fun, **options)(*args)
            if "check_vma" not in options and not _tells_apart(options, names):
                raise RandomError(_SAME)

            def shard(*args: Any) -> Any:
                own = varied(keys, jax.lax.axis_index(names).astype(np.uint32))
                function, values = trace_call(fun, args, {})
                if function.communicates and "check_vma" not in options:
                    raise RandomError(_ADDS)
                return function.with_keys(own, values)

            # JAX's check does not know the type that a shard's own draws have.
            unchecked: dict[str, Any] = {"check_vma": False, **options}
            return jax.shard_map(shard, **unchecked)(*args)

        return with_own_stream(run)

    return sharded


def _tells_apart(options: dict[str, Any], names: tuple[Any, ...]) -> bool:
    """Whether each result is split over all axes, so that shards may differ."""
    specs = jax.tree.leaves(
        options["out_specs"],
        is_leaf=lambda x: isinstance(x, jax.sharding.PartitionSpec),
    )
    return all(set(names) <= set(jax.tree.leaves(tuple(spec))) for spec in specs)


_SAME = (
    "The function in shard_map() draws random numbers, which differ in each shard, but "
    "out_specs says that a result is the same in all shards. Split it over all axes in "
    "out_specs; or draw before shard_map. If the result does not depend on the draws, "
    "write shard_map(..., check_vma=False)."
)
_ADDS = (
    "The function in shard_map() draws random numbers and adds over shards (psum ...). "
    "Write shard_map(..., check_vma=False); a gradient that is taken inside it then "
    "follows the rule of jax.pmap: psum is its own derivative."
)
