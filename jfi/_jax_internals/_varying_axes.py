"""Which values differ between the shards of `jax.shard_map`.

Their types say so (`float32[3]{V:i}`). JAX documents the types and how to change them
(`jax.lax.pcast`), not how to read them.
"""

from typing import Any

import jax
import numpy as np

from ._pieces import outside_of_tracing, piece


def varying_axes(x: Any) -> frozenset[Any]:
    """The axes of the mesh over which an array, or a type of arrays, differs.

    Without `varying_types` none, as with `check_vma=False`, and JAX refuses what does
    not fit.
    """
    return _varying_axes(x) if varying_types() else frozenset()


def varying_over(x: Any, axes: frozenset[Any]) -> Any:
    """The array, with a type that differs over these axes, too."""
    missing = tuple(sorted(axes - varying_axes(x), key=str))
    return jax.lax.pcast(x, missing, to="varying") if missing else x


@piece(
    uses="ManualAxisType.varying, in the type of an array",
    without="JAX refuses loops of jfi in shard_map that need check_vma=False then",
    refuses=True,
)
def varying_types() -> bool | None:
    split, same = jax.sharding.PartitionSpec("i"), jax.sharding.PartitionSpec()
    seen: list[frozenset[Any]] = []

    def shard(x: Any, y: Any) -> Any:
        seen.extend([_varying_axes(x), _varying_axes(y)])
        return x

    # Said aloud: JAX 0.12 takes explicit axes if nothing is said.
    types = (jax.sharding.AxisType.Auto,)
    mesh = jax.sharding.AbstractMesh((1,), ("i",), axis_types=types)
    mapped: Any = jax.shard_map(
        shard, mesh=mesh, in_specs=(split, same), out_specs=split
    )
    one: Any = jax.ShapeDtypeStruct((1,), np.float32)
    outside_of_tracing(lambda: jax.eval_shape(mapped, one, one))
    return True if seen[:2] == [frozenset({"i"}), frozenset()] else None


def _varying_axes(x: Any) -> frozenset[Any]:
    kind: Any = getattr(x, "manual_axis_type", None)
    if kind is None:
        kind = getattr(jax.typeof(x) if hasattr(x, "__array__") else x, "mat", None)
    axes: frozenset[Any] = getattr(kind, "varying", frozenset())
    return axes
