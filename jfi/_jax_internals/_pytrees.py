"""What JAX knows of a registered pytree class: its instances, taken apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jax import tree_util

from ._pieces import piece


@dataclass(frozen=True)
class WholeStructure:
    """In place of the static data of a node: the tree structure that holds them."""

    structure: Any


def pytree_node(structure: Any) -> tuple[Any, Any] | None:
    """The class and the static data at the top of a tree structure; None for a leaf.

    Without `pytree_nodes` the structure, which JAX can hash and compare, stands for
    the data.
    """
    if tree_util.treedef_is_leaf(structure):
        return None
    if pytree_nodes() is None:
        return None, WholeStructure(structure)
    node: tuple[Any, Any] = structure.node_data()
    return node


def pytree_from_node(cls: type, data: Any, children: Sequence[Any]) -> Any:
    """Make an instance of a registered pytree class from what `pytree_node` gave."""
    whole = isinstance(data, WholeStructure)
    structure = data.structure if whole else _structure_of(cls, data, len(children))
    return structure.unflatten(children)


@piece(
    uses="PyTreeDef: node_data, from_node_data_and_children",
    without="persistent functions can't hold tree structures as data",
    refuses=True,
)
def pytree_nodes() -> bool | None:
    pair: Any = tree_util.tree_structure((0, 0))
    cls, data = pair.node_data()
    return True if _structure_of(cls, data, 2) == pair else None


def _structure_of(cls: type, data: Any, size: int) -> Any:
    leaf = tree_util.tree_structure(0)
    definition: Any = tree_util.PyTreeDef
    return definition.from_node_data_and_children(
        tree_util.default_registry, (cls, data), [leaf] * size
    )
