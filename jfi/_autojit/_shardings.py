"""The options of `jax.jit`, from the parameters of a function to its arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
from jax.tree_util import all_leaves

from .._errors import AutoJitError
from ._opening import Opened
from ._options import Options


def split_options(jit: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """The options that hold for all arrays, and a tree of shardings for the result.

    What the compiled function gives back holds more than the result, so that JAX can't
    be given that tree.
    """
    shardings = jit.get("out_shardings")
    if shardings is None or all_leaves([shardings]):
        return dict(jit), None
    return {k: v for k, v in jit.items() if k != "out_shardings"}, shardings


def constrain(result: Any, shardings: Any) -> Any:
    """A result with the shardings of a tree; None leaves one to JAX."""
    if shardings is None:
        return result
    return jax.tree.map(
        lambda sharding, x: (
            x if sharding is None else jax.lax.with_sharding_constraint(x, sharding)
        ),
        shardings,
        result,
        is_leaf=lambda sharding: sharding is None,
    )


def leaf_options(
    options: Options, parameters: Sequence[str], opened: Opened
) -> dict[str, Any]:
    """The options for a program that takes the arrays of a call one by one."""
    jit, _ = split_options(options.jit)
    roots = opened.roots_of_leaves()
    if options.donate:
        jit["donate_argnums"] = tuple(
            k
            for k, root in enumerate(roots)
            if root and parameters[root - 1] in options.donate
        )
    shardings = jit.get("in_shardings")
    if shardings is not None and not all_leaves([shardings]):
        jit["in_shardings"] = _leaf_shardings(shardings, parameters, opened, roots)
    return jit


def _leaf_shardings(
    shardings: Any, parameters: Sequence[str], opened: Opened, roots: Sequence[int]
) -> tuple[Any, ...]:
    """One sharding for each array, from those of the parameters."""
    if isinstance(shardings, Mapping):
        of = dict(shardings)
    else:
        of = dict(zip(parameters, shardings, strict=False))
    unknown = [name for name in of if name not in parameters]
    if unknown or (
        not isinstance(shardings, Mapping) and len(shardings) > len(parameters)
    ):
        raise AutoJitError(
            f"in_shardings has {len(of)} entries for the parameters "
            f"{', '.join(parameters)}.\nWrite one for each, in their order or in a "
            "dict with their names."
        )
    by_leaf: dict[int, Any] = {}
    (_, _, arguments), *_ = opened.graph
    for name, node in zip(parameters, arguments[1:], strict=True):
        argument = opened.objects[node]
        spread = jax.tree.broadcast(of.get(name), argument, is_leaf=lambda x: x is None)
        leaves = jax.tree.leaves(argument, is_leaf=lambda x: x is None)
        every = jax.tree.leaves(spread, is_leaf=lambda x: x is None)
        for leaf, sharding in zip(leaves, every, strict=False):
            by_leaf[id(leaf)] = sharding
    return tuple(by_leaf.get(id(leaf)) for leaf in opened.leaves)
