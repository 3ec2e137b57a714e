"""`vmap` and `shard_map` of functions that may draw."""

import functools
from typing import Any

import jax
import numpy as np

from .._advice import attach_axes, hide_frames, hiding_frames
from .._errors import BatchError, RandomError
from .._random.traced import Keys, trace_call
from .._random.traced._own_stream import Function, varied, with_own_stream
from .._random.traced._rows import Randomness, row_draws
from .._shown import shown_as
from .._values import names_to_copy, refuse_no_function
from .._values.trees import add_advice, axes_like, refuse_objects
from ._draws import warn_of_one_draw


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
    _check_axes(fun, in_axes=in_axes, out_axes=out_axes)
    warn_of_one_draw(fun, "rows")
    draws = row_draws("vmap", randomness)
    in_chunks = None
    if chunk_size is not None:
        from .batching import vmap_in_chunks  # which few scripts need

        in_chunks = vmap_in_chunks(
            fun,
            in_axes,
            options,
            out_axes=out_axes,
            randomness=randomness,
            chunk_size=chunk_size,
        )

    @shown_as("vmap")
    @functools.wraps(fun, names_to_copy(fun), updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        def run(keys: Keys | None) -> Any:
            axes = axes_like(in_axes, args)
            rows = draws.at_once(fun, keys, axes, out_axes, **options)
            return rows(*args, **kwargs)

        try:
            return in_chunks(*args, **kwargs) if in_chunks else with_own_stream(run)
        except Exception as error:
            attach_axes(error, in_axes, args, kwargs)
            if isinstance(error, TypeError):
                add_advice(error, (args, kwargs))
            hide_frames(error)
            raise

    return mapped


def _check_axes(fun: Any, **given: Any) -> None:
    """Refuse at once what JAX refuses at once."""
    refuse_no_function("vmap", fun)
    refuse_objects(given["out_axes"])
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


def shard_map(fun: Function, options: dict[str, Any]) -> Function:
    """`jax.shard_map` of a function that draws other numbers in each shard."""
    refuse_no_function("shard_map", fun)

    @shown_as("shard_map")
    @hiding_frames
    @functools.wraps(fun, names_to_copy(fun), updated=())
    def sharded(*args: Any) -> Any:
        mesh = options.get("mesh") or jax.sharding.get_abstract_mesh()
        names = tuple(options.get("axis_names") or mesh.axis_names)

        def run(keys: Keys | None) -> Any:
            if keys is None:
                return jax.shard_map(fun, **options)(*args)
            if "check_vma" not in options and not _splits_over(options, names):
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


def _splits_over(options: dict[str, Any], names: tuple[Any, ...]) -> bool:
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
