"""Which values differ between the shards of `jax.shard_map`.

Their types say so (`float32[3]{V:i}`). JAX documents the types and how to change them
(`jax.lax.pcast`), not how to read them: `ManualAxisType.varying`, checked in 0.10.2 and
0.12.0. Where it can't be read nothing varies, as with `check_vma=False`, and JAX itself
refuses what does not fit.
"""

from typing import Any

import jax


def varying_axes(x: Any) -> frozenset[Any]:
    """The axes of the mesh over which an array, or a type of arrays, differs."""
    kind: Any = getattr(x, "manual_axis_type", None)
    if kind is None:
        kind = getattr(jax.typeof(x) if hasattr(x, "__array__") else x, "mat", None)
    axes: frozenset[Any] = getattr(kind, "varying", frozenset())
    return axes


def varying_over(x: Any, axes: frozenset[Any]) -> Any:
    """The array, with a type that differs over these axes, too."""
    missing = tuple(sorted(axes - varying_axes(x), key=str))
    return jax.lax.pcast(x, missing, to="varying") if missing else x
