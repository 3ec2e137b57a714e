"""The options of `jax.jit`, from the parameters of a function to its arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
from jax.tree_util import all_leaves

from .._errors import AutoJitError
from ._graphs import Opened
from ._options import Options


def split_options(jit: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """The options that hold for all arrays, and a tree of shardings for the result.

    What the compiled function returns holds more than the result, so that JAX can't
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
    if not isinstance(shardings, Mapping):
        shardings = dict(zip(parameters, shardings, strict=False))
    of_trees: dict[str, dict[int, Any]] = {}
    (_, _, arguments), *_ = opened.graph
    for name, node in zip(parameters, arguments[1:-1], strict=True):
        sharding = shardings.get(name)
        if sharding is not None and not all_leaves([sharding]):
            of_trees[name] = _sharding_of_leaves(sharding, opened.objects[node])
    found: list[Any] = []
    for root, leaf in zip(roots, opened.leaves, strict=True):
        name = parameters[root - 1] if root else ""
        tree = of_trees.get(name)
        if tree is not None and id(leaf) not in tree:
            raise AutoJitError(
                f"in_shardings has a tree for {name}, which holds arrays in attributes "
                f"that JAX does not flatten.\nWrite one sharding for all of {name}."
            )
        found.append(shardings.get(name) if tree is None else tree[id(leaf)])
    return tuple(found)


def _sharding_of_leaves(shardings: Any, argument: Any) -> dict[int, Any]:
    """The sharding of each leaf of an argument, by its id."""
    every = jax.tree.broadcast(shardings, argument, is_leaf=lambda x: x is None)
    leaves, of_leaves = (
        jax.tree.leaves(tree, is_leaf=lambda x: x is None) for tree in (argument, every)
    )
    return {id(x): sharding for x, sharding in zip(leaves, of_leaves, strict=True)}
